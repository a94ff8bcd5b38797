"""The soak runs, and notices what it is there to notice."""

from pathlib import Path

import ledger_soak
import pytest

SHORT = ["--short", "--entries", "500"]


def test_a_short_soak_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ledger_soak, "LAG", 600.0)  # A busy machine is no fault.

    assert 0 == ledger_soak.main([*SHORT, "--folder", str(tmp_path)])
    table = capsys.readouterr().out.splitlines()
    assert [f"{50 * n}" for n in range(2, 11, 2)] == [row.split()[0] for row in table[1:6]]
    assert "verified 500 entries" in table[6]


def test_a_log_that_lags_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ledger_soak, "LAG", 0.0)

    assert 1 == ledger_soak.main([*SHORT, "--folder", str(tmp_path)])
    assert "lagged" in capsys.readouterr().err
