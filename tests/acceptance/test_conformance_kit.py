"""One kit holds a verifier to its contract, and to a key that knows right from wrong.

`vladder verifier check` runs it in a worker: it says of each sentence of the contract whether it
holds, and what to mend. `VerifierTestCase` of `verifier_ladder.testing` is the same for pytest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from verifier_ladder.cli.app import app

CODE = '''
import os
import socket
import verifier_ladder as vl

@vl.verifier(
    kind="text", version="1", cost=vl.Cost(seconds=1e-3), capabilities=["reasoning"],
    domain="letters",
)
def careful(candidate):
    """Accept what is short."""
    if len(candidate.content) > 20:
        return vl.Verdict.reject("too long", feedback="Write at most 20 characters.")
    return vl.Verdict.accept(1.0)

@vl.verifier(kind="text", version="1", cost=vl.Cost(seconds=5.0))
def careless(candidate):
    """Do much that no verifier should."""
    if "1e308" in str(candidate.content):
        raise RuntimeError("not converged")
    if candidate.content == "42":
        try:
            socket.create_connection(("127.0.0.1", 9), timeout=1)
        except OSError:
            pass
    if len(candidate.content) > 30:
        return vl.Verdict.reject("too long")
    return float.fromhex(os.urandom(6).hex())
'''
KEY = (
    {"candidate": "short", "outcome": "accept"},
    {"candidate": "a text of 21 letters,", "outcome": "reject"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "on_trial.py").write_text(CODE)
    lines = [json.dumps({**case, "why": "its length", "source": "by hand"}) for case in KEY]
    (tmp_path / "key.jsonl").write_text("\n".join(lines))
    return tmp_path


def checked(folder: Path, name: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and what is said of each sentence."""
    place, key = f"{folder / 'on_trial.py'}:{name}", str(folder / "key.jsonl")
    done = CliRunner().invoke(app, ["verifier", "check", place, "--key", key, "--json"])
    return done.exit_code, {row["name"]: row for row in json.loads(done.stdout)["checks"]}


def test_a_good_verifier_keeps_every_sentence(folder: Path) -> None:
    code, said = checked(folder, "careful")

    assert (0, {"ok"}) == (code, {row["state"] for row in said.values()}), said


SENTENCES = {
    "its name, version and settings make a key": ("ok", ""),
    "it answers for every sample candidate": ("ok", ""),
    "the same candidate again gives the same verdict": ("fail", "seeded for each check"),
    "a batch gives the same verdicts as single candidates": ("fail", "in a batch"),
    "hostile text and extreme numbers get a verdict, and no failure of the verifier": (
        "fail", "Declare a `control`",
    ),
    "a candidate without a task gets a verdict": ("ok", ""),
    "it agrees with its answer key": ("fail", "wrong answers are accepted"),
    "it costs about what it declares": ("fail", "change cost=vl.Cost(seconds=…)"),
    "every reject has feedback, and none tells a hidden value": (
        "advice", "rejected without feedback",
    ),
    "it says which capability and domain it is about": ("advice", "capabilities="),
    "it needs no network, or says so": ("fail", "declare network=True"),
}  # fmt: skip


def test_what_a_careless_one_breaks_is_told_with_what_to_do(folder: Path) -> None:
    code, said = checked(folder, "careless")

    assert 1 == code
    assert {name: row["state"] for name, row in said.items()} == {
        name: state for name, (state, _) in SENTENCES.items()
    }
    for name, (_, words) in SENTENCES.items():
        assert words in said[name]["text"], said[name]
