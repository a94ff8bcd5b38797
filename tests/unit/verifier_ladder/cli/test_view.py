"""`vladder view` says what is missing."""

import sys
from pathlib import Path
from typing import Any

import pytest
from modules import forget


def test_without_the_extra_it_says_what_to_install(
    run: Any, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch, "verifier_ladder.server.pages")
    monkeypatch.setitem(sys.modules, "fastapi", None)
    done = run("view", ledger)

    assert done.exit_code == 2
    assert "pip install '.[server]'" in done.stderr


def test_without_a_ledger_it_says_so(run: Any) -> None:
    done = run("view", "nowhere.db")

    assert done.exit_code == 2
    assert "there is no ledger at nowhere.db" in done.stderr
