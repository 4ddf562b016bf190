"""A target of several nodes on the page: side by side where they differ, as one where they are
alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from benchspec.engine.model.results import ClaimCheck, ClaimState, Fact, FactSet, GateResult, Trial
from benchspec.engine.model.spec import Json, Role, RolePlace, TrafficPath
from benchspec.reports.page.model import View
from benchspec.reports.page.view import build_view
from tests.reports.sample_run import make_analysis, make_run

SEATS = {"client": "host-7", "server": "host-9"}


def seen(node: str, when: str = "before", allocation: str = "", **facts: Json) -> FactSet:
    found = tuple(
        Fact(name=name.replace("__", "."), value=value, source="s") for name, value in facts.items()
    )
    return FactSet(
        target="c11n",
        site="lab",
        node=node,
        when=when,
        observed_at=0.0,
        facts=found,
        allocation_id=allocation,
    )


def view_of(
    *facts: FactSet,
    claims: tuple[ClaimCheck, ...] = (),
    paths: Mapping[str, TrafficPath] = MappingProxyType({}),
) -> View:
    """The sample run, whose clients and servers were on two hosts of one site. ``paths``: by short
    id of an experiment.
    """
    run = make_run()

    def placed(trial: Trial) -> Trial:
        return replace(trial, nodes=SEATS)

    roles = tuple(RolePlace(role=role, site="lab") for role in (Role.CLIENT, Role.SERVER))
    experiments = tuple(
        replace(each, roles=roles, path=paths.get(each.short_id)) for each in run.experiments
    )
    run = replace(
        run,
        experiments=experiments,
        trials=tuple(map(placed, run.trials)),
        facts=facts,
        claims=claims,
    )
    return build_view(run, make_analysis(run))


def rows(view: View) -> dict[str, str]:
    return {row.name: row.observed for row in view.configurations[0].facts}


def test_nodes_are_called_by_their_roles_and_only_where_they_differ() -> None:
    alike = {"cpu__model": "EPYC", "os__name": "Debian"}
    view = view_of(
        seen("host-7", kernel__release="6.1", **alike),
        seen("host-9", kernel__release="5.10", **alike),
    )
    assert rows(view) == {
        "cpu.model": "EPYC",
        "os.name": "Debian",
        "kernel.release (client)": "6.1",
        "kernel.release (server)": "5.10",
    }


def test_a_change_is_told_at_the_node_that_changed() -> None:
    before = (seen("host-7", net__mtu=1500), seen("host-9", net__mtu=1500))
    view = view_of(
        *before, seen("host-7", "after", net__mtu=1500), seen("host-9", "after", net__mtu=1400)
    )
    assert rows(view) == {"net.mtu (client)": "1500", "net.mtu (server)": "1500, then 1400 (after)"}


def test_many_nodes_that_are_alike_are_one_row() -> None:
    idle = [seen(f"idle-{number}", kernel__release="6.1") for number in range(64)]
    assert rows(
        view_of(seen("host-7", kernel__release="6.1"), seen("host-9", kernel__release="6.1"), *idle)
    ) == {"kernel.release": "6.1"}


def test_paths_of_one_target_are_told_apart() -> None:
    bare, virtual, *_ = (
        experiment.short_id for experiment in make_run().experiments if experiment.target == "c11n"
    )
    facts = (
        seen("host-7", "allocated", f"run-s000-{bare}-a1", path__mtu=1500),
        seen("host-7", "allocated", f"run-s001-{virtual}-a1", path__mtu=1450),
    )
    paths = {bare: TrafficPath.HOST_TO_HOST, virtual: TrafficPath.POD_TO_POD}
    assert rows(view_of(*facts, paths=paths)) == {
        "path.mtu (client, host-to-host)": "1500",
        "path.mtu (client, pod-to-pod)": "1450",
    }
    again = seen("host-7", "allocated", f"run-s002-{bare}-a1", path__mtu=1500)
    assert rows(view_of(facts[0], again, paths={bare: TrafficPath.HOST_TO_HOST})) == {
        "path.mtu": "1500"
    }


def test_claims_name_the_nodes_of_a_contradiction_alone() -> None:
    def check(
        observed: str, state: ClaimState, *nodes: str, fact: str = "kernel.release"
    ) -> ClaimCheck:
        return ClaimCheck(
            target="c11n",
            fact=fact,
            declared="6.1",
            observed=observed,
            state=state,
            site="lab",
            nodes=nodes,
        )

    claims = (
        check("6.1.3", ClaimState.MATCH, "client"),
        check("5.10", ClaimState.MISMATCH, "server"),
        check("6.1", ClaimState.MATCH, "client", "server", fact="os.version"),
    )
    table = [(row.fact, row.observed, row.state) for row in view_of(claims=claims).claims]
    assert table == [
        ("kernel.release (server)", "5.10", "contradicted"),
        ("kernel.release (client)", "6.1.3", "confirmed"),
        ("os.version", "6.1", "confirmed"),
    ]


def test_placement_and_common_starts_are_told_where_there_are_any() -> None:
    run = make_run()
    gates = [
        GateResult(name="placement", bound=2.0, observed=2.0 + (number == 0), passed=number > 0)
        for number in range(len(run.trials))
    ]
    trials = tuple(
        replace(trial, gates=(gate,), start_skew_s=0.012345678)
        for trial, gate in zip(run.trials, gates, strict=True)
    )
    told = {
        item.name: item.text
        for item in build_view(replace(run, trials=trials), make_analysis(run)).method
    }
    assert told["Clients"] == "those of one trial began at a common instant, at most 12.35 ms apart"
    words = told["Placement"].removeprefix("seen before and after each trial; ").split("; ")
    counted = [part.partition(": ")[2].split()[:3] for part in words]
    assert all(part.endswith("trials with their roles on 2 machines") for part in words)
    assert sum(int(passed) for passed, _, _ in counted) == len(run.trials) - 1
    assert sum(int(number) for _, _, number in counted) == len(run.trials)
    assert told["Gates"] == "none"
    assert {"Placement", "Clients"}.isdisjoint(
        item.name for item in build_view(run, make_analysis(run)).method
    )


def test_the_nodes_of_the_roles_are_named_unless_all_is_one_machine() -> None:
    run = make_run()

    def told(*nodes: str) -> str | None:
        trials = tuple(
            replace(trial, nodes={"client": nodes[number % len(nodes)], "server": "host2"})
            for number, trial in enumerate(run.trials)
        )
        moved = (
            trials
            if nodes != ("localhost",)
            else tuple(replace(trial, nodes={"client": "localhost"}) for trial in trials)
        )
        items = {
            item.name: item.text
            for item in build_view(replace(run, trials=moved), make_analysis(run)).method
        }
        return items.get("Nodes")

    everybody = ", ".join(target.title for target in run.spec.targets)
    assert told("host1") == f"{everybody}: client on host1, server on host2"
    assert told("localhost") is None
    assert "more, server on host2" in (told(*(f"n{number}" for number in range(6))) or "")
