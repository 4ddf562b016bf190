"""What semantic rules look at: a document that may still be wrong in any way, read with accessors
that give nothing instead of failing.

All problems of a spec are reported at once, so a rule must live with values of every type; what has
the wrong type is the schema's to report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView, Mapping
from datetime import date
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from ...model.diagnostics import Path as DocumentPath
from ...model.diagnostics import Problem
from ...model.runner_traits import Nodes, traits_of
from ...model.spec import Json, Role
from ...model.text.json_access import items, mapping, text
from ..build_target import is_control_plane
from ..interpolation import Reference, runtime_references, texts
from ..schema.fast_validator import resolve
from ..schema.registry import SchemaCheck, workload_schema

Check: TypeAlias = "Callable[[View], Iterator[Problem]]"
"""One or more coded rules: what is wrong with a document."""

ROLES = frozenset(role.value for role in Role)
LIFECYCLE_PARTS = ("bootstrap", "ready", "destroy")


class Tool:
    """What a tool's schema says about the tool (``x-benchspec``): roles, metrics, and which
    parameters add up to its duration.

    ``declares`` names the parameter that declares metrics, ``secrets`` those that may hold
    references to secrets (None: the schema does not say), ``destroys`` those that name a file which
    may be there already. ``fields`` are the schemas of the parameters.
    """

    def __init__(self, schema: SchemaCheck) -> None:
        about = mapping(schema.document.get("x-benchspec"))
        self.roles = tuple(map(text, items(about.get("roles"))))
        self.metrics = tuple(map(text, items(about.get("metrics"))))
        self.duration = tuple(map(text, items(about.get("duration"))))
        self.declares = text(about.get("declares"))
        self.secrets = (
            None if "secrets" not in about else frozenset(map(text, items(about.get("secrets"))))
        )
        self.destroys = mapping(about.get("destroys"))
        self._document = schema.document
        self.fields = {
            name: mapping(field)
            for name, field in mapping(schema.document.get("properties")).items()
        }

    def parameter(self, parameters: Mapping[str, Json], name: str) -> Json:
        """The value of parameter ``name``, or the schema's default."""
        field = self.fields.get(name, {})
        shared = (
            mapping(resolve(self._document, text(field["$ref"])))
            if text(field.get("$ref")).startswith("#/")
            else {}
        )
        return parameters.get(name, field.get("default", shared.get("default")))


class View:
    """One document with where it lies and today's date. ``folder`` is None when the document was
    not read from a file.
    """

    def __init__(self, document: Mapping[str, Json], folder: Path | None, today: date) -> None:
        self.document = document
        self.folder = folder
        self.today = today
        self.targets = {
            name: mapping(target) for name, target in mapping(document.get("targets")).items()
        }
        self.workloads = {
            name: mapping(workload) for name, workload in mapping(document.get("workloads")).items()
        }
        self.sites = mapping(document.get("sites"))
        self.method = mapping(document.get("method"))
        self.compare = mapping(document.get("compare"))

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tool of every workload whose tool is known, by the workload's name."""
        schemas = {
            name: workload_schema(text(workload.get("tool")))
            for name, workload in self.workloads.items()
        }
        return {name: Tool(schema) for name, schema in schemas.items() if schema is not None}

    @cached_property
    def texts(self) -> list[tuple[DocumentPath, str]]:
        """Every text of the document with its path, in order."""
        return texts(self.document)

    @cached_property
    def references(self) -> list[Reference]:
        """Every secret and output reference of the document, in order."""
        return list(runtime_references(self.texts))

    def targets_of(self, workload: str) -> KeysView[str]:
        """The names of the targets that ``workload`` runs on, in the order of the targets."""
        return self._targets_of[workload].keys()

    @cached_property
    def _targets_of(self) -> dict[str, dict[str, None]]:
        found = {}
        for workload, about in self.workloads.items():
            only = about.get("targets")
            named = {text(name) for name in items(only)}
            found[workload] = dict.fromkeys(
                name for name in self.targets if only is None or name in named
            )
        return found

    def site_options(self, target: str) -> list[Mapping[str, Json]]:
        """The places of ``target`` as mappings with a kind: its runner, or each of its sites
        once.
        """
        found = self.targets[target]
        if "runner" in found:
            runner = found["runner"]
            return [{"kind": runner} if isinstance(runner, str) else mapping(runner)]
        names = dict.fromkeys(text(site) for site in mapping(found.get("sites")).values())
        return [mapping(self.sites[name]) for name in names if name in self.sites]

    def kinds(self, target: str) -> frozenset[str]:
        """The kinds of runner ``target`` is reached by."""
        return frozenset(text(options.get("kind")) for options in self.site_options(target))

    def hosts(self, target: str, site: str = "") -> dict[str, str]:
        """The hosts that sites of ``target`` (or the one of them called ``site``) name, by role;
        empty if none is known.
        """
        inline, placed = (
            self.targets[target].get("runner"),
            mapping(self.targets[target].get("sites")),
        )
        found: dict[str, str] = {}
        for role in sorted(ROLES):
            name = target if inline is not None else text(placed.get(role, placed.get("any")))
            options = mapping(inline if inline is not None else self.sites.get(name))
            host = mapping(mapping(options.get("hosts")).get(role))
            named = traits_of(text(options.get("kind"))).nodes is Nodes.HOSTS
            if host and named and site in ("", name):
                found[role] = text(host.get("host"))
        return found

    def without_kubernetes(self, target: str) -> bool:
        """Whether every place of ``target`` is known to be no cluster."""
        nodes = self._nodes(target)
        return bool(nodes) and nodes <= {Nodes.ONE, Nodes.HOSTS}

    def on_one_machine(self, target: str) -> bool:
        """Whether all roles of ``target`` are known to share a machine."""
        return self._nodes(target) == {Nodes.ONE}

    def _nodes(self, target: str) -> frozenset[Nodes]:
        return frozenset(traits_of(kind).nodes for kind in self.kinds(target))

    def groups(self, target: str) -> dict[str, Mapping[str, Json]]:
        """The node groups of ``target`` on which something is measured: all but the control
        plane.
        """
        found = {
            name: mapping(group)
            for name, group in mapping(self.targets[target].get("topology")).items()
        }
        return {
            name: group
            for name, group in found.items()
            if not is_control_plane(name, tuple(map(text, items(group.get("roles")))))
        }

    def lifecycles(self) -> Iterator[tuple[str, DocumentPath, Mapping[str, Json]]]:
        """Every lifecycle with its target and path, in the order in which they run."""
        for name, target in self.targets.items():
            for index, component in enumerate(items(target.get("components"))):
                yield (
                    name,
                    ("targets", name, "components", index, "lifecycle"),
                    mapping(mapping(component).get("lifecycle")),
                )
            yield name, ("targets", name, "lifecycle"), mapping(target.get("lifecycle"))

    def steps(self) -> Iterator[tuple[str, DocumentPath, Mapping[str, Json]]]:
        """Every step with its target and path, in the order in which they run: all that is
        installed before anything is removed.
        """
        for name, lifecycles in groupby(self.lifecycles(), lambda found: found[0]):
            of_target = list(lifecycles)
            for part in LIFECYCLE_PARTS:
                for _, path, lifecycle in of_target:
                    for index, step in enumerate(items(lifecycle.get(part))):
                        yield name, (*path, part, index), mapping(step)
