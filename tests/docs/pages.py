"""The Markdown pages of the repository and what they hold: links, anchors, code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = tuple(sorted([*ROOT.glob("*.md"), *ROOT.joinpath("docs").rglob("*.md")]))
_BLOCK = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_ID = re.compile(r'<a id="(?P<id>[^"]+)">')


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block: where it stands, its language and its text."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(path: Path, language: str) -> Iterator[Block]:
    text = path.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        if match["language"] == language:
            line = text.count("\n", 0, match.start()) + 1
            yield Block(
                page=str(path.relative_to(ROOT)), line=line, language=language, text=match["text"]
            )


def all_blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page, language)]


def links(path: Path) -> list[str]:
    """The targets of all links outside of code."""
    text = re.sub(r"`[^`\n]*`", "", _BLOCK.sub("", path.read_text(encoding="utf-8")))
    return [match["target"] for match in _LINK.finditer(text)]


def anchors(path: Path) -> set[str]:
    """What a link may point to in a page: ids, and headings as GitHub names them."""
    text = _BLOCK.sub("", path.read_text(encoding="utf-8"))
    slugs = (
        re.sub(r"[^\w\- ]", "", match["text"].lower()).replace(" ", "-")
        for match in _HEADING.finditer(text)
    )
    return {*slugs, *(match["id"] for match in _ID.finditer(text))}
