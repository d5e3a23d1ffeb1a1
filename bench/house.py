"""Runs the comparisons that are written in Python. The program `sqluice-bench` makes their tables, ratios and records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Lap:
    """The figures of one run of a way. A figure of 0 was not measured."""

    rows: int
    seconds: float
    cpu_seconds: float = 0.0
    memory_bytes: int = 0


@dataclass
class Way:
    """A way to do the compared work. `run` runs and verifies it once."""

    name: str
    title: str
    run: Callable[[], Lap]


def timed(rows: int, run: Callable[[], object]) -> Lap:
    """Runs a function, and measures its time."""
    began = time.monotonic()
    run()
    return Lap(rows, time.monotonic() - began)


class House:
    """A comparison: rounds of laps, then ratios, then the record."""

    def __init__(self, benchmark: str, rounds: int, columns: list[str]) -> None:
        self.benchmark, self.columns = benchmark, columns
        self.rounds: list[dict[str, Lap]] = [{} for _ in range(rounds)]
        self.ways: list[dict[str, str]] = []
        self.ratios: list[dict[str, str]] = []
        self.began = time.monotonic()

    def compare(self, part: str, ways: list[Way]) -> None:
        """Runs each way once in each round. `part` is the title of their table."""
        rounds: list[dict[str, Lap]] = [{} for _ in self.rounds]
        for number, laps in enumerate(rounds):
            print(f"\n{part}: round {number + 1} of {len(rounds)}", flush=True)
            # Every second round runs in reverse order, so that no way always follows the same other one.
            for way in ways if number % 2 == 0 else reversed(ways):
                laps[way.name] = lap = way.run()
                print(f"  {way.name:24} {lap.seconds:8.2f} s", flush=True)
        self.add(part, {way.name: way.title for way in ways}, rounds)

    def add(self, part: str, titles: dict[str, str], rounds: list[dict[str, Lap]]) -> None:
        """Adds the laps of a table: the ways' titles by their names, and the laps of each round."""
        self.ways += [{"part": part, "name": name, "title": title} for name, title in titles.items()]
        for all_laps, laps in zip(self.rounds, rounds, strict=True):
            all_laps.update(laps)

    def ratio(self, what: str, value: str, one: str, other: str, claim: str = "") -> None:
        """Adds a ratio within a round: a value (`time`, `rate`, `processors`) of the way `one` to that of the way `other`, or the memory of
        the way `one` in MiB (`memory`)."""
        self.ratios.append({"what": what, "value": value, "one": one, "other": other, "claim": claim})

    def finish(self, program: str, beside: list[str], about: dict[str, Any]) -> None:
        """Prints the tables, and saves the record. `about` describes the input."""
        measured = {
            "benchmark": self.benchmark,
            "command": " ".join([f"bench/{self.benchmark}", *sys.argv[1:]]),
            "program": program,
            "beside": beside,
            "input": about,
            "seconds": time.monotonic() - self.began,
            "columns": self.columns,
            "ways": self.ways,
            "rounds": [{name: asdict(lap) for name, lap in laps.items()} for laps in self.rounds],
            "ratios": self.ratios,
        }
        done = subprocess.run([os.environ["SQLUICE_BENCH"], "script"], input=json.dumps(measured), text=True, check=False)
        if done.returncode != 0:
            raise SystemExit("the record was not written")
