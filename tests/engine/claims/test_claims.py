from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.claims.claims import (
    check_claims,
    drift,
    memory_matches,
    unseen_cvm,
    version_matches,
    words_match,
)
from benchspec.engine.facts.catalogue import fact_kinds
from benchspec.engine.model import findings
from benchspec.engine.model.results import ClaimState, Fact, FactSet, FindingLevel
from benchspec.engine.model.spec import Json, NodeGroup, Role, Site, Target
from benchspec.engine.planning.design.variation import RULES, rate

GIB = 2.0**30
MATCH, MISMATCH, UNKNOWN = ClaimState.MATCH, ClaimState.MISMATCH, ClaimState.UNKNOWN


def observed(when: str = "before", site: str = "here", **facts: Json) -> FactSet:
    """Facts by name, dots written as double underscores."""
    named = tuple(
        Fact(name=name.replace("__", "."), value=value, source=f"cat {name}")
        for name, value in facts.items()
    )
    return FactSet(target="aks", site=site, when=when, observed_at=0.0, facts=named)


def target(
    claims: Mapping[str, Json],
    groups: tuple[NodeGroup, ...] = (),
    sites: Mapping[Role, str] | None = None,
) -> Target:
    places = {
        role: Site(name=name, runner="local")
        for role, name in (sites or {Role.CLIENT: "here"}).items()
    }
    return Target(
        name="aks",
        title="AKS",
        sites={str(role): place for role, place in places.items()},
        claims=claims,
        document={},
        topology=groups,
    )


def judge(claim: str, declared: Json, fact: str, value: Json) -> ClaimState:
    (check,) = check_claims(
        target({claim: declared}), [observed("before", "here", **{fact.replace(".", "__"): value})]
    )
    return check.state


@pytest.mark.parametrize(
    ("claim", "declared", "fact", "value", "state"),
    [
        ("cpu.model", "AMD EPYC 7763v", "cpu.model", "AMD EPYC 7763 64-Core Processor", MATCH),
        ("cpu.model", "AMD EPYC 7763", "cpu.model", "AMD EPYC 7763 64-Core Processor", MATCH),
        ("cpu.model", "AMD EPYC 7763", "cpu.model", "AMD EPYC 7543 32-Core Processor", MISMATCH),
        ("cpu.model", "AMD EPYC 77", "cpu.model", "AMD EPYC 7763 64-Core Processor", MISMATCH),
        ("cpu.model", "AMD Milan", "cpu.model", "AMD EPYC 7B13", UNKNOWN),
        ("cpu.model", "AMD Milan", "cpu.model", "Intel(R) Xeon(R) CPU @ 2.20GHz", MISMATCH),
        (
            "cpu.model",
            "Intel Xeon Platinum 8370C",
            "cpu.model",
            "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz",
            MATCH,
        ),
        ("cpu.count", 4, "cpu.count", 4, MATCH),
        ("cpu.count", 4, "cpu.count", 2, MISMATCH),
        ("cpu.count", 4.0, "cpu.count", 4, MATCH),
        ("memory.total", 16 * GIB, "memory.total", 16373472 * 1024, MATCH),
        ("memory.total", 16 * GIB, "memory.total", 16 * GIB, MATCH),
        ("memory.total", 16 * GIB, "memory.total", 8 * GIB, MISMATCH),
        ("memory.total", 16 * GIB, "memory.total", 24 * GIB, MISMATCH),
        ("memory.total", "much", "memory.total", 24 * GIB, UNKNOWN),
        ("kernel.release", "5.15.0", "kernel.release", "5.15.0-1035-azure", MATCH),
        ("kernel.release", "5.15", "kernel.release", "5.15.0-1035-azure", MATCH),
        ("kernel.release", "5.1", "kernel.release", "5.15.0-1035-azure", MISMATCH),
        ("kubernetes.version", "1.24.9", "kubernetes.version", "v1.24.9", MATCH),
        ("cni.version", "1.12", "cni.version", "1.120.1", MISMATCH),
        ("cni.name", "cilium", "cni.name", "calico", MISMATCH),
        ("cni.name", "kubenet", "cni.name", "bridge", UNKNOWN),
        ("cni.name", "bridge", "cni.name", "bridge", MATCH),
        ("cni.mode", "vxlan", "cni.mode", "geneve", MISMATCH),
        ("cni.mode", "overlay", "cni.mode", "geneve", MATCH),
        ("cni.mode", "native", "cni.mode", "host-gw", MATCH),
        ("cni.mode", "native", "cni.mode", "overlay", MISMATCH),
        ("cni.mode", "ebpf", "cni.mode", "vxlan", UNKNOWN),
        ("cni.encryption", "wireguard", "cni.encryption", "none", MISMATCH),
        ("cni.encryption", "ipsec", "cni.encryption", "other", UNKNOWN),
        ("cni.encryption", "none", "cni.encryption", "other", MISMATCH),
        ("kubernetes.proxy_mode", "iptables", "kubernetes.proxy_mode", "ebpf", MISMATCH),
        ("mesh.mode", "multi-zone", "mesh.mode", "zone", MATCH),
        ("mesh.mode", "multi-primary", "mesh.mode", "sidecar", UNKNOWN),
        ("mesh.mode", "ambient", "mesh.mode", "sidecar", MISMATCH),
        ("mesh.encryption", "mtls", "mesh.encryption", "none", MISMATCH),
        ("os.name", "Ubuntu 22.04", "os.name", "Ubuntu 22.04.2 LTS", MATCH),
        ("os.name", "Ubuntu 20.04", "os.name", "Ubuntu 22.04.2 LTS", MISMATCH),
        ("os.name", "Fedora", "os.name", "Ubuntu 22.04.2 LTS", MISMATCH),
        ("cloud.provider", "azure", "cloud.provider", "azure", MATCH),
        ("cloud.provider", "Microsoft", "cloud.provider", "azure", MATCH),
        ("cloud.provider", "gcp", "cloud.provider", "azure", MISMATCH),
        ("machine.type", "M7G.metal", "machine.type", "m7g.metal", MATCH),
        ("machine.type", "Standard_DC4as_v5", "machine.type", None, UNKNOWN),
        ("cvm.expected", True, "cvm.technology", "sev-snp", MATCH),
        ("cvm.expected", True, "cvm.technology", "none", MISMATCH),
        ("cvm.expected", False, "cvm.technology", "none", MATCH),
        ("cvm.expected", False, "cvm.technology", "tdx", MISMATCH),
        ("cvm.expected", True, "cvm.technology", None, UNKNOWN),
        ("cvm.technology", "sev-snp", "cvm.technology", "tdx", MISMATCH),
        ("cvm.evidence", "kernel", "cvm.evidence", "device", MATCH),
        ("cvm.evidence", "device", "cvm.evidence", "kernel", MISMATCH),
        ("cvm.evidence", "report", "cvm.evidence", "report", MATCH),
        ("cvm.evidence", "report", "cvm.evidence", "device", MISMATCH),
        ("cvm.evidence", "report", "cvm.evidence", "none", MISMATCH),
        ("cvm.evidence", "report", "cvm.evidence", None, UNKNOWN),
        ("cvm.evidence", "kernel", "cvm.evidence", "a guess", UNKNOWN),
        ("net.mtu", 1500, "net.mtu", 8896, MISMATCH),
        ("net.link", 1.25e9, "net.speed", 1_250_000_000, MATCH),
        ("net.link", 1.25e9, "net.speed", 50_000_000_000, MISMATCH),
        ("net.link", "fast", "net.speed", 50_000_000_000, UNKNOWN),
        ("storage.filesystem", "ext4", "disk.filesystem", "xfs", MISMATCH),
        ("storage.encryption", "none", "disk.encryption", "none", MATCH),
        ("storage.encryption", "none", "disk.encryption", "gocryptfs", MISMATCH),
        ("storage.encryption", "gocryptfs", "disk.encryption", "gocryptfs", MATCH),
        ("storage.encryption", "gocryptfs", "disk.encryption", "none", MISMATCH),
        ("storage.encryption", "luks", "disk.encryption", "dm-crypt", MATCH),
        ("storage.encryption", "csi", "disk.encryption", "none", MISMATCH),
        ("storage.encryption", "sse", "disk.encryption", "none", UNKNOWN),
        ("storage.encryption", "other", "disk.encryption", "none", UNKNOWN),
        ("storage.encryption", "other", "disk.encryption", "ecryptfs", MATCH),
        ("node.image", "ubuntu", "cloud.image", "ubuntu", MATCH),
        ("cpu.aes", True, "cpu.aes", True, MATCH),
        ("cpu.aes", True, "cpu.aes", False, MISMATCH),
        ("cpu.aes", "yes", "cpu.aes", True, UNKNOWN),
        ("cpu.smt", None, "cpu.smt", True, UNKNOWN),
        ("cni.name", "cilium", "kernel.release", "6.1", UNKNOWN),
    ],
)
def test_comparisons(claim: str, declared: Json, fact: str, value: Json, state: ClaimState) -> None:
    assert judge(claim, declared, fact, value) is state


def test_a_row_says_where_the_observation_comes_from() -> None:
    (check,) = check_claims(target({"net.link": 1e9}), [observed(net__speed=1_000_000_000)])
    assert (check.target, check.fact, check.declared, check.observed, check.source) == (
        "aks",
        "net.link",
        1e9,
        1_000_000_000,
        "cat net__speed",
    )


def test_a_fact_of_the_claim_s_own_name_is_preferred() -> None:
    (check,) = check_claims(
        target({"storage.filesystem": "xfs"}),
        [observed(disk__filesystem="ext4", storage__filesystem="xfs")],
    )
    assert check.state is MATCH


def test_claims_of_several_groups_count_on_the_sites_where_the_groups_are() -> None:
    groups = tuple(
        NodeGroup(name=name, roles=(role,))
        for name, role in (("clients", "client"), ("servers", "server"), ("cp", "control-plane"))
    )
    claims: Mapping[str, Json] = {
        "clients/cpu.count": 4,
        "servers/cpu.count": 8,
        "cloud.provider": "azure",
    }
    apart = target(claims, groups, {Role.CLIENT: "here", Role.SERVER: "there"})
    here, there = (
        check_claims(apart, [observed(site=site, cpu__count=4, cloud__provider="azure")])
        for site in ("here", "there")
    )
    assert [(check.fact, check.state) for check in here] == [
        ("clients/cpu.count", MATCH),
        ("cloud.provider", MATCH),
    ]
    assert [(check.fact, check.state) for check in there] == [
        ("servers/cpu.count", MISMATCH),
        ("cloud.provider", MATCH),
    ]
    together = target(claims, groups, {Role.CLIENT: "here", Role.SERVER: "here"})
    states = [
        check.state
        for check in check_claims(together, [observed(cpu__count=4, cloud__provider="azure")])
    ]
    assert states == [UNKNOWN, UNKNOWN, MATCH]


@pytest.mark.parametrize(
    ("declared", "unseen", "state"),
    [
        ("report", "report (needs root)", UNKNOWN),
        (
            "report",
            "kernel log (not readable or cut), report in the vTPM (needs tpm2-tools)",
            UNKNOWN,
        ),
        ("report", "none", MISMATCH),
        ("report", None, MISMATCH),
        ("device", "report (needs root)", MISMATCH),
        ("device", "device (a container has a /dev of its own), report (needs root)", UNKNOWN),
    ],
)
def test_evidence_that_could_not_be_looked_for_is_unknown(
    declared: str, unseen: Json, state: ClaimState
) -> None:
    seen = observed(cvm__technology="sev-snp", cvm__evidence="kernel", cvm__unseen=unseen)
    (check,) = check_claims(target({"cvm.evidence": declared}), [seen])
    assert (check.state, check.observed) == (state, "kernel")


@pytest.mark.parametrize(("technology", "told"), [(None, True), ("none", False), ("tdx", False)])
def test_a_claimed_confidential_vm_that_nobody_could_look_at_is_told(
    technology: Json, told: bool
) -> None:
    seen = observed(cvm__technology=technology, cvm__unseen="kernel log (not readable or cut)")
    found = list(unseen_cvm(check_claims(target({"cvm.expected": True}), [seen]), [seen]))
    assert bool(found) == told
    assert all(
        "could not be observed; not looked at: kernel log (not readable or cut)" in finding.message
        for finding in found
    )
    assert list(unseen_cvm(check_claims(target({"cvm.expected": False}), [seen]), [seen])) == []
    assert {finding.code for finding in found} <= set(findings.CODES)


def test_what_is_said_of_a_volume_of_its_own_is_not_held_against_the_disk_of_the_work_directories() -> (
    None
):
    of_its_own = dataclasses.replace(
        target({"storage.encryption": "gocryptfs"}), storage={"path": "/mnt/data"}
    )
    (check,) = check_claims(of_its_own, [observed(disk__encryption="none")])
    assert (check.state, check.observed) == (UNKNOWN, None)
    (check,) = check_claims(
        of_its_own,
        [observed(disk__encryption="none"), observed("allocated", storage__encryption="none")],
    )
    assert (check.state, check.observed) == (MISMATCH, "none")


def test_drift_names_what_changed_and_how_grave_it_is() -> None:
    before = observed(
        "before",
        net__mtu=1500,
        boot__id="a",
        machine__id="x",
        kernel__aslr=2,
        disk__free=100,
        cpu__governor=None,
        custom="1",
    )
    after = observed(
        "after",
        net__mtu=1400,
        boot__id="b",
        machine__id="y",
        kernel__aslr=2,
        disk__free=50,
        cpu__governor="powersave",
        custom=None,
    )
    found = drift(before, after)
    assert [(finding.code, finding.level) for finding in found] == [
        ("F102", FindingLevel.WARNING),
        ("F103", FindingLevel.ERROR),
        ("F104", FindingLevel.ERROR),
    ]
    assert "net.mtu changed on here from 1500 (before) to 1400 (after)" in found[0].message
    assert {finding.code for finding in found} <= set(findings.CODES)
    assert drift(before, before) == ()


def test_evidence_drifts_only_where_the_same_could_be_looked_at() -> None:
    def seen(when: str, evidence: str, unseen: str, technology: str = "sev-snp") -> FactSet:
        return observed(
            when,
            cvm__technology=technology,
            cvm__evidence=evidence,
            cvm__basis=f"a {evidence}",
            cvm__unseen=unseen,
        )

    before = seen("before", "report", "none")
    assert drift(before, seen("after", "device", "report (needs root)")) == ()
    assert [
        finding.message.split()[0] for finding in drift(before, seen("after", "device", "none"))
    ] == ["cvm.evidence", "cvm.basis"]
    assert [
        finding.message.split()[0]
        for finding in drift(before, seen("after", "device", "report (needs root)", "tdx"))
    ] == ["cvm.technology"]


def test_settings_that_add_noise_are_rated_with_advice() -> None:
    settings: dict[str, Json] = {
        "cpu__governor": "powersave",
        "cpu__turbo": True,
        "cpu__smt": False,
        "cpu__steal": 0.05,
        "memory__thp": "always",
        "kernel__aslr": 2,
        "power__mains": False,
    }
    found = rate(observed("before", "here", **settings))
    assert [finding.message.partition(" ")[0] for finding in found] == [
        "cpu.governor",
        "cpu.turbo",
        "cpu.steal",
        "memory.thp",
        "power.mains",
    ]
    assert "powersave: the frequency follows the load" in found[0].message
    assert (
        rate(
            observed(
                cpu__governor="performance",
                cpu__turbo=False,
                cpu__steal=0.0,
                memory__thp="madvise",
                clock__synchronised=None,
            )
        )
        == ()
    )
    assert {rule.fact for rule in RULES} <= set(fact_kinds())
    assert "F520" in findings.CODES


versions = st.lists(st.integers(0, 99), min_size=1, max_size=4).map(
    lambda parts: ".".join(map(str, parts))
)


@given(versions, versions)
def test_a_version_matches_its_refinements_alone(short: str, rest: str) -> None:
    assert version_matches(short, short)
    assert version_matches(short, f"{short}.{rest}")
    assert version_matches(short, f"v{short}-{rest}")
    assert not version_matches(short, f"{short}{rest}")
    assert not version_matches(f"{short}.{rest}", short)


@given(st.floats(1.0, 1e15), st.floats(0.5, 1.5))
def test_memory_matches_from_12_percent_below_to_1_above(declared: float, factor: float) -> None:
    if min(abs(factor - 0.88), abs(factor - 1.01)) > 1e-9:
        assert memory_matches(declared, declared * factor) == (0.88 <= factor <= 1.01)


@given(st.text(max_size=40))
def test_every_text_matches_itself(text: str) -> None:
    assert words_match(text, text)
