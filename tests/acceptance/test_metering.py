"""A check is charged what it used, whoever of its processes used it, and what its verdict names.

Cpu time is measured: of the verifier's process, of its children, and of theirs, whether they end
or stay. What nobody can measure, such as money, is what the verdict or else the verifier says.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder import metering
from verifier_ladder.errors import SandboxError
from verifier_ladder.resource import Resource
from verifier_ladder.tiers.sandbox import Backend, Sandbox
from verifier_ladder.tiers.sandbox.program import Warmth

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
USED = 0.5
"""Cpu-seconds."""
SPIN = f"import time\nwhile time.process_time() < {USED}: pass\n"
TELL = "print('done', flush=True)\n"
STAY = "time.sleep(600)\n"
DAEMON = f"""
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
{SPIN}
{TELL}
{STAY}
"""
BORN = 0.4
"""Cpu-seconds that an interpreter and two may take to start."""


def opened(*verifiers: vl.Verifier) -> vl.Campaign:
    ladder = vl.Ladder("metered", list(verifiers), policy="all_tiers")
    return vl.Campaign.open("metered", ladder=ladder, workers=1)


def spent(campaign: vl.Campaign, resource: Resource = Resource.CPU_SECONDS) -> float:
    accounts = campaign.ledger.accounts("metered")
    return sum(account.spent for account in accounts if account.resource is resource)


def started(program: str) -> subprocess.Popen[bytes]:
    """A child that has said a line, and that nobody waits for."""
    child = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


@vl.verifier(kind="text", version="1", cost=vl.Cost(seconds=1.0), timeout=300.0)
def spins(candidate: vl.Candidate) -> vl.Verdict:
    kept = globals().setdefault("KEPT", [])
    match candidate.content:
        case "itself":
            end = time.process_time() + USED
            while time.process_time() < end:
                pass
        case "a child that it waits for":
            subprocess.run([sys.executable, "-S", "-c", SPIN], check=True)
        case "a child that stays":
            kept.append(started(SPIN + TELL + STAY))
        case "a child that it leaves dead":
            kept.append(started(SPIN + TELL))
        case "a grandchild that lost its parent":
            kept.append(started(DAEMON))
    return vl.Verdict.accept(1.0, evidence={"who": candidate.content})


@vl.verifier(kind="text", version="1", cost=vl.Cost(seconds=1.0), timeout=300.0)
def starts(candidate: vl.Candidate) -> vl.Verdict:
    del candidate
    took, end = 0.0, time.process_time() + USED
    for _ in range(4):
        with Sandbox(Warmth(modules=("numpy",))) as sandbox:
            sandbox.start()
            took += metering.seconds_of(sandbox.process)
    while time.process_time() < end:
        pass
    return vl.Verdict.accept(1.0, evidence={"start": took})


@vl.verifier(kind="text", version="1", cost=vl.Cost(seconds=1.0), timeout=300.0)
def starts_in_vain(candidate: vl.Candidate) -> vl.Verdict:
    del candidate
    end = time.process_time() + USED
    command = Backend("command", command=(sys.executable, "-S", "-c", SPIN))
    with Sandbox(backend=command) as sandbox, pytest.raises(SandboxError):
        sandbox.start()
    while time.process_time() < end:
        pass
    return vl.Verdict.accept(1.0)


def charged(campaign: vl.Campaign, content: str) -> float:
    """What the check of a text adds to the cpu time that its campaign has spent."""
    before = spent(campaign)
    (reward,) = campaign.score([content])
    assert (1.0, None) == (reward.value, reward.failed_at), reward.reason
    return spent(campaign) - before


@pytest.mark.parametrize(
    "who",
    ["itself", "a child that it waits for", "a child that stays", "a child that it leaves dead",
     "a grandchild that lost its parent"],
)  # fmt: skip
def test_a_check_is_charged_for_all_its_processes_and_the_next_one_is_not(who: str) -> None:
    with opened(spins) as campaign:
        charged(campaign, "nothing")
        used, after = charged(campaign, who), charged(campaign, "nothing again")

    assert 0.9 * USED <= used <= 1.1 * USED + BORN
    assert after <= 0.5 * USED


def test_a_sandbox_that_starts_in_the_middle_of_a_check_is_not_charged_to_it() -> None:
    with opened(starts) as campaign:
        campaign.score(["nothing"])
        used = charged(campaign, "a")
        said = [row.verdict for e in campaign.ledger.entries() for row in
                campaign.ledger.read(e).verdicts]  # fmt: skip

    assert 0.9 * USED <= used <= 1.1 * USED + min(v.evidence["start"] for v in said) / 2


def test_a_sandbox_that_fails_to_start_is_not_charged_to_a_check() -> None:
    with opened(starts_in_vain) as campaign:
        campaign.score(["nothing"])
        used = charged(campaign, "a")

    assert 0.9 * USED <= used <= 1.1 * USED + BORN


def test_each_of_a_batch_is_charged_with_its_own() -> None:
    contents = ["nothing", "a child that stays", "nothing more", "itself", "nothing at all"]
    with opened(spins) as campaign:
        campaign.score(contents)
        blocks = [campaign.ledger.read(entry) for entry in campaign.ledger.entries()]

    said = [row.verdict for block in blocks for row in block.verdicts]
    costs = {each.evidence["who"]: each.cost.seconds for each in said if each.cost}
    dear = {who for who, seconds in costs.items() if seconds >= 0.9 * USED}
    assert set(contents) == costs.keys()
    assert {"a child that stays", "itself"} == dear
    assert sum(costs.values()) <= 2 * (1.1 * USED + BORN)


def test_a_program_and_what_it_has_started_are_charged_with_what_else_it_declares() -> None:
    program = (
        "import json, subprocess, sys\n"
        "for line in sys.stdin:\n"
        f"    subprocess.run([sys.executable, '-S', '-c', {SPIN!r}])\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'outcome': 'accept', 'score': 1}),"
        " flush=True)\n"
    )
    command = vl.CommandVerifier(
        name="program", version="1", command=[sys.executable, "-S", "-c", program],
        cost=vl.Cost(money=0.25), timeout=300.0,
    )  # fmt: skip

    with opened(command) as campaign:
        used, money = charged(campaign, "a"), spent(campaign, Resource.MONEY)

    assert 0.9 * USED <= used <= 1.1 * USED + BORN
    assert 0.25 == pytest.approx(money)


def test_a_verdict_that_names_its_money_is_charged_for_its_time_too() -> None:
    @vl.verifier(kind="text", version="1")
    def pays(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        end = time.process_time() + USED
        while time.process_time() < end:
            pass
        return vl.Verdict.accept(1.0, cost=vl.Cost(money=0.5))

    with opened(pays) as campaign:
        used, money = charged(campaign, "a"), spent(campaign, Resource.MONEY)

    assert 0.5 == pytest.approx(money)
    assert 0.9 * USED <= used <= 1.1 * USED + BORN


def test_a_server_that_a_verifier_keeps_is_charged() -> None:
    @vl.verifier(tier="simulation", kind="text", version="1", cost=vl.Cost(seconds=5.0))
    def serves(candidate: vl.Candidate) -> float:
        # It works for the check, tells that it has, and lives on: nobody waits for its end.
        server = subprocess.Popen(
            [sys.executable, "-c", SPIN + TELL + STAY], stdout=subprocess.PIPE
        )
        told = server.stdout.readline() if server.stdout else b""
        return float(len(candidate.content) if told else 0)

    @vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
    def first(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    with opened(first, serves) as campaign:
        campaign.score(["a"])
        campaign.drain("300 s")
        (reward,) = campaign.score(["a"])
        used = spent(campaign)

    assert 1.0 == reward.value
    assert used >= USED
