import json

import pytest

from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.vault_benchmark import hcl as vault_hcl
from benchspec.workloads.vault_benchmark import workload as vault_benchmark
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import by_series, completed

TOKEN = "${secret:env:VAULT_TOKEN}"
MIX: list[dict[str, Json]] = [
    {"type": "transit_sign", "name": "sign", "weight": 75},
    {
        "type": "transit_verify",
        "name": "verify",
        "weight": 25,
        "config": {"payload_len": 64, "verify": {"signature_algorithm": "pkcs1v15"}},
    },
]
PARAMETERS: dict[str, Json] = {
    "address": "https://vault.vault:8200",
    "token": TOKEN,
    "duration": "10 s",
    "workers": 1300,
    "tests": MIX,
}

EXPECTED = """\
vault_addr = "https://vault.vault:8200"
duration = "10s"
workers = 1300
report_mode = "json"
random_mounts = true
cleanup = true
disable_http2 = false
log_level = "WARN"

test "transit_sign" "sign" {
  weight = 75
}

test "transit_verify" "verify" {
  weight = 25
  config {
    payload_len = 64
    verify {
      signature_algorithm = "pkcs1v15"
    }
  }
}
"""


def test_configuration_is_the_same_bytes_every_time() -> None:
    assert vault_benchmark.configuration(PARAMETERS).decode() == EXPECTED
    reordered = dict(reversed(PARAMETERS.items()))
    assert vault_benchmark.configuration(reordered) == vault_benchmark.configuration(PARAMETERS)


def test_the_token_is_in_the_environment_alone_and_as_a_reference() -> None:
    commands = vault_benchmark.commands(
        experiment("vault-benchmark", PARAMETERS, {Role.LOAD_GENERATOR: (1,)}), surroundings()
    )
    (client,), (configuration,) = commands.clients, commands.files
    assert client.env == {"VAULT_TOKEN": TOKEN}
    assert client.argv == (
        "vault-benchmark",
        "run",
        "-config=/w/load-generator/vault-benchmark.hcl",
    )
    assert (client.role, client.cpus, configuration.role) == (
        Role.LOAD_GENERATOR,
        (1,),
        Role.LOAD_GENERATOR,
    )
    assert b"token" not in configuration.data


def test_without_a_token_the_environment_is_empty() -> None:
    parameters = {name: value for name, value in PARAMETERS.items() if name != "token"}
    assert (
        vault_benchmark.commands(experiment("vault-benchmark", parameters), surroundings())
        .clients[0]
        .env
        == {}
    )


def test_optional_settings() -> None:
    changes: dict[str, Json] = {
        "namespace": "team",
        "ca_pem_file": "/tls/ca.pem",
        "rate": "500 1/s",
        "random_mounts": False,
    }
    text = vault_benchmark.configuration({**PARAMETERS, **changes}).decode()
    for line in (
        'vault_namespace = "team"',
        'ca_pem_file = "/tls/ca.pem"',
        "rps = 500",
        "random_mounts = false",
        "cleanup = false",
    ):
        assert f"\n{line}\n" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tests": [MIX[0]]}, "weights that sum to 75"),
        ({"tests": []}, "weights that sum to 0"),
        (
            {"tests": [{**MIX[0], "weight": 50}, {**MIX[1], "weight": 50, "name": "sign"}]},
            "'sign' more than once",
        ),
        ({"rate": "0.5 1/s"}, "whole number of requests"),
        (
            {"tests": [{**MIX[0], "weight": 100, "config": {"a b": 1}}]},
            "the name of a vault-benchmark setting",
        ),
        (
            {"tests": [{**MIX[0], "weight": 100, "config": {"a": None}}]},
            "expected a string, number",
        ),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Json], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        vault_benchmark.configuration({**PARAMETERS, **changes})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", '"plain"'),
        ('"\n}\ntest "x" {', '"\\"\\n}\\ntest \\"x\\" {"'),
        ("${vault_token} %{ if true }", '"$${vault_token} %%{ if true }"'),
        ("a\\b\tc\r", '"a\\\\b\\tc\\r"'),
        ("\u2028\x07\U0001f600é", '"\\U00002028\\U00000007\U0001f600é"'),
    ],
)
def test_strings_cannot_become_syntax(text: str, written: str) -> None:
    """Each of these was read back by hashicorp/hcl v2.20 as the text it came from."""
    assert vault_hcl.quoted(text) == written


def test_scalars_and_lists() -> None:
    assert (
        vault_hcl.attributes({"a": True, "b": 1.5, "c": ["x", 2, False], "d": {}})
        == 'a = true\nb = 1.5\nc = ["x", 2, false]\nd {\n}\n'
    )


def test_estimate_and_primary() -> None:
    assert vault_benchmark.duration_s(PARAMETERS) == 10
    assert vault_benchmark.primary(PARAMETERS) == "latency.mean{test=total}"
    assert vault_benchmark.tools(PARAMETERS)[0].executable == "vault-benchmark"


def test_one_run_has_one_output() -> None:
    with pytest.raises(ParseError, match="found 0 vault-benchmark outputs"):
        vault_benchmark.parse([], {})


def entry(**fields: Json) -> bytes:
    times: dict[str, Json] = {
        "latencies": {"mean": 2_000_000},
        "duration": 1_000_000_000,
        "wait": 0,
    }
    total: dict[str, Json] = {**times, "requests": 4, "status_codes": {"200": 2, "204": 2}}
    return json.dumps({"metrics": {"total": {**total, **fields}}}).encode()


def test_every_2xx_is_success() -> None:
    found = by_series(vault_benchmark.parse([completed(entry())], {}))
    assert found == {
        "latency.mean{test=total}": 0.002,
        "throughput{test=total}": 4.0,
        "rate{test=total}": 4.0,
        "error.ratio{test=total}": 0.0,
        "samples{test=total}": 4.0,
        "duration{test=total}": 1.0,
    }


def test_answers_that_are_no_number_are_failures() -> None:
    found = by_series(
        vault_benchmark.parse(
            [completed(entry(status_codes={"0": 1, "none": 1, "200": 1, "307": 1}))], {}
        )
    )
    assert found["error.ratio{test=total}"] == 0.75


def test_unmeasured_times_are_absent() -> None:
    found = by_series(
        vault_benchmark.parse(
            [completed(entry(duration=None, wait="x", latencies={"mean": -1}))], {}
        )
    )
    assert found.keys() == {"error.ratio{test=total}", "samples{test=total}"}


@pytest.mark.parametrize("codes", [{}, {"200": 3}, {"200": "many"}, None])
def test_codes_that_do_not_add_up_are_refused(codes: Json) -> None:
    with pytest.raises(ParseError, match="add up"):
        vault_benchmark.parse([completed(entry(status_codes=codes))], {})
