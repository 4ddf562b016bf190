"""``benchspec run``."""

from __future__ import annotations

import secrets
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import DIRECTORY, RUNS, SPEC_FILE, Keep, host_keys_option, keep_option, load_and_plan, overrides_option, plan_options
from .terminal import echo

if TYPE_CHECKING:
    from ..engine.execute.step_texts import Scripts
    from ..engine.plan import Plan
    from ..engine.rundir import RunDirectory
    from ..engine.spec import Json, LoadedSpec, Spec


@click.command("run", short_help=VERBS["run"])
@click.argument("spec", type=SPEC_FILE)
@overrides_option
@plan_options
@click.option("--out", type=DIRECTORY, help="The run directory to make.  [default: runs/NAME-TIME]")
@click.option("--yes", "-y", is_flag=True, help="Run the spec's own commands without asking.")
@click.option("--allow-drift", is_flag=True, help="Measure even where the spec's claims are contradicted; the page says so.")
@click.option("--install-tools", is_flag=True, help="Install missing tools with the host's package manager, after saying which.")
@host_keys_option
@keep_option
@click.option("--up", type=DIRECTORY, help="Use what `benchspec up --out` left standing in this directory.  [default: looked for in runs/]")
@click.option("--json-lines", is_flag=True, help="Print events as JSON lines on stdout.")
@click.option("--quiet", "-q", is_flag=True, help="Print the page's path only.")
def command(
    spec: Path,
    overrides: tuple[str, ...],
    only: tuple[str, ...],
    seed: int | None,
    max_experiments: int,
    out: Path | None,
    yes: bool,
    allow_drift: bool,
    install_tools: bool,
    keep: str,
    up: Path | None,
    json_lines: bool,
    quiet: bool,
) -> None:
    """Measure what SPEC says, keep every raw byte, and write a page with figures and verdicts.

    Whatever the spec itself would execute (command workloads, lifecycle steps) is shown first: what, on which host, from which file with which
    sha256. A run that is cut short goes on with `benchspec resume`. The last line printed is the path of the page.

    Targets that `benchspec up` left standing are used as they are, and left standing. Others are brought up and, whatever happens, destroyed,
    unless --keep says otherwise.
    """
    from ..engine.execute.run import Options, find_problems
    from .execution import carry_out, catalogue, refuse_problems
    from .standing import choose_upkeep, upkeep

    loaded, plan = load_and_plan(spec, overrides, seed, only, max_experiments)
    refuse_problems(find_problems(plan, loaded.spec, catalogue()))
    scripts = read_scripts(loaded)
    standing = choose_upkeep(loaded.spec.name, up)
    lines = own_steps(loaded.spec, plan, script_source(loaded.path.parent, scripts), standing)
    confirm([*own_commands(plan), *lines], yes=yes)
    options = Options(allow_drift=allow_drift, install_tools=install_tools)
    with upkeep(loaded, plan, scripts, standing, Keep(keep), json_lines=json_lines, quiet=quiet) as adopted:
        directory = create_directory(loaded, plan, out, scripts=scripts)
        carry_out(directory, loaded.spec, plan, options, json_lines=json_lines, quiet=quiet, adopted=adopted)


def create_directory(
    loaded: LoadedSpec,
    plan: Plan,
    out: Path | None,
    *,
    scripts: Mapping[str, bytes] | None = None,
    purpose: str | None = None,
    imported: Mapping[str, object] | None = None,
) -> RunDirectory:
    """Make the run directory with its fixed files; ``purpose`` tells one of `up` from a run, ``imported`` who measured, ``scripts`` were read."""
    import hashlib

    from .. import __version__
    from ..engine.codec import encode
    from ..engine.rundir import PLAN, RESOLVED, RunDirectory, to_json

    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    resolved, planned = encode(loaded.document), encode(plan)
    manifest = {
        "run_id": f"{loaded.spec.name[:30].rstrip('-')}-{stamp}-{secrets.token_hex(3)}",
        **({"purpose": purpose} if purpose else {}),
        **({"imported": imported} if imported else {}),
        "benchspec": __version__,
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "name": loaded.spec.name,
        "spec_file": loaded.path.name,
        "spec_sha256": hashlib.sha256(loaded.source).hexdigest(),
        "sha256": {RESOLVED: hashlib.sha256(to_json(resolved)).hexdigest(), PLAN: hashlib.sha256(to_json(planned)).hexdigest()},
        "overrides": list(loaded.overrides),
        "seed": plan.seed,
        "python": sys.version.split()[0],
    }
    path = out or RUNS / "-".join([loaded.spec.name, *([purpose] if purpose else []), stamp])
    copied = read_scripts(loaded) if scripts is None else scripts
    template = read_template(loaded)
    return RunDirectory.create(path, manifest=manifest, spec=loaded.source, resolved=resolved, plan=planned, template=template, scripts=copied)


def read_template(loaded: LoadedSpec) -> bytes | None:
    """The bytes of the spec's page template. Raises SpecError when it cannot be read."""
    from ..engine.errors import SpecError

    if loaded.spec.report.template is None:
        return None
    path = loaded.path.parent / loaded.spec.report.template
    try:
        return path.read_bytes()
    except OSError as error:
        raise SpecError(f"report.template cannot be read: {error.strerror}", where=str(path), remedy="name a file beside the spec") from error


def own_commands(plan: Plan) -> Iterator[str]:
    """What the spec itself would execute in this plan, as shell words for reading."""
    shown = set()
    for experiment in plan.experiments:
        if experiment.tool == "command":
            for words in _command_lines(experiment.parameters):
                line = f"{experiment.target}: {words}"
                if line not in shown:
                    shown.add(line)
                    yield line


def _command_lines(parameters: Mapping[str, Json]) -> Iterator[str]:
    """A `command` workload as a shell would have it: environment, program, files; then how its version is asked for."""
    from ..workloads.documents import as_mapping, as_sequence

    argv, version = ([str(word) for word in as_sequence(parameters.get(key))] for key in ("run", "version"))
    env = [f"{name}={shlex.quote(str(value))}" for name, value in as_mapping(parameters.get("env")).items()]
    placed = ", ".join(map(str, as_mapping(parameters.get("files"))))
    yield " ".join([*env, shlex.join(argv)]) + (f"  (beside the spec's files {placed})" if placed else "")
    if version:
        yield f"{shlex.join([argv[0], *version[1:]])}  (for its version)"


def own_steps(spec: Spec, plan: Plan, scripts: Scripts, standing: RunDirectory | None = None) -> Iterator[str]:
    """Every lifecycle step of the plan's targets that would be carried out, for reading; none of what is ``standing`` already."""
    from ..engine.execute.step_order import all_steps
    from ..engine.execute.step_texts import describe_step
    from .execution import catalogue
    from .standing import standing_targets

    already = standing_targets(standing) if standing is not None else ()
    for target in dict.fromkeys(experiment.target for experiment in plan.experiments):
        if target in already:
            yield f"{target}: nothing for the run as a whole, it stands ({standing.path if standing else ''})"
        for own in all_steps(spec.target(target)):
            if target not in already or own.per == "session":
                yield describe_step(own, spec, catalogue().runner, scripts)


def script_source(folder: Path, scripts: Mapping[str, bytes]) -> Scripts:
    """Where the script files of a spec in ``folder`` are, and what is in them."""
    return lambda name: (str((folder / name).resolve()), scripts[name])


def copied_scripts(directory: RunDirectory) -> Scripts:
    """The script files that a run directory keeps."""
    from ..engine.rundir import SCRIPTS

    return lambda name: (str((directory.path / SCRIPTS / name).resolve()), directory.script(name))


def read_scripts(loaded: LoadedSpec) -> dict[str, bytes]:
    """The files of all lifecycle steps by their path beside the spec, folders of charts as archives. Raises SpecError when one cannot be read."""
    from ..engine.errors import SpecError
    from ..engine.execute.chart_archive import read_chart
    from ..engine.execute.step_order import all_steps, chart_archive, chart_source, files_of

    steps = [own.step for target in loaded.spec.targets for own in all_steps(target)]
    scripts = {}
    charts: dict[str, str] = {}
    for step in steps:
        if (archive := chart_archive(step)) and charts.setdefault(archive, chart_source(step)) != chart_source(step):
            found = f"found the charts {charts[archive]} and {chart_source(step)}, which a run would keep as one file, {archive}"
            raise SpecError(found, where=str(loaded.path), remedy="use one of the two, or rename it")
    for name in dict.fromkeys(name for step in steps for name in files_of(step)):
        path = loaded.path.parent / charts.get(name, name)
        try:
            scripts[name] = read_chart(path) if name in charts else path.read_bytes()
        except OSError as error:
            raise SpecError(f"a step's file cannot be read: {error.strerror}", where=str(path), remedy="put the file beside the spec") from error
    return scripts


def confirm(lines: list[str], *, yes: bool) -> None:
    """Show what the spec executes, and ask unless ``yes``.

    Raises:
        UsageError: there is no terminal to ask on.
        click.Abort: the user said no.
    """
    from ..engine.errors import UsageError

    if not lines:
        return
    echo("This spec executes:", err=True)
    for line in lines:
        echo(f"  {line}", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "the spec executes commands of its own, and there is no terminal to ask on", remedy="read them above, then run again with --yes"
        )
    click.confirm("Execute them?", abort=True, err=True)
