"""Secrets that a cluster keeps: ``NAMESPACE/NAME/KEY`` of a reference, read through the API when a
program needs the value.
"""

from __future__ import annotations

import base64
import binascii
import re

from ....engine.model.errors import RunFailed
from ..client.api import Api
from ..failures import NotThere

# names of namespaces and Secrets, and of keys:
# https://kubernetes.io/docs/concepts/configuration/secret/
_NAME = re.compile(
    r"([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)/([A-Za-z0-9._-]+)"
)


def read_secret(api: Api, name: str) -> str:
    """The value, without the newline at its end. Raises RunFailed: there is no such Secret or key,
    it is no text, or the right is missing.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise RunFailed(f"found the secret {name!r}, expected NAMESPACE/NAME/KEY", where=api.where)
    namespace, secret, key = match.groups()
    remedy = f"make it, or change the reference ${{secret:kubernetes:{name}}}"
    try:
        data = api.get(f"/api/v1/namespaces/{namespace}/secrets/{secret}").get("data") or {}
    except NotThere as error:
        raise RunFailed(
            f"there is no Secret {secret} in namespace {namespace}", where=api.where, remedy=remedy
        ) from error
    if key not in data:
        found = ", ".join(sorted(data)) or "none"
        raise RunFailed(
            f"Secret {secret} in namespace {namespace} has no key {key}, only {found}",
            where=api.where,
            remedy=remedy,
        )
    try:
        return base64.b64decode(data[key], validate=True).decode("utf-8").rstrip("\n")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise RunFailed(
            f"key {key} of Secret {secret} in namespace {namespace} holds no text",
            where=api.where,
            remedy=remedy,
        ) from error
