"""Experiments and surroundings for tests of commands."""

from __future__ import annotations

from collections.abc import Mapping

from benchspec.engine.model.contract.values import Endpoint, Surroundings
from benchspec.engine.model.spec import Experiment, Json, Role, RolePlace


def experiment(
    tool: str, parameters: Mapping[str, Json], cpus: Mapping[Role, tuple[int, ...]] | None = None
) -> Experiment:
    """One experiment of ``tool``, its roles pinned to ``cpus``."""
    roles = tuple(
        RolePlace(role=role, site="here", cpus=numbers) for role, numbers in (cpus or {}).items()
    )
    return Experiment(
        id="0" * 64,
        target="t",
        workload="w",
        title="W",
        point=(),
        tool=tool,
        parameters=parameters,
        roles=roles,
    )


def surroundings(host: str = "192.0.2.7", port: int = 20000, workdir: str = "/w") -> Surroundings:
    """A server at ``host``, and a work directory for every role."""
    return Surroundings(
        endpoints={Role.SERVER: Endpoint(host=host, port=port)},
        workdirs={role: f"{workdir}/{role}" for role in Role},
    )
