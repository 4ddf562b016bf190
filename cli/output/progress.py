"""How a run is shown: a live bar on a terminal, plain lines in a pipe, JSON lines for machines."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ...api.notices import NOTICES, REPORTED, STANDING, WRITTEN
from ...engine.control.events import Event
from .terminal import echo, plain

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextlib.contextmanager
def _whoever_reads(descriptor: int) -> Iterator[None]:
    """A reader that goes away (``| head``, a closed terminal) does not end a run: from then on
    nothing is shown.
    """
    try:
        yield
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


class Shown:
    """An observer for people or programs. Notices are lines of their own, whatever else is
    shown.
    """

    def notify(self, event: Event) -> None:
        """Show ``event``."""
        if event.kind in NOTICES:
            self.pause()
            self.tell(event)
        else:
            self.show(event)

    def tell(self, event: Event) -> None:
        """Show a notice; here: the bare line, what a script asks for."""
        echo(event.message, err=event.kind not in (REPORTED, STANDING, WRITTEN))

    def show(self, event: Event) -> None:
        """Show an event that is no notice; here: nothing."""

    def pause(self) -> None:
        """Leave the terminal to somebody else until the next event."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.pause()


class Answering(Shown):
    """For people: a run that has ended shows what it found."""

    def tell(self, event: Event) -> None:
        """Show a notice; of a finished run the table, the sentences and where the pages are."""
        if event.kind == REPORTED and "rows" in event.data:
            from ...engine.model.codec import decode
            from ...reports.page.answer import Answer
            from .answer import print_answer, print_links

            print_answer(
                decode(Answer, {key: event.data[key] for key in ("title", "rows", "sentences")})
            )
            print_links(Path(str(event.data["page"])), Path(str(event.data["html"])))
        else:
            super().tell(event)


class JsonLines(Shown):
    """One JSON object per event on stdout, notices too, and nothing else."""

    def tell(self, event: Event) -> None:
        """Print a notice like every event."""
        self.show(event)

    def show(self, event: Event) -> None:
        """Print ``event``."""
        with _whoever_reads(1):
            echo(
                json.dumps(
                    {
                        "event": event.kind,
                        "at": round(time.time(), 3),
                        "message": event.message,
                        **event.data,
                    },
                    ensure_ascii=False,
                )
            )


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


class Plain(Answering):
    """One line per event on stderr."""

    def __init__(self) -> None:
        self._counter = Counter()

    def show(self, event: Event) -> None:
        """Print ``event``."""
        self._counter.take(event)
        counter = self._counter
        head = (
            f"[{counter.done}/{counter.total}, {counter.left_s():.0f} s left] "
            if event.kind == "trial.finished"
            else ""
        )
        with _whoever_reads(2):
            echo(f"{head}{event.message}", err=True)


class Live(Answering):
    """A progress bar with what was measured last; everything that is not a valid trial stays on the
    screen above it.

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

    def show(self, event: Event) -> None:
        """Show ``event``."""
        self._counter.take(event)
        with _whoever_reads(2):
            self._progress.start()  # only now: until the first event the user may be asked
            self._draw(event)

    def _draw(self, event: Event) -> None:
        trial, message = event.kind == "trial.finished", plain(event.message)
        if not trial or event.data["status"] != "valid":
            self._progress.console.print(message, markup=False, highlight=False)
        left = f"about {self._counter.left_s():.0f} s left"
        self._progress.update(
            self._task,
            completed=self._counter.done,
            total=self._counter.total or None,
            description=message if trial else "",
            left=left,
        )
        self._progress.refresh()

    def pause(self) -> None:
        """Take the bar away; the next event brings it back."""
        self._progress.stop()


def choose_observer(*, json_lines: bool, quiet: bool) -> Shown:
    """The observer that suits the terminal and what the user asked for."""
    if json_lines:
        return JsonLines()
    if quiet:
        return Shown()
    return Live() if sys.stderr.isatty() else Plain()
