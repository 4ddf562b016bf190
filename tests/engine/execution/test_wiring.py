from __future__ import annotations

import dataclasses
from pathlib import Path

from benchspec.engine.control.interrupts import Interrupts
from benchspec.engine.execution.wiring import Options, Parts, take_order, wire
from benchspec.engine.language.load import build_spec
from benchspec.engine.lifecycle.targets import NOTHING
from benchspec.engine.model.contract.runner import Runner
from benchspec.engine.store.journal import Journal
from benchspec.engine.store.read_run import read_plan
from tests.engine.execution.bench import (
    CATALOGUE,
    Recorder,
    digest_tree,
    make_run,
    records,
    spec_document,
)


def test_a_run_is_put_together_before_anything_is_connected_or_recorded(tmp_path: Path) -> None:
    directory = make_run(tmp_path, spec_document(tmp_path / "counter"))
    connected: list[str] = []

    def runner(kind: str) -> Runner:
        found = CATALOGUE.runner(kind)

        class Watched(type(found)):  # type: ignore[misc]
            def connect(self, *arguments: object) -> object:
                connected.append(kind)
                return super().connect(*arguments)

        watched: Runner = Watched()
        return watched

    recorder = Recorder()
    order = take_order(
        directory,
        build_spec(directory.resolved()),
        read_plan(directory),
        dataclasses.replace(CATALOGUE, runner=runner),
        recorder,
        Options(),
        NOTHING,
    )
    before = digest_tree(directory.path)
    with Journal(directory.journal_path) as journal, Interrupts() as interrupts:
        parts = wire(order, journal, interrupts)
        assert not connected
        parts.sites.connect()
        assert set(connected) == {"local"}, "it would have been seen"
        parts.sites.disconnect()
    assert records(directory.path) == []
    assert recorder.events == []
    after = digest_tree(directory.path)
    assert {name: digest for name, digest in after.items() if name in before} == before
    assert order.targets == ("a", "b")
    assert set(order.experiments) == {each.id for each in order.plan.experiments}


def test_parts_are_whole_and_stay_as_they_were_put_together() -> None:
    assert Parts.__dataclass_params__.frozen  # type: ignore[attr-defined]
    fields = dataclasses.fields(Parts)
    assert all(field.default is dataclasses.MISSING for field in fields), "none is filled in later"
