from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.analysis.model import Interval, Summary
from benchspec.reports.figures.curves import draw_distribution, draw_sessions
from benchspec.reports.figures.figures import Figure, Group, Plotted, Reference, colour_of
from benchspec.reports.figures.ratios import RatioRow, draw_ratios
from benchspec.reports.figures.rows import LEFT, RIGHT, draw_bars, draw_boxes
from benchspec.reports.figures.svg import (
    PALETTE,
    WIDTH,
    clean,
    escape,
    fit,
    make_axis,
    px,
    text_width,
)
from benchspec.reports.wording.numbers import Percent, Scale
from benchspec.reports.wording.verdict_words import Tone
from tests.reports.hostile_run import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
GBIT = Scale(factor=1e9, unit="Gbit/s")


def summary(centre: float = 1e9, *, sessions: int = 10, outliers: tuple[int, ...] = ()) -> Summary:
    values = tuple(centre * (1 + 0.01 * (index - sessions / 2)) for index in range(sessions))
    return Summary(
        sessions=tuple(range(1, sessions + 1)),
        values=values,
        trials=3 * sessions,
        centre=centre,
        mean=centre,
        median=centre,
        sd=0.03 * centre,
        cov=0.03,
        minimum=min(values),
        maximum=max(values),
        q1=values[sessions // 4],
        q3=values[(3 * sessions) // 4],
        interval=Interval(low=0.98 * centre, high=1.02 * centre, confidence=0.95, method="t"),
        outliers=outliers,
    )


def row(
    label: str = "aks", colour: int = 0, found: Summary | None = None, absent: str = ""
) -> Plotted:
    return Plotted(label=label, colour=colour, summary=found, absent=absent)


ROWS = (
    row("aks", 0, summary()),
    row("c11n", 1, summary(0.89e9, outliers=(1,))),
    row("gke", 2, None, "not measured (placement)"),
)
DRAWINGS: dict[str, Callable[[tuple[Plotted, ...], Reference | None], Figure]] = {
    "bars": lambda rows, limit: draw_bars(
        "bars",
        "Throughput",
        [Group(label="pod", rows=rows), Group(label="", rows=rows)],
        GBIT,
        limit,
    ),
    "boxes": lambda rows, limit: draw_boxes("boxes", "Throughput", rows, GBIT, limit),
    "sessions": lambda rows, limit: draw_sessions("sessions", "Throughput", rows, GBIT, limit),
    "distribution": lambda rows, _: draw_distribution("ecdf", "Throughput", rows, GBIT),
    "ratios": lambda rows, _: draw_ratios(
        "ratios",
        "Difference",
        "against aks",
        [
            RatioRow(
                label=r.label, percent=Percent.of(0.9, 0.8, 0.95), words="lower", tone=Tone.WORSE
            )
            for r in rows
        ],
        0.02,
    ),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_xml_with_a_title_a_description_and_nothing_from_outside(name: str) -> None:
    figure = DRAWINGS[name](ROWS, Reference(value=1.25e9, label="documented limit 1.25 Gbit/s"))
    root = ElementTree.fromstring(figure.svg)
    assert root.attrib["role"] == "img"
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert title.text == figure.title
    assert description.text == figure.description
    assert root.attrib["aria-labelledby"] == f"{title.attrib['id']} {description.attrib['id']}"
    for element in root.iter():
        assert not {"href", "style", "class"} & set(element.attrib)
        assert element.tag.removeprefix(SVG) in {
            "svg",
            "title",
            "desc",
            "rect",
            "text",
            "line",
            "circle",
            "polygon",
            "polyline",
        }


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_text(name: str, text: str) -> None:
    plain, hostile = (
        DRAWINGS[name](tuple(replace(r, label=label) for r in ROWS), None)
        for label in ("aks", text)
    )
    tags = [
        [e.tag for e in ElementTree.fromstring(f.svg).iter() if e.tag != f"{SVG}title"]
        for f in (plain, hostile)
    ]
    assert tags[0] == tags[1]


@pytest.mark.parametrize("name", DRAWINGS)
def test_everything_lies_on_the_paper(name: str) -> None:
    figure = DRAWINGS[name](ROWS, Reference(value=1.25e9, label="documented limit"))
    root = ElementTree.fromstring(figure.svg)
    height = float(root.attrib["height"])
    for element in root.iter():
        for key, value in element.attrib.items():
            if key in ("x", "x1", "x2", "cx"):
                assert 0 <= float(value) <= WIDTH
            if key in ("y", "y1", "y2", "cy"):
                assert 0 <= float(value) <= height


@pytest.mark.parametrize("name", ["bars", "boxes", "sessions", "distribution"])
def test_what_was_not_measured_is_words_and_never_a_shape(name: str) -> None:
    figure = DRAWINGS[name]((ROWS[2],), None)
    assert b"not measured (placement)" in figure.svg
    assert PALETTE[2].encode() not in figure.svg.replace(b"<line", b"").split(b"</desc>")[
        1
    ] or name in ("sessions", "distribution")
    assert b"<polygon" not in figure.svg
    assert b"<polyline" not in figure.svg


def test_a_bar_starts_at_zero_and_is_as_long_as_its_value() -> None:
    figure = draw_bars(
        "b",
        "t",
        [Group(label="", rows=(row("a", 0, summary(1e9)), row("b", 1, summary(0.5e9))))],
        GBIT,
    )
    bars = [
        e
        for e in ElementTree.fromstring(figure.svg).iter(f"{SVG}rect")
        if e.attrib.get("fill") in PALETTE
    ]
    assert [float(b.attrib["x"]) for b in bars] == [LEFT, LEFT]
    assert float(bars[1].attrib["width"]) == pytest.approx(
        float(bars[0].attrib["width"]) / 2, abs=0.2
    )
    assert float(bars[0].attrib["width"]) <= RIGHT - LEFT


def test_a_box_shows_every_session_and_marks_outliers() -> None:
    figure = draw_boxes("b", "t", [row("a", 0, summary(outliers=(3,)))], GBIT)
    dots = list(ElementTree.fromstring(figure.svg).iter(f"{SVG}circle"))
    assert len(dots) == 10
    assert sum(1 for dot in dots if dot.attrib["fill"] == "#ffffff") == 1
    assert b"outlier, kept" in figure.svg


@pytest.mark.parametrize("name", ["bars", "boxes", "sessions"])
def test_a_limit_far_away_is_named_instead_of_squeezing_the_data(name: str) -> None:
    far = Reference(value=12.5e9, label="documented limit 12.5 Gbit/s")
    figure = DRAWINGS[name](ROWS, far)
    assert b"documented limit 12.5 Gbit/s lies off this axis" in figure.svg
    near = DRAWINGS[name](ROWS, Reference(value=1.05e9, label="documented limit 1.05 Gbit/s"))
    assert b"off this axis" not in near.svg
    assert b"stroke-dasharray" in near.svg


def test_only_an_established_difference_is_filled_with_colour() -> None:
    rows = [
        RatioRow(
            label="a",
            percent=Percent.of(1.1, 1.05, 1.15),
            words="higher (better)",
            tone=Tone.BETTER,
        ),
        RatioRow(
            label="b",
            percent=Percent.of(1.1, 0.9, 1.3),
            words="none established",
            tone=Tone.NEUTRAL,
        ),
        RatioRow(label="c", percent=None, words="void: too few", tone=Tone.VOID),
    ]
    figure = draw_ratios("r", "t", "s", rows, 0.02)
    dots = [d.attrib["fill"] for d in ElementTree.fromstring(figure.svg).iter(f"{SVG}circle")]
    assert dots == ["#0072b2", "#ffffff"]
    assert "c: void: too few" in figure.description
    assert "grey band: the 2 % margin" in figure.svg.decode()


def test_a_single_session_without_an_interval_can_be_drawn() -> None:
    lonely = replace(
        summary(sessions=1), interval=None, values=(1e9,), minimum=1e9, maximum=1e9, q1=1e9, q3=1e9
    )
    for draw in DRAWINGS.values():
        ElementTree.fromstring(draw((row("a", 0, lonely),), None).svg)
    bare = RatioRow(
        label="a", percent=Percent.of(1.1, None, None), words="one value", tone=Tone.NEUTRAL
    )
    assert b"+10.0 %" in draw_ratios("r", "t", "s", [bare], 0.02).svg


@given(
    st.lists(st.floats(min_value=-1e9, max_value=1e9, allow_nan=False), min_size=1, max_size=20),
    st.booleans(),
)
def test_an_axis_holds_its_values_between_round_ticks(values: list[float], zero: bool) -> None:
    axis = make_axis(values, 100, 500, zero=zero)
    assert 2 <= len(axis.ticks) <= 14
    span = axis.high - axis.low
    assert axis.low - 1e-6 * span <= min(values)
    assert max(values) <= axis.high + 1e-6 * span
    assert axis.at(axis.low) == pytest.approx(100)
    assert axis.at(axis.high) == pytest.approx(500)
    labels = [axis.label(tick) for tick in axis.ticks]
    assert len(set(labels)) == len(labels)


def test_an_axis_without_values_still_exists() -> None:
    assert make_axis([], 0, 1, zero=True).ticks[0] == 0
    assert make_axis([math.nan], 0, 1, zero=False).high > 0


@given(st.text(), st.floats(min_value=0, max_value=400))
def test_cut_text_fits_and_says_that_it_was_cut(text: str, width: float) -> None:
    shown = fit(text, width, 12)
    assert shown == clean(text) or shown.endswith("…")
    assert shown == "…" or text_width(shown, 12) <= width
    ElementTree.fromstring(f"<a>{escape(text)}</a>")


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1"), (-0.04, "0"), (12.345, "12.3"), (720.0, "720")]
)
def test_coordinates_are_short(value: float, shown: str) -> None:
    assert px(value) == shown


def test_targets_keep_their_colours_and_more_than_eight_start_again() -> None:
    assert [colour_of(row("t", index)) for index in (0, 1, 8)] == [
        PALETTE[0],
        PALETTE[1],
        PALETTE[0],
    ]
