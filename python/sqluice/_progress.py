"""Progress of a run: the argument `progress=` of functions, the class that a callback gets, and the bar on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

_EVERY_SECONDS = 0.1
_WIDTH = 24


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run, which a callback gets some times a second. Totals that are not known are None."""

    phase: str
    """The name of the current phase: `write`, `sort orders.by_date`, `sync`, ..."""
    rows: int
    """Rows of the phase so far."""
    bytes: int
    """Bytes of the phase so far."""
    rows_total: int | None
    bytes_total: int | None

    @property
    def fraction(self) -> float | None:
        """The share of the phase that is done, from 0 to 1; None if the total is not known."""
        for done, total in ((self.rows, self.rows_total), (self.bytes, self.bytes_total)):
            if total:
                return min(done / total, 1.0)
        return None


Callback = Callable[[Progress], object]
_Raw = Callable[[str, int, int, int | None, int | None], None]


class _Bar:
    """A progress bar: one line on standard error, or in a notebook, that is overwritten with each step."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._phase: str | None = None
        self._began = self._shown = time.monotonic()
        self._length = 0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase, self._began = progress.phase, now
        elif now - self._shown < _EVERY_SECONDS:
            return
        self._shown = now
        self._draw(self._line(progress, now - self._began))

    def _line(self, progress: Progress, seconds: float) -> str:
        parts = [progress.phase]
        fraction = progress.fraction
        if fraction is not None:
            full = int(fraction * _WIDTH)
            parts.append(f"[{'#' * full}{'.' * (_WIDTH - full)}] {int(fraction * 100):3}%")
        if progress.rows:
            parts.append(f"{progress.rows:,} rows")
            if seconds > 0:
                parts.append(f"{progress.rows / seconds:,.0f} rows/s")
        if progress.bytes:
            parts.append(f"{progress.bytes / 1e6:,.1f} MB")
        return "  ".join(parts)

    def _draw(self, line: str) -> None:
        # A closed or broken standard error must not end the run.
        try:
            self._to.write("\r" + line.ljust(self._length) + ("" if line else "\r"))
            self._to.flush()
        except (OSError, ValueError):
            pass
        self._length = len(line)

    def close(self) -> None:
        """Erases the bar."""
        if self._phase is not None:
            self._draw("")


class Watched:
    """Gives the function that the engine calls about its progress, for the length of a `with`; None without `progress`."""

    def __init__(self, progress: bool | Callback) -> None:
        self._bar: _Bar | None = None
        self._callback: Callback | None = None
        if progress is True:
            self._callback = self._bar = _Bar(sys.stderr)
        elif callable(progress):
            self._callback = progress

    def __enter__(self) -> _Raw | None:
        callback = self._callback
        if callback is None:
            return None

        def notify(phase: str, rows: int, done: int, rows_total: int | None, bytes_total: int | None) -> None:
            callback(Progress(phase, rows, done, rows_total, bytes_total))

        return notify

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
