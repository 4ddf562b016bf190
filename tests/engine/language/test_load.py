"""Loading: valid and invalid specs as files, what is loaded, and where problems are said to be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchspec.engine.language.build import build_spec
from benchspec.engine.language.load import MOST_DIAGNOSTICS, check_spec, load_spec
from benchspec.engine.model.diagnostics import InvalidSpec, Severity, alternatives
from benchspec.engine.model.errors import SpecError
from benchspec.engine.model.spec import Mode, Order, Placement, TrafficPath
from benchspec.workloads.registry import MODULES

SPECS = Path(__file__).parents[2] / "specs"
SHIPPED = Path(__file__).parents[3] / "specs"
HEAD = "apiVersion: benchspec/v1\nkind: Benchmark\nname: x\ntitle: X\n"
BODY = "targets: {here: {runner: local}}\nworkloads: {crypto: {tool: openssl-speed}}\n"


@pytest.mark.parametrize(
    "path", sorted((SPECS / "valid").glob("*.yaml")), ids=lambda path: path.stem
)
def test_a_valid_spec_loads_and_reads_back_the_same(path: Path) -> None:
    assert check_spec(path) == ()
    loaded = load_spec(path)
    assert loaded.source == path.read_bytes()
    assert build_spec(json.loads(json.dumps(loaded.document))) == loaded.spec


@pytest.mark.parametrize(
    "path", sorted((SPECS / "invalid").glob("*.yaml")), ids=lambda path: path.stem
)
def test_an_invalid_spec_gets_exactly_these_messages(path: Path) -> None:
    diagnostics = check_spec(path)
    text = "\n".join(map(str, diagnostics)).replace(str(path), path.name) + "\n"
    assert text == path.with_suffix(".expected").read_text(encoding="utf-8").replace(
        "{tools}", alternatives(sorted(MODULES), "")
    )
    with pytest.raises(InvalidSpec) as caught:
        load_spec(path)
    assert caught.value.diagnostics == diagnostics
    assert caught.value.exit_code == 2
    assert isinstance(caught.value, SpecError)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_spec_has_no_problems(path: Path) -> None:
    stand_in = "registry.example/benchspec-tools:1"  # BS229: an image that its user makes
    own = ("vars.image=ghcr.io/mine/tools:1",) if stand_in in path.read_text("utf-8") else ()
    assert [str(diagnostic) for diagnostic in check_spec(path, overrides=own)] == []


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (found,) = check_spec(tmp_path / "none.yaml")
    assert (found.code, found.line, found.found) == (
        "BS001",
        1,
        "a file that cannot be read (No such file or directory)",
    )
    assert check_spec(tmp_path)[0].code == "BS001"


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    (found,) = check_spec(write(tmp_path, HEAD + BODY + "# " + "x" * 2**20))
    assert found.code == "BS002"


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + (HEAD + BODY).replace("\n", "\r\n").encode())
    assert check_spec(path) == ()
    path.write_bytes(
        b"\xef\xbb\xbf" + (HEAD + BODY + "mehtod: {}\n").replace("\n", "\r\n").encode()
    )
    assert [(found.code, found.line, found.column) for found in check_spec(path)] == [
        ("BS101", 7, 1)
    ]


def test_warnings_do_not_stop_a_spec(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + BODY + "sites: {spare: {kind: local}}\n")
    assert [(found.code, found.severity) for found in check_spec(path)] == [
        ("BS207", Severity.WARNING)
    ]
    assert load_spec(path).spec.name == "x"


def test_many_problems_are_cut_off_with_a_count(tmp_path: Path) -> None:
    labels = "".join(f"  l{number}: {number}\n" for number in range(MOST_DIAGNOSTICS + 50))
    found = check_spec(write(tmp_path, HEAD + BODY + "labels:\n" + labels))
    assert len(found) == MOST_DIAGNOSTICS + 1
    assert (found[-1].code, found[-1].found, found[-1].severity) == (
        "BS099",
        "51 more problems",
        Severity.ERROR,
    )


def test_problems_in_a_variable_point_at_its_use(tmp_path: Path) -> None:
    path = write(
        tmp_path, HEAD + BODY + "vars: {few: 0, cpus: [0, 0]}\nmethod: {sessions: '${var:few}'}\n"
    )
    path = write(
        tmp_path,
        path.read_text().replace("{runner: local}", "{runner: local, cpus: '${var:cpus}'}"),
    )
    found = check_spec(path)
    assert [(d.code, d.line, d.path) for d in found] == [
        ("BS106", 5, "$.targets.here.cpus"),
        ("BS106", 8, "$.method.sessions"),
    ]
    path = write(tmp_path, path.read_text().replace("[0, 0]", "[0, a]").replace("few: 0", "few: 5"))
    assert [(d.code, d.line, d.path) for d in check_spec(path)] == [
        ("BS103", 5, "$.targets.here.cpus[1]")
    ]


def test_a_missing_key_is_reported_at_what_lacks_it(tmp_path: Path) -> None:
    limits = "    limits:\n      - metric: storage.iops\n        sustained: 5 1/s\n"
    text = (
        HEAD
        + "targets:\n  here:\n    runner: local\n"
        + limits
        + "    cloud:\n      region: westus\n"
    )
    found = check_spec(write(tmp_path, text + "workloads: {crypto: {tool: openssl-speed}}\n"))
    places = [(d.line, d.column, d.path) for d in found if d.code == "BS102"]
    assert places == [
        (9, 9, "$.targets.here.limits[0]"),
        (9, 9, "$.targets.here.limits[0]"),
        (11, 5, "$.targets.here.cloud"),
    ]


def test_only_warnings_can_be_ignored_and_only_on_their_line(tmp_path: Path) -> None:
    spare = (
        "sites:\n  spare: {kind: local} # benchspec: ignore=BS206 BS207\n  other: {kind: local}\n "
        " # benchspec: ignore=BS207\n"
    )
    assert [(d.code, d.line) for d in check_spec(write(tmp_path, HEAD + BODY + spare))] == [
        ("BS207", 9)
    ]
    wrong = "mehtod: {} # benchspec: ignore=BS101\n"
    assert [d.code for d in check_spec(write(tmp_path, HEAD + BODY + wrong))] == ["BS101"]
    text = 'description: "# benchspec: ignore=BS207"\n'
    assert check_spec(write(tmp_path, HEAD + BODY + text)) == ()


def test_keys_of_your_own_are_free_everywhere(tmp_path: Path) -> None:
    text = """
x-a: [1, {b: c}]
targets: {here: {runner: {kind: local, x-a: 1}, x-b: {}, topology: {nodes: {x-c: 1}}, facts: {kernel.release: '1'}}}
workloads: {crypto: {tool: openssl-speed, x-d: 1, with: {x-e: 2}, gates: {x-f: 1}, overrides: {here: {x-g: 1}}}}
method: {x-h: null}
report: {x-i: []}
"""
    path = write(tmp_path, HEAD + text)
    assert check_spec(path) == ()
    assert load_spec(path).spec.workloads[0].gates == {}


def test_the_model_of_a_rich_spec() -> None:
    spec = load_spec(SPECS / "valid" / "clusters.yaml").spec
    aks, constellation = spec.targets
    assert (spec.name, spec.labels["quarter"], aks.title, constellation.title) == (
        "clusters",
        "3",
        "AKS",
        "constellation",
    )
    assert {place.runner for place in aks.sites.values()} == {"kubernetes"}
    assert aks.sites["client"].name == "aks"
    assert aks.sites["server"].options["context"] == "aks-benchmark"
    assert aks.cvm is not None
    assert (aks.cvm.expected, aks.cvm.technology, aks.cvm.evidence) == (True, "sev-snp", "device")
    assert constellation.cvm is not None
    assert constellation.cvm.technology is None
    assert aks.topology[0].memory_bytes == 16 * 2**30
    assert aks.limits[1].sustained == 60e6
    assert (aks.limits[2].burst, aks.limits[2].unit, aks.limits[2].layer.value) == (
        1.25e9,
        "bit/s",
        "wire",
    )
    assert aks.price is not None
    assert aks.price.per_hour == 0.2
    assert aks.cpus == {"client": (0, 1), "server": (0, 1)}
    component = constellation.components[0]
    assert [
        (step.action, step.arguments)
        for step in (*component.lifecycle.bootstrap, *component.lifecycle.destroy)
    ] == [
        ("manifest", {"file": "scripts/class.yaml"}),
        ("run", {"argv": ["kubectl", "delete", "storageclass", "encrypted"]}),
    ]


def test_claims_are_flat_and_in_base_units() -> None:
    aks, constellation = load_spec(SPECS / "valid" / "clusters.yaml").spec.targets
    assert aks.claims == {
        "cloud.provider": "azure",
        "cloud.region": "westus",
        "cloud.zone": "2",
        "cvm.expected": True,
        "cvm.technology": "sev-snp",
        "cvm.evidence": "device",
        "kubernetes.distribution": "aks",
        "kubernetes.version": "1.24.9",
        "kubernetes.proxy_mode": "iptables",
        "cni.name": "kubenet",
        "cni.mtu": 1500,
        "cni.network_policy": "none",
        "net.mtu": 1500,
        "storage.class": "default-no-cache",
        "storage.provisioner": "disk.csi.azure.com",
        "storage.disk": "StandardSSD_LRS",
        "storage.size": 400 * 2**30,
        "storage.encryption": "sse",
        "storage.cache": "none",
        "storage.filesystem": "ext4",
        "machine.type": "Standard_DC4as_v5",
        "cpu.model": "AMD EPYC 7763v",
        "cpu.count": 4,
        "memory.total": 16 * 2**30,
        "os.name": "Ubuntu 22.04",
        "net.link": 1_250_000_000,
        "nodes.count": 2,
        "cpu.governor": "performance",
    }
    assert constellation.claims["cvm.expected"] is True


def test_claims_of_several_measuring_groups_carry_the_groups_name(tmp_path: Path) -> None:
    groups = (
        "{load: {cores: 2}, servers: {cores: 4}, control-plane: {cores: 8}, brain: {cores: 16,"
        " roles: [control-plane]}}"
    )
    text = HEAD + BODY.replace("{runner: local}", f"{{runner: local, topology: {groups}}}")
    assert load_spec(write(tmp_path, text)).spec.targets[0].claims == {
        "load/cpu.count": 2,
        "servers/cpu.count": 4,
    }


def test_workloads_and_method_of_the_model() -> None:
    spec = load_spec(SPECS / "valid" / "clusters.yaml").spec
    storage, network = spec.workloads
    assert storage.parameters["runtime"] == "60 s"
    assert (storage.gates, storage.primary, storage.cpus) == (
        {"min_duration": 55.0, "max_steal": 0.02},
        "iops.read",
        {"any": (2, 3)},
    )
    assert storage.image is not None
    assert storage.image.startswith("ghcr.io/example/fio@sha256:")
    assert [axis for axis, _ in network.matrix] == ["path", "protocol"]
    assert network.zip == (("streams", (1, 4)), ("bitrate", ("100 Mbit/s", "1 Gbit/s")))
    assert (network.placement, network.targets) == (
        Placement.ACROSS_NODES,
        ("aks", "constellation"),
    )
    assert network.overrides["aks"]["machine"] == "Standard_DC4as_v5"
    method = spec.method
    assert (method.sessions, method.order, method.mode, method.cooldown_s, method.seed) == (
        10,
        Order.BLOCKS,
        Mode.FULL,
        1.0,
        20230320,
    )
    assert method.precision is not None
    assert (method.precision.half_width, method.precision.max_sessions) == (0.01, 30)
    assert spec.compare is not None
    assert (spec.compare.baseline, spec.compare.equivalence, spec.compare.must_match) == (
        "aks",
        0.02,
        ("net.mtu", "cpu.model"),
    )
    assert spec.report.figures == ("interval", "box", "ecdf")


def test_sites_steps_and_defaults_of_the_model() -> None:
    spec = load_spec(SPECS / "valid" / "sites.yaml").spec
    istio, plain = spec.targets
    assert {role: site.name for role, site in istio.sites.items()} == {
        "server": "cluster-1",
        "client": "cluster-2",
    }
    assert {role: site.name for role, site in plain.sites.items()} == {"any": "cluster-1"}
    step, script, _, chart = istio.lifecycle.bootstrap
    assert (step.retries, step.retry_delay_s, step.timeout_s, step.site, step.on) == (
        300,
        1.0,
        300.0,
        "cluster-1",
        None,
    )
    assert (script.action, script.arguments, script.on, script.retries) == (
        "script",
        {"file": "scripts/setup.sh"},
        "controller",
        0,
    )
    assert chart.arguments["values"] == {"replicas": 5}
    assert [ready.arguments for ready in istio.lifecycle.ready] == [
        {"tcp": "${output:lb-address.address}:8080"},
        {"seconds": "5 s"},
    ]
    assert istio.lifecycle.per == "session"
    assert spec.compare is None
    assert spec.method.mode is Mode.SMOKE
    minimal = load_spec(SPECS / "valid" / "minimal.yaml").spec
    assert minimal.targets[0].sites["client"].runner == "local"
    assert minimal.targets[0].cvm is None
    assert minimal.workloads[0].path is None
    hosts = load_spec(SPECS / "valid" / "hosts.yaml").spec
    assert hosts.workloads[0].path is TrafficPath.HOST_TO_HOST
    assert hosts.targets[0].cvm is not None
    assert hosts.targets[0].cvm.expected is False
    assert hosts.targets[0].cpus == {"any": (0, 1, 2, 3)}


def test_what_a_program_would_take_for_an_option_is_no_host_or_address(tmp_path: Path) -> None:
    options = ", ".join(f"{key}: -oProxyCommand=id" for key in ("host", "user", "jump", "address"))
    text = (
        f"targets: {{a: {{runner: {{kind: ssh, hosts: {{client: {{{options}}}}}}}}}}}\nworkloads:"
        " {w: {tool: openssl-speed}}\n"
    )
    found = check_spec(
        write(tmp_path, "apiVersion: benchspec/v1\nkind: Benchmark\nname: a\ntitle: a\n" + text)
    )
    assert [d.code for d in found if "-oProxyCommand=id" in d.message] == ["BS105"] * 4


def test_samples_are_counted_without_a_unit(tmp_path: Path) -> None:
    text = HEAD + BODY.replace(
        "{tool: openssl-speed}",
        "{tool: openssl-speed, gates: {min_samples: 3, max_error_ratio: 0.5}}",
    )
    text += "compare: {baseline: here}\n"
    text = text.replace(
        "{here: {runner: local}}",
        "{here: {runner: local}, there: {runner: local, price: {per_hour: 1, currency: EUR, source:"
        " s, as_of: 2020-02-29}}}",
    )
    spec = load_spec(write(tmp_path, text)).spec
    assert spec.workloads[0].gates == {"min_samples": 3.0, "max_error_ratio": 0.5}
    assert spec.compare is not None
    assert spec.compare.equivalence == 0.02
    assert spec.targets[1].price is not None
    assert spec.targets[1].price.per_hour == 1.0


def test_a_secret_that_is_written_out_is_in_no_message(tmp_path: Path) -> None:
    """Neither quoted nor in an excerpt, whatever else is wrong on its line; also where the file is
    not even YAML.
    """
    token, password = "ghp_" + 36 * "a", "hunter2hunter2"
    head = "apiVersion: benchspec/v1\nkind: Benchmark\nname: a\ntitle: a\n"
    spec = tmp_path / "spec.yaml"
    parameters = (
        f"address: 'http://x', token: {password}, tests: [{{type: x, name: y, weight: 100}}]"
    )
    spec.write_text(
        f"{head}targets: {{a: {{runner: local, nmae: {token}}}}}\nworkloads: {{v: {{tool:"
        f" vault-benchmark, with: {{{parameters}}}}}}}\n"
    )
    found = check_spec(spec, [f'labels={{token: "{password}", owner: 3}}'])
    assert {d.code for d in found} == {"BS101", "BS103", "BS105", "BS301", "BS302"}
    assert not any(token in str(d) or password in str(d) for d in found)
    spec.write_text(f"{head}description: {token}: x\n")
    (broken,) = check_spec(spec)
    assert broken.code == "BS008"
    assert "*" * 36 in broken.excerpt
    assert token not in str(broken)
