"""A spec of one's own, written from six answers."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ..engine.control.events import Observer
from ..engine.model.errors import UsageError
from .notices import WRITTEN, tell
from .settings import File
from .shipped import write

Answers = Mapping[str, str]
"""Answers by the key of their question."""


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that a new spec has to know.

    Attributes:
        key: its name in :data:`Answers`, and of the option that answers it.
        text: the question, for people; of the answers to those before it.
        default: what is taken for an empty answer; of the answers before it.
        choices: the only answers there are; empty where any text is one.
        help: the option's help.
    """

    key: str
    text: Callable[[Answers], str]
    default: Callable[[Answers], str]
    help: str
    choices: tuple[str, ...] = ()

    def check(self, answer: str, before: Answers) -> str:
        """The answer as it is meant. Raises UsageError."""
        found = answer.strip()
        if self.choices and found not in self.choices:
            raise UsageError(
                f"--{self.key}: found {found!r}, expected one of {', '.join(self.choices)}",
                remedy=f"type one of {', '.join(self.choices)}",
            )
        if self.key == "targets" and len(_ids(found)) < 2:
            raise UsageError(
                f"--targets: found {found!r}, expected two or more names",
                remedy="type what is compared, as in: old, new",
            )
        if self.key == "places":
            wanted, places = len(_ids(before["targets"])), _listed(found)
            if len(places) != wanted:
                raise UsageError(
                    f"--places: found {len(places)}, expected {wanted}: one for each target",
                    remedy=f"separate them with {_separator(before)!r}, as in"
                    f" {self.default(before)}",
                )
            if _needs_two_hosts(before) and any(one.count(":") != 1 for one in places):
                raise UsageError(
                    f"--places: found {found!r}, expected CLIENT:SERVER for each target",
                    remedy=f"{before['tool']} sends from one host to another: name both, as in"
                    f" {self.default(before)}",
                )
        return found


_WHERE = ("here", "ssh", "kubernetes")
_TIMES = ("look", "publish")
_NETWORK = ("iperf3", "netperf")


def _needs_two_hosts(answers: Answers) -> bool:
    return answers["where"] == "ssh" and answers["tool"] in _NETWORK


def _separator(answers: Answers) -> str:
    return ";" if (answers["where"], answers["tool"]) == ("here", "command") else ","


def _listed(text: str) -> list[str]:
    """Of ``a, b`` or, where commands may have commas, ``a; b``."""
    return [one.strip() for one in re.split(";" if ";" in text else ",", text) if one.strip()]


def _sides(title: str) -> str:
    """``old, new`` of ``Old against new``, and where the title names no sides."""
    sides = title.split(" against ")
    if len(sides) < 2 or any("," in side for side in sides):
        return "old, new"
    return ", ".join(side.lower() if side[1:].islower() else side for side in sides)


def _ids(targets: str) -> dict[str, str]:
    """Titles by the name of the target: ``{"old-one": "Old one"}`` of ``Old one, ...``."""
    titles = _listed(targets)
    made = {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40]: title for title in titles}
    return {name if name[:1].isalpha() else f"target-{name}": made[name] for name in made if name}


_PLACE_TEXTS = MappingProxyType(
    {
        ("here", "command"): "The command of each ({names}), separated by ;",
        ("here", "fio"): "A directory for each ({names}): where its files are written",
        ("here", ""): "The CPUs of each ({names}), as in 0 or 0-1",
        ("ssh", "network"): "CLIENT:SERVER of each ({names}), as ssh knows them",
        ("ssh", ""): "The host of each ({names}), as ssh knows it",
        ("kubernetes", "fio"): "The storage class of each ({names})",
        ("kubernetes", ""): "The kubeconfig's context of each ({names})",
    }
)


def _place_text(answers: Answers) -> str:
    tool = "network" if _needs_two_hosts(answers) else answers["tool"]
    text = _PLACE_TEXTS.get((answers["where"], tool)) or _PLACE_TEXTS[answers["where"], ""]
    return text.format(names=", ".join(_ids(answers["targets"])))


def _place_default(answers: Answers) -> str:
    names, tool = list(_ids(answers["targets"])), answers["tool"]
    if _separator(answers) == ";":
        return "; ".join(f"./{name}" for name in names)
    if _needs_two_hosts(answers):
        return ", ".join(f"{name}-client:{name}-server" for name in names)
    if answers["where"] == "here" and tool == "fio":
        return ", ".join(f"/mnt/{name}" for name in names)
    if answers["where"] == "here":
        return ", ".join("0" if place == 0 else f"0-{place}" for place in range(len(names)))
    return ", ".join(names)


QUESTIONS = (
    Question(
        "title",
        lambda _: "What is the question? It becomes the page's title",
        lambda _: "Old against new",
        "The question, which becomes the page's title.",
    ),
    Question(
        "where",
        lambda _: "Where is it measured: on this machine, on hosts over SSH, or on clusters",
        lambda _: "here",
        "Where it is measured.",
        _WHERE,
    ),
    Question(
        "targets",
        lambda _: "What is compared? Two names or more; the first is what others are held against",
        lambda answers: (
            ", ".join(_listed(answers["title"].replace(" against ", ",")))
            if " against " in answers["title"]
            else "old, new"
        ),
        "What is compared, as in 'old, new'; the first is the baseline.",
    ),
    Question(
        "tool",
        lambda _: "What measures it: your own command, or a tool",
        lambda _: "command",
        "What measures.",
        ("command", "fio", "iperf3", "netperf", "openssl-speed"),
    ),
    Question(
        "places",
        _place_text,
        _place_default,
        "What differs, for each target: its command, directory, CPUs, host, context or storage"
        " class.",
    ),
    Question(
        "time",
        lambda _: "A first look of minutes, or figures to publish",
        lambda _: "look",
        "How long it may take.",
        _TIMES,
    ),
)
"""The six questions, in their order: what one asks depends on the answers before it."""


def answered(given: Mapping[str, str | None], ask: Callable[[Question, Answers], str]) -> Answers:
    """All answers, checked: those ``given``, and for the rest what ``ask`` returns. Raises
    UsageError.
    """
    answers: dict[str, str] = {}
    for question in QUESTIONS:
        text = given.get(question.key)
        found = ask(question, answers) if text is None else text
        answers[question.key] = question.check(found, answers)
    return answers


def new(
    *,
    title: str | None = None,
    where: str | None = None,
    targets: str | None = None,
    tool: str | None = None,
    places: str | None = None,
    time: str | None = None,
    out: File = "benchmark.yaml",
    force: bool = False,
    ask: Callable[[Question, Answers], str] | None = None,
    observer: Observer | None = None,
) -> Path:
    """Write a commented spec from the answers to :data:`QUESTIONS`, and return where it is. What is
    None is asked with ``ask``, or else the question's default.

    Raises:
        UsageError: an answer is none, or ``out`` exists and not ``force``.
        StorageError: it cannot be written.
    """
    path = Path(out)
    if path.exists() and not force:
        raise UsageError(
            "the file exists already",
            where=str(path),
            remedy="name another with -o, or give --force",
        )
    given = {"title": title, "where": where, "targets": targets}
    given |= {"tool": tool, "places": places, "time": time}
    answers = answered(given, ask or (lambda question, before: question.default(before)))
    write(path, new_spec(answers).encode())
    tell(observer, WRITTEN, str(path))
    return path


def new_spec(answers: Answers) -> str:
    """The text of the spec that the answers make."""
    ids = _ids(answers["targets"])
    places = dict(zip(ids, _listed(answers["places"]), strict=True))
    lines = [
        "# yaml-language-server: $schema=https://benchspec.dev/schemas/benchspec/v1/benchmark.schema.json",
        "#",
        "# Made by `benchspec new`. What says `yours` is to be looked at. What else can be said:"
        " `benchspec explain targets[]`, `benchspec explain workloads[]`.",
        "apiVersion: benchspec/v1",
        "kind: Benchmark",
        f"name: {_name(answers['title'])}",
        f"title: {_quoted(answers['title'])}",
        "",
        *_variables(answers),
        "targets: # what is compared; the first is the baseline",
    ]
    for name, title in ids.items():
        lines += [f"  {name}:", f"    title: {_quoted(title)}"]
        lines += [f"    {line}" for line in _target(answers, places[name])]
    lines += ["", "workloads: # what is measured on each"]
    lines += [f"  {line}" for line in _workload(answers, places)]
    lines += ["", *_METHODS[answers["time"]], ""]
    baseline = next(iter(ids))
    lines += [
        f"compare: {{baseline: {baseline}, equivalence: 5 %}}"
        " # a difference inside 5 % is called equivalent"
    ]
    return "\n".join(lines) + "\n"


def _name(title: str) -> str:
    made = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:50].strip("-")
    return made if made[:1].isalpha() else f"benchmark-{made}".strip("-")


def _quoted(text: str) -> str:
    """A YAML scalar that is nothing but this text: JSON's strings are YAML's."""
    return json.dumps(text, ensure_ascii=False)


def _variables(answers: Answers) -> list[str]:
    if answers["where"] != "kubernetes":
        return []
    return [
        "vars:",
        "  image: registry.example/benchspec-tools:1 # yours: `benchspec images build` makes it,"
        " `benchspec images push` writes its digest here",
        *(["  context: my-cluster # yours: kubectl config get-contexts"] * _on_one(answers)),
        "",
    ]


def _on_one(answers: Answers) -> bool:
    """Whether all targets are one cluster, on which storage classes are compared."""
    return answers["where"] == "kubernetes" and answers["tool"] == "fio"


def _target(answers: Answers, place: str) -> list[str]:
    tool = answers["tool"]
    match answers["where"]:
        case "here" if tool == "command":
            return ["runner: local"]
        case "here" if tool == "fio":
            return ["runner: local", f"storage: {{path: {_quoted(place)}}}"]
        case "here":
            return ["runner: local", f"cpus: {_cpus(place)}"]
        case "ssh":
            return _ssh_target(answers, place)
    context = '"${var:context}"' if _on_one(answers) else _quoted(place)
    runner = (
        f"runner: {{kind: kubernetes, context: {context}, namespace: default,"
        ' image: "${var:image}", cpu: 1, memory: 1 GiB} # namespace: yours'
    )
    if not _on_one(answers):
        return [runner]
    return [runner, f"storage: {{class: {_quoted(place)}, size: 4 GiB}} # the size: yours"]


def _ssh_target(answers: Answers, place: str) -> list[str]:
    roles = ("client", "server") if answers["tool"] in _NETWORK else ("client",)
    hosts = []
    for role, host in zip(roles, place.split(":") if len(roles) > 1 else [place], strict=True):
        user, _, name = host.rpartition("@")
        said = f", user: {_quoted(user)}" if user else ""
        hosts.append(f"{role}: {{host: {_quoted(name)}{said}}}")
    lines = [f"runner: {{kind: ssh, hosts: {{{', '.join(hosts)}}}}}"]
    if answers["tool"] == "fio":
        lines.append("storage: {path: /mnt/data} # yours: where the files are written")
    return lines


def _cpus(place: str) -> str:
    """``[0, 1]`` of ``0-1``, and of ``0+2`` too."""
    numbers: list[int] = []
    for part in re.split(r"[+ ]+", place):
        found = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", part)
        if found is None:
            raise UsageError(
                f"--places: found {place!r}, expected CPUs",
                remedy="type a number, as in 0, or a range, as in 0-3, for each target",
            )
        numbers += range(int(found[1]), int(found[2] or found[1]) + 1)
    return json.dumps(sorted(set(numbers)))


_METHODS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "look": (
            "# A first look: five sessions are the fewest for a verdict. It finds large"
            " differences; what it does not find may be there.",
            "method: {sessions: 5, trials: 1, warmups: 0, order: blocks, seed: 1}",
        ),
        "publish": (
            "# To publish: `benchspec plan` says which difference this finds, and how long it"
            " takes.",
            "method: {sessions: 10, trials: 3, warmups: 1, order: blocks, seed: 1}",
        ),
    }
)


def _workload(answers: Answers, places: Mapping[str, str]) -> list[str]:
    tool, seconds = answers["tool"], 10 if answers["time"] == "look" else 60
    if tool == "command":
        return _command(answers, places)
    head, spread = [f"{tool}:", f"  tool: {tool}"], []
    if answers["where"] == "kubernetes" and tool in _NETWORK:
        spread = ["  placement: across-nodes", "  path: pod-to-pod"]
    return [*head, *spread, *(f"  {line}" for line in _parameters(tool, seconds))]


def _parameters(tool: str, seconds: int) -> list[str]:
    gate = f"gates: {{min_duration: {seconds * 900} ms}} # a trial that was cut short is shown,"
    gate += " and never averaged"
    match tool:
        case "fio":
            return [
                "with: # yours: block size, queue depth and a size beyond caches",
                "  {rw: randread, bs: 4 KiB, size: 1 GiB, direct: true, engine: libaio,"
                f" iodepth: 32, ramp_time: 2 s, runtime: {seconds} s}}",
                gate,
            ]
        case "iperf3":
            return [f"with: {{duration: {seconds} s, omit: 1 s}} # omit: while TCP starts", gate]
        case "netperf":
            return [f"with: {{test: TCP_RR, duration: {seconds} s}} # or TCP_STREAM", gate]
    return [f"with: {{algorithm: aes-256-gcm, bytes: 16 KiB, seconds: {seconds} s}}", gate]


def _command(answers: Answers, places: Mapping[str, str]) -> list[str]:
    """The command of the baseline, and of the others as overrides."""
    commands = list(places.values()) if answers["where"] == "here" else []
    lines = [
        "program:",
        "  tool: command",
        "  with:",
        f"    run: {_argv(commands[0] if commands else './measure')} # "
        + ("no shell reads it" if commands else "yours; no shell reads it"),
        "    # Its time is measured, and what it prints can be: a figure by its pattern,",
        "    # whose group is the number.",
        "    # extract:",
        "    #   rate: {from: stdout, regex: '([0-9.]+) requests per second', unit: 1/s,"
        " direction: higher}",
    ]
    others = [(name, one) for name, one in list(places.items())[1:] if [one] != commands[:1]]
    if commands and others:
        lines.append("  overrides: # what differs")
        lines += [f"    {name}: {{with: {{run: {_argv(one)}}}}}" for name, one in others]
    return lines


def _argv(command: str) -> str:
    """A command as a list of arguments; one with what only a shell reads is given to sh."""
    if re.search(r"[|&;<>()$`*?\[\]~]", command):
        return json.dumps(["sh", "-c", command], ensure_ascii=False)
    try:
        return json.dumps(shlex.split(command), ensure_ascii=False)
    except ValueError as error:
        raise UsageError(
            f"--places: {command!r} is no command: {error}", remedy="close the quotation marks"
        ) from error
