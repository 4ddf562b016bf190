"""Images built and pushed for real: buildah, and a registry of the test's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import benchspec
from benchspec.engine.model.errors import MissingTool, RunFailed, UsageError
from tests.cluster import registry

LACKING = [name for name in ("buildah", "go") if shutil.which(name) is None]
real = pytest.mark.skipif(bool(LACKING), reason=f"needs {', '.join(LACKING)}")
SPEC = """\
vars:
  image: registry.example/benchspec-tools:1 # yours
sites: {a: {kind: kubernetes, image: "${var:image}"}}
workloads: {one: {image: ghcr.io/other/tools:1}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a Containerfile of one layer."""
    (tmp_path / "Containerfile").write_text("FROM scratch\nCOPY a-file /a-file\n")
    (tmp_path / "a-file").write_text(str(tmp_path))
    return tmp_path


@pytest.fixture
def address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with registry.serving() as address:
        for name, value in registry.plain_http(folder, address).items():
            monkeypatch.setenv(name, value)
        yield address


@real
def test_an_image_is_built_pushed_and_named_in_a_spec_by_its_digest(
    folder: Path, address: str
) -> None:
    name, spec = f"{address}/mine/tools:1", folder / "spec.yaml"
    spec.write_text(SPEC)
    assert benchspec.images("build", name, builder="buildah", folder=folder) == name
    pushed = benchspec.images("push", name, builder="buildah", specs=[spec])
    assert pushed == f"{name}@{registry.digest_of(address, 'mine/tools', '1')}"
    assert spec.read_text() == SPEC.replace("registry.example/benchspec-tools:1", pushed)

    (folder / "a-file").write_text("another")
    benchspec.images("build", name, builder="buildah", folder=folder)
    again = benchspec.images("push", name, builder="buildah", specs=[spec])
    assert again != pushed
    assert spec.read_text() == SPEC.replace("registry.example/benchspec-tools:1", again)


@real
@pytest.mark.parametrize("status", [401, 404, 500])
def test_what_a_registry_answers_is_told_with_the_remedy(
    status: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with registry.serving(status=status) as address:
        for name, value in registry.plain_http(folder, address).items():
            monkeypatch.setenv(name, value)
        image, spec = f"{address}/tools:1", folder / "spec.yaml"
        spec.write_text(SPEC)
        benchspec.images("build", image, builder="buildah", folder=folder)
        with pytest.raises(RunFailed) as caught:
            benchspec.images("push", image, builder="buildah", specs=[spec])
    told = {401: "authentication required", 404: "404", 500: "500"}[status]
    assert told in str(caught.value)
    assert f"{address}/tools:1" in str(caught.value)
    assert "log in with `buildah login" in str(caught.value.remedy)
    assert spec.read_text() == SPEC


@real
def test_a_build_that_fails_says_why(folder: Path, address: str) -> None:
    (folder / "Containerfile").write_text("FROM scratch\nCOPY nothing /\n")
    with pytest.raises(RunFailed, match="nothing"):
        benchspec.images("build", f"{address}/tools:1", builder="buildah", folder=folder)


@pytest.mark.parametrize(
    "name", ["registry.example/tools:1", f"ghcr.io/mine/tools@sha256:{'0' * 64}"]
)
def test_names_that_nobody_can_push_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="of a registry of yours, without a digest"):
        benchspec.images("push", name)


@real
def test_a_spec_without_such_an_image_is_told_before_anything_is_pushed(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("workloads: {one: {image: ghcr.io/other/tools:1}}\n")
    with pytest.raises(UsageError, match="found no image of localhost:1/tools"):
        benchspec.images("push", "localhost:1/tools:1", builder="buildah", specs=[spec])


def test_without_a_builder_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MissingTool, match="found no buildah, podman, docker"):
        benchspec.images("build", "ghcr.io/mine/tools:1")
