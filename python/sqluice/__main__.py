"""The command `sqluice`: the same program as the binary."""

from __future__ import annotations

import sys

from . import _sqluice


def main() -> int:
    """Runs the command with the arguments of this process, and returns its exit status."""
    return _sqluice.command(["sqluice", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
