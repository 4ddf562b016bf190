"""Objects that lifecycle steps make: applied, labelled with the run, and removed together.

All objects of one bringing-up belong to one ConfigMap, their owner. Who removes that removes them,
of whatever kind they are, by the cluster's own garbage collector: ``clean`` needs to know of the
owner alone. Format: server-side apply,
https://kubernetes.io/docs/reference/using-api/server-side-apply/.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from ....engine.model.errors import RunFailed
from ....engine.model.spec import Json
from ..client.api import APPLY, Api
from ..client.kinds import Kind, Kinds
from ..failures import Exists, NotThere
from ..names import ALLOCATION, MANAGED_BY, RUN, Object, Ownership, object_name
from ..pods import pod as pods

MANAGER = "benchspec"
OWNERS = "configmaps"


class Objects:
    """The objects of a run's steps in one namespace."""

    def __init__(self, api: Api, ownership: Ownership) -> None:
        self._api, self._ownership = api, ownership
        self.kinds = Kinds(api)

    def apply(self, wanted: Sequence[Mapping[str, Json]], allocation_id: str) -> bytes:
        """Make these objects, or make them anew what they are to be; they belong to
        ``allocation_id``. Return them as a List, as the server has them.

        Raises:
            RunFailed: one is of no kind in a namespace, or in another one, or there is one of its
                name that this run did not make.
            Refused: the cluster does not take it.
        """
        known = [(self._kind(one), one) for one in wanted]
        owner = self._owner(allocation_id)
        made = [self._apply(kind, one, allocation_id, owner) for kind, one in known]
        return json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": [_shown(one) for one in made]}, indent=1
        ).encode()

    def _kind(self, given: Mapping[str, Json]) -> Kind:
        kind = self.kinds.of_object(given)
        metadata = given.get("metadata")
        place = metadata.get("namespace") if isinstance(metadata, Mapping) else None
        if not kind.namespaced:
            raise RunFailed(
                f"found {kind.name} {_name(given)}, which belongs to the whole cluster, expected"
                f" objects of namespace {self._api.namespace}",
                where=self._api.where,
                remedy=(
                    "make it before the run, or in a script step, and remove it in a destroy step"
                ),
            )
        if place not in (None, self._api.namespace):
            raise RunFailed(
                f"found {kind.name} {_name(given)} in namespace {place}, expected the site's,"
                f" {self._api.namespace}",
                where=self._api.where,
                remedy="leave its namespace out, or give the step a site with that namespace",
            )
        return kind

    def _owner(self, allocation_id: str) -> Object:
        """The ConfigMap that everything of ``allocation_id`` belongs to, made if it is not
        there.
        """
        name = object_name("steps", self._ownership.run_id, self._ownership.site, allocation_id)
        body: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": self._ownership.labels(allocation_id)},
        }
        try:
            found = self._api.create(self._api.namespaced(OWNERS), body)
        except Exists:
            found = self._api.get(self._api.namespaced(OWNERS, name))
        if found["metadata"].get("deletionTimestamp"):
            told = f"ConfigMap {name} is being removed with all that belongs to it"
            raise RunFailed(told, where=self._api.where, remedy="try again when it is gone")
        # blocking: who removes the owner waits for what belongs to it
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": name,
            "uid": found["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }

    def _apply(
        self, kind: Kind, given: Mapping[str, Json], allocation_id: str, owner: Object
    ) -> Object:
        path = kind.path(self._api.namespace, _name(given))
        self._refuse_others(kind, path, allocation_id)
        body = cast(Object, json.loads(json.dumps(given)))
        labels = self._ownership.labels(allocation_id)
        body["metadata"] = {
            **body["metadata"],
            "namespace": self._api.namespace,
            "ownerReferences": [owner],
        }
        body["metadata"]["labels"] = {**(body["metadata"].get("labels") or {}), **labels}
        template = (body.get("spec") or {}).get("template")
        if (
            isinstance(template, dict) and "spec" in template
        ):  # other runs keep off nodes with pods of ours, which they know by the labels
            template["metadata"] = {**(template.get("metadata") or {})}
            template["metadata"]["labels"] = {
                **(template["metadata"].get("labels") or {}),
                **labels,
            }
        return self._api.request(
            "PATCH",
            path,
            body=body,
            query={"fieldManager": MANAGER, "force": "true"},
            content_type=APPLY,
        )

    def _refuse_others(self, kind: Kind, path: str, allocation_id: str) -> None:
        """What is there under that name must be of this very bringing-up: what is applied is
        removed at its end.
        """
        try:
            found = self._api.get(path)["metadata"]
        except NotThere:
            return
        made = self._ownership.labels(allocation_id)
        labels = {key: made[key] for key in (*MANAGED_BY, RUN, ALLOCATION)}
        if any((found.get("labels") or {}).get(key) != value for key, value in labels.items()):
            raise RunFailed(
                f"there is a {kind.name} {found['name']} already in namespace"
                f" {self._api.namespace}, which belongs to something else",
                where=self._api.where,
                remedy=(
                    "remove it, or choose another name: also two targets of a run may be up at"
                    " once, and need names of their own"
                ),
            )

    def withdraw(self, allocation_id: str) -> None:
        """Remove everything that was applied for ``allocation_id`` (idempotent). Raises RunFailed
        naming what stays.
        """
        path, selector = self._api.namespaced(OWNERS), self._ownership.selector(allocation_id)
        for found in self._api.items(path, labelSelector=selector):
            if found["metadata"]["name"].startswith("bs-steps-"):
                remove_owner(self._api, found["metadata"]["name"])
        pods.await_gone(self._api, path, selector)


def remove_owner(api: Api, name: str) -> None:
    """Ask for the removal of an owner and, before it, of what belongs to it."""
    api.delete(api.namespaced(OWNERS, name), propagation="Foreground")


def _name(given: Mapping[str, Json]) -> str:
    metadata = given.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def _shown(made: Object) -> Object:
    """What is kept of an object: not what a Secret holds, and not the server's book-keeping."""
    metadata = {key: value for key, value in made["metadata"].items() if key != "managedFields"}
    hidden = ("data", "stringData") if made.get("kind") == "Secret" else ()
    return {
        **{key: value for key, value in made.items() if key not in hidden},
        "metadata": metadata,
    }
