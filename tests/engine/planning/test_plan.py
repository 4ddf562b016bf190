"""The plan: blocks, selection, estimate, price, and what it says it cannot show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.model.codec import decode
from benchspec.engine.model.errors import UsageError
from benchspec.engine.model.runner_traits import traits_of
from benchspec.engine.model.spec import (
    Comparison,
    Component,
    Json,
    Lifecycle,
    Method,
    Mode,
    Order,
    Precision,
    Price,
    Site,
    Spec,
    Step,
)
from benchspec.engine.planning.design.detectable_difference import (
    COV_CLASSES,
    detectable,
    margin_power,
    reach,
)
from benchspec.engine.planning.order import PlannedAllocation, arrange, arrange_session
from benchspec.engine.planning.plan import Plan, plan, plan_to_json
from tests.engine.handmade import TOOLS, loaded, sites, spec, target, workload


def planned(made: Spec, *, seed: int | None = None, only: Sequence[str] = ()) -> Plan:
    return plan(loaded(made), TOOLS, seed=seed, only=only)


def wide(method: Method | None = None) -> Spec:
    """Two targets, six cells."""
    axes = (("streams", (1, 2, 4, 8, 16)),)
    return spec(
        workloads=[
            workload(matrix=axes),
            workload("disk", tool="disk", parameters={"size": "1 GiB"}),
        ],
        method=method or Method(seed=1),
    )


def by_session(order: Sequence[PlannedAllocation]) -> dict[int, list[str]]:
    sessions: dict[int, list[str]] = {}
    for allocation in order:
        sessions.setdefault(allocation.session, []).append(allocation.experiment_id)
    return sessions


# Order


@settings(max_examples=30)
@given(st.integers(0, 2**64), st.integers(1, 6), st.sampled_from(list(Order)))
def test_every_experiment_comes_once_per_session(seed: int, count: int, order: Order) -> None:
    made = planned(wide(Method(sessions=count, order=order)), seed=seed)
    ids = {e.id for e in made.experiments}
    sessions = by_session(made.order)
    assert sorted(sessions) == list(range(1, count + 1))
    assert all(Counter(drawn) == Counter(ids) for drawn in sessions.values())
    assert all(
        sorted(a.position for a in made.order if a.session == s) == list(range(1, len(ids) + 1))
        for s in sessions
    )


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_one_seed_gives_one_order_and_every_session_its_own(seed: int) -> None:
    one, two = planned(wide(), seed=seed), planned(wide(), seed=seed)
    assert one == two
    assert len({tuple(drawn) for drawn in by_session(one.order).values()}) > 1
    assert planned(wide(), seed=seed + 1).order != one.order


def test_more_sessions_leave_earlier_ones_alone() -> None:
    short, long = (
        planned(wide(Method(sessions=4, seed=3))),
        planned(wide(Method(sessions=9, seed=3))),
    )
    assert long.order[: len(short.order)] == short.order
    assert arrange_session(long.experiments, long.method, 5) == tuple(
        a for a in long.order if a.session == 5
    )


def test_every_experiment_comes_early_as_often_as_late() -> None:
    made = planned(wide(Method(sessions=2000, seed=5)))
    means = [
        np.mean([a.position for a in made.order if a.experiment_id == e.id])
        for e in made.experiments
    ]
    assert max(abs(mean - 6.5) for mean in means) < 0.4


def test_the_seed_given_wins_over_the_specs() -> None:
    assert planned(wide()).seed == 1
    assert planned(wide(), seed=7).seed == 7
    with pytest.raises(UsageError, match="found seed -1"):
        planned(wide(), seed=-1)
    with pytest.raises(UsageError) as caught:
        planned(wide(Method(seed=-2)))
    assert caught.value.where == "method.seed"


def test_sequential_order_is_target_after_target_and_says_that_it_is_confounded() -> None:
    made = planned(wide(Method(sessions=3, order=Order.SEQUENTIAL)))
    target_of = {e.id: e.target for e in made.experiments}
    assert "".join(target_of[a.experiment_id] for a in made.order) == "a" * 18 + "b" * 18
    assert [a.session for a in made.order] == [1] * 6 + [2] * 6 + [3] * 6 + [1] * 6 + [2] * 6 + [
        3
    ] * 6
    assert made.notes[0].startswith("order confounded")
    assert not any("confounded" in n for n in planned(wide()).notes)
    assert not any(
        "confounded" in n
        for n in planned(wide(Method(order=Order.SEQUENTIAL)), only=["target=a"]).notes
    )


def test_a_duet_runs_the_targets_of_a_cell_at_the_same_time() -> None:
    made = planned(wide(Method(sessions=2, order=Order.DUET)))
    cell_of = {e.id: e.cell for e in made.experiments}
    for session in (1, 2):
        block = [a for a in made.order if a.session == session]
        pairs = [(block[i], block[i + 1]) for i in range(0, len(block), 2)]
        assert [one.group for one, _ in pairs] == [1, 2, 3, 4, 5, 6]
        assert all(
            one.group == two.group and cell_of[one.experiment_id] == cell_of[two.experiment_id]
            for one, two in pairs
        )
    assert {a.group for a in planned(wide()).order} == {None}


def test_a_duet_on_one_host_is_pointed_out() -> None:
    assert any(
        n.startswith("duet on shared machines: a, b")
        for n in planned(wide(Method(order=Order.DUET))).notes
    )
    apart = spec(
        targets=[target("a"), target("b", sites=sites("b", "ssh", host="far"))],
        method=Method(order=Order.DUET),
    )
    assert not any("duet" in n for n in planned(apart).notes)


def test_smoke_runs_everything_once() -> None:
    made = planned(
        wide(
            Method(
                mode=Mode.SMOKE,
                sessions=10,
                trials=3,
                warmups=2,
                precision=Precision(half_width=0.01, max_sessions=30),
            )
        )
    )
    assert {(a.session, a.warmups, a.trials) for a in made.order} == {(1, 0, 1)}
    assert len(made.order) == 12
    assert any(n.startswith("mode smoke") for n in made.notes)
    assert made.reach == ()


# Selection


@pytest.mark.parametrize(
    ("only", "found"),
    [
        (["target=a"], 6),
        (["target=a", "target=b"], 12),
        (["target=a", "workload=disk"], 1),
        (["tool=disk"], 2),
        (["streams=8"], 2),
        (["streams=1*"], 4),
        (["streams=?", "target=b"], 4),
        (["net[*]"], 10),
        (["net[streams=8]"], 2),
        (["disk", "net[streams=1]"], 4),
        (["*"], 12),
    ],
)
def test_only_selects(only: list[str], found: int) -> None:
    made = planned(wide(), only=only)
    assert len(made.experiments) == found
    assert len(made.order) == 10 * found


def test_only_selects_by_the_beginning_of_an_id() -> None:
    experiment = planned(wide()).experiments[4]
    assert planned(wide(), only=[experiment.short_id]).experiments == (experiment,)


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (["target=aa"], "unknown target 'aa', expected one of a, b; did you mean \"a\""),
        (
            ["targt=a"],
            (
                "unknown key 'targt', expected one of streams, target, tool, workload; did you mean"
                ' "target"'
            ),
        ),
        (["streams=3"], "unknown streams '3', expected one of 1, 16, 2, 4, 8"),
        (["dsk"], "unknown cell or id 'dsk', .*; did you mean \"disk\""),
        (["0000000000000000"], "unknown cell or id"),
        ([""], "unknown cell or id ''"),
        (
            ["workload=disk", "streams=8"],
            "no experiment matches all of 'workload=disk', 'streams=8'",
        ),
    ],
)
def test_an_unknown_selector_is_an_error_and_never_an_empty_plan(
    only: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        planned(wide(), only=only)
    assert caught.value.where is not None
    assert caught.value.where.startswith("--only")


def test_a_long_list_of_known_values_is_cut() -> None:
    many = spec(workloads=[workload(matrix=(("streams", tuple(range(20))),))])
    with pytest.raises(UsageError, match=r"and 8 more; did you mean \"19\""):
        planned(many, only=["streams=199"])


# Time and price

LOCAL = traits_of("local").overhead


def test_the_estimate_adds_trials_and_overheads() -> None:
    made = planned(
        spec(
            workloads=[workload(parameters={"seconds": 10})],
            method=Method(sessions=2, trials=3, warmups=1, cooldown_s=5.0),
        )
    )
    allocation = LOCAL.allocation_s + 4 * (10 + LOCAL.trial_s) + 5.0
    once = LOCAL.connect_s + LOCAL.facts_s * 3
    assert made.estimate_s == pytest.approx(2 * 2 * allocation + 2 * once)
    assert made.estimate is not None
    assert (made.estimate.allocations, made.estimate.trials) == (4, 16)
    assert dict(made.estimate.per_target_s) == {"a": made.estimate_s, "b": made.estimate_s}


def test_a_duet_takes_the_time_of_the_slower_target() -> None:
    one = planned(spec(targets=[target("a")], compare=False)).estimate_s
    assert planned(spec(method=Method(order=Order.DUET))).estimate_s == pytest.approx(
        one + LOCAL.connect_s + LOCAL.facts_s * 11
    )


def step(action: str, **arguments: str) -> Step:
    return Step(name="s", action=action, arguments=arguments)


@pytest.mark.parametrize(("per", "times"), [("run", 1), ("session", 10)])
def test_lifecycle_steps_count_once_or_every_session(per: str, times: int) -> None:
    bootstrap, ready = (
        (step("chart"), step("wait", seconds="1 min")),
        (step("wait", seconds="${var:x}"),),
    )
    steps = Lifecycle(bootstrap=bootstrap, ready=ready, destroy=(step("run"),), per=per)
    plain = planned(spec(compare=False)).estimate_s
    made = planned(
        spec(
            targets=[target("a", components=(Component(name="c", lifecycle=steps),)), target("b")],
            compare=False,
        )
    )
    assert made.estimate_s - plain == pytest.approx(times * (5 + 60 + 5 + 5))
    assert any(n.startswith("steps that install") for n in made.notes)


def test_a_session_that_lasts_longer_than_its_site_lets_anything_run_is_pointed_out() -> None:
    def said(seconds: int, runner: str = "ssh", **options: Json) -> list[str]:
        one = target("a", sites=sites("lab", runner, **options))
        made = spec(
            targets=[one],
            workloads=[workload(parameters={"seconds": seconds})],
            method=Method(trials=5, warmups=1, cooldown_s=7200.0),
        )
        return [note for note in planned(replace(made, compare=None)).notes if "ttl" in note]

    assert said(500, ttl="1 h") == []
    told = (
        "site lab ends what still runs there after 60 min (`ttl`), and a session of net on a takes"
        " about 70.1 min: give the site a longer one"
    )
    assert said(700, ttl="1 h") == [told]
    assert said(700) == said(100_000, "local") == []
    assert "after 1440 min" in said(100_000)[0]
    assert len(said(100_000, "kubernetes")) == 1


def test_what_no_run_shows_is_said() -> None:
    without, engine = (
        target("a", claims={"cni.network_policy": "none"}),
        target("b", claims={"cni.network_policy": "calico"}),
    )
    windows = target("c", claims={"nodes/os.name": "Windows Server 2016"})
    notes = planned(spec(targets=[without, engine, windows, target("d")], compare=False)).notes
    assert "what network policies cost is not measured on a: no policy engine" in notes
    assert (
        "what network policies cost is not measured on b: no workload brings a NetworkPolicy"
        in notes
    )
    assert (
        "Windows (c): commands are rendered and outputs are parsed, but benchspec has never run"
        " them on a Windows host" in notes
    )
    assert not any(n.startswith(("Windows", "what network")) for n in planned(wide()).notes)


def test_a_runner_from_a_plugin_has_an_estimate() -> None:
    assert planned(spec(targets=[target("a", runner="other")], compare=False)).estimate_s > 0


def price(amount: float, currency: str = "USD") -> Price:
    return Price(
        per_hour=amount, currency=currency, source="https://example.org/prices", as_of="2023-03-20"
    )


def test_the_price_is_hours_times_the_price_of_an_hour() -> None:
    made = planned(
        spec(
            targets=[target("a", price=price(2.0)), target("b")],
            workloads=[workload(parameters={"seconds": 3600})],
        )
    )
    assert made.price is not None
    assert made.price["a"].amount == pytest.approx(made.estimate_s / 3600 * 2.0)
    assert str(made.price["a"]).endswith("USD (as of 2023-03-20, https://example.org/prices)")
    assert "no price is declared for b; the total lacks them" in made.notes


def test_sequential_targets_are_up_for_their_own_part_only() -> None:
    made = planned(
        spec(
            targets=[target("a", price=price(2.0)), target("b", price=price(2.0, "EUR"))],
            method=Method(order=Order.SEQUENTIAL),
        )
    )
    assert made.price is not None
    assert sum(p.amount for p in made.price.values()) == pytest.approx(made.estimate_s / 3600 * 2.0)
    assert "prices are in several currencies and are not added up" in made.notes


def test_without_prices_there_is_none() -> None:
    assert planned(wide()).price is None


# What the plan cannot show


@pytest.mark.parametrize(("cov", "power"), [(0.01, 0.98), (0.02, 0.33), (0.03, 0.04), (0.08, 0.0)])
def test_the_power_of_a_2_percent_margin_with_10_sessions(cov: float, power: float) -> None:
    assert margin_power(10, 0.02, cov) == pytest.approx(power, abs=0.015)


@pytest.mark.parametrize(("sessions", "cov"), [(5, 0.01), (10, 0.02), (30, 0.03)])
def test_the_power_of_a_margin_is_what_a_simulation_finds(sessions: int, cov: float) -> None:
    x = np.random.default_rng(1).normal(0.0, np.sqrt(2 * np.log1p(cov**2)), (20_000, sessions))
    se = x.std(axis=1, ddof=1) / np.sqrt(sessions)
    t = {5: 2.131847, 10: 1.833113, 30: 1.699127}[sessions]
    inside = (np.abs(x.mean(axis=1)) + t * se < np.log(1.02)).mean()
    assert margin_power(sessions, 0.02, cov) == pytest.approx(inside, abs=0.012)


@pytest.mark.parametrize(("sessions", "cov"), [(3, 0.02), (10, 0.03)])
def test_the_detectable_difference_is_established_in_80_percent_of_simulated_runs(
    sessions: int, cov: float
) -> None:
    found = detectable(sessions, cov, 0.95)
    assert found is not None
    x = np.random.default_rng(2).normal(
        np.log1p(found), np.sqrt(2 * np.log1p(cov**2)), (20_000, sessions)
    )
    t = {3: 4.302653, 10: 2.262157}[sessions]
    assert (x.mean(axis=1) > t * x.std(axis=1, ddof=1) / np.sqrt(sessions)).mean() == pytest.approx(
        0.80, abs=0.012
    )


def test_one_session_reaches_nothing() -> None:
    [quiet, *_] = reach(1, 0.02, 0.95)
    assert (quiet.margin_power, quiet.detectable) == (0.0, None)
    assert any(n.startswith("one session") for n in planned(wide(Method(sessions=1))).notes)


def test_a_margin_out_of_reach_is_said() -> None:
    made = planned(wide())
    assert [r.cov for r in made.reach] == list(COV_CLASSES)
    assert len(made.compared) == 6
    assert any(
        n.startswith("margin 2.0 % can rarely be reached: with 10 sessions") and "34 %" in n
        for n in made.notes
    )
    wider = replace(wide(), compare=Comparison(baseline="a", equivalence=0.05))
    assert not any(n.startswith("margin") for n in planned(wider).notes)


def test_precision_says_how_long_it_may_take() -> None:
    made = planned(wide(Method(precision=Precision(half_width=0.01, max_sessions=30))))
    assert any(
        n.startswith(
            "precision: up to 30 sessions are made to reach a half-width of 1.0 %, at most about"
        )
        for n in made.notes
    )


def test_what_is_not_compared_is_said() -> None:
    assert any(
        n == "the baseline a is not in this plan: nothing is compared"
        for n in planned(wide(), only=["target=b"]).notes
    )
    assert any(
        n == "only the baseline a is in this plan: nothing is compared"
        for n in planned(wide(), only=["target=a"]).notes
    )
    partly = spec(
        workloads=[workload(), workload("disk", tool="disk", parameters={}, targets=("a",))]
    )
    assert any(n.startswith("1 cell is not measured on both") for n in planned(partly).notes)
    assert planned(partly).compared == ("net",)
    assert planned(spec(compare=False)).compared == ()


def test_what_is_compared_within_which_environment_is_said() -> None:
    targets = [
        target(name, environment=where)
        for name, where in (("a", "X"), ("b", "X"), ("c", "Y"), ("d", "Y"), ("e", None))
    ]
    disk = workload("disk", tool="disk", parameters={}, targets=("b", "c", "d"))
    made = replace(
        spec(targets=targets, workloads=[workload(), disk]),
        compare=Comparison(baseline=("a", "c"), equivalence=0.05),
    )
    assert planned(made).notes == (
        "b is compared with a in the environment X",
        (
            "1 cell is not measured on both the baseline and another target in the environment X,"
            " and not compared"
        ),
        "d is compared with c in the environment Y",
        "no baseline is named among the targets without an environment: e is not compared",
    )
    assert planned(made).compared == ("net", "disk")
    assert planned(made, only=["target=c", "target=b"]).notes == (
        "the baseline a is not in this plan: nothing is compared in the environment X",
        "only the baseline c is in this plan: nothing is compared in the environment Y",
    )
    assert planned(made, only=["target=c", "target=b"]).compared == ()


def test_another_machine_for_one_workload_is_said() -> None:
    claimed = target("a", claims={"machine.type": "D4as_v5"})
    made = planned(
        spec(
            targets=[claimed],
            workloads=[workload(overrides={"a": {"machine": "DC4as_v5"}})],
            compare=False,
        )
    )
    assert made.notes == ("net on a needs the machine type DC4as_v5, not D4as_v5",)


# JSON


def test_a_plan_survives_json() -> None:
    far = target(
        "b",
        sites={"client": Site(name="x", runner="local"), "any": Site(name="y", runner="ssh")},
        price=price(1.0),
        cpus={"any": (0, 1)},
    )
    made = planned(
        spec(targets=[target("a"), far], workloads=[workload(matrix=(("streams", (1, 2)),))])
    )
    document = plan_to_json(made)
    text = json.dumps(document, sort_keys=True)
    assert decode(Plan, json.loads(text)) == made
    assert {
        "seed",
        "experiments",
        "order",
        "estimate",
        "price",
        "notes",
        "spec_sha256",
    } <= document.keys()
    assert json.dumps(plan_to_json(made), sort_keys=True) == text


def test_the_json_of_a_plain_plan_has_every_key() -> None:
    made = planned(spec(compare=False))
    assert plan_to_json(made)["price"] is None
    assert plan_to_json(made)["notes"] == []
    assert decode(Plan, plan_to_json(made)) == made


def test_arrange_is_the_whole_order() -> None:
    made = planned(wide())
    assert arrange(made.experiments, made.method) == made.order
