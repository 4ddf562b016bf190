"""Rules about what a spec means as a whole: they look at the model, so only at specs without
errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnostics import At, Problem, quote
from ...model.spec import Spec
from ...planning.same_settings import same_settings


def check_built(spec: Spec) -> Iterator[Problem]:
    """BS294: a target that is compared differs from its baseline in more than its name."""
    for name, base in same_settings(spec).items():
        yield Problem(
            code="BS294",
            path=("targets", name),
            found=f"{quote(name)} with the settings of its baseline {quote(base)}: an A/A run",
            expected="a setting that differs, if a difference is what is looked for",
            at=At.KEY,
        )
