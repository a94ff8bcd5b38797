"""The look-up of verdicts in SQL, where plain ones that say the same are one object."""

from collections.abc import Iterator, Sequence
from itertools import count, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.testing.records import CAMPAIGN, key, verdict_row
from verifier_ladder.verdict import Outcome, Verdict

WORDS = count()
EVERY_KIND = [
    Verdict(outcome, score, uncertainty, unit, evidence=evidence, cost=cost)
    for outcome, score, uncertainty, unit, evidence, cost in product(
        (Outcome.ACCEPT, Outcome.REJECT), (None, 0.0, -0.0, 1.0, 5e-324), (None, 0.0, 1.0),
        ("", "eV"), ({}, {"a": 1}), (None, Cost(0.0), Cost(1.0), Cost(1.0, money=2.0)),
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with open_ledger(tmp_path_factory.mktemp("history") / "ledger.db") as opened:
        yield opened


def checks(size: int) -> list[str]:
    """Checks that no other test has written about."""
    return [f"word {next(WORDS)}" for _ in range(size)]


def write(ledger: Ledger, words: Sequence[str], verdicts: Sequence[Verdict], kind: str) -> None:
    rows = [verdict_row(word, verdict) for word, verdict in zip(words, verdicts, strict=False)]
    ledger.append(Block(kind, CAMPAIGN, (), rows))


def found(ledger: Ledger, words: Sequence[str]) -> list[Verdict]:
    keys = [key(f"check {word}") for word in words]
    known = ledger.verdicts(keys)
    return [known[key] for key in keys]


def bits(verdicts: Sequence[Verdict]) -> list[str]:
    """All that they say: 0.0 and -0.0 are equal, and yet not the same."""
    return [repr((verdict, verdict.evidence)) for verdict in verdicts]


def test_every_kind_of_verdict_comes_back_from_among_the_others(ledger: Ledger) -> None:
    words = checks(2 * len(EVERY_KIND))
    write(ledger, words, EVERY_KIND * 2, "score")

    assert bits(EVERY_KIND * 2) == bits(found(ledger, words))


@given(st.lists(st.lists(st.sampled_from(EVERY_KIND), min_size=1, max_size=5), min_size=1))
def test_each_check_has_its_own_latest_correction(
    ledger: Ledger, rounds: list[list[Verdict]]
) -> None:
    words = checks(5)
    latest: dict[str, Verdict] = {}
    for said in rounds:
        write(ledger, words, said, "review")
        latest.update(zip(words, said, strict=False))

    assert bits(list(latest.values())) == bits(found(ledger, list(latest)))


def test_the_evidence_of_one_verdict_is_not_that_of_another(ledger: Ledger) -> None:
    words = checks(2)
    write(ledger, words, [Verdict.accept(1.0, evidence={"a": 1})] * 2, "score")
    one, other = found(ledger, words)

    changed: Any = one.evidence
    changed["b"] = 2

    assert {"a": 1} == other.evidence == found(ledger, words)[0].evidence


def test_plain_verdicts_that_say_the_same_are_one_object(ledger: Ledger) -> None:
    words = checks(3)
    write(ledger, words, [Verdict.accept(1.0), Verdict.accept(1.0), Verdict.accept(2.0)], "score")
    one, other, third = found(ledger, words)

    assert one is other
    assert one is not third
