"""The method section: how it was measured and how the numbers were made, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...engine.analysis.analyse import same_settings_of
from ...engine.analysis.model import Analysis
from ...engine.facts.catalogue import is_published
from ...engine.model.results import ClaimState, RunData, TrialKind
from ...engine.model.spec import Method, Mode, Order
from ...engine.planning.baselines import environments
from ...engine.planning.validity_gates import PLACEMENT
from ..wording.numbers import RULE, scale_column, write_declared
from ..wording.values import write_value
from .model import Item

ORDERS = {
    Order.BLOCKS: (
        "randomised blocks: each session of every compared experiment forms a block, in random"
        " order from the seed"
    ),
    Order.DUET: "duet: the compared targets were measured at the same time",
    Order.SEQUENTIAL: (
        "sequential: one target after the other, so order is confounded with the targets"
    ),
}
IMPORTED = (
    "each imported file is taken for one, in an order and at a distance that only whoever measured"
    " knows; the session is the unit of analysis"
)
GATE_UNITS = {"min_duration": "s", "min_samples": "1"}
MOST_NODES = 4
"""So many nodes of one role are named."""
THIS_MACHINE = "localhost"
FORMULAS = (
    "percent = 100 (b/a - 1), where a is the baseline and b the other target",
    (
        "better and worse follow from the sign of an established difference and the declared"
        " direction of the metric"
    ),
    "CoV = standard deviation / mean of session values",
)


def describe_method(run: RunData, analysis: Analysis) -> tuple[Item, ...]:
    """Order, seed, repetition, tests, adjustment, margin, gates, nodes and software versions."""
    rows = [
        *(
            _planned(run.spec.method)
            if "imported" not in run.manifest
            else [Item(name="Sessions", text=IMPORTED)]
        ),
        *_retries(run),
        *_optional(run.spec.method),
        *_statistics(analysis),
        *_gates(run),
        *_nodes(run),
        *_placement(run),
        *_starts(run),
        *_software(run),
        Item(name="Rounding", text=RULE),
    ]
    return tuple(rows)


def _planned(method: Method) -> list[Item]:
    return [
        Item(name="Order", text=ORDERS[method.order]),
        Item(name="Seed", text=str(method.seed)),
        Item(
            name="Sessions",
            text=(
                f"{method.sessions} planned per experiment, each with everything fresh; the session"
                " is the unit of analysis"
            ),
        ),
        Item(
            name="Trials",
            text=(
                f"{method.trials} measured and {method.warmups} warm-up per session; warm-ups are"
                " kept and never summarised"
            ),
        ),
        Item(
            name="Replacements",
            text=(
                f"up to {method.replacements} invalid trials per session repeated; the invalid ones"
                " stay listed"
            ),
        ),
    ]


def _retries(run: RunData) -> list[Item]:
    """Where trials failed. A run of a version without classes of failures made no retries."""
    if "imported" in run.manifest or not any(trial.failure for trial in run.trials):
        return []
    text = (
        f"up to {run.spec.method.retries} further allocations per target in place of trials that"
        " failed for a reason from outside; what failed stays listed"
    )
    return [Item(name="Retries", text=text)]


def list_warnings(run: RunData) -> tuple[str, ...]:
    """What a reader must know before the numbers: smoke mode, a run cut short, contradicted claims,
    confounded order, an A/A run, a single session, targets that are compared with nothing.
    """
    method, warnings = run.spec.method, _imported(run)
    if method.mode is Mode.SMOKE:
        warnings.append(
            "This was a smoke run: it shows that everything works and carries no verdict."
        )
    if not run.complete:
        warnings.append(
            "This run was cut short: what follows is what had been measured until then,"
            f" {_share(run)}."
        )
    contradicted = len(
        {(check.target, check.fact) for check in run.claims if check.state is ClaimState.MISMATCH}
    )
    if contradicted:
        what = (
            "A claim of the spec is"
            if contradicted == 1
            else f"{contradicted} claims of the spec are"
        )
        warnings.append(
            f"{what} contradicted by what was observed, and the run went on all the same: see"
            " Claims."
        )
    if method.order is Order.SEQUENTIAL and "imported" not in run.manifest:
        warnings.append(
            "The targets were measured one after the other: a change over time cannot be told from"
            " a difference between them."
        )
    warnings.extend(_same_settings(run))
    if method.sessions == 1:
        warnings.append("There is one session: the intervals do not cover a new allocation.")
    return (*warnings, *_not_compared(run))


def _same_settings(run: RunData) -> Iterator[str]:
    """Targets that are their baseline under another name."""
    together: dict[str, list[str]] = {}
    for name, base in same_settings_of(run).items():
        together.setdefault(base, [base]).append(name)
    for names in together.values():
        *first, last = (run.spec.target(name).title for name in names)
        yield (
            f"An A/A run: {', '.join(first)} and {last} are the same settings. What is shown"
            " between them is the noise of the method, and none of them is better or worse."
        )


def _not_compared(run: RunData) -> Iterator[str]:
    """Environments without a baseline, whose targets are measured all the same."""
    measured = {experiment.target for experiment in run.experiments}
    for each in environments(run.spec) if run.spec.compare else ():
        titles = [run.spec.target(name).title for name in each.targets if name in measured]
        if each.baseline is None and titles:
            yield (
                f"No baseline is named {each.where}: {', '.join(titles)}"
                f" {'is' if len(titles) == 1 else 'are'} not compared."
            )


def _imported(run: RunData) -> list[str]:
    imported = run.manifest.get("imported")
    if not isinstance(imported, Mapping):
        return []
    made_by = imported.get("by")
    programs = (
        " and ".join(str(one) for one in made_by)
        if isinstance(made_by, list | tuple)
        else str(made_by)
    )
    rule = str(imported.get("sessions", "file"))
    session = "Each file counts as a session" if rule == "file" else f"Sessions were told by {rule}"
    skipped = imported.get("skipped")
    left_out = len(skipped) if isinstance(skipped, list | tuple) else 0
    files = "file" if left_out == 1 else "files"
    return [
        f"Imported: {programs} measured this, not benchspec. {session}; how many trials were"
        " planned is not said, and no placement was proven.",
        *([f"{left_out} {files} could not be read: see F606."] if left_out else []),
    ]


def _share(run: RunData) -> str:
    planned = (
        run.spec.method.sessions
        * run.spec.method.trials
        * sum(e.id not in run.skipped for e in run.experiments)
    )
    made = sum(trial.kind is TrialKind.MEASURED and trial.replaces is None for trial in run.trials)
    return f"{made} of {planned} planned trials"


def _optional(method: Method) -> list[Item]:
    rows = []
    if method.cooldown_s:
        rows.append(Item(name="Cool-down", text=f"{method.cooldown_s:g} s between allocations"))
    if method.precision:
        goal = (
            f"half-width {write_declared(method.precision.half_width)}, at most"
            f" {method.precision.max_sessions} sessions"
        )
        rows.append(Item(name="Precision", text=goal))
    return rows


def _statistics(analysis: Analysis) -> list[Item]:
    methods = sorted({c.method for c in analysis.contrasts if c.interval})
    rows = [Item(name="Tests", text="; ".join(methods) or "none: nothing was compared")]
    rows.append(
        Item(
            name="Confidence",
            text=f"{write_declared(analysis.confidence)} for intervals of means and of differences",
        )
    )
    if analysis.family > 1:
        rows.append(
            Item(
                name="Adjustment",
                text=(
                    f"Holm over the {analysis.family} primary verdicts of this run; other metrics"
                    " are descriptive"
                ),
            )
        )
    if analysis.equivalence is not None:
        rows.append(
            Item(
                name="Margin",
                text=f"{write_declared(analysis.equivalence)}, decided by two one-sided tests",
            )
        )
    return rows


def _gates(run: RunData) -> list[Item]:
    """The gates that trials went through, by workload, with their bounds (several where experiments
    differ).
    """
    workloads = {experiment.id: experiment.workload for experiment in run.experiments}
    bounds: dict[str, dict[str, None]] = {}
    for trial in run.trials:
        for gate in (gate for gate in trial.gates if gate.name != PLACEMENT):
            bounds.setdefault(workloads.get(trial.experiment_id, "unknown"), {}).setdefault(
                f"{gate.name} {_bound(gate.name, gate.bound)}"
            )
    text = "; ".join(
        f"{workload}: {', '.join(sorted(words))}" for workload, words in sorted(bounds.items())
    )
    return [Item(name="Gates", text=text or "none")]


def _nodes(run: RunData) -> list[Item]:
    """On which nodes the roles of each target were; targets on the same ones together. Nothing
    where all was on this machine.
    """
    of = {experiment.id: experiment.target for experiment in run.experiments}
    seen: dict[str, dict[str, dict[str, None]]] = {}
    for trial in run.trials:
        for role, node in trial.nodes.items():
            seen.setdefault(of.get(trial.experiment_id, "unknown"), {}).setdefault(role, {})[
                node
            ] = None
    if {node for roles in seen.values() for nodes in roles.values() for node in nodes} <= {
        THIS_MACHINE
    }:
        return []
    alike: dict[str, list[str]] = {}
    for target in run.spec.targets:
        if roles := seen.get(target.name):
            words = ", ".join(
                f"{role} on {_listed(list(nodes))}" for role, nodes in sorted(roles.items())
            )
            alike.setdefault(words, []).append(target.title)
    return [
        Item(
            name="Nodes",
            text="; ".join(f"{', '.join(titles)}: {words}" for words, titles in alike.items()),
        )
    ]


def _listed(nodes: list[str]) -> str:
    more = len(nodes) - MOST_NODES
    return " and ".join(nodes[:MOST_NODES]) + (f" and {more} more" if more > 0 else "")


def _placement(run: RunData) -> list[Item]:
    """Where the roles were seen to be, before and after every trial that has a placement."""
    workloads = {experiment.id: experiment.workload for experiment in run.experiments}
    seen: dict[tuple[str, float], list[bool]] = {}
    for trial in run.trials:
        for gate in (gate for gate in trial.gates if gate.name == PLACEMENT):
            seen.setdefault((workloads.get(trial.experiment_id, "unknown"), gate.bound), []).append(
                gate.passed
            )
    words = [
        f"{workload}: {sum(passed)} of {len(passed)} trials with their roles on"
        f" {'one machine' if bound == 1 else f'{bound:g} machines'}"
        for (workload, bound), passed in sorted(seen.items())
    ]
    return (
        [Item(name="Placement", text=f"seen before and after each trial; {'; '.join(words)}")]
        if words
        else []
    )


def _starts(run: RunData) -> list[Item]:
    """How far apart the clients of one trial began."""
    skews = [
        trial.start_skew_s
        for trial in run.trials
        if trial.kind is TrialKind.MEASURED and trial.start_skew_s is not None
    ]
    if not skews:
        return []
    scale = scale_column([max(skews)], "s")
    return [
        Item(
            name="Clients",
            text=(
                "those of one trial began at a common instant, at most"
                f" {scale.quantity(max(skews))} apart"
            ),
        )
    ]


def _bound(name: str, bound: float) -> str:
    unit = GATE_UNITS.get(name)
    return write_declared(bound) if unit is None else scale_column([bound], unit).declared(bound)


def _software(run: RunData) -> list[Item]:
    names = [
        n
        for n in run.manifest
        if n
        in {
            "version",
            "benchspec",
            "benchspec_version",
            "python",
            "platform",
            "host",
            "tools",
            "software",
        }
    ]
    rows = [
        Item(name=f"Software: {name}", text=write_value(run.manifest[name]))
        for name in sorted(names)
    ]
    tools: dict[str, set[str]] = {}
    for fact in (
        fact
        for fact_set in run.facts
        for fact in fact_set.facts
        if fact.name.startswith("tool.") and is_published(fact.name)
    ):
        tools.setdefault(fact.name.removeprefix("tool.").removesuffix(".version"), set()).add(
            write_value(fact.value)
        )
    return rows + [
        Item(name=f"Software: {tool}", text=", ".join(sorted(found)))
        for tool, found in sorted(tools.items())
    ]
