"""Attachments: failures of what lies under the verifiers, names, time limits."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import LedgerError
from verifier_ladder.learners.attachment import Attachment, ladder_of, launch_name
from verifier_ladder.ledger.memory import MemoryLedger


def words(completions: list[str]) -> list[float]:
    return [float(len(c.split())) for c in completions]


def sample(content: str) -> vl.Sample:
    return vl.Sample(vl.Candidate("text", content))


class FullLedger(MemoryLedger):
    """A ledger whose disk is full while `full` is true."""

    full = True

    def append(self, *arguments: Any, **options: Any) -> int:
        if self.full:
            raise LedgerError("the disk is full")
        return super().append(*arguments, **options)


@pytest.fixture
def full() -> Iterator[FullLedger]:
    with FullLedger() as ledger:
        yield ledger


Attach = Callable[..., Attachment]


@pytest.fixture
def attach(full: FullLedger) -> Iterator[Attach]:
    """Make attachments that are closed before their ledger."""
    del full
    made: list[Attachment] = []

    def build(version: str = "1", **options: Any) -> Attachment:
        made.append(Attachment(vl.wrap(words, version=version, isolation="inline"), **options))
        return made[-1]

    yield build
    for attachment in made:
        attachment.close()


def test_a_failing_ledger_makes_rewards_unknown(full: FullLedger, attach: Attach) -> None:
    (reward,) = attach(ledger=full).score([sample("a b")])

    assert reward.value is None
    assert "ledger" == reward.failed_at
    assert "disk is full" in reward.reason


def test_transcripts_are_kept_once_the_ledger_can_be_written(
    full: FullLedger, attach: Attach
) -> None:
    attachment = attach(ledger=full)
    attachment.tell([vl.Transcript(group="a", prompt="say two words")])
    attachment.score([sample("a b")])
    full.full = False
    attachment.score([sample("c d")])
    attachment.score([sample("e f")])

    (entry,) = full.entries(kind="transcript")
    assert {"a": {"prompt": "say two words"}} == full.read(entry).facts["groups"]


def test_prompts_are_not_kept_where_nobody_wants_them(full: FullLedger, attach: Attach) -> None:
    full.full = False
    attachment = attach(ledger=full, transcripts=False)
    told = vl.Transcript(0, 0, "a", prompt="my secret", completion="x", capability="reasoning")
    attachment.tell([told, vl.Transcript(group="b", prompt="another secret")])
    attachment.score([sample("a b")])

    (entry,) = full.entries(kind="transcript")
    facts = full.read(entry).facts
    assert ({"a": {"capability": "reasoning"}}, []) == (facts["groups"], facts["samples"])
    assert b"secret" not in b"".join(entry.body for entry in full.entries())


def test_the_third_failure_in_a_row_is_raised(full: FullLedger, attach: Attach) -> None:
    """A training that can learn nothing any more should stop."""
    attachment = attach(ledger=full)
    attachment.score([sample("a")])
    attachment.score([sample("b")])

    with pytest.raises(LedgerError):
        attachment.score([sample("c")])


def test_a_success_forgives_earlier_failures(full: FullLedger, attach: Attach) -> None:
    attachment = attach(ledger=full)
    attachment.score([sample("a")])
    attachment.score([sample("b")])
    full.full = False
    attachment.score([sample("c")])
    full.full = True

    assert attachment.score([sample("d e f")])[0].value is None


def test_a_single_verifier_gets_a_sixth_of_the_deadline() -> None:
    assert 5.0 == ladder_of(vl.wrap(words), 30.0).verifiers[0].timeout


def test_a_timeout_of_its_own_is_kept() -> None:
    assert 45.0 == ladder_of(vl.wrap(words, timeout=45.0), 30.0).verifiers[0].timeout


def test_the_verifier_that_was_given_is_not_changed() -> None:
    check = vl.wrap(words)
    ladder_of(check, 3.0)

    assert 60.0 == check.timeout


def test_another_version_is_another_campaign(attach: Attach) -> None:
    """Otherwise raising the version would make the next training fail."""
    first, second = attach("1"), attach("2")

    assert ("words-v1", "words-v2") == (first.campaign.name, second.campaign.name)


def test_runs_started_in_one_process_have_names_of_their_own() -> None:
    assert launch_name("mine") != launch_name("mine")


def test_an_open_ledger_can_not_travel(attach: Attach) -> None:
    with MemoryLedger() as ledger, pytest.raises(vl.ConfigError, match="ledger"):
        pickle.dumps(attach(ledger=ledger))


def test_copies_record_one_run_at_places_of_their_own(tmp_path: Path) -> None:
    """A learner's processes get copies, and nobody has named the run."""
    check = vl.wrap(words, version="1", isolation="inline")
    first = Attachment(check, ledger=tmp_path / "l.db")
    copy = pickle.loads(pickle.dumps(first))  # noqa: S301  # Our own.

    places: list[int] = []
    for attachment in (copy, first):
        (place,) = attachment.places(0, 1)
        attachment.score([vl.Sample(vl.Candidate("text", "a b"), step=0, position=place)])
        places.append(place)
    runs = {attachment.campaign.run.name for attachment in (first, copy)}
    for attachment in (copy, first):
        attachment.close()
    assert ([0, 1], 1) == (places, len(runs))


@pytest.mark.parametrize("deadline", [0, "soon", -1])
def test_a_deadline_that_leaves_no_time_is_refused(attach: Attach, deadline: Any) -> None:
    with pytest.raises(vl.ConfigError):
        attach(deadline=deadline)


def test_a_registered_verifier_is_found_by_name() -> None:
    vl.wrap(words)

    assert "words" == Attachment("words").name
