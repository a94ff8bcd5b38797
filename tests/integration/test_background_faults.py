"""An error in the background is told to its own campaign's callers, and stops nobody else."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.decision import Decisions, Situation
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.scheduler.policies import AllTiers
from verifier_ladder.telemetry.metrics import Metrics
from verifier_ladder.tiers.world.case import WorldVerifier


@pytest.fixture(autouse=True)
def _short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause after a fault is for those who would read of each in a log."""
    monkeypatch.setattr("verifier_ladder.scheduler.engines.dispatcher._REST", 0.1)


@vl.verifier(name="quick-f", tier="fast", kind="text", version="1", isolation="inline")
def quick(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(name="slow-f", tier="simulation", kind="text", version="1", isolation="inline")
def slow(candidate: vl.Candidate) -> float:
    return 10.0 * len(candidate.content)


@vl.verifier(name="top-f", tier="high_fidelity", kind="text", version="1", isolation="inline")
def top(candidate: vl.Candidate) -> float:
    return 100.0 * len(candidate.content)


class Faulty(AllTiers):
    """All tiers, but what it decides away from its callers' threads is spoilt."""

    def __init__(self, spoil: Callable[[Decisions], Any]) -> None:
        super().__init__()
        self.spoil, self.is_faulty = spoil, True
        self.met, self.may_go_on = Event(), Event()
        self.may_go_on.set()

    def decide(self, situation: Situation) -> Decisions:
        decisions = super().decide(situation)
        if self.is_faulty and current_thread().name == "vl-dispatcher":
            self.met.set()
            assert self.may_go_on.wait(300)
            return self.spoil(decisions)  # type: ignore[no-any-return]
        return decisions


def boom(_: Decisions) -> Any:
    raise ValueError("boom")


class Panic(BaseException):
    """As a library written in Rust raises it."""


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def panic(_: Decisions) -> Any:
    raise Panic("rust")


def leave(_: Decisions) -> Any:
    sys.exit(3)


def cancel(_: Decisions) -> Any:
    raise asyncio.CancelledError


def mute(_: Decisions) -> Any:
    raise MuteError


def a_list(decisions: Decisions) -> Any:
    return list(decisions.action)


def too_few(decisions: Decisions) -> Any:
    return decisions.rows(0)


def ladder(policy: AllTiers | None = None) -> vl.Ladder:
    return vl.Ladder("faults", [quick, slow, top], policy=policy or AllTiers())


@pytest.mark.parametrize("spoil", [boom, a_list, too_few, panic, leave, cancel, mute])
def test_a_policy_that_fails_in_the_background_is_told_and_stops_no_neighbour(
    tmp_path: Path, spoil: Callable[[Decisions], Any]
) -> None:
    policy = Faulty(spoil)
    ledger = tmp_path / "ledger.db"
    with (
        vl.Campaign.open("sound", ladder=ladder(), ledger=ledger) as sound,
        vl.Campaign.open("faulty", ladder=ladder(policy), ledger=ledger) as faulty,
    ):
        with pytest.raises(vl.EngineError, match="campaign faulty stopped in the background"):
            faulty.score(["abc"], deadline=300)

        assert [400.0] == [reward.value for reward in sound.score(["abcd"], deadline=300)]
        assert sound.drain(300)
        policy.is_faulty = False
        assert [300.0] == [reward.value for reward in faulty.score(["abc"], deadline=300)]
        assert faulty.drain(300)
        assert {300.0} == {reward.value for reward in latest(faulty).values()}


class Deaf(logging.Handler):
    """A handler of the user's that is at fault."""

    def emit(self, record: logging.LogRecord) -> None:
        raise Panic(record.getMessage())


@pytest.mark.parametrize("spoil", [boom, panic])
def test_a_log_handler_that_raises_keeps_no_fault_from_the_callers(
    tmp_path: Path, spoil: Callable[[Decisions], Any], request: pytest.FixtureRequest
) -> None:
    log, handler, policy = logging.getLogger("verifier_ladder"), Deaf(), Faulty(spoil)
    log.addHandler(handler)
    request.addfinalizer(lambda: log.removeHandler(handler))
    ledger = tmp_path / "ledger.db"
    with (
        vl.Campaign.open("sound", ladder=ladder(), ledger=ledger) as sound,
        vl.Campaign.open("faulty", ladder=ladder(policy), ledger=ledger) as faulty,
    ):
        with pytest.raises(vl.EngineError, match="campaign faulty stopped in the background"):
            faulty.score(["abc"], deadline=300)

        assert [400.0] == [reward.value for reward in sound.score(["abcd"], deadline=300)]


@pytest.mark.parametrize(
    "error", [Panic("rust"), SystemExit(3), asyncio.CancelledError(), MuteError()]
)
def test_whatever_an_inline_verifier_raises_is_one_candidates_abstention(
    tmp_path: Path, error: BaseException
) -> None:
    @vl.verifier(name="odd-f", tier="simulation", kind="text", version="1", isolation="inline")
    def odd(candidate: vl.Candidate) -> float:
        if candidate.content == "bad":
            raise error
        return 10.0 * len(candidate.content)

    odd_ladder = vl.Ladder("odd", [quick, odd], policy=AllTiers())
    ledger = tmp_path / "ledger.db"
    with (
        vl.Campaign.open("sound", ladder=ladder(), ledger=ledger) as sound,
        vl.Campaign.open("odd", ladder=odd_ladder, ledger=ledger) as campaign,
    ):
        good, bad = campaign.score(["good", "bad"], deadline=300)

        assert (40.0, "verifier") == (good.value, bad.failed_at)
        assert [400.0] == [reward.value for reward in sound.score(["abcd"], deadline=300)]


def test_every_caller_that_waits_is_told(tmp_path: Path) -> None:
    policy = Faulty(boom)
    policy.may_go_on.clear()
    with (
        vl.Campaign.open("faulty", ladder=ladder(policy), ledger=tmp_path / "l.db") as campaign,
        ThreadPoolExecutor(2) as callers,
    ):
        calls = [callers.submit(campaign.score, [text], deadline=300) for text in ("a", "bb")]
        assert policy.met.wait(300)
        policy.may_go_on.set()

        for call in calls:
            with pytest.raises(vl.EngineError, match="ValueError: boom"):
                call.result(300)


@contextmanager
def stopped_and_mended(folder: Path) -> Iterator[vl.Campaign]:
    """A campaign whose caller was told of a fault of its policy, which has none any more."""
    policy = Faulty(boom)
    with vl.Campaign.open("faulty", ladder=ladder(policy), ledger=folder / "l.db") as campaign:
        campaign.score(["abc"])
        with pytest.raises(vl.EngineError, match="boom"):
            campaign.drain(300)
        policy.is_faulty = False
        yield campaign


def test_a_call_after_the_fault_is_told_once_and_the_next_goes_on(tmp_path: Path) -> None:
    with stopped_and_mended(tmp_path) as campaign:
        assert [300.0] == [reward.value for reward in campaign.score(["abc"], deadline=300)]
        assert {300.0} == {reward.value for reward in latest(campaign).values()}


class Endless(WorldVerifier):
    """One that can't say how long its cases wait, and not what it asks."""

    name, version, kind = "endless-f", "1", "text"
    patience: Any = None

    def question(self, candidate: vl.Candidate) -> str:
        raise ValueError(f"no words for {candidate.content!r}")


def test_a_world_verifier_with_nonsense_for_its_patience_fails_alone(tmp_path: Path) -> None:
    endless, ledger = Endless(), tmp_path / "ledger.db"
    endless.patience = "soon"  # After it was made.
    world = vl.Ladder("world", [quick, endless], policy=AllTiers())
    with (
        vl.Campaign.open("sound", ladder=ladder(), ledger=ledger) as sound,
        vl.Campaign.open(
            "world", ladder=world, ledger=ledger, budget={"world": "unlimited"}
        ) as campaign,
    ):
        campaign.score(["abc"])
        assert campaign.drain(300)

        (check,) = campaign.ledger.checks(verifier="endless-f")
        assert "endless-f: patience='soon'" in check.note
        assert [400.0] == [reward.value for reward in sound.score(["abcd"], deadline=300)]


def test_a_question_that_cannot_be_worded_hides_no_case() -> None:
    world = vl.Ladder("worded", [quick, Endless()], policy=AllTiers())
    with vl.Campaign.open("worded", ladder=world, budget={"world": "unlimited"}) as campaign:
        campaign.score(["abc", "abcd"])
        assert campaign.drain(300)

        questions = [case.question for case in campaign.cases()]
        assert ["What does endless-f say of it?"] * 2 == questions


class Moody(vl.Verifier):
    """Can't say what it declares away from its callers' threads."""

    name, version, tier, kind, same_quantity = "moody-f", "1", "simulation", "text", True
    isolation = "inline"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
        return [1.0 for _ in candidates]


def moody(attribute: str) -> tuple[vl.Verifier, Event]:
    """A verifier of which an attribute can't be read in the background, until the event."""
    usual, is_well = getattr(Moody(), attribute), Event()

    def read(_: vl.Verifier) -> Any:
        if current_thread().name == "vl-dispatcher" and not is_well.is_set():
            raise ValueError(f"no {attribute}")
        return usual

    return type("Moodier", (Moody,), {attribute: property(read)})(), is_well


@pytest.mark.parametrize(
    "attribute", ["batch_size", "timeout", "isolation", "waits", "reads", "kind"]
)
def test_a_verifier_that_can_not_say_what_it_declares_stops_no_neighbour(
    tmp_path: Path, attribute: str
) -> None:
    verifier, is_well = moody(attribute)
    odd = vl.Ladder("odd", [quick, verifier], policy=AllTiers())
    with (
        vl.Campaign.open("sound", ladder=ladder(), ledger=tmp_path / "ledger.db") as sound,
        vl.Campaign.open("odd", ladder=odd, ledger=tmp_path / "ledger.db") as faulty,
    ):
        with pytest.raises(vl.EngineError, match=f"campaign odd stopped .* no {attribute}"):
            faulty.score(["abc"], deadline=300)

        assert [400.0] == [reward.value for reward in sound.score(["abcd"], deadline=300)]
        assert sound.drain(300)
        is_well.set()
        with suppress(vl.EngineError):  # It may have been met once more since.
            faulty.drain(300)
        assert [1.0] == [reward.value for reward in faulty.score(["another"], deadline=300)]


def test_what_ended_while_a_campaign_was_stopped_is_taken_up_by_the_next_call(
    tmp_path: Path,
) -> None:
    with stopped_and_mended(tmp_path) as campaign:
        campaign.score(["another"])
        assert campaign.drain(300)

        assert [300.0, 700.0] == [latest(campaign)[step, 0].value for step in (0, 1)]


def test_callers_of_a_campaign_with_a_fault_hold_up_no_neighbour(tmp_path: Path) -> None:
    is_at_work, may_end = Event(), Event()

    @vl.verifier(name="held-f", tier="fast", kind="text", version="1", isolation="inline")
    def held(candidate: vl.Candidate) -> float:
        if candidate.content == "held":
            is_at_work.set()
            assert may_end.wait(300)
        return 1.0

    class Breaking(AllTiers):
        is_faulty = False

        def decide(self, situation: Situation) -> Decisions:
            if self.is_faulty:
                raise ValueError("boom")
            return super().decide(situation)

    policy, ledger = Breaking(), tmp_path / "ledger.db"
    mixed = vl.Ladder("mixed", [held, slow, top], policy=policy)
    with (
        vl.Campaign.open("sound", ladder=ladder(), ledger=ledger) as sound,
        vl.Campaign.open("faulty", ladder=mixed, ledger=ledger) as faulty,
        ThreadPoolExecutor(1) as callers,
    ):
        call = callers.submit(faulty.score, ["held"])
        try:
            assert is_at_work.wait(300)
            policy.is_faulty = True
            with pytest.raises(ValueError, match="boom"):
                faulty.score(["x"])
            policy.is_faulty = False

            (reward,) = sound.score(["abcd"], deadline=100)
            assert (400.0, False) == (reward.value, reward.pending)
        finally:
            may_end.set()
        call.result(300)
        assert faulty.drain(300)
        assert 400.0 == latest(faulty)[0, 0].value


def latest(campaign: vl.Campaign) -> dict[tuple[int, int], vl.Reward]:
    """The last revision of each sample."""
    return {(r.step, r.position): r.reward for r in campaign.revisions()}


def test_a_policy_that_fails_where_it_is_called_raises_there_and_then_goes_on() -> None:
    class Once(AllTiers):
        is_faulty = True

        def decide(self, situation: Situation) -> Decisions:
            if self.is_faulty:
                self.is_faulty = False
                raise ValueError("once")
            return super().decide(situation)

    with vl.Campaign.open("once", ladder=ladder(Once())) as campaign:
        with pytest.raises(ValueError, match="once"):
            campaign.score(["abc"], deadline=300)

        assert [300.0] == [reward.value for reward in campaign.score(["abc"], deadline=300)]


def test_a_campaign_that_fails_while_it_opens_leaves_its_neighbour_alone(tmp_path: Path) -> None:
    class Never(AllTiers):
        name = "all_tiers"

        def decide(self, situation: Situation) -> Decisions:
            raise ValueError(f"never, for {len(situation)}")

    ledger = tmp_path / "ledger.db"
    with vl.Campaign.open("later", ladder=ladder(), ledger=ledger, engine="workers") as campaign:
        campaign.score(["ab"])

    def score() -> None:
        with vl.Campaign.open("later", ladder=ladder(Never()), ledger=ledger) as later:
            later.score(["abc"], deadline=300)

    with vl.Campaign.open("sound", ladder=ladder(), ledger=ledger) as sound:
        with pytest.raises((ValueError, vl.EngineError), match="never, for 1"):
            score()

        assert [100.0] == [reward.value for reward in sound.score(["a"], deadline=300)]


def test_an_error_of_the_engine_itself_is_told_and_the_next_call_starts_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, faults = SqlLedger.claim, [RuntimeError("no claim today")]

    def claim_or_fail(self: SqlLedger, **wish: Any) -> Any:
        if faults:
            raise faults.pop()
        return claim(self, **wish)

    with vl.Campaign.open("engine", ladder=ladder(), ledger=tmp_path / "ledger.db") as campaign:
        campaign.drain(300)
        monkeypatch.setattr(SqlLedger, "claim", claim_or_fail)
        with pytest.raises(vl.EngineError, match="no claim today"):
            campaign.score(["abc"], deadline=300)

        assert [300.0] == [reward.value for reward in campaign.score(["abc"], deadline=300)]
        assert campaign.drain(300)


def test_telemetry_that_fails_costs_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    prometheus = pytest.importorskip("prometheus_client")
    from verifier_ladder import telemetry

    def fail(*_: object) -> None:
        raise RuntimeError("no metrics today")

    for name in ("scored", "looked_up", "checked", "revised"):
        monkeypatch.setattr(Metrics, name, fail)
    telemetry.begin(["metrics"], registry=prometheus.CollectorRegistry())
    try:
        with vl.Campaign.open("told", ladder=ladder()) as campaign:
            assert [300.0] == [r.value for r in campaign.score(["abc"], deadline=300)]
            assert campaign.drain(300)
    finally:
        telemetry.end()


def test_a_check_that_ends_while_it_is_asked_for_again_revises_both_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, goes_on, has_ended = SqlLedger.append, Event(), Event()

    @vl.verifier(name="held-f", tier="simulation", kind="text", version="1", isolation="inline")
    def held(candidate: vl.Candidate) -> float:
        assert goes_on.wait(300)
        return 10.0 * len(candidate.content)

    def complete(self: SqlLedger, *arguments: Any, **options: Any) -> Any:
        done = completed(self, *arguments, **options)
        has_ended.set()
        return done

    def append_later(self: SqlLedger, *arguments: Any, **options: Any) -> Any:
        """The second sample has looked for the verdict, and found none, before there is one."""
        goes_on.set()
        assert has_ended.wait(300)
        return append(self, *arguments, **options)

    completed = SqlLedger.complete
    monkeypatch.setattr(SqlLedger, "complete", complete)
    two = vl.Ladder("two", [quick, held], policy=AllTiers())
    with vl.Campaign.open("joined", ladder=two, ledger=tmp_path / "ledger.db") as campaign:
        campaign.score(["abc"])
        monkeypatch.setattr(SqlLedger, "append", append_later)
        (reward,) = campaign.score(["abc"], deadline=300)
        monkeypatch.setattr(SqlLedger, "append", append)
        assert campaign.drain(300)

        assert (30.0, False) == (reward.value, reward.pending)
        assert {(0, 0): 30.0, (1, 0): 30.0} == {
            key: revised.value for key, revised in latest(campaign).items()
        }
