from __future__ import annotations

import pytest

from benchspec.engine.model.text.image_names import (
    ImageName,
    is_pinned,
    is_stand_in,
    read_image_name,
)

DIGEST = f"sha256:{'0' * 63}a"


@pytest.mark.parametrize(
    ("image", "repository", "tag", "digest"),
    [
        ("fio", "fio", None, None),
        ("fio:3", "fio", "3", None),
        ("localhost:5000/fio", "localhost:5000/fio", None, None),
        ("localhost:5000/a/fio:3", "localhost:5000/a/fio", "3", None),
        (f"ghcr.io/a/fio@{DIGEST}", "ghcr.io/a/fio", None, DIGEST),
        (f"ghcr.io/a/fio:3@{DIGEST}", "ghcr.io/a/fio", "3", DIGEST),
    ],
)
def test_the_parts_of_a_name(
    image: str, repository: str, tag: str | None, digest: str | None
) -> None:
    assert read_image_name(image) == ImageName(repository=repository, tag=tag, digest=digest)
    assert is_pinned(image) == (digest is not None)


@pytest.mark.parametrize(
    "image",
    ["fio@sha256:0", f"fio@{DIGEST}0", f"fio@{DIGEST}\n", "fio@sha512:0", "sha256:" + "0" * 64],
)
def test_what_is_no_digest_pins_nothing(image: str) -> None:
    assert not is_pinned(image)


@pytest.mark.parametrize("image", ["registry.example/tools:1", "a.b.example:5000/x/tools"])
def test_a_registry_of_an_example_has_no_images(image: str) -> None:
    assert is_stand_in(image)


@pytest.mark.parametrize(
    "image", ["example/tools", "ghcr.io/registry.example/tools", "tools.example"]
)
def test_other_names_are_those_of_images(image: str) -> None:
    assert not is_stand_in(image)
