"""Pages for documentation sites (MkDocs, Docusaurus): front matter, generated regions between
markers, and the check that they are still true.

A region is everything between two comment lines. The first line is its stamp: run, sha256 of the
spec, version, date, and sha256 of the region's text. What stands outside of the markers is the
author's and is never touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from hashlib import sha256

from ...engine.analysis.model import Analysis
from ...engine.model.errors import SpecError, UsageError
from ...engine.model.results import RunData
from ..page.model import View
from ..page.view import build_view
from ..wording.values import cut
from . import markdown

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_REGION = re.compile(
    r"<!-- benchspec:begin (?P<stamp>[^\n]*?) -->\n(?P<body>.*?)<!--"
    r" benchspec:end(?P<end>[^\n]*?) -->",
    re.DOTALL,
)
_MARK = re.compile(r"<!-- benchspec:(begin|end)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a region says of itself. ``digest`` is the sha256 of its text as it was generated."""

    id: str
    run: str
    spec: str
    version: str
    date: str
    digest: str

    def __str__(self) -> str:
        return (
            f"id={self.id} run={self.run} spec={self.spec} version={self.version} date={self.date}"
            f" sha256={self.digest}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """One reason why a region cannot be trusted any more: the line of its marker and what is
    wrong.
    """

    line: int
    region: str
    reason: str


def render_docs(run: RunData, analysis: Analysis, name: str) -> Mapping[str, bytes]:
    """``NAME.md`` with front matter and one region that holds the whole page, and its figures in
    ``figures/NAME/``.

    Raises:
        UsageError: ``name`` is not made of lower-case letters, digits and dashes.
    """
    view = build_view(run, analysis)
    text = front_matter(view) + make_region(view, name, _page(view, name))
    return {f"{name}.md": text.encode(), **_figures(view, name)}


def update_docs(
    page: str, run: RunData, analysis: Analysis, name: str
) -> tuple[str, Mapping[str, bytes]]:
    """``page`` with the text of its region ``name`` replaced and everything else as it is, and the
    figures in ``figures/NAME/``.

    Raises:
        UsageError: the name is not usable, or the page has no such region.
        SpecError: the page's markers do not pair up.
    """
    view = build_view(run, analysis)
    region = make_region(view, name, _page(view, name)).rstrip("\n")
    found = [match for match in find_regions(page) if stamp_in(match)["id"] == name]
    if len(found) != 1:
        remedy = (
            f"put `<!-- benchspec:begin id={name} -->` and `<!-- benchspec:end id={name} -->` on"
            " two lines of their own"
        )
        raise UsageError(f"found {len(found)} regions called {name!r}, expected 1", remedy=remedy)
    start, end = found[0].span()
    return page[:start] + region + page[end:], _figures(view, name)


def front_matter(view: View) -> str:
    """YAML that MkDocs and Docusaurus read. Strings are JSON strings in ASCII, which YAML reads as
    such.
    """
    about = cut(view.description[0] if view.description else view.title, 160)
    return f"---\ntitle: {json.dumps(cut(view.title))}\ndescription: {json.dumps(about)}\n---\n\n"


def make_region(view: View, name: str, body: str) -> str:
    """``body`` between markers with its stamp.

    Raises:
        UsageError: ``name`` is not usable.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"found region name {name!r}", remedy="use lower-case letters, digits and dashes"
        )
    body = body.strip("\n") + "\n"
    stamp = Stamp(
        id=name,
        run=_word(view.run_id),
        spec=_word(view.spec_sha256),
        version=_word(view.version),
        date=_word(view.date),
        digest=_digest(body),
    )
    return f"<!-- benchspec:begin {stamp} -->\n{body}<!-- benchspec:end id={name} -->\n"


def find_regions(page: str) -> list[re.Match[str]]:
    """Every region of ``page``, in order.

    Raises:
        SpecError: a marker is alone, or two regions overlap; with its line.
    """
    found = list(_REGION.finditer(page))
    inside = {match.start() for match in found} | {match.end("body") for match in found}
    for mark in _MARK.finditer(page):
        if mark.start() not in inside:
            raise SpecError(
                "a benchspec marker has no partner",
                where=f"line {_line(page, mark.start())}",
                remedy="restore the other marker",
            )
    for match in found:
        end = dict(_pairs(match["end"])).get("id")
        if end is not None and end != stamp_in(match).get("id"):
            raise SpecError(
                f"region {stamp_in(match).get('id')!r} ends as {end!r}",
                where=f"line {_line(page, match.start())}",
            )
    return found


def stamp_in(region: re.Match[str]) -> Mapping[str, str]:
    """The fields of a region's first line; only ``id`` before it was ever filled."""
    return {"id": "", **dict(_pairs(region["stamp"]))}


def check_page(
    page: str,
    *,
    spec_sha256: str | None = None,
    version: str | None = None,
    today: date | None = None,
    max_age_days: int | None = None,
) -> tuple[Stale, ...]:
    """Why the regions of ``page`` are stale; empty when all are as they were generated and what is
    asked for still holds.

    ``today`` comes from the caller: nothing here looks at a clock.

    Raises:
        SpecError: the markers do not pair up.
    """
    problems = []
    for match in find_regions(page):
        stamp = stamp_in(match)
        for reason in _reasons(stamp, match["body"], spec_sha256, version, today, max_age_days):
            problems.append(
                Stale(line=_line(page, match.start()), region=stamp["id"], reason=reason)
            )
    return tuple(problems)


def _reasons(
    stamp: Mapping[str, str],
    body: str,
    spec_sha256: str | None,
    version: str | None,
    today: date | None,
    max_age_days: int | None,
) -> Iterator[str]:
    if "sha256" not in stamp:
        yield "was never filled"
        return
    if _digest(body) != stamp["sha256"]:
        yield "was edited by hand"
    if spec_sha256 is not None and stamp.get("spec") != spec_sha256:
        yield "was made from another version of the spec"
    if version is not None and stamp.get("version") != version:
        yield f"was made by benchspec {stamp.get('version')}, this is {version}"
    if today is not None and max_age_days is not None:
        yield from _age(stamp.get("date", ""), today, max_age_days)


def _age(day: str, today: date, max_age_days: int) -> Iterator[str]:
    try:
        age = (today - date.fromisoformat(day)).days
    except ValueError:
        yield f"has no date that can be read ({day!r})"
        return
    if age > max_age_days:
        yield f"was measured {age} days ago, at most {max_age_days} are allowed"


def _page(view: View, name: str) -> str:
    return markdown.render_page(view, folder=f"figures/{name}").decode()


def _figures(view: View, name: str) -> Mapping[str, bytes]:
    return {f"figures/{name}/{figure.name}.svg": figure.svg for figure in view.figures}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for word in text.split():
        key, equals, value = word.partition("=")
        if equals:
            yield key, value


def _word(text: str) -> str:
    """``text`` as one word that cannot end a comment."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._:-]+", "-", text)).strip("-") or "unknown"


def _digest(body: str) -> str:
    return sha256(body.encode()).hexdigest()


def _line(page: str, position: int) -> int:
    return page.count("\n", 0, position) + 1
