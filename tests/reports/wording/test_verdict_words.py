"""The verdict in a few words: the long form of tables and the short one of figures."""

from __future__ import annotations

import pytest

from benchspec.engine.analysis.model import Difference, Margin, Verdict
from benchspec.engine.analysis.reasons import SmokeMode
from benchspec.reports.wording.verdict_words import short_words, verdict_words
from tests.reports.wording.test_sentences import contrast

HIGHER, NONE = Difference.HIGHER, Difference.NONE_ESTABLISHED


@pytest.mark.parametrize(
    ("difference", "margin", "long", "short"),
    [
        (HIGHER, Margin.INSIDE, "higher, inside the 2 % margin", "higher, inside the margin"),
        (
            HIGHER,
            Margin.OUTSIDE,
            "higher (better), outside the 2 % margin",
            "higher (better), outside the margin",
        ),
        (
            HIGHER,
            Margin.UNDECIDED,
            "higher (better), the 2 % margin undecided",
            "higher (better), margin undecided",
        ),
        (
            NONE,
            Margin.INSIDE,
            "no difference established, inside the 2 % margin",
            "none established, inside the margin",
        ),
        (
            NONE,
            Margin.OUTSIDE,
            "no difference established, the 2 % margin undecided",
            "none established, margin undecided",
        ),
    ],
)
def test_both_forms_say_the_same(
    difference: Difference, margin: Margin, long: str, short: str
) -> None:
    each = contrast(verdict=Verdict(difference=difference, margin=margin))
    assert (verdict_words(each), short_words(each)) == (long, short)


def test_a_void_verdict_and_none_are_the_same_in_both_forms() -> None:
    void = contrast(verdict=Verdict(reason=SmokeMode()))
    assert verdict_words(void) == short_words(void) == "void: too few"
