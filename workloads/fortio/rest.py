"""fortio asked over its REST interface: a ``fortio server`` beside the role's own files is the load
generator, as in the mesh comparisons of others.

One POSIX-sh program per trial starts the server on a socket of its directory (no port, so nobody
else can use the generator), posts the request, asks for the run's status until it has ended,
fetches the stored result and prints it. Whoever cancels the trial ends all of it, the load too. The
answers on the way are fetched with the result.

Formats: https://github.com/fortio/fortio/wiki/REST-API. All values are strings: fortio takes a
number for nothing, and runs at its defaults.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

SCRIPT = "fortio-rest.sh"
REQUEST = "fortio-request.json"
ANSWERS = ("fortio-started.json", "fortio-status.json")
_FIRST_LOOK_S = 0.5
"""A run that cannot begin has ended by then."""

PROGRAM = rb"""# $1: s to wait after the first look; $2: names of headers whose values are in FORTIO_HEADER_1 and so on; then the server
umask 077
rm -rf fortio.sock fortio-data fortio-started.json fortio-status.json
mkdir fortio-data || exit 1
ask() { curl -q -sS --max-time 60 --noproxy '*' --unix-socket ./fortio.sock "$@"; }
running() { ask "http://fortio/fortio/rest/status?runid=$run" >fortio-status.json && grep -q '"RunID"' fortio-status.json; }

body=$(cat fortio-request.json) || exit 1
body=${body%]\}} n=0 left=$1
for name in $(echo "$2" | tr , ' '); do
n=$((n+1))
eval "value=\$FORTIO_HEADER_$n"
unset "FORTIO_HEADER_$n"
case $body in *\[) ;; *) body=$body, ;; esac
body="$body\"$name: $(printf %s "$value" | sed 's/[\\"]/\\&/g')\""
done
body="$body]}"

shift 2
"$@" >&2 &
server=$!
trap 'kill $server 2>/dev/null; wait; rm -rf fortio.sock fortio-data' EXIT
trap 'exit 143' TERM INT HUP
n=0
until [ -S fortio.sock ] && ask -o /dev/null http://fortio/fortio/rest/status 2>/dev/null; do
n=$((n+1))
kill -0 $server 2>/dev/null && [ $n -lt 600 ] || { echo "fortio server did not come up" >&2; exit 1; }
sleep 0.05
done

printf %s "$body" | ask -H 'Content-Type: application/json' --data-binary @- http://fortio/fortio/rest/run >fortio-started.json || exit 1
run=$(sed -n 's/.*"RunID": *\([0-9]*\).*/\1/p' fortio-started.json)
result=$(sed -n 's/.*"ResultID": *"\([A-Za-z0-9_-]*\)".*/\1/p' fortio-started.json)
[ -n "$run" ] && [ -n "$result" ] || { echo "fortio did not start the run:" >&2; cat fortio-started.json >&2; exit 1; }
sleep 0.5
if running; then sleep "$left"; fi
while running; do sleep 0.2; done
ask -f "http://fortio/fortio/data/$result.json" || { echo "fortio has no result of run $run" >&2; exit 1; }
"""


def argv(
    duration_s: float, secret_headers: Sequence[str], options: Sequence[str]
) -> tuple[str, ...]:
    """The program that asks for one run of ``duration_s``; ``options`` are further ones of the
    server, which all its runs take over.
    """
    others = (
        option
        for name in ("grpc", "tcp", "udp", "redirect")
        for option in (f"-{name}-port", "disabled")
    )
    server = (
        "fortio",
        "server",
        "-http-port",
        "./fortio.sock",
        "-data-dir",
        "fortio-data",
        "-loglevel",
        "critical",
        *others,
        *options,
    )
    return (
        "sh",
        SCRIPT,
        f"{max(0.0, duration_s - _FIRST_LOOK_S):g}",
        ",".join(secret_headers),
        *server,
    )


def request(arguments: Mapping[str, str], headers: Sequence[str]) -> bytes:
    """The body of ``POST /fortio/rest/run``; the headers come last, where the program adds those
    that are secret.
    """
    return json.dumps(
        {**arguments, "async": "on", "save": "on", "headers": list(headers)}, separators=(",", ":")
    ).encode()
