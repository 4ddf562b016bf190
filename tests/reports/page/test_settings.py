"""What differs between targets is on the page with both values: for every parameter of every tool,
and as it was really started.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import benchspec
from benchspec.engine.analysis.analyse import analyse
from benchspec.engine.language.schema.registry import workload_schema
from benchspec.engine.model.results import RunData, UsedCommands, UsedFile, UsedProgram
from benchspec.engine.model.spec import Lifecycle, Site, Step
from benchspec.engine.store.journal import read_records
from benchspec.engine.store.read_run import read_run
from benchspec.reports.output.export import export_json
from benchspec.reports.output.render import render_report
from benchspec.reports.page.settings import compare_settings
from benchspec.reports.page.view import build_view
from benchspec.workloads.registry import WORKLOADS, metrics_of
from tests.engine.execution.bench import spec_document, write_spec
from tests.reports.sample_run import make_analysis, make_run

RUN = make_run()
ANALYSIS = make_analysis(RUN)
CELL = "storage[job=read_iops]"


def parameters() -> Iterator[tuple[str, str, Any]]:
    for tool in sorted(WORKLOADS):
        schema = workload_schema(tool)
        assert schema is not None
        properties: Mapping[str, Any] = schema.document["properties"]
        for name, about in properties.items():
            if not name.startswith("x-"):
                yield tool, name, about["examples"][0]


def other(value: Any) -> Any:
    """A value of the same shape that differs in its last leaf."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value} other"
    if isinstance(value, list):
        return [*value[:-1], other(value[-1])]
    last = list(value)[-1]
    return {**value, last: other(value[last])}


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, bool):
        yield "yes" if value else "no"
    else:
        yield " ".join(str(value).split())


def with_parameters(name: str, of_target: Mapping[str, Any]) -> RunData:
    """The sample run, its storage workload with ``name`` set for each target."""
    experiments = tuple(
        replace(e, parameters={**e.parameters, name: of_target[e.target]})
        if e.workload == "storage"
        else e
        for e in RUN.experiments
    )
    workloads = tuple(
        replace(
            w,
            parameters={**w.parameters, name: of_target["aks"]},
            overrides={"c11n": {"with": {name: of_target["c11n"]}}},
        )
        if w.name == "storage"
        else w
        for w in RUN.spec.workloads
    )
    return replace(RUN, experiments=experiments, spec=replace(RUN.spec, workloads=workloads))


@pytest.mark.parametrize(("tool", "name", "value"), list(parameters()))
def test_any_parameter_that_one_target_overrides_is_shown_with_both_values(
    tool: str, name: str, value: Any
) -> None:
    run = with_parameters(name, {"aks": value, "c11n": other(value)})
    lines = compare_settings(run).lines
    changed = [line for line in lines if line.name.partition(".")[0] == name]
    assert changed
    for column, used in enumerate((other(value), value)):  # Constellation is the spec's first
        shown = " ".join(line.values[column] for line in changed)
        different = set(leaves(used)) - set(leaves(value if column == 0 else other(value)))
        assert all(text in shown for text in different), (shown, different)
    item = next(
        item
        for workload in build_view(run, ANALYSIS).workloads
        for item in workload.settings
        if workload.name == "storage" and item.name == changed[0].name
    )
    assert "(on AKS)" in item.text
    assert "(on Constellation)" in item.text


def test_the_first_table_of_the_page_says_what_differs_and_sentences_name_it() -> None:
    run = with_parameters("bs", {"aks": "4 KiB", "c11n": "64 KiB"})
    page = render_report(run, ANALYSIS, "markdown")["page.md"].decode()
    table = page[page.index("\n| ") :].split("\n\n")[0]
    assert "| Workload | Setting | Constellation | AKS |" in table
    assert "| Storage | `bs` | 64 KiB | 4 KiB |" in table
    sentences = [
        str(c)
        for workload in build_view(run, ANALYSIS).workloads
        for cell in workload.cells
        for c in cell.comparisons
    ]
    told = "The two are set differently: bs (64 KiB on Constellation, 4 KiB on AKS)."
    assert sum(told in sentence for sentence in sentences) == 2, "both cells of storage"
    exported = json.loads(export_json(run, ANALYSIS))
    assert sum(told in str(each["sentence"]) for each in exported["contrasts"]) == 2


def test_a_page_of_targets_that_are_set_alike_has_no_such_table() -> None:
    assert compare_settings(RUN).lines == ()
    assert "set differently" not in render_report(RUN, ANALYSIS, "markdown")["page.md"].decode()


def test_command_lines_files_and_steps_are_compared_without_what_an_allocation_chose() -> None:
    def used(target: str, *words: str) -> UsedCommands:
        experiment = next(e for e in RUN.experiments if (e.cell, e.target) == (CELL, target))
        program = UsedProgram(
            role="client", argv=("fio", "${workdir}/job", *words), secrets=("TOKEN",)
        )
        file = UsedFile(role="client", name="job", sha256=words[0].encode().hex().ljust(64, "0"))
        return UsedCommands(experiment_id=experiment.id, clients=(program,), files=(file,))

    step = Step(name="serve", action="run", arguments={"argv": ["nginx", "-p", "a b"]})
    changed = tuple(
        replace(
            t,
            sites={"client": Site(name="x", runner="ssh", options={"hosts": {"client": "h1"}})},
            lifecycle=Lifecycle(bootstrap=(step,)),
        )
        if t.name == "aks"
        else t
        for t in RUN.spec.targets
    )
    run = replace(
        RUN,
        commands=(used("aks", "one"), used("c11n", "two")),
        spec=replace(RUN.spec, targets=changed),
    )
    lines = {line.name: line.values for line in compare_settings(run).lines}
    assert lines["command line (client)"] == (
        "TOKEN=(secret) fio ${workdir}/job two",
        "TOKEN=(secret) fio ${workdir}/job one",
    )
    assert lines["file job (client)"][0] != lines["file job (client)"][1]
    assert lines["bootstrap serve: run"] == ("not set", "nginx -p 'a b'")
    assert lines["runner"] == ("kubernetes", "ssh")
    assert "h1" not in str(lines), "how a site is reached is nobody's business"
    sentence = str(build_view(run, ANALYSIS).workloads[1].cells[0].comparisons[0])
    assert "set differently: command line (client), file job (client)." in sentence


def test_values_that_differ_only_far_from_their_start_never_read_the_same() -> None:
    long = "x" * 2000
    run = with_parameters("job_text", {"aks": f"{long} a", "c11n": f"{long} b"})
    line = next(line for line in compare_settings(run).lines if line.name == "job_text")
    assert line.values[0] != line.values[1]


def test_two_programs_of_one_workload_are_two_on_its_page(tmp_path: Path) -> None:
    """A page once showed the first program's command for both targets."""
    document = spec_document(
        tmp_path / "counter", method={"sessions": 2, "trials": 1, "warmups": 0, "seed": 1}
    )
    workload = document["workloads"]["count"]
    faster = ["sh", "-c", "printf x >> \"$COUNTER\"; echo 'rate: 84 <ours>'"]
    workload["overrides"] = {"b": {"with": {"run": faster}}}
    document["compare"] = {"baseline": "a"}
    done = benchspec.run(
        write_spec(tmp_path / "s.yaml", document),
        out=tmp_path / "run",
        consent=lambda lines: True,
    )
    run = read_run(done.directory)
    assert {c.clients[0].argv for c in run.commands} == {
        tuple(workload["with"]["run"]),
        tuple(faster),
    }
    page = render_report(run, analyse(run, metrics_of(run.experiments)), "html")[
        "page.html"
    ].decode()
    shown = html.unescape(page)
    assert "rate: 84 <ours>" in shown
    assert "rate: 42.5" in shown
    assert shown.index("rate: 84 <ours>") < shown.index("Results")
    records, _ = read_records(done.directory / "journal.ndjson")
    assert [r.type for r in records].count("experiment.commands") == 2, "once for each experiment"


def test_a_parameter_that_is_called_like_something_of_the_workload_keeps_its_value() -> None:
    run = with_parameters("path", {"aks": "/small", "c11n": "/large"})
    values = {line.name: line.values for line in compare_settings(run).lines}
    assert values == {"path": ("/large", "/small")}
