"""benchspec: from a YAML spec to a published page whose sentences its own data support.

The use cases are functions of this package, as in ``benchspec.load("runs/x")``: see
:mod:`benchspec.api`. Each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import (
        bench,
        bundle,
        check_docs,
        clean,
        clean_all,
        compare,
        diff,
        doctor,
        down,
        explain,
        history,
        images,
        import_,
        index,
        init,
        list_,
        load,
        migrate,
        new,
        parse,
        plan,
        publish,
        rbac,
        render,
        render_plan,
        report,
        resume,
        rm,
        run,
        schema,
        show,
        up,
        validate,
        verify,
    )

__all__ = [
    "bench",
    "bundle",
    "check_docs",
    "clean",
    "clean_all",
    "compare",
    "diff",
    "doctor",
    "down",
    "explain",
    "history",
    "images",
    "import_",
    "index",
    "init",
    "list_",
    "load",
    "migrate",
    "new",
    "parse",
    "plan",
    "publish",
    "rbac",
    "render",
    "render_plan",
    "report",
    "resume",
    "rm",
    "run",
    "schema",
    "show",
    "up",
    "validate",
    "verify",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".api", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
