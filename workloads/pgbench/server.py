"""The PostgreSQL server of a trial: made by a script in a folder that ends with it.

PostgreSQL refuses to run as root, and work directories are nobody else's: as root the script goes
into a user namespace, in which it is another user whose files are root's outside. Whoever reaches
the server is let into one database as its owner, who is no superuser: no file or program of the
host is in reach.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...engine.model.errors import SpecError
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping
from ..shared.quantities import integer

SCRIPT = "pgbench-server.sh"
SETTINGS = "pgbench-server.conf"
USER = "bench"
DATABASE = "bench"

PROGRAM = b"""\
# Makes a server below the folder $1, and runs it on port $2 with the settings beside this.
set -eu
if [ "$(id -u)" = 0 ]; then
    unshare --user --map-user=1000 --map-group=1000 true || {
        echo "PostgreSQL refuses to run as root, and this host gives root no user namespace" >&2
        exit 1
    }
    exec unshare --user --map-user=1000 --map-group=1000 sh "$0" "$@"
fi
if ! command -v initdb >/dev/null; then # Debian keeps the programs of every version apart
    for folder in $(printf '%s\\n' /usr/lib/postgresql/*/bin | sort -rV); do
        [ ! -x "$folder/initdb" ] || { PATH=$folder:$PATH; break; }
    done
fi
command -v initdb >/dev/null || {
    echo "found no initdb, expected a PostgreSQL server" >&2
    exit 1
}
data=$(mktemp -d "$1/pgbench.XXXXXX")
server=
trap 'rm -rf "$data"' EXIT
trap '[ -z "$server" ] || kill -QUIT "$server" 2>/dev/null; wait; exit 143' TERM INT HUP
initdb -D "$data" -U benchspec --auth=reject --encoding=UTF8 --no-locale --no-sync >&2
echo 'host bench bench all trust' >"$data/pg_hba.conf"
cat pgbench-server.conf >>"$data/postgresql.conf"
printf 'CREATE ROLE bench LOGIN;\\nCREATE DATABASE bench OWNER bench;\\n' |
    postgres --single -D "$data" postgres >&2
postgres -D "$data" -p "$2" &
server=$!
wait "$server"
"""

_OURS = ("port", "listen_addresses", "data_directory", "unix_socket_directories")
_EXECUTED = ("_command", "_libraries", "_library", "_file", "_directory", "_directories")


def settings(parameters: Mapping[str, Json]) -> bytes:
    """What stands in the server's configuration besides its defaults.

    Raises:
        SpecError: a setting that would move the server, or make it run or read something else.
    """
    given = {
        name: value
        for name, value in as_mapping(parameters.get("settings")).items()
        if not name.startswith("x-")
    }
    if taken := [name for name in given if name in _OURS or name.endswith(_EXECUTED)]:
        raise SpecError(
            f"settings: found {', '.join(taken)}, expected settings that neither move the server"
            " nor name programs and files"
        )
    connections = max(100, integer(parameters, "clients", 1) + 20)
    made: Mapping[str, Json] = {"max_connections": connections, **given}
    lines = [f"{name} = '{_text(value)}'\n" for name, value in made.items()]
    return "".join(["listen_addresses = '*'\nunix_socket_directories = ''\n", *lines]).encode()


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value).replace("\\", "\\\\").replace("'", "''")
