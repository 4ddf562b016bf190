"""Every semantic rule on a spec that is shipped: one slip in its text, which that rule reports and
no other, on the line of the slip.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import benchspec.specs
from benchspec.engine.language.load import check_spec
from benchspec.engine.language.rules import RULES

FOLDER = Path(benchspec.specs.__file__).parent
AZURE, VAULT, CNI, MESH, DISKS, PREMIUM, QUICK = (
    "constellation-azure",
    "vault-constellation",
    "cni-beyond-10g",
    "mesh-multicluster",
    "azure-disk-encryption-standard",
    "azure-disk-encryption",
    "quickstart",
)
ONE_BYTE = "    title: Requests and responses of one byte\n"
BOTH_PATHS = (
    "overrides: {hosts: {path: host-to-host}, flannel: {path: pod-to-pod}}\n    gates:"
    " {min_duration: 590 s}"
)
PROTOCOLS = "      protocol: [tcp, udp]\n"
NUMBERS = ", ".join(str(number) for number in range(1, 129))
SIZES = ", ".join(f"{number} KiB" for number in range(1, 129))
CERTIFICATE = "script: vault/certificate.sh,"
TWO_CPUS = """\
  two-cpus:
    title: two CPUs
    runner: local
    cpus: [0, 1] # where a workload has a client and a server, each gets a CPU of its own
"""
BARE = "    sites: {client: hosts, server: hosts}\n"
NSM_URL = (
    '      nsm-aws: &nsm-url {with: {url: "http://nginx.my-vl3-network:80"}}\n      nsm-equinix:'
    " *nsm-url\n"
)

SLIPS: list[tuple[str, str, str, str]] = [
    ("BS201", AZURE, "baseline: aks #", "baseline: ask #"),
    ("BS202", QUICK, TWO_CPUS, ""),
    ("BS203", CNI, ONE_BYTE, ONE_BYTE + "    targets: [hosts, flannel, flanel]\n"),
    (
        "BS204",
        CNI,
        BOTH_PATHS,
        BOTH_PATHS.replace("flannel: {", "flanel: {path: pod-to-pod}, flannel: {"),
    ),
    ("BS205", CNI, ONE_BYTE, ONE_BYTE + "    targets: [hosts]\n"),
    ("BS206", CNI, "{client: k3s, server: k3s}", "{client: k3s, server: k3}"),
    ("BS207", MESH, "  nsm-aws-1: {", "  nsm-aws-0: {kind: local}\n  nsm-aws-1: {"),
    ("BS208", CNI, "{client: k3s, server: k3s}", "{client: k3s}"),
    ("BS208", DISKS, "{client: {host: disk-ade", "{cleint: {host: disk-ade"),
    ("BS209", AZURE, "${var:docs}", "${var:doc}"),
    ("BS210", AZURE, "vars:\n", "vars:\n  runtime: 60 s\n"),
    (
        "BS211",
        AZURE,
        "title: Constellation 2.6.0 against AKS on Azure",
        'title: "Constellation against ${target:aks}"',
    ),
    ("BS212", VAULT, "${secret:kubernetes:", "${secret:kubernets:"),
    ("BS213", MESH, "${output:gateway.address}", "${output:gateway.adress}"),
    (
        "BS214",
        MESH,
        "istio/multiprimary/deploy.sh]",
        'istio/multiprimary/deploy.sh, "${output:gateway.address}"]',
    ),
    ("BS215", VAULT, "title: GKE #", 'title: "${secret:env:TOKEN}" #'),
    ("BS216", AZURE, "[machine.type, net.mtu]", "[machine.type, net.mtuu]"),
    ("BS217", MESH, NSM_URL, "    targets: [istio-aws, kuma-aws, istio-equinix, kuma-equinix]\n"),
    ("BS218", MESH, "baseline: [istio-aws, istio-equinix]", "baseline: [istio-aws, kuma-aws]"),
    ("BS220", VAULT, CERTIFICATE, "script: vault/certificate.sh, manifest: vault/values.yaml,"),
    ("BS221", VAULT, "{name: certificate,", "{name: unseal,"),
    ("BS222", VAULT, "script: vault/certificate.sh", "script: ../certificate.sh"),
    ("BS223", MESH, "              site: istio-aws-2\n", "              site: istio-aws-0\n"),
    ("BS224", VAULT, "script: vault/unseal.sh", "script: vault/unsealed.sh"),
    (
        "BS225",
        VAULT,
        (
            "          destroy:\n            - {name: remove, script: vault/remove.sh, timeout: 10"
            " min}\n"
        ),
        "",
    ),
    (
        "BS226",
        CNI,
        BARE,
        BARE
        + "    lifecycle: {bootstrap: [{name: a, run: [b]}], destroy: [{name: c, on: hosts, run:"
        " [d]}]}\n",
    ),
    ("BS227", MESH, '{jsonpath: "$.', '{jsonpath: "$..'),
    (
        "BS219",
        CNI,
        '    image: "${var:image}"\n',
        "    x-image: ${var:image}\n",
    ),
    ("BS229", AZURE, "image: registry.example/", "image: docker.example/"),
    ("BS230", AZURE, "machine: Standard_DC4as_v5\n", "machine: m5.2xlarge\n"),
    ("BS231", AZURE, "technology: sev-snp", "technology: tdx"),
    ("BS232", AZURE, "machine: Standard_DC4as_v5\n", "machine: Standard_D4as_v5\n"),
    (
        "BS233",
        AZURE,
        "cni: {name: kubenet, mtu: 1500, encryption: none",
        "cni: {mtu: 1500, encryption: wireguard",
    ),
    ("BS234", AZURE, "network_policy: none} # no", "network_policy: calico} # no"),
    ("BS235", CNI, "mode: vxlan,", "mode: vxlan, mtu: 9000,"),
    (
        "BS236",
        DISKS,
        "storage: {disk: S30, encryption: none",
        "storage: {class: fast, encryption: none",
    ),
    ("BS237", DISKS, "host: disk-plain, shell: powershell}", "host: disk-plain}"),
    ("BS238", CNI, "        roles: [client, server]\n", "        roles: [client]\n"),
    ("BS239", MESH, "{provider: aws,", "{provider: awss,"),
    ("BS240", AZURE, "    title: AKS\n", "    title: AKS\n    cpus: [0, 4]\n"),
    ("BS241", QUICK, "cpus: [0, 1]", "cpus: {client: [0, 1], server: [0]}"),
    ("BS242", AZURE, "    title: AKS\n", "    title: AKS\n    facts: {cpu.count: 8}\n"),
    ("BS250", AZURE, "read: 2023-03-20", "read: 2023-02-30"),
    ("BS251", AZURE, "read: 2023-03-20", "read: 2923-03-20"),
    (
        "BS252",
        AZURE,
        "{metric: storage.iops, sustained: 500",
        "{metric: storage.iop, sustained: 500",
    ),
    (
        "BS253",
        AZURE,
        "sustained: 60 MB/s, burst: 150 MB/s",
        "sustained: 60 Mbit/s, burst: 150 MB/s",
    ),
    ("BS254", AZURE, "burst: 600 1/s", "burst: 400 1/s"),
    ("BS255", AZURE, "burst: 20000 1/s, applies_to: machine", "burst: 20000 1/s, applies_to: disk"),
    ("BS256", PREMIUM, "where: {disk: P30}, source", "where: {disk: P31}, source"),
    ("BS260", CNI, "matrix: {streams: [1, 3]}", "matrix: {stream: [1, 3]}"),
    ("BS261", CNI, "cpu: true, latency: true}", "cpu: true, latency: true, streams: 2}"),
    ("BS262", AZURE, PROTOCOLS, PROTOCOLS + "    exclude: [{protocol: sctp}]\n"),
    ("BS263", AZURE, PROTOCOLS, PROTOCOLS + "    exclude: [{protocol: tcp}, {protocol: udp}]\n"),
    ("BS264", AZURE, PROTOCOLS, PROTOCOLS + "    zip: {streams: [1, 2], length: [1 KiB]}\n"),
    ("BS265", AZURE, PROTOCOLS, PROTOCOLS + "    zip: {protocol: [tcp, udp]}\n"),
    ("BS266", AZURE, "{name: write_iops,", "{name: read_iops,"),
    ("BS267", AZURE, PROTOCOLS, PROTOCOLS + "    exclude: [{proto: udp}]\n"),
    ("BS268", CNI, "hosts: {path: host-to-host}", "hosts: {path: pod-to-pod}"),
    (
        "BS269",
        QUICK,
        "    title: TCP over loopback\n    tool: iperf3\n    path: loopback\n",
        "    tool: iperf3\n    placement: across-nodes\n",
    ),
    ("BS270", AZURE, "ramp_time: 10 s", "ramp_time: 60 s"),
    ("BS271", AZURE, "{min_duration: 55 s}", "{min_duration: 61 s}"),
    ("BS272", AZURE, "primary: throughput.read{", "primary: throughput.red{"),
    ("BS273", AZURE, "{size: 10 GiB,", "{size: 401 GiB,"),
    ("BS274", QUICK, "    tool: fio\n", "    tool: fio\n    path: loopback\n"),
    ("BS275", CNI, "flannel: {path: pod-to-pod}", "flannel: {path: loopback}"),
    ("BS276", MESH, "  # benchspec: ignore=BS276", ""),
    (
        "BS277",
        CNI,
        "matrix: {streams: [1, 2, 3, 4, 6, 8, 12, 16]}",
        (
            f"matrix: {{streams: [{NUMBERS}], message_size: [{SIZES}], cpu: [true, false], family:"
            " [ipv4, ipv6]}"
        ),
    ),
    (
        "BS278",
        CNI,
        "{hosts: {path: host-to-host}",
        "{hosts: {path: host-to-host, with: {streams: 2}}",
    ),
    ("BS280", QUICK, "order: blocks, seed: 1}", "order: blocks, seed: 1, mode: smoke}"),
    ("BS281", QUICK, "order: blocks", "order: duet"),
    ("BS282", QUICK, "{sessions: 10,", "{sessions: 4,"),
    ("BS283", QUICK, "equivalence: 5 %}", "equivalence: 60 %}"),
    ("BS284", QUICK, "seed: 1}", "seed: 1, precision: {half_width: 5 %, max_sessions: 30}}"),
    ("BS285", VAULT, "order: blocks", "order: duet"),
    ("BS286", QUICK, "seed: 1}", "seed: 1, precision: {half_width: 1 %, max_sessions: 9}}"),
    ("BS287", AZURE, "{docs: docs/performance}", "{docs: ../performance}"),
    ("BS288", AZURE, "{docs: docs/performance}", "{template: ../page.md.j2}"),
    (
        "BS289",
        QUICK,
        "{rw: randread, bs: 4 KiB, size: 4 MiB, numjobs: 2, engine: psync, direct: false,"
        " ramp_time: 500 ms, runtime: 1 s}",
        '{job_text: "[a]\\nrw=randread\\nsize=4m\\nexec_prerun=id\\n"}',
    ),
    ("BS290", CNI, "sweep: {axis: streams,", "sweep: {axis: stream,"),
    ("BS291", CNI, "gain: 5 %}", "gain: 500 %}"),
    ("BS292", QUICK, "    path: loopback\n", "    path: loopback\n    baseline: host\n"),
    ("BS293", QUICK, "numjobs: 2,", "directory: /dev, filename: sda,"),
    ("BS294", QUICK, "    cpus: [0, 1] #", "    cpus: [0] #"),
    (
        "BS301",
        VAULT,
        "{source: constellation-docs-2.16}",
        "{source: hvs.CAESIJ0123456789abcdefghijKLMNOPQRSTuvwx}",
    ),
    ("BS303", MESH, 'url: "http://nginx.my-vl3', 'url: "http://${secret:env:NAME}@nginx.my-vl3'),
    ("BS302", VAULT, "{source: constellation-docs-2.16}", "{token: correct-horse}"),
    ("BS310", MESH, "facts: &aws-facts {net.mtu: 1500}", "facts: &aws-facts {net.mtuu: 1500}"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the shipped specs with the files they name."""
    return Path(
        shutil.copytree(
            FOLDER,
            tmp_path_factory.mktemp("shipped") / "specs",
            ignore=shutil.ignore_patterns("*.py", "__pycache__"),
        )
    )


@pytest.mark.parametrize(
    ("code", "spec", "written", "slip"), SLIPS, ids=[f"{code}-{spec}" for code, spec, *_ in SLIPS]
)
def test_a_slip_in_a_shipped_spec_is_caught_by_its_rule_alone(
    code: str, spec: str, written: str, slip: str, folder: Path
) -> None:
    text = (folder / f"{spec}.yaml").read_text("utf-8")
    assert written in text
    if code != "BS229":
        text = text.replace("registry.example/", "ghcr.io/mine/")
    mutated = folder / "mutated.yaml"
    mutated.write_text(text.replace(written, slip, 1), "utf-8")
    found = check_spec(mutated)
    assert {diagnostic.code for diagnostic in found} == {code}, "\n".join(map(str, found))


def test_every_semantic_rule_has_a_slip() -> None:
    semantic = {code for code in RULES if code[:3] in ("BS2", "BS3")}
    assert {code for code, *_ in SLIPS} == semantic
