import pytest

from benchspec.engine.model.errors import ParseError
from benchspec.workloads.vault_benchmark import workload as vault_benchmark
from tests.workloads.tool_goldens import by_series, completed, sample


def test_published_run_in_which_nearly_everything_failed() -> None:
    """71062 requests, 1803 of them answered with 200: vegeta called 51 % of it success, and the
    mean latency was the best of all runs.
    """
    found = by_series(
        vault_benchmark.parse(
            [completed(sample("vault-benchmark", "edgeless-2replicas-aks-run-with-errors.json"))],
            {},
        )
    )
    assert found["error.ratio{test=total}"] == pytest.approx(1 - 1803 / 71062)
    assert found["error.ratio{test=total}"] > vault_benchmark.DEFAULT_GATES["max_error_ratio"]
    assert found["latency.mean{test=total}"] == 0.200376181
    assert found["throughput{test=total}"] == pytest.approx(1803 / (10.001474220 + 2.122518907))


PUBLISHED = {
    "aks": {
        "latency.mean": 1.632200,
        "latency.p99": 5.480679,
        "latency.max": 6.651001,
        "latency.min": 0.011415,
    },
    "gke": {
        "latency.mean": 1.656435,
        "latency.p99": 6.030807,
        "latency.max": 7.164843,
        "latency.min": 0.010233,
    },
    "c11n": {
        "latency.mean": 1.651549,
        "latency.p99": 5.780422,
        "latency.max": 6.942997,
        "latency.min": 0.013774,
    },
}


@pytest.mark.parametrize("target", PUBLISHED)
def test_hundred_stored_runs_give_the_published_means(target: str) -> None:
    runs = [
        by_series(vault_benchmark.parse([completed(line)], {}))
        for line in sample("vault-benchmark", f"edgeless-5replicas-{target}.jsonl").splitlines()
        if line
    ]
    assert len(runs) == 100
    assert all(run["error.ratio{test=total}"] == 0 for run in runs)
    for metric, published in PUBLISHED[target].items():
        mean = sum(run[f"{metric}{{test=total}}"] for run in runs) / len(runs)
        assert mean == pytest.approx(published, abs=5e-7)


def test_outputs_of_several_runs_are_not_taken_for_several_addresses() -> None:
    with pytest.raises(ParseError, match="several results for one Vault address"):
        vault_benchmark.parse(
            [completed(sample("vault-benchmark", "edgeless-5replicas-aks.jsonl"))], {}
        )


def test_every_test_of_the_upstream_example_is_read() -> None:
    found = by_series(
        vault_benchmark.parse(
            [completed(sample("vault-benchmark", "hashicorp-reports_test.json"))], {}
        )
    )
    assert {series.partition("test=")[2].rstrip("}") for series in found} == {
        "total",
        "kvv2_read_test",
        "kvv2_write_test",
        "userpass_test1",
    }
    assert found["samples{test=total}"] == 4329
    assert found["latency.mean{test=total}"] == 0.046267615
    assert found["throughput{test=total}"] == pytest.approx(215.65894623927713)


@pytest.mark.parametrize(
    "name", ["terse-aks-5r", "verbose-aks-5r", "terse-with-errors", "verbose-with-errors"]
)
def test_reports_for_people_are_refused(name: str) -> None:
    with pytest.raises(ParseError, match="terse or verbose report"):
        vault_benchmark.parse([completed(sample("vault-benchmark", f"tool-review-{name}.txt"))], {})
