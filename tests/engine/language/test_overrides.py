"""``--set``: paths, values, validation, and problems that point at the argument."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchspec.engine.language.load import check_spec, load_spec
from benchspec.engine.model.diagnostics import InvalidSpec

VALID = Path(__file__).parents[2] / "specs" / "valid"
CLUSTERS = VALID / "clusters.yaml"


def test_a_value_is_replaced_and_recorded() -> None:
    overrides = (
        "method.sessions=3",
        "targets.aks.limits[0].sustained=5 k/s",
        "targets.aks.limits[0].burst=6 k/s",
        "compare.must_match=[net.mtu]",
    )
    loaded = load_spec(CLUSTERS, overrides=(*overrides, "method.mode=smoke"))
    assert loaded.spec.method.sessions == 3
    assert loaded.spec.targets[0].limits[0].sustained == 5000.0
    assert loaded.spec.compare is not None
    assert loaded.spec.compare.must_match == ("net.mtu",)
    assert loaded.overrides == (*overrides, "method.mode=smoke")
    assert loaded.source == CLUSTERS.read_bytes()


def test_later_ones_win_and_the_file_stays_as_it_is() -> None:
    assert load_spec(CLUSTERS, overrides=("method.seed=1", "method.seed=2")).spec.method.seed == 2
    assert load_spec(CLUSTERS).spec.method.seed == 20230320


def test_sections_and_quoted_keys_are_created() -> None:
    minimal = VALID / "minimal.yaml"
    assert load_spec(minimal, overrides=("method.sessions=7",)).spec.method.sessions == 7
    target = load_spec(
        minimal, overrides=('targets.here.facts."kernel.release"="6.1"', "targets.here.title=Here")
    ).spec.targets[0]
    assert (target.claims, target.title) == ({"kernel.release": "6.1"}, "Here")
    assert load_spec(minimal, overrides=("workloads.crypto.with.seconds=2 s",)).spec.workloads[
        0
    ].parameters == {"seconds": "2 s"}


def test_variables_are_set_before_they_are_used() -> None:
    assert (
        load_spec(CLUSTERS, overrides=("vars.runtime=90 s",))
        .spec.workloads[0]
        .parameters["runtime"]
        == "90 s"
    )


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "method.sessions",
            (
                '--set 1:1:8 [BS115] $: found "method.sessions", expected PATH=VALUE such as'
                " method.sessions=3"
            ),
        ),
        ("=3", '--set 1:1:1 [BS115] $: found "=3", expected PATH=VALUE such as method.sessions=3'),
        ("", '--set 1:1:1 [BS115] $: found "", expected PATH=VALUE such as method.sessions=3'),
        (
            "a..b=3",
            '--set 1:1:3 [BS115] $: found "a..b=3", expected PATH=VALUE such as method.sessions=3',
        ),
        (
            "method.session=3",
            '--set 1:1:1 [BS101] $.method.session: found the unknown key "session", expected ',
        ),
        (
            "methd.sessions=3",
            (
                '--set 1:1:1 [BS114] $.methd: found the unknown key "methd", expected a path that'
                ' exists; did you mean "method"?'
            ),
        ),
        (
            "targets.akss.cvm=false",
            (
                '--set 1:1:1 [BS114] $.targets.akss: found the unknown key "akss", expected a path'
                ' that exists; did you mean "aks"?'
            ),
        ),
        (
            "vars.runtim=1 s",
            (
                '--set 1:1:1 [BS114] $.vars.runtim: found the unknown key "runtim", expected a path'
                ' that exists; did you mean "runtime"?'
            ),
        ),
        (
            "targets.aks.limits[9].burst=1 1/s",
            (
                "--set 1:1:1 [BS114] $.targets.aks.limits[9]: found the index 9 into a list of 3,"
                " expected an index"
            ),
        ),
        (
            "targets.aks[0]=1",
            (
                "--set 1:1:1 [BS114] $.targets.aks[0]: found the index 0 into no list, expected an"
                " index that exists"
            ),
        ),
        (
            "title.a=1",
            (
                '--set 1:1:1 [BS114] $.title.a: found the key "a" in "Confidential against managed'
                ' clusters", expected a mapping there'
            ),
        ),
        (
            "method.sessions=ten",
            (
                '--set 1:1:17 [BS103] $.method.sessions: found the text "ten", expected a whole'
                " number such as 10"
            ),
        ),
        ("method={sessions: ten}", '--set 1:1:19 [BS103] $.method.sessions: found the text "ten"'),
        (
            "method={sesions: 10}",
            '--set 1:1:9 [BS101] $.method.sesions: found the unknown key "sesions"',
        ),
        (
            "targets.aks.cloud={region: x}",
            "--set 1:1:1 [BS102] $.targets.aks.cloud: found a mapping without",
        ),
        ("targets.aks.cvm=yes", "--set 1:1:17 [BS011] $.targets.aks.cvm: found yes"),
        (
            "compare.baseline=ask",
            '--set 1:1:18 [BS201] $.compare.baseline: found the unknown target "ask"',
        ),
        (
            "method.seed=",
            "--set 1:1:1 [BS103] $.method.seed: found nothing (null), expected a whole number",
        ),
        ("method={a: 1", "--set 1:1:13 [BS008] $: found text that is no YAML"),
        ("method.seed=[" + "[" * 100, "--set 1:1:76 [BS018] $: found values nested"),
        ("title=\x07", "--set 1:1:7 [BS008] $: found the control character U+0007"),
        ("title=" + "x" * 2**20, "--set 1:1:1 [BS002] $: found 1048582 characters"),
        ("apiVersion=benchspec/v0", '--set 1:1:12 [BS108] $.apiVersion: found "benchspec/v0"'),
    ],
)
def test_a_wrong_one_is_reported_at_the_argument(override: str, message: str) -> None:
    found = check_spec(CLUSTERS, [override])
    assert str(found[-1]).startswith(message)
    assert found[-1].file == "--set 1"
    with pytest.raises(InvalidSpec):
        load_spec(CLUSTERS, overrides=[override])


def test_problems_of_the_file_come_first_and_of_the_argument_last(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(
        (VALID / "minimal.yaml").read_text(encoding="utf-8") + "mehtod: {}\n", encoding="utf-8"
    )
    found = check_spec(path, ["method.order=block", "method.trials=0"])
    assert [(d.file == str(path), d.code) for d in found] == [
        (True, "BS101"),
        (False, "BS104"),
        (False, "BS106"),
    ]
    assert [d.file for d in found[1:]] == ["--set 1", "--set 2"]


def test_a_warning_about_an_argument_cannot_be_ignored_in_the_file() -> None:
    (found,) = check_spec(
        VALID / "sites.yaml", ["sites.cluster-3={kind: local} # benchspec: ignore=BS207"]
    )
    assert (found.code, found.file) == ("BS207", "--set 1")
