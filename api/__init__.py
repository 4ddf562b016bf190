"""The use cases of benchspec as functions: what each verb of the command line does, for Python.

Nothing here prints, asks or ends the process. Progress goes to an observer
(:class:`benchspec.engine.control.events.Observer`), what must be agreed to goes to a callback, and
every failure is a typed error of :mod:`benchspec.engine.model.errors`.

Each name is imported when it is first used, so that ``import benchspec`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bundles import bundle as bundle
    from .bundles import verify as verify
    from .cleaning import clean as clean
    from .cleaning import clean_all as clean_all
    from .cluster_rights import rbac as rbac
    from .comparison import compare as compare
    from .examination import doctor as doctor
    from .explanation import explain as explain
    from .importing import import_ as import_
    from .indexing import index as index
    from .new_spec import new as new
    from .one_line import bench as bench
    from .one_run import show as show
    from .page_regions import check_docs as check_docs
    from .past_runs import history as history
    from .past_runs import list_ as list_
    from .planning import plan as plan
    from .planning import render_plan as render_plan
    from .removal import rm as rm
    from .reporting import publish as publish
    from .reporting import render as render
    from .reporting import report as report
    from .rows import load as load
    from .runs import resume as resume
    from .runs import run as run
    from .shipped import init as init
    from .shipped import schema as schema
    from .specs import diff as diff
    from .specs import migrate as migrate
    from .specs import validate as validate
    from .targets import down as down
    from .targets import up as up
    from .tool_images import images as images
    from .tool_output import parse as parse

HOMES = {
    "bench": "one_line",
    "bundle": "bundles",
    "check_docs": "page_regions",
    "clean": "cleaning",
    "clean_all": "cleaning",
    "compare": "comparison",
    "diff": "specs",
    "doctor": "examination",
    "down": "targets",
    "explain": "explanation",
    "history": "past_runs",
    "images": "tool_images",
    "import_": "importing",
    "index": "indexing",
    "init": "shipped",
    "list_": "past_runs",
    "load": "rows",
    "migrate": "specs",
    "new": "new_spec",
    "parse": "tool_output",
    "plan": "planning",
    "publish": "reporting",
    "rbac": "cluster_rights",
    "render": "reporting",
    "render_plan": "planning",
    "report": "reporting",
    "resume": "runs",
    "rm": "removal",
    "run": "runs",
    "schema": "shipped",
    "show": "one_run",
    "up": "targets",
    "validate": "specs",
    "verify": "bundles",
}
"""Function to the module that has it."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
