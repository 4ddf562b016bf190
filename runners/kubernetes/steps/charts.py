"""Helm charts of lifecycle steps: the program's words, which people see, and the guard around them.

A release belongs to the run by a label of its own (``helm upgrade --labels``, since Helm 3.13). One
of that name without the label is somebody else's: it is neither changed nor removed, nor is a
history that somebody kept (``helm uninstall --keep-history``). Flags:
https://helm.sh/docs/helm/helm_upgrade/, https://helm.sh/docs/helm/helm_uninstall/,
https://helm.sh/docs/helm/helm_list/.
"""

from __future__ import annotations

import shutil

from ....engine.model.contract.values import ChartUse
from ....engine.model.errors import MissingTool
from ....engine.model.spec import Site
from ..names import MANAGED_BY, RUN, label_value
from ..options import read_options

# $1 release as a pattern, $2 namespace, $3 label of the run; the rest is what is to be done with it
_LOOK = """p=$1 n=$2 mark=$3
shift 3
found() { helm list --namespace "$n" --filter "$p" --deployed --failed --pending --uninstalling --uninstalled --short "$@"; }
any=$(found) || exit
ours=$(found --selector "$mark") || exit
"""
_INSTALL = f"""{_LOOK}if [ -n "$any" ] && [ -z "$ours" ]; then
echo "there is a release $any already in namespace $n, which this run did not install: remove it, or choose another name (release)" >&2
exit 1
fi
exec "$@"
"""
_REMOVE = f"""{_LOOK}[ -n "$ours" ] || exit 0
"$@" || exit
ours=$(found --selector "$mark") || exit
[ -z "$ours" ] || {{ echo "release $ours is still there" >&2; exit 1; }}
"""


def words(site: Site, use: ChartUse) -> tuple[str, ...]:
    """What helm is told."""
    given, release, namespace = use.arguments, release_of(use), _namespace(site, use)
    # before the step's own, so that helm can say what it waits for
    timeout = f"--timeout={max(1, int(use.timeout_s * 0.95))}s"
    if use.removal:
        return ("helm", "uninstall", f"--namespace={namespace}", "--wait", timeout, "--", release)
    labels = ",".join(f"{key}={value}" for key, value in _labels(use).items())
    return (
        "helm",
        "upgrade",
        "--install",
        *((f"--repo={given['repo']}",) if "repo" in given else ()),
        *((f"--version={given['version']}",) if "version" in given else ()),
        f"--namespace={namespace}",
        *((f"--values={use.values}",) if use.values else ()),
        f"--labels={labels}",
        *(() if given.get("wait") is False else ("--wait",)),
        timeout,
        "--",
        release,
        use.archive or str(given["name"]),
    )


def command(site: Site, use: ChartUse) -> tuple[str, ...]:
    """Helm behind its guard. Raises MissingTool."""
    if shutil.which("helm") is None:
        raise MissingTool(
            "no program 'helm' on the controller",
            remedy="install Helm 3.13 or later (https://helm.sh/docs/intro/install/)",
        )
    pattern = f"^{release_of(use).replace('.', '[.]')}$"
    script, name = (
        (_REMOVE, "benchspec-chart-removal") if use.removal else (_INSTALL, "benchspec-chart")
    )
    return (
        "sh",
        "-c",
        script,
        name,
        pattern,
        _namespace(site, use),
        f"{RUN}={label_value(use.run_id)}",
        *words(site, use),
    )


def release_of(use: ChartUse) -> str:
    """The release's name."""
    return str(use.arguments.get("release", use.name))


def _labels(use: ChartUse) -> dict[str, str]:
    return {**MANAGED_BY, RUN: label_value(use.run_id)}


def _namespace(site: Site, use: ChartUse) -> str:
    return str(use.arguments.get("namespace") or read_options(site).namespace)
