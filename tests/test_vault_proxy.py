"""What stands between fortio and Vault on the test bed, with its own configuration: an nginx that
adds the token, verifies the certificate and hands every answer on as it is.
"""

from __future__ import annotations

import contextlib
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.test_vault import objects

TOKEN = "hvs.a-token-of-the-load"
PATH = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket's address."""
    with tempfile.TemporaryDirectory(prefix="vault-proxy-") as made:
        yield Path(made)


class Answers(BaseHTTPRequestHandler):
    """Keeps what it is asked; redirects at ``/v1/transit/standby``, as a standby does that may not
    forward.
    """

    protocol_version = "HTTP/1.1"
    seen: list[tuple[dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((dict(self.headers), body))
        self.send_response(307 if self.path.endswith("standby") else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[int, type[Answers]]]:
    """A TLS server whose certificate is ``good.crt``: its port, and what keeps the requests."""
    for name in ("good", "other"):
        key = [
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.crt",
        ]
        names = ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost"]
        subprocess.run(
            ["openssl", "req", "-x509", *key, *names], cwd=folder, check=True, capture_output=True
        )
    handler = type("Handler", (Answers,), {"seen": []})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "good.crt", folder / "good.key")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, handler
        server.shutdown()


@contextlib.contextmanager
def proxy(folder: Path, port: int, authority: str) -> Iterator[None]:
    """The nginx of the manifest before that port, on a socket of the folder instead of a port."""
    (folder / "token.conf").write_text(f'proxy_set_header X-Vault-Token "{TOKEN}";\n')
    (folder / "ca.crt").write_bytes((folder / authority).read_bytes())
    text = objects("proxy.yaml")["ConfigMap", "vault-proxy"]["data"]["nginx.conf"]
    for old, new in (
        ("/tmp/", f"{folder}/"),
        ("/secret/", f"{folder}/"),
        ("127.0.0.1:8100", f"unix:{folder}/in"),
        ("8101", f"unix:{folder}/up"),
        ("vault-active:8200", f"127.0.0.1:{port}"),
        ("vault-active", "localhost"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    (folder / "nginx.conf").write_text(text)
    with (
        (folder / "nginx.log").open("w") as log,
        subprocess.Popen(
            ["nginx", "-e", "stderr", "-c", folder / "nginx.conf"], stderr=log, env=PATH
        ) as nginx,
    ):
        try:
            deadline = time.monotonic() + 60
            while not (folder / "nginx.pid").exists():  # made once it listens
                assert nginx.poll() is None, (folder / "nginx.log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield
        finally:
            nginx.terminate()


def post(folder: Path, path: str) -> str:
    """The status of the answer to one request."""
    curl = (
        f"curl -q --silent --max-time 30 --unix-socket {folder}/in --output {folder}/answer"
        " --write-out %{http_code} --data payload".split()
    )
    return subprocess.run(
        [*curl, f"http://vault{path}"], capture_output=True, text=True, check=True
    ).stdout


def test_it_adds_the_token_and_hands_redirects_on(folder: Path) -> None:
    with serving(folder) as (port, answers), proxy(folder, port, "good.crt"):
        assert post(folder, "/v1/transit/encrypt/aes") == "200"
        assert post(folder, "/v1/transit/standby") == "307"
        assert post(folder, "/v1/sys/seal") == "404"  # not one of the paths that are measured
    assert len(answers.seen) == 2
    for headers, body in answers.seen:
        assert headers["X-Vault-Token"] == TOKEN
        assert headers["X-Vault-No-Request-Forwarding"] == "true"
        assert body == b"payload"
    assert TOKEN not in (folder / "nginx.log").read_text()


def test_it_asks_nobody_whose_certificate_another_signed(folder: Path) -> None:
    with serving(folder) as (port, answers), proxy(folder, port, "other.crt"):
        assert post(folder, "/v1/transit/encrypt/aes") == "502"
    assert answers.seen == []
