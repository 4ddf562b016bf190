"""Settings of a host that make repeated measurements scatter: rated from its facts, with what to do
about each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...model.results import FactSet, Finding, FindingLevel
from ...model.spec import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A fact, when it is noisy, how much that weighs, and advice for the reader."""

    fact: str
    noisy: Callable[[Json], bool]
    level: FindingLevel
    advice: str


def _is(value: Json) -> Callable[[Json], bool]:
    return lambda observed: observed == value and type(observed) is type(value)


STEAL = 0.02
"""Share of CPU time taken by the hypervisor above which a host counts as noisy."""

RULES: Sequence[Rule] = (
    Rule(
        fact="cpu.governor",
        noisy=lambda value: value != "performance",
        level=FindingLevel.WARNING,
        advice=(
            "the frequency follows the load; type: cpupower frequency-set --governor performance"
        ),
    ),
    Rule(
        fact="cpu.turbo",
        noisy=_is(True),
        level=FindingLevel.NOTE,
        advice=(
            "the frequency depends on temperature and on idle neighbours; it can be switched off in"
            " the firmware or under /sys/devices/system/cpu"
        ),
    ),
    Rule(
        fact="cpu.smt",
        noisy=_is(True),
        level=FindingLevel.NOTE,
        advice=(
            "two logical CPUs share a core; pin roles with `cpus` to different cores, or type: echo"
            " off > /sys/devices/system/cpu/smt/control"
        ),
    ),
    Rule(
        fact="cpu.steal",
        noisy=lambda value: isinstance(value, float) and value > STEAL,
        level=FindingLevel.WARNING,
        advice=(
            "the hypervisor gives CPU time to others; use dedicated machines, or the gate"
            " `max_steal`"
        ),
    ),
    Rule(
        fact="memory.thp",
        noisy=_is("always"),
        level=FindingLevel.NOTE,
        advice=(
            "huge pages come and go in the background; type: echo madvise >"
            " /sys/kernel/mm/transparent_hugepage/enabled"
        ),
    ),
    Rule(
        fact="memory.ksm",
        noisy=_is(True),
        level=FindingLevel.NOTE,
        advice="equal pages are merged in the background; type: echo 0 > /sys/kernel/mm/ksm/run",
    ),
    Rule(
        fact="kernel.numa_balancing",
        noisy=_is(True),
        level=FindingLevel.NOTE,
        advice="pages move between nodes in the background; type: sysctl kernel.numa_balancing=0",
    ),
    Rule(
        fact="kernel.aslr",
        noisy=_is(0),
        level=FindingLevel.NOTE,
        advice=(
            "every start has the same memory layout, so sessions repeat its luck; type: sysctl"
            " kernel.randomize_va_space=2"
        ),
    ),
    Rule(
        fact="service.irqbalance",
        noisy=_is(True),
        level=FindingLevel.NOTE,
        advice=(
            "interrupts move to other CPUs while trials run, also to those that roles are pinned"
            " to; type: systemctl stop irqbalance"
        ),
    ),
    Rule(
        fact="clock.synchronised",
        noisy=_is(False),
        level=FindingLevel.WARNING,
        advice="times of several hosts cannot be compared; start a time service",
    ),
    Rule(
        fact="power.mains",
        noisy=_is(False),
        level=FindingLevel.WARNING,
        advice="on battery the CPU is slowed down; plug the machine in",
    ),
)


def rate(facts: FactSet) -> tuple[Finding, ...]:
    """A finding F520 for every setting known to add noise; what is unknown is not rated."""
    findings = []
    for rule in RULES:
        value = facts.value(rule.fact)
        if value is not None and rule.noisy(value):
            findings.append(
                Finding(
                    code="F520",
                    level=rule.level,
                    message=f"{rule.fact} is {_shown(value)}: {rule.advice}",
                    target=facts.target,
                )
            )
    return tuple(findings)


def _shown(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
