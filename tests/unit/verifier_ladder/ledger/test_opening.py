"""Where a ledger can be, and what is said where it can't."""

import sys
from pathlib import Path

import pytest
from modules import forget

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.memory import MemoryLedger
from verifier_ladder.testing.records import key, score_block


@pytest.mark.parametrize(
    "where", [None, ":memory:", "memory://", "sqlite://", "sqlite:///:memory:"]
)
def test_a_ledger_may_be_in_memory(where: str | None) -> None:
    with open_ledger(where) as ledger:
        assert isinstance(ledger, MemoryLedger)


def test_an_open_ledger_is_passed_through() -> None:
    with open_ledger() as ledger:
        assert open_ledger(ledger) is ledger


@pytest.mark.parametrize(
    "form", [str, Path, "sqlite:///{}".format, "sqlite+pysqlite:///{}".format]
)
def test_a_path_and_its_url_are_the_same_ledger(tmp_path: Path, form: type) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.append(score_block(["a"]))
    with open_ledger(form(tmp_path / "ledger.db")) as again:
        assert again.newest() == 1


def test_a_ledgers_url_opens_it_again(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "odd name?#%41.db") as ledger:
        ledger.append(score_block(["a"]))
        url = ledger.url
    with open_ledger(url) as again:
        assert len(again.verdicts([key("check a")])) == 1


def test_a_relative_path_stays_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_ledger("ledger.db") as ledger:
        (tmp_path / "sub").mkdir()
        monkeypatch.chdir(tmp_path / "sub")
        ledger.append(score_block(["a"]))
    assert [path.name for path in tmp_path.glob("*.db")] == ["ledger.db"]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("http://host/ledger", "not available in this version"),
        ("https://host/ledger", "not available in this version"),
        ("postgresql://user:secret@host:port/db", "as %XX"),
        ("postgresql://user:secret@host:70000/db", "the port 70000; give a number from 1 to"),
        ("postgresql://user:secret@host:0/db", "the port 0"),
        ("postgresql://user:secret@/db?host=a&port=5432,99999", "the port 99999"),
        ("https://user:secret@host/ledger", "not available in this version"),
        ("mysql://host/db", "unknown kind of ledger"),
        ("sqlite://ledger.db", "sqlite:///ledger.db"),
    ],
)
def test_other_places_say_what_to_give(where: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        open_ledger(where)
    assert "secret" not in str(caught.value)


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder; name a file in it"):
        open_ledger(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mkdir -p"):
        open_ledger(tmp_path / "no" / "ledger.db")


def test_another_files_content_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("shopping list, long enough to be read as a header")
    with pytest.raises(LedgerError, match="not an SQLite file"):
        open_ledger(path)
    assert path.read_text().startswith("shopping list")


def test_who_only_looks_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no ledger"):
        open_ledger(tmp_path / "ledger.db", make=False)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch()
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.newest() == 0


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    forget(monkeypatch, "verifier_ladder.ledger.post")
    with pytest.raises(ConfigError, match=r"\[postgresql\]"):
        open_ledger("postgresql://user@host/db")
