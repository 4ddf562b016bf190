"""Kubeconfigs that a spec brings: data about a cluster, never a program to start or a file to send.

The user's own are ``~/.kube/config`` and the files of ``KUBECONFIG``. Credential plug-ins
(``exec``, ``auth-provider``) and token files count there alone, for a kubeconfig that lies beside a
spec comes from whoever wrote the spec (docs/adr/0018). Format:
https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ....engine.model.errors import RunFailed

MOST_BYTES = 1 << 20
"""A kubeconfig with more than this is none."""

_EXECUTED = ("exec", "auth-provider")
_SENT = ("tokenFile",)


def own_kubeconfigs() -> list[str]:
    """The user's own kubeconfig files, in the order in which kubectl reads them; those that do not
    exist, too.
    """
    named = [path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    return [os.path.abspath(path) for path in named] or [str(Path("~/.kube/config").expanduser())]


def require_passive(path: str, where: str) -> None:
    """Let the user's own kubeconfig pass, and any other that starts no program and names no file to
    send; one that cannot be read is left to whoever opens it.

    Raises:
        RunFailed: the file is not the user's, and holds a user with a credential plug-in or a token
            file.
    """
    usual = str(Path("~/.kube/config").expanduser())
    if os.path.realpath(path) in map(os.path.realpath, (*own_kubeconfigs(), usual)):
        return
    for user, key in _active(_read(path, where)):
        what = (
            f"{key}, a program that would be started"
            if key in _EXECUTED
            else f"{key}, a file whose contents would be sent"
        )
        raise RunFailed(
            f"the kubeconfig {path} is not your own, and its user {user!r} has {what}",
            where=where,
            remedy=(
                "put that user into your own kubeconfig (~/.kube/config or KUBECONFIG) and name its"
                " `context` instead of `kubeconfig`"
            ),
        )


def _read(path: str, where: str) -> Any:
    import yaml

    try:
        if not os.path.isfile(path):
            if os.path.exists(path):
                raise RunFailed(f"the kubeconfig {path} is no regular file", where=where)
            return None
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    if len(data) > MOST_BYTES:
        raise RunFailed(
            f"the kubeconfig {path} is larger than {MOST_BYTES} bytes",
            where=where,
            remedy="name a kubeconfig as `kubectl config view --raw --minify` prints it",
        )
    try:
        return yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RunFailed(f"the kubeconfig {path} is not YAML: {error}", where=where) from error


def _active(document: Any) -> Iterator[tuple[str, str]]:
    """User and key of whatever would start a program or send a file."""
    users = document.get("users") if isinstance(document, dict) else None
    for entry in users if isinstance(users, list) else ():
        about = entry.get("user") if isinstance(entry, dict) else None
        for key in (*_EXECUTED, *_SENT):
            if isinstance(about, dict) and about.get(key) is not None:
                yield str(entry.get("name")), key
