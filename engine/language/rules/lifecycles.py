"""Steps of lifecycles: one action each, names, files beside the spec, sites, and outputs captured
before they are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from ...model.diagnostics import At, Problem, alternatives, did_you_mean, quote
from ...model.diagnostics import Path as DocumentPath
from ...model.spec import Json
from ...model.text.json_access import items, mapping, text
from .view import ROLES, View

ACTIONS = ("run", "script", "manifest", "chart", "wait")
CHANGES = ("run", "script")  # what manifests and charts make goes by itself
WAITS = ("tcp", "http", "seconds", "condition")
READERS = ("regex", "jsonpath", "stdout")


def one_action(view: View) -> Iterator[Problem]:
    """BS220: a step, its wait and its captures have exactly one way each."""
    for _, path, step in view.steps():
        yield from _exactly_one(step, ACTIONS, path, At.HOLDER)
        if isinstance(step.get("wait"), Mapping):
            yield from _exactly_one(mapping(step["wait"]), WAITS, (*path, "wait"), At.KEY)
        for name, reader in mapping(step.get("capture")).items():
            if isinstance(reader, Mapping):
                yield from _exactly_one(reader, READERS, (*path, "capture", name), At.KEY)


def _exactly_one(
    found: Mapping[str, Json], known: tuple[str, ...], path: DocumentPath, at: At
) -> Iterator[Problem]:
    named = [key for key in known if key in found]
    if len(named) != 1:
        what = " and ".join(named) or f"none of {', '.join(known)}"
        yield Problem(
            code="BS220",
            path=path,
            found=what,
            expected=f"exactly one of {', '.join(known)}",
            at=at,
        )


def step_names(view: View) -> Iterator[Problem]:
    """BS221: the steps of a target have different names."""
    seen: set[tuple[str, str]] = set()
    for target, path, step in view.steps():
        name = text(step.get("name"))
        if name and (target, name) in seen:
            yield Problem(
                code="BS221",
                path=(*path, "name"),
                found=f"another step called {quote(name)}",
                expected="a name of its own within the target",
            )
        seen.add((target, name))


def step_files(view: View) -> Iterator[Problem]:
    """BS222, BS224: scripts, manifests, values and charts of one's own lie beside the spec."""
    for _, path, step in view.steps():
        for key in ("script", "manifest"):
            yield from _file(view.folder, text(step.get(key)), (*path, key))
        chart = mapping(step.get("chart"))
        if isinstance(values := chart.get("values"), str):
            yield from _file(view.folder, values, (*path, "chart", "values"))
        if (name := text(chart.get("name"))).startswith("./"):
            found = name if name.endswith(".tgz") else f"{name.rstrip('/')}/Chart.yaml"
            yield from _file(view.folder, found, (*path, "chart", "name"))


def _file(folder: Path | None, name: str, path: DocumentPath) -> Iterator[Problem]:
    if not name or "${" in name:
        return
    if leaves_folder(name):
        yield Problem(
            code="BS222",
            path=path,
            found=quote(name),
            expected="a relative path without '..'",
            hint="put the file beside the spec",
        )
    elif folder is not None and "\0" not in name and not (folder / name).is_file():
        yield Problem(
            code="BS224",
            path=path,
            found=f"{quote(name)}, which does not exist",
            expected="a file beside the spec",
        )


def leaves_folder(name: str) -> bool:
    """Whether a path leads out of the folder it is relative to: absolute, with a drive or home, or
    with ``..``.
    """
    forward = name.replace("\\", "/")
    return (
        forward.startswith(("/", "~"))
        or forward[1:2] == ":"
        or ".." in PurePosixPath(forward).parts
    )


def step_sites(view: View) -> Iterator[Problem]:
    """BS223: a step is on one of its target's sites."""
    for target, path, step in view.steps():
        placed = [text(site) for site in mapping(view.targets[target].get("sites")).values()]
        known = list(dict.fromkeys(placed)) or [target]
        site = step.get("site")
        if isinstance(site, str) and site not in known:
            expected = f"a site of the target ({alternatives(known)})"
            yield Problem(
                code="BS223",
                path=(*path, "site"),
                found=f"the site {quote(site)}",
                expected=expected,
                hint=did_you_mean(site, known),
            )


def removal(view: View) -> Iterator[Problem]:
    """BS225: what a bootstrap changes, a destroy undoes."""
    for _, path, lifecycle in view.lifecycles():
        steps = [mapping(step) for step in items(lifecycle.get("bootstrap"))]
        if not items(lifecycle.get("destroy")) and any(
            key in step for step in steps for key in CHANGES
        ):
            yield Problem(
                code="BS225",
                path=(*path, "bootstrap"),
                found="steps that install something",
                expected="a destroy that removes it",
                at=At.KEY,
            )


def places(view: View) -> Iterator[Problem]:
    """BS226: a step says where it runs if its target has several hosts."""
    for target, path, step in view.steps():
        acts = any(key in step for key in ("run", "script")) or any(
            key in mapping(step.get("wait")) for key in ("tcp", "http")
        )
        found = view.hosts(target, text(step.get("site")))
        if acts and "on" not in step and len(set(found.values())) > 1:
            named = ", ".join(quote(host) for host in dict.fromkeys(found.values()))
            expected = f"on: controller, hosts, or roles ({alternatives(sorted(found))})"
            yield Problem(
                code="BS226",
                path=path,
                found=f"no `on`, and several hosts ({named})",
                expected=expected,
                at=At.HOLDER,
            )


def outputs(view: View) -> Iterator[Problem]:
    """BS213, BS214: an output is captured by a step of the target, before it is used."""
    if not any(reference.kind == "output" for reference in view.references):
        return
    captured = _captured(view)
    steps = [(target, path, _outputs(view, target, step)) for target, path, step in view.steps()]
    for index, (target, path, _) in enumerate(steps):
        later = {
            name
            for owner, after, names in steps[index:]
            if owner == target and _in_order(path, after)
            for name in names
        }
        yield from _check_outputs(view, path, captured[target], captured[target] - later)
    for name in view.workloads:
        everywhere = (
            set[str].intersection(*(captured[target] for target in view.targets_of(name)))
            if view.targets_of(name)
            else set()
        )
        yield from _check_outputs(view, ("workloads", name), everywhere, everywhere)


def _in_order(path: DocumentPath, after: DocumentPath) -> bool:
    """Whether the step at ``after`` surely runs later: in the same list, or in a later part of a
    lifecycle. Lifecycles are in no order.
    """
    return path[:-1] == after[:-1] or path[-2] != after[-2]


def _captured(view: View) -> dict[str, set[str]]:
    captured: dict[str, set[str]] = {target: set() for target in view.targets}
    for target, _, step in view.steps():
        captured[target] |= _outputs(view, target, step)
    return captured


def _outputs(view: View, target: str, step: Mapping[str, Json]) -> set[str]:
    """What references call the outputs of a step: with the role between, if it is for several
    hosts.
    """
    name, on = text(step.get("name")), step.get("on")
    everywhere = sorted(view.hosts(target, text(step.get("site")))) or sorted(ROLES)
    roles = everywhere if on == "hosts" else [text(role) for role in items(on)]
    prefixes = (
        [f"{name}.{role}" for role in roles] if on == "hosts" or isinstance(on, list) else [name]
    )
    return {f"{prefix}.{output}" for prefix in prefixes for output in mapping(step.get("capture"))}


def _check_outputs(
    view: View, path: DocumentPath, known: set[str], before: set[str]
) -> Iterator[Problem]:
    for reference in view.references:
        if (
            reference.kind != "output"
            or reference.path[: len(path)] != path
            or reference.name in before
        ):
            continue
        if reference.name in known:
            found, expected = (
                f"the output {quote(reference.name)} before it is captured",
                "an output of a step that runs before",
            )
            yield Problem(code="BS214", path=reference.path, found=found, expected=expected)
        else:
            names = sorted(known)
            found, hint = (
                f"the unknown output {quote(reference.name)}",
                did_you_mean(reference.name, names),
            )
            expected = (
                "STEP.NAME of a capture, or STEP.ROLE.NAME of one on several hosts"
                f" ({alternatives(names)})"
            )
            yield Problem(
                code="BS213", path=reference.path, found=found, expected=expected, hint=hint
            )


CHECKS = (one_action, step_names, step_files, step_sites, removal, places, outputs)
"""The rules of this module."""
