"""Messages: their form, their order, escaping, suggestions, and the formats for machines."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.language.diagnostic_formats import render
from benchspec.engine.language.load import check_spec
from benchspec.engine.language.rules import RULES
from benchspec.engine.language.yaml.source import cut_excerpt
from benchspec.engine.model.diagnostics import (
    At,
    Diagnostic,
    InvalidSpec,
    Problem,
    Severity,
    alternatives,
    did_you_mean,
    escape,
    in_order,
    path_text,
    quote,
)

VALID = Path(__file__).parents[2] / "specs" / "valid"


def diagnostic(code: str = "BS101", **changes: object) -> Diagnostic:
    values: dict[str, object] = {
        "code": code,
        "severity": RULES[code].severity,
        "path": "$.a",
        "file": "dir/a,b:c.yaml",
        "line": 3,
        "column": 5,
        "found": "x 100%\r\nnext",
        "expected": "y",
        "hint": 'did you mean "z"?',
        "excerpt": "    x: 1",
        "caret": 4,
    }
    return Diagnostic(**{**values, **changes})  # type: ignore[arg-type]


def test_text_is_one_line_with_the_excerpt_and_a_caret_below() -> None:
    assert (
        render([diagnostic(found="x")])
        == 'dir/a,b:c.yaml:3:5 [BS101] $.a: found x, expected y; did you mean "z"?\n  |     x: 1\n '
        " |     ^"
    )
    assert (
        str(diagnostic("BS207", found="x", expected="", hint="", excerpt=""))
        == "dir/a,b:c.yaml:3:5 [BS207] $.a: found x (warning)"
    )
    assert render([]) == ""
    assert str(InvalidSpec([diagnostic(found="x", excerpt="")])).startswith(
        "dir/a,b:c.yaml:3:5 [BS101]"
    )


def test_a_file_may_be_called_anything_and_still_takes_one_line() -> None:
    assert str(diagnostic(file="a\x1b[31m\n[BS101].yaml", found="x", excerpt="")).startswith(
        "a\\x1b[31m\\n[BS101].yaml:3:5 [BS101] $.a: found x"
    )


def test_github_commands_are_escaped() -> None:
    assert render([diagnostic(), diagnostic("BS207"), diagnostic("BS237")], "github").split(
        "\n"
    ) == [
        (
            "::error file=dir/a%2Cb%3Ac.yaml,line=3,col=5,title=BS101 $.a::found x"
            ' 100%25%0D%0Anext, expected y; did you mean "z"?'
        ),
        (
            "::warning file=dir/a%2Cb%3Ac.yaml,line=3,col=5,title=BS207 $.a::found x"
            ' 100%25%0D%0Anext, expected y; did you mean "z"?'
        ),
        (
            "::notice file=dir/a%2Cb%3Ac.yaml,line=3,col=5,title=BS237 $.a::found x"
            ' 100%25%0D%0Anext, expected y; did you mean "z"?'
        ),
    ]
    assert render([], "github") == ""


def test_json_has_every_field() -> None:
    (record,) = json.loads(render([diagnostic()], "json"))
    assert record == {
        "code": "BS101",
        "severity": "error",
        "file": "dir/a,b:c.yaml",
        "line": 3,
        "column": 5,
        "path": "$.a",
        "found": "x 100%\r\nnext",
        "expected": "y",
        "hint": 'did you mean "z"?',
        "message": 'found x 100%\r\nnext, expected y; did you mean "z"?',
    }
    assert json.loads(render([], "json")) == []


def test_sarif_describes_the_codes_it_uses() -> None:
    log = json.loads(render([diagnostic(file="a b\\c.yaml"), diagnostic("BS207")], "sarif"))
    (run,) = log["runs"]
    assert (log["version"], run["tool"]["driver"]["name"], run["columnKind"]) == (
        "2.1.0",
        "benchspec",
        "unicodeCodePoints",
    )
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["BS101", "BS207"]
    first, second = run["results"]
    assert (first["ruleId"], first["level"], second["level"]) == ("BS101", "error", "warning")
    place = first["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "a%20b/c.yaml"},
        "region": {"startLine": 3, "startColumn": 5},
    }
    assert json.loads(render([], "sarif"))["runs"][0]["results"] == []
    (odd,) = json.loads(render([diagnostic(file=os.fsdecode(b"a\xff.yaml"))], "sarif"))["runs"][0][
        "results"
    ]
    assert odd["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%FF.yaml"


def test_order_is_by_place_then_code_and_the_command_line_comes_last() -> None:
    last, argument, right = (
        diagnostic(line=9, column=1),
        diagnostic(file="--set 1", line=1),
        diagnostic(line=2, column=8),
    )
    given_ = [last, argument, right, diagnostic("BS207", line=2), diagnostic(line=2)]
    expected = [given_[4], given_[3], given_[2], given_[0], given_[1]]
    assert list(in_order([*given_, *given_])) == expected


@given(st.text())
def test_nothing_raw_comes_through(text: str) -> None:
    for shown in (escape(text), quote(text), path_text((text, 3, text))):
        assert shown.isprintable()
        assert len(shown) < 3300


def test_quotes_are_short_and_say_what_a_value_is() -> None:
    assert quote("x" * 1000) == '"' + "x" * 77 + '..."'
    assert [
        quote(value) for value in (None, True, 3, 2.5, {}, {"a": 1}, [], [1], (1, 2), 10**400)
    ] == [
        "nothing (null)",
        "true",
        "3",
        "2.5",
        "a mapping with 0 keys",
        "a mapping with 1 key",
        "a list with 0 items",
        "a list with 1 item",
        "a list with 2 items",
        "a number of 1329 bits",
    ]


def test_paths() -> None:
    assert path_text(()) == "$"
    assert (
        path_text(("targets", "aks", "limits", 0, "sustained"))
        == "$.targets.aks.limits[0].sustained"
    )
    assert path_text(("facts", "kernel.release", "a\nb")) == r'$.facts["kernel.release"]["a\nb"]'


def test_alternatives_are_listed_up_to_a_dozen() -> None:
    assert alternatives([]) == "none"
    assert alternatives(["a"]) == "a"
    assert alternatives(["a", "b"]) == "one of a, b"
    assert alternatives([str(number) for number in range(20)]).endswith("11 and 8 more")


def test_excerpts_are_cut_around_the_place() -> None:
    assert cut_excerpt("\ta: \x1b[1m", 1) == (" a: ?[1m", 1)
    line = "x" * 500 + "HERE" + "y" * 500
    excerpt, caret = cut_excerpt(line, 500)
    assert len(excerpt) == 160
    assert excerpt[caret : caret + 4] == "HERE"


def test_problems_point_at_values_unless_told_otherwise() -> None:
    assert Problem(code="BS101", path=(), found="a", expected="b").at is At.VALUE
    assert Severity("note") is Severity.NOTE


TYPOS = [
    ("title: Confidential against", "titel: Confidential against", "title"),
    ("labels: {team", "lables: {team", "labels"),
    ("description: |", "descripton: |", "description"),
    ("targets:\n  aks", "target:\n  aks", "targets"),
    ("workloads:\n", "workload:\n", "workloads"),
    ("runner: {kind: kubernetes, context: aks", "runer: {kind: kubernetes, context: aks", "runner"),
    (
        "cloud: {provider: azure, region: westus, zone",
        "clould: {provider: azure, region: westus, zone",
        "cloud",
    ),
    ("region: westus, zone", "regoin: westus, zone", "region"),
    (
        "topology:\n      workers: {count: 2, roles: [client, server], m",
        "topolgy:\n      workers: {count: 2, roles: [client, server], m",
        "topology",
    ),
    ("machine: Standard_DC4as_v5, cpu", "machin: Standard_DC4as_v5, cpu", "machine"),
    ("cores: 4, memory", "core: 4, memory", "cores"),
    ("memory: 16 GiB", "memmory: 16 GiB", "memory"),
    ("proxy_mode: iptables", "proxy-mode: iptables", "proxy_mode"),
    ("proxy_mode: iptables", "proxy_mode: iptable", "iptables"),
    ("network_policy: none", "networkPolicy: none", "network_policy"),
    ("encryption: wireguard", "encryption: wiregaurd", "wireguard"),
    ("cache: none", "cache: readonly", "read-only"),
    ("cache: none", "chache: none", "cache"),
    ("technology: sev-snp", "technology: SEV-SNP", "sev-snp"),
    ("evidence: device", "evidence: devcie", "device"),
    ("sustained: 500 1/s", "sustaned: 500 1/s", "sustained"),
    ("per_hour: 0.2", "per-hour: 0.2", "per_hour"),
    ("tool: fio", "tool: foi", "fio"),
    ("tool: iperf3", "tool: iperf", "iperf3"),
    ("image: ", "imge: ", "image"),
    ("ramp_time: 10 s", "ramptime: 10 s", "ramp_time"),
    ("iodepth: 128}\n        - {name: write", "iodpeth: 128}\n        - {name: write", "iodepth"),
    ("rw: randread", "rw: rand_read", "randread"),
    ("max_steal: 2 %", "max_stael: 2 %", "max_steal"),
    ("placement: across-nodes", "placement: across_nodes", "across-nodes"),
    ("path: [pod-to-pod", "path: [pod2pod", "pod-to-pod"),
    ("sessions: 10", "session: 10", "sessions"),
    ("order: blocks", "order: block", "blocks"),
    ("baseline: aks", "baseline: ask", "aks"),
    ("equivalence: 2 %", "equivalance: 2 %", "equivalence"),
    ("figures: [interval", "figures: [intervall", "interval"),
    ("roles: [control-plane]", "roles: [controlplane]", "control-plane"),
    ("manifest: scripts", "manifests: scripts", "manifest"),
]


@pytest.mark.parametrize(
    ("right", "typo", "meant"),
    TYPOS,
    ids=[typo.split(":")[0].strip() + str(index) for index, (_, typo, _) in enumerate(TYPOS)],
)
def test_what_was_meant_is_suggested(right: str, typo: str, meant: str, tmp_path: Path) -> None:
    text = (VALID / "clusters.yaml").read_text(encoding="utf-8")
    assert right in text
    path = tmp_path / "spec.yaml"
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "class.yaml").write_text("")
    path.write_text(text.replace(right, typo, 1), encoding="utf-8")
    hints = {found.hint for found in check_spec(path)}
    assert f'did you mean "{meant}"?' in hints


def test_no_suggestion_where_nothing_is_near() -> None:
    assert did_you_mean("zebra", ["title", "name"]) == ""
    assert did_you_mean(3, ["3"]) == ""
    assert did_you_mean("x" * 100, ["x"]) == ""
