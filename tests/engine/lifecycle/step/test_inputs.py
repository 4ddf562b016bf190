"""What steps are given: outputs where they belong, and secrets in the environment alone."""

from __future__ import annotations

import pytest

from benchspec.engine.lifecycle.state import WHOLE_RUN, Bringing, Standing, Standings
from benchspec.engine.lifecycle.step.inputs import Inputs
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Step

SECRET = "a-long-secret"
VARIABLE = "TEST_INPUTS_SECRET"
REFERENCE = f"${{secret:env:{VARIABLE}}}"


def bringing(session: int) -> Bringing:
    return Bringing(target="t", session=session, attempt=1, allocation_id="a")


def prepare() -> tuple[Inputs, Standing]:
    """The first session of a target of which a part stands for the whole run."""
    standings = Standings(())
    whole = standings.add(bringing(WHOLE_RUN))
    whole.outputs |= {"make.ip": "10.0.0.1", "make.port": "1"}
    whole.secret_outputs["make.token"] = "captured"
    whole.withheld.add("make.token")
    own = standings.add(bringing(1))
    own.outputs["make.port"] = "2"
    return Inputs(standings), own


def test_outputs_of_the_session_come_before_those_of_the_run() -> None:
    inputs, own = prepare()
    words = ("${output:make.ip}:${output:make.port}", "as it is")
    assert inputs.words(own, words) == ("10.0.0.1:2", "as it is")
    assert inputs.arguments(own, {"set": {"port": "${output:make.port}"}}) == {"set": {"port": "2"}}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("${output:make.token}", "holds a secret"),
        ("${output:make.never}", "was not captured"),
        (REFERENCE, "stands in an argument"),
    ],
)
def test_what_may_not_be_shown_or_is_not_there_is_in_no_argument(word: str, said: str) -> None:
    inputs, own = prepare()
    with pytest.raises(RunFailed, match=said):
        inputs.words(own, [word])


def test_a_secret_goes_into_the_hidden_environment_and_is_blotted_out_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    inputs, own = prepare()
    assert not inputs.holds_secret(f"x {SECRET}")
    shown, hidden = inputs.environment(
        own, {"IP": "${output:make.ip}", "TOKEN": "${output:make.token}", "KEY": REFERENCE}
    )
    assert shown == {"IP": "10.0.0.1"}
    assert hidden == {"TOKEN": "captured", "KEY": SECRET}
    assert inputs.holds_secret(f"x {SECRET}")
    assert SECRET.encode() not in inputs.redacted(f"printed {SECRET}".encode())


def test_a_secret_that_is_gone_is_not_known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, _ = prepare()
    step = Step(name="s", action="run", arguments={"argv": ["x"]}, env={"KEY": REFERENCE})
    monkeypatch.delenv(VARIABLE, raising=False)
    assert not inputs.knows_secrets(step)
    monkeypatch.setenv(VARIABLE, SECRET)
    assert inputs.knows_secrets(step)
