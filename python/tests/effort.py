"""Sets the effort of tests, as in Rust: `SQLUICE_EFFORT` is `quick` (the default), `full` (CI) or `soak` (hours)."""

from __future__ import annotations

import os
from typing import TypeVar

EFFORTS = ("quick", "full", "soak")

Number = TypeVar("Number", int, float)


def tries(quick: Number, full: Number, soak: Number) -> Number:
    """Returns the number for this run's effort."""
    effort = os.environ.get("SQLUICE_EFFORT") or "quick"
    if effort not in EFFORTS:
        raise ValueError(f"SQLUICE_EFFORT is quick, full or soak, not {effort}")
    return (quick, full, soak)[EFFORTS.index(effort)]
