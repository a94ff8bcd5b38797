"""Worker hosts: other processes' checks are run, and nothing is lost when a host leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event, current_thread
from time import time
from typing import Any

import forked
import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.registry import REGISTRY
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.host import WorkerHost
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.engines.owners import new_owner

Until = Callable[[Callable[[], object]], None]
Open = Callable[..., vl.Campaign]


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def host_cheap(_: vl.Candidate) -> float:
    return 1.0


@vl.verifier(tier="simulation", kind="text", version="1")
def host_costly(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(tier="simulation", kind="text", version="1", isolation="inline")
def host_odd(candidate: vl.Candidate) -> vl.Verdict:
    verdict = vl.Verdict.accept(1.0)
    if candidate.content == "odd":
        object.__setattr__(verdict, "turns", (1,))
    return verdict


class Moody(vl.Verifier):
    """One of which an attribute will be a property."""

    name, version, tier, kind, isolation = "moody", "1", "simulation", "text", "inline"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
        return [1.0 for _ in candidates]


class Gated(vl.Verifier):
    """Waits until a file is there."""

    name, version, tier, kind = "host_gated", "1", vl.Tier.SIMULATION, "text"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
        Path(self.settings["begun"]).touch()
        while not Path(self.settings["gate"]).exists():
            os.sched_yield()
        return [2.0] * len(candidates)


REGISTRY.add(Gated())


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def open_(place: Path) -> Open:
    """Open a campaign whose simulations others run."""
    ladder = vl.Ladder("l", [host_cheap, host_costly], policy="all_tiers")
    return partial(
        vl.Campaign.open, "c", ladder=ladder, ledger=place, run="r", workers=1, engine="workers"
    )


@pytest.fixture
def ledger(place: Path) -> Iterator[Ledger]:
    with open_ledger(place) as store:
        yield store


@pytest.fixture
def host(ledger: Ledger) -> Iterator[WorkerHost]:
    made = WorkerHost(ledger, workers=1)
    yield made
    made.close()


def test_a_host_runs_what_a_campaign_asks_for(open_: Open, host: WorkerHost) -> None:
    with open_() as campaign:
        host.wake()
        first = campaign.score(["a", "bcd", "a"])
        assert campaign.drain("300 s")
        last = sorted(revision.reward.value or 0.0 for revision in campaign.revisions())

    assert [1.0, 1.0, 1.0] == [reward.value for reward in first]
    assert [1.0, 1.0, 3.0] == last
    assert 2 == host.done


def test_what_a_host_ends_between_two_looks_is_revised_before_a_drain_ends(
    open_: Open, host: WorkerHost, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    looks, waits, is_waiting = LocalEngine._is_at_work, LocalEngine.wait_idle, Event()

    def ended_meanwhile(engine: LocalEngine, name: str) -> bool:
        if is_waiting.is_set():
            host.wake()
            until(lambda: [CheckState.DONE] == [check.state for check in ledger.checks()])
        return looks(engine, name)

    def wait_idle(engine: LocalEngine, timeout: float | None) -> bool:
        is_waiting.set()
        return waits(engine, timeout)

    with open_() as campaign:
        campaign.score(["abc"])
        # The engine looks for open checks after it has looked for those that have ended.
        monkeypatch.setattr(LocalEngine, "_is_at_work", ended_meanwhile)
        monkeypatch.setattr(LocalEngine, "wait_idle", wait_idle)
        assert campaign.drain("300 s")
        assert [3.0] == [revision.reward.value for revision in campaign.revisions()]


def test_a_host_outlives_whatever_is_raised(
    open_: Open, host: WorkerHost, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, faults = ledger.claim, [SystemExit(3)]

    def claim_or_leave(**wish: Any) -> Any:
        if faults:
            raise faults.pop()
        return claim(**wish)

    monkeypatch.setattr("verifier_ladder.scheduler.engines.dispatcher._REST", 0.0)
    monkeypatch.setattr(ledger, "claim", claim_or_leave)
    with open_() as campaign:
        campaign.score(["abcd"])
        host.wake()
        assert host.wait_idle(60)

    assert ([], 1) == (faults, host.done)


def test_a_check_at_which_the_engine_fails_each_time_holds_up_no_other(
    open_: Open, host: WorkerHost, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    complete = ledger.complete

    def complete_or_fail(answers: Any, **how: Any) -> Any:
        if any("worst" == end.claim.check.payload["content"] for end in answers):
            raise AttributeError("an answer of an odd shape")
        return complete(answers, **how)

    monkeypatch.setattr("verifier_ladder.scheduler.engines.dispatcher._REST", 0.0)
    monkeypatch.setattr("verifier_ladder.scheduler.engines.retry._FIRST_PAUSE", 0.0)
    monkeypatch.setattr(WorkerHost, "_most", lambda *_: 1)
    monkeypatch.setattr(ledger, "complete", complete_or_fail)
    with open_() as campaign:
        campaign.score(["worst", "fine", "good"])
        host.wake()
        until(lambda: not ledger.checks(states=[CheckState.QUEUED, CheckState.LEASED]))

    ended = {check.payload["content"]: check.state for check in ledger.checks()}
    assert {"worst": CheckState.DEAD, "fine": CheckState.DONE, "good": CheckState.DONE} == ended


def test_an_odd_answer_of_an_inline_verifier_holds_up_no_other(
    place: Path, host: WorkerHost, ledger: Ledger, until: Until
) -> None:
    ladder = vl.Ladder("l", [host_cheap, host_odd], policy="all_tiers")
    with vl.Campaign.open("c", ladder=ladder, ledger=place, engine="workers") as campaign:
        campaign.score(["odd", "fine"])
        host.wake()
        until(lambda: not ledger.checks(states=[CheckState.QUEUED, CheckState.LEASED]))

    states = {check.payload["content"]: check.state for check in ledger.checks()}
    assert CheckState.DONE is states["fine"]


@pytest.mark.parametrize("attribute", ["batch_size", "isolation"])
def test_a_verifier_that_can_not_say_what_it_declares_holds_up_no_other(
    open_: Open, ledger: Ledger, place: Path, until: Until, attribute: str
) -> None:
    usual = getattr(Moody(), attribute)

    def read(_: vl.Verifier) -> Any:
        if current_thread().name == "vl-dispatcher":
            raise ValueError(f"no {attribute}")
        return usual

    moody: vl.Verifier = type("Moodier", (Moody,), {attribute: property(read)})()
    ladder = vl.Ladder("m", [host_cheap, moody], policy="all_tiers")
    catalog = Catalog(ledger, names=[moody.name, host_costly.name], offered=[moody, host_costly])
    host = WorkerHost(ledger, workers=1, catalog=catalog)
    with (
        closing(host),
        vl.Campaign.open("odd", ladder=ladder, ledger=place, engine="workers") as odd,
        open_() as campaign,
    ):
        odd.score(["a"])
        campaign.score(["abc"])
        host.wake()
        until(lambda: ledger.checks(states=[CheckState.DONE], verifier=host_costly.name))

    assert 1 == host.done


def test_a_deadline_waits_for_the_host(open_: Open, host: WorkerHost) -> None:
    with open_() as campaign:
        host.wake()
        rewards = campaign.score(["abcd"], deadline="300 s")

    assert [4.0] == [reward.value for reward in rewards]


def test_without_a_host_checks_stay_queued_and_the_campaign_says_so(
    open_: Open, ledger: Ledger
) -> None:
    with open_() as campaign:
        (reward,) = campaign.score(["a"])
        assert not campaign.drain(0.3)

    assert (1.0, True) == (reward.value, reward.pending)
    assert [CheckState.QUEUED] == [check.state for check in ledger.checks()]


def test_a_paused_tier_is_not_waited_for(open_: Open) -> None:
    with open_() as campaign:
        campaign.pause("simulation")
        campaign.score(["a"])
        assert campaign.drain("300 s")


def test_checks_that_no_budget_pays_for_are_not_waited_for(open_: Open, host: WorkerHost) -> None:
    with open_(budget={"simulation": 0}) as campaign:
        host.wake()
        campaign.score(["a"])
        assert campaign.drain("300 s")

    assert 0 == host.done


def test_a_campaign_that_was_closed_hears_of_what_was_done(open_: Open, host: WorkerHost) -> None:
    with open_() as campaign:
        campaign.score(["ab"])
    host.wake()
    host.wait_idle(60)
    with open_() as campaign:
        assert campaign.drain("300 s")
        values = [revision.reward.value for revision in campaign.revisions()]

    assert [2.0] == values


def test_a_verifier_that_is_not_here_is_left_to_others(place: Path, ledger: Ledger) -> None:
    class Elsewhere(Gated):
        name = "host_elsewhere"

    ladder = vl.Ladder("l", [host_cheap, Elsewhere(begun="", gate="")])
    with vl.Campaign.open("c", ladder=ladder, ledger=place, engine="workers"):
        catalog = Catalog(ledger)
        catalog.refresh()

    assert ["host_cheap"] == [verifier.name for verifier in catalog.verifiers]
    assert ["no verifier is called 'host_elsewhere'; "] == [
        why.partition("did")[0].partition("`")[0] for why in catalog.missing.values()
    ]


def test_a_verifier_made_differently_is_left_to_others(place: Path, ledger: Ledger) -> None:
    class Newer(Gated):
        tools: Any = {"solver": "2"}  # noqa: RUF012 - a declaration

    ladder = vl.Ladder("l", [host_cheap, Newer(begun="", gate="")])
    with vl.Campaign.open("c", ladder=ladder, ledger=place, engine="workers"):
        catalog = Catalog(ledger)
        catalog.refresh()

    assert ["host_cheap"] == [verifier.name for verifier in catalog.verifiers]
    assert "its settings, tools, sandbox or what it reads differ" in next(
        iter(catalog.missing.values())
    )


def test_only_the_verifiers_that_were_asked_for_are_run(open_: Open, ledger: Ledger) -> None:
    with open_():
        catalog = Catalog(ledger, names=["host_costly"])
        catalog.refresh()

    assert ["host_costly"] == [verifier.name for verifier in catalog.verifiers]


def test_a_host_that_leaves_gives_back_what_takes_too_long(
    place: Path, ledger: Ledger, host: WorkerHost, tmp_path: Path, until: Until
) -> None:
    begun = tmp_path / "begun"
    gated = Gated(begun=str(begun), gate=str(tmp_path / "gate"))
    REGISTRY.hold([gated])  # As the host's own code does.
    ladder = vl.Ladder("l", [host_cheap, gated], policy="all_tiers")
    with vl.Campaign.open("c", ladder=ladder, ledger=place, engine="workers") as campaign:
        campaign.score(["a"])
        host.wake()
        until(begun.exists)
        host.leave(0.1)

    (check,) = ledger.checks()
    assert (CheckState.QUEUED, 0, "") == (check.state, check.attempt, check.owner)
    assert 0 == host.done


def test_a_host_that_leaves_ends_what_it_began(
    place: Path, ledger: Ledger, host: WorkerHost, tmp_path: Path, until: Until
) -> None:
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    gated = Gated(begun=str(begun), gate=str(gate))
    REGISTRY.hold([gated])
    ladder = vl.Ladder("l", [host_cheap, gated], policy="all_tiers")
    with vl.Campaign.open("c", ladder=ladder, ledger=place, engine="workers") as campaign:
        campaign.score(["a"])
        host.wake()
        until(begun.exists)
        host.drain()
        gate.touch()
        host.leave(60)

    assert [CheckState.DONE] == [check.state for check in ledger.checks()]
    assert 1 == host.done


@pytest.mark.parametrize(
    ("who", "deaths", "state"),
    [
        ("alive", 1, CheckState.LEASED),
        ("dead", 1, CheckState.QUEUED),
        ("dead", 4, CheckState.QUEUED),
        ("dead", 5, CheckState.DEAD),
    ],
    ids=["alive", "dead", "dead again and again", "dead too often"],
)
def test_only_leases_of_dead_processes_are_taken_over(
    open_: Open, ledger: Ledger, who: str, deaths: int, state: CheckState
) -> None:
    name = "from verifier_ladder.scheduler.engines.owners import new_owner; print(new_owner())"
    told = forked.run([sys.executable, "-c", name], capture_output=True, text=True, check=True)
    owner = told.stdout.strip() if who == "dead" else new_owner()
    with open_() as campaign:
        campaign.score(["a"])
    for _ in range(deaths):
        ledger.claim(owner=owner, lease=60.0, limit=1, now=time())
        LocalEngine(ledger, workers=1).take_over()

    assert [state] == [check.state for check in ledger.checks()]


SCRIPT = """
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def cheap(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1")
def costly(candidate):
    return float(len(candidate.content))

ladder = vl.Ladder("l", [cheap, costly], policy="all_tiers")
if __name__ == "__main__":
    with vl.Campaign.open("c", ladder=ladder, ledger="ledger.db", engine="workers") as campaign:
        campaign.score(["a", "bc"])
"""


def command(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start a worker of the command line."""
    return forked.Popen(
        [sys.executable, "-m", "verifier_ladder.cli", "worker", "start", "--import", "mine.py",
         *options],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_the_command_runs_what_is_queued_and_ends_when_idle(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    forked.run([sys.executable, "mine.py"], cwd=tmp_path, check=True)

    _, said = command(tmp_path, "--until-idle", "--tier", "simulation").communicate(timeout=300)

    with open_ledger(tmp_path / "ledger.db") as store:
        assert [CheckState.DONE] * 2 == [check.state for check in store.checks()]
    assert "runs cheap 1, costly 1" in said
    assert said.endswith("2 checks done\n")


def test_sigterm_ends_the_command_in_order(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    forked.run([sys.executable, "mine.py"], cwd=tmp_path, check=True)
    worker = command(tmp_path, "--grace", "5 s")
    assert worker.stderr is not None
    assert worker.stderr.readline().startswith("worker ")

    worker.send_signal(signal.SIGTERM)
    _, said = worker.communicate(timeout=300)

    assert (0, True) == (worker.returncode, said.endswith("checks done\n"))


def test_the_end_of_a_slurm_job_must_be_known(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCRIPT)
    forked.run([sys.executable, "mine.py"], cwd=tmp_path, check=True)

    worker = command(tmp_path, "--until-walltime")
    _, said = worker.communicate(timeout=300)

    assert (2, True) == (worker.returncode, "give --walltime" in said)
