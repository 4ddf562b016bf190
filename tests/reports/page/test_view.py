from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchspec.engine.analysis.model import Analysis, Difference, LimitCheck, LimitState, Margin
from benchspec.engine.claims.claims import drift
from benchspec.engine.facts import catalogue
from benchspec.engine.model.errors import StorageError, UsageError
from benchspec.engine.model.results import Fact, FactSet, Finding, FindingLevel, Trial, TrialStatus
from benchspec.engine.model.spec import Cvm, Mode, Order, Precision, Price, Role, RolePlace
from benchspec.reports.output.render import FORMATS, render_report, write_report
from benchspec.reports.page.configuration import list_claims
from benchspec.reports.page.model import View
from benchspec.reports.page.view import build_view
from benchspec.reports.wording.values import make_slugs, write_value
from tests.reports.sample_run import make_analysis, make_run

RUN = make_run()
ANALYSIS = make_analysis(RUN)
VIEW = build_view(RUN, ANALYSIS)
CELLS = {cell.name: cell for workload in VIEW.workloads for cell in workload.cells}


def view_of(**changes: object) -> View:
    run = replace(RUN, **changes)  # type: ignore[arg-type]
    return build_view(run, make_analysis(run))


def method_of(view: View) -> dict[str, str]:
    return {item.name: item.text for item in view.method}


def test_the_summary_puts_decided_first_and_void_last() -> None:
    assert [s.tone.value for s in VIEW.summary] == [
        "worse",
        "neutral",
        "neutral",
        "void",
        "void",
        "void",
    ]
    assert {s.anchor for s in VIEW.summary} <= {cell.anchor for cell in CELLS.values()}


def test_a_row_is_rounded_by_its_interval_and_refers_to_its_trials() -> None:
    baseline, other = CELLS["network[path=pod-to-pod]"].rows
    assert (baseline.target, baseline.centre, baseline.interval) == (
        "AKS",
        "1.0220",
        "1.0167 to 1.0272",
    )
    assert baseline.limits == "81.8 % of documented, 86.8 % of attainable"
    assert (other.trials, other.reference.count) == ("29 valid, 1 invalid", 29)
    assert other.reference.trials.startswith("6-8, 46-48, 86, 88,")


def test_every_reference_has_its_row_in_the_raw_data() -> None:
    anchors = {row.anchor for row in VIEW.raw}
    assert len(anchors) == len(RUN.experiments)
    assert {row.reference.anchor for cell in CELLS.values() for row in cell.rows} <= anchors
    assert {
        r.anchor for cell in CELLS.values() for c in cell.comparisons for r in c.references
    } <= anchors
    counted = sum(row.reference.count for cell in CELLS.values() for row in cell.rows)
    assert counted == sum(
        1 for t in RUN.trials if t.kind.value == "measured" and t.status is TrialStatus.VALID
    )


def test_a_cell_without_numbers_says_why() -> None:
    rows = CELLS["network[path=node-port]"].rows
    assert {row.absent for row in rows} == {"not measured (node ports are closed on this cluster)"}
    assert all(not (row.centre or row.interval or row.median or row.sd) for row in rows)
    assert [a.what for a in VIEW.not_measured] == [
        "network[path=node-port]",
        "network[path=node-port]",
    ]
    assert CELLS["network[path=node-port]"].figures == ()


def test_what_network_policies_cost_is_never_measured() -> None:
    targets = tuple(
        replace(t, claims={"cni.network_policy": engine})
        for t, engine in zip(RUN.spec.targets, ("none", "calico"), strict=True)
    )
    found = [
        (row.target, row.reason)
        for row in view_of(spec=replace(RUN.spec, targets=targets)).not_measured
        if "policies" in row.what
    ]
    assert found == [
        ("Constellation", "no policy engine"),
        ("AKS", "no workload brings a NetworkPolicy"),
    ]
    assert not any("policies" in row.what for row in VIEW.not_measured)


def test_an_experiment_nothing_is_known_of_is_not_measured() -> None:
    view = build_view(RUN, replace(ANALYSIS, cells=(), contrasts=()))
    assert {a.reason for a in view.not_measured} == {
        "no trial gave a value",
        "node ports are closed on this cluster",
    }
    assert view.summary == ()
    assert all(row.absent for w in view.workloads for cell in w.cells for row in cell.rows)


def test_a_descriptive_series_has_a_value_per_target_and_no_verdict() -> None:
    rows = {row.series: row for row in CELLS["network[path=pod-to-pod]"].descriptive}
    assert rows["cpu.local"].unit == "%"
    assert len(rows["cpu.local"].values) == 2
    assert rows["cpu.local"].changes == ("+60.0 % to +68.8 %",)


def test_a_series_of_one_target_alone_is_not_compared() -> None:
    lonely = tuple(c for c in ANALYSIS.cells if not (c.series == "cpu.local" and c.target == "aks"))
    contrasts = tuple(c for c in ANALYSIS.contrasts if c.series != "cpu.local")
    view = build_view(RUN, replace(ANALYSIS, cells=lonely, contrasts=contrasts))
    cell = next(c for w in view.workloads for c in w.cells if c.name == "network[path=pod-to-pod]")
    row = next(r for r in cell.descriptive if r.series == "cpu.local")
    assert row.values[0] == "not measured"
    assert row.changes == ("",)


def test_prices_are_shown_only_when_all_targets_have_one_in_one_currency() -> None:
    row = CELLS["storage[job=write_bw]"].rows[0]
    assert row.price == "1046.2 (1044.4 to 1048.0) GB per USD"
    assert not CELLS["vault"].has_price
    euro = Price(per_hour=0.2, currency="EUR", source="s", as_of="2023-03-20")
    targets = (replace(RUN.spec.targets[0], price=euro), RUN.spec.targets[1])
    mixed = view_of(spec=replace(RUN.spec, targets=targets))
    assert not any(cell.has_price for w in mixed.workloads for cell in w.cells)


def test_a_price_without_an_interval_has_one_number() -> None:
    cells = tuple(
        replace(c, summary=replace(c.summary, interval=None)) if c.summary else c
        for c in ANALYSIS.cells
    )
    view = build_view(RUN, replace(ANALYSIS, cells=cells))
    row = next(
        c for w in view.workloads for c in w.cells if c.name == "storage[job=write_bw]"
    ).rows[0]
    assert (row.price, row.interval, row.centre) == ("1046 GB per USD", "", "58.12")


def test_several_limits_are_named_apart() -> None:
    def doubled(analysis: Analysis) -> Analysis:
        def second(check: LimitCheck) -> LimitCheck:
            return replace(
                check,
                limit=replace(check.limit, metric="storage.iops.read"),
                efficiency=1.0,
                state=LimitState.EXCEEDS,
            )

        return replace(
            analysis,
            cells=tuple(
                replace(c, limits=(*c.limits, *map(second, c.limits))) for c in analysis.cells
            ),
        )

    view = build_view(RUN, doubled(ANALYSIS))
    cell = next(c for w in view.workloads for c in w.cells if c.name == "storage[job=read_iops]")
    assert cell.rows[0].limits.endswith(
        "100 % of documented storage.iops.read of the disk (exceeds the documented limit)"
    )


def test_the_configuration_is_what_was_observed() -> None:
    c11n, aks = VIEW.configurations
    rows = {row.name: row for row in c11n.facts}
    assert (rows["net.mtu"].observed, rows["net.mtu"].declared) == ("1400", "1500")
    assert rows["kernel.release"].observed == "6.1.18, then 6.1.19 (after)"
    assert rows["memory.total"].observed == "16 GiB"
    assert (rows["cvm.technology"].observed, rows["cvm.technology"].declared) == (
        "unknown",
        "sev-snp",
    )
    assert not any(row.declared for row in aks.facts)
    assert [claim.state for claim in VIEW.claims] == ["confirmed", "contradicted", "unknown"]


def test_sites_that_differ_have_rows_of_their_own_and_unseen_claims_are_listed() -> None:
    def site(name: str, mtu: int) -> FactSet:
        facts = (
            Fact(name="net.mtu", value=mtu, source="ip"),
            Fact(name="os.name", value="Debian", source="os"),
        )
        return FactSet(target="c11n", site=name, when="before", observed_at=0.0, facts=facts)

    claims = (
        *RUN.claims,
        replace(RUN.claims[1], fact="cni.name", declared="cilium", observed=None),
    )
    view = view_of(facts=(site("one", 1400), site("two", 9000)), claims=claims)
    rows = {row.name: row for row in view.configurations[0].facts}
    assert (
        rows["net.mtu (one)"].observed,
        rows["net.mtu (two)"].observed,
        rows["os.name"].observed,
    ) == ("1400", "9000", "Debian")
    assert (rows["cni.name"].observed, rows["cni.name"].declared) == ("unknown", "cilium")
    assert view.configurations[1].facts == ()


@pytest.mark.parametrize(
    ("technology", "level", "basis", "unseen", "expected", "says"),
    [
        (
            "sev-snp",
            "report",
            "the report in the vTPM",
            "none",
            True,
            ("by SEV-SNP", "(the report in the vTPM) and nobody has verified it"),
        ),
        (
            "tdx",
            "device",
            "/dev/tdx_guest",
            "report (needs root)",
            True,
            ("since it could not be looked for: report (needs root).",),
        ),
        (
            "sev",
            "kernel",
            "the kernel log",
            "none",
            False,
            ("encrypted by SEV,", "The kernel repeats what the host told it."),
        ),
        (
            "none",
            "none",
            "the kernel log",
            "none",
            True,
            ("claimed to be confidential; nothing of it was seen.",),
        ),
        (
            None,
            None,
            None,
            "kernel log (cut)",
            True,
            ("could not be observed. Not looked at: kernel log (cut).",),
        ),
        ("none", "none", "the kernel log", "none", False, ()),
        (None, None, None, "kernel log (cut)", False, ()),
    ],
)
def test_evidence_of_a_confidential_vm_says_what_it_does_not_prove(
    technology: str | None,
    level: str | None,
    basis: str | None,
    unseen: str,
    expected: bool,
    says: tuple[str, ...],
) -> None:
    values = {"technology": technology, "evidence": level, "basis": basis, "unseen": unseen}
    facts = tuple(
        Fact(name=f"cvm.{name}", value=value, source="s") for name, value in values.items()
    )
    sets = tuple(
        FactSet(target="c11n", site="a", node=node, when="before", observed_at=0.0, facts=facts)
        for node in ("one", "two")
    )
    targets = tuple(
        replace(target, cvm=Cvm(expected=expected)) if target.name == "c11n" else target
        for target in RUN.spec.targets
    )
    run = replace(RUN, facts=sets, claims=(), spec=replace(RUN.spec, targets=targets))
    sentences = build_view(run, make_analysis(run)).confidential
    assert len(sentences) == bool(says)
    assert all(text in sentences[0] for text in says)
    for format_ in ("markdown", "html"):
        page = next(iter(render_report(run, make_analysis(run), format_).values())).decode()
        assert ("Confidential VMs:" in page) == bool(says)


def test_the_page_shows_main_facts_and_differences_and_never_what_names_a_machine() -> None:
    def observed(target: str, swappiness: int, extra: tuple[Fact, ...] = ()) -> FactSet:
        alike = (
            Fact(name="cpu.model", value="EPYC", source="s"),
            Fact(name="memory.ksm", value=False, source="s"),
            Fact(name="cpu.turbo", value=None, source="s"),
            Fact(name="machine.id", value="b1c167ae", source="s"),
            Fact(name="host.name", value="secret-host", source="s"),
            Fact(name="load.1m", value=float(swappiness), source="s"),
        )
        facts = (*alike, Fact(name="memory.swappiness", value=swappiness, source="s"), *extra)
        return FactSet(target=target, site=target, when="before", observed_at=0.0, facts=facts)

    more = (Fact(name="net.driver", value="mlx5", source="s"),)
    sets = (observed("c11n", 60), observed("aks", 10, more))
    view = view_of(facts=sets, claims=())
    assert {line.name: line.values for line in view.facts.lines} == {
        "cpu.model": ("EPYC", "EPYC"),
        "memory.swappiness": ("60", "10"),
        "net.driver": ("not observed", "mlx5"),
    }
    assert (view.facts.alike, view.facts.unknown) == (("memory.ksm",), ("cpu.turbo",))
    run = replace(RUN, facts=sets)
    for format_ in ("markdown", "html", "json", "csv", "summary"):
        for content in render_report(run, make_analysis(run), format_).values():
            assert b"secret-host" not in content
            assert b"b1c167ae" not in content


@pytest.mark.parametrize("described", [False, True])
def test_a_fact_of_which_nobody_said_that_it_may_be_published_is_nowhere(
    described: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An identifying fact with a name that nobody foresaw: of a plug-in or of another version's
    run, or new in the schema without x-private.
    """
    name, values = "chassis.asset_tag", ("desk-of-jane-7", "desk-of-john-8")
    known = catalogue._schema()
    new: catalogue.Described = {
        "description": "Tag",
        "type": ["string", "null"],
        "x-main": True,
        "x-scope": "cluster",
    }
    if described:
        more = {**known, "properties": {**known["properties"], name: new}}
        monkeypatch.setattr(catalogue, "_schema", lambda: more)
    forget = (catalogue.fact_kinds.cache_clear, catalogue.find_kind.cache_clear)
    for clear in forget:
        clear()
    try:
        assert (catalogue.find_kind(name) is not None) == described
        tags = (Fact(name=name, value=value, source="dmi") for value in values)
        sets = tuple(
            replace(each, facts=(*each.facts, tag))
            for each, tag in zip(RUN.facts, tags, strict=False)
        )
        changed = drift(*(replace(each, target="aks", site="aks") for each in sets[:2]))
        assert any(name in finding.message for finding in changed)
        run = replace(RUN, facts=sets, findings=(*RUN.findings, *changed))
        for format_ in FORMATS:
            for content in render_report(run, make_analysis(run), format_).values():
                assert not [value for value in values if value.encode() in content]
                if format_ != "csv":
                    assert b"c11n" in content or b"Constellation" in content
    finally:
        for clear in forget:
            clear()


def test_observed_differences_stand_beside_established_ones_only() -> None:
    assert [row.name for row in VIEW.differences] == [
        "net.mtu",
        "kernel.release",
        "cpu.user (client), mean of valid trials",
    ]
    undecided = tuple(
        (
            replace(
                c,
                verdict=replace(
                    c.verdict, difference=Difference.NONE_ESTABLISHED, margin=Margin.UNDECIDED
                ),
            )
            if c.verdict and c.verdict.difference
            else c
        )
        for c in ANALYSIS.contrasts
    )
    assert build_view(RUN, replace(ANALYSIS, contrasts=undecided)).differences == ()


def test_identical_targets_have_no_observed_differences() -> None:
    def alike(trial: Trial) -> Trial:
        return replace(trial, usage={})

    facts = tuple(replace(f, facts=RUN.facts[0].facts) for f in RUN.facts)
    assert view_of(facts=facts, trials=tuple(map(alike, RUN.trials))).differences == ()


def test_the_method_says_how_it_was_measured() -> None:
    rows = method_of(VIEW)
    assert rows["Order"].startswith("randomised blocks")
    assert rows["Seed"] == "20230320"
    assert rows["Cool-down"] == "5 s between allocations"
    assert (
        rows["Gates"]
        == "network: min_duration 9 s; storage: min_duration 9 s; vault: min_duration 9 s"
    )
    assert rows["Adjustment"].startswith("Holm over the 3 primary verdicts")
    assert rows["Software: fio"] == "3.33"
    assert rows["Software: benchspec"] == "0.1.0"


def test_warnings_come_first_of_all() -> None:
    method = replace(
        RUN.spec.method,
        mode=Mode.SMOKE,
        order=Order.SEQUENTIAL,
        sessions=1,
        cooldown_s=0.0,
        precision=Precision(half_width=0.01, max_sessions=30),
    )
    view = view_of(spec=replace(RUN.spec, method=method, compare=None), complete=False, resumed=2)
    assert [w.split(":")[0].split(".")[0] for w in view.warnings] == [
        "This was a smoke run",
        "This run was cut short",
        (
            "A claim of the spec is contradicted by what was observed, and the run went on all the"
            " same"
        ),
        "The targets were measured one after the other",
        "There is one session",
    ]
    assert {i.name: i.text for i in view.about}["Resumed"] == "2 times"
    assert "Cool-down" not in method_of(view)
    assert method_of(view)["Precision"] == "half-width 1 %, at most 30 sessions"
    assert method_of(view)["Tests"] == "none: nothing was compared"
    assert (view.baseline, view.summary) == ("", ())


def test_a_run_that_was_cut_short_says_how_much_was_measured() -> None:
    view = view_of(trials=tuple(t for t in RUN.trials if t.session <= 5), complete=False)
    assert view.warnings[0].endswith(
        "until then, 144 of 300 planned trials."
    )  # ten experiments, one of them with four sessions on each side


def test_warnings_and_errors_stand_below_the_summary_by_their_kind() -> None:
    found = [
        Finding(
            code="F501",
            level=FindingLevel.WARNING,
            message="noisy",
            target="aks",
            experiment_id=e.id,
        )
        for e in RUN.experiments[::2]
    ]
    note = Finding(code="F506", level=FindingLevel.NOTE, message="no spread", target="aks")
    cautions = {caution.code: caution for caution in view_of(findings=(*found, note)).cautions}
    assert "F506" not in cautions
    assert cautions["F501"].title == "noisy"
    assert cautions["F501"].about.startswith(
        "AKS, network[path=pod-to-pod]; AKS, network[path=pod-to-service]; AKS,"
        " storage[job=read_iops] and "
    )


def test_results_of_unknown_date_get_none() -> None:
    trials = tuple(replace(trial, started_at=0.0) for trial in RUN.trials)
    view = view_of(trials=trials, manifest={"created_at": "2026-11-02T08:30:00Z"})
    assert {item.name: item.text for item in view.about}["Measured"] == "not recorded"
    assert view.date == "2026-11-02"


def test_a_run_without_trials_still_has_a_page() -> None:
    view = view_of(trials=(), facts=(), manifest={"overrides": ["method.seed=1"]})
    about = {item.name: item.text for item in view.about}
    assert about["Measured"] == "nothing was measured"
    assert about["Overrides"] == "method.seed=1"
    assert view.version == view.spec_sha256 == "not recorded"
    assert view.excluded == ()
    assert method_of(view)["Gates"] == "none"


def test_pinned_roles_are_named_per_target() -> None:
    def pin(cpus: tuple[int, ...]) -> tuple[RolePlace, ...]:
        return (
            RolePlace(role=Role.CLIENT, site="x", cpus=cpus),
            RolePlace(role=Role.SERVER, site="x"),
        )

    experiments = tuple(
        replace(e, roles=pin((0, 1) if e.target == "aks" else ()))
        for e in RUN.experiments
        if e.workload != "vault"
    )
    pinned = {c.target: c.pinned for c in view_of(experiments=experiments).configurations}
    assert pinned == {"c11n": "", "aks": "network: client 0,1. storage: client 0,1"}


def test_a_trial_of_an_unknown_experiment_is_listed() -> None:
    stray = replace(
        RUN.trials[1],
        experiment_id="f" * 64,
        status=TrialStatus.VOID,
        gates=(),
        error="lost",
        error_kind=None,
    )
    bare = replace(stray, sequence=900, error=None)
    excluded = build_view(replace(RUN, trials=(*RUN.trials, stray, bare)), ANALYSIS).excluded
    assert (excluded[-2].target, excluded[-2].cell, excluded[-2].reason) == (
        "unknown",
        "f" * 12,
        "lost",
    )
    assert excluded[-1].reason == "no reason recorded"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (None, None, "unknown"),
        (True, None, "yes"),
        (False, None, "no"),
        (4, None, "4"),
        (2.5, None, "2.5"),
        ("a\n b", None, "a b"),
        ("x" * 300, None, "x" * 239 + "…"),
        ({"b": 1, "a": [1, None]}, None, "a: 1, unknown, b: 1"),
        (16 * 2**30, "B", "16 GiB"),
        (1400, "B", "1400 B"),
        (1.25e9, "bit/s", "1.25 Gbit/s"),
        (3, "1", "3"),
        (3, "cores", "3 cores"),
        (0.5, "cores", "0.5 cores"),
    ],
)
def test_values_on_one_line(value: object, unit: str | None, shown: str) -> None:
    assert write_value(value, unit) == shown  # type: ignore[arg-type]


def test_the_source_of_a_claim_can_be_used_as_it_stands() -> None:
    path = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/write_cache"
    claims = [
        replace(RUN.claims[0], source=source)
        for source in (f"cat {path}", f"{'word ' * 60}end", "x" * 300)
    ]
    shown, cut, unbroken = (
        list_claims(replace(RUN, claims=(claim,)))[0].source for claim in claims
    )
    assert shown == f"cat {path}"
    assert cut == f"{'word ' * 47}word…"
    assert unbroken == f"{'x' * 239}…"


def test_slugs_are_plain_and_differ() -> None:
    slugs = make_slugs(["a[x=1]", "a-x-1", "漢字", "a[x=1]", "!!"])
    assert slugs["a[x=1]"] == "a-x-1"
    assert slugs["漢字"] == "x"
    assert len(set(slugs.values())) == 4
    assert all(c.isascii() and (c.isalnum() or c == "-") for slug in slugs.values() for c in slug)


def test_without_comparisons_bars_are_drawn_instead() -> None:
    view = view_of(
        spec=replace(RUN.spec, compare=None, report=replace(RUN.spec.report, figures=("interval",)))
    )
    assert [f.name for f in view.figures] == [
        "network-bar",
        "storage-bar",
        "storage-bar-2",
        "vault-bar",
    ]


def test_a_third_target_is_told_apart_in_the_ratio_figure() -> None:
    gke = replace(RUN.spec.targets[0], name="gke", title="GKE")
    spec = replace(RUN.spec, targets=(*RUN.spec.targets, gke))
    more = tuple(
        replace(c, target="gke") for c in ANALYSIS.contrasts if c.cell.startswith("network")
    )
    experiments = (
        *RUN.experiments,
        *(
            replace(e, target="gke", id=e.id[::-1] + "0")
            for e in RUN.experiments
            if e.target == "c11n"
        ),
    )
    view = build_view(
        replace(RUN, spec=spec, experiments=experiments),
        replace(ANALYSIS, contrasts=(*ANALYSIS.contrasts, *more)),
    )
    figure = next(f for f in view.figures if f.name == "network-interval")
    assert "GKE, path=pod-to-pod:" in figure.description


@pytest.mark.parametrize("format_", FORMATS)
def test_files_are_written_whole_and_the_same_again(tmp_path: Path, format_: str) -> None:
    files = render_report(RUN, ANALYSIS, format_, tmp_path)
    assert {
        str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()
    } == files
    assert render_report(RUN, ANALYSIS, format_) == files
    write_report(files, tmp_path)
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == len(files)


def test_an_author_template_names_its_page(tmp_path: Path) -> None:
    template = tmp_path / "short.md.j2"
    template.write_text("{{ view.title }}")
    assert next(iter(render_report(RUN, ANALYSIS, template=template).items())) == (
        "short.md",
        b"Constellation against AKS on Azure\n",
    )
    with pytest.raises(UsageError, match="not html"):
        render_report(RUN, ANALYSIS, "html", template=template)


def test_unknown_formats_and_unwritable_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format 'pdf'"):
        render_report(RUN, ANALYSIS, "pdf")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write the report"):
        write_report({"page.md": b""}, tmp_path / "file")
    (tmp_path / "page.md").mkdir()
    with pytest.raises(StorageError):
        write_report({"page.md": b""}, tmp_path)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
