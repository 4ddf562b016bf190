"""The Debian mirror is the one that apt has, in both forms in which a source can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster import containerfile

NON_FREE = Path(__file__).resolve().parent / "non-free"
LINE = "deb [trusted=yes arch=amd64]  {uri}\t{release} main contrib # ours\n"
STANZA = """# ours
Types: deb
URIs: {uri}
Suites: {release}
# and this
Components: main
 contrib
Trusted: yes
Architectures: amd64
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A mirror of Debian and one of its security updates, without packages, beside somebody else's
    of the same release.
    """
    if shutil.which("apt-get") is None:
        pytest.skip("needs apt-get")
    for folder, origin, label, release in (
        ("other", "Other", "Other", codename()),
        ("security", "Debian", "Debian-Security", f"{codename()}-security"),
        ("debian", "Debian", "Debian", codename()),
    ):
        top = tmp_path / folder / "dists" / release
        for component in ("main", "contrib", "non-free"):
            (top / component / "binary-amd64").mkdir(parents=True)
            (top / component / "binary-amd64" / "Packages").touch()
        (top / "Release").write_text(
            f"Origin: {origin}\nLabel: {label}\nSuite: {release}\nCodename: {release}\nComponents:"
            " main contrib non-free\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nArchitectures:"
            " amd64\nSHA256:\n"
        )
    return tmp_path


def codename() -> str:
    return next(
        line
        for line in Path("/etc/os-release").read_text().splitlines()
        if line.startswith("VERSION_CODENAME=")
    ).partition("=")[2]


def configured(archive: Path, monkeypatch: pytest.MonkeyPatch, **sources: str) -> None:
    """Have apt use the archive alone."""
    parts = archive / "sources.list.d"
    for folder in ("sources.list.d", "lists/partial", "cache/archives/partial"):
        (archive / folder).mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        (parts / name.replace("_", ".")).write_text(text)
    (archive / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "{parts}/"; Dir::State::lists'
        f' "{archive}/lists/"; Dir::Cache "{archive}/cache/";\nAPT::Sandbox::User "root";'
        ' APT::Architecture "amd64"; Acquire::AllowInsecureRepositories "1";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(archive / "apt.conf"))
    subprocess.run(["apt-get", "update", "-qq"], check=True, capture_output=True)


def written(form: str, archive: Path) -> str:
    """Three sources: somebody else's, Debian's security updates, Debian."""
    releases = {"other": codename(), "security": f"{codename()}-security", "debian": codename()}
    return "\n".join(
        form.format(uri=f"file:{archive}/{name}", release=release)
        for name, release in releases.items()
    )


@pytest.mark.parametrize(("name", "form"), [("our_list", LINE), ("our_sources", STANZA)])
def test_the_mirror_is_that_of_apt(
    archive: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: str
) -> None:
    configured(archive, monkeypatch, **{name: written(form, archive)})
    assert containerfile.mirrors() == (f"file:{archive}/debian", f"file:{archive}/security")


@pytest.mark.parametrize(("name", "form"), [("our_list", LINE), ("our_sources", STANZA)])
def test_the_non_free_component_comes_from_where_main_does(
    archive: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: str
) -> None:
    configured(archive, monkeypatch, **{name: written(form, archive)})
    said = subprocess.run([str(NON_FREE)], capture_output=True, text=True, check=True).stdout
    if form == LINE:
        assert (
            said == f"deb [trusted=yes arch=amd64]  file:{archive}/debian\t{codename()} non-free\n"
        )
    else:
        assert said.splitlines() == [
            "Types: deb",
            f"URIs: file:{archive}/debian",
            f"Suites: {codename()}",
            "Components: non-free",
            "Trusted: yes",
            "Architectures: amd64",
        ]
    configured(
        archive, monkeypatch, **{name.replace("our_", "more_"): said}
    )  # apt takes it beside the other, and reads the component
    shown = [
        "apt-get",
        "indextargets",
        "--format",
        "$(REPO_URI) $(COMPONENT)",
        "Created-By: Packages",
    ]
    components = subprocess.run(
        shown, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert sorted(
        line.partition(" ")[2] for line in components if f"{archive}/debian/ " in line
    ) == ["contrib", "main", "non-free"]


def test_without_a_mirror_of_debian_it_is_said(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(
        archive, monkeypatch, our_list=LINE.format(uri=f"file:{archive}/other", release=codename())
    )
    with pytest.raises(FileNotFoundError, match="apt-get update"):
        containerfile.mirrors()
    said = subprocess.run(
        [str(NON_FREE)], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert said.returncode == 1
    assert "no source of Debian's" in said.stderr
