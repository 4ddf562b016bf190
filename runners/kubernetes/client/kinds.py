"""Which resource of the API a kind or a short name stands for, as the cluster itself says.

Format: https://kubernetes.io/docs/reference/using-api/api-concepts/#discovery-api (APIResourceList
of every group and version).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....engine.model.errors import RunFailed
from ..failures import NotThere
from ..names import Object
from .api import Api

_FIRST = ("v1", "apps/v1", "batch/v1")
"""Looked through before all others: nearly everything is in one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of object. ``root`` is the path of its group and version, ``plural`` its name below
    that.
    """

    name: str
    root: str
    plural: str
    namespaced: bool

    def path(self, namespace: str, name: str = "") -> str:
        """The path of the list in ``namespace``, or of one object."""
        middle = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{self.root}{middle}/{self.plural}" + (f"/{name}" if name else "")


class Kinds:
    """The kinds of one cluster; what was asked once is not asked again until it is not found."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lists: dict[str, list[Object]] = {}

    def of_object(self, given: Mapping[str, object]) -> Kind:
        """The kind of an object by its apiVersion and kind. Raises RunFailed when the cluster has
        none such.
        """
        version, kind = str(given.get("apiVersion")), str(given.get("kind"))
        for found in self._listed(version):
            if found["kind"] == kind and "/" not in found["name"]:
                return _kind(version, found)
        self._lists.pop(version, None)  # its definition may be made by and by
        remedy = "correct it, or install what defines it"
        raise RunFailed(
            f"the cluster has no kind {kind} of apiVersion {version}",
            where=self._api.where,
            remedy=remedy,
        )

    def named(self, word: str) -> Kind:
        """The kind that people call ``word``: ``deployment``, ``deployments``, ``deploy`` or
        ``deployments.apps``. Raises RunFailed.
        """
        name, _, group = word.lower().partition(".")
        for version in self._versions():
            if group and version.rpartition("/")[0] != group:
                continue
            for found in self._listed(version):
                if name in (
                    found["name"],
                    found.get("singularName"),
                    found["kind"].lower(),
                    *(found.get("shortNames") or []),
                ):
                    return _kind(version, found)
        raise RunFailed(
            f"the cluster has no kind {word!r}",
            where=self._api.where,
            remedy="name one that `kubectl api-resources` lists",
        )

    def _versions(self) -> Iterator[str]:
        yield from _FIRST
        groups = self._api.get("/apis").get("groups") or []
        yield from (
            version
            for group in groups
            if (version := group["preferredVersion"]["groupVersion"]) not in _FIRST
        )

    def _listed(self, version: str) -> list[Object]:
        if version not in self._lists:
            try:
                self._lists[version] = self._api.get(_root(version)).get("resources") or []
            except NotThere:
                return []
        return self._lists[version]


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _kind(version: str, found: Object) -> Kind:
    return Kind(
        name=found["kind"],
        root=_root(version),
        plural=found["name"],
        namespaced=found["namespaced"],
    )
