"""How programs of the controller (kubectl, helm) reach a site: a kubeconfig whose current context
is the site's, in the site's namespace.

``KUBECONFIG`` may name several files; the first that has a current context decides, and all others
add to it (https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/).
So credentials stay where they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....engine.model.errors import RunFailed
from ....engine.model.spec import Site
from ..client.kubeconfig import own_kubeconfigs, require_passive
from ..options import Options, read_options

FILE = "benchspec-kubeconfig"
_CONTEXT = "benchspec"


def steer(site: Site, folder: str) -> tuple[Mapping[str, str], Mapping[str, bytes]]:
    """Variables, and files for ``folder``; neither without a kubeconfig: in a pod, programs find
    their service account themselves.

    Raises:
        RunFailed: the kubeconfig has no such context, or is a spec's own and starts a program.
    """
    options = read_options(site)
    if options.kubeconfig:
        require_passive(options.kubeconfig, f"site {site.name}")
    paths = _kubeconfigs(options)
    if not paths:
        return {}, {}
    context = {**_context(options, paths, f"site {site.name}"), "namespace": options.namespace}
    made = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": _CONTEXT,
        "contexts": [{"name": _CONTEXT, "context": context}],
    }
    return {"KUBECONFIG": os.pathsep.join([os.path.join(folder, FILE), *paths])}, {
        FILE: json.dumps(made).encode()
    }


def _kubeconfigs(options: Options) -> list[str]:
    found = [os.path.abspath(options.kubeconfig)] if options.kubeconfig else own_kubeconfigs()
    return [path for path in found if os.path.exists(path)]


def _context(options: Options, paths: list[str], where: str) -> Mapping[str, Any]:
    import yaml

    files = [yaml.safe_load(Path(path).read_bytes()) or {} for path in paths]
    name = options.context or next(
        (file["current-context"] for file in files if file.get("current-context")), None
    )
    for one in (one for file in files for one in file.get("contexts") or []):
        if one["name"] == name:
            return {
                key: one["context"][key] for key in ("cluster", "user") if key in one["context"]
            }
    raise RunFailed(
        f"no context {name!r} in {', '.join(paths)}",
        where=where,
        remedy="correct `context` or `kubeconfig` of the site",
    )
