"""What was really set, and where targets differ in it: parameters, overrides, command lines, files
and steps, from the experiments as they were resolved and the commands of the journal.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from ...engine.analysis.model import Contrast
from ...engine.model.results import RunData, UsedCommands, UsedProgram
from ...engine.model.spec import Experiment, Json, Lifecycle, Site, Target
from ...engine.model.text.json_access import items, mapping
from ...engine.planning.identity import machine_override
from ..wording.sentences import Names, write_sentence
from ..wording.values import flatten, write_value
from .model import Item, SettingLine, SettingTable

NOT_SET = "not set"
LONGEST = 600
"""Longer values are cut, with the start of their sha256: two that differ never read the same."""
MOST_POINTS = 4
MOST_NAMED = 3
ALL = "all"
SITUATION = ("path", "placement", "image")
"""What a workload says of where it runs, shown with the settings of its tool."""
SHOWN_OPTIONS = ("workdir", "namespace", "image", "network", "privileged")
"""Options of runners that may decide a result; the others are how a site is reached, which no page
tells.
"""
DERIVED = ("command line", "file ")
"""Settings that follow from others: a sentence names them only where nothing else differs."""


def compare_settings(run: RunData) -> SettingTable:
    """Every setting in which targets differ that are measured beside each other, with the value on
    each of them.
    """
    targets = [t for t in run.spec.targets if any(e.target == t.name for e in run.experiments)]
    used = UsedSettings(run)
    lines = [*_of_targets(targets)]
    for workload in run.spec.workloads:
        experiments = [e for e in run.experiments if e.workload == workload.name]
        lines += _of_workload(workload.title, experiments, used, [t.name for t in targets])
    return SettingTable(targets=tuple(t.title for t in targets), lines=tuple(lines))


def list_settings(run: RunData, workload: str) -> tuple[Item, ...]:
    """The settings of a workload that its spec gives, each with the value that was used; where
    targets or points differ, with all of them.
    """
    experiments = [e for e in run.experiments if e.workload == workload]
    found = next(w for w in run.spec.workloads if w.name == workload)
    given = [name for name, _ in flatten(found.parameters)]
    axes = {axis for axis, _ in (*found.matrix, *found.zip)}
    titles = {t.name: t.title for t in run.spec.targets}
    values: dict[str, dict[str, list[str]]] = {}
    for experiment in experiments:
        plain = dict(_parameters(experiment))
        plain |= {_apart(name, plain): text for name, text in _situation(experiment)}
        for name in (*given, *plain):
            text = plain.get(name, NOT_SET)
            by_value = values.setdefault(name, {})
            by_value.setdefault(text, []).append(experiment.target)
    beside = {form for name in SITUATION for form in (name, f"{name} of the workload")}
    overridden = {
        name
        for override in found.overrides.values()
        for name, _ in flatten(mapping(override.get("with")))
    }
    rows = []
    for name in sorted(values, key=lambda n: (n in beside - {*given}, n)):
        by_value = values[name]
        if name not in {*given, *beside, *overridden} or (name in axes and name not in given):
            continue
        if set(by_value) != {NOT_SET}:
            rows.append(Item(name=name, text=_spread(by_value, titles)))
    return tuple(rows)


def name_settings(used: UsedSettings, contrast: Contrast, names: Names) -> str:
    """The settings in which the two sides of a comparison differ, as a sentence; empty where they
    differ in none.
    """
    if contrast.paths is not None:
        return ""
    target = used.at(contrast.cell, contrast.target)
    baseline = used.at(contrast.baseline_cell or contrast.cell, contrast.baseline)
    if target is None or baseline is None:
        return ""
    differ = _differing(used.of(target), used.of(baseline))
    differ = [row for row in differ if not row[0].startswith(DERIVED)] or differ
    if not differ:
        return ""
    told = [
        name
        if name.startswith(DERIVED)
        else f"{name} ({on_target} on {names.target}, {on_baseline} on {names.baseline})"
        for name, on_target, on_baseline in differ[:MOST_NAMED]
    ]
    rest = len(differ) - MOST_NAMED
    also = f" and {rest} more" if rest > 0 else ""
    return f" The two are set differently: {', '.join(told)}{also}."


def write_compared(used: UsedSettings, contrast: Contrast, names: Names, family: int) -> str:
    """The sentence of a comparison with the settings in which its sides differ."""
    return write_sentence(contrast, names, family) + name_settings(used, contrast, names)


class UsedSettings:
    """What was used for each experiment of a run."""

    def __init__(self, run: RunData) -> None:
        self._spec = run.spec
        self._sides = {(e.cell, e.target): e for e in run.experiments}
        self._commands: dict[str, list[UsedCommands]] = {}
        for commands in run.commands:
            self._commands.setdefault(commands.experiment_id, []).append(commands)

    def at(self, cell: str, target: str) -> Experiment | None:
        """The experiment of a target in a cell; None where it has none."""
        return self._sides.get((cell, target))

    def of(self, experiment: Experiment) -> Mapping[str, str]:
        """Names and values as text. What the spec says beside the tool's parameters is called
        ``NAME of the workload`` where a parameter has the same name.
        """
        used = dict(_parameters(experiment))
        for name, text in self._beside(experiment):
            used[_apart(name, used)] = text
        lines: dict[str, dict[str, None]] = {}
        for commands in self._commands.get(experiment.id, ()):
            for name, text in _programs(commands):
                lines.setdefault(name, {})[text] = None
        return used | {name: " or ".join(texts) for name, texts in lines.items()}

    def _beside(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        yield from _situation(experiment)
        machine = machine_override(self._spec, experiment)
        if machine is not None:
            yield "machine", machine
        for place in experiment.roles:
            if place.cpus:
                yield f"cpus.{place.role}", _exact(write_value(place.cpus))
        for name, bound in sorted(experiment.gates.items()):
            yield f"gates.{name}", write_value(bound)
        if experiment.primary:
            yield "primary", experiment.primary
        for name, value in flatten(experiment.storage):
            yield f"storage.{name}", _exact(_text(value))


def _apart(name: str, parameters: Mapping[str, str]) -> str:
    return f"{name} of the workload" if name in parameters else name


def _parameters(experiment: Experiment) -> Iterator[tuple[str, str]]:
    for name, value in flatten(experiment.parameters):
        words = value if name == "run" and isinstance(value, list | tuple) else ()
        yield name, _exact(" ".join(_word(str(word)) for word in words) or _text(value))


def _situation(experiment: Experiment) -> Iterator[tuple[str, str]]:
    extras = {
        "path": experiment.path,
        "placement": experiment.placement,
        "image": experiment.image,
    }
    for name, value in extras.items():
        if value is not None:
            yield name, str(value)


def _text(value: Json) -> str:
    """Unlike :func:`write_value` never cut, so that what differs late still differs."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(value[key])}" for key in sorted(value))
    return write_value(value)


def _exact(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… (sha256 {sha256(text.encode()).hexdigest()[:12]})"


def _programs(commands: UsedCommands) -> Iterator[tuple[str, str]]:
    for kind, programs in (("", commands.clients), (" of a server", commands.servers)):
        by_role: dict[str, list[str]] = {}
        for program in programs:
            by_role.setdefault(program.role, []).append(_line(program))
        for role, lines in by_role.items():
            for number, line in enumerate(lines, 1):
                which = f" {number}" if len(lines) > 1 else ""
                yield f"command line{kind} ({role}{which})", _exact(line)
    for file in commands.files:
        yield f"file {file.name} ({file.role})", f"sha256 {file.sha256[:12]}"


def _line(program: UsedProgram) -> str:
    words = [f"{name}={_word(text)}" for name, text in sorted(program.env.items())]
    words += [f"{name}=(secret)" for name in program.secrets]
    return " ".join([*words, *map(_word, program.argv)])


def _word(text: str) -> str:
    """Quoted as for a shell, but for stand-ins such as ``${workdir}``, which are no variables."""
    plain = text.replace("${", "").replace("}", "")
    return text if plain and shlex.quote(plain) == plain else shlex.quote(text)


def _differing(target: Mapping[str, str], other: Mapping[str, str]) -> list[tuple[str, str, str]]:
    names = dict.fromkeys((*target, *other))
    rows = [(name, target.get(name, NOT_SET), other.get(name, NOT_SET)) for name in names]
    return [row for row in rows if row[1] != row[2]]


def _spread(by_value: Mapping[str, Sequence[str]], titles: Mapping[str, str]) -> str:
    """One value as it is; several with the targets that had them, or as those of several
    points.
    """
    if len(by_value) == 1:
        return next(iter(by_value))
    owners = [set(targets) for targets in by_value.values()]
    if sum(map(len, owners)) == len(set().union(*owners)):
        return "; ".join(
            f"{text} (on {', '.join(titles.get(t, t) for t in dict.fromkeys(targets))})"
            for text, targets in by_value.items()
        )
    return " or ".join(by_value)


def _of_workload(
    title: str, experiments: Sequence[Experiment], used: UsedSettings, targets: Sequence[str]
) -> Iterator[SettingLine]:
    cells: dict[str, dict[str, Mapping[str, str]]] = {}
    for experiment in experiments:
        cells.setdefault(experiment.cell, {})[experiment.target] = used.of(experiment)
    names = dict.fromkeys(n for cell in cells.values() for found in cell.values() for n in found)
    for name in names:
        differ = {
            cell: values
            for cell, by_target in cells.items()
            if len(set((values := _values(by_target, name)).values())) > 1
        }
        if differ:
            yield SettingLine(
                workload=title,
                name=name,
                values=tuple(_over_points(differ, target) for target in targets),
            )


def _values(by_target: Mapping[str, Mapping[str, str]], name: str) -> dict[str, str]:
    return {target: found.get(name, NOT_SET) for target, found in by_target.items()}


def _over_points(differ: Mapping[str, Mapping[str, str]], target: str) -> str:
    """The target's value; where its points differ, that of each of the first few."""
    of_cell = {cell: values[target] for cell, values in differ.items() if target in values}
    if not of_cell:
        return ""
    if len(set(of_cell.values())) == 1:
        return next(iter(of_cell.values()))
    shown = [f"{_point(cell)}: {text}" for cell, text in list(of_cell.items())[:MOST_POINTS]]
    rest = len(of_cell) - MOST_POINTS
    return "; ".join(shown) + (f"; and at {rest} more points" if rest > 0 else "")


def _point(cell: str) -> str:
    return cell.partition("[")[2].removesuffix("]") or cell


def _of_targets(targets: Sequence[Target]) -> Iterator[SettingLine]:
    """What targets set for all their workloads: runners, components and the steps of lifecycles."""
    found = [dict(_of_target(target)) for target in targets]
    for name in dict.fromkeys(name for values in found for name in values):
        values = tuple(each.get(name, NOT_SET) for each in found)
        if len(set(values)) > 1:
            yield SettingLine(workload=ALL, name=name, values=values)


def _of_target(target: Target) -> Iterator[tuple[str, str]]:
    for role, site in target.sites.items():
        yield from _of_site(f"runner.{role}" if _several(target) else "runner", site)
    for component in target.components:
        yield f"component {component.name}", component.version or "no version given"
        yield from _of_lifecycle(component.lifecycle, f"{component.name}: ")
    yield from _of_lifecycle(target.lifecycle, "")


def _several(target: Target) -> bool:
    return len({(site.runner, site.name) for site in target.sites.values()}) > 1


def _of_site(name: str, site: Site) -> Iterator[tuple[str, str]]:
    yield name, site.runner
    for option in SHOWN_OPTIONS:
        if option in site.options:
            yield f"{name}.{option}", _exact(_text(site.options[option]))


def _of_lifecycle(lifecycle: Lifecycle, of: str) -> Iterator[tuple[str, str]]:
    for phase in ("bootstrap", "ready", "destroy"):
        for step in getattr(lifecycle, phase):
            for name, value in step.arguments.items():
                argv = name == "argv" and isinstance(value, Sequence)
                words = " ".join(_word(str(word)) for word in items(value)) if argv else None
                told = f"{of}{phase} {step.name}: {'run' if argv else name}"
                yield told, _exact(_text(value) if words is None else words)
            for name, text in step.env.items():
                yield f"{of}{phase} {step.name}: env.{name}", _exact(text)
