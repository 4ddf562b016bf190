"""Certificates and kubeconfigs, made with openssl. Names and groups:
https://kubernetes.io/docs/setup/best-practices/certificates/.
"""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

from .layout import Layout

_DAYS = "3650"
USERS = {
    "admin": "/O=system:masters/CN=admin",
    "apiserver-kubelet": "/O=system:masters/CN=apiserver-kubelet",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "kube-proxy": "/CN=system:kube-proxy",
}


def make(layout: Layout) -> None:
    """Make whatever is not there yet."""
    directory = layout.state / "pki"
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / "ca.crt").exists():
        _authority(directory)
    names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
    ]
    alternatives = [
        f"IP:{layout.host}",
        f"IP:{layout.first_service}",
        "IP:127.0.0.1",
        *(f"DNS:{name}" for name in names),
    ]
    _certificate(directory, "apiserver", "/CN=kube-apiserver", ",".join(alternatives))
    nodes = {
        layout.node(i): f"/O=system:nodes/CN=system:node:{layout.node(i)}" for i in layout.numbers
    }
    for name, subject in {**USERS, **nodes}.items():
        _certificate(directory, name, subject)
        _kubeconfig(directory, name, layout)


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def _key(path: Path) -> None:
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path))


def _authority(directory: Path) -> None:
    _key(directory / "ca.key")
    _openssl(
        "req",
        "-x509",
        "-new",
        "-key",
        str(directory / "ca.key"),
        "-subj",
        "/CN=benchspec-test-cluster",
        "-days",
        _DAYS,
        "-out",
        str(directory / "ca.crt"),
    )
    _key(directory / "accounts.key")
    _openssl(
        "ec",
        "-in",
        str(directory / "accounts.key"),
        "-pubout",
        "-out",
        str(directory / "accounts.pub"),
    )


def _certificate(directory: Path, name: str, subject: str, alternatives: str = "") -> None:
    key, request, certificate = (directory / f"{name}.{kind}" for kind in ("key", "csr", "crt"))
    if certificate.exists():
        return
    _key(key)
    _openssl("req", "-new", "-key", str(key), "-subj", subject, "-out", str(request))
    extensions = directory / f"{name}.ext"
    extensions.write_text(
        "extendedKeyUsage=clientAuth,serverAuth\n"
        + (f"subjectAltName={alternatives}\n" if alternatives else "")
    )
    _openssl(
        "x509",
        "-req",
        "-in",
        str(request),
        "-CA",
        str(directory / "ca.crt"),
        "-CAkey",
        str(directory / "ca.key"),
        "-CAcreateserial",
        "-days",
        _DAYS,
        "-extfile",
        str(extensions),
        "-out",
        str(certificate),
    )


def _kubeconfig(directory: Path, name: str, layout: Layout) -> None:
    def data(file: str) -> str:
        return base64.b64encode((directory / file).read_bytes()).decode()

    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": layout.name,
        "contexts": [{"name": layout.name, "context": {"cluster": layout.name, "user": name}}],
        "clusters": [
            {
                "name": layout.name,
                "cluster": {
                    "server": f"https://{layout.host}:6443",
                    "certificate-authority-data": data("ca.crt"),
                },
            }
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": data(f"{name}.crt"),
                    "client-key-data": data(f"{name}.key"),
                },
            }
        ],
    }
    path = directory / f"{name}.conf"
    path.write_text(json.dumps(content))  # JSON is YAML
    path.chmod(0o600)
