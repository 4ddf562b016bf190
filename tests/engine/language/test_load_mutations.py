"""Two hundred seeded mutations of shipped specs, one key or value each: what is wrong is reported
on the line that was changed.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from benchspec.engine.language.load import check_spec
from benchspec.engine.language.yaml.source import read_yaml

ROOT = Path(__file__).parents[3]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
FREE = ("x-", "description", "title", "labels")


def scalars(
    node: Node, path: tuple[str, ...] = ()
) -> Iterator[tuple[ScalarNode, bool, tuple[str, ...]]]:
    """Every key and value of one line: the node, whether it is a key, and the path."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield key, True, (*path, key.value)
            yield from scalars(value, (*path, key.value))
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from scalars(item, path)
    elif isinstance(node, ScalarNode) and node.start_mark.line == node.end_mark.line:
        yield node, False, path


def slip(text: str, choose: random.Random) -> str:
    """A key with a slip of the finger in it: a letter lost, doubled or swapped."""
    at = choose.randrange(len(text))
    swapped = text[:at] + text[at + 1 : at + 2] + text[at : at + 1] + text[at + 2 :]
    return (
        choose.choice([text[:at] + text[at + 1 :], text[:at] + text[at] + text[at:], swapped])
        or "q"
    )


WRONG_VALUES = [
    "yes",
    "[]",
    "{}",
    "-1",
    '"?"',
    "3.25",
    "null",
    "0755",
    "99999999999999999999",
    '"nonsense value"',
]


def mutate(text: str, choose: random.Random) -> tuple[str, int] | None:
    """``text`` with one key or value changed, and the line of it; None where the change would leave
    the meaning valid by design.
    """
    _, root = read_yaml(text.encode(), "x").key_and_value(())
    assert root is not None
    node, is_key, _ = choose.choice(
        [found for found in scalars(root) if not any(step.startswith(FREE) for step in found[2])]
    )
    new = slip(node.value, choose) if is_key else choose.choice(WRONG_VALUES)
    if new == node.value:
        return None
    lines = text.split("\n")
    line = lines[node.start_mark.line]
    lines[node.start_mark.line] = (
        line[: node.start_mark.column] + new + line[node.end_mark.column :]
    )
    return "\n".join(lines), node.start_mark.line + 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all specs with the files they name."""
    target = tmp_path_factory.mktemp("specs")
    for source in (ROOT / "specs", ROOT / "tests" / "specs" / "valid"):
        shutil.copytree(
            source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.py")
        )
    return target


def test_mutations_are_reported_on_their_line(folder: Path) -> None:
    choose = random.Random(20230320)
    done, missed = 0, []
    while done < 200:
        original = choose.choice(SPECS)
        mutated = mutate(original.read_text(encoding="utf-8"), choose)
        if mutated is None:
            continue
        done += 1
        text, line = mutated
        path = folder / "mutated.yaml"
        path.write_text(text, encoding="utf-8")
        found = check_spec(path)
        if line not in {diagnostic.line for diagnostic in found}:
            missed.append(
                (
                    original.name,
                    line,
                    text.split("\n")[line - 1].strip(),
                    [str(d).split("\n")[0] for d in found],
                )
            )
    assert len(missed) <= 20, missed


REQUIRED = [
    ("clusters", "name: clusters\n", "# yaml"),
    ("clusters", "title: Confidential against managed clusters\n", "# yaml"),
    ("clusters", "    tool: iperf3\n", "  network:"),
    (
        "clusters",
        'runner: {kind: kubernetes, context: constellation, image: "${var:registry}/tools:1"}',
        "  constellation:",
    ),
    ("clusters", "baseline: aks, ", "compare:"),
    ("clusters", ", max_sessions: 30", "method:"),
    ("sites", "{name: peer, site", "        - {site: cluster-2"),
    ("hosts", "host: 10.0.0.4, ", "        client:"),
]


@pytest.mark.parametrize(
    ("spec", "removed", "holder"), REQUIRED, ids=[removed.strip() for _, removed, _ in REQUIRED]
)
def test_a_removed_key_is_reported_at_what_lacks_it(
    spec: str, removed: str, holder: str, folder: Path
) -> None:
    """At the key that holds the mapping, at the item of a list, or at the first key of the
    document.
    """
    original = (ROOT / "tests" / "specs" / "valid" / f"{spec}.yaml").read_text(encoding="utf-8")
    assert removed in original
    text = original.replace(removed, "{site" if removed.startswith("{name") else "", 1)
    path = folder / "removed.yaml"
    path.write_text(text, encoding="utf-8")
    lines = text.split("\n")
    line = (
        lines.index("apiVersion: benchspec/v1")
        if holder == "# yaml"
        else next(i for i, found in enumerate(lines) if found.startswith(holder))
    )
    assert [found.line for found in check_spec(path) if found.code in ("BS102", "BS113")] == [
        line + 1
    ]
