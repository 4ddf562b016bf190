"""Secrets: resolved late, blotted out everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchspec.engine.model.errors import RunFailed, Unsupported
from benchspec.engine.model.secrets import (
    parse_reference,
    redact,
    resolve,
    resolve_all,
    split_environment,
)
from benchspec.engine.model.spec import SecretKind, SecretReference


def test_a_reference_is_recognised_as_a_whole_value_only() -> None:
    assert parse_reference("${secret:env:TOKEN}") == SecretReference(
        kind=SecretKind.ENV, name="TOKEN"
    )
    for text in ("TOKEN", "x${secret:env:TOKEN}", "${secret:vault:x}", "${secret:env:}"):
        assert parse_reference(text) is None


def test_an_environment_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter22")
    assert split_environment({"A": "1", "B": "${secret:env:TOKEN}"}) == (
        {"A": "1"},
        {"B": "hunter22"},
    )


def test_a_file_is_read_without_its_last_newline(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    assert resolve(SecretReference(kind=SecretKind.FILE, name=str(tmp_path / "token"))) == "abc"


def test_a_missing_secret_names_itself_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    with pytest.raises(RunFailed, match="NO_SUCH_TOKEN"):
        resolve(SecretReference(kind=SecretKind.ENV, name="NO_SUCH_TOKEN"))
    with pytest.raises(RunFailed, match="cannot read the secret file"):
        resolve(SecretReference(kind=SecretKind.FILE, name=str(tmp_path / "none")))
    with pytest.raises(Unsupported):
        resolve(SecretReference(kind=SecretKind.KUBERNETES, name="a/b/c"))


def test_a_cluster_s_secret_comes_from_its_keeper() -> None:
    kept = {"a/b/c": "hunter22"}
    text = "${secret:kubernetes:a/b/c}"
    assert split_environment({"A": "1", "B": text}, kept.__getitem__) == (
        {"A": "1"},
        {"B": "hunter22"},
    )
    assert resolve_all({"env": {"B": text}, "list": [text, "plain"]}, kept.__getitem__) == {
        "hunter22"
    }
    with pytest.raises(Unsupported, match="a/b/c"):
        resolve_all([text])


def test_values_are_blotted_out_unless_they_are_too_short_to_tell() -> None:
    assert redact(b"token=hunter22 x=1", ["hunter22", "1"]) == b"token=[redacted] x=1"
