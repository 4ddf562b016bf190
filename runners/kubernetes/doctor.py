"""Pre-flight findings about a cluster (codes F61x): what would make a run fail, or facts that will
be unknown. Nothing is created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...engine.model.errors import BenchspecError
from ...engine.model.results import Finding, FindingLevel
from ...engine.model.spec import Site
from ...engine.model.text.image_names import is_pinned
from . import rights
from .client.api import Api
from .nodes import facts as nodes
from .options import read_options

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def check(site: Site) -> list[Finding]:
    """Whether the cluster answers, every right of ``benchspec rbac``, its version and nodes, and
    images without a digest.
    """
    try:
        options = read_options(site)
        api = Api(options, f"site {site.name}")
        version = str(api.get("/version").get("gitVersion"))
    except BenchspecError as error:
        return [_finding("F610", FindingLevel.ERROR, str(error))]
    found = [
        _finding(
            "F610",
            FindingLevel.NOTE,
            f"Kubernetes {version} at {api.configuration.host}, namespace {options.namespace}",
        )
    ]
    found += _missing(api, rights.RULES, FindingLevel.ERROR, "the runner cannot work without")
    found += _missing(api, rights.CLUSTER_RULES, FindingLevel.NOTE, "facts stay unknown without")
    ready = nodes.list_nodes(api)
    if ready:
        found.append(
            _finding(
                "F613",
                FindingLevel.NOTE,
                f"{len(ready)} nodes: {', '.join(node['metadata']['name'] for node in ready)}",
            )
        )
    images = sorted(
        {
            own.image
            for own in (options.common, *options.roles.values())
            if own.image and not is_pinned(own.image)
        }
    )
    found += [
        _finding(
            "F614",
            FindingLevel.NOTE,
            f"image {image} has no digest: what it is may change between runs",
        )
        for image in images
    ]
    return found


def _missing(
    api: Api, rules: Sequence[Mapping[str, Any]], level: FindingLevel, why: str
) -> Iterator[Finding]:
    namespace = api.namespace if rules is rights.RULES else ""
    installed = {"", *(group["name"] for group in api.get("/apis").get("groups", []))}
    for verb, group, resource, name in rights.needed(rules):
        if group not in installed:  # what is not there needs no right to be looked at
            continue
        kind, _, sub = resource.partition("/")
        attributes = {
            "namespace": namespace,
            "verb": verb,
            "group": group,
            "resource": kind,
            "subresource": sub,
            "name": name,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        if not api.create(_REVIEWS, body).get("status", {}).get("allowed"):
            right = (
                f"{verb} {resource}" + (f".{group}" if group else "") + (f" {name}" if name else "")
            )
            yield _finding(
                "F614", level, f"{why} the right to {right}: grant what `benchspec rbac` prints"
            )


def _finding(code: str, level: FindingLevel, message: str) -> Finding:
    return Finding(code=code, level=level, message=message)
