"""What a page says about confidential VMs: the evidence that was seen of each target, and what it
does not prove.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...engine.model.results import RunData
from ...engine.model.spec import Json, Target

NOT_PROVEN = {
    "report": (
        "An attestation report was fetched ({basis}) and nobody has verified it: neither its"
        " signature against the vendor's certificates nor its measurements against known ones."
        " Until that is done it proves nothing."
    ),
    "device": (
        "The evidence is a device ({basis}); no report was fetched{unseen}. A device shows what the"
        " guest's kernel believes, which is what the host told it."
    ),
    "kernel": (
        "The kernel says so ({basis}); no device was seen and no report fetched{unseen}. The kernel"
        " repeats what the host told it."
    ),
}
"""By level of evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one node showed."""

    technology: Json
    level: Json
    basis: Json
    unseen: Json


def describe_confidential(run: RunData) -> tuple[str, ...]:
    """A sentence or two for every target that is claimed or was seen to be confidential; once for
    nodes that showed the same.
    """
    return tuple(
        f"{target.title}: {text}" for target in run.spec.targets for text in _describe(run, target)
    )


def _describe(run: RunData, target: Target) -> Iterator[str]:
    claimed = target.cvm is not None and target.cvm.expected
    last = {
        (facts.site, facts.node): facts
        for facts in run.facts
        if facts.target == target.name and any(f.name == "cvm.evidence" for f in facts.facts)
    }
    seen = dict.fromkeys(
        Evidence(
            technology=facts.value("cvm.technology"),
            level=facts.value("cvm.evidence"),
            basis=facts.value("cvm.basis"),
            unseen=facts.value("cvm.unseen"),
        )
        for facts in last.values()
    )
    if claimed and not seen:
        yield "claimed to be confidential, which was not looked at."
    for evidence in seen:
        yield from _sentences(evidence, claimed=claimed)


def _sentences(evidence: Evidence, *, claimed: bool) -> Iterator[str]:
    unseen = "" if evidence.unseen in (None, "none") else str(evidence.unseen)
    if str(evidence.level) in NOT_PROVEN:
        level = NOT_PROVEN[str(evidence.level)].format(
            basis=evidence.basis,
            unseen=f", since it could not be looked for: {unseen}" if unseen else "",
        )
        yield (
            f"memory is encrypted by {str(evidence.technology).upper()}, as far as the guest sees."
            f" {level}"
        )
    elif claimed and evidence.level == "none":
        yield "claimed to be confidential; nothing of it was seen."
    elif claimed:
        yield (
            "claimed to be confidential, which could not be"
            f" observed{f'. Not looked at: {unseen}' if unseen else ''}."
        )
