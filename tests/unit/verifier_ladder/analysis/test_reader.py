"""A ledger that is read while others write to it, and while its file is replaced."""

from pathlib import Path
from threading import Thread

import pytest
from histories import History

from verifier_ladder.analysis.reader import LedgerReader
from verifier_ladder.errors import LadderError
from verifier_ladder.ledger import open_ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "ledger.db"
    with open_ledger(found) as store:
        History(store, "one")
    return found


def names(reader: LedgerReader) -> list[str]:
    with reader.reading() as ledger:
        return [row.name for row in ledger.campaigns()]


def test_what_others_write_is_seen_once_it_is_renewed(path: Path) -> None:
    with LedgerReader(path) as reader:
        assert not reader.renew()
        with open_ledger(path) as store:
            History(store, "two")
            assert reader.renew()
            assert names(reader) == ["one", "two"]
            History(store, "three")

            assert not reader.renew()  # It is open as others have it.
            assert names(reader) == ["one", "two", "three"]


def test_another_file_in_its_place_is_seen(path: Path, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "other.db") as store:
        History(store, "other")
    with LedgerReader(path) as reader:
        (tmp_path / "other.db").replace(path)
        reader.renew()

        assert names(reader) == ["other"]


def test_without_its_file_it_says_so_until_there_is_one(path: Path) -> None:
    with LedgerReader(path) as reader:
        away = path.rename(path.with_name("away.db"))
        for _ in range(2):
            with pytest.raises(LadderError, match="no ledger"):
                reader.renew()
            with pytest.raises(LadderError, match="no ledger"):
                names(reader)
        away.rename(path)
        reader.renew()

        assert names(reader) == ["one"]


def test_who_reads_is_waited_for_and_may_read_on(path: Path) -> None:
    with LedgerReader(path) as reader, open_ledger(path) as store:
        History(store, "two")
        with reader.reading() as ledger:
            renewing = Thread(target=reader.renew)
            renewing.start()
            while not reader._is_renewed:
                pass
            inner = names(reader)
            assert [row.name for row in ledger.campaigns()] == inner
        renewing.join(300.0)

        assert names(reader) == ["one", "two"]
