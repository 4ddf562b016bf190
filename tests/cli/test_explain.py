"""``benchspec explain``, through the program's entry point."""

from __future__ import annotations

import pytest

from benchspec import cli
from benchspec.cli import run_line
from benchspec.engine.language.help.explanations import explanations


def explain(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_line(["explain", *arguments]) == 0
    return capsys.readouterr().out


def test_a_field_with_its_type_examples_and_fields_below(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = explain(capsys, "spec.targets[].cvm")
    assert text.startswith("spec.targets.NAME.cvm: true or false or mapping\n")
    assert "example: {expected: true, technology: sev-snp, evidence: device}" in text
    assert "    technology  Which technology protects them." in text


def test_a_quantity_with_its_unit_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    text = explain(capsys, "netperf.duration")
    assert "write: a time such as '60 s', '10 ms' or '5 min'; kept in s" in text
    assert "default: 10 s" in text


def test_values_bounds_and_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert "spec.method.order: one of blocks, duet, sequential" in explain(capsys, "method.order")
    assert "spec.compare.baseline: text or list of text, required" in explain(
        capsys, "compare.baseline"
    )
    assert "bounds: at least 1, at most 10000" in explain(capsys, "method.sessions")


def test_without_a_path_the_whole_spec_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = explain(capsys)
    assert "    targets      (required) The systems under test by name" in text


def test_several_meanings_are_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = explain(capsys, "workloads[].with.streams")
    assert "iperf3.streams: whole number" in text
    assert "\n\nnetperf.streams: whole number" in text


def test_where_further_fields_are_to_be_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert "`benchspec explain fio`" in explain(capsys, "workloads[].with")
    assert "`benchspec explain ssh`" in explain(capsys, "sites.x")


def test_a_fact_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = explain(capsys, "kernel.release")
    assert text.startswith("kernel.release: a fact, string\n")
    assert "observed by: " in text


@pytest.mark.parametrize("code", explanations())
def test_every_code_is_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(capsys, code.lower()).startswith(f"{code}: {explanations()[code].title}\n")


def test_a_diagnostic_tells_its_severity(capsys: pytest.CaptureFixture[str]) -> None:
    assert "severity: error" in explain(capsys, "BS214")


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("targets[].cvn", 'did you mean "cvm"?'),
        ("BS2144", "did you mean BS214?"),
        ("F999", "codes are BS and three digits"),
    ],
)
def test_what_is_unknown_is_a_usage_error_with_a_hint(
    what: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_line(["explain", what]) == 2
    assert says in capsys.readouterr().err


def test_a_second_command_line_in_one_process_finds_the_program_still_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run_line(["run", "--help"]) == 0
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "--help"])
    assert ended.value.code == 0
