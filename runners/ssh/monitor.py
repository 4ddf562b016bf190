"""A monitor of a host: a shell that reads /proc at intervals and keeps it in memory; it hands all over when it is told to stop.

Nothing is sent or parsed while a trial runs, and nothing written in one of ordinary length. Names and units of the samples' values: engine/usage.py.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...engine import usage
from ...engine.errors import BenchspecError
from ...engine.ports import Sample
from .host import Host

STOP_TIMEOUT_S = 30.0
KEPT_BYTES = 2**20
"""So much is kept in memory: at a sample a second that of several minutes."""

# $1 interval (s), $2 directory, $3 how many bytes may be kept. Prints "began", and when standard input says or ends anything, all samples: "@UPTIME"
# and the texts. A string that grows for hours would make every sample dearer than the one before: what exceeds $3 goes to a file without a name.
# One sed per sample reads all files; /proc/stat comes last, since it goes on with a number per interrupt, much more than the CPUs' lines.
# The shell cannot wait for a time and for standard input at once: a second one reads, and wakes it by a signal.
MONITOR_SCRIPT = r"""
exec 3<&0
route=$(cat /proc/net/route 2>/dev/null)
dir=$2 most=$3 taken= stop= put=
sleep 0.01 2>/dev/null || case $1 in *.*) set -- 1 ;; esac # a sleep that knows whole seconds only
trap 'stop=1' TERM
trap '' PIPE HUP
{ trap - TERM; read -r _ <&3; kill -TERM $$; } &
take() {
    read -r u _ </proc/uptime
    taken="$taken@$u
$(sed -n -e '/^Mem[TA][ov]/p' -e '/ kB$/d' -e '/^intr /q' -e p /proc/loadavg /proc/net/dev /proc/meminfo /proc/stat 2>/dev/null)
"
    [ "${#taken}" -le "$most" ] || put_away
}
put_away() {
    if [ -z "$put" ]; then
        (umask 077; printf '' >"$dir/samples.$$") 2>/dev/null || { most=$((2 * most)); return; }
        exec 4>>"$dir/samples.$$" 5<"$dir/samples.$$"
        rm -f "$dir/samples.$$"
        put=yes
    fi
    printf %s "$taken" >&4 || put=failed # what was cut short cannot be read
    taken=
}
take
echo began
while :; do
    if [ -z "$stop" ]; then
        sleep "$1" >/dev/null 2>&1 3<&- &
        nap=$!
        [ -n "$stop" ] || wait "$nap"
        [ -z "$stop" ] || kill "$nap" 2>/dev/null
    fi
    take # also when the word came before the first nap
    [ -z "$stop" ] || break
done
printf '%s\n' "$route"
[ "$put" != yes ] || cat <&5
[ "$put" = failed ] || printf '%s\n' "$taken" # the rest of a trial would be taken for the whole
"""


class SshSampler:
    """Samples at the start, every ``interval_s`` and at the stop. ``directory``: the site's. ``cpus``: those a role is pinned to, empty for all.

    A monitor that is lost with its connection costs its samples, never the trial.
    """

    def __init__(self, host: Host, directory: str, interval_s: float, cpus: Sequence[int] = ()) -> None:
        self._cpus = tuple(cpus)
        self._samples: Sequence[Sample] | None = None
        try:
            self._stream = host.stream(MONITOR_SCRIPT, (f"{interval_s:g}", directory, str(KEPT_BYTES)))
        except BenchspecError:
            self._samples = ()

    def ask_to_stop(self) -> None:
        """Tell the monitor to end, and wait for nothing: so that several end together."""
        if self._samples is None:
            self._stream.write(b"\n")

    def stop(self) -> Sequence[Sample]:
        """End sampling and return what was seen (idempotent)."""
        if self._samples is None:
            self.ask_to_stop()
            self._samples = self._read()
        return self._samples

    def _read(self) -> Sequence[Sample]:
        deadline, text = time.monotonic() + STOP_TIMEOUT_S, b""
        try:
            while (piece := self._stream.read(max(0.0, deadline - time.monotonic()))) is not None:
                if not piece and time.monotonic() >= deadline:
                    return ()
                text += piece
        except BenchspecError:
            return ()
        finally:
            self._stream.close()
        return parse(text.decode("ascii", "replace"), self._cpus)


def parse(text: str, cpus: Sequence[int]) -> tuple[Sample, ...]:
    """The samples in what the script printed."""
    head, *parts = text.split("\n@")
    route = head.removeprefix("began\n")
    first: float | None = None
    samples = []
    for part in parts:
        uptime, _, texts = part.partition("\n")
        first = float(uptime) if first is None else first
        # the formats of the files have no line in common, and the first is that of one number: each parser takes its own
        found = usage.Texts(elapsed_s=float(uptime) - first, stat=texts, meminfo=texts, loadavg=texts, net_dev=texts, route=route)
        samples.append(usage.sample(found, cpus))
    return tuple(samples)
