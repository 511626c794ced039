"""A real browser for the tests: headless Chromium, spoken to over a pipe in its DevTools protocol."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

PROGRAM = "chromium"


class Browser:
    """One tab. `events` holds what the browser has reported so far."""

    def __init__(self, to: int, back: int) -> None:
        self._to = os.fdopen(to, "wb", buffering=0)
        self._back = os.fdopen(back, "rb", buffering=0)
        self._unread = b""
        self._count = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask for something; give the answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, file: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Show a file in a window of that size, on a phone if it is narrow."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.events.clear()
        self.call("Page.navigate", url=file.absolute().as_uri())
        self._wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """Give the value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, clip: dict[str, float] | None = None) -> bytes:
        """Take a picture of the whole page, or of a part of it, as PNG."""
        if clip is None:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000)}
        options = {"captureBeyondViewport": True, "clip": {**clip, "scale": 1}}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **options)["data"])

    def pdf(self) -> bytes:
        """Print the page."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def requests(self) -> list[str]:
        """List what the page has asked for, itself left out."""
        sent = [each["params"] for each in self.events if each["method"] == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent if each["type"] != "Document"]

    def complaints(self) -> list[str]:
        """List what the page has written to the console, and what the browser finds wrong with it."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(each["params"]) for each in self.events if each["method"] in kinds]

    def _wait_for(self, event: str) -> None:
        while not any(each["method"] == event for each in self.events):
            self._receive()

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            more = self._back.read(1 << 20)
            assert more, "the browser has ended"
            self._unread += more
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start Chromium; skips the test where there is none (`make test` installs it)."""
    program = shutil.which(PROGRAM)
    if not program:
        pytest.skip(f"{PROGRAM} is not installed: tools/setup-debian {PROGRAM}")
    commands, answers = os.pipe(), os.pipe()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    options += ["--remote-debugging-pipe", f"--user-data-dir={folder}", "--disable-dev-shm-usage"]
    script = f'exec "$0" "$@" 3<&{commands[0]} 4>&{answers[1]}'
    with (folder / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", script, program, *options], pass_fds=(commands[0], answers[1]), stderr=log, stdout=log
        )
    os.close(commands[0])
    os.close(answers[1])
    try:
        yield Browser(commands[1], answers[0])
    finally:
        process.terminate()
        process.wait()


def pixels(png: bytes) -> np.ndarray:
    """Give a screenshot's colours, a row per pixel."""
    picture: np.ndarray = imread(io.BytesIO(png), format="png")
    return picture[..., :3].reshape(-1, 3)
