"""A verifier is lent a sandbox, in which it runs what a model wrote; it judges out here.

What a program takes in there has limits and is charged to its check, and the verdict and its key
name the class of sandbox. Where none works, its check abstains; where it is weaker than a ladder
demands, no campaign of that ladder is opened.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.sandbox import Backend, Ending, Input, Limits, Program, Sandbox

CLASSES = ("namespaces", "landlock")
LIMITS = Limits(cpu=0.5, wall=20.0, memory=256 << 20, processes=8)


@pytest.fixture
def kind(
    request: pytest.FixtureRequest,
    require: Callable[[str, bool, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A class of sandbox that works on this machine; a command of its owner is one too."""
    found = str(request.param)
    monkeypatch.setenv("VLADDER_SANDBOX", found)
    monkeypatch.setenv("VLADDER_SANDBOX_COMMAND", os.path.realpath(sys.executable))
    why = "" if found == "command" else Backend(found).problem()
    require(f"the sandbox {found}", not why, why)
    return found


def judge(candidate: vl.Candidate, sandbox: Sandbox) -> vl.Verdict:
    """Run the program on two inputs, and compare; what is expected stays out here."""
    program = Program({"main.py": str(candidate.content)})
    results = sandbox.run(program, [Input((3,)), Input((4,))], LIMITS)
    for result, wanted in zip(results, (9, 16), strict=True):
        if result.ended is not Ending.FINISHED:
            return vl.Verdict.reject(f"it {result.ended}")
        if (type(result.value), result.value) != (int, wanted):
            return vl.Verdict.reject("it gives another value")
    return vl.Verdict.accept(1.0)


def function() -> vl.Verifier:
    return vl.verifier(name="squares", kind="python", version="1", sandbox=Sandbox())(judge)


class Squares(vl.Verifier):
    """The same, as a class."""

    name, version, kind, sandbox = "squares-class", "1", "python", Sandbox()

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        assert self.sandbox is not None
        return [judge(candidate, self.sandbox) for candidate in candidates]


HONEST = "def solve(n): return n * n"
BAD = {
    "wrong": "def solve(n): return n + n",
    "crashing": "import os\ndef solve(n): os.abort()",
    "hanging": "def solve(n):\n    while True: pass",
    "forking": "import os\ndef solve(n):\n    while True: os.fork()",
    "exiting": "import os\nos._exit(0)",
    "tampering": "class E:\n    __eq__ = lambda s, o: True\ndef solve(n): return E()",
    "ending its parent": "import os, signal\ndef solve(n):\n    os.kill(os.getppid(), 9)",
}
BURNING = """
import os, time
def solve(n):
    if os.fork() == 0:
        while time.process_time() < 0.2: pass
        os._exit(0)
    os.wait()
    return n * n
"""


def spent(campaign: vl.Campaign) -> float:
    return sum(account.settled for account in campaign.ledger.accounts("c"))


@pytest.mark.parametrize(
    ("kind", "make"),
    [*((kind, function) for kind in (*CLASSES, "command")), ("landlock", Squares)],
    indirect=["kind"],
)
@pytest.mark.usefixtures("kind")
def test_honest_code_is_accepted_and_bad_code_rejected(make: Callable[[], vl.Verifier]) -> None:
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [make()]), workers=1) as campaign:
        rewards = campaign.score([vl.Candidate("python", s) for s in (HONEST, *BAD.values())])
    assert [1.0, *[0.0] * len(BAD)] == [reward.value for reward in rewards]
    assert {None} == {reward.failed_at for reward in rewards}


@pytest.mark.parametrize("kind", CLASSES, indirect=True)
def test_evidence_and_key_name_the_class(kind: str) -> None:
    verifier = function()
    (verdict,) = verifier.judge([vl.Candidate("python", HONEST)])

    assert f"{kind}/2" == verdict.evidence["sandbox"] == verifier.as_json()["sandbox"]
    digests = {verifier.in_sandbox(Backend(each)).digest for each in CLASSES}
    assert verifier.digest in digests
    assert len(CLASSES) == len(digests)


@pytest.mark.parametrize("kind", CLASSES, indirect=True)
@pytest.mark.usefixtures("kind")
def test_all_that_an_input_takes_is_charged() -> None:
    """A grandchild in the sandbox works for each of two inputs, on the fast tier's account."""
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [function()]), workers=1) as campaign:
        campaign.score([vl.Candidate("python", HONEST)])  # what is started for it is nobody's
        before = spent(campaign)
        (reward,) = campaign.score([vl.Candidate("python", BURNING)])
        took = spent(campaign) - before
    assert 1.0 == reward.value
    assert 0.4 <= took <= 0.4 * 1.1 + 0.15  # two inputs, and what it takes to run a worker


def test_where_no_sandbox_works_checks_abstain_at_no_cost_and_are_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Backend, "problem", lambda _: "user namespaces are forbidden")
    ledger = tmp_path / "ledger.db"
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [function()]), ledger=ledger) as campaign:
        (reward,) = campaign.score([vl.Candidate("python", HONEST)])
        assert (None, "sandbox") == (reward.value, reward.failed_at)
        assert "user namespaces are forbidden" in reward.reason
        assert 0.0 == spent(campaign)
    monkeypatch.undo()
    with vl.Campaign.open("d", ladder=vl.Ladder("l", [function()]), ledger=ledger) as campaign:
        (reward,) = campaign.score([vl.Candidate("python", HONEST)])
    assert 1.0 == reward.value


def test_a_ladder_that_demands_more_is_not_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VLADDER_SANDBOX", "landlock")
    made = function()
    file = tmp_path / "ladder.toml"
    file.write_text('name = "l"\nverifiers = ["squares"]\nleast_sandbox = "namespaces"\n')
    for ladder in (vl.Ladder("l", [made], least_sandbox="namespaces"), file):
        with pytest.raises(vl.ConfigError, match=r"at least as strong as namespaces.*landlock/2"):
            vl.Campaign.open("c", ladder=ladder)
    with pytest.raises(vl.ConfigError, match="no sandbox is named 'strong'"):
        vl.Ladder("l", [made], least_sandbox="strong")
    monkeypatch.setenv("VLADDER_SANDBOX", "namespaces")
    vl.Campaign.open("c", ladder=vl.Ladder("l", [function()], least_sandbox="namespaces")).close()
