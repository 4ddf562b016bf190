"""What the Kubernetes runner would create and execute for one experiment: manifests, and scripts
people can read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...engine.model.contract.values import Command, Commands, Endpoint, RenderedFile, Surroundings
from ...engine.model.spec import Experiment, Role, Site
from ...engine.planning.allocation_request import demand_of
from ...engine.planning.shell_script import to_script
from .names import Ownership
from .options import read_options
from .pods import manifests

_OWNER = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "", "uid": "UID"}}
_RUN, _ALLOCATION = "RUN", "ALLOCATION"


def placeholders(experiment: Experiment, site: Site) -> Surroundings:
    """Stand-in addresses, ports and work directories; the real ones differ in every allocation."""
    parts = _parts(experiment, site)
    return Surroundings(
        endpoints={
            role: Endpoint(host=part.service or f"{part.name}.pod", port=part.port)
            for role, part in parts.items()
        },
        workdirs={role: part.workdir for role, part in parts.items()},
        devices={role: manifests.DEVICE for role, part in parts.items() if part.raw},
    )


def _parts(experiment: Experiment, site: Site) -> dict[Role, manifests.Part]:
    options = read_options(site)
    ownership = Ownership(run_id=_RUN, site=site.name, extra=options.labels)
    roles = [place.role for place in experiment.roles if place.site == site.name]
    return dict(manifests.parts(options, ownership, _ALLOCATION, roles, demand_of(experiment)))


def render(experiment: Experiment, site: Site, commands: Commands) -> list[RenderedFile]:
    """One manifest per object, then one script per program."""
    options, demand, parts = read_options(site), demand_of(experiment), _parts(experiment, site)
    ownership = Ownership(run_id=_RUN, site=site.name, extra=options.labels)
    files = []
    for role, part in parts.items():
        owner = manifests.owner({**_OWNER, "metadata": {"name": part.name, "uid": "UID"}})
        files.append(
            _manifest(
                f"{role}-job.json", manifests.job(options, ownership, _ALLOCATION, part, demand)
            )
        )
        if part.volume and not part.ephemeral:
            files.append(
                _manifest(
                    f"{role}-volume.json", manifests.claim(ownership, _ALLOCATION, part, demand)
                )
            )
        if part.volume and demand.storage.get("create") is True:
            files.append(
                _manifest("storage-class.json", manifests.storage_class(ownership, demand))
            )
        if part.service:
            files.append(
                _manifest(
                    f"{role}-service.json",
                    manifests.service(ownership, _ALLOCATION, part, demand, owner),
                )
            )
        if part.ingress:
            from .resources import ingress

            made = ingress.manifest(ownership, _ALLOCATION, part, options.ingress_class, owner)
            files.append(_manifest(f"{role}-ingress.json", made))
    files += [
        RenderedFile(name=f"files/{placed.role}/{placed.name}", data=placed.data)
        for placed in commands.files
        if placed.role in parts
    ]
    programs: Sequence[tuple[str, Command]] = [
        *(
            (f"server-{i}-{s.command.role}.sh", s.command)
            for i, s in enumerate(commands.servers, 1)
        ),
        *((f"client-{i}-{c.role}.sh", c) for i, c in enumerate(commands.clients, 1)),
    ]
    return files + [
        _script(name, command, parts[command.role])
        for name, command in programs
        if command.role in parts
    ]


def _manifest(name: str, body: object) -> RenderedFile:
    return RenderedFile(name=name, data=(json.dumps(body, indent=2) + "\n").encode())


def _script(name: str, command: Command, part: manifests.Part) -> RenderedFile:
    remark = f"in the pod of {part.name}, detached; killed after {command.timeout_s:g} s"
    pinned = ("taskset", "-c", ",".join(map(str, command.cpus))) if command.cpus else ()
    return to_script(name, command, remark, part.workdir, pinned=pinned, home=part.workdir)
