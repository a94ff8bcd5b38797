"""A zygote on another machine, behind a service that runs Python: SandboxFusion, or E2B.

The shapes are those of SandboxFusion's `POST /run_code` (sandbox/server/sandbox_api.py of its
repository) and of E2B (`POST /sandboxes` of its spec/openapi.yml, and `POST /execute` of its code
interpreter). For each input a relay is sent as a program; it starts a zygote where it is, and
leaves what came out in a file that the service gives back.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from verifier_ladder import metering
from verifier_ladder.errors import ConfigError, SandboxError
from verifier_ladder.text import printable
from verifier_ladder.tiers.sandbox.outcome import UNREADABLE, Told
from verifier_ladder.tiers.sandbox.program import Limits, Warmth
from verifier_ladder.tiers.sandbox.relay import TOLD, asked, told_in
from verifier_ladder.tiers.sandbox.wrapped import UNPACK, options, sources

SHAPES = ("sandboxfusion", "e2b")
_GRACE_SECONDS = 90.0
_LARGEST = 64 << 20
_E2B_PORT = 49999
_E2B_TEMPLATE = "code-interpreter-v1"
_E2B_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
_E2B_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]{1,63}\.){1,10}[A-Za-z]{2,63}")
"""Of a machine elsewhere: no number, and not this one."""
_SAID = 500
_WHO = "the remote sandbox"
_PROGRAM = """
import base64, io, json, sys, tempfile, zipfile
sources = base64.b64decode({archive!r})
{unpack}
relay.answer_once(folder, json.loads({options!r}), json.loads({request!r}))
"""
_IN_A_NOTEBOOK = """
import base64, pathlib, subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as place:
    pathlib.Path(place, "program.py").write_text({program!r})
    ran = subprocess.run([sys.executable, "-I", "program.py"], cwd=place, capture_output=True)
    told = pathlib.Path(place, {told!r})
    print(told.read_text() if told.exists() else ran.stderr.decode(errors="replace")[-500:])
"""


def checked_address(url: str) -> tuple[str, str]:
    """The shape and the address in `sandboxfusion+http://host:8080` or `e2b+https://host`.

    Raises:
        ConfigError: If it is neither.

    Example:
        >>> checked_address("sandboxfusion+http://127.0.0.1:8080/")
        ('sandboxfusion', 'http://127.0.0.1:8080')
    """
    shape, _, address = url.partition("+")
    if shape not in SHAPES or not address.startswith(("http://", "https://")):
        raise ConfigError(
            f"VLADDER_SANDBOX_URL={url!r}: give the shape and the address, such as "
            "sandboxfusion+http://10.0.0.7:8080 or e2b+https://api.e2b.app"
        )
    return shape, address.rstrip("/")


class Remote:
    """The worker's end of a service that runs programs on another machine.

    What it tells of processor time is the other machine's word, and no file can be written.
    """

    kind = "remote"
    pid = 0
    seconds = 0.0
    """Nothing that is still to be charged."""

    def __init__(self, url: str, token: str, warmth: Warmth) -> None:
        """Describe the service; it is asked with the first input.

        Raises:
            SandboxError: If httpx is missing.
        """
        self._shape, self._address = checked_address(url)
        self._token, self._warmth = token, warmth
        self._client = _httpx().Client(follow_redirects=False)

    def run(self, request: bytes, stdin: bytes, limits: Limits) -> Told:
        """Run one input.

        Raises:
            SandboxError: If the service can't be reached, fails, or answers what is no answer.
        """
        sent = asked(request, stdin, limits)
        program = _PROGRAM.format(
            archive=base64.b64encode(sources()).decode(), unpack=UNPACK,
            options=json.dumps(options("bare", self._warmth)), request=json.dumps(sent),
        )  # fmt: skip
        seconds = 2 * limits.wall + _GRACE_SECONDS
        ask = self._fusion if self._shape == "sandboxfusion" else self._e2b
        try:
            told, took = told_in(ask(program, seconds), sent, limits, _WHO)
        except UNREADABLE as error:
            why = printable(str(error), _SAID)
            raise SandboxError(f"{_WHO} answered what is no answer: {why}") from None
        metering.charge(took)
        return told

    def _fusion(self, program: str, seconds: float) -> str:
        """Ask SandboxFusion."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        body = {
            "code": program, "language": "python", "run_timeout": seconds, "fetch_files": [TOLD],
        }  # fmt: skip
        said = self._post(f"{self._address}/run_code", body, headers, seconds)
        files = said.get("files")
        if isinstance(files, dict) and isinstance(files.get(TOLD), str):
            return base64.b64decode(files[TOLD]).decode("ascii")
        ran = said.get("run_result") or {}
        why = said.get("message") or (ran.get("stderr") or ran.get("status") or "it said nothing")
        raise SandboxError(f"{_WHO} has run nothing: {printable(str(why)[-_SAID:], _SAID)}")

    def _e2b(self, program: str, seconds: float) -> str:
        """Ask E2B for a sandbox of its own, and end that after."""
        parts = urlsplit(self._address)
        given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        address = urlunsplit(parts._replace(query="")).rstrip("/")
        key = {"X-API-Key": self._token}
        template = given.get("template", _E2B_TEMPLATE)
        body = {
            "templateID": template, "timeout": int(seconds) + 60, "secure": True,
            "allow_internet_access": False,
        }  # fmt: skip
        made = self._post(f"{address}/sandboxes", body, key, seconds)
        name, domain = str(made["sandboxID"]), str(made.get("domain") or "e2b.app")
        is_elsewhere = "sandbox_url" in given or _E2B_DOMAIN.fullmatch(domain)
        if not _E2B_NAME.fullmatch(name) or not is_elsewhere:
            raise SandboxError(f"{_WHO} names a machine that can't be: {printable(name + domain)}")
        try:
            host = f"https://{_E2B_PORT}-{name}.{domain}"
            headers = {"E2b-Sandbox-Id": name, "E2b-Sandbox-Port": str(_E2B_PORT)}
            for header, field in (
                ("X-Access-Token", "envdAccessToken"),
                ("E2B-Traffic-Access-Token", "trafficAccessToken"),
            ):
                if made.get(field):
                    headers[header] = str(made[field])
            code = _IN_A_NOTEBOOK.format(program=program, told=TOLD)
            execute = f"{given.get('sandbox_url', host).rstrip('/')}/execute"
            lines = self._ask("POST", execute, {"code": code}, headers, seconds).splitlines()
        finally:
            with suppress(SandboxError):  # It ends by itself after its time.
                self._ask("DELETE", f"{address}/sandboxes/{name}", None, key, 30.0)
        events = [json.loads(line) for line in lines if line.strip()]
        return "".join(e.get("text", "") for e in events if e.get("type") == "stdout")

    def _post(
        self, url: str, body: Mapping[str, Any], headers: Mapping[str, str], seconds: float
    ) -> dict[str, Any]:
        said = json.loads(self._ask("POST", url, body, headers, seconds))
        if not isinstance(said, dict):
            raise SandboxError(f"{_WHO} answered what is no object")
        return said

    def _ask(
        self, method: str, url: str, body: Mapping[str, Any] | None,
        headers: Mapping[str, str], seconds: float,
    ) -> bytes:  # fmt: skip
        httpx, answer, deadline = _httpx(), bytearray(), monotonic() + seconds + 30.0
        try:
            with self._client.stream(
                method, url, json=body, headers=headers, timeout=seconds + 30.0
            ) as response:
                for part in response.iter_bytes():
                    answer += part
                    if len(answer) > _LARGEST or monotonic() > deadline:
                        raise SandboxError(f"{_WHO} answered without end")
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            said = str(error) or type(error).__name__
            raise SandboxError(f"{_WHO} could not be asked: {said}") from None
        if not response.is_success:
            shown = printable(bytes(answer[:200]))
            raise SandboxError(f"{_WHO} answered with status {response.status_code}: {shown}")
        return bytes(answer)

    def close(self) -> None:
        """End the connections."""
        self._client.close()


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise SandboxError(
            "asking a remote sandbox needs httpx; pip install '.[http]' in a clone"
        ) from None
    return httpx
