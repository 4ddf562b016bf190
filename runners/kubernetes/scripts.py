"""What is executed in a role's container, as POSIX sh. Arguments are quoted here and nowhere else, and arrive through standard input.

A job's directory: ``pid`` (the wrapper's line of /proc, created exclusively: who creates it runs the program), ``job`` (what was started, JSON, no
secrets), ``stdout``, ``stderr``, ``began`` and ``ended`` (node's clock), ``rc`` (exit code and a newline).
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping, Sequence

from .manifests import JOBS

END = "#benchspec-end"
ENTRY = ("sh", "-c", f's=$(head -c "$1"); case $s in *"{END}") eval "$s" ;; *) exit 97 ;; esac', "benchspec")
"""Takes the number of bytes of the script, and then the script, on standard input: no proxy or audit log sees arguments, and secrets stay out of all.
One that was cut short, since its controller died, is not executed at all."""

TRUNCATED = 97

_PROCESSES = """others() { # sets k to the processes of session or group $1, or marked with $2, but not $3 and this shell
k=
for f in /proc/[0-9]*; do
p=${f#/proc/}
{ [ "$p" = "$3" ] || [ "$p" = "$$" ]; } && continue
{ read -r s <"$f/stat"; } 2>/dev/null || continue
s=${s##*) }
set -- "$1" "$2" "$3" $s
[ "$4" = Z ] && continue
if { [ -n "$1" ] && { [ "$6" = "$1" ] || [ "$7" = "$1" ]; }; } || { [ -n "$2" ] && grep -qzxF -e "$2" "$f/environ" 2>/dev/null; }; then k="$k $p"; fi
done
}
"""

# The wrapper between us and the program; $1 job directory, $2 work directory, $3 node's time to begin at in ns (or empty), $4 the job's id, $5
# whether what it leaves running goes on. Descriptor 3 keeps the program's stderr apart from the shell's own remarks.
WRAPPER = f"""exec 3>&2 2>/dev/null
set -C
read -r s </proc/$$/stat && echo "$s" >"$1/pid" || exit 125
set +C
{_PROCESSES}
d=$1 w=$2 at=$3 j=$4 lasting=$5
shift 5
trap : HUP INT QUIT TERM
over() {{ echo "$1" >"$d/rc.new"; mv "$d/rc.new" "$d/rc"; echo "ended $j" >/proc/1/fd/1; }}
cd "$w" && unset OLDPWD || {{ echo "benchspec: the work directory $w is gone" >&3; over 126; exit 126; }}
if [ -n "$at" ]; then
left=$((at - $(date +%s%N)))
[ $left -le 0 ] || sleep "$((left / 1000000000)).$(printf %09d $((left % 1000000000)))" || {{ over 143; exit 143; }} # cancelled: it never begins
fi
date +%s.%N >"$d/began"
(PATH=$BENCHSPEC_PATH; unset BENCHSPEC_PATH; exec "$@" 2>&3 3>&-)
c=$?
date +%s.%N >"$d/ended"
if [ -z "$lasting" ]; then
others $$ "" ""
if [ -n "$k" ]; then
kill -TERM $k
n=0
while others $$ "" ""; [ -n "$k" ] && [ $n -lt 100 ]; do sleep 0.02; n=$((n+1)); done
[ -z "$k" ] || kill -KILL $k
fi
fi
over $c
"""


def quote(text: str) -> str:
    """One word of a shell's line, whatever it holds."""
    return shlex.quote(text)


def launch(
    job_id: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    workdir: str,
    record: bytes,
    not_before_ns: int | None,
    cpus: Sequence[int],
    lasting: bool,
) -> str:
    """Start a job unless it was started: prints ``attached``, ``missing`` or ``started``. ``env`` holds secrets too; they end up in the
    program's environment and nowhere else."""
    path = env["PATH"]
    exports = "".join(f"export {name}={quote(value)}\n" for name, value in env.items() if name != "PATH")
    pinned = f'set -- taskset -c {",".join(map(str, cpus))} "$@"\n' if cpus else ""
    return f"""d={JOBS}/{quote(job_id)} w={quote(workdir)}
if [ -s "$d/pid" ]; then echo attached; exit 0; fi
set -- {" ".join(map(quote, argv))}
found=
case $1 in
*/*) f=$1; case $f in /*) ;; *) f=$w/$f ;; esac; [ -f "$f" ] && [ -x "$f" ] && found=$f ;;
*) old=$IFS; IFS=:; for p in $(printf %s {quote(path)}); do [ -f "$p/$1" ] && [ -x "$p/$1" ] && {{ found=$p/$1; break; }}; done; IFS=$old ;;
esac
[ -n "$found" ] || {{ echo missing; exit 0; }}
mkdir -p "$d"
echo {base64.b64encode(record).decode()} | base64 -d >"$d/job.$$" && mv "$d/job.$$" "$d/job"
shift
set -- "$found" "$@"
{pinned}infra=$PATH
(
for v in $(env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do unset "$v"; done
{exports}export PATH="$infra" BENCHSPEC_PATH={quote(path)}
exec setsid sh -c {quote(WRAPPER)} benchspec-job "$d" "$w" {not_before_ns or "''"} {quote(job_id)} {"lasting" if lasting else "''"} "$@" \\
</dev/null >>"$d/stdout" 2>>"$d/stderr"
) >/dev/null 2>"$d/launch" </dev/null &
n=0
until [ -s "$d/pid" ] || [ -e "$d/rc" ]; do
n=$((n+1)); [ $n -lt 1000 ] || {{ echo failed; cat "$d/launch"; exit 0; }}
sleep 0.01
done
echo started
"""


def state(job_id: str) -> str:
    """Prints ``none``, ``ended CODE``, ``running`` or ``lost``."""
    return f"""d={JOBS}/{quote(job_id)}
if [ -e "$d/rc" ]; then echo "ended $(cat "$d/rc")"
elif ! [ -s "$d/pid" ]; then echo none
else {_LEADER}
if [ -n "$leader" ]; then echo running; else sleep 0.2; if [ -e "$d/rc" ]; then echo "ended $(cat "$d/rc")"; else echo lost; fi; fi; fi
"""


# sets leader to the wrapper's pid if it still runs: the same pid with the same start time
_LEADER = """read -r s <"$d/pid"; leader=${s%% *}; s=${s##*) }
set -- $s; shift 19; start=$1
{ read -r s <"/proc/$leader/stat"; } 2>/dev/null && { s=${s##*) }; set -- $s; z=$1; shift 19; [ "$1" = "$start" ] && [ "$z" != Z ]; } || leader=
"""


def withdraw(job_id: str) -> str:
    """Take back a job that never began to run, for good, and say its state."""
    return f"""d={JOBS}/{quote(job_id)}
if [ -d "$d" ] && ! [ -s "$d/pid" ]; then
n=0; until [ -s "$d/pid" ] || [ $n -ge 50 ]; do sleep 0.02; n=$((n+1)); done
if (set -C; : >"$d/pid") 2>/dev/null; then rm -rf "$d"; fi
fi
{state(job_id)}"""


def stop(job_id: str, marker: str, grace_s: float) -> str:
    """End a job's whole family, kindly first; the exit code is that of the signal where nobody could write one."""
    return f"""{_PROCESSES}
d={JOBS}/{quote(job_id)} m={quote(marker)}
[ -s "$d/pid" ] || exit 0
had=; [ -e "$d/rc" ] && had=1
{_LEADER}
number=15
others "$leader" "$m" ""
[ -n "$k" ] || exit 0
 kill -TERM $k 2>/dev/null
n=0
while others "$leader" "$m" ""; [ -n "$k" ] && [ $n -lt {round(grace_s * 50)} ]; do sleep 0.02; n=$((n+1)); done
if [ -n "$k" ]; then
number=9
others "$leader" "$m" "$leader"
[ -z "$k" ] || kill -KILL $k 2>/dev/null
n=0
while others "$leader" "$m" ""; [ -n "$k" ] && [ $n -lt 50 ]; do sleep 0.02; n=$((n+1)); done
[ -z "$k" ] || kill -KILL $k 2>/dev/null
fi
if ! [ -e "$d/rc" ]; then echo $((128+number)) >"$d/rc"; [ -e "$d/ended" ] || date +%s.%N >"$d/ended"; echo ended {quote(job_id)} >/proc/1/fd/1; fi
"""


_INSIDE = """inside() { # sets r to the real path of $2 in directory $1, or fails
case $2 in ''|.|/*) return 1 ;; esac
top=$(readlink -f -- "$1") && r=$(readlink -m -- "$1/$2" 2>/dev/null || readlink -f -- "$1/$2") || return 1
case $r in "$top"/*) ;; *) return 1 ;; esac
}
"""


def collect(job_id: str, workdir: str, fetch: Sequence[str]) -> str:
    """Prints one line of sizes (rc, began, ended, job, stdout, stderr, files; -1 for none), then all their bytes. ``outside``: a name leads out."""
    return f"""{_INSIDE}
d={JOBS}/{quote(job_id)}
set --
for n in {" ".join(map(quote, fetch))}; do
inside {quote(workdir)} "$n" || {{ echo outside "$n"; exit 0; }}
set -- "$@" "$r"
done
sizes=
for f in "$d/rc" "$d/began" "$d/ended" "$d/job" "$d/stdout" "$d/stderr" "$@"; do
if [ -f "$f" ] && ! [ -r "$f" ]; then echo unreadable "$f"; exit 0; fi
if [ -f "$f" ]; then sizes="$sizes $(wc -c <"$f")"; else sizes="$sizes -1"; fi
done
echo sizes $sizes
for f in "$d/rc" "$d/began" "$d/ended" "$d/job" "$d/stdout" "$d/stderr" "$@"; do if [ -f "$f" ]; then cat "$f" || exit 1; fi; done
"""


def place(workdir: str, name: str, data: bytes) -> str:
    """Write a file of the work directory: prints ``placed`` or ``outside``."""
    return f"""{_INSIDE}
mkdir -p {quote(workdir)}
inside {quote(workdir)} {quote(name)} || {{ echo outside; exit 0; }}
mkdir -p "$(dirname "$r")" && base64 -d >"$r.new" <<'E' && mv "$r.new" "$r" && [ "$(wc -c <"$r")" -eq {len(data)} ] && echo placed
{base64.encodebytes(data).decode()}E
"""


def read(workdir: str, name: str) -> str:
    """Prints ``read`` and a newline before a file's bytes; ``outside`` or ``absent``."""
    return f"""{_INSIDE}
inside {quote(workdir)} {quote(name)} || {{ echo outside; exit 0; }}
[ -f "$r" ] || {{ echo absent; exit 0; }}
echo "read $(wc -c <"$r")"
cat "$r"
"""


def await_listening(job_id: str, port: int, addresses: Sequence[str], timeout_s: float) -> str:
    """Wait, without connecting, until the port is listened on: prints ``listening``, ``ended CODE`` or ``deaf``, and the end of its stderr."""
    return f"""d={JOBS}/{quote(job_id)}
{_listens(port, addresses)}
limit=$(($(date +%s%N) / 1000000 + {round(timeout_s * 1000)}))
while :; do
if listens; then echo listening; exit 0; fi
if [ -e "$d/rc" ]; then echo "ended $(cat "$d/rc")"; tail -c 2000 "$d/stderr"; exit 0; fi
[ $(($(date +%s%N) / 1000000)) -lt $limit ] || {{ echo deaf; tail -c 2000 "$d/stderr"; exit 0; }}
sleep 0.05
done
"""


def listening(port: int, addresses: Sequence[str]) -> str:
    """Prints ``taken`` if the port is listened on, else ``free``."""
    return f"{_listens(port, addresses)}\nif listens; then echo taken; else echo free; fi\n"


def _listens(port: int, addresses: Sequence[str]) -> str:
    """The kernel's table of sockets (proc_net_tcp): local address and port in hex, state 0A."""
    hosts = "|".join(["00000000", "0" * 32, *addresses])
    return f"""listens() {{ cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -qE '^ *[0-9]+: ({hosts}):{port:04X} [0-9A-F]+:[0-9A-F]+ 0A '; }}"""


def connect(host: str, port: int) -> str:
    """Prints ``accepted`` if a TCP connection is accepted within a second, with whatever the image has for it; ``toolless`` if it has nothing."""
    h, p = quote(host), port
    return f"""if command -v nc >/dev/null; then nc -z -w 1 {h} {p} && echo accepted
elif command -v bash >/dev/null; then timeout 1 bash -c ': </dev/tcp/$0/{p}' {h} 2>/dev/null && echo accepted
elif command -v python3 >/dev/null; then
python3 -c 'import socket as s, sys; s.create_connection((sys.argv[1], int(sys.argv[2])), 1)' {h} {p} 2>/dev/null && echo accepted
else echo toolless; fi; exit 0
"""


def request(host: str, port: int, times: int) -> str:
    """Ask for / over HTTP, each time on a new connection: prints the status of each answer until one does not come; ``toolless`` if it cannot."""
    name = f"[{host}]" if ":" in host else host
    url, asked = quote(f"http://{name}:{port}/"), quote(f"GET / HTTP/1.1\\r\\nHost: {name}\\r\\nConnection: close\\r\\n\\r\\n")
    h, p = quote(host), port
    return f"""if command -v curl >/dev/null; then ask() {{ curl -s -m 2 --noproxy '*' -o /dev/null -w '%{{http_code}}' {url}; }}
elif command -v bash >/dev/null; then
ask() {{ timeout 2 bash -c 'exec 3<>/dev/tcp/$0/{p}; printf %b "$1" >&3; read -r _ s _ <&3 && echo "$s"' {h} {asked} 2>/dev/null; }}
elif command -v nc >/dev/null; then ask() {{ printf %b {asked} | nc -w 2 {h} {p} | {{ read -r _ s _ && echo "$s"; }}; }}
else echo toolless; exit 0; fi
n=0; while [ $n -lt {times} ] && s=$(ask); do echo "$s"; n=$((n+1)); done; exit 0
"""


RECEIVED = "cat /proc/net/snmp 2>/dev/null; exit 0"
"""Prints the kernel's counts of what the pod has received (proc_net_snmp): per protocol a line of names and one of numbers."""
