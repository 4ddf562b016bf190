"""fio: operations, data and latency of a file system or a volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import (
    Command,
    Commands,
    Completed,
    PlacedFile,
    Surroundings,
    Tool,
)
from ...engine.model.contract.workload import (
    FeedsGates,
    MeasuresDevices,
    ReadsFiles,
    Workload,
    WritesVolumes,
)
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import documents, quote
from ..shared.quantities import text
from . import job_files as fio_jobs
from . import metrics as fio_metrics
from . import output as fio_output

NAME = "fio"
METRICS: Sequence[Metric] = fio_metrics.METRICS
GATE_INPUTS: Sequence[Metric] = fio_metrics.GATE_INPUTS
ROLES: Sequence[Role] = (Role.CLIENT,)
VOLUMES: Sequence[Role] = (Role.CLIENT,)
DEFAULT_GATES: Mapping[str, float] = {"max_error_ratio": 0.0}
DEVICES = True
JOB_FILE = "job.fio"
OUTPUT = "fio.json"
FOLDER_SCRIPT = "fio-in-own-folder.sh"
IN_OWN_FOLDER = b"""\
# Measures in a folder of its own below $1, so that no file that is there is touched, and removes
# it. $2: fio's output, emptied before anything can fail; the rest: fio and its options.
set -u
: > "$2"
folder=$(mktemp -d "$1/fio.XXXXXX") || exit
trap 'cd / && rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP
shift 2
cd "$folder" && "$@"
"""
"""The script around fio where it measures outside of the work directory."""

_REFUSALS = (b"does not support direct", b"may not support direct", b"Try setting direct=0")


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """fio, from the package of that name."""
    return (
        Tool(
            executable="fio", package="fio", version_argv=("fio", "--version"), roles=(Role.CLIENT,)
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """Operations per second of the first job: reads if it reads, else writes. Raises SpecError for
    parameters without a job.
    """
    if text(parameters, "job_text"):
        return f"iops.read{{job={next(iter(fio_jobs.names(parameters)), '')}}}"
    job = fio_jobs.jobs(parameters)[0]
    if job.settings.get("unified_rw_reporting") is True:
        return f"iops.mixed{{job={job.name}}}"
    direction = "write" if str(job.settings["rw"]) in ("write", "randwrite") else "read"
    return f"iops.{direction}{{job={job.name}}}"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """Ramp and run time of the jobs in s, added where they wait for each other. Writing the files
    beforehand is not counted. Raises SpecError.
    """
    return fio_jobs.length_s(parameters)


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One fio with a job file, its JSON in a file of its own so that notes on stdout do no harm.
    Raises SpecError.

    What is measured is the raw device that the client got; without one, files that are laid out
    below ``directory``, else the target's storage path, in a folder of the trial's own; else in the
    work directory. What ``destroys`` names is measured where it is.
    """
    parameters, workdir = experiment.parameters, surroundings.workdirs[Role.CLIENT]
    device = surroundings.devices.get(Role.CLIENT)
    if device is not None:
        _refuse_files(parameters)
    fio_jobs.require_data(parameters)
    in_place = fio_jobs.in_place(parameters)
    directory = text(parameters, "directory") or text(experiment.storage, "path") or workdir
    output = f"--output={workdir}/{OUTPUT}"  # first: fio empties it before anything can fail
    own_folder = device is None and directory != workdir and not in_place
    argv: tuple[str, ...]
    if own_folder:
        around = ("sh", f"{workdir}/{FOLDER_SCRIPT}", directory, f"{workdir}/{OUTPUT}")
        argv = (*around, "fio", output, "--output-format=json", f"{workdir}/{JOB_FILE}")
    else:
        where = f"--filename={_escaped(device)}" if device else f"--directory={_escaped(directory)}"
        argv = ("fio", output, "--output-format=json", where, f"{workdir}/{JOB_FILE}")
    cpus = next((place.cpus for place in experiment.roles if place.role is Role.CLIENT), ())
    client = Command(
        argv=argv,
        role=Role.CLIENT,
        timeout_s=fio_jobs.deadline_s(parameters),
        fetch=(OUTPUT,),
        cpus=cpus,
    )
    return Commands(
        clients=(client,),
        files=(
            PlacedFile(role=Role.CLIENT, name=JOB_FILE, data=fio_jobs.job_file(parameters)),
            *(
                (PlacedFile(role=Role.CLIENT, name=FOLDER_SCRIPT, data=IN_OWN_FOLDER),)
                if own_folder
                else ()
            ),
        ),
    )


def _escaped(path: str) -> str:
    """fio takes a bare colon for a separator."""
    return path.replace(":", "\\:")


def _refuse_files(parameters: Mapping[str, Json]) -> None:
    """A job that names files would write beside the device, and be taken for a measurement of it.
    Raises SpecError.
    """
    named = fio_jobs.file_options(parameters)
    if named:
        raise SpecError(
            f"found {named[0]} for a volume in block mode, where fio measures the raw device",
            remedy=f"leave out {named[0]}",
        )


def output_files(parameters: Mapping[str, Json]) -> Sequence[str]:
    """The file that holds the JSON."""
    return (OUTPUT,)


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one fio, labelled ``job=NAME``.

    Raises:
        ParseError: fio failed, said nothing, or left out a job that was asked for.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} fio outputs, expected one")
    process = completed[0]
    data = process.files.get(OUTPUT, b"")
    data = data if data.strip() else process.stdout
    said = process.stderr + (b"\n" + data[:4096]).partition(b"\n{")[0]
    if any(refusal in said for refusal in _REFUSALS):
        raise ParseError(
            f"direct I/O is refused there: {quote(said)}",
            remedy="set direct: false, or use a directory on another file system",
        )
    if not data.strip():
        raise ParseError(
            f"fio printed nothing and ended with exit code {process.exit_code}; stderr:"
            f" {quote(process.stderr)}"
        )
    found = fio_output.read(_document(process, data))
    if process.exit_code != 0:
        raise ParseError(
            f"fio ended with exit code {process.exit_code}; stderr: {quote(process.stderr)}"
        )
    measured = {measurement.labels.get("job") for measurement in found}
    if missing := [name for name in fio_jobs.names(parameters) if name not in measured]:
        remedy = (
            "group_reporting makes one of jobs that run at the same time, unless each says"
            " new_group"
        )
        raise ParseError(f"the fio output lacks the job {', '.join(missing)}", remedy=remedy)
    return found


def _document(process: Completed, data: bytes) -> Json:
    """The JSON, or fio's own words when it failed before it wrote any."""
    try:
        found = documents(data, NAME)
    except ParseError as error:
        if process.exit_code == 0:
            raise
        said = quote(process.stderr + b"\n" + data)
        raise ParseError(f"fio ended with exit code {process.exit_code}: {said}") from error
    fio_output.refuse_several_runs(found)
    return found[-1]


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_volumes: WritesVolumes = _this
    _held_files: ReadsFiles = _this
    _held_gates: FeedsGates = _this
    _held_devices: MeasuresDevices = _this
