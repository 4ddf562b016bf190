"""Reading objects of the cluster for facts: what is not there, and what may not be looked at, are
different answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from ..failures import Denied, NotThere, Refused
from ..names import Object
from .api import Api


class Look:
    """Reads for facts. ``unseen`` collects what could not be looked at, each with the right that is
    missing.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self.unseen: dict[str, None] = {}

    def one(self, path: str) -> Object | None:
        """The object at ``path``; None where there is none, or none that may be seen."""
        try:
            return self._api.get(path)
        except NotThere:
            return None
        except Denied:
            self.tell(_name(path), f"no right to get {_resource(path.rpartition('/')[0])}")
        except Refused as error:
            self.tell(_name(path), error.message)
        return None

    def every(self, path: str) -> list[Object] | None:
        """The objects of the list at ``path``; None where it may not be seen, or there is no such
        kind.
        """
        try:
            return self._api.items(path)
        except NotThere:
            return None
        except Denied:
            self.tell(_resource(path), f"no right to list {_resource(path)}")
        except Refused as error:
            self.tell(_resource(path), error.message)
        return None

    def config_map(self, namespace: str, name: str) -> dict[str, str]:
        """What a ConfigMap holds; nothing where there is none that may be seen."""
        found = self.one(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        return (
            {}
            if found is None
            else {key: str(value) for key, value in (found.get("data") or {}).items()}
        )

    def tell(self, what: str, reason: str) -> None:
        """Remember that ``what`` could not be looked at, or not be said."""
        self.unseen[f"{what} ({reason})"] = None


def _name(path: str) -> str:
    """``configmaps kube-system/cilium-config``."""
    parts = path.split("/")
    namespace = f"{parts[parts.index('namespaces') + 1]}/" if "namespaces" in parts else ""
    return f"{parts[-2]} {namespace}{parts[-1]}"


def _resource(path: str) -> str:
    """``ciliumnodes.cilium.io``."""
    parts = path.split("/")
    return f"{parts[-1]}.{parts[2]}" if parts[1] == "apis" else parts[-1]


def at(found: Any, path: str) -> Any:
    """What lies at ``path`` (``spec.mtls.mode``) of an object; None where nothing does."""
    for word in path.split("."):
        found = found.get(word) if isinstance(found, Mapping) else None
    return found


def parsed(text: str) -> Mapping[str, Any]:
    """A configuration file's JSON or YAML; empty when it is no mapping."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return {}
    return found if isinstance(found, Mapping) else {}
