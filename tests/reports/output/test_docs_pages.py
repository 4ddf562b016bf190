from __future__ import annotations

from datetime import date

import pytest
import yaml

from benchspec.engine.model.errors import SpecError, UsageError
from benchspec.reports.output.docs_pages import (
    check_page,
    find_regions,
    front_matter,
    make_region,
    render_docs,
    stamp_in,
    update_docs,
)
from benchspec.reports.page.view import build_view
from tests.reports.hostile_run import make_hostile_analysis, make_hostile_run
from tests.reports.sample_run import make_analysis, make_run

RUN = make_run()
ANALYSIS = make_analysis(RUN)
VIEW = build_view(RUN, ANALYSIS)
FILES = render_docs(RUN, ANALYSIS, "azure")
PAGE = FILES["azure.md"].decode()
HAND = (
    "# Performance\n\nOur words.\n\n<!-- benchspec:begin id=azure -->\n<!-- benchspec:end id=azure"
    " -->\n\nMore of our words.\n"
)


def test_a_docs_page_has_front_matter_and_figures_of_its_own() -> None:
    head = yaml.safe_load(PAGE.split("---\n")[1])
    assert head["title"] == "Constellation against AKS on Azure"
    assert head["description"].startswith("Storage and network")
    assert "](figures/azure/network-interval.svg)" in PAGE
    assert "figures/azure/network-interval.svg" in FILES
    assert check_page(PAGE) == ()


def test_hostile_titles_stay_strings_in_front_matter() -> None:
    run = make_hostile_run()
    view = build_view(run, make_hostile_analysis(run))
    head = yaml.safe_load(front_matter(view).split("---\n")[1])
    assert head["title"] == view.title
    page = render_docs(run, make_hostile_analysis(run), "hostile")["hostile.md"].decode()
    assert len(find_regions(page)) == 1


def test_updating_a_region_touches_nothing_else_and_is_idempotent() -> None:
    once, figures = update_docs(HAND, RUN, ANALYSIS, "azure")
    twice, _ = update_docs(once, RUN, ANALYSIS, "azure")
    assert once == twice
    assert once.startswith("# Performance\n\nOur words.\n\n<!-- benchspec:begin id=azure run=")
    assert once.endswith("<!-- benchspec:end id=azure -->\n\nMore of our words.\n")
    assert "13.03 % lower" in once
    assert set(figures) == {f"figures/azure/{figure.name}.svg" for figure in VIEW.figures}


@pytest.mark.parametrize(
    ("page", "error", "message"),
    [
        ("nothing here", UsageError, "found 0 regions called 'azure'"),
        (HAND + HAND, UsageError, "found 2 regions"),
        (
            HAND.replace("<!-- benchspec:end id=azure -->", ""),
            SpecError,
            "line 5: a benchspec marker has no partner",
        ),
        ("<!-- benchspec:end id=azure -->", SpecError, "line 1: a benchspec marker has no partner"),
        ("<!-- benchspec:begin id=x -->\n" + HAND, SpecError, "a benchspec marker has no partner"),
        (HAND.replace("end id=azure", "end id=other"), SpecError, "region 'azure' ends as 'other'"),
    ],
)
def test_a_page_that_cannot_be_updated_says_where(
    page: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        update_docs(page, RUN, ANALYSIS, "azure")


def test_a_region_name_is_plain() -> None:
    with pytest.raises(UsageError, match="region name"):
        make_region(VIEW, "A b", "x")


def test_one_edited_digit_is_found_and_prose_outside_is_free() -> None:
    page, _ = update_docs(HAND, RUN, ANALYSIS, "azure")
    assert check_page(page.replace("Our words", "Better words")) == ()
    (stale,) = check_page(page.replace("13.03 %", "13.04 %", 1))
    assert (stale.line, stale.region, stale.reason) == (5, "azure", "was edited by hand")


def test_a_changed_spec_version_or_age_is_found() -> None:
    fresh = {
        "spec_sha256": "ab" * 32,
        "version": "0.1.0",
        "today": date(2023, 3, 30),
        "max_age_days": 30,
    }
    assert check_page(PAGE, **fresh) == ()  # type: ignore[arg-type]
    reasons = [
        s.reason
        for s in check_page(
            PAGE, spec_sha256="cd" * 32, version="0.2.0", today=date(2023, 6, 1), max_age_days=30
        )
    ]
    assert reasons == [
        "was made from another version of the spec",
        "was made by benchspec 0.1.0, this is 0.2.0",
        "was measured 73 days ago, at most 30 are allowed",
    ]


def test_an_empty_region_and_one_without_a_date_are_stale() -> None:
    assert [s.reason for s in check_page(HAND)] == ["was never filled"]
    undated = PAGE.replace("date=2023-03-20", "date=unknown")
    assert [s.reason for s in check_page(undated, today=date(2023, 3, 21), max_age_days=1)] == [
        "has no date that can be read ('unknown')"
    ]


def test_the_stamp_names_run_spec_version_and_date() -> None:
    stamp = stamp_in(find_regions(PAGE)[0])
    assert stamp["id"] == "azure"
    assert stamp["run"] == RUN.run_id
    assert stamp["spec"] == "ab" * 32
    assert (stamp["version"], stamp["date"]) == ("0.1.0", "2023-03-20")
