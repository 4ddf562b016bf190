"""An nginx with a small answer from memory, for tools that load a web server."""

from __future__ import annotations

from ...engine.model.contract.values import Command, Endpoint, PlacedFile, Server, Tool
from ...engine.model.spec import Role

TOOL = Tool(
    executable="nginx",
    package="nginx-light",
    version_argv=("nginx", "-v"),
    roles=(Role.SERVER,),
)
_CONFIGURATION = "nginx.conf"
_LIFE_S = 7 * 86400.0


def argv(workdir: str) -> tuple[str, ...]:
    """nginx in the foreground, whose files all lie in its work directory."""
    return ("nginx", "-e", "stderr", "-p", workdir, "-c", _CONFIGURATION)


def server(endpoint: Endpoint, workdir: str, cpus: tuple[int, ...]) -> Server:
    """nginx at ``endpoint``, with the file that :func:`configuration` makes."""
    command = Command(argv=argv(workdir), role=Role.SERVER, timeout_s=_LIFE_S, cpus=cpus)
    return Server(command=command, endpoint=endpoint)


def configuration(endpoint: Endpoint) -> PlacedFile:
    """One small answer from memory; connections are kept, so that requests are measured and not
    handshakes. All files stay below ``-p``.
    """
    listen = f"[::]:{endpoint.port}" if ":" in endpoint.host else str(endpoint.port)
    temporary = "".join(
        f"  {name}_temp_path tmp-{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    data = (
        "daemon off;\npid nginx.pid;\nworker_processes auto;\nevents { worker_connections 4096;"
        f" }}\nhttp {{\n  access_log off;\n{temporary}  keepalive_requests 1000000000;\n "
        f" keepalive_timeout 1h;\n  server {{\n    listen {listen};\n    location / {{ default_type"
        ' text/plain; return 200 "benchspec\\n"; }\n  }\n}\n'
    ).encode()
    return PlacedFile(role=Role.SERVER, name=_CONFIGURATION, data=data)
