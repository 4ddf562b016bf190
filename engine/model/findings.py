"""The table of finding codes: what each means and what to do about it. ``benchspec explain`` and
docs/findings.md print it.

A finding accompanies results and never changes them; the level (note, warning, error) stands with
each finding, since one code may have several. The first digit groups them: F1xx claims and drift,
F2xx placement, F3xx trials that do not add up, F4xx documented limits, F5xx noise and order, F6xx
the host and the tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingCode:
    """One code: a title of a few words, and an explanation with what to do."""

    title: str
    explanation: str


def _code(title: str, explanation: str) -> FindingCode:
    return FindingCode(title=title, explanation=explanation)


CODES: Mapping[str, FindingCode] = {
    "F101": _code(
        "a claim is contradicted",
        "A fact observed on the target differs from what the spec declares. `run` stops before"
        " anything is measured and exits with 5; with --allow-drift it goes on, and the page shows"
        " the declared value beside the observed one. Correct the spec, or the target.",
    ),
    "F102": _code(
        "a fact changed during the run",
        "A fact that should stay as it is was observed with another value later in the same run: a"
        " governor, an MTU, a kernel parameter. Trials before and after it were not measured under"
        " the same conditions. Find out who changed it, and measure again.",
    ),
    "F103": _code(
        "the host was restarted",
        "The boot id changed during the run. Sessions before and after the restart ran on"
        " differently warmed hosts, and jobs that ran at the time are lost.",
    ),
    "F104": _code(
        "another machine",
        "The machine id changed during the run: later trials ran on another machine than earlier"
        " ones. Do not compare them.",
    ),
    "F105": _code(
        "a node came or went",
        "A node of a site was observed at one moment of the run and not at another. Roles may have"
        " run on other machines before than after. Find out what became of it; the trials"
        " themselves say on which nodes their roles were.",
    ),
    "F106": _code(
        "a confidential VM could not be seen",
        "The spec claims a confidential VM, and nothing could be observed either way: often the"
        " kernel log cannot be read without root, or its start is gone. Unknown is no confirmation."
        " The finding says what could not be looked at; run as root, or log in to the nodes and"
        " look.",
    ),
    "F201": _code(
        "roles are not placed as asked",
        "Client and server are not on nodes as the spec's `placement` wants them: two names that"
        " are one machine (the same machine id) under across-nodes, two machines under same-node,"
        " or a machine that does not say which one it is. Nothing is measured, and `run` exits with"
        " 5; --allow-drift does not change that. Put the roles on other nodes, or state another"
        " `placement`.",
    ),
    "F202": _code(
        "a role moved during a trial",
        "Where the roles are is asked before and after every trial. In some trials they were not"
        " where the spec wants them all the time, or not on the same nodes: a pod was rescheduled,"
        " an address came to mean another host. These trials are invalid and enter no statistic.",
    ),
    "F301": _code(
        "clients did not start together",
        "The clients of one trial begin at a common instant. In some valid trials they began more"
        " than 100 ms apart, so for that long fewer of them measured than should. Look for hosts"
        " that are slow to start programs, lengthen the trials, or use the monitors' figures to"
        " judge.",
    ),
    "F351": _code(
        "percentiles out of order",
        "In some valid trials a lower percentile (or the minimum) lies above a higher one (or the"
        " maximum). That cannot be, so at least one figure is not what its name says. Look at the"
        " raw output of the trials that are named.",
    ),
    "F352": _code(
        "a mean outside its range",
        "In some valid trials the mean lies below the minimum or above the maximum of the same"
        " series. Look at the raw output of the trials that are named.",
    ),
    "F353": _code(
        "data rate is not operations times block size",
        "The data rate must equal the operation rate times the block size `bs`, within 2 %. It does"
        " not in some valid trials: the tool ran with another block size than the spec says, or one"
        " of the figures is wrong.",
    ),
    "F354": _code(
        "more operations in flight than the queue holds",
        "By Little's law the operation rate times the mean latency is the mean number of operations"
        " in flight. It exceeds iodepth times numjobs by more than 5 % in some valid trials, so"
        " rate, latency or depth is not what it seems.",
    ),
    "F355": _code(
        "faster than the link",
        "A throughput between two nodes exceeds the observed speed of the link by more than 5 %."
        " Usually both ends were on one node, or the figure is not goodput.",
    ),
    "F401": _code(
        "limit-bound",
        "The result lies at a documented limit: between 98 % of the attainable sustained rate and"
        " 105 % of it. The limit explains the result, not the software. If both sides of a"
        " comparison are limit-bound no verdict is given; if one is, the ratio is only a bound.",
    ),
    "F402": _code(
        "on burst credit",
        "The result lies above the sustained rate of a documented limit and within 105 % of its"
        " burst rate: it ran on burst credit and would not last. From 94 % of the burst rate on the"
        " limit explains the result and it counts as limit-bound; below that it does not. Measure"
        " for longer than the credit lasts.",
    ),
    "F403": _code(
        "above the documented limit",
        "The result exceeds the attainable burst rate of a documented limit by more than 5 %."
        " Candidate causes are a cache in the path, both ends on one node, a larger disk or machine"
        " than documented, or a limit that is a guarantee and not a cap. Check the limit and its"
        " source.",
    ),
    "F404": _code(
        "near a documented limit, not decided",
        "The interval of the sessions spans a border of the rule about documented limits, or the"
        " sessions vary by more than 10 %. Whether the limit explains the result is not decided,"
        " and the result does not count as limit-bound. Measure more sessions, or quieter ones.",
    ),
    "F405": _code(
        "above what was held attainable",
        "The result exceeds by more than 5 % what the MTU and the encapsulations of the path leave"
        " of a documented limit, and lies within the limit itself. So the limit is not exceeded:"
        " the MTU or the headers are not those that were reckoned with, an assumed MTU first of"
        " all. At 94 % of the documented rate and above it counts as limit-bound.",
    ),
    "F501": _code(
        "noisy",
        "The coefficient of variation of the session values is above 10 %. Intervals are wide. Look"
        " for what else runs on the host, pin CPUs, or plan more sessions.",
    ),
    "F502": _code(
        "outliers",
        "Sessions whose modified z score exceeds 3.5 (Iglewicz and Hoaglin). They stay in the"
        " result; the finding says what the result is without them, and the CPU steal in those"
        " sessions where it was noticeable.",
    ),
    "F503": _code(
        "two modes",
        "The values of the trials fall into two groups, so a mean describes neither. A frequent"
        " cause is where the scheduler puts client and server: pin them with `cpus`.",
    ),
    "F504": _code(
        "drift over the sessions",
        "The session values rise or fall over the run (Mann-Kendall, p < 0.01). In randomised"
        " blocks a drift widens intervals and does not fake a difference; in sequential order it"
        " may.",
    ),
    "F505": _code(
        "autocorrelated sessions",
        "A session's value predicts the next one (lag-1 r above 0.2), so the sessions are worth"
        " fewer independent ones; the finding says how many. Lengthen `method.cooldown`, or plan"
        " more sessions.",
    ),
    "F506": _code(
        "no spread",
        "All sessions gave exactly the same value. Either the tool rounds coarsely, or something is"
        " not measured afresh. Intervals of zero width say nothing.",
    ),
    "F507": _code(
        "one allocation",
        "There is one session, so the interval covers the trials within it and not a new"
        " allocation. Plan at least five sessions for a verdict.",
    ),
    "F508": _code(
        "arithmetic mean instead of the geometric one",
        "The metric is summarised by its geometric mean, but a value of 0 or less has no logarithm."
        " The arithmetic mean stands in for this series.",
    ),
    "F510": _code(
        "order confounded",
        "The targets were measured one after the other (`order: sequential`). Whatever changed in"
        " the meantime looks like a difference between them. Use `order: blocks` where the set-up"
        " allows it.",
    ),
    "F511": _code(
        "test-dependent",
        "The t test and the rank test disagree on whether there is a difference. Do not rest"
        " anything on this verdict alone; more sessions usually settle it.",
    ),
    "F512": _code(
        "invalid trials left out",
        "Some measured trials failed a validity gate or gave no result. They are kept and listed,"
        " and are in no statistic; the finding says what the result would be with those that gave a"
        " value.",
    ),
    "F513": _code(
        "ambiguous primary series",
        "The primary metric has several series, such as one per fio job, and the spec does not say"
        " which carries the verdict. Name one with its labels under `primary`, as in"
        " iops.read{job=a}.",
    ),
    "F514": _code(
        "targets failed unequally",
        "The targets of a comparison lost different shares of their trials for good. What is left"
        " of the worse one may be its better part: a verdict from those that survived is not the"
        " one that was asked for. Beyond 20 percentage points none is given. Failures of the"
        " workload are never measured again; find out what fails. Those from outside are, by"
        " `benchspec resume`.",
    ),
    "F515": _code(
        "the clock was set during the run",
        "The controller's wall clock moved against the clock that cannot be set, or the machine"
        " slept. Durations are not affected; times of day, and what is matched by them with other"
        " logs, are. Let a time service slew the clock, and keep the machine awake.",
    ),
    "F517": _code(
        "sessions without a partner",
        "Sessions are compared block by block. Some sessions of one side have no valid trial on the"
        " other side; they are left out of the comparison, and stand in the table of each target."
        " The sentence says what the means are over the sessions that were compared.",
    ),
    "F518": _code(
        "valid trials without the figure",
        "Some trials passed every gate and did not report the primary metric. They are valid for"
        " what they did report; the primary figures rest on the others alone. Look at the raw"
        " output of one of them.",
    ),
    "F520": _code(
        "a setting of the host that adds noise",
        "Frequency scaling, turbo, simultaneous multithreading, memory settings or a drifting clock"
        " make repeated measurements scatter more, or favour whoever runs on a cool CPU. The"
        " message names the setting and how to change it. Results stay valid; intervals get wider.",
    ),
    "F521": _code(
        "a node's clock is off",
        "The clock of a node differs from the controller's by more than 50 ms beyond the bound to"
        " which the difference is known. Times of trials are corrected by it, so no figure is"
        " affected; logs of the node are not. Start a time service there.",
    ),
    "F522": _code(
        "CPUs were full",
        "In more than half of the valid trials the CPUs of a role were busy or stolen for 95 % of"
        " the time or more, in an experiment that is about a path or a disk. Comparing such results"
        " compares what the software costs in CPU time; it says nothing of the network or the disk."
        " One full CPU among several idle ones is not seen. Give the role more CPUs, or ask for"
        " less (a fixed rate, fewer streams).",
    ),
    "F523": _code(
        "an experiment failed three times in a row",
        "Three trials of an experiment, or allocations for it, failed one after the other with the"
        " same message, figures aside. The others would fail as well, so they were not tried and"
        " the run went on with the next experiment. Mend what the message says, then"
        " `benchspec resume` measures what is missing.",
    ),
    "F590": _code(
        "the wished precision was not reached",
        "The interval is wider than `method.precision.half_width` asks for, after all sessions that"
        " the maximum allows or that the first stage called for. Raise `max_sessions`, lengthen the"
        " trials, or find what makes the sessions scatter.",
    ),
    "F591": _code(
        "CPU steal cannot be judged",
        "The trial lasted so few ticks of the CPUs' clocks that a single stolen one would break the"
        " bound of max_steal. The gate is not judged then, and the trial counts. Lengthen the"
        " trials to have it judged.",
    ),
    "F601": _code(
        "tools could not be installed",
        "The package manager failed although --install-tools was given. Experiments that need the"
        " missing tools are skipped and listed under Not measured; the others run.",
    ),
    "F602": _code(
        "left over after the clean-up",
        "When the run ended something of it was still on a site. It has been removed, or the"
        " finding says why it could not be: then `benchspec clean` tries again. Nothing measured is"
        " affected; please report what it was.",
    ),
    "F603": _code(
        "a target was not destroyed as its spec says",
        "A destroy step of a target's lifecycle failed or could not be carried out, or what its"
        " steps left running did not end. Results are not affected. Something of the target may"
        " still be there: `benchspec clean`, or `down` for what was left standing, carries out"
        " again what failed.",
    ),
    "F604": _code(
        "a site was lost",
        "The connection to a site broke and could not be restored, or one of its hosts cannot be"
        " used any more. What needs the site is not measured; the rest of the run goes on, and what"
        " was measured is kept. The run exits with 4 and names the host; `benchspec resume`"
        " measures what is missing.",
    ),
    "F605": _code(
        "results were not copied to the data sink",
        "The run is complete and its directory has everything, but the copy on the data sink could"
        " not be made, or a copy's sha256 is not that of the file. The run exits with 4; `benchspec"
        " resume` tries again.",
    ),
    "F606": _code(
        "the figures are imported",
        "Another program measured them, and `benchspec import` read its files. Each file counts as"
        " a session of its target unless `--sessions` said otherwise; that they were measured"
        " independently and under equal conditions is what whoever imported them says. Placement"
        " was not proven, nothing was randomised, and facts are what the files say.",
    ),
    "F610": _code(
        "the host cannot run programs for benchspec",
        "The local runner needs /bin/sh, a mounted /proc and pidfd_open (Linux 5.3 or later). The"
        " finding says which is missing.",
    ),
    "F611": _code(
        "a directory cannot be written",
        "Jobs keep their state in XDG_STATE_HOME/benchspec, or /var/tmp/benchspec-UID where that is"
        " not set; roles have work directories. One of them cannot be written: the finding names"
        " it. Set XDG_STATE_HOME, or the runner's option `workdir`.",
    ),
    "F612": _code(
        "free disk space",
        "How much space is left where work directories are made. It is a warning below 2 GiB: test"
        " files need more.",
    ),
    "F613": _code(
        "usable CPUs",
        "Which CPUs the host has and which this process may use. With one CPU client, server and"
        " everything else share it, so results scatter.",
    ),
    "F614": _code(
        "no rights to install packages",
        "Installing tools needs root. Without it missing tools have to be installed by hand.",
    ),
    "F620": _code(
        "how a host is entered",
        "Which of your keys the host accepted, its host key, who vouches for that key, and the"
        " roles it plays. A key that nobody vouches for is a warning: it was taken on faith because"
        " of --accept-new-host-keys.",
    ),
    "F621": _code(
        "a host cannot be used",
        "It cannot be reached, does not let you in, shows a wrong host key, or stopped answering."
        " The finding says what was found and what to do. Other hosts are looked at all the same.",
    ),
    "F622": _code(
        "rights on a host",
        "The user that programs run as there, and whether packages can be installed. It is an error"
        " where `become` does not work.",
    ),
    "F623": _code(
        "a host is held by another run",
        "A host is used by one run at a time. The finding names the run, its owner and since when."
        " Nothing more is looked at on that host, since that would disturb what is measured."
        " Without flock on the host nothing keeps two runs apart, which is a warning.",
    ),
    "F624": _code(
        "limits of a host's sshd",
        "How many sessions it opens at once on one connection (MaxSessions), and whether it"
        " forwards connections (AllowTcpForwarding), which is how servers are probed from a host.",
    ),
    "F625": _code(
        "the path between hosts",
        "The interface that traffic between two roles takes, and the longest packet that gets"
        " through undivided, measured with ping. It is a warning where that is less than the"
        " interface's MTU, where it could not be seen, and where two names are one machine.",
    ),
    "F626": _code(
        "a host key was taken on faith",
        "Nobody vouched for the host's key, and --accept-new-host-keys was given. Whoever answered"
        " at that address was believed to be the host. The key is kept with the run, and another"
        " one is refused from then on. Hold the fingerprint against `ssh-keygen -lf` on the host"
        " itself, and pin it in the spec as `host_key`.",
    ),
    "F627": _code(
        "a host prints before it does what it is asked",
        "An rc file, a banner or a login program writes to the output of commands that are run over"
        " SSH. It is told apart from their output and skipped, so nothing measured is affected; it"
        " costs time, though, and breaks other programs. Let the rc file print only where there is"
        " a terminal.",
    ),
    "F628": _code(
        "a process may outlive its run unseen",
        "All that a run starts on a host ends with it. Where the user may make control groups"
        " (root, or a session that systemd has delegated to the user) nothing escapes. Elsewhere"
        " processes are known by their session, their parent, the marks in their environment, their"
        " work directory, open files, command line and sockets; one that gives all of this up"
        " cannot be told from others. Run as root (`become` over SSH), or within `systemd-run"
        " --user --scope -p Delegate=yes`, where steps start daemons of that kind.",
    ),
}
"""Code to what it means, in order of code."""
