"""The price of the counters is told for each size of a call."""

import json
import sys
from pathlib import Path

import counters
import pytest


@pytest.mark.slow
def test_a_ratio_is_told_for_each_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "figures.json"
    monkeypatch.setattr(
        sys, "argv", ["counters", "--rounds", "2", "--sizes", "1,8", "--json", str(out)]
    )

    counters.main()

    found = json.loads(out.read_text())
    assert ["1", "8"] == list(found)
    assert all(0.0 < told["share"] < 1.0 < 1e9 * told["ratio"] for told in found.values())
