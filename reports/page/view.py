"""From a finished run and its analysis to the view of a page. Pure: no clock, no files, no
network.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from ...engine.analysis.model import Analysis
from ...engine.model.findings import CODES
from ...engine.model.results import Finding, FindingLevel, RunData
from ...engine.planning.design.advice import why_no_policy
from ..wording.numbers import write_declared
from ..wording.reasons import write_no_value
from ..wording.values import make_slugs
from ..wording.verdict_words import Tone
from .confidential import describe_confidential
from .configuration import describe_targets, list_claims
from .method import FORMULAS, describe_method, list_warnings
from .model import Absence, Caution, FindingRow, Item, Statement, View
from .observed_differences import list_differences
from .results import Context, compare, describe_workloads, make_context
from .selection import compare_facts
from .settings import compare_settings
from .sweeps import write_saturation
from .trials import list_excluded, list_raw, tally_trials
from .usage import list_containers, list_loads, list_unseen

MOST_SUBJECTS = 3
RANK = {Tone.WORSE: 0, Tone.BETTER: 0, Tone.NEUTRAL: 1, Tone.VOID: 2}
LEVELS = {FindingLevel.ERROR: 0, FindingLevel.WARNING: 1, FindingLevel.NOTE: 2}


def build_view(run: RunData, analysis: Analysis) -> View:
    """Everything a page says about ``run``; the same input gives the same view."""
    tallies = tally_trials(run)
    context = make_context(run, analysis, tallies)
    anchors = make_slugs(f"target-{t.name}" for t in run.spec.targets)
    findings = _findings(context)
    containers = list_containers(run, context.titles)
    configurations = describe_targets(
        run, {t.name: anchors[f"target-{t.name}"] for t in run.spec.targets}
    )
    return View(
        title=run.spec.title,
        description=_paragraphs(run.spec.description),
        run_id=run.run_id,
        version=_manifest(run, "benchspec"),
        spec_sha256=_manifest(run, "spec_sha256"),
        date=_date(run),
        about=_about(run),
        warnings=list_warnings(run),
        summary=_summarise(context),
        workloads=describe_workloads(context),
        configurations=configurations,
        facts=compare_facts(configurations),
        claims=list_claims(run),
        confidential=describe_confidential(run),
        cautions=_cautions(findings),
        findings=findings,
        differences=list_differences(run, analysis),
        not_measured=_not_measured(context),
        excluded=list_excluded(run, context.titles),
        method=describe_method(run, analysis),
        formulas=FORMULAS,
        raw=list_raw(run, tallies, context.titles),
        confidence=write_declared(analysis.confidence),
        baseline=_baseline(context),
        labels=tuple(Item(name=name, text=text) for name, text in sorted(run.spec.labels.items())),
        loads=list_loads(run, context.titles),
        containers=containers,
        unseen=list_unseen(run, containers),
        settings=compare_settings(run),
    )


def _baseline(context: Context) -> str:
    """What a sentence about any target may call its baseline."""
    found = context.analysis.baseline
    if found is None:
        return ""
    return context.title(found) if isinstance(found, str) else "the baseline of its environment"


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(
        " ".join(part.split()) for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()
    )


def _manifest(run: RunData, key: str) -> str:
    value = run.manifest.get(key)
    return "not recorded" if value is None else str(value)


def _moment(unix_s: float) -> str:
    return datetime.fromtimestamp(round(unix_s), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _date(run: RunData) -> str:
    """The day of the first trial (ISO, UTC); that of the manifest when nothing was measured, or
    nobody knows when.
    """
    return (
        _moment(run.trials[0].started_at)[:10]
        if run.trials and run.trials[0].started_at
        else _manifest(run, "created_at")[:10]
    )


def _about(run: RunData) -> tuple[Item, ...]:
    dated = [
        trial for trial in run.trials if trial.started_at
    ]  # a file that was imported may not say when
    began, ended = (
        [trial.started_at for trial in dated],
        [trial.started_at + trial.duration_s for trial in dated],
    )
    unknown = "not recorded" if run.trials else "nothing was measured"
    measured = f"{_moment(min(began))} to {_moment(max(ended))}" if dated else unknown
    rows = [
        Item(name="Run", text=run.run_id),
        Item(name="Measured", text=measured),
        Item(
            name="Spec",
            text=(
                f"{run.spec.name} ({run.spec.api_version}), sha256 {_manifest(run, 'spec_sha256')}"
            ),
        ),
        Item(name="benchspec", text=_manifest(run, "benchspec")),
    ]
    if run.resumed:
        rows.append(
            Item(name="Resumed", text=f"{run.resumed} time{'s' if run.resumed > 1 else ''}")
        )
    overrides = run.manifest.get("overrides")
    if isinstance(overrides, list | tuple) and overrides:
        rows.append(Item(name="Overrides", text=", ".join(str(o) for o in overrides)))
    return tuple(rows)


def _summarise(context: Context) -> tuple[Statement, ...]:
    """Where sweeps level off; then one sentence per primary comparison: established differences
    first, then open ones, then void ones.
    """
    comparisons = [compare(context, c) for c in context.analysis.contrasts if c.primary]
    statements = [
        Statement(cell=c.cell, text=c.sentence, tone=c.tone, anchor=context.anchors.get(c.cell, ""))
        for c in comparisons
    ]
    return (*_levels(context), *sorted(statements, key=lambda s: RANK[s.tone]))


def _levels(context: Context) -> Iterator[Statement]:
    """Where the rates of sweeps level off."""
    for each in context.analysis.saturations:
        text = write_saturation(each, context.titles, context.analysis.confidence)
        tone = Tone.NEUTRAL if each.reason is None else Tone.VOID
        yield Statement(
            cell=each.workload, text=text, tone=tone, anchor=context.anchors.get(each.workload, "")
        )


def _findings(context: Context) -> tuple[FindingRow, ...]:
    """The run's findings and those of the analysis, each once, errors first."""
    run = context.run
    experiments = {e.id: e for e in run.experiments}
    found = dict.fromkeys((*run.findings, *context.analysis.findings))
    ordered = sorted(
        found, key=lambda f: (LEVELS[f.level], f.code, -1 if f.sequence is None else f.sequence)
    )

    def subject(finding: Finding) -> str:
        experiment = experiments.get(finding.experiment_id or "")
        target = finding.target or (experiment.target if experiment else None)
        parts = [
            context.title(target) if target else None,
            experiment.cell if experiment else finding.experiment_id,
        ]
        parts.append(None if finding.sequence is None else f"trial {finding.sequence}")
        return ", ".join(part for part in parts if part)

    return tuple(
        FindingRow(
            code=f.code,
            level=f.level.value,
            subject=subject(f),
            message=" ".join(f.message.split()),
        )
        for f in ordered
    )


def _cautions(findings: tuple[FindingRow, ...]) -> tuple[Caution, ...]:
    """Warnings and errors by their codes, for a reader who stops after the summary."""
    about: dict[str, dict[str, None]] = {}
    for row in findings:
        if row.level != FindingLevel.NOTE:
            about.setdefault(row.code, {})[row.subject or "the run"] = None
    return tuple(
        Caution(
            code=code,
            title=CODES[code].title if code in CODES else "a finding",
            about=_shortened(list(subjects)),
        )
        for code, subjects in about.items()
    )


def _shortened(subjects: list[str]) -> str:
    rest = len(subjects) - MOST_SUBJECTS
    return "; ".join(subjects[:MOST_SUBJECTS]) + (f" and {rest} more" if rest > 0 else "")


def _not_measured(context: Context) -> tuple[Absence, ...]:
    """Experiments without a primary value, series without any, and what no workload measures, each
    with its reason.
    """
    run, rows = context.run, []
    known = {cell.experiment_id for cell in context.analysis.cells}
    for experiment in run.experiments:
        if experiment.id in run.skipped or experiment.id not in known:
            reason = run.skipped.get(experiment.id, "no trial gave a value")
            rows.append(
                Absence(
                    target=context.title(experiment.target), what=experiment.cell, reason=reason
                )
            )
    for cell in context.analysis.cells:
        if cell.summary is None and cell.experiment_id not in run.skipped:
            rows.append(
                Absence(
                    target=context.title(cell.target),
                    what=f"{cell.cell}: {cell.series}",
                    reason=write_no_value(cell.not_measured)
                    if cell.not_measured
                    else "no valid trial",
                )
            )
    for target in run.spec.targets:
        if (policy := why_no_policy(target)) is not None:
            rows.append(
                Absence(target=target.title, what="what network policies cost", reason=policy)
            )
    return tuple(rows)
