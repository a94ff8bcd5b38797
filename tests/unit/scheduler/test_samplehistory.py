"""What entries say of samples, in the words of earlier versions too."""

import pytest

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
    ],
)
def test_who_speaks_for_a_cancelled_sample_is_listed_or_told_by_ranges(
    told: dict[str, object],
) -> None:
    with open_ledger(None) as ledger:
        ledger.append(block("score", 0, 1, 2, 3, 4))
        ledger.append(block("revision", 0, **told))
        found = samples_of_step(ledger, "c", "r", 0)
    assert [found[n].left for n in range(5)] == [1.0, 0.5, 0.5, 1.0, 1.0]
    twice = Spoken(3.0, 2.0)
    assert [found[n].spoken for n in range(5)] == [None, None, None, twice, twice]
