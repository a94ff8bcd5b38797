"""Replies of sandboxes that belong to others: a command that lies, and a service that does.

What runs in them is believed only as far as it can be true. A reply that is none is nobody's
reject: the check is unknown, and those beside it are judged.
"""

import ast
import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lies
import pytest
from attacks import Fight, attack
from fusion import Service, running
from lies import LIES, lie_of

from verifier_ladder.tiers.fast.code import CodeFunctions
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.tiers.sandbox.relay import TOLD
from verifier_ladder.tiers.sandbox.wrapped import UNPACK

TASK = {"calls": ["solve(3)"], "expected": ["9"], "limits": {"wall": 60.0}}
_COMMAND = """
import io, sys, tempfile, zipfile
sources = sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))
{unpack}
sys.path.append({support!r})
from lies import lie_of
begun, answered, write = relay._begun, relay._answer, relay._write
relay._begun = lambda options: options
relay._answer = lambda options, asked: lie_of(asked) or answered(begun(options), asked)
def written(file, message):
    if not isinstance(message, bytes):
        return write(file, message)
    file.write(len(message).to_bytes(8, "big") + message)
    file.flush()
relay._write = written
relay.serve(folder)
"""


class Liar(Service):
    """Runs what names no lie."""

    def fusion(self, body: dict[str, Any]) -> dict[str, Any]:
        """See `Service`."""
        last: Any = ast.parse(body["code"]).body[-1]
        lie = lie_of(json.loads(ast.literal_eval(last.value.args[2].args[0])))
        if not lie:
            return super().fusion(body)
        return {"files": {TOLD: base64.b64encode(lie).decode()}, "run_result": {}}


@pytest.fixture(params=["command", "remote"])
def liar(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """A back end that answers as a program asks it to."""
    if request.param == "command":
        script, support = tmp_path / "liar.py", str(Path(lies.__file__).parent)
        script.write_text(_COMMAND.format(unpack=UNPACK, support=support))
        yield Backend("command", command=(os.path.realpath(sys.executable), str(script)))
        return
    with running(Liar()) as service:
        address = f"sandboxfusion+{service.address}"
        yield Backend("remote", url=address, token=service.token)


def test_no_reply_of_others_is_held_against_anybody(liar: Backend, tmp_path: Path) -> None:
    """Each program is right. What is answered for it would be, too, if it could be believed."""
    right = "def solve(n): return n * n"
    attacks = {name: attack(f"{right}  # lie: {name}", right, TASK) for name in LIES}
    fight = Fight([CodeFunctions()], attacks, tmp_path, liar).run()

    fight.check(unknown=("sandbox",))
    at = {name: fight.entries[name].verdict.failed_at for name in fight.candidates}
    assert at == {name: None if name.endswith("control") else "sandbox" for name in at}
    reasons = [entry.verdict.reason for entry in fight.entries.values()]
    assert not [why for why in reasons if len(why) > 1000 or re.search(r"[^ -~…]", why)]
