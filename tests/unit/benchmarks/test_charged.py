"""What is measured of charges is told while the rest is measured."""

import sys

import charged
import pytest


def test_each_kind_is_told_before_the_next_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []

    def measured(*_: object) -> tuple[float, float]:
        told.append(capsys.readouterr().out)
        return 1.0, 1.0

    monkeypatch.setattr(charged, "keep_tree", lambda: None)
    monkeypatch.setattr(charged, "measured", measured)
    monkeypatch.setattr(sys, "argv", ["charged", "--rounds", "1"])
    charged.main()

    kinds = [*charged.PROGRAMS, *charged.OUTSIDE]
    assert kinds[:-1] == [line[:20].rstrip() for line in told[1:]]
    assert capsys.readouterr().out.startswith(kinds[-1])
