"""Index audits: what the tables beside the entries say, compared with the entries.

Cached verdicts, aliases and samples are found through these tables, so a row that was changed,
put in or taken out would change rewards although no entry was touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.dialect import dialect_of
from verifier_ladder.ledger.encoding import DAMAGE, decode
from verifier_ladder.ledger.records import Block, CandidateRow, VerdictRow
from verifier_ladder.ledger.samples import IDENTITY, SUPERSEDING, contiguous
from verifier_ladder.ledger.values import dumps, loads
from verifier_ladder.ledger.verdicts import OUTCOME_CODES, indexed_verdict, unpack_verdict
from verifier_ladder.verdict import Verdict

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from verifier_ladder.ledger.verification import Verification

_ANY = 2**63
_TABLES = ("verdict", "alias", "span", "campaign", "run")


class _Told(NamedTuple):
    """A verdict as the index holds it."""

    id: int
    entry: int
    columns: tuple[Any, ...]
    verdict: Verdict
    supersedes: int | None


class IndexAudit:
    """Compares the indexes with one entry after the other."""

    def __init__(self, connection: Connection, found: Verification) -> None:
        """Begin.

        Args:
            connection: One that sees one moment of the ledger.
            found: Where to note problems.
        """
        self._connection = connection
        self._found = found
        self._seen = dict.fromkeys(_TABLES, 0)
        named = connection.exec_driver_sql("SELECT id, digest FROM canonicaliser").all()
        self._canonicalisers = {int(number): digest for number, digest in named}
        known = connection.exec_driver_sql("SELECT id, name, version, tier, unit FROM verifier")
        self._verifiers = {row[0]: tuple(row[1:]) for row in known.all()}

    def entry(self, entry: int, body: bytes) -> None:
        """Compare what the indexes hold of an entry; entries come in the log's order."""
        try:
            block = decode(body)
            self._verdicts(entry, block)
            self._aliases(entry, block.candidates)
            self._spans(entry, block)
            if block.kind in {"campaign", "run"}:
                self._named(entry, block)
        except (LedgerError, *DAMAGE) as error:
            self._found.add(f"entry {entry}: it or its rows in the indexes are damaged: {error}")

    def finish(self) -> None:
        """Look for rows that belong to no entry."""
        for table, seen in self._seen.items():
            count = self._connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()
            if count != seen:
                self._found.add(
                    f"table {table} holds {count} rows; the entries bear out {seen} of them"
                )
            self._found.records += seen

    def _ask(self, columns: str, table: str, keys: Iterable[bytes]) -> dict[bytes, list[Any]]:
        """Rows of a table by the digest in their first column."""
        wanted = set(keys)
        found: dict[bytes, list[Any]] = {key: [] for key in wanted}
        dialect = dialect_of(self._connection)
        rows = self._connection.exec_driver_sql(
            f"SELECT {columns} {dialect.matching(table, 't')}", (dialect.keys(wanted),)
        ).all()
        for row in rows:
            if (key := bytes(row[0])) in wanted:
                found[key].append(row)
        return found

    # -- verdicts --------------------------------------------------------------------------------

    def _verdicts(self, entry: int, block: Block) -> None:
        answers = [row for row in block.verdicts if row.verdict.is_answer]
        if not answers:
            return
        index = self._ask(_VERDICT, "verdict", (row.check_key for row in answers))
        told = {key: sorted(map(self._told, rows)) for key, rows in index.items()}
        said: dict[bytes, list[VerdictRow]] = {}
        for row in answers:
            said.setdefault(row.check_key, []).append(row)
        corrects = block.kind in SUPERSEDING
        first = entry if dialect_of(self._connection).in_order else _ANY
        for key, rows in said.items():
            mine = [other for other in told[key] if other.entry == entry]
            self._seen["verdict"] += len(mine)
            if not _is_borne_out(told[key], mine, rows, first, corrects=corrects):
                self._found.add(
                    f"entry {entry}: the index answers check {key.hex()[:16]} otherwise than "
                    "it was recorded"
                )

    def _told(self, row: Any) -> _Told:
        _, number, entry, verifier, outcome, score, uncertainty, seconds, detail, replaced = row
        named = self._verifiers[verifier]
        columns = (*named, outcome, score, uncertainty, seconds)
        verdict = (
            indexed_verdict(outcome, score, uncertainty, named[-1], seconds)
            if detail is None
            else unpack_verdict(loads(detail))
        )
        return _Told(number, entry, columns, verdict, replaced)

    # -- candidates, samples, names --------------------------------------------------------------

    def _aliases(self, entry: int, rows: Sequence[CandidateRow]) -> None:
        kept = [
            row
            for row in rows
            if row.canonicaliser != IDENTITY and (row.verdict is None or row.verdict.is_answer)
        ]
        if not kept:
            return
        index = self._ask(_ALIAS, "alias", (row.raw_key for row in kept))
        for row in kept:
            said = (row.canonicaliser, row.content_key, row.canonical, row.verdict)
            if said in map(self._alias, index[row.raw_key]):
                self._seen["alias"] += 1
            else:
                self._found.add(
                    f"entry {entry}: the index leads {row.raw_key.hex()[:16]} elsewhere than "
                    "it was recorded"
                )

    def _alias(self, row: Any) -> tuple[Any, ...]:
        _, canonicaliser, content, canonical, detail = row
        verdict = None
        if detail is not None:
            parts = loads(detail)
            canonical = parts["canonical"]
            verdict = None if parts["verdict"] is None else unpack_verdict(parts["verdict"])
        return self._canonicalisers.get(canonicaliser), bytes(content), canonical, verdict

    def _spans(self, entry: int, block: Block) -> None:
        samples = block.samples
        if samples is None:
            return
        rows = self._connection.exec_driver_sql(
            "SELECT first, last FROM span WHERE campaign = ? AND run = ? AND step = ? "
            "AND entry_id = ? ORDER BY first",
            (block.campaign, samples.run, samples.step, entry),
        ).all()
        expected = list(contiguous(listed(samples.positions)))
        if [tuple(row) for row in rows] != expected:
            self._found.add(f"entry {entry}: its samples are not found where they were recorded")
        self._seen["span"] += len(rows)

    def _named(self, entry: int, block: Block) -> None:
        """Compare the row of a campaign or a run."""
        facts = dict(block.facts)
        if block.kind == "campaign":
            statement = "SELECT ladder, ladder_digest FROM campaign WHERE name = ?"
            values: tuple[Any, ...] = (facts["name"],)
            digest = bytes.fromhex(str(facts["ladder_digest"]))
            expected: list[tuple[bytes, ...]] = [(dumps(facts["ladder"]), digest)]
        else:
            statement = "SELECT body FROM run WHERE campaign = ? AND name = ?"
            values = (block.campaign, facts["name"])
            expected = [(dumps(facts),)]
        rows = self._connection.exec_driver_sql(statement, values).all()
        if [tuple(map(bytes, row)) for row in rows] != expected:
            self._found.add(f"entry {entry}: the {block.kind} is not the one that was recorded")
        self._seen[block.kind] += len(rows)


_VERDICT = (
    "t.check_key, t.id, t.entry_id, t.verifier, t.outcome, t.score, t.uncertainty, t.seconds, "
    "t.detail, t.supersedes"
)
_ALIAS = "t.raw_key, t.canonicaliser, t.content_key, t.canonical, t.detail"


def _is_borne_out(
    told: Sequence[_Told],
    mine: Sequence[_Told],
    said: Sequence[VerdictRow],
    first: int,
    *,
    corrects: bool,
) -> bool:
    """Whether the index holds what an entry says of a check: all of it if the entry corrects.

    Otherwise what was said first stays, and need not be this entry's; it is no later than `first`.
    """
    expected = [(_columns(row), row.verdict) for row in said]
    if corrects:
        chain = [(other.columns, other.verdict) for other in mine]
        return chain == expected and all(_follows(other, told) for other in mine)
    if not told or told[0].entry > first or len(mine) > 1:
        return False
    return all(
        (other.columns, other.verdict) == expected[0] and other.supersedes is None
        for other in mine
    )


def _columns(row: VerdictRow) -> tuple[Any, ...]:
    """What stands in the index beside the whole verdict, for other programs to read."""
    said = row.verdict
    seconds = None if said.cost is None else float(said.cost.seconds)
    return (
        row.verifier, row.version, int(row.tier), said.unit, OUTCOME_CODES[said.outcome],
        said.score, said.uncertainty, seconds,
    )  # fmt: skip


def _follows(row: _Told, told: Sequence[_Told]) -> bool:
    """Whether a correction replaces the one before it."""
    before = [other.id for other in told if other.id < row.id]
    return row.supersedes == (max(before) if before else None)
