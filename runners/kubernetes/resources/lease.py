"""Who may use a site's nodes: a Lease per namespace and choice of nodes, held by a run and renewed
while its controller lives.

A run whose controller died keeps it as long as pods of it are there: they may still be measuring.
Sites of a run that use the same nodes share one: each is noted in it, and the last one that is
closed removes it. Format: coordination.k8s.io/v1 Lease.
"""

from __future__ import annotations

import datetime
import getpass
import os
import socket
import threading
from contextlib import suppress

from ....engine.model.errors import BenchspecError, Locked
from ..client.api import Api
from ..failures import Exists, NotThere
from ..names import GROUP, MANAGED_BY, RUN, Object, Ownership, digest, label_value
from ..options import Options

COORDINATION = "coordination.k8s.io/v1"
DURATION_S, RENEW_EVERY_S = 60, 20.0
_TRIES = 20
"""More often no other site of the run comes first: fewer are connected at once."""

_OWNER, _SITE = f"{GROUP}/owner", f"{GROUP}/site."
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class Lease:
    """The lock of one site, held by one run. Several sites of a run may hold the same one, until
    the last of them gives it back.
    """

    def __init__(self, api: Api, options: Options, ownership: Ownership) -> None:
        self._api, self._ownership = api, ownership
        nodes = [
            sorted(options.common.node_selector.items()),
            sorted(
                (r, o.node or "", sorted(o.node_selector.items())) for r, o in options.roles.items()
            ),
        ]
        self._name = f"benchspec-{digest(repr(nodes))}"
        self._path = api.namespaced("leases", self._name, COORDINATION)
        self._owner = f"{getpass.getuser()}@{socket.gethostname()} (pid {os.getpid()})"
        self._note = f"{_SITE}{digest(ownership.site)}"
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self) -> None:
        """Take it and go on renewing it. Raises Locked naming the owner."""
        for _ in range(_TRIES):
            if self._try():
                self._thread = threading.Thread(
                    target=self._renew, name="benchspec-lease", daemon=True
                )
                self._thread.start()
                return
        raise Locked(
            "its lease changes hands all the time",
            where=self._api.where,
            remedy="try again in a minute",
        )

    def _try(self) -> bool:
        try:
            self._api.create(self._api.namespaced("leases", group=COORDINATION), self._body())
            return True
        except Exists:
            pass
        try:
            found = self._api.get(self._path)
        except NotThere:
            return False
        if found["spec"].get("holderIdentity") != self._ownership.run_id:
            self._refuse_if_held(found)
        try:
            self._api.request("PUT", self._path, body=self._body(found))
            return True
        except (Exists, NotThere):
            return False

    def _body(self, found: Object | None = None) -> Object:
        """The lease as this site takes it: a new one, or the one that was ``found``."""
        now = datetime.datetime.now(datetime.UTC).strftime(_TIME)
        labels = {**MANAGED_BY, RUN: label_value(self._ownership.run_id)}
        notes = {} if found is None else self._others(found)
        version = {} if found is None else {"resourceVersion": found["metadata"]["resourceVersion"]}
        return {
            "apiVersion": COORDINATION,
            "kind": "Lease",
            "metadata": {
                "name": self._name,
                "labels": labels,
                "annotations": {_OWNER: self._owner, self._note: self._owner, **notes},
                **version,
            },
            "spec": {
                "holderIdentity": self._ownership.run_id,
                "leaseDurationSeconds": DURATION_S,
                "acquireTime": now,
                "renewTime": now,
            },
        }

    def _others(self, found: Object) -> dict[str, str]:
        """The notes of other sites that hold it for this run and controller; those of a controller
        before do not count.
        """
        ours = found["spec"].get("holderIdentity") == self._ownership.run_id
        noted = (found["metadata"].get("annotations") or {}) if ours else {}
        return {
            key: by
            for key, by in noted.items()
            if key.startswith(_SITE) and key != self._note and by == self._owner
        }

    def _refuse_if_held(self, found: Object) -> None:
        spec = found["spec"]
        holder, owner = (
            spec.get("holderIdentity"),
            found["metadata"].get("annotations", {}).get(_OWNER, "somebody"),
        )
        renewed = datetime.datetime.strptime(spec["renewTime"], _TIME).replace(tzinfo=datetime.UTC)
        age_s = (datetime.datetime.now(datetime.UTC) - renewed).total_seconds()
        if age_s < spec["leaseDurationSeconds"]:
            raise Locked(
                f"run {holder} of {owner} uses its nodes (lease {self._name} in namespace"
                f" {self._api.namespace})",
                where=self._api.where,
                remedy="wait for it, or use other nodes (`node_selector`)",
            )
        if self._api.items(
            self._api.namespaced("pods"), labelSelector=f"{RUN}={label_value(str(holder))}"
        ):
            raise Locked(
                f"run {holder} of {owner} is gone, but its pods are there and may be measuring",
                where=self._api.where,
                remedy=f"resume that run, or remove them: benchspec clean {holder}",
            )

    def _renew(self) -> None:
        while not self._over.wait(RENEW_EVERY_S):
            # a failed renewal is repeated: only a pod of another run would matter, and the
            # scheduler keeps those off our nodes
            with suppress(BenchspecError):
                if not self._renew_once():
                    return

    def _renew_once(self) -> bool:
        """False when another run has taken it, from a controller that was stopped for so long.
        Raises Exists when it has just changed.
        """
        try:
            found = self._api.get(self._path)
        except NotThere:
            self._api.create(self._api.namespaced("leases", group=COORDINATION), self._body())
            return True
        if found["spec"].get("holderIdentity") != self._ownership.run_id:
            return False
        now = datetime.datetime.now(datetime.UTC).strftime(_TIME)
        metadata = {
            "resourceVersion": found["metadata"]["resourceVersion"],
            "annotations": {self._note: self._owner},
        }
        self._api.patch(self._path, {"metadata": metadata, "spec": {"renewTime": now}})
        return True

    def give_back(self) -> None:
        """Stop renewing it, and remove it unless another site of the run holds it, too
        (idempotent).
        """
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with suppress(NotThere):
            for _ in range(_TRIES):
                found = self._api.get(self._path)
                if found["spec"].get("holderIdentity") != self._ownership.run_id:
                    return
                with suppress(
                    Exists
                ):  # another site has renewed it or given it back meanwhile: look again
                    self._leave(found)
                    return

    def _leave(self, found: Object) -> None:
        """Take this site out of the lease that was ``found``. Raises Exists when it has changed
        since, NotThere when it is gone.
        """
        if not self._others(found):
            self._api.delete_unchanged(self._path, found)
        elif self._note in found["metadata"]["annotations"]:
            version = found["metadata"]["resourceVersion"]
            self._api.patch(
                self._path,
                {"metadata": {"resourceVersion": version, "annotations": {self._note: None}}},
            )
