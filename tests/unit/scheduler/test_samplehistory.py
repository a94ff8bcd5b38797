"""What entries say of samples, in the words of earlier versions too."""

import pytest

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block, SampleColumns
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.draws import Spoken
from verifier_ladder.scheduler.samplehistory import samples_of_step


def block(kind: str, *positions: int, **facts: object) -> Block:
    columns = SampleColumns(
        "r", 0, list(positions), [bytes([n]) * 32 for n in positions], [()] * len(positions)
    )
    return Block(kind, "c", samples=columns, rewards=[Reward(3.0)] * len(positions), facts=facts)


@pytest.mark.parametrize(
    "told",
    [
        {"left": [0.5, [1, 2]], "spoken": [[3, 3.0, 2.0], [4, 3.0, 2.0]]},
        {"left": [0.5, [[1, 2]]], "louder": [[2.0, 5.0, [[3, 4]]]]},
        {
            "left": [0.5, [2, 1]],
            "louder": [[2.0, 5.0, [[3, 2**62]]]],
        },  # No program writes so many.
    ],
)
def test_who_speaks_for_a_cancelled_sample_is_listed_or_told_by_ranges(
    told: dict[str, object],
) -> None:
    with open_ledger(None) as ledger:
        ledger.append(block("score", 0, 1, 2, 3, 4))
        ledger.append(block("revision", 0, **told))
        found = samples_of_step(ledger, "c", "r", 0)
    assert [found[n].share_left for n in range(5)] == [1.0, 0.5, 0.5, 1.0, 1.0]
    twice = Spoken(3.0, 2.0)
    assert [found[n].spoken for n in range(5)] == [None, None, None, twice, twice]


@pytest.mark.parametrize("row", [[2, 1], [1, 2, 3], ["1", "2"], None, "1"])
@pytest.mark.parametrize("fact", ["left", "louder"])
def test_what_is_no_range_is_an_error_that_names_the_entry(fact: str, row: object) -> None:
    told: dict[str, object] = {"left": [0.5, [row]], "louder": [[2.0, 5.0, [row]]]}
    with open_ledger(None) as ledger:
        ledger.append(block("score", 0, 1, 2))
        forged = ledger.append(block("revision", 0, **{fact: told[fact]}))
        with pytest.raises(
            LedgerError, match=f"entry {forged} of the ledger is damaged: .*step 0"
        ):
            samples_of_step(ledger, "c", "r", 0)


@pytest.mark.parametrize("counts", [[2**62], [2**62, -(2**62)]])
def test_a_group_of_more_members_than_anybody_submits_is_an_error(counts: list[int]) -> None:
    party = [[bytes([n]).hex() * 32, count] for n, count in enumerate(counts)]
    with open_ledger(None) as ledger:
        ledger.append(block("score", 0, decided=[[[0], party, False]]))
        with pytest.raises(LedgerError, match="entry 1 of the ledger is damaged"):
            samples_of_step(ledger, "c", "r", 0)
