"""Work in a child process that may take little time and memory.

A template is a program: however many filters are taken away, doubling a text forty times asks for
more than any machine has. What it may take is therefore bounded by the kernel, in a process whose
end harms nothing.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import NoReturn

from ...engine.model.errors import SpecError

CPU_S = 20
MEMORY = 512 * 2**20
"""Bytes beyond what the process takes already."""


def confined(work: Callable[[], str], where: str) -> str:
    """The text that ``work`` makes, made in a child process.

    Raises:
        SpecError: ``work`` raised it, or asked for more than CPU_S seconds or MEMORY bytes;
            ``where`` is what is at fault then.
    """
    receiver, sender = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # about threads: the child uses none of them, and no lock that they may hold
        child = os.fork()
    if child == 0:
        os.close(receiver)
        _answer(work, sender)
    os.close(sender)
    with os.fdopen(receiver, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    return _read_answer(answer, os.waitstatus_to_exitcode(status), where)


def _answer(
    work: Callable[[], str], sender: int
) -> NoReturn:  # pragma: no cover - runs in the child, which ends without a report
    """Write what came of ``work`` and end the process, without anything that its parent would do at
    its own end.
    """
    code = 1
    try:
        _limit()
        with os.fdopen(sender, "wb") as pipe:
            pipe.write(json.dumps(_outcome(work)).encode())
        code = 0
    except MemoryError:
        code = 2
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _limit() -> None:  # pragma: no cover - in the child
    with open("/proc/self/statm", encoding="ascii") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


def _outcome(work: Callable[[], str]) -> dict[str, str | None]:  # pragma: no cover - in the child
    try:
        return {"text": work()}
    except SpecError as error:
        return {"message": error.message, "where": error.where, "remedy": error.remedy}


def _read_answer(answer: bytes, code: int, where: str) -> str:
    remedy = "docs/writing-templates.md lists what a template can use"
    if code == 2:
        raise SpecError(
            f"it asks for more than {MEMORY // 2**20} MiB of memory", where=where, remedy=remedy
        )
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        raise SpecError(f"it takes more than {CPU_S} s", where=where, remedy=remedy)
    if code != 0:
        raise RuntimeError(f"the process that made {where} ended with {code}")
    outcome = json.loads(answer)
    if "text" in outcome:
        return str(outcome["text"])
    raise SpecError(outcome["message"], where=outcome["where"], remedy=outcome["remedy"])
