"""Capabilities in visible words, their order and the digest of a list."""

from __future__ import annotations

from benchspec.engine.capabilities.model import (
    HEADINGS,
    Kind,
    capability,
    digest,
    ordered,
    to_lines,
    visible,
)


def test_what_cannot_be_seen_is_shown_and_no_value_makes_a_line() -> None:
    spoof = "echo hi\n  a: harmless\nAgree to all of this? [y/N]: \u202ey\u200b\x1b[2J"
    shown = visible(spoof)
    assert shown == (
        "echo hi\\n  a: harmless\\nAgree to all of this? [y/N]: \\u202ey\\u200b\\u001b[2J"
    )
    assert len(to_lines([capability(Kind.EXECUTES, spoof, "workload\nw")])) == 2


def test_every_kind_has_its_heading_and_the_worst_comes_first() -> None:
    assert list(HEADINGS) == list(Kind)
    image, disk = capability(Kind.IMAGES, "i"), capability(Kind.DESTROYS, "/dev/sda", "w")
    assert ordered([image, disk, image]) == (disk, image)
    assert to_lines([disk, image]) == [
        HEADINGS[Kind.DESTROYS],
        "  /dev/sda  (w)",
        HEADINGS[Kind.IMAGES],
        "  i",
    ]


def test_the_digest_is_of_exactly_this_list() -> None:
    one, two = capability(Kind.EXECUTES, "a", "", b"x"), capability(Kind.LOADS, "b")
    assert digest([one, two]) == digest([two, one, one])
    others = [
        [one],
        [one, two, capability(Kind.LOADS, "c")],
        [capability(Kind.EXECUTES, "a", "", b"y"), two],
        [capability(Kind.RIGHTS, "a", "", b"x"), two],
        [],
    ]
    assert len({digest(some) for some in [[one, two], *others]}) == 6
    assert digest([]).startswith("sha256:")
