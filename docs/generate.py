"""Writes the reference pages of docs/ from the program's own tables: schemas, diagnostic codes,
finding codes, exit codes.

python docs/generate.py           write the pages
python docs/generate.py --check   write nothing; exit 1 and name the pages that are not what would
be written
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from benchspec.engine.facts.catalogue import Scope, fact_kinds
from benchspec.engine.language.help.field_search import named_root, spec_root
from benchspec.engine.language.help.fields import Field, one_line, root
from benchspec.engine.language.rules.catalogue import RULES
from benchspec.engine.model.exit_codes import EXIT_CODES
from benchspec.engine.model.findings import CODES
from benchspec.engine.model.results import Direction
from benchspec.engine.model.schema_files import SUFFIX
from benchspec.engine.model.spec import Json
from benchspec.engine.model.units import UNITS, Dimension, expectation
from benchspec.engine.planning.validity_gates import DEFAULTS, MEASURED
from benchspec.workloads.registry import get_workload

DOCS = Path(__file__).parent
NOTICE = "<!-- Written by docs/generate.py. Edit the schemas or tables it reads, not this page. -->"
BETTER = {Direction.HIGHER: "higher", Direction.LOWER: "lower", Direction.NEITHER: "neither"}
DIAGNOSTIC_GROUPS = {
    "BS0": "The file and its YAML",
    "BS1": "The schema",
    "BS2": "What the sections say about each other",
    "BS3": "Secrets and facts",
}
FINDING_GROUPS = {
    "F1": "Claims and drift",
    "F2": "Placement",
    "F3": "Figures that do not add up",
    "F4": "Documented limits",
    "F5": "Noise and order",
    "F6": "The host and the tools",
}


def main(arguments: Sequence[str]) -> int:
    """Write or check every page; 1 if a checked page is stale."""
    stale = []
    for name, make in PAGES.items():
        path, text = DOCS / name, f"{NOTICE}\n\n{make()}"
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(
            f"docs/{name}:"
            f" {'stale, run `python docs/generate.py`' if '--check' in arguments else 'written'}"
        )
    return 1 if stale and "--check" in arguments else 0


def shipped(room: str) -> tuple[str, ...]:
    """The names with a schema in ``workloads`` or ``runners`` of this package; plug-ins that happen
    to be installed do not count.
    """
    return tuple(
        sorted(
            item.name.removesuffix(SUFFIX)
            for item in files("benchspec.schemas").joinpath(room).iterdir()
            if item.name.endswith(SUFFIX)
        )
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def code(value: Json) -> str:
    """A value as one line of YAML in a code span; nothing for None."""
    return "" if value is None else f"`{one_line(value)}`"


def anchor(path: str) -> str:
    """The id of a section."""
    return path.lower().replace("[]", "-items").replace(".", "-")


def key_of(holder: Field) -> str:
    """What tells apart the mappings that are described once each: the definition they share, else
    their path.
    """
    return min(holder.definitions, default=holder.path)


def holders(holder: Field, seen: set[str]) -> Iterator[Field]:
    """``holder`` and every place below it whose mapping has fields. A definition comes once, at the
    place nearest to the top.
    """
    yield holder
    new = []
    for below in (field.holder() for field in holder.fields()):
        if below.fields() and key_of(below) not in seen:
            seen.add(key_of(below))
            new.append(below)
    for below in new:
        yield from holders(below, seen)


class Reference:
    """The sections of one schema, with links between them."""

    def __init__(self, start: Field, *, hidden: str = "") -> None:
        self._hidden = hidden
        self.sections = list(holders(start, {key_of(start)}))
        self._homes = {key_of(section): section for section in self.sections}

    def text(self, level: int) -> Iterator[str]:
        """All sections as Markdown."""
        for section in self.sections:
            yield (
                f'<a id="{anchor(section.path)}"></a>\n\n{"#" * level}'
                f" `{self.shown(section)}`\n\n{section.description}\n\n"
            )
            yield table(
                ("Field", "Type", "Meaning", "Default", "Example"), map(self._row, section.fields())
            )
            yield "\n"

    def shown(self, field: Field) -> str:
        """The path as a reader writes it."""
        return field.path.removeprefix(self._hidden) or field.path

    def _row(self, field: Field) -> Sequence[str]:
        meaning = " ".join(
            text
            for text in (
                "**Required.**" if field.required else "",
                field.description,
                self._bounds(field),
            )
            if text
        )
        return (
            f"`{field.name}`",
            self._type(field),
            meaning,
            code(field.default),
            code(next(iter(field.examples), None)),
        )

    def _type(self, field: Field) -> str:
        text = ", ".join(map(code, field.values)) or field.kind
        holder = field.holder()
        home = self._homes.get(key_of(holder))
        return f"[{text}](#{anchor(home.path)})" if home is not None and holder.fields() else text

    def _bounds(self, field: Field) -> str:
        return f"({field.bounds})" if field.bounds else ""


def spec_reference() -> str:
    """The spec language, its tools and its runners."""
    parts = [SPEC_INTRODUCTION.format(units=units_table())]
    parts += Reference(spec_root(), hidden="spec.").text(3)
    parts.append(gates_text())
    parts.append(
        "## Tools\n\nWhat a workload's `with` may say, by its `tool`, and the metrics it gives.\n\n"
    )
    for name in shipped("workloads"):
        parts += tool_text(name)
    parts.append(
        "## Runners\n\nWhat a site, or a target's inline `runner`, may say, by its `kind`.\n\n"
    )
    for name in shipped("runners"):
        parts += Reference(named(name)).text(3)
    return "".join(parts).rstrip("\n") + "\n"


def named(name: str) -> Field:
    """The root of a tool's or runner's schema."""
    found = named_root(name)
    return found if found is not None else root(name, {})


def tool_text(name: str) -> Iterator[str]:
    """One tool: its parameters and its metrics."""
    yield from Reference(named(name)).text(3)
    workload = get_workload(name)
    roles = ", ".join(f"`{role.value}`" for role in workload.ROLES)
    yield f"Roles: {roles}.\n\n"
    if workload.METRICS:
        yield table(
            ("Metric", "What", "Unit", "Better"),
            [(f"`{m.name}`", m.title, m.unit, BETTER[m.direction]) for m in workload.METRICS],
        )
        yield "\n"


def units_table() -> str:
    """Every unit by what it measures."""
    by_dimension: Mapping[Dimension, list[str]] = {dimension: [] for dimension in Dimension}
    for unit, (dimension, _) in UNITS.items():
        by_dimension[dimension].append(f"`{unit}`")
    return table(
        ("Kept in", "Write", "Units"),
        [(d.value, expectation(d), " ".join(units)) for d, units in by_dimension.items()],
    )


def gates_text() -> str:
    """Which figure each gate looks at."""
    rows = [(f"`{name}`", f"`{measured}`") for name, measured in MEASURED.items()]
    steal = f"at most {DEFAULTS['max_steal']:.0%} unless the spec says otherwise".replace("%", " %")
    last = (
        "`max_steal` looks at the CPU steal that the monitors saw on every role's node:"
        f" {steal}.\n\n"
    )
    return f"### What gates look at\n\n{table(('Gate', 'Measurement'), rows)}\n{last}"


SPEC_INTRODUCTION = """# Reference of the spec language

A spec is one YAML document. Every key is checked; a key that starts with `x-` is free everywhere. `benchspec explain PATH` prints one entry of this
page, `benchspec schema` prints the JSON Schema (draft 2020-12) that validation uses.

- `NAME` in a path stands for a name of your own, `[]` for the items of a list.
- `${{var:NAME}}` takes a value from `vars`. `${{secret:env:NAME}}`, `${{secret:file:PATH}}` and `${{secret:kubernetes:NAMESPACE/NAME/KEY}}` refer to
  a secret, `${{output:STEP.NAME}}` to what a lifecycle step captured. Nothing else is interpolated; `$${{` is a literal `${{`.
- Only `true` and `false` are booleans. Plain `yes`, `no`, `on` and `off` are an error.
- The axes of `matrix` are combined, those of `zip` advance together. A mapping as an axis value sets its keys and is labelled by its `name`; any
  other value sets the parameter of the axis' name, or `path` or `placement`.

## Quantities

A quantity is a number and a unit, as text. Bits and bytes, decimal and binary prefixes are different units; none is converted silently.

{units}
## The document

"""


def coded(
    title: str,
    introduction: str,
    header: Sequence[str],
    groups: Mapping[str, str],
    rows: Mapping[str, Sequence[str]],
) -> str:
    """A page of tables, one per group of codes."""
    parts = [f"# {title}\n\n{introduction}\n"]
    for prefix, name in groups.items():
        found = [(f"`{key}`", *cells) for key, cells in rows.items() if key.startswith(prefix)]
        if found:
            parts.append(f"\n## {name}\n\n{table(header, found)}")
    return "".join(parts)


def diagnostics() -> str:
    """Everything that can be wrong with a spec."""
    rows = {c: (rule.severity.value, rule.title, rule.explanation) for c, rule in RULES.items()}
    introduction = (
        "What `benchspec validate` can say about a spec. Errors make the exit code 2; warnings and"
        " notes do not, and can be silenced on their\nline with `# benchspec: ignore=CODE`."
        " `benchspec explain CODE` prints one entry."
    )
    return coded(
        "Diagnostics",
        introduction,
        ("Code", "Severity", "What", "Meaning"),
        DIAGNOSTIC_GROUPS,
        rows,
    )


def findings() -> str:
    """Everything a run, its analysis or the doctor can find."""
    rows = {c: (found.title, found.explanation) for c, found in CODES.items()}
    introduction = (
        "Findings stand on the page of a run, or are printed by `benchspec doctor`. A finding"
        " accompanies results and never changes them.\n`benchspec explain CODE` prints one entry."
    )
    return coded("Findings", introduction, ("Code", "What", "Meaning"), FINDING_GROUPS, rows)


def exit_codes() -> str:
    """Every exit code."""
    rows = [(f"`{number}`", found.title, found.explanation) for number, found in EXIT_CODES.items()]
    return (
        "# Exit codes\n\nThey are stable. `benchspec explain exit-5` prints one"
        f" entry.\n\n{table(('Code', 'What', 'Meaning'), rows)}"
    )


def facts() -> str:
    """Every fact that is observed, by what it is about."""
    parts = [FACTS_INTRODUCTION]
    for scope, (title, text) in FACT_SCOPES.items():
        rows = [
            (f"`{fact.name}`", fact.type, fact.unit or "", fact.description)
            for fact in fact_kinds().values()
            if fact.scope is scope
        ]
        parts.append(f"\n## {title}\n\n{text}\n\n{table(('Fact', 'Type', 'Unit', 'What'), rows)}")
    return "".join(parts)


FACTS_INTRODUCTION = """# Facts

What is observed before, during and after a run, without root, each with the command that says it. A fact that cannot be known is "unknown": never an
empty text and never 0. The names may be used in `compare.must_match` and in a target's `facts`. `benchspec explain FACT` prints one entry with its
command.
"""

FACT_SCOPES = {
    Scope.HOST: (
        "Hosts",
        (
            "Seen on every host before the first trial and after the last; a change is a finding."
            " `cvm` facts see more as root. Nothing is asked over\nthe network but a cloud's"
            " metadata service, at its link-local address and only where the DMI tables name that"
            " cloud."
        ),
    ),
    Scope.PATH: (
        "Paths",
        (
            "Seen from each role towards the one it exchanges traffic with, in every allocation on"
            " several hosts. They are about the interface that\nthis traffic takes, whatever the"
            " default route is."
        ),
    ),
    Scope.VOLUME: (
        "Volumes",
        (
            "The directory that is measured (`storage.path`), seen in every allocation of a"
            " workload that writes there."
        ),
    ),
    Scope.CLOCK: ("Clocks", "Measured over the connection to a host, with a bound that holds."),
    Scope.CLUSTER: (
        "Clusters",
        (
            "What the API of a cluster shows of itself, its nodes, and of pods and volumes that"
            " were made. Network plug-ins and meshes are read\nfrom their own objects"
            " ([which](kubernetes.md#facts-of-a-cluster)); the source of each names object and key."
        ),
    ),
    Scope.PROCESSES: (
        "Processes of a run",
        "By what is known what a run started on a host, until all of it has ended.",
    ),
    Scope.CONNECTION: (
        "The way in",
        "How a host was entered over SSH. On no page: it names machines.",
    ),
}


PAGES: Mapping[str, Callable[[], str]] = {
    "spec-reference.md": spec_reference,
    "diagnostics.md": diagnostics,
    "findings.md": findings,
    "facts.md": facts,
    "exit-codes.md": exit_codes,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
