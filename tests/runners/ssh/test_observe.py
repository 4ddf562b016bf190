"""What an allocation on real hosts shows besides its hosts: the paths between its roles, and the
volume that is measured.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchspec.engine.model.contract.values import Demand
from benchspec.engine.model.spec import Json, Role, RolePlace, Site
from benchspec.runners.ssh.session import connect
from tests import hosts


def seen(bed: hosts.Bed, demand: Demand) -> dict[Role, dict[str, Json]]:
    """What client (host2) and server (host3) show in an allocation."""
    made: dict[str, Any] = {"known_hosts": str(bed.known_hosts), "ssh_config": str(bed.ssh_config)}
    made["hosts"] = {
        role: bed.host(name).site("bench")
        for role, name in (("client", "host2"), ("server", "host3"))
    }
    session = connect(Site(name="lab", runner="ssh", options=made), "observed")
    try:
        allocation = session.allocate(
            [RolePlace(role=role, site="lab") for role in (Role.CLIENT, Role.SERVER)], "a1", demand
        )
        try:
            found = allocation.observe(allocation.surroundings())
        finally:
            allocation.release()
    finally:
        session.close()
    return {role: {fact.name: fact.value for fact in facts} for role, facts in found.items()}


def test_the_path_from_each_end(bed: hosts.Bed) -> None:
    found = seen(bed, Demand())
    assert {
        role: (facts["path.interface"], facts["path.routed"], facts["path.mtu"])
        for role, facts in found.items()
    } == {
        Role.CLIENT: ("eth0", False, 1500),
        Role.SERVER: ("eth0", False, 1500),
    }
    assert not {name for facts in found.values() for name in facts if name.startswith("storage.")}


@pytest.mark.parametrize(("path", "filesystem"), [("/srv", "tmpfs"), ("/nowhere", None)])
def test_the_volume_of_the_role_that_writes(
    bed: hosts.Bed, path: str, filesystem: str | None
) -> None:
    bed.host("host2").small_disk("/srv")
    try:
        found = seen(bed, Demand(storage={"path": path}, volumes=(Role.CLIENT,)))
    finally:
        bed.host("host2").unmount("/srv")
    assert found[Role.CLIENT]["storage.filesystem"] == filesystem
    assert (found[Role.CLIENT]["storage.free"] is None) == (filesystem is None)
    assert "storage.filesystem" not in found[Role.SERVER]
