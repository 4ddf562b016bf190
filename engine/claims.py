"""Declared against observed: every claim of a target held against the facts of a site, and the facts of one moment against another's.

Three answers: match, mismatch, and unknown when the fact could not be observed. A mismatch is claimed only where the two can be compared without
doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from .facts import fact_kinds
from .results import ClaimCheck, ClaimState, Fact, FactSet, Finding, FindingLevel
from .spec import Json, Target

Comparison = Callable[[Json, Json], bool | None]
"""Declared and observed value to match, mismatch, or None: cannot be said."""

MEMORY_RESERVED = 0.12
"""Firmware and kernel keep part of a machine's memory to themselves: MemTotal lies up to this share below what a provider documents."""

_ROUNDING = 0.01
_SEPARATORS = re.compile(r"\((?:r|tm|c)\)|[\s,;/()@]+", re.IGNORECASE)
_PROVIDERS = {"amazon": "aws", "ec2": "aws", "amazon web services": "aws", "google": "gcp", "gce": "gcp", "google cloud": "gcp", "microsoft": "azure"}
_CPU_VENDORS = frozenset({"amd", "intel", "ampere", "arm"})
_CLOUD_MODEL = re.compile(r"\b(\d{4})v\b")  # Azure's documents say 7763v, its machines 7763
_EVIDENCE = ("none", "kernel", "device")

FACT_OF_CLAIM: Mapping[str, str] = {
    "cvm.expected": "cvm.technology",
    "net.link": "net.speed",
    "storage.filesystem": "disk.filesystem",
}
"""Claims whose fact has another name. A fact of the claim's own name is preferred."""


def check_claims(target: Target, facts: FactSet) -> tuple[ClaimCheck, ...]:
    """Hold every claim of ``target`` about the machines of ``facts.site`` against the facts, in the order of the claims.

    A claim about one of several node groups (``GROUP/name``) counts where one group alone has roles on the site; claims about groups that have
    none there are left out.
    """
    groups = _groups_on(target, facts.site)
    checks = []
    for claim, declared in target.claims.items():
        group, slash, name = claim.rpartition("/")
        if slash and group not in groups:
            continue
        fact = None if slash and len(groups) > 1 else _find(facts, name)
        checks.append(
            ClaimCheck(
                target=target.name,
                fact=claim,
                declared=declared,
                observed=None if fact is None else fact.value,
                state=_judge(name, declared, fact),
                source=None if fact is None else fact.source,
            )
        )
    return tuple(checks)


def drift(before: FactSet, after: FactSet) -> tuple[Finding, ...]:
    """What changed on a site between two moments of a run: F102 for each fact, F103 for a restart, F104 for another machine.

    Facts that move by themselves, and those unknown at one of the moments, are left out.
    """
    return tuple(_drift(before, after))


def words_match(declared: str, observed: str) -> bool:
    """Whether every declared word is one of the observed ones, or a version that one of them refines: ``AMD EPYC 7763`` in
    ``AMD EPYC 7763 64-Core Processor``, ``Ubuntu 22.04`` in ``Ubuntu 22.04.2 LTS``.
    """
    seen = _words(observed)
    return all(any(version_matches(word, other) for other in seen) for word in _words(declared))


def version_matches(declared: str, observed: str) -> bool:
    """Whether ``observed`` is ``declared`` or a finer version of it: 1.12 matches 1.12.3 and v1.12-rc1, not 1.120."""
    short, long = declared.strip().lower().removeprefix("v"), observed.strip().lower().removeprefix("v")
    return long == short or (bool(short) and long.startswith(short) and not long[len(short)].isalnum())


def memory_matches(declared: Json, observed: Json) -> bool | None:
    """Whether the memory the kernel sees (B) fits what is documented (B): at most 12 % less, at most 1 % more."""
    if not _is_number(declared) or not _is_number(observed):
        return None
    return _number(declared) * (1 - MEMORY_RESERVED) <= _number(observed) <= _number(declared) * (1 + _ROUNDING)


def _drift(before: FactSet, after: FactSet) -> Iterator[Finding]:
    kinds = fact_kinds()
    for fact in before.facts:
        later = after.value(fact.name)
        if fact.value is None or later is None or fact.value == later or (fact.name in kinds and kinds[fact.name].moves):
            continue
        code, level, what = _CHANGES.get(fact.name, ("F102", FindingLevel.WARNING, "changed"))
        message = f"{fact.name} {what} on {_where(after)} from {fact.value!r} ({before.when}) to {later!r} ({after.when})"
        yield Finding(code=code, level=level, message=message, target=after.target)


def _where(facts: FactSet) -> str:
    return f"{facts.site} {facts.node}" if facts.node else facts.site


_CHANGES: Mapping[str, tuple[str, FindingLevel, str]] = {
    "boot.id": ("F103", FindingLevel.ERROR, "says that the host was restarted: it changed"),
    "machine.id": ("F104", FindingLevel.ERROR, "says that this is another machine: it changed"),
}


def _groups_on(target: Target, site: str) -> set[str]:
    roles = {str(role) for role, place in target.sites.items() if place.name == site}
    return {group.name for group in target.topology if "control-plane" not in group.roles and (not group.roles or roles & set(group.roles))}


def _find(facts: FactSet, name: str) -> Fact | None:
    by_name = {fact.name: fact for fact in facts.facts}
    own = by_name.get(name)
    return own if own is not None else by_name.get(FACT_OF_CLAIM.get(name, ""))


def _judge(name: str, declared: Json, fact: Fact | None) -> ClaimState:
    if fact is None or fact.value is None or declared is None:
        return ClaimState.UNKNOWN
    matches = _COMPARISONS.get(name, _same)(declared, fact.value)
    if matches is None:
        return ClaimState.UNKNOWN
    return ClaimState.MATCH if matches else ClaimState.MISMATCH


def _same(declared: Json, observed: Json) -> bool | None:
    if isinstance(declared, bool) or isinstance(observed, bool):
        return declared is observed if isinstance(declared, bool) and isinstance(observed, bool) else None
    if _is_number(declared) and _is_number(observed):
        return _number(declared) == _number(observed)
    return str(declared).strip().lower() == str(observed).strip().lower()


def _about(declared: Json, observed: Json) -> bool | None:
    if not _is_number(declared) or not _is_number(observed):
        return None
    return abs(_number(observed) - _number(declared)) <= _ROUNDING * abs(_number(declared))


def _provider(declared: Json, observed: Json) -> bool:
    declared, observed = (str(value).strip().lower() for value in (declared, observed))
    return _PROVIDERS.get(declared, declared) == _PROVIDERS.get(observed, observed)


def _technology(declared: Json, observed: Json) -> bool | None:
    """A bare true or false says only whether memory is encrypted."""
    return (observed != "none") is declared if isinstance(declared, bool) else _same(declared, observed)


def _evidence(declared: Json, observed: Json) -> bool | None:
    """At least as strong as declared; an attestation report is nothing that facts can show."""
    if declared not in _EVIDENCE or observed not in _EVIDENCE:
        return None
    return _EVIDENCE.index(str(observed)) >= _EVIDENCE.index(str(declared))


def _by_words(declared: Json, observed: Json) -> bool:
    return words_match(str(declared), str(observed))


def _cpu_model(declared: Json, observed: Json) -> bool | None:
    """A contradiction takes another model number or vendor: names such as Milan or Ice Lake stand in documents, not in the CPU."""
    one, other = (_CLOUD_MODEL.sub(r"\1", str(value).lower()) for value in (declared, observed))
    if words_match(one, other):
        return True
    missing = [word for word in _words(one) if not words_match(word, other)]
    return False if any(word in _CPU_VENDORS or any(c.isdigit() for c in word) for word in missing) else None


def _by_version(declared: Json, observed: Json) -> bool:
    return version_matches(str(declared), str(observed))


def _words(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(text.lower()) if word and word not in ("cpu", "processor")]


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Json) -> float:
    return float(str(value))


_COMPARISONS: Mapping[str, Comparison] = {
    "cloud.provider": _provider,
    "cpu.model": _cpu_model,
    "memory.total": memory_matches,
    "memory.swap": _about,
    "net.link": _about,
    "net.speed": _about,
    "os.name": _by_words,
    "os.version": _by_version,
    "kernel.release": _by_version,
    "kubernetes.version": _by_version,
    "cni.version": _by_version,
    "mesh.version": _by_version,
    "storage.size": _about,
    "disk.size": _about,
    "cvm.expected": _technology,
    "cvm.evidence": _evidence,
}
