"""Controls a headless Chromium by the DevTools protocol over a pipe: opens pages, measures them, takes screenshots, and records all requests."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS_MAX = 60
# These flags switch off the requests that the browser itself makes.
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-pings",
    "--remote-debugging-pipe",
]


class Browser:
    """A page of the browser."""

    def __init__(self, to: int, of: int) -> None:
        self._to, self._of = to, of
        self._unread = b""
        self._last = 0
        self._session: str | None = None
        # The requests and the console messages of the current page.
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Calls a method of the protocol, and waits for its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            more = os.read(self._of, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self._unread += more
        line, self._unread = self._unread.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning"):
                self.complaints.append(str(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(params["entry"]["text"])
            case "Page.loadEventFired":
                self._loaded = True
        return message

    def screen(self, width: int, height: int, *, dark: bool = False) -> None:
        """Sets the size of the screen and the scheme that the reader prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        """Opens a page, and waits until it is loaded."""
        # An empty page in between: the browser would not load the same page again for another fragment.
        self._go("about:blank")
        self.requests, self.complaints = [], []
        self._go(url)

    def _go(self, url: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + SECONDS_MAX
        while not self._loaded:
            left = deadline - time.monotonic()
            if b"\0" not in self._unread and not (left > 0 and select.select([self._of], [], [], left)[0]):
                raise TimeoutError(url)
            self._read()

    def value(self, expression: str) -> Any:
        """Returns the value of JavaScript, run as if a reader had just pressed a key: only then may a page copy."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Waits until JavaScript on the page evaluates to something true."""
        deadline = time.monotonic() + SECONDS_MAX
        while not (found := self.value(expression)):
            if time.monotonic() > deadline:
                raise TimeoutError(expression)
            time.sleep(0.05)
        return found

    def photograph(self, file: Path) -> None:
        """Writes a PNG of the screen."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Starts Chromium with an empty profile."""
    # The browser reads commands from descriptor 3, and writes answers to 4.
    command_read, command_write = os.pipe()
    answer_read, answer_write = os.pipe()
    here = (command_read, answer_write)
    arguments = ["chromium", *FLAGS, f"--user-data-dir={profile}"]
    shell = f'exec "$@" 3<&{here[0]} 4>&{here[1]}'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", *arguments], pass_fds=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(command_read)
    os.close(answer_write)
    try:
        yield Browser(command_write, answer_read)
    finally:
        process.kill()
        process.wait()
        os.close(command_write)
        os.close(answer_read)
