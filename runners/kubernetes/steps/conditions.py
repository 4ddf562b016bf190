"""What ``wait: {condition: ...}`` awaits, written as for ``kubectl wait``: ``deployment/nginx
condition=Available``, ``pod/a condition=Ready=false``, ``statefulset/vault
jsonpath={.status.readyReplicas}=5``, ``job/load create``, ``pod/old delete``.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, replace

from ....engine.model.errors import RunFailed, SpecError
from ....engine.model.spec import Json
from ....engine.model.text.jsonpath import parse_path, select
from ..client.api import Api
from ..client.kinds import Kinds
from ..names import Object
from ..pods import pod as pods

_FORM = re.compile(r"^\s*(?P<kind>[A-Za-z0-9.-]+)/(?P<name>[a-z0-9.-]+)\s+(?P<what>\S.*?)\s*$")
_CONDITION = re.compile(r"^condition=(?P<type>[^=\s]+?)(=(?P<status>\w+))?$")
_PATH = re.compile(r"^jsonpath='?\{(?P<path>\..+?)\}'?(=(?P<value>.*))?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """An object and what is to be so: ``type`` has ``status``; or ``path`` gives ``value`` (None:
    anything); or it is there, or gone.
    """

    text: str
    kind: str
    name: str
    type: str | None = None
    status: str = "true"
    path: str | None = None
    value: str | None = None
    gone: bool = False

    def holds(self, found: Object | None) -> bool:
        """Whether it is so of the object as it is now; None: there is none."""
        if found is None or self.gone:
            return found is None and self.gone
        if self.type is not None:
            said = {c["type"].lower(): c["status"].lower() for c in _conditions(found)}
            return said.get(self.type.lower()) == self.status and _is_current(found)
        if self.path is None:
            return True
        values = [value for value in select(found, parse_path(self.path)) if value is not None]
        return (
            bool(values)
            if self.value is None
            else [_text(value) for value in values] == [self.value]
        )


def read_condition(text: str) -> Condition:
    """The condition that ``text`` means. Raises RunFailed."""
    form = _FORM.match(text)
    if form is not None:
        named, what = (
            Condition(text=text, kind=form["kind"], name=form["name"]),
            form["what"].removeprefix("--for="),
        )
        if what in ("create", "delete"):
            return replace(named, gone=what == "delete")
        if (found := _CONDITION.match(what)) is not None:
            return replace(named, type=found["type"], status=(found["status"] or "true").lower())
        if (found := _PATH.match(what)) is not None and _is_path(f"${found['path']}"):
            return replace(named, path=f"${found['path']}", value=found["value"])
    raise RunFailed(
        f"found condition {text!r}, expected KIND/NAME and condition=TYPE[=STATUS],"
        " jsonpath={.PATH}[=VALUE], create or delete"
    )


def _is_path(path: str) -> bool:
    try:
        parse_path(path)
    except SpecError:
        return False
    return True


def await_condition(api: Api, kinds: Kinds, wanted: Condition, timeout_s: float) -> bytes:
    """Watch the object until it is so; return it as it is then (nothing where it is gone).

    Raises:
        RunFailed: it is not so within ``timeout_s``; the message has what the object says instead.
    """
    deadline = time.monotonic() + timeout_s
    kind = kinds.named(wanted.kind)
    path, field, last = kind.path(api.namespace), f"metadata.name={wanted.name}", None
    if not api.items(path, fieldSelector=field) and wanted.holds(None):
        return b""
    for seen in api.watch(path, deadline, fieldSelector=field):
        last = None if seen.get("_deleted") else seen
        if wanted.holds(last):
            return (
                b""
                if last is None or kind.name == "Secret"
                else json.dumps({key: last[key] for key in last if key != "_deleted"}).encode()
            )
    raise RunFailed(
        f"{wanted.text} was not so within {timeout_s:g} s: {_told(api, wanted, kind.name, last)}",
        where=api.where,
    )


def _told(api: Api, wanted: Condition, kind: str, last: Object | None) -> str:
    """What the object says of itself, and what the cluster says of it and of its pods."""
    if last is None:
        return f"there is no {wanted.kind} {wanted.name} in namespace {api.namespace}"
    said = [
        f"{c['type']} is {c['status']}" + (f" ({c['message']})" if c.get("message") else "")
        for c in _conditions(last)
    ]
    if events := pods.events(api, kind, wanted.name):
        said.append(events)
    labels = ((last.get("spec") or {}).get("selector") or {}).get("matchLabels")
    if isinstance(labels, dict):
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        said += [
            pods.state(pod) for pod in api.items(api.namespaced("pods"), labelSelector=selector)[:5]
        ]
    return "; ".join(said) or "it has no conditions yet"


def _conditions(found: Object) -> list[Object]:
    return (found.get("status") or {}).get("conditions") or []


def _is_current(found: Object) -> bool:
    """Whether its controller has seen what was last asked of it."""
    seen = (found.get("status") or {}).get("observedGeneration")
    return seen is None or int(seen) >= int(found["metadata"].get("generation", 0))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
