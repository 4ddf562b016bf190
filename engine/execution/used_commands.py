"""What is really started to measure an experiment, for the journal: with stand-ins for what each
allocation chooses anew, so that equal commands are equal from one allocation to the next.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from ..model.codec import encode
from ..model.contract.values import Command, Commands, PlacedFile, Surroundings
from ..model.results import UsedCommands, UsedFile, UsedProgram
from ..model.spec import Experiment, Role
from ..planning.allocation_request import demand_of


def describe_commands(
    experiment: Experiment, commands: Commands, surroundings: Surroundings
) -> UsedCommands:
    """``commands`` of ``experiment`` with ``${workdir}`` (of the role itself; ``${workdir:ROLE}``
    of another), ``${device:ROLE}``, ``${host:ROLE}`` and ``${port:ROLE}`` (``${port:ROLE+1}`` for
    the next one) in place of what ``surroundings`` says. A host or a port that the spec itself
    names stays as it is.
    """
    named = json.dumps(encode(experiment.parameters), ensure_ascii=False)
    texts = _Texts(surroundings, named, demand_of(experiment).ports)
    return UsedCommands(
        experiment_id=experiment.id,
        clients=tuple(texts.program(command) for command in commands.clients),
        servers=tuple(texts.program(server.command) for server in commands.servers),
        files=tuple(texts.file(file) for file in commands.files),
    )


class _Texts:
    """Replaces what one allocation chose."""

    def __init__(self, surroundings: Surroundings, named: str, ports: int) -> None:
        self._workdirs = surroundings.workdirs
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        for role, device in surroundings.devices.items():
            self._add(device, f"${{device:{role.value}}}")
        for role, endpoint in surroundings.endpoints.items():
            told = [(endpoint.host, f"${{host:{role.value}}}")]
            for extra in range(max(1, ports)):
                name = f"${{port:{role.value}{f'+{extra}' if extra else ''}}}"
                told.append((str(endpoint.port + extra), name))
            for text, name in told:
                if not _bounded(text).search(named):
                    self._add(text, name)

    def program(self, command: Command) -> UsedProgram:
        return UsedProgram(
            role=command.role.value,
            argv=tuple(self._plain(text, command.role) for text in command.argv),
            env={name: self._plain(text, command.role) for name, text in command.env.items()},
            secrets=tuple(sorted(command.secrets)),
            cpus=command.cpus,
        )

    def file(self, file: PlacedFile) -> UsedFile:
        try:
            data = self._plain(file.data.decode(), file.role).encode()
        except UnicodeDecodeError:
            data = file.data
        return UsedFile(
            role=file.role.value, name=file.name, sha256=hashlib.sha256(data).hexdigest()
        )

    def _add(self, text: str, name: str) -> None:
        self._patterns.append((_bounded(text), name))

    def _plain(self, text: str, own: Role) -> str:
        for pattern, name in (*_by_length(self._workdirs, own), *self._patterns):
            text = name.join(pattern.split(text))
        return text


def _by_length(workdirs: Mapping[Role, str], own: Role) -> list[tuple[re.Pattern[str], str]]:
    """Longer directories first: one may lie in another. The role's own comes before an equal
    one.
    """
    ordered = sorted(workdirs.items(), key=lambda item: (-len(item[1]), item[0] is not own))
    return [
        (_bounded(path), "${workdir}" if role is own else f"${{workdir:{role.value}}}")
        for role, path in ordered
    ]


def _bounded(text: str) -> re.Pattern[str]:
    """``text`` as a whole: the port 80 is no part of 8080, and 10.0.0.1 none of 10.0.0.12."""
    return re.compile(rf"(?<![\w.]){re.escape(text)}(?![\w]|\.\d)")
