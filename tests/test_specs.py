"""The specs that are shipped: each valid without a warning, each planned, each saying what its
source says.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import benchspec.specs
from benchspec.engine.analysis.limits import Link, check_limits, limits_of
from benchspec.engine.analysis.model import LimitState
from benchspec.engine.execution.run import find_problems
from benchspec.engine.language.load import check_spec, load_spec
from benchspec.engine.model.spec import Experiment, LoadedSpec, Target
from benchspec.engine.model.text.json_access import mapping
from benchspec.engine.model.units import Dimension, parse_quantity
from benchspec.engine.planning.plan import Plan, plan, plan_to_json
from benchspec.engine.planning.semantic_diff.diff import diff_specs
from benchspec.reports.wording.numbers import write_share
from benchspec.workloads.registry import WORKLOADS
from tests.engine.execution.bench import CATALOGUE

FOLDER = Path(benchspec.specs.__file__).parent
SPECS = sorted(FOLDER.glob("*.yaml"))
TESTBED = sorted(FOLDER.glob("testbed/*.yaml"))
SCRIPTS = sorted(FOLDER.glob("*/*.sh"))
NAMES = {
    "quickstart",
    "constellation-azure",
    "constellation-gcp",
    "vault-constellation",
    "cni-beyond-10g",
    "mesh-multicluster",
    "azure-disk-encryption",
    "azure-disk-encryption-standard",
    "azure-disk-encryption-linux",
    "storage-classes",
    "two-cnis",
}
FIRST_LOOKS = {"storage-classes", "two-cnis"}


def load(name: str, *overrides: str) -> LoadedSpec:
    return load_spec(FOLDER / f"{name}.yaml", overrides=overrides)


def planned(name: str, *overrides: str) -> Plan:
    return plan(load(name, *overrides), WORKLOADS)


def target(name: str, which: str) -> Target:
    return load(name).spec.target(which)


def limits(which: Target) -> dict[tuple[str, str | None], tuple[float, float]]:
    return {
        (limit.metric, limit.applies_to): (limit.sustained, limit.burst) for limit in which.limits
    }


def test_all_seeds_and_templates_have_their_spec() -> None:
    assert {path.stem for path in SPECS} == NAMES


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_is_valid_without_a_warning(path: Path) -> None:
    """But for a note where it needs an image that only its user can make."""
    clusters = any(
        site.runner == "kubernetes"
        for which in load_spec(path).spec.targets
        for site in which.sites.values()
    )
    assert [found.code for found in check_spec(path)] == ["BS229"] * clusters
    own = check_spec(path, overrides=("vars.image=ghcr.io/mine/tools:1",)) if clusters else ()
    assert own == ()


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_is_named_like_its_file_and_helps_the_editor(path: Path) -> None:
    assert load_spec(path).spec.name == path.stem
    assert path.read_text("utf-8").startswith(
        "# yaml-language-server: $schema=../schemas/benchmark.schema.json\n"
    )


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_is_planned_for_a_comparison(path: Path) -> None:
    loaded = load_spec(path)
    made = plan(loaded, WORKLOADS)
    assert loaded.spec.compare is not None
    assert made.compared, "every spec compares something"
    beside = {
        e.cell for e in made.experiments if ("path", "host-to-host") in e.point
    }  # host baselines are compared on their own target
    assert set(made.compared) == {e.cell for e in made.experiments} - beside, (
        "and everything it measures"
    )
    sessions = 5 if path.stem in FIRST_LOOKS else 10
    assert len(made.order) == len(made.experiments) * sessions
    assert made.estimate_s > 0
    assert plan_to_json(made) == plan_to_json(plan(loaded, WORKLOADS))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_limit_has_a_source_and_a_day(path: Path) -> None:
    for which in load_spec(path).spec.targets:
        for limit in which.limits:
            assert limit.source.startswith("https://")
            assert re.fullmatch(r"20\d\d-\d\d-\d\d", limit.as_of)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_shipped_script_parses_and_may_be_executed(path: Path) -> None:
    assert subprocess.run(["sh", "-n", path], capture_output=True, check=False).returncode == 0
    assert path.read_text().startswith("#!/bin/sh\n")


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_comment_or_a_title_changes_no_id(path: Path, tmp_path: Path) -> None:
    for folder in ("vault", "cni"):
        (tmp_path / folder).symlink_to(FOLDER / folder)
    text = path.read_text("utf-8")
    before, copy = tmp_path / path.name, tmp_path / f"copy-{path.name}"
    before.write_text(text, "utf-8")  # paths are relative to the folder of a spec
    copy.write_text(
        re.sub(r"^title: .*$", "title: Something else", text, flags=re.MULTILINE)
        + "\n\n# a comment\n",
        "utf-8",
    )
    found = diff_specs(load_spec(before), load_spec(copy), WORKLOADS)
    assert [change.path for change in found.changes] == ["title"]
    assert (found.added, found.removed, found.changed) == ((), (), ())


# quickstart


def test_the_quickstart_gives_client_and_server_a_cpu_each_and_takes_less_than_two_minutes() -> (
    None
):
    made = planned("quickstart")
    roles = {
        e.target: [place.cpus for place in e.roles] for e in made.experiments if e.tool == "iperf3"
    }
    assert roles == {"one-cpu": [(0,), (0,)], "two-cpus": [(0,), (1,)]}
    assert {
        place.cpus
        for e in made.experiments
        if e.tool != "iperf3" and e.target == "two-cpus"
        for place in e.roles
    } == {(0, 1)}
    assert made.estimate_s < 100
    assert {
        site.runner for which in load("quickstart").spec.targets for site in which.sites.values()
    } == {"local"}


# constellation


def test_azure_has_the_documented_limits_of_disk_and_machine() -> None:
    for name in ("aks", "constellation"):
        assert limits(target("constellation-azure", name)) == {
            ("storage.iops", "disk"): (500, 600),
            ("storage.throughput", "disk"): (60e6, 150e6),
            ("storage.iops", "machine"): (6400, 20000),
            ("storage.throughput", "machine"): (144e6, 600e6),
            ("network.throughput", "machine"): (1.25e9, 1.25e9),
        }


def test_gcp_has_the_documented_limits_of_disk_and_machine() -> None:
    found = limits(target("constellation-gcp", "gke"))
    assert found["storage.iops.read", "disk"] == found["storage.iops.write", "disk"] == (2400, 2400)
    assert (
        found["storage.throughput.read", "disk"]
        == found["storage.throughput.write", "disk"]
        == (112e6, 112e6)
    )
    assert found["storage.iops.read", "machine"] == (3000, 3000)
    assert found["storage.iops.write", "machine"] == (15000, 15000)
    assert found["network.throughput", "machine"] == (10e9, 10e9)


@pytest.mark.parametrize(
    ("name", "which", "facts"),
    [
        (
            "constellation-azure",
            "aks",
            {
                "kubernetes.version": "1.24.9",
                "cni.name": "kubenet",
                "net.mtu": 1500,
                "storage.size": 400 * 2**30,
            },
        ),
        (
            "constellation-azure",
            "constellation",
            {
                "kubernetes.version": "1.25.7",
                "cni.name": "cilium",
                "cni.version": "1.12",
                "net.mtu": 1500,
            },
        ),
        (
            "constellation-azure",
            "constellation",
            {
                "machine.type": "Standard_DC4as_v5",
                "cvm.expected": True,
                "storage.encryption": "csi",
            },
        ),
        (
            "constellation-gcp",
            "gke",
            {
                "machine.type": "n2d-standard-4",
                "net.mtu": 1450,
                "cvm.expected": False,
                "cloud.zone": "europe-west3-b",
            },
        ),
        (
            "constellation-gcp",
            "constellation",
            {"net.mtu": 8896, "cvm.expected": True, "storage.disk": "pd-balanced"},
        ),
        (
            "cni-beyond-10g",
            "flannel",
            {
                "cni.mode": "vxlan",
                "cni.network_policy": "none",
                "kubernetes.distribution": "k3s",
                "net.link": 50e9,
            },
        ),
        (
            "mesh-multicluster",
            "istio-aws",
            {
                "mesh.version": "1.19.3",
                "mesh.encryption": "mtls",
                "machine.type": "m5.2xlarge",
                "net.mtu": 1500,
            },
        ),
        ("mesh-multicluster", "kuma-equinix", {"mesh.version": "2.4.3", "mesh.protocol": "tcp"}),
        (
            "mesh-multicluster",
            "nsm-equinix",
            {
                "mesh.encryption": "wireguard",
                "machine.type": "c3.medium.x86",
                "kubernetes.version": "1.28.3",
            },
        ),
        (
            "azure-disk-encryption",
            "ade",
            {
                "storage.encryption": "ade",
                "os.name": "Windows Server 2016",
                "machine.type": "Standard_DS4_v2",
            },
        ),
        (
            "azure-disk-encryption-standard",
            "plain",
            {"storage.encryption": "none", "machine.type": "Standard_D4_v2"},
        ),
        (
            "azure-disk-encryption-linux",
            "encrypted",
            {"storage.encryption": "luks", "machine.type": "Standard_DS4_v2"},
        ),
    ],
)
def test_a_target_claims_what_its_source_says(
    name: str, which: str, facts: dict[str, object]
) -> None:
    claims = target(name, which).claims
    assert {fact: claims[fact] for fact in facts} == facts


def by_cell(name: str, *overrides: str) -> dict[str, Experiment]:
    return {f"{e.target} {e.cell}": e for e in planned(name, *overrides).experiments}


@pytest.mark.parametrize("name", ["constellation-azure", "constellation-gcp"])
def test_fio_runs_with_the_published_settings(name: str) -> None:
    found = {cell: e for cell, e in by_cell(name).items() if e.tool == "fio"}
    assert len(found) == 8
    settings = {(str(e.parameters["rw"]), str(e.parameters["bs"])) for e in found.values()}
    assert settings == {
        ("randread", "4 KiB"),
        ("randwrite", "4 KiB"),
        ("randread", "1 MiB"),
        ("randwrite", "1 MiB"),
    }
    common = {
        "size": "10 GiB",
        "runtime": "60 s",
        "ramp_time": "10 s",
        "direct": True,
        "engine": "libaio",
        "iodepth": 128,
        "cpus_allowed": "0",
    }
    assert all({key: e.parameters[key] for key in common} == common for e in found.values())
    assert {e.primary.partition("{")[0] for e in found.values()} == {
        "iops.read",
        "iops.write",
        "throughput.read",
        "throughput.write",
    }


def test_the_network_is_measured_on_both_paths_with_both_protocols_across_nodes() -> None:
    found = [e for e in planned("constellation-azure").experiments if e.tool == "iperf3"]
    assert {(str(e.path), e.parameters["protocol"]) for e in found} == {
        (p, q) for p in ("pod-to-pod", "pod-to-service") for q in ("tcp", "udp")
    }
    assert {str(e.placement) for e in found} == {"across-nodes"}


# the others


def test_vault_runs_a_hundred_times_with_1300_workers_and_keeps_its_token_out_of_the_spec() -> None:
    made = planned("vault-constellation")
    assert {
        sum(a.trials for a in made.order if a.experiment_id == e.id) for e in made.experiments
    } == {100}
    parameters = made.experiments[0].parameters
    assert (parameters["workers"], parameters["duration"]) == (1300, "10 s")
    assert parameters["token"] == "${secret:kubernetes:vault/vault-init/root-token}"
    assert {e.gates["max_error_ratio"] for e in made.experiments} == {0.0}


def test_bare_hosts_and_pods_share_cells_over_different_paths() -> None:
    found = by_cell("cni-beyond-10g")
    assert str(found["hosts bulk[streams=3]"].path) == "host-to-host"
    assert str(found["flannel bulk[streams=3]"].path) == "pod-to-pod"
    assert found["hosts bulk[streams=1]"].parameters["duration"] == "10 min"


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_spec_can_be_carried_out_as_far_as_can_be_said_without_its_sites(name: str) -> None:
    found = {
        problem.message for problem in find_problems(planned(name), load(name).spec, CATALOGUE)
    }
    assert {
        message
        for message in found
        if "this version runs nothing on Windows hosts" not in message
        and message
        != "found image registry.example/benchspec-tools:1, which stands for one of yours"
    } == set()


def test_each_mesh_has_its_url_and_is_made_anew_for_every_session() -> None:
    made = planned("mesh-multicluster")
    assert len({e.parameters["url"] for e in made.experiments}) == 3
    assert {len({place.site for place in e.roles}) for e in made.experiments} == {2}
    assert {
        c.lifecycle.per
        for which in load("mesh-multicluster").spec.targets
        for c in which.components
    } == {"session"}


@pytest.mark.parametrize("where", ["aws", "equinix"])
def test_each_mesh_is_reached_awaited_and_watched_where_its_script_puts_nginx(where: str) -> None:
    serving = {"istio": "2", "kuma": "1", "nsm": "1"}
    for mesh, cluster in serving.items():
        which = target("mesh-multicluster", f"{mesh}-{where}")
        (lifecycle,) = [component.lifecycle for component in which.components]
        server, client = which.sites["server"], which.sites["client"]
        assert (server.name, client.name) == (
            f"{mesh}-{where}-{cluster}",
            f"{mesh}-{where}-{3 - int(cluster)}",
        )
        assert ("watch" in server.options, "watch" in client.options) == (True, False)
        assert server.options["kubeconfig"] == f"/root/.kube/{where}-{cluster}"
        assert [step.site for step in lifecycle.ready if step.name == "nginx"] == [server.name]
        assert {step.site for step in (*lifecycle.bootstrap, *lifecycle.ready) if step.capture} <= {
            server.name
        }
        deploy, clear = lifecycle.bootstrap[0], lifecycle.destroy[0]
        clusters = {f"KUBECONFIG{number}": f"/root/.kube/{where}-{number}" for number in (1, 2)}
        assert (deploy.env, clear.env) == (clusters, clusters), (
            "a step has no variable that is not given to it"
        )
        assert "--chdir=/opt/service-mesh-performance-testing" in str(deploy.arguments)


PREMIUM = {
    "P10": ("500 1/s", "100 MB/s"),
    "P20": ("2300 1/s", "150 MB/s"),
    "P30": ("5000 1/s", "200 MB/s"),
}


@pytest.mark.parametrize("disk", PREMIUM)
def test_every_premium_disk_is_held_against_its_own_limits(disk: str) -> None:
    iops, throughput = PREMIUM[disk]
    of_disk = [
        e for e in planned("azure-disk-encryption").experiments if e.point == (("disk", disk),)
    ]
    assert sorted((e.target, e.workload) for e in of_disk) == [
        (t, w) for t in ("ade", "plain", "sse") for w in ("iops", "throughput")
    ]
    for each in of_disk:
        found = {
            limit.metric: limit.sustained
            for limit in limits_of(load("azure-disk-encryption").spec.target(each.target), each)
        }
        assert found == {
            "storage.iops": parse_quantity(iops, Dimension.RATE),
            "storage.throughput": parse_quantity(throughput, Dimension.BYTE_RATE),
        }


def test_diskspd_runs_with_the_published_settings() -> None:
    found = by_cell("azure-disk-encryption")
    data, system = found["ade iops[disk=P20]"].parameters, found["ade iops[disk=OS]"].parameters
    assert (data["block_size"], data["outstanding"], data["write_ratio"]) == ("8 KiB", 64, "100 %")
    assert (system["outstanding"], data["warmup"], data["duration"], data["file_size"]) == (
        16,
        "30 s",
        "90 s",
        "1 GiB",
    )
    assert found["ade throughput[disk=P10]"].parameters["block_size"] == "2 MiB"
    assert (
        len({e.parameters["path"] for key, e in found.items() if key.startswith("ade iops")}) == 4
    ), "each disk has a file of its own"


@pytest.mark.parametrize(
    ("cell", "value", "share", "state"),
    [
        ("ade iops[disk=P10]", 494.24, "98.8 %", LimitState.BOUND),  # printed as 99 % in the post
        ("ade iops[disk=P10]", 510.0, "102 %", LimitState.BOUND),
        ("plain throughput[disk=P10]", 97.28e6, "97.3 %", LimitState.FREE),
        ("ade throughput[disk=P10]", 72.55e6, "72.5 %", LimitState.FREE),  # printed as 73 %
        ("plain throughput[disk=P30]", 199.86e6, "99.9 %", LimitState.BOUND),
        (
            "plain throughput[disk=P30]",
            199.99e6,
            "99.99 %",
            LimitState.BOUND,
        ),  # never rounded up to 100 %
    ],
)
def test_published_figures_by_the_one_rule_for_percent_of_a_limit(
    cell: str, value: float, share: str, state: LimitState
) -> None:
    experiment = by_cell("azure-disk-encryption")[cell]
    target = load("azure-disk-encryption").spec.target(experiment.target)
    metric = next(m for m in WORKLOADS["diskspd"].metrics({}) if m.name == experiment.primary)
    (found,) = check_limits(value, metric, limits_of(target, experiment), Link())
    assert (write_share(found.share_of_documented), found.state) == (share, state)


@pytest.mark.parametrize("which", ["plain", "encrypted"])
@pytest.mark.parametrize(
    ("disk", "iops", "throughput"),
    [
        ("P10", (500, 3500), (100e6, 170e6)),
        ("P20", (2300, 3500), (150e6, 170e6)),
        ("P30", (5000, 5000), (200e6, 200e6)),
    ],
)
def test_linux_is_held_against_the_limits_of_its_disk_and_of_the_machine(
    which: str, disk: str, iops: tuple[float, float], throughput: tuple[float, float]
) -> None:
    experiment = by_cell("azure-disk-encryption-linux")[f"{which} throughput[disk={disk}]"]
    found = limits_of(target("azure-disk-encryption-linux", which), experiment)
    assert {(each.metric, each.applies_to): (each.sustained, each.burst) for each in found} == {
        ("storage.iops", "disk"): iops,
        ("storage.throughput", "disk"): throughput,
        ("storage.iops", "machine"): (25600, 25600),
        ("storage.throughput", "machine"): (384e6, 384e6),
    }


def test_linux_writes_as_windows_does() -> None:
    linux, windows = by_cell("azure-disk-encryption-linux"), by_cell("azure-disk-encryption")
    for cell in ("plain iops[disk=P20]", "plain throughput[disk=P30]"):
        fio, diskspd = linux[cell].parameters, windows[cell].parameters
        assert (fio["rw"], fio["direct"], diskspd["write_ratio"]) == ("randwrite", True, "100 %")
        assert [fio[name] for name in ("bs", "size", "iodepth", "ramp_time", "runtime")] == [
            diskspd[name]
            for name in ("block_size", "file_size", "outstanding", "warmup", "duration")
        ]


def test_the_file_that_linux_creates_is_measured_and_removed(tmp_path: Path) -> None:
    parameters = by_cell("azure-disk-encryption-linux")["plain file"].parameters
    script = str(mapping(parameters["files"])["create.sh"])
    assert "count=20000 " in script
    volume, work = tmp_path / "volume", tmp_path / "work"
    volume.mkdir()
    work.mkdir()
    (work / "create.sh").write_text(script.replace("count=20000 ", "count=20 "), "utf-8")
    done = subprocess.run(
        ["sh", "create.sh"],
        cwd=work,
        env={"PATH": os.defpath, "STORAGE_PATH": str(volume)},
        capture_output=True,
        text=True,
        check=True,
    )
    for rule in mapping(parameters["extract"]).values():
        assert re.search(str(mapping(rule)["regex"]), done.stdout, flags=re.MULTILINE)
    assert list(volume.iterdir()) == []


# templates for Kubernetes


@pytest.mark.parametrize("name", sorted(FIRST_LOOKS))
def test_a_first_look_is_cheap_and_says_what_the_defaults_take(name: str, tmp_path: Path) -> None:
    text = (FOLDER / f"{name}.yaml").read_text("utf-8")
    assert planned(name).estimate_s < 660
    longer = re.sub(r"^method: .*$", "", text, flags=re.MULTILINE)
    for short, long in [
        ("runtime: 10 s", "runtime: 60 s"),
        ("ramp_time: 2 s", "ramp_time: 10 s"),
        ("size: 1 GiB", "size: 10 GiB"),
        ("size: 4 GiB", "size: 40 GiB"),
        ("duration: 5 s", "duration: 60 s"),
    ]:
        longer = longer.replace(short, long)
    (tmp_path / "longer.yaml").write_text(longer, "utf-8")
    assert 2.5 < plan(load_spec(tmp_path / "longer.yaml"), WORKLOADS).estimate_s / 3600 < 3.5


# on hosts that any machine can make


@pytest.mark.parametrize("path", TESTBED, ids=lambda path: path.stem)
def test_a_spec_for_the_test_bed_is_valid_without_a_warning_and_planned(path: Path) -> None:
    assert check_spec(path) == ()
    loaded = load_spec(path)
    assert loaded.spec.name == f"testbed-{path.stem}"
    assert path.read_text("utf-8").startswith(
        "# yaml-language-server: $schema=../../schemas/benchmark.schema.json\n"
    )
    made = plan(loaded, WORKLOADS)
    assert made.compared
    clusters = any(
        site.runner == "kubernetes"
        for target in loaded.spec.targets
        for site in target.sites.values()
    )
    assert made.estimate_s < (1800 if clusters else 600)


def test_the_networks_of_the_test_bed_share_hosts_and_limit() -> None:
    loaded = load_spec(FOLDER / "testbed" / "cni.yaml")
    bare, *tunnels = loaded.spec.targets
    hosts = [
        [
            mapping(host)["host"]
            for host in mapping(target.sites["client"].options["hosts"]).values()
        ]
        for target in (bare, *tunnels)
    ]
    assert hosts == [["host1", "host2"]] * 3
    assert [
        target.claims.get("net.mtu", target.claims.get("path.mtu")) for target in (bare, *tunnels)
    ] == [1500, 1450, 1420]
    assert {target.limits for target in tunnels} == {bare.limits}
    assert {(limit.sustained, limit.layer) for limit in bare.limits} == {(50e6, "l2")}


def test_the_specs_take_no_id_from_each_other() -> None:
    ids = [e.id for name in NAMES for e in planned(name).experiments]
    assert len(set(ids)) == len(ids)
