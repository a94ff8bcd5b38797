"""The log: every entry gets one place, whoever writes, whoever sequences, whatever fails."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from sqlalchemy import event

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import log as logs
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.encoding import leaf
from verifier_ladder.ledger.offline import WIDTH, open_checkpoint, read_checkpoint, root_of
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.ledger.tiles import tiles_of
from verifier_ladder.testing.records import CAMPAIGN, score_block

RELEASED = sorted(Path(__file__).parent.glob("ledger-0*.sql"))
"""A ledger of every schema that there was before."""


def opened(path: Path) -> SqlLedger:
    ledger = open_ledger(path)
    assert isinstance(ledger, SqlLedger)
    return ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqlLedger]:
    with opened(tmp_path / "ledger.db") as made:
        yield made


def add_entries(ledger: SqlLedger, count: int) -> None:
    """Write many small entries in one transaction, as a merge does."""
    from verifier_ladder.ledger.rows import Draft, write

    with ledger._writing() as connection:
        for number in range(count):
            write(connection, Draft(Block("score", CAMPAIGN, facts={"n": number})))


def sequence(ledger: SqlLedger) -> int:
    return sum(iter(ledger.sequence, 0))


def check(ledger: SqlLedger, count: int) -> None:
    """The log holds this many entries, and its checkpoint fits them."""
    leaves = list(ledger.leaves())
    assert list(range(count)) == [leaf.place for leaf in leaves]
    assert [e.id for e in ledger.entries()] == sorted(leaf.entry.id for leaf in leaves)
    signed = ledger.checkpoint()
    assert signed is not None
    found, key = open_checkpoint(signed, ledger.signers())
    assert (count, root_of(leaf.entry.leaf for leaf in leaves)) == (found.size, found.root)
    assert ledger.signers()[-1] == key
    assert ledger.verify().problems == []


def test_an_empty_ledger_has_no_checkpoint(ledger: SqlLedger) -> None:
    assert (0, None, 0) == (ledger.sequence(), ledger.checkpoint(), ledger.size())
    assert ledger.verify().is_intact


def test_entries_get_their_places_in_order(ledger: SqlLedger) -> None:
    for word in "abc":
        ledger.append(score_block([word]))

    assert ledger.pending()
    assert 3 == ledger.sequence()
    assert not ledger.pending()
    check(ledger, 3)


def test_an_entry_waits_from_the_moment_it_is_written(ledger: SqlLedger) -> None:
    entry = ledger.append(score_block(["a"]))

    assert ledger.place(entry) is None
    assert 1 == ledger.verify().pending
    ledger.sequence()
    assert 0 == ledger.place(entry)


def test_a_refused_entry_waits_for_nothing(ledger: SqlLedger) -> None:
    with pytest.raises(LedgerError):
        ledger.append(score_block(["a"], step=2**70))

    assert not ledger.pending()


@pytest.mark.parametrize("sizes", [(255, 1, 1), (256,), (1, 256, 600), (300, 300)])
def test_tiles_are_written_when_they_are_full(ledger: SqlLedger, sizes: tuple[int, ...]) -> None:
    for size in sizes:
        add_entries(ledger, size)
        sequence(ledger)

    check(ledger, sum(sizes))
    with ledger._reading() as connection:
        rows = connection.exec_driver_sql("SELECT level, idx FROM tile ORDER BY level, idx")
        expected = [(t.level, t.number) for t in tiles_of(sum(sizes)) if t.is_full]
        assert expected == [tuple(row) for row in rows]


def test_tiles_above_level_0_are_written_too(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "AT_ONCE", 30_000)
    bodies = [
        b'{"kind":"score","campaign":"trial","recorded_at":%d.0}' % n
        for n in range(WIDTH * WIDTH + 5)
    ]
    rows = [("score", "trial", float(n), leaf(body), body) for n, body in enumerate(bodies)]
    with ledger._writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO entry (kind, campaign, recorded_at, leaf, body) VALUES (?, ?, ?, ?, ?)",
            rows,
        )

    assert len(bodies) == sequence(ledger)

    assert ledger.verify(index=False).problems == []
    with ledger._reading() as connection:
        tiles = connection.exec_driver_sql("SELECT level, count(*) FROM tile GROUP BY level")
        assert [(0, WIDTH), (1, 1)] == [tuple(row) for row in tiles]


def test_many_entries_come_in_several_batches(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "AT_ONCE", 10)
    add_entries(ledger, 25)

    assert [10, 10, 5, 0] == [ledger.sequence() for _ in range(4)]
    check(ledger, 25)
    assert [10, 20, 25] == [
        size for size in range(26) if ledger.checkpoint(size) is not None
    ]  # fmt: skip


def test_closing_a_ledger_signs_what_was_written(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        ledger.append(score_block(["a"]))

    with opened(tmp_path / "ledger.db") as ledger:
        check(ledger, 1)


def test_who_only_reads_signs_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as writer, opened(tmp_path / "ledger.db") as reader:
        writer.append(score_block(["a"]))
        reader.newest()
        reader.close()

        assert writer.pending()


def test_several_sequencers_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "AT_ONCE", 7)
    ledgers = [opened(tmp_path / "ledger.db") for _ in range(4)]
    add_entries(ledgers[0], 300)
    begin = Barrier(4)

    def work(ledger: SqlLedger) -> None:
        begin.wait()
        for number in range(5):
            ledger.append(Block("score", CAMPAIGN, facts={"n": number}))
            sequence(ledger)

    threads = [Thread(target=work, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    check(ledgers[0], 320)
    for ledger in ledgers:
        ledger.close()


def test_a_crash_at_any_statement_leaves_nothing_half_done(tmp_path: Path) -> None:
    with opened(tmp_path / "start.db") as ledger:
        add_entries(ledger, 250)
        sequence(ledger)
        add_entries(ledger, 10)
        with closing(sqlite3.connect(tmp_path / "start.db")) as other:
            other.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))

    fallen = 0
    for crash in range(1, 40):
        path = tmp_path / f"{crash}.db"
        shutil.copy(tmp_path / "copy.db", path)
        with opened(path) as ledger:
            try:
                with crashing(ledger, crash):
                    ledger.sequence()
            except LedgerError:
                fallen += 1
                assert 250 == ledger.size()
                assert 260 == len(list(ledger.entries()))
            ledger.sequence()
            check(ledger, 260)
        if fallen < crash:
            break
    assert fallen > 5


class crashing:  # noqa: N801 - reads as a word
    """Fail the n-th statement."""

    def __init__(self, ledger: SqlLedger, number: int) -> None:
        self._engine = ledger._database.engine
        self._left = number

    def _count(self, *_: Any) -> None:
        self._left -= 1
        if self._left == 0:
            raise sqlite3.OperationalError("disk I/O error")

    def __enter__(self) -> None:
        event.listen(self._engine, "before_cursor_execute", self._count)

    def __exit__(self, *_: object) -> None:
        event.remove(self._engine, "before_cursor_execute", self._count)


def test_a_cursor_goes_on_behind_a_place(ledger: SqlLedger) -> None:
    add_entries(ledger, 100)
    sequence(ledger)

    assert [97, 98, 99] == [leaf.place for leaf in ledger.leaves(after=96)]
    assert [0, 1] == [leaf.place for leaf in ledger.leaves(until=2)]
    assert list(range(10, 90)) == [leaf.place for leaf in ledger.leaves(after=9, until=90)]


@pytest.mark.parametrize("dump", RELEASED, ids=lambda dump: dump.stem)
def test_a_ledger_of_an_older_schema_is_signed_whole(tmp_path: Path, dump: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))

    with opened(path) as ledger:
        entries = len(list(ledger.entries()))
        ledger.sequence()  # Ledgers of the fourth schema on were signed when they were dumped.
        assert entries == ledger.size() > 0
        check(ledger, entries)
        ledger.append(score_block(["later"], step=9))
        ledger.sequence()
        check(ledger, entries + 1)


def test_a_lost_key_is_replaced_and_both_are_known(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        ledger.append(score_block(["a"]))
        ledger.sequence()
        (tmp_path / "ledger.db.key").unlink()
        ledger.append(score_block(["b"]))
        ledger.sequence()

        assert 2 == len(ledger.signers())
        check(ledger, 2)
        assert 1 == len({read_checkpoint(str(ledger.checkpoint(n))).origin for n in (1, 2)})


def test_a_key_that_cannot_be_read_stops_no_scoring(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "ledger.db.key").write_text("no key")
    with opened(tmp_path / "ledger.db") as ledger:
        ledger.append(score_block(["a"]))
        with pytest.raises(LedgerError, match="holds no signing key"):
            ledger.sequence()

    assert "not in the signed log yet" in caplog.text
    (tmp_path / "ledger.db.key").unlink()
    with opened(tmp_path / "ledger.db") as ledger:
        assert 1 == ledger.sequence()
