"""The Kubernetes API of one site: requests, watches and logs as JSON, over the kubernetes client's
connection, credentials and TLS.

Paths: https://kubernetes.io/docs/reference/using-api/api-concepts/. Objects are plain mappings:
what the server sends is what we read.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

import urllib3
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException

from ....engine.model.errors import RunFailed
from ..failures import Gone, NotThere, Refused, Unreachable, refusal
from ..names import Object
from ..options import Options
from .kubeconfig import require_passive

if TYPE_CHECKING:
    from urllib3.response import BaseHTTPResponse

RETRY_S = 60.0
"""So long a request is tried again while the API server does not answer: a restarted one needs some
seconds.
"""

_CONNECT_S, _READ_S = 5.0, 30.0
_TRANSIENT = frozenset({429, 500, 502, 503, 504})
_PAUSES_S = (0.1, 5.0)
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


class Api:
    """One cluster, as one user, seen from one namespace."""

    def __init__(self, options: Options, where: str) -> None:
        self.where = where
        self.namespace = options.namespace
        self.configuration = _configuration(options, where)
        # as many connections as threads of ours may wait at once
        self.configuration.connection_pool_maxsize = 32
        self._pool = client.ApiClient(self.configuration).rest_client.pool_manager
        self._auth = threading.Lock()

    def headers(self) -> dict[str, str]:
        """What proves who we are; a token that expires is renewed by the client's hook."""
        with self._auth:
            names = (
                "authorization",
                "BearerToken",
            )  # the first is what kubeconfigs give, under which name the client's versions differ
            token = next(
                (
                    found
                    for name in names
                    if (found := self.configuration.get_api_key_with_prefix(name))
                ),
                None,
            )
        if token:
            return {"authorization": token}
        if self.configuration.username:
            return {"authorization": cast(str, self.configuration.get_basic_auth_token())}
        return {}

    def namespaced(self, resource: str, name: str = "", group: str = "") -> str:
        """The path of a resource in the namespace: ``pods``, or ``jobs`` of group ``batch/v1``."""
        start = f"/apis/{group}" if group else "/api/v1"
        return f"{start}/namespaces/{self.namespace}/{resource}" + (f"/{name}" if name else "")

    def get(self, path: str, **query: str | int) -> Object:
        """Read an object or list."""
        return self.request("GET", path, query=query)

    def items(self, path: str, **query: str | int) -> list[Object]:
        """The objects of a list."""
        return cast("list[Object]", self.get(path, **query).get("items") or [])

    def create(self, path: str, body: Object) -> Object:
        """Create an object. Raises Exists when one of that name is there."""
        return self.request("POST", path, body=body)

    def patch(self, path: str, body: Object, kind: str = MERGE) -> Object:
        """Change an object."""
        return self.request("PATCH", path, body=body, content_type=kind)

    def delete(
        self, path: str, *, grace_s: int | None = None, propagation: str = "Background"
    ) -> None:
        """Ask for an object's removal; harmless when it is gone."""
        body: Object = {"propagationPolicy": propagation}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        try:
            self.request("DELETE", path, body=body)
        except Refused as error:
            if error.status not in (404, 409):
                raise

    def delete_unchanged(self, path: str, found: Object) -> None:
        """Ask for the removal of this very object, as it was found. Raises NotThere; Exists when it
        was changed, or is another one of that name.
        """
        metadata = found["metadata"]
        only = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        self.request(
            "DELETE", path, body={"propagationPolicy": "Background", "preconditions": only}
        )

    def await_gone(self, path: str, timeout_s: float, uid: str | None = None) -> bool:
        """Whether the object at ``path``, the one with that ``uid`` if it is given, is gone within
        that time.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                found = self.get(path)
            except NotThere:
                return True
            if uid is not None and found["metadata"]["uid"] != uid:
                return True
            time.sleep(0.2)
        return False

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        query: Mapping[str, str | int] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """One request, tried again while the server does not answer or says to come later.

        Raises:
            Refused: the server says no.
            Unreachable: it does not answer for :data:`RETRY_S`.
        """
        deadline, pause_s = time.monotonic() + RETRY_S, _PAUSES_S[0]
        data = None if body is None else json.dumps(body).encode()
        while True:
            problem: str
            try:
                with self._open(method, path, query, data, content_type, _READ_S) as response:
                    found = response.read(decode_content=True)
                    if response.status < 300:
                        return cast(Object, json.loads(found)) if found else {}
                    error = refusal(response.status, found, f"{method.lower()} {path}", self.where)
                    if response.status not in _TRANSIENT or "exceeded quota" in error.message:
                        raise error
                    problem = error.message
            except (urllib3.exceptions.HTTPError, OSError) as broken:
                problem = str(broken)
            if time.monotonic() > deadline:
                raise Unreachable(
                    f"the API server does not answer: {problem}",
                    where=self.where,
                    remedy="see whether it runs and can be reached from here",
                )
            time.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(2 * pause_s, _PAUSES_S[1])

    def stream(self, path: str, read_timeout_s: float, **query: str | int) -> Iterator[bytes]:
        """The lines of an answer that goes on: a watch, or a log that is followed. Ends when the
        server ends it.

        Raises:
            Refused, urllib3.exceptions.HTTPError, OSError: it cannot be opened, or broke.
        """
        with self._open("GET", path, query, None, "", read_timeout_s) as response:
            if response.status >= 300:
                raise refusal(response.status, response.read(), f"watch {path}", self.where)
            rest = b""
            for chunk in response.stream(1 << 16, decode_content=False):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from lines

    def watch(
        self, path: str, deadline: float, *, since: str = "", **query: str | int
    ) -> Iterator[Object]:
        """The objects of a list, first as they are, then each as it changes, until ``deadline``
        (monotonic s). A deleted one has ``_deleted``.

        ``since`` is the resourceVersion of a list that was had already: only what changed after it
        is told. Goes on where it was when the stream ends, and lists again when the server has
        forgotten that place (410).
        """
        version = since
        while (left := deadline - time.monotonic()) > 0:
            if not version:
                listed = self.get(path, **query)
                version = listed["metadata"]["resourceVersion"]
                yield from listed.get("items") or []
            try:
                wait_s = max(1, min(300, int(left) + 1))
                for line in self.stream(
                    path,
                    wait_s + 5,
                    **query,
                    watch="true",
                    resourceVersion=version,
                    timeoutSeconds=wait_s,
                ):
                    event = cast(Object, json.loads(line))
                    if event["type"] == "ERROR":  # 410 as a rule
                        version = ""
                        time.sleep(0.2)
                        break
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield {**event["object"], "_deleted": event["type"] == "DELETED"}
                    if time.monotonic() > deadline:
                        return
            except (Gone, json.JSONDecodeError):
                version = ""
            except (urllib3.exceptions.HTTPError, OSError):
                time.sleep(0.2)

    @contextmanager
    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        data: bytes | None,
        content_type: str,
        read_timeout_s: float,
    ) -> Iterator[BaseHTTPResponse]:
        url = f"{self.configuration.host.rstrip('/')}{path}" + (
            f"?{urlencode(query)}" if query else ""
        )
        headers = {
            "accept": "application/json",
            **({"content-type": content_type} if data is not None else {}),
            **self.headers(),
        }
        timeout = urllib3.Timeout(connect=_CONNECT_S, read=read_timeout_s)
        response = self._pool.request(
            method,
            url,
            body=data,
            headers=headers,
            timeout=timeout,
            retries=False,
            preload_content=False,
        )
        try:
            yield response
        finally:
            response.close()  # one that was read to its end has given its connection back already


def _configuration(options: Options, where: str) -> Any:
    """The client's configuration: what the site names, else the usual kubeconfig, else the service
    account of the pod we run in.
    """
    found = client.Configuration()
    if options.kubeconfig:
        require_passive(options.kubeconfig, where)
    try:
        try:
            config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=options.kubeconfig, context=options.context, client_configuration=found
            )
        except ConfigException:
            if options.kubeconfig or options.context:
                raise
            config.load_incluster_config(  # type: ignore[no-untyped-call]
                client_configuration=found
            )
    except (ConfigException, OSError, TypeError, KeyError) as error:
        asked = " ".join(
            f"{name} {value}"
            for name, value in (("context", options.context), ("kubeconfig", options.kubeconfig))
            if value
        )
        raise RunFailed(
            f"no cluster can be found with {asked or 'the usual kubeconfig'}: {error}",
            where=where,
            remedy=(
                "correct `context` or `kubeconfig` of the site; `kubectl config get-contexts` lists"
                " what there is"
            ),
        ) from error
    return found
