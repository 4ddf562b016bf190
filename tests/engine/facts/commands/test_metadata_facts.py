"""Facts from metadata services, asked over a real link-local address in a network of their own, on
machines whose DMI tables are a cloud's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchspec.engine.facts import catalogue as facts
from benchspec.engine.model.spec import Json
from tests.engine.facts.test_fact_catalogue import ENVIRONMENT

SERVICE = Path(__file__).with_name("metadata_service.py")
DMI = {
    "azure": {
        "sys_vendor": "Microsoft Corporation",
        "product_name": "Virtual Machine",
        "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
    },
    "gcp": {"sys_vendor": "Google", "product_name": "Google Compute Engine"},
    "aws": {
        "sys_vendor": "Amazon EC2",
        "product_name": "HVM domU",
    },  # a Xen instance, whose type DMI does not say
    "other": {"sys_vendor": "QEMU", "product_name": "Standard PC (Q35 + ICH9, 2009)"},
}
SERVED = "ip address add 169.254.169.254/32 dev lo"
SILENT = (
    "ip link add silent type veth peer name other && ip link set silent up && ip link set other up"
    " && ip route add 169.254.169.254 dev silent"
)
WORDS = (
    "machine.type",
    "cloud.provider",
    "cloud.region",
    "cloud.zone",
    "cloud.image",
    "cloud.security_type",
    "cloud.instance",
)


def observe(
    root: Path, machine: str, network: str, service: str = "", path: str = ENVIRONMENT["PATH"]
) -> tuple[dict[str, Json], float]:
    """What the script sees in namespaces of its own, and how long it took in s."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    tables = root / "class" / "dmi" / "id"
    tables.mkdir(parents=True)
    for name, text in DMI[machine].items():
        (tables / name).write_text(text + "\n")
    started = (
        f'{sys.executable} {SERVICE} {service} >"$1/said" 2>&1 & while ! grep -q ready "$1/said";'
        " do sleep 0.05; done;"
        if service
        else ""
    )
    prepared = (
        f'mount --bind "$1/class" /sys/class && ip link set lo up && {network} && {{ {started}'
        ' PATH=$2 sh <"$1/script" >"$1/out"; }'
    )
    (root / "script").write_text(
        f"read -r began _ </proc/uptime\n{facts.script()}\nread -r ended _ </proc/uptime; echo"
        f" $began $ended >{root}/took\n"
    )
    argv = [
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-ec",
        prepared,
        "sh",
        str(root),
        path,
    ]
    subprocess.run(
        argv,
        check=True,
        timeout=60,
        env={**ENVIRONMENT, "http_proxy": "http://127.0.0.1:9"},
        capture_output=True,
    )
    began, ended = map(float, (root / "took").read_text().split())
    seen = {fact.name: fact.value for fact in facts.parse((root / "out").read_bytes())}
    return {name: seen[name] for name in WORDS}, ended - began


EXPECTED: dict[str, tuple[Json, ...]] = {
    "azure": (
        "Standard_DC4as_v5",
        "azure",
        "westus",
        "2",
        "canonical:ubuntu-confidential-vm-jammy:22_04-lts-cvm:22.04.202301140",
        "ConfidentialVM",
    ),
    "gcp": (
        "n2d-standard-4",
        "gcp",
        "europe-west3",
        "europe-west3-b",
        "debian-12-bookworm-v20240110",
        None,
    ),
    "aws": ("m6a.large", "aws", "eu-west-1", "eu-west-1a", "ami-5fb8c835", None),
}


@pytest.mark.parametrize("tool", ["curl", "wget"])
@pytest.mark.parametrize("cloud", EXPECTED)
def test_a_cloud_s_own_word(cloud: str, tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    path = only_with(tmp_path / "bin", tool)
    for attempt in range(5):  # a busy machine may miss the deadline of a second
        seen, _ = observe(tmp_path / str(attempt), cloud, SERVED, cloud, path)
        if seen["cloud.instance"] is not None:
            break
    instance = str(seen.pop("cloud.instance"))
    assert tuple(seen.values()) == EXPECTED[cloud]
    assert len(instance) == 16
    assert all(part not in instance for part in ("02aab8a4", "57751712", "i-123"))


def only_with(binaries: Path, tool: str) -> str:
    """A PATH on which this one of curl and wget is the only one."""
    binaries.mkdir()
    for folder in ("/usr/sbin", "/usr/bin", "/sbin", "/bin"):
        for program in Path(folder).iterdir():
            if (
                program.name not in {"curl", "wget"} - {tool}
                and not (binaries / program.name).is_symlink()
            ):
                (binaries / program.name).symlink_to(program)
    return str(binaries)


@pytest.mark.parametrize("cloud", EXPECTED)
def test_a_service_that_is_blocked_costs_little_and_leaves_the_facts_unknown(
    cloud: str, tmp_path: Path
) -> None:
    seen, took_s = observe(tmp_path, cloud, SILENT)
    assert {name for name, value in seen.items() if value is not None} == {"cloud.provider"}
    assert took_s < 20  # a second is meant; TCP by itself would try for two minutes


def test_a_machine_of_no_such_cloud_asks_nobody(tmp_path: Path) -> None:
    seen, _ = observe(tmp_path, "other", SERVED, "azure")
    assert set(seen.values()) == {None}
    assert (tmp_path / "said").read_text() == "ready\n"  # the service logs every request


def test_another_machine_s_files_ask_nobody(tmp_path: Path) -> None:
    for name, text in DMI["azure"].items():
        place = tmp_path / "sys/class/dmi/id" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    done = subprocess.run(
        ["sh"],
        input=facts.script().encode(),
        env={**ENVIRONMENT, "ROOT": str(tmp_path)},
        capture_output=True,
        timeout=60,
        check=True,
    )
    seen = {fact.name: fact.value for fact in facts.parse(done.stdout)}
    assert (seen["cloud.provider"], seen["cloud.region"], seen["machine.type"]) == (
        "azure",
        None,
        None,
    )
