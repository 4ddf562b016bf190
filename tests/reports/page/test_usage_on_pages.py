"""What nodes and containers were busy with, on the page."""

from __future__ import annotations

from dataclasses import replace

from benchspec.engine.model.results import Fact, FactSet, Measurement, RunData, Trial, TrialKind
from benchspec.reports.output import html, markdown
from benchspec.reports.page.usage import list_containers, list_loads, list_unseen
from benchspec.reports.page.view import build_view
from tests.reports.sample_run import make_analysis, make_run

RUN = make_run()
TITLES = {target.name: target.title for target in RUN.spec.targets}
WATCHED = next(
    experiment for experiment in RUN.experiments if experiment.id == RUN.trials[0].experiment_id
)
CPU = {f"host.cpu.{state}": 0.0 for state in ("iowait", "steal")} | {
    "host.cpu.busy": 0.5,
    "host.cpu.user": 0.3,
    "host.cpu.system": 0.15,
}
ROLES = {
    "client": {
        **CPU,
        "host.cpu.softirq": 0.05,
        "memory.used": 2.0**30,
        "container.role.cpu": 0.4,
        "container.role.memory": 3.0 * 2**20,
    },
    "server": {
        **CPU,
        "host.cpu.softirq": 0.0625,
        "memory.used": 2.0**31,
        "container.envoy.cpu": 1.5,
    },
}


def watched(usage: dict[str, dict[str, float]], *, samples: bool = True) -> RunData:
    """The sample run in which one experiment's trials were watched; warm-ups were twice as busy."""

    def change(trial: Trial) -> Trial:
        if trial.experiment_id != WATCHED.id:
            return replace(trial, usage={})
        counted = (Measurement(metric="samples", unit="1", value=1000.0),) if samples else ()
        factor = 2 if trial.kind is TrialKind.WARMUP else 1
        seen = {
            role: {name: value * factor for name, value in figures.items()}
            for role, figures in usage.items()
        }
        return replace(trial, usage=seen, measurements=(*trial.measurements, *counted))

    return replace(RUN, trials=tuple(map(change, RUN.trials)))


def test_both_nodes_are_shown() -> None:
    client, server = list_loads(watched(ROLES), TITLES)
    assert (client.role, client.busy, client.user, client.system, client.softirq) == (
        "client",
        "50.0 %",
        "30.0 %",
        "15.0 %",
        "5.00 %",
    )
    assert (server.role, server.softirq, server.memory, client.memory) == (
        "server",
        "6.25 %",
        "2.000 GiB",
        "1.000 GiB",
    )
    assert (client.target, client.cell) == (TITLES[WATCHED.target], WATCHED.cell)


def test_containers_are_shown_by_trial_and_by_request() -> None:
    client, envoy = list_containers(watched(ROLES), TITLES)
    assert (client.container, client.cpu, client.per_sample, client.memory) == (
        "its own",
        "400.0 ms",
        "400.0 us",
        "3.000 MiB",
    )
    assert (envoy.role, envoy.container, envoy.cpu, envoy.per_sample, envoy.memory) == (
        "server",
        "envoy",
        "1.500 s",
        "1.500 ms",
        "",
    )


def test_a_sidecar_called_like_its_role_is_told_from_it() -> None:
    rows = list_containers(
        watched({"client": {"container.client.cpu": 3.0, "container.role.cpu": 1.0}}), TITLES
    )
    assert [(row.role, row.container, row.cpu) for row in rows] == [
        ("client", "its own", "1.000 s"),
        ("client", "client", "3.000 s"),
    ]


def test_containers_that_steps_made_are_told_from_those_of_roles_by_pod_and_site() -> None:
    made = {
        "container.statefulset/v.1/envoy.cpu": 2.0,
        "container.statefulset/v.1/envoy.memory": 2.0**20,
        "container.envoy.cpu": 1.0,
    }
    own, other = list_containers(watched({"client": made}), TITLES)
    site = next(place.site for place in WATCHED.roles if place.role == "client")
    assert (own.site, own.pod, own.role, own.container, own.cpu) == (
        site,
        "client",
        "client",
        "envoy",
        "1.000 s",
    )
    assert (other.site, other.pod, other.role, other.container, other.cpu) == (
        site,
        "statefulset/v.1",
        "",
        "envoy",
        "2.000 s",
    )


def test_what_is_not_known_of_containers_is_told_with_the_reason() -> None:
    run = watched({"client": {"container.deployment/echo/envoy.unseen": 1.0}})
    (row,) = rows = list_containers(run, TITLES)
    assert (row.cpu, row.per_sample, row.memory) == ("", "", "")
    (short,) = list_unseen(run, rows)
    assert short.startswith(
        f"On site {row.site} it is not known what these containers used: envoy of deployment/echo."
        " Why: some trial was too short"
    )
    facts = (Fact(name="containers.unseen", value="a right is missing", source="API"),)
    blind = replace(
        run,
        facts=(
            *run.facts,
            FactSet(
                target=WATCHED.target, site=row.site, when="allocated", observed_at=1.0, facts=facts
            ),
        ),
    )
    (missing,) = list_unseen(blind, rows)
    assert (
        missing == f"On site {row.site} it is not known what these containers used: envoy of"
        " deployment/echo. Why: a right is missing."
    )
    assert list_unseen(blind, ()) == (
        f"On site {row.site} it is not known what some containers used. Why: a right is missing.",
    )
    for page in (
        markdown.render_page(build_view(blind, make_analysis(blind))),
        html.render_page(build_view(blind, make_analysis(blind))),
    ):
        assert b"envoy of deployment/echo. Why: a right is missing." in page


def test_what_is_not_known_of_every_trial_is_not_shown() -> None:
    run = watched(ROLES, samples=False)
    assert [row.per_sample for row in list_containers(run, TITLES)] == ["", ""]
    first = next(
        t for t in run.trials if t.experiment_id == WATCHED.id and t.kind is TrialKind.MEASURED
    )
    gone = {**first.usage, "server": {}}
    partly = replace(
        run, trials=tuple(replace(t, usage=gone) if t is first else t for t in run.trials)
    )
    assert [row.cpu for row in list_containers(partly, TITLES)] == ["400.0 ms", ""]
    assert [row.role for row in list_loads(partly, TITLES)] == ["client"]
    unwatched = replace(
        run, trials=tuple(replace(t, usage={}) if t is first else t for t in run.trials)
    )
    assert list_loads(unwatched, TITLES) == ()
    assert [row.cpu for row in list_containers(unwatched, TITLES)] == ["", ""]


def test_nothing_is_said_where_nothing_was_watched() -> None:
    run = watched({})
    assert (list_loads(run, TITLES), list_containers(run, TITLES)) == ((), ())
    page = markdown.render_page(build_view(run, make_analysis(run)))
    assert b"Load on the nodes" not in page


def test_both_kinds_of_page_have_the_tables() -> None:
    run = watched(ROLES)
    view = build_view(run, make_analysis(run))
    page = markdown.render_page(view).decode()
    assert " | client | 50.0 % | 30.0 % | 15.0 % | 5.00 % | 0 % | 0 % | 1.000 GiB |" in page
    assert "| server | envoy | 1.500 s | 1.500 ms | – |" in page
    assert (
        '<td>envoy</td><td class="n">1.500 s</td><td class="n">1.500 ms</td><td class="n">–</td>'
        in html.render_page(view).decode()
    )
