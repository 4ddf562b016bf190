"""The files beside a spec that a run keeps a copy of: scripts, manifests and charts of its
lifecycle steps, and the template of its page.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..model.errors import SpecError
from ..model.spec import LoadedSpec, Step
from .chart_archive import read_chart
from .step.order import all_steps, chart_archive, chart_source, files_of


def read_scripts(loaded: LoadedSpec) -> dict[str, bytes]:
    """The files of all lifecycle steps by their path beside the spec, folders of charts as
    archives. Raises SpecError when one cannot be read.
    """
    steps = [own.step for target in loaded.spec.targets for own in all_steps(target)]
    charts = _charts(loaded.path, steps)
    scripts = {}
    for name in dict.fromkeys(name for step in steps for name in files_of(step)):
        path = loaded.path.parent / charts.get(name, name)
        try:
            scripts[name] = read_chart(path) if name in charts else path.read_bytes()
        except OSError as error:
            raise SpecError(
                f"a step's file cannot be read: {error.strerror}",
                where=str(path),
                remedy="put the file beside the spec",
            ) from error
    return scripts


def _charts(spec: Path, steps: Iterable[Step]) -> dict[str, str]:
    """Where the chart is that a run keeps under a name. Raises SpecError for a name of two."""
    charts: dict[str, str] = {}
    for step in steps:
        archive = chart_archive(step)
        if archive and charts.setdefault(archive, chart_source(step)) != chart_source(step):
            found = (
                f"found the charts {charts[archive]} and {chart_source(step)}, which a run would"
                f" keep as one file, {archive}"
            )
            raise SpecError(found, where=str(spec), remedy="use one of the two, or rename it")
    return charts


def read_template(loaded: LoadedSpec) -> bytes | None:
    """The bytes of the spec's page template; None when it names none. Raises SpecError when it
    cannot be read.
    """
    if loaded.spec.report.template is None:
        return None
    path = loaded.path.parent / loaded.spec.report.template
    try:
        return path.read_bytes()
    except OSError as error:
        raise SpecError(
            f"report.template cannot be read: {error.strerror}",
            where=str(path),
            remedy="name a file beside the spec",
        ) from error
