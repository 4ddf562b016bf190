"""The layout of a page: which sections it has, in which order, and what stands in them. The one
place for Markdown and HTML.

A new section is a function here that makes its blocks from the view (none where it has nothing to
say), and its line in :func:`lay_out`.
"""

from __future__ import annotations

from .blocks import (
    Align,
    Block,
    Bullet,
    Bullets,
    Cell,
    Code,
    Column,
    Heading,
    LineBreak,
    Link,
    Manner,
    Pairs,
    Paragraph,
    PerFormat,
    Section,
    Table,
    Text,
    Words,
    columns,
    joined,
    row,
)
from .model import Configuration, View
from .results_layout import lay_out_results

DASH = "–"


def lay_out(view: View) -> tuple[Section, ...]:
    """The sections of the page, in order."""
    return (
        _head(view),
        (*_summary(view), *_settings(view)),
        lay_out_results(view),
        (
            *_not_measured(view),
            *_excluded(view),
            *_differences(view),
            *_loads(view),
            *_containers(view),
        ),
        _configuration(view),
        (*_confidential(view), *_claims(view)),
        _findings(view),
        _method(view),
        _raw(view),
    )


def _head(view: View) -> Section:
    when = Paragraph(text=(Words("Run "), view.run_id, Words(", "), view.date), manner=Manner.MUTED)
    return (
        Heading(level=1, text=(view.title,)),
        PerFormat(html=(when,)),
        *(Paragraph(text=(text,), manner=Manner.WARNING) for text in view.warnings),
        *(Paragraph(text=(text,)) for text in view.description),
    )


def _summary(view: View) -> Section:
    return (Heading(level=2, text=(Words("Summary"),)), _statements(view), *_cautions(view))


def _statements(view: View) -> Block:
    if not view.summary:
        return _say(
            "Nothing was compared: the spec names no baseline, or no target was measured beside"
            " one."
        )
    return Bullets(
        items=tuple(
            Bullet(
                text=(
                    each.text,
                    Words(" "),
                    Link(text=(each.cell,), anchor=each.anchor, aside=True),
                ),
                tone=each.tone,
            )
            for each in view.summary
        )
    )


def _cautions(view: View) -> Section:
    """What a reader needs to know who stops after the summary."""
    blocks: list[Block] = []
    if view.cautions:
        findings = Link(text=(Words("findings"),), anchor="findings")
        before = Words("Before you rely on this, see the ")
        blocks.append(Paragraph(text=(before, findings, Words(":"))))
        blocks.append(
            Bullets(
                items=tuple(
                    Bullet(text=(each.title, Words(" ("), each.code, Words("): "), each.about))
                    for each in view.cautions
                )
            )
        )
    if view.excluded:
        blocks.append(_left_out(len(view.excluded)))
    return tuple(blocks)


def _settings(view: View) -> Section:
    """The first table: a reader sees what was compared before how it came out in detail."""
    table = view.settings
    if not table.lines:
        return ()
    return (
        Heading(level=2, text=(Words("What differs between the targets"),), anchor="settings"),
        _say(
            "What was set and started for them; everything else that the spec sets is the same. In"
            " command lines names such as ${workdir} stand for what differs each time."
        ),
        Table(
            columns=(
                *columns("Workload", "Setting"),
                *(Column(title=(target,)) for target in table.targets),
            ),
            rows=tuple(
                row(line.workload, (Code(line.name),), *(value or DASH for value in line.values))
                for line in table.lines
            ),
        ),
    )


def _left_out(count: int) -> Block:
    trials = "trial is" if count == 1 else "trials are"
    text = Words(f"{count} measured {trials} outside the statistics")
    anchor = "excluded-trials"
    see = Link(text=(Words("excluded trials"),), anchor=anchor)
    whole = Link(text=(text, Words(".")), anchor=anchor)
    return PerFormat(
        markdown=(Paragraph(text=(text, Words(": see "), see, Words("."))),),
        html=(Paragraph(text=(whole,)),),
    )


def _not_measured(view: View) -> Section:
    if not view.not_measured:
        return ()
    return (
        Heading(level=2, text=(Words("Not measured"),)),
        Table(
            columns=columns("Target", "What", "Reason"),
            rows=tuple(row(each.target, each.what, each.reason) for each in view.not_measured),
        ),
    )


def _excluded(view: View) -> Section:
    if not view.excluded:
        return ()
    return (
        Heading(level=2, text=(Words("Excluded trials"),), anchor="excluded-trials"),
        _say("These trials were measured, are kept, and are in no statistic."),
        Table(
            columns=(
                *columns("Trial", "Session", align=Align.NUMBER),
                *columns("Target", "Workload", "Status", "Reason"),
            ),
            rows=tuple(
                row(
                    str(each.sequence),
                    str(each.session),
                    each.target,
                    each.cell,
                    each.status,
                    each.reason,
                )
                for each in view.excluded
            ),
        ),
    )


def _differences(view: View) -> Section:
    if not view.differences:
        return ()
    return (
        Heading(level=2, text=(Words("Observed differences, not causes"),)),
        _say(
            "Between targets with an established difference these facts and monitor figures differ"
            " too. The data do not say that they are the reason."
        ),
        Table(
            columns=columns("Target", "Baseline", "What", "On the target", "On the baseline"),
            rows=tuple(
                row(
                    each.target,
                    each.baseline,
                    (Code(each.name),),
                    each.on_target,
                    each.on_baseline,
                )
                for each in view.differences
            ),
        ),
    )


def _loads(view: View) -> Section:
    if not view.loads:
        return ()
    shares = ("Busy", "User", "System", "Softirq", "I/O wait", "Steal", "Memory")
    return (
        Heading(level=2, text=(Words("Load on the nodes"),)),
        _say(
            "While it was measured: shares of all CPUs of each role's node, and memory in use"
            " there, the most of each trial unless imported; means over valid trials."
        ),
        Table(
            columns=(
                *columns("Target", "Workload", "Role"),
                *columns(*shares, align=Align.NUMBER),
            ),
            rows=tuple(
                row(
                    each.target,
                    each.cell,
                    each.role,
                    each.busy or DASH,
                    each.user or DASH,
                    each.system or DASH,
                    each.softirq or DASH,
                    each.iowait or DASH,
                    each.steal or DASH,
                    each.memory or DASH,
                )
                for each in view.loads
            ),
        ),
    )


def _containers(view: View) -> Section:
    unseen = tuple(Paragraph(text=(line,)) for line in view.unseen)
    if not view.containers:
        return unseen
    what = (
        Words(
            "Containers of the roles' pods, by their own account or else their kubelet's, and of"
            " pods that steps made, by their kubelets' (replicas together): CPU time"
        ),
        LineBreak(),
        Words(
            "in a trial (by kubelets: estimated from its rate) and for each request or operation,"
            " and working set."
        ),
    )
    used = ("CPU time", "For each request", "Working set")
    table = Table(
        columns=(
            *columns("Target", "Workload", "Site", "Pod", "Container"),
            *columns(*used, align=Align.NUMBER),
        ),
        rows=tuple(
            row(
                each.target,
                each.cell,
                each.site,
                each.pod,
                each.container,
                each.cpu or DASH,
                each.per_sample or DASH,
                each.memory or DASH,
            )
            for each in view.containers
        ),
    )
    return (Paragraph(text=what), table, *unseen)


def _configuration(view: View) -> Section:
    declared = "; what the spec declares is shown where it was not confirmed" if view.claims else ""
    several = len(view.facts.targets) > 1
    also = f"Also observed, {'the same on all targets' if several else 'not shown'}:"
    return (
        Heading(level=2, text=(Words("Configuration"),)),
        _say(f"As observed on the targets{declared}."),
        _facts(view),
        *_names(also, view.facts.alike),
        *_names("Could not be found out:", view.facts.unknown),
        PerFormat(
            markdown=(_all_properties(view.configurations),),
            html=tuple(block for target in view.configurations for block in _properties(target)),
        ),
    )


def _facts(view: View) -> Block:
    if not view.facts.lines:
        return _say("No facts were observed.")
    return Table(
        columns=(
            *columns("Fact"),
            *(Column(title=(target,)) for target in view.facts.targets),
        ),
        rows=tuple(row((Code(line.name),), *line.values) for line in view.facts.lines),
    )


def _names(lead: str, names: tuple[str, ...]) -> Section:
    if not names:
        return ()
    listed = joined(tuple((Code(name),) for name in names), ", ")
    return (Paragraph(text=(Words(f"{lead} "), *listed, Words(".")), manner=Manner.MUTED),)


def _all_properties(targets: tuple[Configuration, ...]) -> Block:
    """What is known of the targets besides facts, as one list."""
    return Bullets(
        items=tuple(
            Bullet(text=(target.title, Words(f", {what}"), *text))
            for target in targets
            for what, text in _known(target)
        )
    )


def _properties(target: Configuration) -> Section:
    """What is known of one target besides facts, below its title."""
    items = tuple(
        Bullet(text=(Words(what[0].upper() + what[1:]), *text)) for what, text in _known(target)
    )
    title = Paragraph(text=(target.title, Words(":")), anchor=target.anchor)
    return (title, Bullets(items=items)) if items else ()


def _known(target: Configuration) -> tuple[tuple[str, Text], ...]:
    pinned: tuple[Text, ...] = ((target.pinned,),) if target.pinned else ()
    price: tuple[Text, ...] = ((target.price,),) if target.price else ()
    return (
        *(("pinned to CPUs: ", text) for text in pinned),
        *(
            ("documented limit ", (Code(limit.name), Words(": "), limit.text))
            for limit in target.limits
        ),
        *(("price: ", text) for text in price),
    )


def _confidential(view: View) -> Section:
    if not view.confidential:
        return ()
    return (
        _say("Confidential VMs:"),
        Bullets(items=tuple(Bullet(text=(text,)) for text in view.confidential)),
    )


def _claims(view: View) -> Section:
    if not view.claims:
        return ()
    return (
        Heading(level=2, text=(Words("Claims"),)),
        Table(
            columns=(
                *columns("Target", "Fact", "Declared", "Observed", "State"),
                Column(title=(Words("Source"),), optional=True, muted=True),
            ),
            rows=tuple(
                row(
                    each.target,
                    (Code(each.fact),),
                    each.declared,
                    each.observed,
                    Cell(text=(each.state,), state=each.state),
                    each.source,
                )
                for each in view.claims
            ),
        ),
    )


def _findings(view: View) -> Section:
    heading = Heading(level=2, text=(Words("Findings"),), anchor="findings")
    if not view.findings:
        return (heading, _say("None."))
    return (
        heading,
        Table(
            columns=(
                *columns("Code", "Level"),
                *columns("About", optional=True),
                *columns("Finding"),
            ),
            rows=tuple(
                row(each.code, each.level, each.subject, each.message) for each in view.findings
            ),
        ),
    )


def _method(view: View) -> Section:
    return (
        Heading(level=2, text=(Words("Method"),)),
        Pairs(items=view.method),
        Bullets(items=tuple(Bullet(text=(formula,)) for formula in view.formulas)),
    )


def _raw(view: View) -> Section:
    titles = ("Target", "Workload", "Experiment", "Valid", "Not valid", "Warm-ups", "A raw file")
    return (
        Heading(level=2, text=(Words("Raw data"),)),
        Pairs(items=view.about),
        _say(
            "Every number above rests on these trials (sequence numbers in the run's journal). Raw"
            " files lie in the run directory."
        ),
        Table(
            columns=columns(*titles),
            rows=tuple(
                row(
                    each.target,
                    each.cell,
                    (Code(each.experiment),),
                    each.valid,
                    each.others,
                    each.warmups,
                    (Code(each.example),),
                    anchor=each.anchor,
                )
                for each in view.raw
            ),
        ),
    )


def _say(text: str) -> Paragraph:
    return Paragraph(text=(Words(text),))
