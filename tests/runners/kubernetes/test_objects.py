"""Names, manifests and rights: what is created, without a cluster."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.model.contract.values import Commands, Demand
from benchspec.engine.model.spec import (
    Experiment,
    Json,
    Placement,
    Role,
    RolePlace,
    Site,
    TrafficPath,
)
from benchspec.runners.kubernetes import RUNNER, rights
from benchspec.runners.kubernetes.names import Ownership, label_value, object_name
from benchspec.runners.kubernetes.options import read_options
from benchspec.runners.kubernetes.pods import manifests

OWNERSHIP = Ownership(run_id="run-1", site="here", extra={"team": "a b"})
DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


@given(st.text(), st.text())
def test_any_id_gives_a_name_and_a_label(run_id: str, allocation_id: str) -> None:
    assert DNS_LABEL.fullmatch(object_name("client", run_id, allocation_id) + "-12345")
    assert LABEL.fullmatch(label_value(run_id))


@given(st.text(), st.text())
def test_ids_that_differ_have_names_and_labels_that_differ(one: str, other: str) -> None:
    assert (object_name("client", one) == object_name("client", other)) == (one == other)
    assert (label_value(one) == label_value(other)) == (one == other)


def parts(demand: Demand, **options: Any) -> dict[Role, tuple[manifests.Part, Any]]:
    read = read_options(Site(name="here", runner="kubernetes", options=options))
    found = manifests.parts(read, OWNERSHIP, "a-1", [Role.CLIENT, Role.SERVER], demand)
    return {
        role: (
            part,
            manifests.job(read, OWNERSHIP, "a-1", part, demand)["spec"]["template"]["spec"],
        )
        for role, part in found.items()
    }


def test_a_pod_meets_the_restricted_standard_and_is_guaranteed() -> None:
    part, pod = parts(Demand(), cpu=2, memory="4 GiB")[Role.CLIENT]
    container = pod["containers"][0]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (
        container["resources"]["requests"]
        == container["resources"]["limits"]
        == {"cpu": "2", "memory": str(4 * 2**30)}
    )
    assert not pod["automountServiceAccountToken"]
    assert "hostNetwork" not in pod
    assert part.workdir.endswith("/client")


@pytest.mark.parametrize(
    ("path", "client_on_host", "server_on_host", "service"),
    [
        (TrafficPath.POD_TO_POD, False, False, None),
        (TrafficPath.POD_TO_SERVICE, False, False, "ClusterIP"),
        (TrafficPath.POD_TO_HOST, False, True, None),
        (TrafficPath.HOST_TO_HOST, True, True, None),
        (TrafficPath.HOST_TO_SERVICE, True, False, "ClusterIP"),
        (TrafficPath.NODE_PORT, False, False, "NodePort"),
    ],
)
def test_a_path_decides_networks_and_services(
    path: TrafficPath, client_on_host: bool, server_on_host: bool, service: str | None
) -> None:
    demand = Demand(path=path)
    found = parts(demand)
    assert found[Role.CLIENT][1].get("hostNetwork", False) is client_on_host
    assert found[Role.SERVER][1].get("hostNetwork", False) is server_on_host
    assert found[Role.CLIENT][0].service is None
    part = found[Role.SERVER][0]
    assert (part.service is None) == (service is None)
    if service is not None:
        made = manifests.service(OWNERSHIP, "a-1", part, demand, {})
        assert made["spec"]["type"] == service
        assert (
            {port["port"] for port in made["spec"]["ports"]}
            == {port["targetPort"] for port in made["spec"]["ports"]}
            == {part.port}
        )
        assert len(made["metadata"]["name"]) <= 63


def test_what_a_plan_renders_has_the_ingress_too() -> None:
    site = Site(name="here", runner="kubernetes", options={"ingress_class": "nginx"})
    what = experiment(path=TrafficPath.INGRESS, tool="fortio")
    files = {
        file.name: json.loads(file.data) for file in RUNNER.render(what, site, Commands(clients=()))
    }
    assert files["server-ingress.json"]["spec"]["ingressClassName"] == "nginx"


def test_placement_becomes_affinity_and_no_run_shares_a_node_with_another() -> None:
    def pod(placement: Placement) -> Any:
        return parts(Demand(placement=placement))[Role.SERVER][1]

    def terms(placement: Placement, kind: str) -> list[Any]:
        return list(
            pod(placement)["affinity"]
            .get(kind, {})
            .get("requiredDuringSchedulingIgnoredDuringExecution", [])
        )

    own = {"matchLabels": {"benchspec.dev/allocation": "a-1"}}
    (apart,) = pod(Placement.ACROSS_NODES)["topologySpreadConstraints"]
    assert (apart["labelSelector"], apart["maxSkew"], apart["whenUnsatisfiable"]) == (
        own,
        1,
        "DoNotSchedule",
    )
    assert apart["minDomains"] > 2, "so that one node alone does not get both"
    assert own in [term["labelSelector"] for term in terms(Placement.SAME_NODE, "podAffinity")]
    for placement in Placement:
        (others,) = terms(
            placement, "podAntiAffinity"
        )  # a second one would keep the scheduler from trying again when others go
        assert others["namespaceSelector"] == {}
        assert {"key": "benchspec.dev/run", "operator": "NotIn", "values": ["run-1"]} in others[
            "labelSelector"
        ]["matchExpressions"]


def test_a_volume_is_claimed_where_the_workload_writes_and_the_target_names_a_class() -> None:
    demand = Demand(storage={"class": "fast", "size": "5 GiB"}, volumes=(Role.CLIENT,))
    found = parts(demand)
    assert found[Role.SERVER][0].volume is None
    part, pod = found[Role.CLIENT]
    assert part.workdir.startswith(manifests.VOLUME)
    assert pod["securityContext"]["fsGroup"] == manifests.USER
    claim = manifests.claim(OWNERSHIP, "a-1", part, demand)
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"] == {"requests": {"storage": str(5 * 2**30)}}
    assert {
        "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]},
        "name": part.volume,
    } in pod["volumes"]
    assert claim["metadata"]["name"].endswith(f"-{manifests.volume_name('run-1')}")
    assert parts(Demand(volumes=(Role.CLIENT,)))[Role.CLIENT][0].volume is None


def test_an_ephemeral_volume_is_claimed_in_the_pod_with_our_labels() -> None:
    part, pod = parts(
        Demand(
            storage={"class": "fast", "ephemeral": True, "mode": "Block"}, volumes=(Role.CLIENT,)
        )
    )[Role.CLIENT]
    (template,) = (
        one["ephemeral"]["volumeClaimTemplate"] for one in pod["volumes"] if "ephemeral" in one
    )
    assert template["metadata"]["labels"] == OWNERSHIP.labels("a-1", Role.CLIENT)
    assert template["spec"]["volumeMode"] == "Block"
    assert part.claim_of("pod-x") == f"pod-x-{manifests.volume_name('run-1')}"
    (container,) = pod["containers"]
    assert container["volumeDevices"] == [{"name": part.volume, "devicePath": manifests.DEVICE}]
    assert not part.workdir.startswith(manifests.VOLUME)
    assert "fsGroup" not in pod["securityContext"]


def test_a_service_lets_all_ports_of_a_server_through() -> None:
    options = read_options(Site(name="here", runner="kubernetes"))
    for number in range(40):
        demand = Demand(path=TrafficPath.NODE_PORT, ports=9)
        part = manifests.parts(options, OWNERSHIP, f"a-{number}", [Role.SERVER], demand)[
            Role.SERVER
        ]
        ports = manifests.service(OWNERSHIP, "a-1", part, demand, {})["spec"]["ports"]
        assert {one["nodePort"] for one in ports} == set(range(part.port, part.port + 9))
        assert max(one["nodePort"] for one in ports) < 32768
        assert len({one["name"] for one in ports}) == len(ports) == 18


def test_a_privileged_pod_has_its_node_s_files_read_only_with_all_that_is_mounted_among_them() -> (
    None
):
    options = dataclasses.replace(
        read_options(Site(name="here", runner="kubernetes")), privileged=True
    )
    part = manifests.parts(options, OWNERSHIP, "a-1", [Role.CLIENT], Demand())[Role.CLIENT]
    (container,) = manifests.job(options, OWNERSHIP, "a-1", part, Demand())["spec"]["template"][
        "spec"
    ]["containers"]
    (mount,) = (one for one in container["volumeMounts"] if one["mountPath"] == manifests.NODE)
    assert (mount["readOnly"], mount["recursiveReadOnly"]) == (True, "IfPossible")


def test_ports_that_the_spec_names_are_let_through_and_shown() -> None:
    netperf = experiment(
        tool="netperf",
        path=TrafficPath.POD_TO_SERVICE,
        parameters={"streams": 2, "data_port": 12866},
    )
    files = {
        file.name: file.data
        for file in RUNNER.render(
            netperf, Site(name="here", runner="kubernetes"), Commands(clients=())
        )
    }
    ports = [
        one["port"]
        for one in json.loads(files["server-service.json"])["spec"]["ports"]
        if one["protocol"] == "TCP"
    ]
    assert ports[1:] == [12866, 12867]
    assert 20000 <= ports[0] < 30000
    assert "found port 12866 for netperf on path node-port" in problems(
        dataclasses.replace(netperf, path=TrafficPath.NODE_PORT)
    )


def test_the_rights_name_no_wildcard_and_stay_in_the_namespace() -> None:
    made = rights.manifests("bench", "b", facts=False, classes=False)
    assert [one["kind"] for one in made] == ["ServiceAccount", "Role", "RoleBinding"]
    assert all("*" not in right for right in rights.needed())
    wide = rights.manifests("bench", "b", facts=True, classes=False)[3]
    assert {verb for rule in wide["rules"] for verb in rule["verbs"]} == {"get", "list"}


def experiment(**changes: Any) -> Experiment:
    fields: dict[str, Any] = {
        "id": "0" * 64,
        "target": "t",
        "workload": "w",
        "title": "",
        "point": (),
        "tool": "iperf3",
        "parameters": {},
        "roles": (
            RolePlace(role=Role.CLIENT, site="here"),
            RolePlace(role=Role.SERVER, site="here"),
        ),
    }
    return Experiment(**fields | changes)


def problems(what: Experiment, **options: Json) -> str:
    given = {"image": f"tools@sha256:{'0' * 64}", **options}
    found = RUNNER.unsupported(what, Site(name="here", runner="kubernetes", options=given))
    assert all(problem.remedy for problem in found)
    return "; ".join(problem.message for problem in found)


def test_what_no_pod_can_do_is_refused_before_anything_is_created() -> None:
    assert problems(experiment(path=TrafficPath.POD_TO_POD)) == ""
    assert "found path ingress for iperf3, expected one of command, fortio" in problems(
        experiment(path=TrafficPath.INGRESS)
    )
    assert problems(experiment(path=TrafficPath.INGRESS, tool="fortio")) == ""
    assert "found path mesh" in problems(experiment(path=TrafficPath.MESH))
    assert "loopback" in problems(
        experiment(path=TrafficPath.HOST_TO_HOST, placement=Placement.SAME_NODE)
    )
    assert "no provisioner" in problems(
        experiment(tool="fio", storage={"class": "x", "create": True})
    )
    assert "found storage.ephemeral without a class" in problems(
        experiment(tool="fio", storage={"ephemeral": True})
    )
    assert "cannot measure a raw device" in problems(
        experiment(tool="diskspd", storage={"class": "x", "mode": "Block"})
    )
    assert "found storage.path and mode: Block" in problems(
        experiment(tool="fio", storage={"class": "x", "mode": "Block", "path": "/mnt"})
    )
    assert (
        problems(experiment(tool="fio", storage={"class": "x", "mode": "Block", "ephemeral": True}))
        == ""
    )


def test_a_pinned_site_takes_digests_only() -> None:
    digest = f"ghcr.io/mine/tools@sha256:{'0' * 64}"
    assert "found image ghcr.io/mine/tools:1" in problems(
        experiment(), image="ghcr.io/mine/tools:1", pin="required"
    )
    assert problems(experiment(), image=digest, pin="required") == ""
    assert problems(experiment(image=digest), image="ghcr.io/mine/tools:1", pin="required") == ""
    assert problems(experiment(), image="ghcr.io/mine/tools:1") == ""
