"""What a check is charged is what it used, whoever of its processes used it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.policies import AllTiers

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
USED = 2.0
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


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1, name="metered") as one:
        yield one


def started(program: str) -> subprocess.Popen[bytes]:
    """A child that has said a line, and that nobody waits for."""
    child = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


@vl.verifier(kind="text", version="1", cost=vl.Cost(seconds=1.0), timeout=300.0)
def spins(candidate: vl.Candidate) -> float:
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
    return 1.0


def charged(pool: WorkerPool, content: str, verifier: vl.Verifier = spins) -> float:
    verdicts = pool.verify(verifier, [vl.Candidate("text", content)]).result().verdicts
    assert (1.0, None) == (verdicts[0].score, verdicts[0].failed_at), verdicts[0].reason
    assert verdicts[0].cost is not None
    return verdicts[0].cost.seconds


@pytest.mark.parametrize(
    "who",
    ["itself", "a child that it waits for", "a child that stays", "a child that it leaves dead",
     "a grandchild that lost its parent"],
)  # fmt: skip
def test_a_check_is_charged_for_all_its_processes_and_the_next_one_is_not(
    pool: WorkerPool, who: str
) -> None:
    charged(pool, "nothing")
    used, after = charged(pool, who), charged(pool, "nothing")

    assert 0.9 * USED <= used <= 1.1 * USED + BORN
    assert after <= 0.1 * USED


def test_each_of_a_batch_is_charged_with_its_own(pool: WorkerPool) -> None:
    contents = ["nothing", "a child that stays", "nothing", "itself", "nothing"]
    said = pool.verify(spins, [vl.Candidate("text", one) for one in contents]).result()

    costs = [verdict.cost.seconds for verdict in said.verdicts if verdict.cost]
    assert [False, True, False, True, False] == [cost >= 0.9 * USED for cost in costs]
    assert sum(costs) <= 2 * (1.1 * USED + BORN)


def test_a_program_and_what_it_has_started_are_charged_with_what_else_it_declares(
    pool: WorkerPool,
) -> None:
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

    (verdict,) = pool.verify(command, [vl.Candidate("text", "a")]).result().verdicts

    assert verdict.cost is not None
    assert 0.9 * USED <= verdict.cost.seconds <= 1.1 * USED + BORN
    assert 0.25 == verdict.cost.money


def test_a_verdict_that_names_its_money_is_charged_for_its_time_too(pool: WorkerPool) -> None:
    @vl.verifier(kind="text", version="1")
    def pays(candidate: vl.Candidate) -> vl.Verdict:
        del candidate
        end = time.process_time() + USED
        while time.process_time() < end:
            pass
        return vl.Verdict.accept(1.0, cost=vl.Cost(money=0.5))

    (verdict,) = pool.verify(pays, [vl.Candidate("text", "a")]).result().verdicts

    assert verdict.cost is not None
    assert 0.5 == verdict.cost.money
    assert 0.9 * USED <= verdict.cost.seconds <= 1.1 * USED + BORN


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

    ladder = vl.Ladder("metered", [first, serves], policy=AllTiers())
    with vl.Campaign.open("metered", ladder=ladder, workers=1) as campaign:
        campaign.score(["a"])
        campaign.drain("300 s")
        (reward,) = campaign.score(["a"])
        spent = sum(
            account.spent
            for account in campaign.ledger.accounts("metered")
            if account.resource is Resource.CPU_SECONDS and account.tier == vl.Tier.SIMULATION
        )

    assert 1.0 == reward.value
    assert spent >= USED
