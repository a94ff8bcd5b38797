"""Wall time and latency of tiers, from an index."""

from pathlib import Path

import pytest
import scored
from histories import MEASURED, XTB, History
from hypothesis import given, settings
from hypothesis import strategies as st
from indexed import catch_up

from verifier_ladder.analysis import filling
from verifier_ladder.analysis.candidates import CandidateIndex
from verifier_ladder.analysis.spells import Elapsed, elapsed
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.summary import summarise
from verifier_ladder.tier import Tier

SECONDS = st.floats(0.0, 0.5) | st.none()


@settings(max_examples=10)
@given(
    st.lists(st.tuples(st.sampled_from([XTB, MEASURED]), SECONDS, SECONDS), max_size=12),
    st.integers(1, 5),
)
def test_however_entries_are_batched_times_are_those_of_a_summary(
    tmp_path_factory: pytest.TempPathFactory,
    checks: list[tuple[str, float | None, float | None]],
    most: int,
) -> None:
    index = CandidateIndex(tmp_path_factory.mktemp("index") / "try.index")
    with open_ledger(None) as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setattr(filling, "_MOST_ENTRIES", most)
        history = History(ledger)
        one = scored.item("A", -5.0)
        history.score([one])
        for verifier, waited, worked in checks:
            row = history._row(one, verifier, scored.said(-4.0, 1.0))
            facts = {"waited": [waited], "worked": [worked]}
            ledger.append(Block("check", "try", verdicts=[row], facts=facts))
        catch_up(index, ledger)
        told = elapsed(index, "try")

        for tier in summarise(ledger, "try").tiers:
            mine = told.get(int(tier.tier), Elapsed())
            assert mine.latency == tier.latency
            assert (mine.wall is None) == (tier.wall is None)
            assert mine.wall is None or mine.wall == pytest.approx(tier.wall, abs=1e-5)


def test_what_was_not_recorded_is_not_known(tmp_path: Path) -> None:
    index = CandidateIndex(tmp_path / "try.index")
    with open_ledger(None) as ledger:
        History(ledger).score([scored.item("A", -5.0)])
        catch_up(index, ledger)

        assert elapsed(index, "try").get(int(Tier.FAST)) is None
        assert elapsed(index, "nobody") == {}
