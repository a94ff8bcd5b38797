"""Intake: who is asked, and what standings are shared."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import RLock

import pytest

from verifier_ladder.candidate import Candidate, Turn
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.scheduler.intake import Given, Intake
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.verdict import Verdict


def length(candidate: Candidate) -> float:
    return float(len(candidate.content))


def weight(candidate: Candidate) -> float:
    return float((candidate.task or {}).get("weight", 0.0))


ONE = Ladder("one", [FunctionVerifier(length, name="length", version="1", isolation="inline")])
GATED = Ladder(
    "gated",
    [
        FunctionVerifier(
            weight, name="weight", version="1", role="gate", isolation="inline",
            task_fields=["weight"],
        ),
        FunctionVerifier(length, name="length", version="1", isolation="inline"),
        FunctionVerifier(length, name="dear", version="1", tier="world"),
    ],
)  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as opened:
        yield opened


def new_intake(ledger: Ledger, ladder: Ladder = ONE) -> Intake:
    return Intake(ladder, ledger, LocalEngine(ledger, workers=1), RLock())


def taken(intake: Intake, given: Sequence[Given]) -> list[Standing]:
    return intake.standings(given, None, Arrivals())


def recorded(
    ledger: Ledger, ladder: Ladder, given: Sequence[Given]
) -> tuple[list[Standing], Arrivals]:
    """Bring in what nobody has seen, and write it down."""
    arrivals = Arrivals()
    standings = new_intake(ledger, ladder).standings(given, None, arrivals)
    ledger.append(Block("score", "trial", arrivals.candidates, arrivals.verdicts))
    return standings, arrivals


@pytest.mark.parametrize("ladder", [ONE, GATED], ids=["one", "gated"])
def test_what_the_ledger_knows_is_not_asked_again(ledger: Ledger, ladder: Ladder) -> None:
    given: list[Given] = [
        "a",
        b"bb",
        Candidate("text", "a", {"weight": 2.0}),
        Candidate("text", "ccc"),
        "a",
    ]
    first, new = recorded(ledger, ladder, given)
    known = Arrivals()
    again = new_intake(ledger, ladder).standings(given, None, known)

    assert len(new.verdicts)
    assert 0 == len(known.candidates) == len(known.verdicts)
    assert [s.verdicts for s in first] == [s.verdicts for s in again]
    assert [s.keys for s in first] == [s.keys for s in again]
    assert [s.candidate for s in first] == [s.candidate for s in again]


def test_only_what_is_new_among_the_known_is_asked(ledger: Ledger) -> None:
    recorded(ledger, ONE, ["a", "ccc"])
    arrivals = Arrivals()
    standings = new_intake(ledger).standings(["a", "bb", "ccc"], None, arrivals)

    assert [standings[1].keys[0]] == [row.check_key for row in arrivals.verdicts]
    assert ["bb"] == [row.content for row in arrivals.candidates]
    assert [1.0, 2.0, 3.0] == [s.verdicts["length"].score for s in standings]


def test_one_candidate_has_one_standing_however_it_is_given(ledger: Ledger) -> None:
    intake = new_intake(ledger)

    text, data, whole, text_again = taken(intake, ["a", b"a", Candidate("text", "a"), "a"])

    assert text is whole is text_again
    assert data is not text  # A verifier is given bytes then.
    assert [text] == taken(intake, ["a"])


def test_another_task_is_another_standing(ledger: Ledger) -> None:
    light, heavy, bare = taken(new_intake(ledger, GATED), [
        Candidate("text", "a", {"weight": 1.0}), Candidate("text", "a", {"weight": 2.0}), "a",
    ])  # fmt: skip

    assert [1.0, 2.0, 0.0] == [s.verdicts["weight"].score for s in (light, heavy, bare)]
    assert light.keys[1] == heavy.keys[1] == bare.keys[1]


def test_a_standing_is_complete_though_the_memory_is_emptied_meanwhile(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "32MiB")
    intake = new_intake(ledger)
    (before,) = taken(intake, ["a"])
    look_up = ledger.verdicts

    def emptying(keys: Sequence[bytes]) -> dict[bytes, Verdict]:
        monkeypatch.undo()
        taken(intake, [f"{number} of another caller" * 2**13 for number in range(80)])
        assert intake.cache.given(["a"]) == [None]
        return look_up(keys)

    monkeypatch.setattr(ledger, "verdicts", emptying)
    spelled, _ = taken(intake, [Candidate("text", "a"), "b"])

    assert spelled is before


def test_what_there_is_no_room_for_is_not_known(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "32MiB")
    intake = new_intake(ledger)
    too_long = Candidate("text", "a", turns=(Turn("x" * 2**18),))

    short, accented, *others = taken(
        intake, ["a", "x" * 2**16 + "é", "x" * (2**18 + 1), "é" * 2**17, too_long]
    )

    assert (None, None) == (short.problem, accented.problem)
    assert ["memory"] * 3 == [one.problem.failed_at for one in others if one.problem]
    assert [] == [verdict for one in others for verdict in one.verdicts.values()]


def test_what_a_text_becomes_as_json_is_what_there_must_be_room_for(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "32MiB")
    intake = new_intake(ledger)
    most = 2**18 - 100

    fits = taken(intake, ["\1" * (most // 6), "\n" * (most // 2), "\x7f" * most])
    too_long = taken(intake, ["\1" * (most // 5), "é" + "\1" * (most // 6), "\n" * (most - 1)])

    assert [None] * 3 == [one.problem for one in fits]
    assert ["memory"] * 3 == [one.problem.failed_at for one in too_long if one.problem]


@pytest.mark.parametrize(
    "turns",
    [
        [Turn("\U0001f600" * 40_000)], [Turn("a", "\U0001f600" * 40_000)], [Turn("a")] * 20_000,
        [Turn("\1" * 50_000)],
    ],
    ids=["emoji", "emoji seen", "many turns", "control"],
)  # fmt: skip
def test_turns_count_as_a_text_does_and_as_many_as_they_are(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, turns: Sequence[Turn]
) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "32MiB")
    given = Candidate("text", "a", turns=tuple(turns))
    fits = Candidate("text", "a", turns=(Turn("\U0001f600" * 15_000), *[Turn("a", "b")] * 1_000))

    long, short = taken(new_intake(ledger), [given, fits])

    assert long.problem is not None
    assert "memory" == long.problem.failed_at
    assert short.problem is None


def test_what_is_taken_alone_is_taken_beside_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "32MiB")
    texts = ["\U0001f600" * 30_000, "\U0001f600" * 30_000 + "a"]

    alone = [taken(new_intake(ledger), [text])[0] for text in texts]
    together = taken(new_intake(ledger), texts)

    assert [one.problem is None for one in alone] == [one.problem is None for one in together]


class Doubling(Canonicaliser):
    """Makes short texts long."""

    kind, name, version, inline = "text", "doubling", "1", True

    def canonicalise(self, content: str | bytes) -> str | bytes:
        return content * 2**19 if content in {"a", b"b"} else content


def test_a_canonical_form_that_there_is_no_room_for_is_not_known(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "32MiB")
    intake = new_intake(ledger, Ladder("one", ONE.verifiers, canonicaliser=Doubling()))

    *long, short = taken(intake, ["a", b"b", "c"])

    assert ["memory"] * 2 == [one.problem.failed_at for one in long if one.problem]
    assert all("canonical form" in one.problem.reason for one in long if one.problem)
    assert short.problem is None
