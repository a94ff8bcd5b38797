"""A position that is a hash is shown to nobody."""

from pathlib import Path
from typing import Any

import pytest
from histories import History, Item

from verifier_ladder.ledger import open_ledger
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.shadow import shadow_name

HASH = 3056356105912939


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign and its shadow, whose samples have hashes for positions."""
    append: Any = History._block

    def hashed(*given: Any) -> Any:
        *rest, positions = given
        return append(*rest, [HASH + place for place in positions])

    monkeypatch.setattr(History, "_block", hashed)
    with open_ledger(tmp_path / "ledger.db") as store:
        for name, value in (("c", 0.9), (shadow_name("c"), 0.1)):
            History(store, name).score([Item("CCO", "CCO", reward=Reward(value), mean=0.5)])
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("words", ["campaign shadow", "ledger show CCO", "ledger prove 2"])
def test_a_hash_is_no_position_for_people(run: Any, ledger: Path, words: str) -> None:
    more = ["--position", HASH + 5] if "prove" in words else []

    done = run(*words.split(), *more, "--ledger", ledger)

    assert str(HASH)[:10] not in done.stdout + done.stderr
    assert ("step 0 of run one" in done.stdout) is ("prove" not in words)
