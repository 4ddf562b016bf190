"""Control groups of containers, as both versions write them."""

import pytest

from benchspec.engine.model.contract.values import Sample
from benchspec.engine.store import usage
from benchspec.runners.kubernetes.pods import containers

V2 = (
    b"usage_usec 2500000\nuser_usec 1500000\nsystem_usec 1000000\nnr_periods 7\n12582912\nanon"
    b" 4096\ninactive_file 2097152\nactive_file 1\n"
)
V1 = (
    b"28694245000\n1290240\ncache 0\ninactive_file 90240\ntotal_cache 0\ntotal_inactive_file"
    b" 290240\n"
)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (V2, {"container.envoy.cpu": 2.5, "container.envoy.memory": 10485760.0}),
        (V1, {"container.envoy.cpu": 28.694245, "container.envoy.memory": 1000000.0}),
        (V2 + b"started\n", {"container.envoy.cpu": 2.5, "container.envoy.memory": 10485760.0}),
        (
            b"usage_usec 2500000\n",
            {"container.envoy.cpu": 2.5},
        ),  # the root's group has no memory.current
        (b"28694245000\n1290240\n", {"container.envoy.cpu": 28.694245}),
        (b"1290240\ncache 0\ntotal_inactive_file 290240\n", {}),  # one number alone may be either
        (b"cat: not found\n", {}),
        (b"", {}),
    ],
)
def test_cpu_time_and_working_set(said: bytes, found: dict[str, float]) -> None:
    assert containers.read("envoy", said) == found


def test_usage_of_containers_is_what_was_added_and_the_most_held() -> None:
    first = Sample(
        elapsed_s=0,
        values={
            "container.a.cpu": 2.0,
            "container.a.memory": 9.0,
            "container.b.cpu": 5.0,
            "container.c.cpu": 1.0,
        },
    )
    last = Sample(
        elapsed_s=4,
        values={
            "container.a.cpu": 2.5,
            "container.a.memory": 7.0,
            "container.b.cpu": 0.5,
            "container.d.cpu": 1.0,
        },
    )
    assert usage.summarise([first, Sample(elapsed_s=2, values={}), last]) == {
        "container.a.cpu": 0.5,
        "container.a.memory": 9.0,
    }
