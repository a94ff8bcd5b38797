"""Rebuilding: the tables beside the entries, made anew from the entries and compared both ways.

Cached verdicts, aliases, samples and the history of candidates are found through these tables, so
a row that was changed, put in or taken out would change rewards although no entry was touched.
They are rebuilt in a private database by the code that wrote them, in the order of the log. Then
each row of one side must be a row of the other.
"""

from __future__ import annotations

import marshal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import SQLAlchemyError

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.artifacts import compare as compare_artifacts
from verifier_ladder.ledger.counting import Counted, StepCount, VerdictCount
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.encoding import DAMAGE, decode
from verifier_ladder.ledger.numbers import lend
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.rows import write_index
from verifier_ladder.ledger.samples import SOURCE, distinct
from verifier_ladder.ledger.schema import metadata
from verifier_ladder.ledger.store import prefix
from verifier_ladder.ledger.values import dumps, loads

if TYPE_CHECKING:
    from verifier_ladder.ledger.verification import Verification

_BUCKETS = 4096
_BYTES = 16
_PAGE = 1000
_PRAGMAS = ("journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -65536")


class Derived(NamedTuple):
    """A table that follows from the entries."""

    name: str
    rows: str
    """Asks for its rows, with names in the place of numbers that only the database knows."""
    order: str = ""
    """Asks for a row's rank too, where the order of rows counts and is that of the log."""
    named: Sequence[int] = (0,)
    """Which columns name a row to people."""
    read: Callable[[Sequence[Any]], Sequence[Any]] = tuple


def _alias(row: Sequence[Any]) -> Sequence[Any]:
    """What an alias says, in whichever of its columns it stands."""
    *rest, canonical, detail, rank = row
    if isinstance(detail, bytes):
        try:
            said = loads(detail)
            return (*rest, said["canonical"], dumps(said["verdict"]), rank)
        except (TypeError, KeyError, ValueError):
            pass
    return (*rest, canonical, detail, rank)


def _step(row: Sequence[Any]) -> Sequence[Any]:
    """The sums of a step: earlier programs did not carry what is more than one."""
    sums = StepCount._make(row[1:])
    return (row[0], *(sums.carried() if type(sums.part) is type(sums.whole) is int else sums))


_SAID = "{0}.outcome, {0}.score, {0}.uncertainty, {0}.seconds, {0}.detail"
DERIVED = (
    Derived("verifier", "SELECT name, version, tier, unit FROM verifier", named=(0, 1, 2)),
    Derived("canonicaliser", "SELECT digest FROM canonicaliser"),
    Derived(
        "verdict",
        "SELECT v.check_key, v.key, r.name, r.version, r.tier, r.unit, v.entry_id, "
        f"{_SAID.format('v')}, CASE WHEN v.supersedes IS NULL THEN 0 ELSE 1 END, s.check_key, "
        f"s.entry_id, p.name, p.version, p.tier, p.unit, {_SAID.format('s')}, "
        "CASE WHEN s.id < v.id THEN 1 ELSE 0 END "
        "FROM verdict v LEFT JOIN verifier r ON r.id = v.verifier "
        "LEFT JOIN verdict s ON s.id = v.supersedes LEFT JOIN verifier p ON p.id = s.verifier",
    ),
    Derived(
        "alias",
        "SELECT a.raw_key, a.key, c.digest, a.content_key, a.canonical, a.detail, "
        "(SELECT count(*) FROM alias b WHERE b.key = a.key AND b.raw_key = a.raw_key "
        "AND b.canonicaliser = a.canonicaliser AND b.id < a.id) "
        "FROM alias a LEFT JOIN canonicaliser c ON c.id = a.canonicaliser",
        read=_alias,
    ),
    Derived(
        "span",
        "SELECT campaign, run, step, first, last, entry_id FROM span",
        named=(0, 1, 2, 3),
    ),
    Derived(
        "campaign",
        "SELECT name, ladder, ladder_digest, created_at{} FROM campaign",
        ", row_number() OVER (ORDER BY id)",
    ),
    Derived(
        "run",
        "SELECT campaign, name, body{} FROM run",
        ", row_number() OVER (PARTITION BY campaign ORDER BY id)",
        named=(0, 1),
    ),
    Derived(
        "verifier_source",
        "SELECT name, version, digest{} FROM verifier_source",
        ", row_number() OVER (PARTITION BY name, version ORDER BY id)",
        named=(0, 1, 2),
    ),
    Derived(
        "appearance",
        "SELECT candidate, entry_id, place FROM appearance",
        named=(0, 1),
    ),
    Derived(
        "verdict_count",
        f"SELECT campaign, {', '.join(VerdictCount._fields)} FROM verdict_count",
        named=(0, 1, 2, 3, 4, 5),
    ),
    Derived(
        "step_count",
        f"SELECT campaign, {', '.join(StepCount._fields)} FROM step_count",
        named=(0, 1, 2),
        read=_step,
    ),
)
"""The tables that are rebuilt, those first by whose numbers others call rows."""


class Rebuild:
    """Makes the tables anew from one entry after the other, then compares them.

    What is held in memory does not grow with the ledger.
    """

    def __init__(self, found: Verification, appearances_until: int) -> None:
        """Begin with empty tables, in a folder that only this user can read.

        Args:
            found: Where to note problems.
            appearances_until: The entry up to which candidates were indexed.
        """
        self._found = found
        self._until = appearances_until
        self._folder = TemporaryDirectory(prefix="verifier-ladder-verify-")
        self._engine = create_engine(f"sqlite:///{Path(self._folder.name) / 'rebuilt.db'}")
        self._connection = self._engine.connect()
        for pragma in _PRAGMAS:
            self._connection.exec_driver_sql(f"PRAGMA {pragma}")
        metadata.create_all(
            self._connection,
            [metadata.tables[name] for name in (*(table.name for table in DERIVED), "artifact")],
            checkfirst=False,
        )
        lend(self._connection)

    def entry(self, entry: int, body: bytes, recorded_at: float) -> None:
        """Add what an entry leaves in the tables; entries come in the log's order."""
        try:
            block = decode(body)
            write_index(self._connection, block, entry)
            self._count(block)
            self._name_artifacts(block)
            self._name(block, recorded_at)
            if entry <= self._until:
                self._appear(entry, block)
        except (LedgerError, SQLAlchemyError, *DAMAGE) as error:
            self._found.add(f"entry {entry} can't be read: {error}")

    def _count(self, block: Block) -> None:
        counted = Counted()
        counted.add(block)
        counted.write(self._connection)

    def _name(self, block: Block, recorded_at: float) -> None:
        """Add the row of a campaign, a run or a verifier's source."""
        facts = block.facts
        if block.kind == "campaign":
            statement = "campaign (name, ladder, ladder_digest, created_at) VALUES (?, ?, ?, ?)"
            digest = bytes.fromhex(str(facts["ladder_digest"]))
            values: tuple[Any, ...] = (facts["name"], dumps(facts["ladder"]), digest, recorded_at)
        elif block.kind == "run":
            statement = "run (campaign, name, body) VALUES (?, ?, ?)"
            values = (block.campaign, facts["name"], dumps(dict(facts)))
        elif block.kind == SOURCE:
            statement = "verifier_source (name, version, digest) VALUES (?, ?, ?)"
            values = (facts["name"], facts["version"], facts["digest"])
        else:
            return
        self._connection.exec_driver_sql(f"INSERT INTO {statement} ON CONFLICT DO NOTHING", values)

    def _name_artifacts(self, block: Block) -> None:
        named = [
            (bytes.fromhex(one.digest), one.size)
            for row in block.verdicts if row.verdict.artifacts
            for one in row.verdict.files.values() if not one.note
        ]  # fmt: skip
        if named:
            self._connection.exec_driver_sql(
                "INSERT INTO artifact (digest, campaign, size, note) VALUES (?, '', ?, '') "
                "ON CONFLICT DO NOTHING",
                named,
            )

    def _appear(self, entry: int, block: Block) -> None:
        places = dict.fromkeys(distinct(block), -1)
        for place in reversed(range(len(block.candidates))):
            places[block.candidates[place].content_key] = place
        if places:
            self._connection.exec_driver_sql(
                "INSERT INTO appearance (candidate, entry_id, place) VALUES (?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                [(prefix(key), entry, place) for key, place in places.items()],
            )

    def compare(self, connection: Connection) -> None:
        """Compare every row of the ledger with those that were rebuilt, both ways."""
        in_order = dialect_of(connection).in_order
        for table in DERIVED:
            statement = table.rows.format(table.order if in_order else "")
            told = _Prints(table, connection, statement)
            rebuilt = _Prints(table, self._connection, statement, key=told.key)
            self._found.records += rebuilt.count
            buckets = {at for at in range(_BUCKETS) if told.sums[at] != rebuilt.sums[at]}
            if buckets:
                self._tell(table, told.rows_in(buckets), rebuilt.rows_in(buckets))
        compare_artifacts(connection, self._connection, self._found)

    def _tell(self, table: Derived, told: Counter[Any], rebuilt: Counter[Any]) -> None:
        """Note the rows of one side that the other does not have."""
        extra, missing = told - rebuilt, rebuilt - told
        lost = Counter(_name_of(table, row) for row in missing.elements())
        for row in extra.elements():
            name = _name_of(table, row)
            if lost[name]:
                lost[name] -= 1
                self._found.add(f"table {table.name}, {name}: it is not what the entries say")
            else:
                self._found.add(f"table {table.name}, {name}: no entry bears it out")
        for name in lost.elements():
            self._found.add(f"table {table.name}, {name}: a row is gone")

    def close(self) -> None:
        """Remove what was rebuilt."""
        self._connection.close()
        self._engine.dispose()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was rebuilt."""
        self.close()


class _Prints:
    """Fingerprints of a table's rows, added up in buckets.

    Sums over equal rows are equal in whatever order they come. The key is made for this
    comparison alone, so nobody could choose rows whose sums are those of others.
    """

    def __init__(
        self, table: Derived, connection: Connection, statement: str, key: bytes | None = None
    ) -> None:
        """Read all rows once."""
        self.key = key or token_bytes(_BYTES)
        self.sums = [0] * _BUCKETS
        self.count = 0
        self._table, self._connection, self._statement = table, connection, statement
        sums = self.sums
        for number, _ in self._rows():
            sums[number % _BUCKETS] += number
            self.count += 1

    def rows_in(self, buckets: set[int]) -> Counter[Any]:
        """The rows whose fingerprints are in these buckets."""
        return Counter(row for number, row in self._rows() if number % _BUCKETS in buckets)

    def _rows(self) -> Iterator[tuple[int, Sequence[Any]]]:
        key, read = self.key, self._table.read
        result = self._connection.exec_driver_sql(
            self._statement, execution_options={"stream_results": True}
        )
        with closing(result):
            for part in result.partitions(_PAGE):
                for found in part:
                    row = read(found)
                    data = _written(row)
                    print_ = blake2b(data, digest_size=_BYTES, key=key).digest()
                    yield int.from_bytes(print_, "little"), row


def _written(row: Sequence[Any]) -> bytes:
    """A row as bytes, equal for equal rows."""
    try:
        return marshal.dumps(tuple(row), 2)  # Of this version: no references in it.
    except ValueError:  # A column was given another type, so that it equals nothing we write.
        return repr(row).encode()


def _name_of(table: Derived, row: Sequence[Any]) -> str:
    """What a row is called in a message.

    Example:
        >>> _name_of(DERIVED[0], ("logp", "1", 0, ""))
        'logp 1 0'
    """
    return " ".join(_shown(row[at]) for at in table.named)


def _shown(value: Any) -> str:
    return value.hex()[:16] if isinstance(value, bytes) else str(value)
