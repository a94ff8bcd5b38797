"""Proofs hold, show no more than they must, and hold no longer once anything is changed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.encoding import ROWS
from verifier_ladder.ledger.offline import RejectedError, check_proof, read_checkpoint
from verifier_ladder.ledger.proof import find_records, prove, prove_growth
from verifier_ladder.ledger.signer import Signer, key_file
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import key, score_block

WORDS = [f"w{number}" for number in range(3 * ROWS)]
SECTIONS = ["candidates", "verdicts", "samples", "rewards", "decisions.0"]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLedger]:
    with open_ledger(tmp_path_factory.mktemp("proofs") / "ledger.db") as made:
        assert isinstance(made, SqlLedger)
        for number in range(5):
            made.append(score_block([f"{number}"], step=number))
        made.append(score_block(WORDS, step=5))
        yield made


@pytest.mark.parametrize("entry", [1, 3, 6])
def test_an_entry_is_proven_whole(ledger: SqlLedger, entry: int) -> None:
    found = check_proof(prove(ledger, entry))

    assert ("score", "trial") == (found.head["kind"], found.head["campaign"])
    assert (6, ledger.signers()[0]) == (found.checkpoint.size, found.key)


@given(st.sampled_from(SECTIONS), st.integers(0, len(WORDS) - 1))
def test_a_record_is_proven_alone(ledger: SqlLedger, section: str, row: int) -> None:
    proof = prove(ledger, 6, [(section, row)])

    (record,) = check_proof(proof).records
    assert (section, row) == (record["section"], record["row"])
    assert 1 == len(proof["parts"])
    said = json.dumps(proof["parts"])  # signatures and keys may spell anything
    assert str(WORDS[(row + ROWS) % len(WORDS)]) not in re.findall(r"w\d+", said)


def test_what_is_shown_is_what_was_recorded(ledger: SqlLedger) -> None:
    row = 2 * ROWS + 3
    records = [("verdicts", row), ("rewards", row), ("candidates", 7)]

    verdict, reward, candidate = check_proof(prove(ledger, 6, records)).records

    assert key(f"check {WORDS[row]}").hex() == verdict["check_key"]
    assert ("length", "accept", len(WORDS[row])) == (
        verdict["verifier"], verdict["outcome"], verdict["score"]
    )  # fmt: skip
    assert len(WORDS[row]) == reward["value"]
    assert WORDS[7] == candidate["content"]


def test_records_are_found_by_check_and_by_position(ledger: SqlLedger) -> None:
    check = key(f"check {WORDS[200]}").hex()[:12]

    assert [("verdicts", 200)] == find_records(ledger, 6, check=check)
    assert [("samples", 200), ("rewards", 200), ("decisions.0", 200)] == find_records(
        ledger, 6, position=200
    )


@pytest.mark.parametrize(
    ("entry", "records"),
    [
        (99, []), (6, [("verdicts", 10**6)]), (6, [("nonsense", 0)]), (6, [("decisions.7", 0)]),
        (6, [("verdicts", -1)]),
    ],
)  # fmt: skip
def test_what_is_not_there_cannot_be_proven(
    ledger: SqlLedger, entry: int, records: list[tuple[str, int]]
) -> None:
    with pytest.raises(ConfigError, match="has no"):
        prove(ledger, entry, records)


@pytest.mark.parametrize("what", [{"check": "ffff"}, {"position": 10**6}])
def test_a_record_that_is_not_there_is_not_found(ledger: SqlLedger, what: Any) -> None:
    with pytest.raises(ConfigError, match="has no record"):
        find_records(ledger, 6, **what)


@given(st.data(), st.sampled_from([[], [("verdicts", 300)]]))
@settings(max_examples=150)
def test_no_changed_byte_of_a_proof_goes_unnoticed(
    ledger: SqlLedger, data: st.DataObject, records: list[tuple[str, int]]
) -> None:
    proof = prove(ledger, 6 if records else 2, records)
    honest = check_proof(proof)
    asked = {"records": proof.pop("records")} if records else {}  # Another question is no forgery.
    text = json.dumps(proof, ensure_ascii=False)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="ascii"))

    try:
        found = check_proof({**json.loads(text[:place] + other + text[place + 1 :]), **asked})
    except (RejectedError, json.JSONDecodeError):
        return
    assert honest == found


def test_growth_is_proven(ledger: SqlLedger) -> None:
    ledger.sequence()
    older = ledger.checkpoint()
    assert older is not None
    ledger.append(score_block(["later"], step=9))

    found = check_proof(prove_growth(ledger, older))

    assert found.checkpoint.size == ledger.size() > 6


def test_the_last_entry_shows_that_its_checkpoint_tells_a_false_time(ledger: SqlLedger) -> None:
    last = max(entry.id for entry in ledger.entries())
    proof, earlier = prove(ledger, last, [("rewards", 0)]), prove(ledger, last - 1)
    told = read_checkpoint(proof["checkpoint"])
    signer = Signer.read(key_file(ledger.url))
    forged = signer.sign(told._replace(time="2020-01-01T00:00:00.000000+00:00"))

    assert told.time == check_proof(proof).checkpoint.time
    with pytest.raises(RejectedError, match="was not recorded at 2020"):
        check_proof({**proof, "checkpoint": forged})
    assert check_proof({**earlier, "checkpoint": forged}).head  # It can't show when that was.
    with pytest.raises(RejectedError, match="was not recorded at"):
        check_proof({**prove_growth(ledger, proof["checkpoint"]), "old": forged})


def test_another_key_proves_nothing(ledger: SqlLedger, tmp_path: Path) -> None:
    stranger = Signer.at(tmp_path / "key", "stranger")

    with pytest.raises(RejectedError, match="not signed by"):
        check_proof(prove(ledger, 1), stranger.key)


@pytest.mark.parametrize("proof", [{}, {"format": "x"}, {"format": 1, "key": "x"}, {"key": 7}])
def test_what_is_no_proof_is_rejected(proof: Any) -> None:
    with pytest.raises(RejectedError):
        check_proof(proof)
