"""A ledger's file that is lost while it is open stops what would be written to nowhere."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.testing.records import score_block


@vl.verifier(kind="text", version="1", isolation="inline")
def lost_length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


LADDER = vl.Ladder("l", [lost_length])


def replace(path: Path) -> None:
    shutil.copy(path, path.with_name("other.db"))
    path.with_name("other.db").replace(path)


LOST: dict[str, tuple[Callable[[Path], Any], str]] = {
    "removed": (Path.unlink, "was removed or renamed while it was open"),
    "renamed": (lambda path: path.rename(f"{path}.old"), "was removed or renamed"),
    "replaced": (replace, "was replaced by another file"),
    "emptied": (lambda path: os.truncate(path, 0), "was cut|not an SQLite file|malformed"),
    "cut": (lambda path: os.truncate(path, 40960), "was cut|malformed"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("lose", "told"), LOST.values(), ids=list(LOST))
def test_no_reward_is_given_that_the_file_would_not_hold(
    lose: Callable[[Path], Any], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.db"
    campaign = vl.Campaign.open("c", ladder=LADDER, ledger=path, run="r")
    try:
        assert [3.0] == [reward.value for reward in campaign.score(["abc"], step=0)]
        lose(path)
        with pytest.raises(vl.LedgerError, match=rf"ledger\.db.*({told})"):
            campaign.score(["abcd"], step=1)
    finally:
        with suppress(vl.LedgerError):
            campaign.close()


def test_a_file_that_grows_and_is_written_by_others_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with vl.open_ledger(path) as one, vl.open_ledger(path) as other:
        for step in range(3):
            one.append(score_block([f"a{step}"], step=2 * step))
            other.append(score_block([f"b{step}"], step=2 * step + 1))
        assert 6 == one.newest()
