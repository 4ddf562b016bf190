"""How a run is shown: a live bar on a terminal, plain lines in a pipe, JSON lines for machines."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..engine.execute.events import Event
from .terminal import echo, plain

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextlib.contextmanager
def _whoever_reads(descriptor: int) -> Iterator[None]:
    """A reader that goes away (``| head``, a closed terminal) does not end a run: from then on nothing is shown."""
    try:
        yield
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


class JsonLines:
    """One JSON object per event on stdout."""

    def notify(self, event: Event) -> None:
        """Print ``event``."""
        with _whoever_reads(1):
            echo(json.dumps({"event": event.kind, "at": round(time.time(), 3), "message": event.message, **event.data}, ensure_ascii=False))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing to end."""


class Counter:
    """Counts trials and estimates what is left from the time they took so far."""

    def __init__(self) -> None:
        self.total = 0
        self.done = 0
        self._began = time.monotonic()
        self._done_before = 0
        self._estimate_s = 0.0

    def take(self, event: Event) -> None:
        """Count ``event``."""
        if event.kind == "run.started":
            self.total, self.done, self._estimate_s = (
                int(str(event.data["total"])),
                int(str(event.data["done"])),
                float(str(event.data["estimate_s"])),
            )
            self._done_before, self._began = self.done, time.monotonic()
        elif event.kind == "trial.finished":
            self.done += 1
            self.total = max(self.total, self.done)

    def left_s(self) -> float:
        """Seconds that are probably left."""
        measured = self.done - self._done_before
        if not measured:
            return self._estimate_s
        return (time.monotonic() - self._began) / measured * (self.total - self.done)


class Plain:
    """One line per event on stderr."""

    def __init__(self) -> None:
        self._counter = Counter()

    def notify(self, event: Event) -> None:
        """Print ``event``."""
        self._counter.take(event)
        counter = self._counter
        head = f"[{counter.done}/{counter.total}, {counter.left_s():.0f} s left] " if event.kind == "trial.finished" else ""
        with _whoever_reads(2):
            echo(f"{head}{event.message}", err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing to end."""


class Live:
    """A progress bar with what was measured last; everything that is not a valid trial stays on the screen above it.

    Drawn between trials only: nothing of ours may run beside a measurement on this host.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._counter = Counter()
        self._progress: Progress = Progress(
            TextColumn("{task.fields[left]}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
        )
        self._task: TaskID = self._progress.add_task("starting", total=None, left="")

    def notify(self, event: Event) -> None:
        """Show ``event``."""
        self._counter.take(event)
        with _whoever_reads(2):
            self._draw(event)

    def _draw(self, event: Event) -> None:
        trial, message = event.kind == "trial.finished", plain(event.message)
        if not trial or event.data["status"] != "valid":
            self._progress.console.print(message, markup=False, highlight=False)
        left = f"about {self._counter.left_s():.0f} s left"
        self._progress.update(
            self._task, completed=self._counter.done, total=self._counter.total or None, description=message if trial else "", left=left
        )
        self._progress.refresh()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()


class Silent:
    """Shows nothing."""

    def notify(self, event: Event) -> None:
        """Drop ``event``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing to end."""


def choose_observer(*, json_lines: bool, quiet: bool) -> JsonLines | Plain | Live | Silent:
    """The observer that suits the terminal and what the user asked for."""
    if json_lines:
        return JsonLines()
    if quiet:
        return Silent()
    return Live() if sys.stderr.isatty() else Plain()
