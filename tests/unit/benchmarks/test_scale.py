"""The curves over the number of samples run at small sizes, each figure beside its ratio."""

import json
import sys
from pathlib import Path

import pytest
import scale


@pytest.mark.slow
def test_every_figure_stands_at_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", ["scale", "--sizes", "100,400", "--json", str(out)])

    scale.main()

    found = json.loads(out.read_text())
    assert ["100", "400"] == list(found)
    assert found["100"].keys() == found["400"].keys() != set()
    assert all(value >= 0 for figures in found.values() for value in figures.values())
    assert len(found["100"]) + 1 == len(capsys.readouterr().out.splitlines())


def test_a_figure_is_told_as_a_ratio_to_the_smallest_size() -> None:
    head, row = scale.table({10: {"a call, ms": 2.0}, 1000: {"a call, ms": 5.0}})

    assert ["10", "1,000"] == head.split()
    assert "2.00 (1.00 ×)" in row
    assert "5.00 (2.50 ×)" in row
