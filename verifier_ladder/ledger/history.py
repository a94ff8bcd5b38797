"""History in SQL: entries, the cache of verdicts, samples, campaigns and runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from verifier_ladder.ledger.encoding import decode
from verifier_ladder.ledger.records import (
    Alias,
    Block,
    CampaignRow,
    Entry,
    SampleReward,
)
from verifier_ladder.ledger.rows import Draft, write
from verifier_ladder.ledger.samples import SOURCE, SOURCE_CAMPAIGN, contiguous, sample_rewards
from verifier_ladder.ledger.store import Store, chunks, marks
from verifier_ladder.ledger.values import dumps, loads, read_object
from verifier_ladder.ledger.verdicts import indexed_verdict, unpack_verdict
from verifier_ladder.verdict import Verdict

_PAGE = 32
"""Entries read at once; a body may hold megabytes."""
_SPANS = 256
"""Ranges of positions that are asked for in one statement."""
_ANY = 2**62
"""Beyond the position of any sample."""
_CURRENT = (
    # In most ledgers no verdict stands in another's place: that is looked at once, not per row.
    "WHERE NOT EXISTS (SELECT 1 FROM verdict WHERE supersedes IS NOT NULL) "
    "OR NOT EXISTS (SELECT 1 FROM verdict n WHERE n.supersedes = v.id)"
)


class SqlHistory(Store):
    """**Abstract:** the append-only part of the SQL ledger."""

    # -- cache -----------------------------------------------------------------------------------

    def aliases(self, canonicaliser: bytes, raw_keys: Sequence[bytes]) -> dict[bytes, Alias]:
        """See `Ledger.aliases`."""
        found: dict[bytes, Alias] = {}
        number = self._numbers.canonicaliser(canonicaliser)
        if number is None:
            return found
        wanted, dialect = set(raw_keys), self._database.dialect
        rows = self._ask(
            "SELECT a.raw_key, a.canonicaliser, a.content_key, a.canonical, a.detail, a.id "
            + dialect.matching("alias", "a"),
            dialect.keys(wanted),
        )
        rows = [row for row in rows if row[1] == number and row[0] in wanted]
        if len(rows) > len({row[0] for row in rows}):  # What was told first stays.
            rows.sort(key=itemgetter(5), reverse=True)
        for raw, _, content, canonical, detail, _ in rows:
            found[raw] = _alias(content, canonical, detail)
        return found

    def verdicts(self, check_keys: Sequence[bytes]) -> dict[bytes, Verdict]:
        """See `Ledger.verdicts`."""
        dialect = self._database.dialect
        rows = self._ask(
            "SELECT v.check_key, v.detail, v.verifier, v.outcome, v.score, v.uncertainty, "
            f"v.seconds {dialect.matching('verdict', 'v')} {_CURRENT}",
            dialect.keys(check_keys),
        )
        found = _verdicts(rows, self._numbers.unit)
        # The index holds only the start of a key, which another may share.
        if len(found) == sum(map(found.__contains__, check_keys)):
            return found
        return {key: found[key] for key in check_keys if key in found}

    # -- entries ---------------------------------------------------------------------------------

    def newest(self) -> int:
        """See `Ledger.newest`."""
        ((found,),) = self._ask(self._database.dialect.settled)
        return int(found)

    def latest(self, after: int = 0) -> tuple[int, float]:
        """See `Ledger.latest`."""
        newest = self.newest()
        ((told,),) = self._ask(
            "SELECT coalesce(max(recorded_at), 0) FROM entry WHERE id > ?", after
        )
        return newest, float(told)

    def entries(
        self,
        *,
        after: int = 0,
        until: int | None = None,
        kind: str | None = None,
        campaign: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """See `Ledger.entries`."""
        self._check_open()
        return self._pages(after, until, kind, campaign, limit)

    def last(self, *, kind: str, campaign: str) -> Entry | None:
        """See `Ledger.last`."""
        rows = self._ask(
            "SELECT id, kind, campaign, recorded_at, body, leaf FROM entry "
            "WHERE kind = ? AND campaign = ? AND id <= ? ORDER BY id DESC LIMIT 1",
            kind, campaign, self.newest(),
        )  # fmt: skip
        return Entry(*rows[0]) if rows else None

    def _pages(
        self,
        after: int,
        until: int | None,
        kind: str | None,
        campaign: str | None,
        limit: int | None,
    ) -> Iterator[Entry]:
        filters = ["id > ?", "id <= ?"]
        newest = self.newest()
        values: list[Any] = [newest if until is None else min(until, newest)]
        if kind == "alarm":
            filters.append("kind = 'alarm'")  # In words, or its index would not be used.
        for name, value in (("kind", kind), ("campaign", campaign)):
            if value is not None:
                filters.append(f"{name} = ?")
                values.append(value)
        left = limit
        while left is None or left > 0:
            size = _PAGE if left is None else min(_PAGE, left)
            with self._reading() as connection:
                rows = connection.exec_driver_sql(
                    "SELECT id, kind, campaign, recorded_at, body, leaf FROM entry "
                    f"WHERE {' AND '.join(filters)} ORDER BY id LIMIT ?",
                    (after, *values, size),
                ).all()
            yield from (Entry(*row) for row in rows)
            if len(rows) < size:
                return
            after = rows[-1][0]
            left = None if left is None else left - len(rows)

    # -- samples ---------------------------------------------------------------------------------

    def next_step(self, campaign: str, run: str) -> int:
        """See `Ledger.next_step`."""
        with self._reading() as connection:
            largest = connection.exec_driver_sql(
                "SELECT max(step) FROM (SELECT step FROM span WHERE campaign = ?1 AND run = ?2 "
                "UNION ALL SELECT step FROM reply WHERE campaign = ?1 AND run = ?2) s",
                (campaign, run),
            ).scalar()
        return 0 if largest is None else int(largest) + 1

    def recorded(
        self, campaign: str, run: str, step: int, *, within: tuple[int, int] | None = None
    ) -> dict[int, SampleReward]:
        """See `Ledger.recorded`."""
        first, last = within or (-_ANY, _ANY)
        rows = self._ask(
            "SELECT id, body FROM entry WHERE id IN (SELECT entry_id FROM span "
            "WHERE campaign = ? AND run = ? AND step = ? AND last >= ? AND first <= ?) "
            "ORDER BY id",
            campaign, run, step, first, last,
        )  # fmt: skip
        found: dict[int, SampleReward] = {}
        for entry, body in rows:
            found.update(sample_rewards(entry, decode(body)))
        return found

    def step_entries(
        self,
        campaign: str,
        run: str,
        step: int,
        *,
        after: int = 0,
        positions: Collection[int] | None = None,
    ) -> Iterator[Entry]:
        """See `Ledger.step_entries`."""
        spans = [(-_ANY, _ANY)] if positions is None else list(contiguous([*positions]))
        ids: set[int] = set()
        with self._reading() as connection:
            for part in chunks(spans, _SPANS):
                within = " OR ".join(["last >= ? AND first <= ?"] * len(part))
                found = connection.exec_driver_sql(
                    "SELECT entry_id FROM span WHERE campaign = ? AND run = ? AND step = ? "
                    f"AND entry_id > ? AND ({within})",
                    (campaign, run, step, after, *(end for span in part for end in span)),
                )
                ids.update(number for (number,) in found)
        return self._numbered(sorted(ids))

    def _numbered(self, ids: Sequence[int]) -> Iterator[Entry]:
        for part in chunks(ids, _PAGE):
            with self._reading() as connection:
                rows = connection.exec_driver_sql(
                    "SELECT id, kind, campaign, recorded_at, body, leaf FROM entry "
                    f"WHERE id IN ({marks(len(part))}) ORDER BY id",
                    tuple(part),
                ).all()
            yield from (Entry(*row) for row in rows)

    # -- campaigns and runs ----------------------------------------------------------------------

    def open_campaign(self, name: str, ladder: Mapping[str, Any], digest: bytes) -> CampaignRow:
        """See `Ledger.open_campaign`."""
        with self._reading() as connection:
            known = _campaign_rows(connection, name)
        if known:
            return known[0]
        now = self.clock()
        with self._writing() as connection:
            fresh = connection.exec_driver_sql(
                "INSERT INTO campaign (name, ladder, ladder_digest, created_at) "
                "VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1",
                (name, dumps(ladder), digest, now),
            ).first()
            if fresh is not None:  # Else another process was faster.
                facts = {"name": name, "ladder": ladder, "ladder_digest": digest.hex()}
                write(connection, Draft(Block("campaign", name, facts=facts), now))
            return _campaign_rows(connection, name)[0]

    def campaigns(self, name: str | None = None) -> list[CampaignRow]:
        """See `Ledger.campaigns`."""
        with self._reading() as connection:
            return _campaign_rows(connection, name)

    def add_run(self, campaign: str, run: Mapping[str, Any]) -> None:
        """See `Ledger.add_run`."""
        now = self.clock()
        with self._writing() as connection:
            fresh = connection.exec_driver_sql(
                "INSERT INTO run (campaign, name, body) VALUES (?, ?, ?) "
                "ON CONFLICT DO NOTHING RETURNING 1",
                (campaign, run["name"], dumps(dict(run))),
            ).first()
            if fresh is not None:
                write(connection, Draft(Block("run", campaign, facts=dict(run)), now))

    def runs(self, campaign: str) -> list[Mapping[str, Any]]:
        """See `Ledger.runs`."""
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT body FROM run WHERE campaign = ? ORDER BY id", (campaign,)
            ).all()
        return [loads(body) for (body,) in rows]

    def note_verifier(self, name: str, version: str, source_digest: str) -> str | None:
        """See `Ledger.note_verifier`."""
        if not source_digest:
            return None
        values = (name, version, source_digest)
        with self._reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT digest FROM verifier_source WHERE name = ? AND version = ? ORDER BY id",
                (name, version),
            ).all()
        known = [digest for (digest,) in rows]
        if source_digest not in known:
            now = self.clock()
            with self._writing() as connection:
                fresh = connection.exec_driver_sql(
                    "INSERT INTO verifier_source (name, version, digest) VALUES (?, ?, ?) "
                    "ON CONFLICT DO NOTHING RETURNING 1",
                    values,
                ).first()
                if fresh is not None:
                    facts = dict(zip(("name", "version", "digest"), values, strict=True))
                    write(connection, Draft(Block(SOURCE, SOURCE_CAMPAIGN, facts=facts), now))
        others = [digest for digest in known if digest != source_digest]
        return others[-1] if others else None


def _alias(content: bytes, canonical: str | bytes | None, detail: bytes | None) -> Alias:
    if detail is None:
        return Alias(content, canonical, None)
    parts = loads(detail)
    verdict = None if parts["verdict"] is None else unpack_verdict(parts["verdict"])
    return Alias(content, parts["canonical"], verdict)


def _verdicts(
    rows: Sequence[Sequence[Any]], unit_of: Callable[[int], str]
) -> dict[bytes, Verdict]:
    """The verdict of each check; plain ones that say the same are one object.

    Scores are often 0 and 1, and thousands of objects are what a look-up would spend its time
    on, here and in the garbage collector. A verdict with detail is never shared: its evidence
    can be changed.
    """
    found = {row[0]: unpack_verdict(loads(row[1])) for row in rows if row[1] is not None}
    if found:
        rows = [row for row in rows if row[1] is None]
    if rows:
        keys, _, *columns = zip(*rows, strict=True)
        said = list(zip(*columns, strict=True))
        plain = {}
        for what in dict.fromkeys(said):
            verifier, outcome, score, uncertainty, seconds = what
            unit = unit_of(verifier)
            plain[what] = indexed_verdict(outcome, score, uncertainty, unit, seconds)
        found.update(zip(keys, map(plain.__getitem__, said), strict=True))
    return found


def _campaign_rows(connection: Any, name: str | None = None) -> list[CampaignRow]:
    rows = connection.exec_driver_sql(
        "SELECT name, ladder, ladder_digest, created_at FROM campaign "
        "WHERE CAST(?1 AS TEXT) IS NULL OR name = ?1 ORDER BY id",
        (name,),
    ).all()
    return [CampaignRow(row[0], read_object(row[1]), row[2], row[3]) for row in rows]
