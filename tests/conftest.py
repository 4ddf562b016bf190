"""Load the installed package first: pytest imports the root ``__init__.py`` under the checkout's own name."""

import benchspec as benchspec
