"""A bundle of a campaign, opened from its files in a real browser."""

from pathlib import Path
from typing import Any

import pytest
import viewed

from verifier_ladder.ledger import open_ledger
from verifier_ladder.server.pages.saving import write_bundle


@pytest.mark.slow
@pytest.mark.browser
def test_one_follows_a_candidate_from_file_to_file(
    browser: Any, tmp_path: Path, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.report.drawings._can_draw", lambda: False)
    with open_ledger(tmp_path / "ledger.db") as store:
        viewed.record(store)
    made = write_bundle(
        tmp_path / "ledger.db", "try", tmp_path / "bundle", index=tmp_path / "try.index"
    )

    with browser.tab() as tab:
        tab.open((made.folder / "index.html").as_uri())
        assert tab.run("getComputedStyle(document.querySelector('.answers')).display") == "grid"
        tab.follow("CCO")
        until(lambda: tab.run("document.body.textContent.includes('What happened, in order')"))
        assert (tab.run("location.protocol"), tab.run("window.violations")) == ("file:", [])
        assert (
            tab.run("getComputedStyle(document.querySelector('.events')).listStyleType") == "none"
        )
        tab.follow("JSON")
        until(lambda: tab.run("document.body.textContent.includes('\"timeline\"')"))
