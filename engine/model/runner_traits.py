"""What the engine knows of a kind of runner before there is a connection, as the runner's schema
declares it (``x-benchspec`` of schemas/runners/KIND.schema.json, or of a plug-in's schema).

It stands in the schema and not in the runner because a spec is checked and planned without
importing runners. What a schema does not declare has a default that promises nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import cast

from .schema_files import find_schema
from .spec import Json
from .text.json_access import mapping, text


class Nodes(StrEnum):
    """What the sites of a runner consist of."""

    ONE = "one"
    """A single machine, which all roles share."""
    HOSTS = "hosts"
    """Hosts that the site's option ``hosts`` names by role."""
    CLUSTER = "cluster"
    """A Kubernetes cluster: pods, Services, storage classes."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Seconds that a transport adds: per connection, per fact capture, per allocation and per
    trial.
    """

    connect_s: float = 1.0
    facts_s: float = 2.0
    allocation_s: float = 5.0
    trial_s: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerTraits:
    """What a kind of runner declares of itself.

    ``ends_old_runs``: its sites end what is older than their option ``ttl``. ``needs_image``: its
    sites have to name the tool image as their option ``image``. ``overhead``: what a plan's
    estimate adds for it.
    """

    nodes: Nodes = Nodes.UNKNOWN
    ends_old_runs: bool = False
    needs_image: bool = False
    overhead: Overhead = Overhead()


@lru_cache(maxsize=64)
def traits_of(kind: str) -> RunnerTraits:
    """The traits of the runner ``kind``; the defaults where nobody brings it, or its schema does
    not declare them.
    """
    schema = find_schema("runners", kind)
    document = cast(Json, json.loads(schema)) if schema is not None else None
    return read_traits(mapping(mapping(document).get("x-benchspec")))


def read_traits(declared: Mapping[str, Json]) -> RunnerTraits:
    """The traits that ``x-benchspec`` of a runner's schema declares; what it declares wrongly is as
    if it were not there.
    """
    nodes = text(declared.get("nodes"))
    seconds = mapping(declared.get("overhead_s"))
    default = Overhead()

    def of(key: str, otherwise: float) -> float:
        value = seconds.get(key)
        usable = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        return float(cast(float, value)) if usable else otherwise

    return RunnerTraits(
        nodes=Nodes(nodes) if nodes in {each.value for each in Nodes} else Nodes.UNKNOWN,
        ends_old_runs=declared.get("ends_old_runs") is True,
        needs_image=declared.get("needs_image") is True,
        overhead=Overhead(
            connect_s=of("connect", default.connect_s),
            facts_s=of("facts", default.facts_s),
            allocation_s=of("allocation", default.allocation_s),
            trial_s=of("trial", default.trial_s),
        ),
    )
