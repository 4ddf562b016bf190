"""Reasons in words, by name and by title."""

from __future__ import annotations

import pytest

from benchspec.engine.analysis.model import Adjusted, Difference, Margin, Verdict
from benchspec.engine.analysis.reasons import (
    AtLimit,
    BothAtLimit,
    FactDiffers,
    FactsDiffer,
    FactUnknown,
    FailedGates,
    FewSessions,
    FewSharedSessions,
    FewValidSessions,
    NoLevel,
    NoPoint,
    NoRate,
    NotDeclared,
    NotReported,
    NotRun,
    NoValidTrial,
    NoValue,
    NoVerdict,
    OnePoint,
    OutOfRange,
    Shown,
    Skipped,
    SmokeMode,
    TrialError,
    TrialsNotValid,
)
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.model.spec import Role, TrafficPath
from benchspec.reports.wording.reasons import (
    write_no_level,
    write_no_value,
    write_no_verdict,
    write_remark,
)

TITLES = {"a": "Azure", "b": "Constellation"}
MTU = FactDiffers(
    fact="net.mtu",
    target=Shown(target="b", values=("1400", "1500")),
    baseline=Shown(target="a", values=("1500",), declared=True),
)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (NoValidTrial(target="a"), "Azure has no valid trial"),
        (NoValidTrial(target="b", why=NotRun()), "Constellation has no valid trial: not run"),
        (
            NoValidTrial(target="a", path=TrafficPath.POD_TO_POD, why=NotReported()),
            "a (pod-to-pod) has no valid trial: no valid trial reported it",
        ),
        (NoValidTrial(target="elsewhere"), "elsewhere has no valid trial"),
        (
            FewValidSessions(target="b", valid=4, attempted=10),
            "only 4 of 10 sessions of Constellation are valid",
        ),
        (
            FactsDiffer(mismatches=(MTU,)),
            "net.mtu must match: 1400, 1500 on b, 1500 on a (declared)",
        ),
        (
            FactsDiffer(
                mismatches=(
                    FactUnknown(fact="cpu.model", targets=("b", "a"), roles=(Role.CLIENT,)),
                    FactUnknown(fact="net.mtu", targets=("b",), roles=(Role.CLIENT, Role.SERVER)),
                )
            ),
            (
                "cpu.model must match and is unknown on b and a (nodes of the client); net.mtu must"
                " match and is unknown on b (nodes of the client and the server)"
            ),
        ),
        (
            BothAtLimit(
                baseline=AtLimit(target="a", metric="storage.iops", rate=500.0, unit="1/s"),
                target=AtLimit(target="b", metric="storage.iops", rate=500.0, unit="1/s"),
            ),
            (
                "both sides run at the documented limit of 500 1/s, so the comparison says nothing"
                " about the software"
            ),
        ),
        (
            NotDeclared(series="figure"),
            "nobody declared the unit and the direction of figure",
        ),
        (
            OutOfRange(series="rate"),
            "no difference of such figures of rate can be computed",
        ),
        (SmokeMode(), "smoke mode runs everything once and carries no verdict"),
        (
            FewSessions(found=1, least=5, paired=True),
            "found 1 pair of sessions, expected at least 5",
        ),
        (
            FewSessions(found=3, least=5, paired=False),
            "found 3 sessions on one side, expected at least 5",
        ),
    ],
)
def test_why_there_is_no_verdict(reason: NoVerdict, words: str) -> None:
    assert write_no_verdict(reason, TITLES) == words
    by_name = write_no_verdict(reason)
    assert "Azure" not in by_name
    assert "Constellation" not in by_name
    assert write_remark(Verdict(reason=reason), TITLES) == words


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (Skipped(why="one node only"), "one node only"),
        (NotRun(), "not run"),
        (NotReported(), "no valid trial reported it"),
        (
            TrialsNotValid(cause=TrialError(message="fio: disk full"), count=1, trials=2),
            "fio: disk full (1 of 2 trials)",
        ),
        (
            TrialsNotValid(cause=FailedGates(gates=("min_duration", "steal")), count=2, trials=3),
            "gate min_duration, steal failed (2 of 3 trials)",
        ),
        (
            TrialsNotValid(cause=TrialStatus.VOID, count=1, trials=1),
            "trial void (1 of 1 trials)",
        ),
    ],
)
def test_why_there_is_no_value(why: NoValue, words: str) -> None:
    assert write_no_value(why) == words


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (NoRate(series="latency"), "latency is no rate that levels off: higher is not better"),
        (SmokeMode(), "smoke mode runs everything once and carries no verdict"),
        (NoPoint(), "no point was measured"),
        (OnePoint(), "found one point, expected at least two"),
        (
            FewSharedSessions(found=1, least=5),
            "found 1 session that two points share, expected at least 5",
        ),
        (
            FewSharedSessions(found=4, least=5),
            "found 4 sessions that two points share, expected at least 5",
        ),
    ],
)
def test_why_nothing_is_said_of_a_sweep(reason: NoLevel, words: str) -> None:
    assert write_no_level(reason) == words


def test_an_adjustment_is_a_remark_beside_a_verdict() -> None:
    plain = Verdict(difference=Difference.NONE_ESTABLISHED, margin=Margin.UNDECIDED)
    assert write_remark(plain) is None
    lifted = Verdict(
        difference=Difference.NONE_ESTABLISHED,
        margin=Margin.UNDECIDED,
        adjusted=Adjusted(p=0.02, p_adjusted=0.08),
    )
    assert (
        write_remark(lifted)
        == "p = 0.02 alone; 0.08 after adjustment for all primary verdicts of the page"
    )
