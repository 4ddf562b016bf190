"""Specs checked, compared and brought up to date. Nothing that a spec says is executed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..engine.capabilities.model import Capability
from ..engine.language.load import check_spec, load_spec
from ..engine.model.diagnostics import Diagnostic
from ..engine.planning.semantic_diff.diff import SpecDiff, diff_specs
from ..workloads.registry import WORKLOADS
from .planning import plan
from .settings import File


def validate(spec: File, *, overrides: Sequence[str] = ()) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with ``spec``, errors and warnings, in order of place; empty when
    there is nothing. ``overrides`` are ``PATH=VALUE`` as for ``--set``.
    """
    return check_spec(Path(spec), overrides=overrides)


def diff(old: File, new: File) -> SpecDiff:
    """What differs in meaning between two specs, and which results become incomparable. Comments
    and layout do not count. Raises SpecError when one of them cannot be used.
    """
    return diff_specs(load_spec(Path(old)), load_spec(Path(new)), WORKLOADS)


def diff_capabilities(old: File, new: File) -> tuple[Sequence[Capability], Sequence[Capability]]:
    """What ``new`` asks for and ``old`` does not, and the other way round. Raises SpecError when
    one of them cannot be used.
    """
    before, after = (plan(one).capabilities().capabilities for one in (old, new))
    return (
        [one for one in after if one not in before],
        [one for one in before if one not in after],
    )


def migrate(spec: File) -> str:
    """The version of the spec language that ``spec`` is written for. There is one so far, so that
    nothing is ever to be rewritten. Raises SpecError when the spec cannot be used.
    """
    return load_spec(Path(spec)).spec.api_version
