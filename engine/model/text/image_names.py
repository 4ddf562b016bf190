"""The names of container images: registry, repository, tag and digest.

Format: https://github.com/distribution/reference. The first part is a registry if it has a dot or a
colon or is ``localhost``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageName:
    """An image's name in its parts. ``repository`` holds the registry, as it was written."""

    repository: str
    tag: str | None
    digest: str | None


def read_image_name(image: str) -> ImageName:
    """The parts of an image's name."""
    name, _, digest = image.partition("@")
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:  # the colon of a registry's port
        head, tag = name, ""
    return ImageName(repository=head, tag=tag or None, digest=digest or None)


def is_pinned(image: str) -> bool:
    """Whether an image's name holds the digest of its content."""
    return _DIGEST.fullmatch(read_image_name(image).digest or "") is not None


def is_stand_in(image: str) -> bool:
    """Whether an image's registry is one of an example, which belongs to nobody: its name ends in
    ``.example`` (https://www.rfc-editor.org/rfc/rfc2606#section-2).
    """
    registry, slash, _ = image.partition("/")
    return bool(slash) and registry.partition(":")[0].endswith(".example")
