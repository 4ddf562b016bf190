"""The runners and workloads of this installation, and what a plan asks of them in vain."""

from __future__ import annotations

from ..engine.execution.run import Catalogue, find_problems
from ..engine.model.contract.runner import KeepsHostKeys, Runner
from ..engine.model.errors import Unsupported
from ..engine.model.spec import Spec
from ..engine.planning.plan import Plan
from ..engine.store.directory import RunDirectory
from ..runners.registry import get_runner
from ..workloads.registry import get_workload


def catalogue(
    directory: RunDirectory | None = None, *, accept_new_host_keys: bool = False
) -> Catalogue:
    """The runners and workloads of this installation. Host keys that runners may accept unseen are
    kept in ``directory``.
    """

    def runner(kind: str) -> Runner:
        found = get_runner(kind)
        if isinstance(found, KeepsHostKeys):
            found.keep_host_keys(
                directory.known_hosts_path if directory else None, accept_new=accept_new_host_keys
            )
        return found

    return Catalogue(runner=runner, workload=get_workload)


def require_supported(plan: Plan, spec: Spec) -> None:
    """Refuse a plan that cannot be carried out, before anything is created.

    Raises:
        Unsupported: its notes are the problems, each with what to do about it.
    """
    problems = find_problems(plan, spec, catalogue())
    if not problems:
        return
    error = Unsupported(
        f"{len(problems)} problem{'s' if len(problems) > 1 else ''} found; nothing was created",
        remedy="see above",
    )
    for problem in problems:
        error.add_note(f"cannot run: {problem.message}\n  what to do: {problem.remedy}")
    raise error
