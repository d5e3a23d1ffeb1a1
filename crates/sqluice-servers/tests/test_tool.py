"""`tools/servers` starts a database server for a command, and stops the server when the command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from server import ROOT, Server

SERVERS = ROOT / "tools/servers"


def processes(of: Path) -> list[str]:
    """Returns the command lines of the processes that name a folder."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(of) in line]


def is_gone(home: Path) -> bool:
    return not home.exists() and processes(home) == []


def started(server: Server, tmp_path: Path, script: str) -> tuple[subprocess.Popen[bytes], Path]:
    """Starts a server, and waits for its command, which writes its URL to a file. Returns the process and the folder of the server."""
    said = tmp_path / "said"
    script = f'echo "${server.name.upper()}_URL" >"$1.part"; mv "$1.part" "$1"; {script}'
    words = [SERVERS, "--only", server.name, "sh", "-c", script, "sh", said]
    # A shell that runs the tests in the background lets them ignore SIGINT.
    process = subprocess.Popen(words, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while not said.exists():
        assert process.poll() is None
        time.sleep(0.05)
    place = Path(said.read_text().split("=")[1].strip())
    return process, (place if server.name == "postgres" else place.parent).parent


def test_the_tool_stops_the_server_after_the_command_and_returns_the_exit_status_of_the_command(server: Server, tmp_path: Path) -> None:
    process, home = started(server, tmp_path, "exit 7")
    assert process.wait(60) == 7
    assert is_gone(home)


def test_a_command_that_does_not_exist_is_reported_with_exit_status_127(server: Server) -> None:
    done = subprocess.run([SERVERS, "--only", server.name, "no-such-command"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (127, "error: no-such-command is not found\n")


@pytest.mark.parametrize(("number", "reaches"), [(signal.SIGINT, "the command, too"), (signal.SIGTERM, "tools/servers alone")])
def test_the_tool_stops_the_server_after_a_signal(server: Server, tmp_path: Path, number: signal.Signals, reaches: str) -> None:
    process, home = started(server, tmp_path, "exec sleep 1000")
    assert processes(home) != []
    if reaches == "the command, too":
        # The signal goes to all processes of the group, as from a terminal. The assertion makes sure that the group is not that of the
        # tests.
        assert os.getpgid(process.pid) == process.pid != os.getpgrp()
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert is_gone(home)
