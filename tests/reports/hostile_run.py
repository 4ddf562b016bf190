"""A run whose every free text tries to be more than text."""

from __future__ import annotations

from dataclasses import replace

from benchspec.engine.analysis.model import Analysis
from benchspec.engine.facts.catalogue import fact_kinds
from benchspec.engine.model.results import (
    ClaimCheck,
    ClaimState,
    Fact,
    FactSet,
    Finding,
    FindingLevel,
    RunData,
)
from tests.reports.sample_run import make_analysis, make_run

HOSTILE = (
    "<script>alert(1)</script>",
    "[click](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "a | b || c",
    "`code` ``more``",
    "**bold** _slanted_ ~~gone~~",
    "{{ 7 * 7 }} {% raw %} ${env}",
    "# heading",
    "- item",
    "1. item",
    "---",
    ":::danger",
    "import x from 'y'",
    "export const x = 1",
    "see https://evil.example and www.evil.example or mail me@evil.example",
    "<https://evil.example>",
    "line one\n\n## line two\n| a | b |\n|---|---|",
    "&lt;b&gt; &amp; \\<b\\>",
    "[^1]: note *[HTML]: abbreviation",
    "right\u202eto\u202cleft \x1b[31m\x00 end",
    "]]> --> </style></title></svg>",
    "x" * 300 + "漢字" * 40,
    "\"onload='alert(1)'",
)


def make_hostile_run() -> RunData:
    """The sample with every title, description, fact, claim, finding and error replaced."""
    run = make_run()
    text = iter(HOSTILE * 40)
    targets = tuple(replace(t, title=next(text)) for t in run.spec.targets)
    workloads = tuple(
        replace(w, title=next(text), parameters={next(text): next(text)})
        for w in run.spec.workloads
    )
    spec = replace(
        run.spec,
        title=next(text),
        description="\n\n".join(HOSTILE),
        targets=targets,
        workloads=workloads,
        labels={next(text): next(text)},
    )
    return replace(
        run,
        spec=spec,
        facts=tuple(
            FactSet(target=t.name, site=h, when="before", observed_at=0.0, facts=_facts())
            for t, h in zip(targets, HOSTILE, strict=False)
        ),
        claims=tuple(
            ClaimCheck(
                target="c11n", fact=h, declared=h, observed=h, state=ClaimState.MISMATCH, source=h
            )
            for h in HOSTILE
        ),
        findings=tuple(
            Finding(code="F999", level=FindingLevel.NOTE, message=h, target=h) for h in HOSTILE
        ),
        trials=tuple(replace(t, error=next(text)) if t.error else t for t in run.trials),
        skipped={key: next(text) for key in run.skipped},
    )


def make_hostile_analysis(run: RunData) -> Analysis:
    return make_analysis(run)


_SHOWN = [name for name, kind in fact_kinds().items() if not kind.private and not kind.moves]
assert len(_SHOWN) > len(HOSTILE)


def _facts() -> tuple[Fact, ...]:
    return (
        *tuple(
            Fact(name=name, value=h, source=h) for name, h in zip(_SHOWN, HOSTILE, strict=False)
        ),
        Fact(name=HOSTILE[0], value=[HOSTILE[1]], source=""),
    )
