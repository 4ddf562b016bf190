"""The objects of a manifest: YAML documents, read without anything that YAML can do beyond plain
data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ...model.errors import RunFailed
from ...model.spec import Json

_NEEDED = ("apiVersion", "kind", "metadata.name")


def read_objects(data: bytes) -> tuple[Mapping[str, Json], ...]:
    """The objects in ``data``, in order; those of a List one by one.

    Raises:
        RunFailed: it is not YAML, refers to itself (aliases can grow without end), or holds what is
            no object.
    """
    import yaml

    try:
        if any(
            isinstance(event, yaml.AliasEvent) for event in yaml.parse(data, Loader=yaml.SafeLoader)
        ):
            raise RunFailed(
                "found an alias (*name) in a manifest, expected objects that are written out"
            )
        documents = list(yaml.load_all(data, Loader=_loader()))
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        raise RunFailed(f"the manifest is no YAML: {str(error)[:300]}") from error
    found = tuple(
        one for document in documents if document is not None for one in _objects(document)
    )
    if not found:
        raise RunFailed("found no object in the manifest")
    return found


def _loader() -> Any:
    """YAML's plain loader, for which a date is a text, as it is for Kubernetes."""
    import yaml

    found = yaml.SafeLoader.yaml_implicit_resolvers.items()
    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in found
    }
    return type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})


def _objects(document: object) -> Iterator[Mapping[str, Json]]:
    if (
        isinstance(document, Mapping)
        and document.get("kind") == "List"
        and isinstance(document.get("items"), list)
    ):
        for one in document["items"]:
            yield from _objects(one)
        return
    given = document if isinstance(document, Mapping) else {}
    metadata = given.get("metadata")
    values = (
        given.get("apiVersion"),
        given.get("kind"),
        metadata.get("name") if isinstance(metadata, Mapping) else None,
    )
    missing = [
        name
        for name, value in zip(_NEEDED, values, strict=True)
        if not isinstance(value, str) or not value
    ]
    if missing:
        raise RunFailed(f"found an object without {', '.join(missing)} in the manifest")
    if any(re.search(r"[/%?#]|^\.\.?$", str(value)) for value in values[1:]):
        raise RunFailed(
            f"found {values[1]} {values[2]!r} in the manifest, expected names without '/'"
        )
    yield cast("Mapping[str, Json]", given)
