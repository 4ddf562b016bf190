"""Secret references: resolved when a command is started, never stored. Their values are blotted out
of every byte that is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from .errors import RunFailed, Unsupported
from .spec import Json, SecretKind, SecretReference

Keeper = Callable[[str], str]
"""Reads a secret that a cluster keeps: ``NAMESPACE/NAME/KEY`` to its value. Raises RunFailed."""

REFERENCE = re.compile(r"\$\{secret:(?P<kind>[a-z]+):(?P<name>[^}]+)\}")
MINIMUM_LENGTH = 4
"""Shorter values are not blotted out: they would erase figures."""

TOKENS = re.compile(
    r"""
      \bgh[pousr]_[A-Za-z0-9]{20,}            # GitHub
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{20,}              # GitLab
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b           # AWS access key
    | \bAIza[A-Za-z0-9_-]{35}                 # Google API key
    | \bxox[abprs]-[A-Za-z0-9-]{10,}          # Slack
    | \bsk-[A-Za-z0-9_-]{20,}                 # OpenAI, Stripe and others
    | \bsk_live_[A-Za-z0-9]{16,}
    | \bhv[sbr]\.[A-Za-z0-9_-]{20,}           # Vault
    | \bdckr_pat_[A-Za-z0-9_-]{20,}           # Docker
    | \bnpm_[A-Za-z0-9]{30,}
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.  # JSON web token
    | -----BEGIN[A-Z ]{0,20}PRIVATE[ ]KEY-----
    | \bAccountKey=[A-Za-z0-9+/]{40,}         # Azure storage
    """,
    re.VERBOSE | re.ASCII,
)
"""The forms of well-known tokens and keys, from their issuers' documentation."""


def parse_reference(text: str) -> SecretReference | None:
    """The reference that ``text`` consists of, or None."""
    match = REFERENCE.fullmatch(text)
    if match is None or match["kind"] not in set(SecretKind):
        return None
    return SecretReference(kind=SecretKind(match["kind"]), name=match["name"])


def resolve(reference: SecretReference, keeper: Keeper | None = None) -> str:
    """Read the secret now, one of a cluster from ``keeper``.

    Raises:
        RunFailed: it is not there.
        Unsupported: a cluster keeps it, and there is no ``keeper``.
    """
    remedy = f"provide it, or change the reference ${{secret:{reference.kind}:{reference.name}}}"
    if reference.kind is SecretKind.ENV:
        value = os.environ.get(reference.name)
        if value is None:
            raise RunFailed(
                f"the environment has no {reference.name}, which the spec takes a secret from",
                remedy=remedy,
            )
        return value
    if reference.kind is SecretKind.FILE:
        try:
            return Path(reference.name).read_text(encoding="utf-8").rstrip("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise RunFailed(
                f"cannot read the secret file {reference.name}: {error}", remedy=remedy
            ) from error
    if keeper is None:
        raise Unsupported(
            f"the secret {reference.name} of a cluster is needed where there is none: only roles on"
            " clusters have it",
            remedy=remedy,
        )
    return keeper(reference.name)


def split_environment(
    env: Mapping[str, str], keeper: Keeper | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Separate ``env`` into plain values and resolved secrets. Raises RunFailed."""
    plain: dict[str, str] = {}
    secret: dict[str, str] = {}
    for name, text in env.items():
        reference = parse_reference(text)
        if reference is None:
            plain[name] = text
        else:
            secret[name] = resolve(reference, keeper)
    return plain, secret


def resolve_all(value: Json, keeper: Keeper | None = None) -> frozenset[str]:
    """The secrets that a workload's parameters refer to, anywhere in ``value``.

    Raises:
        RunFailed: one of them is not there, or stands within a longer text, where nothing would put
            its value.
        Unsupported: a cluster keeps one, and there is no ``keeper``.
    """
    if isinstance(value, str):
        return _resolve_text(value, keeper)
    items = (
        value.values()
        if isinstance(value, Mapping)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    return frozenset[str]().union(*(resolve_all(item, keeper) for item in items))


def _resolve_text(text: str, keeper: Keeper | None) -> frozenset[str]:
    reference = parse_reference(text)
    if reference is not None:
        return frozenset({resolve(reference, keeper)})
    if (found := REFERENCE.search(text)) is not None:
        raise RunFailed(
            f"found {found[0]} within a longer text, expected it to be the whole value",
            remedy="put the whole value into the secret",
        )
    return frozenset()


def redact(data: bytes, values: Iterable[str]) -> bytes:
    """``data`` with every occurrence of a secret value replaced."""
    for value in sorted(
        values, key=len, reverse=True
    ):  # one may be the beginning of another, whose rest would stay
        if len(value) >= MINIMUM_LENGTH:
            data = data.replace(value.encode(), b"[redacted]")
    return data
