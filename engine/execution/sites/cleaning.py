"""Taking down what a run left up and removing what it left on its sites, without its controller:
`clean`, `down`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...control.events import Observer
from ...control.interrupts import Interrupts
from ...lifecycle.state import Standings
from ...lifecycle.step.places import Runners
from ...lifecycle.targets import Stage
from ...model.spec import Spec
from ...planning.plan import Plan
from ...store.directory import RunDirectory
from ...store.journal import Journal
from ...store.records import CLEANED
from .single_host import Doors
from .sweep import Left, sweep, used_sites


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What cleaning a run did: targets destroyed, leftovers removed; ``problems`` of destroying,
    and what is left.
    """

    destroyed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


def clean(
    directory: RunDirectory,
    spec: Spec,
    plan: Plan,
    runners: Runners,
    journal: Journal,
    observer: Observer,
) -> Cleaned:
    """Carry out the destroy steps of everything the journal says is up, then remove all that is
    left of the run.

    What cannot be done on one host is told, and the rest is done.

    Raises:
        Interrupted: a signal came while a step of a controller before was waited for.
        StorageError: the run directory cannot be written.
    """
    if not journal.records:  # nothing is created before the first record
        return Cleaned()
    destroyed, problems = _destroy(directory, spec, runners, journal, observer)
    swept = sweep(used_sites(spec, plan, runners), runners, directory.run_id)
    left = [{"site": one.site, "what": one.what, "why": one.why} for one in swept.left]
    journal.append(CLEANED, {"removed": list(swept.removed), "left": left})
    return Cleaned(destroyed=destroyed, removed=swept.removed, problems=problems, left=swept.left)


def _destroy(
    directory: RunDirectory, spec: Spec, runners: Runners, journal: Journal, observer: Observer
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    targets = dict.fromkeys(standing.bringing.target for standing in Standings(journal.records).up)
    if not targets:
        return (), ()
    with Interrupts() as interrupts, Doors(runners, directory.run_id) as doors:
        stage = Stage(directory, spec, runners, doors, journal, interrupts, observer)
        stage.recover()
    return tuple(target for target in targets if target not in stage.troubled), tuple(
        stage.problems
    )
