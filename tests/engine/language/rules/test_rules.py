"""Every semantic rule: a change of a valid spec that it alone reports, and a change next to it that
nothing reports.
"""

from __future__ import annotations

import random
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchspec.engine.language.load import check_spec
from benchspec.engine.language.rules import CHECKS, RULES, check_rules
from benchspec.engine.language.rules.claims import possible_technologies
from benchspec.engine.language.rules.lifecycles import leaves_folder
from benchspec.engine.model.diagnostics import Problem, Severity

VALID = Path(__file__).parents[3] / "specs" / "valid"
PINNED = (
    "ghcr.io/example/fio@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)
TWO_HERE = "targets={here: {runner: local}, there: {runner: local, facts: {os.name: x}}}"
TWO_PINNED = "targets={here: {runner: local, cpus: [0]}, there: {runner: local, cpus: [1]}}"
LIMIT = (
    "targets.aks.limits[1]={metric: storage.iops, sustained: 1 1/s, source: s, as_of: 2023-03-20,"
    " applies_to: "
)
STEPS = "targets.istio.lifecycle.bootstrap"
CLASS = "targets.constellation.components[0].lifecycle"
DEPTHS = f"iodepth: [{', '.join(map(str, range(1, 101)))}"
PROCESSES = "numjobs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
MIXES = f"rwmixread: [{', '.join(map(str, range(100)))}]"

CASES: list[tuple[str, str, list[str], list[str]]] = [
    (
        "BS104",
        "clusters",
        ["workloads.network.matrix.path=[pod-to-pood, pod-to-service]"],
        ["workloads.network.matrix.path=[node-port, pod-to-service]"],
    ),
    (
        "BS111",
        "minimal",
        ["workloads.crypto.tool=openssl"],
        ["workloads.crypto.tool=openssl-speed"],
    ),
    (
        "BS112",
        "minimal",
        ["targets.here.runner=locale"],
        ["targets.here.runner={kind: kubernetes, image: ghcr.io/example/tools:1}"],
    ),
    ("BS113", "minimal", ["targets.here={title: x}"], ["targets.here={title: x, runner: local}"]),
    ("BS201", "clusters", ["compare.baseline=ask"], ["compare.baseline=constellation"]),
    ("BS202", "minimal", ["compare={baseline: here}"], [TWO_HERE, "compare={baseline: here}"]),
    (
        "BS203",
        "sites",
        ["workloads.web.targets=[istio, istioo]"],
        ["workloads.web.targets=[istio]"],
    ),
    (
        "BS204",
        "hosts",
        ["workloads.boot.overrides={herr: {with: {duration: 2 s}}}"],
        ["workloads.boot.overrides={here: {with: {duration: 2 s}}}"],
    ),
    (
        "BS205",
        "hosts",
        ["workloads.disk.overrides={pair: {with: {bs: 8 KiB}}}"],
        ["workloads.disk.overrides={here: {with: {bs: 8 KiB}}}"],
    ),
    (
        "BS206",
        "sites",
        ["targets.plain.sites={any: cluster-3}"],
        ["targets.plain.sites={any: cluster-2}"],
    ),
    (
        "BS207",
        "sites",
        ["sites.cluster-3={kind: local}"],
        ["sites.cluster-3={kind: local}", "targets.plain.sites={any: cluster-3}"],
    ),
    (
        "BS208",
        "sites",
        ["targets.plain.sites={server: cluster-1}"],
        ["targets.plain.sites={client: cluster-1}"],
    ),
    ("BS209", "clusters", ['title="for ${var:runtim}"'], ['title="for ${var:runtime}"']),
    (
        "BS210",
        "minimal",
        ["vars={spare: 1}"],
        ["vars={spare: 1}", 'title="${var:spare} benchmark"'],
    ),
    ("BS211", "minimal", ['title="${env:HOME}"'], ['title="$${env:HOME}"']),
    (
        "BS212",
        "hosts",
        ['targets.pair.runner.hosts.client.become.password="${secret:vault:x}"'],
        ['targets.pair.runner.hosts.client.become.password="${secret:file:/run/x}"'],
    ),
    (
        "BS219",
        "minimal",
        ["targets.here.runner={kind: kubernetes, context: c}"],
        ["targets.here.runner={kind: kubernetes, context: c, image: tools:1}"],
    ),
    (
        "BS219",
        "sites",
        ["sites.cluster-2={kind: kubernetes}"],
        ["sites.cluster-2={kind: kubernetes, image: tools:1}"],
    ),
    (
        "BS229",
        "sites",
        ["sites.cluster-2.image=registry.example:5000/tools:1"],
        ["sites.cluster-2.image=example/tools:1"],
    ),
    (
        "BS213",
        "sites",
        ['workloads.web.with.url="http://${output:lb-address.adress}/"'],
        ['workloads.web.with.url="http://${output:lb-address.all}/"'],
    ),
    (
        "BS214",
        "sites",
        [STEPS + '[0].run=[ping, "${output:lb-address.address}"]'],
        [STEPS + '[1]={name: x, run: [ping, "${output:lb-address.address}"]}'],
    ),
    (
        "BS215",
        "hosts",
        ['workloads.boot.title="${secret:env:TOKEN}"'],
        ['workloads.boot.with.env={A: "${secret:env:TOKEN}"}'],
    ),
    (
        "BS216",
        "clusters",
        ["compare.must_match=[net.mtuu]"],
        ["compare.must_match=[kernel.release]"],
    ),
    (
        "BS217",
        "sites",
        ["workloads.crypto.targets=[istio]"],
        ["workloads.crypto.targets=[istio, plain]"],
    ),
    (
        "BS220",
        "sites",
        [STEPS + "[1]={name: two, script: scripts/setup.sh, run: [x]}"],
        [STEPS + "[1]={name: one, script: scripts/setup.sh}"],
    ),
    ("BS221", "sites", [STEPS + "[1].name=peer"], [STEPS + "[1].name=pear"]),
    ("BS222", "sites", [STEPS + "[1].script=../setup.sh"], [STEPS + "[1].script=scripts/clear.sh"]),
    ("BS223", "sites", [STEPS + "[1].site=cluster-3"], [STEPS + "[1].site=cluster-1"]),
    (
        "BS224",
        "sites",
        [STEPS + "[1].script=scripts/none.sh"],
        [STEPS + "[1].script=scripts/clear.sh"],
    ),
    (
        "BS225",
        "clusters",
        [CLASS + "={bootstrap: [{name: a, run: [b]}]}"],
        [CLASS + "={bootstrap: [{name: a, wait: {seconds: 1 s}}]}"],
    ),
    (
        "BS226",
        "hosts",
        [
            "targets.pair.lifecycle={bootstrap: [{name: a, run: [b]}], destroy: [{name: c, on:"
            " hosts, run: [d]}]}"
        ],
        [
            "targets.pair.lifecycle={bootstrap: [{name: a, on: [client, server], run: [b]}],"
            " destroy: [{name: c, on: hosts, run: [d]}]}"
        ],
    ),
    (
        "BS227",
        "hosts",
        [
            'workloads.boot.with.extract={boot.time: {regex: "([0-9.]+ s", unit: s, direction:'
            " lower}}"
        ],
        [
            'workloads.boot.with.extract={boot.time: {regex: "([0-9]+) s", unit: s, direction:'
            " lower}}"
        ],
    ),
    (
        "BS227",
        "sites",
        [STEPS + "[0].capture={address: {jsonpath: x}, all: {stdout: true}}"],
        [STEPS + "[0].capture={address: {jsonpath: $.x}, all: {stdout: true}}"],
    ),
    (
        "BS230",
        "clusters",
        ["targets.aks.topology.workers.machine=m5.2xlarge"],
        ["targets.aks.topology.workers.machine=Standard_DC8as_v5"],
    ),
    ("BS231", "clusters", ["targets.aks.cvm.technology=tdx"], ["targets.aks.cvm={expected: true}"]),
    (
        "BS232",
        "clusters",
        ["targets.aks.topology.workers.machine=Standard_D4as_v5"],
        ["targets.aks.topology.workers.machine=Standard_EC4as_v5"],
    ),
    ("BS232", "clusters", ["targets.aks.cvm=false"], ["targets.aks.cvm=true"]),
    (
        "BS233",
        "clusters",
        ["targets.aks.cni={encryption: ipsec}"],
        ["targets.aks.cni={encryption: none}"],
    ),
    (
        "BS234",
        "clusters",
        ["targets.aks.cni.network_policy=calico"],
        ["targets.aks.cni.network_policy=kubenet"],
    ),
    (
        "BS235",
        "clusters",
        ["targets.constellation.cni.mtu=1500"],
        ["targets.constellation.cni.mtu=8896"],
    ),
    (
        "BS236",
        "hosts",
        ["targets.here.storage={class: fast}"],
        ["targets.here.storage={disk: nvme}"],
    ),
    (
        "BS237",
        "hosts",
        ["targets.pair.topology.nodes.os=Windows Server 2019"],
        [
            "targets.pair.topology.nodes.os=Windows Server 2019",
            "targets.pair.runner.hosts.client.shell=powershell",
        ],
    ),
    (
        "BS238",
        "clusters",
        ["targets.aks.topology.workers.roles=[client]"],
        ["targets.aks.topology.workers.roles=[client, server, monitor]"],
    ),
    (
        "BS239",
        "hosts",
        ["targets.pair.cloud.provider=equinixx"],
        ["targets.pair.cloud.provider=my-own-data-centre"],
    ),
    ("BS240", "clusters", ["targets.aks.cpus=[0, 4]"], ["targets.aks.cpus=[0, 3]"]),
    (
        "BS241",
        "hosts",
        ["targets.here.cpus={client: [0, 1], server: [1]}"],
        ["targets.here.cpus={client: [0], server: [1]}"],
    ),
    (
        "BS242",
        "clusters",
        ["targets.aks.facts={cpu.count: 8}"],
        ["targets.aks.facts={cpu.count: 4}"],
    ),
    (
        "BS250",
        "clusters",
        ["targets.aks.price.as_of=2023-02-30"],
        ["targets.aks.price.as_of=2023-02-28"],
    ),
    (
        "BS251",
        "clusters",
        ["targets.aks.limits[0].as_of=2999-01-01"],
        ["targets.aks.limits[0].as_of=2001-01-01"],
    ),
    (
        "BS252",
        "clusters",
        ["targets.aks.limits[0].metric=storage.iop"],
        ["targets.aks.limits[0].metric=cpu.anything"],
    ),
    (
        "BS253",
        "clusters",
        ["targets.aks.limits[1].sustained=60 Mbit/s"],
        ["targets.aks.limits[1].sustained=60 MiB/s"],
    ),
    (
        "BS254",
        "clusters",
        ["targets.aks.limits[0].burst=400 1/s"],
        ["targets.aks.limits[0].burst=500 1/s"],
    ),
    ("BS255", "clusters", [LIMIT + "disk}"], [LIMIT + "machine}"]),
    (
        "BS256",
        "clusters",
        [f"{LIMIT}tmp, where: {{jobs: read_iops}}}}", f"{LIMIT}tmp, where: {{job: reed_iops}}}}"],
        [f"{LIMIT}tmp, where: {{job: read_iops}}}}"],
    ),
    (
        "BS260",
        "hosts",
        ["workloads.bandwidth.matrix={lenght: [1400 B]}"],
        ["workloads.bandwidth.matrix={length: [1400 B]}"],
    ),
    (
        "BS261",
        "hosts",
        ["workloads.bandwidth.matrix={duration: [5 s, 6 s]}"],
        ["workloads.bandwidth.matrix={omit: [1 s, 2 s]}"],
    ),
    (
        "BS261",
        "hosts",
        ["workloads.boot.matrix={placement: [any]}", "workloads.boot.placement=any"],
        ["workloads.boot.matrix={placement: [any]}"],
    ),
    (
        "BS262",
        "clusters",
        ["workloads.network.exclude=[{protocol: sctp}]"],
        ["workloads.network.exclude=[{protocol: udp}]"],
    ),
    (
        "BS263",
        "clusters",
        ["workloads.network.exclude=[{protocol: udp}, {protocol: tcp}]"],
        ["workloads.network.exclude=[{protocol: tcp}]"],
    ),
    (
        "BS264",
        "clusters",
        ['workloads.network.zip={streams: "${var:streams}", bitrate: [1 Gbit/s]}'],
        ['workloads.network.zip={streams: "${var:streams}", bitrate: [1 Gbit/s, 2 Gbit/s]}'],
    ),
    (
        "BS265",
        "clusters",
        ['workloads.network.zip={streams: "${var:streams}", protocol: [tcp, udp]}'],
        ['workloads.network.zip={streams: "${var:streams}", length: [1 KiB, 2 KiB]}'],
    ),
    (
        "BS266",
        "hosts",
        ["workloads.disk.matrix={job: [{iodepth: 1}, {name: b, iodepth: 2}]}"],
        ["workloads.disk.matrix={job: [{name: a, iodepth: 1}, {name: b, iodepth: 2}]}"],
    ),
    (
        "BS266",
        "hosts",
        ["workloads.disk.matrix={iodepth: [1, 2, 1]}"],
        ["workloads.disk.matrix={iodepth: [1, 2, 3]}"],
    ),
    (
        "BS267",
        "clusters",
        ["workloads.network.exclude=[{proto: udp}]"],
        ["workloads.network.exclude=[{streams: 1}]"],
    ),
    (
        "BS268",
        "hosts",
        ["workloads.bandwidth.path=pod-to-pod"],
        ["workloads.bandwidth.path=host-to-host"],
    ),
    (
        "BS269",
        "hosts",
        ["workloads.disk.placement=across-nodes"],
        ["workloads.disk.placement=same-node"],
    ),
    (
        "BS269",
        "clusters",
        ["workloads.network.placement=across-sites"],
        ["workloads.network.placement=same-node"],
    ),
    (
        "BS269",
        "sites",
        ["workloads.web.placement=same-node"],
        ["workloads.web.placement=across-nodes"],
    ),
    (
        "BS269",
        "clusters",
        ["targets.aks.topology.workers.count=1"],
        ["targets.aks.topology.workers.count=3"],
    ),
    (
        "BS270",
        "clusters",
        ["workloads.storage.with.ramp_time=60 s"],
        ["workloads.storage.with.ramp_time=59 s"],
    ),
    (
        "BS271",
        "clusters",
        ["workloads.storage.gates.min_duration=61 s"],
        ["workloads.storage.gates.min_duration=1 min"],
    ),
    (
        "BS272",
        "clusters",
        ["workloads.storage.primary=iops.red"],
        ["workloads.storage.primary=iops.write{job=b}"],
    ),
    ("BS272", "hosts", ["workloads.boot.primary=boot.tim"], ["workloads.boot.primary=duration"]),
    (
        "BS273",
        "clusters",
        ["workloads.storage.with.size=401 GiB"],
        ["workloads.storage.with.size=400 GiB"],
    ),
    ("BS273", "hosts", ["workloads.disk.with.numjobs=21"], ["workloads.disk.with.numjobs=20"]),
    ("BS274", "hosts", ["workloads.disk.path=loopback"], ["workloads.disk.placement=any"]),
    (
        "BS275",
        "clusters",
        [
            "workloads.network.matrix.path=[pod-to-pod, loopback]",
            "workloads.network.exclude=[{protocol: udp}]",
        ],
        [
            "workloads.network.matrix.path=[pod-to-pod, loopback]",
            "workloads.network.exclude=[{protocol: udp}]",
            "workloads.network.placement=any",
        ],
    ),
    ("BS276", "hosts", ["workloads.disk.image=fio:latest"], [f"workloads.disk.image={PINNED}"]),
    (
        "BS277",
        "hosts",
        [f"workloads.disk.matrix={{{DEPTHS}], {MIXES}, {PROCESSES}, 11]}}"],
        [f"workloads.disk.matrix={{{DEPTHS}], {MIXES}, numjobs: [1, 2]}}"],
    ),
    (
        "BS278",
        "hosts",
        [
            "workloads.bandwidth.matrix={streams: [1, 2]}",
            "workloads.bandwidth.with={duration: 5 s}",
        ],
        ["workloads.bandwidth.matrix={length: [1 KiB, 2 KiB]}"],
    ),
    ("BS280", "clusters", ["method.mode=smoke"], ["method.mode=full"]),
    ("BS281", "minimal", [TWO_HERE, "method={order: duet}"], [TWO_PINNED, "method={order: duet}"]),
    ("BS282", "clusters", ["method.sessions=4"], ["method.sessions=5"]),
    ("BS283", "clusters", ["compare.equivalence=50 %"], ["compare.equivalence=49 %"]),
    ("BS284", "clusters", ["compare.equivalence=1 %"], ["compare.equivalence=1.1 %"]),
    ("BS285", "minimal", ["method={order: duet}"], ["method={order: blocks}"]),
    (
        "BS286",
        "clusters",
        ["method.precision.max_sessions=9"],
        ["method.precision.max_sessions=10"],
    ),
    ("BS287", "clusters", ["report.docs=../docs"], ["report.docs=docs/a..b"]),
    ("BS288", "clusters", ["report.template=/etc/page.j2"], ["report.template=page.j2"]),
    (
        "BS289",
        "hosts",
        ['workloads.disk.with={job_text: "[a]\\nrw=read\\nexec_prerun=id\\n"}'],
        ['workloads.disk.with={job_text: "[a]\\nrw=read\\nbs=4k\\n"}'],
    ),
    (
        "BS290",
        "clusters",
        ["workloads.storage.sweep={axis: numjobs}", "workloads.storage.matrix.numjobs=[2, 1]"],
        ["workloads.storage.sweep={axis: numjobs}", "workloads.storage.matrix.numjobs=[1, 2]"],
    ),
    (
        "BS291",
        "clusters",
        [
            "workloads.storage.sweep={axis: numjobs, gain: 100 %}",
            "workloads.storage.matrix.numjobs=[1, 2]",
        ],
        [
            "workloads.storage.sweep={axis: numjobs, gain: 99 %}",
            "workloads.storage.matrix.numjobs=[1, 2]",
        ],
    ),
    ("BS201", "clusters", ["compare.baseline=[aks, ask]"], ["compare.baseline=[aks]"]),
    (
        "BS218",
        "clusters",
        ["compare.baseline=[aks, constellation]"],
        ["compare.baseline=[aks, constellation]", "targets.constellation.environment=Azure"],
    ),
    ("BS292", "minimal", ["workloads.crypto.baseline=host"], ["title=same"]),
    (
        "BS293",
        "hosts",
        ["workloads.disk.with={rw: write, directory: /dev, filename: sda}"],
        ["workloads.disk.with={rw: write, directory: /dev, filename: sda, destroys: [/dev/sda]}"],
    ),
    (
        "BS293",
        "hosts",
        ["workloads.disk={tool: diskspd, targets: [here], with: {path: /m/f, file_size: 1 GiB}}"],
        ["workloads.disk={tool: diskspd, targets: [here], with: {path: f.dat, file_size: 1 GiB}}"],
    ),
    (
        "BS293",
        "hosts",
        ["workloads.disk.with={rw: read, directory: /d, filename: f, destroys: [/d/f, /d/g]}"],
        ["workloads.disk.with={rw: read, directory: /d, filename: f, destroys: [/d/f]}"],
    ),
    (
        "BS294",
        "minimal",
        [
            "targets={here: {runner: local}, there: {title: x, runner: {kind: local}}}",
            "compare={baseline: here}",
        ],
        [TWO_HERE, "compare={baseline: here}"],
    ),
    ("BS301", "minimal", [f"title=ghp_{'a1' * 18}"], ["title=ghp_short"]),
    (
        "BS303",
        "hosts",
        ['workloads.boot.with.run=[echo, "${secret:env:T}"]'],
        ['workloads.boot.with.env={A: "${secret:env:T}"}'],
    ),
    (
        "BS303",
        "hosts",
        ['workloads.boot.with.env={A: "Bearer ${secret:env:T}"}'],
        ['workloads.boot.with.env={A: "Bearer $${secret:env:T}"}'],
    ),
    (
        "BS303",
        "sites",
        [STEPS + '[1]={name: x, run: [y, "${secret:env:T}"]}'],
        [STEPS + '[1]={name: x, run: [y], env: {A: "a ${secret:env:T}"}}'],
    ),
    (
        "BS302",
        "hosts",
        ["workloads.boot.with.env={API_TOKEN: abcdefgh}"],
        ['workloads.boot.with.env={API_TOKEN: "${secret:env:T}"}'],
    ),
    (
        "BS310",
        "clusters",
        ['targets.aks.facts={kernel.relase: "5.15"}'],
        ['targets.aks.facts={kernel.release: "5.15"}'],
    ),
]


def codes(spec: str, overrides: list[str]) -> set[str]:
    return {diagnostic.code for diagnostic in check_spec(VALID / f"{spec}.yaml", overrides)}


@pytest.mark.parametrize(
    ("code", "spec", "wrong", "right"),
    CASES,
    ids=[f"{code}-{number}" for number, (code, *_) in enumerate(CASES)],
)
def test_a_rule_alone_catches_its_mutation_and_nothing_beside_it(
    code: str, spec: str, wrong: list[str], right: list[str]
) -> None:
    assert codes(spec, wrong) == {code}
    assert codes(spec, right) == set()


def test_every_semantic_code_has_a_case() -> None:
    semantic = {code for code in RULES if code[:3] in ("BS2", "BS3")}
    assert semantic == {code for code, *_ in CASES if code[:3] in ("BS2", "BS3")}
    assert len(semantic) >= 25


def test_the_catalogue_explains_every_code_that_is_used_and_no_other() -> None:
    root = Path(__file__).parents[4] / "engine"
    files = [path for path in root.rglob("*.py") if path.name != "catalogue.py"]
    used = {
        code
        for path in files
        for code in re.findall(r'"(BS\d\d\d)"', path.read_text(encoding="utf-8"))
    }
    assert used == set(RULES)
    assert all(rule.title and rule.explanation.endswith(".") for rule in RULES.values())
    assert list(RULES) == sorted(RULES)


@pytest.mark.parametrize(
    ("provider", "machine", "technologies"),
    [
        ("azure", "Standard_DC4as_v5", ("sev-snp",)),
        ("azure", "Standard_DC4es_v5", ("tdx",)),
        ("azure", "Standard_D4as_v5", ()),
        ("azure", "Standard_DC2s_v3", None),
        ("gcp", "n2d-standard-4", ("sev", "sev-es", "sev-snp")),
        ("gcp", "c3-standard-4", ("tdx",)),
        ("gcp", "e2-medium", ()),
        ("aws", "m6a.large", ("sev-snp",)),
        ("aws", "m5.2xlarge", ()),
        ("equinix", "c3.medium.x86", None),
        ("gcp", "Standard_D4as_v5", None),
    ],
)
def test_technologies_of_machines(
    provider: str, machine: str, technologies: tuple[str, ...] | None
) -> None:
    assert possible_technologies(provider, machine) == technologies


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x", "a/../../x", "~/x", "C:/x", "..\\x", "\\\\host\\share"]
)
def test_paths_that_leave_the_folder(name: str) -> None:
    assert leaves_folder(name)


@pytest.mark.parametrize("name", ["x", "a/b.sh", "a..b", "./x"])
def test_paths_that_stay(name: str) -> None:
    assert not leaves_folder(name)


JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    "60 s",
    "${output:a.b}",
    [],
    [None],
    ["a", 1],
    {},
    {"name": None},
    {"a": {"b": []}},
    [[1]],
    [{"name": 3}],
]


def _mutate(value: Any, choose: random.Random) -> Any:
    """``value`` with one of its parts replaced by something of any type."""
    if isinstance(value, dict) and value and choose.random() < 0.9:
        key = choose.choice(list(value))
        return {**value, key: _mutate(value[key], choose)}
    if isinstance(value, list) and value and choose.random() < 0.9:
        index = choose.randrange(len(value))
        return [
            _mutate(item, choose) if position == index else item
            for position, item in enumerate(value)
        ]
    return choose.choice(JUNK)


@pytest.mark.parametrize("path", sorted(VALID.glob("*.yaml")), ids=lambda path: path.stem)
def test_rules_live_with_values_of_every_type(path: Path) -> None:
    choose = random.Random(path.stem)
    original = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
    for _ in range(400):
        document = original
        for _ in range(choose.randint(1, 4)):
            document = _mutate(document, choose)
        if isinstance(document, dict):
            for problem in check_rules(document, VALID, date(2026, 1, 1)):
                assert isinstance(problem, Problem)
                assert problem.code in RULES


def test_severities() -> None:
    assert {rule.severity for rule in RULES.values()} == set(Severity)
    assert all(rule.severity is Severity.ERROR for code, rule in RULES.items() if code < "BS200")
    assert len(CHECKS) == len(set(CHECKS))
