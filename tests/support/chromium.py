"""Chromium by its own protocol: pages are opened, looked at and used as a person does.

The browser is told what to do through two pipes (`--remote-debugging-pipe`), so nothing listens
on a port and nothing needs to be installed beside it.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

_LIMIT = 300.0
_AS_3_AND_4 = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_CODES = {"Enter": 13, "Tab": 9}
_LISTENER = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Tab:
    """One page of a browser; each call waits until it is done."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers = to, answers
        self._number = 0
        self._left = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []
        """What the browser has told beside answers, oldest first."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=_LISTENER)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Have the browser do something, and give its answer."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != number:
            self.events.append(answer)
        assert "error" not in answer, (method, answer["error"])
        return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select([self._answers], [], [], _LIMIT)
            assert ready, "the browser says nothing"
            more = os.read(self._answers, 1 << 20)
            assert more, "the browser has ended"
            self._left += more
        message, _, self._left = self._left.partition(b"\0")
        return dict(json.loads(message))

    def _await(self, method: str) -> None:
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._next())

    def open(self, url: str) -> None:
        """Go to an address, and wait until all of it is there."""
        self.events = [e for e in self.events if e.get("method") != "Page.loadEventFired"]
        self.call("Page.navigate", url=url)
        self._await("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def follow(self, text: str) -> None:
        """Go to where the first link leads whose words hold this text, by keyboard: Enter."""
        self.events = [e for e in self.events if e.get("method") != "Page.loadEventFired"]
        found = self.run(
            "(() => { const link = [...document.querySelectorAll('a')].find((a) => "
            f"a.textContent.includes({json.dumps(text)})); if (link) link.focus(); "
            "return document.activeElement === link && Boolean(link); })()"
        )
        assert found, f"no link says {text!r}"
        self.press("Enter", leads_on=True)

    def press(self, key: str, *, leads_on: bool = False) -> None:
        """Press a key, and wait for the page that it leads to, if it does."""
        self.events = [e for e in self.events if e.get("method") != "Page.loadEventFired"]
        typed = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown" if typed else "rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=_CODES[key], **typed,
            )  # fmt: skip
        if leads_on:
            self._await("Page.loadEventFired")

    def look(self, picture: Path, *, width: int = 1280, dark: bool = False) -> Path:
        """Draw the whole page into a PNG file, as wide as a screen or a phone."""
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip
        made = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        picture.write_bytes(b64decode(made["data"]))
        return picture

    def complaints(self) -> list[str]:
        """What the page has violated of its policy, and what the console has said of errors."""
        told = [
            str(event["params"].get("entry", event["params"]))
            for event in self.events
            if event.get("method") in {"Log.entryAdded", "Runtime.exceptionThrown"}
        ]
        return [*told, *(self.run("window.violations") or [])]

    def asked(self) -> list[str]:
        """Addresses that were asked for."""
        return [
            str(event["params"]["request"]["url"])
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]


@contextmanager
def chromium(program: str, flags: Sequence[str], profile: Path) -> Iterator[Tab]:
    """A browser with an empty profile, that ends with the block."""
    (from_us, to), (answers, from_it) = os.pipe(), os.pipe()
    # The browser knows these pipes as 3 and 4, so ours must lie elsewhere.
    ours = [fcntl.fcntl(each, fcntl.F_DUPFD, 20) for each in (from_us, to, answers, from_it)]
    for each in (from_us, to, answers, from_it):
        os.close(each)
    from_us, to, answers, from_it = ours
    command = [program, *flags, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    environment: Mapping[str, str] = {**os.environ, "HOME": str(profile)}
    with subprocess.Popen(
        [sys.executable, "-ISc", _AS_3_AND_4, str(from_us), str(from_it), *command],
        pass_fds=(from_us, from_it), env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        os.close(from_us)
        os.close(from_it)
        try:
            yield Tab(to, answers)
        finally:
            process.kill()
            os.close(to)
            os.close(answers)
