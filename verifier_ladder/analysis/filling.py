"""Filling: the next entries of a ledger on their way into an index.

A batch of entries goes in with one transaction, together with the cursor behind it, so several
viewers may fill one index and nothing is counted twice. What a candidate comes to is left to the
tally that summaries are made with: it gets the candidates of the batch as they stood, and what it
makes of them is written back.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

import orjson

from verifier_ladder.analysis import champions, pairtable, spells
from verifier_ladder.analysis.audited import AuditedSample, StepSums, weights_of
from verifier_ladder.candidate import MOST_PLACES
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.columns import listed
from verifier_ladder.ledger.encoding import DAMAGE
from verifier_ladder.ledger.records import (
    Block,
    CampaignRow,
    CandidateRow,
    Entry,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.ledger.samples import distinct
from verifier_ladder.resource import Resource
from verifier_ladder.reward import CANONICAL
from verifier_ladder.summary.reasons import MOST_REASONS, OTHER, pattern
from verifier_ladder.summary.subject import Stand, Subject
from verifier_ladder.summary.tally import Tally
from verifier_ladder.summary.times import charges
from verifier_ladder.text import mended, printable
from verifier_ladder.transcript import KIND as TRANSCRIPT
from verifier_ladder.verdict import Outcome

_LOG = logging.getLogger("verifier_ladder")
LABEL: Final = 200
"""Characters of a candidate that lists show and a search looks at."""
WIDTHS: Final = (1, 64, 64**2, 64**3)
"""Steps that one row of sums is of, so that a curve of many steps is made of few rows."""
_MOST_ENTRIES = 256
_MOST_RECORDS = 8192
"""Entries and records of one batch, so that others need not wait long for their turn."""
_EXAMPLES = 3
_BITS = 3
"""Of a stand, where those of all tiers are one number."""


class Standing(IntEnum):
    """Where a candidate stands: each is in one of these."""

    UNJUDGED = 0
    """No verifier has said anything of it."""
    REJECTED = 1
    FAILED = 2
    """The highest tier that was asked could not answer, through no fault of the candidate."""
    ABSTAINED = 3
    ACCEPTED = 4
    WAITING = 5
    """A higher tier is at work on it."""

    @property
    def label(self) -> str:
        """The word for it in pages and addresses."""
        return self.name.lower()


def packed(stands: Iterable[tuple[int, Stand]]) -> int:
    """What tiers say of a candidate as one number, so that `said_by` can take it apart."""
    return sum(int(stand) << _BITS * tier for tier, stand in stands)


def said_by(tier: int, stands: int) -> int:
    """The `Stand` of one tier; 0 where it says nothing."""
    return stands >> _BITS * tier & (1 << _BITS) - 1


def fill(connection: sqlite3.Connection, ledger: Ledger) -> int:
    """Take the next entries into an index; how many there were, 0 when all are in.

    Args:
        connection: Of the index, inside a transaction that writes.
        ledger: The ledger that it fits.
    """
    after, _, damaged = connection.execute("SELECT * FROM cursor").fetchone()
    entries, blocks, records = list[Entry](), list[Block | None](), 0
    for entry in ledger.entries(after=after, limit=_MOST_ENTRIES):
        block = _read(ledger, entry)
        entries.append(entry)
        blocks.append(block)
        if block is not None:
            records += len(block.verdicts) + len(block.rewards)
        if records >= _MOST_RECORDS:
            break
    if entries:
        pairs = zip(entries, blocks, strict=True)
        damaged += _take(connection, ledger, [(e, b) for e, b in pairs if b is not None])
        connection.execute(
            "UPDATE cursor SET entry = ?, leaf = ?, damaged = ?",
            (entries[-1].id, entries[-1].leaf, damaged + blocks.count(None)),
        )
    return len(entries)


def _read(ledger: Ledger, entry: Entry) -> Block | None:
    """An entry's records; None for one that is damaged, which `ledger verify` tells of."""
    try:
        return ledger.read(entry)
    except LedgerError:
        return None


_Taken = tuple[Entry, Block]


def _take(connection: sqlite3.Connection, ledger: Ledger, taken: Sequence[_Taken]) -> int:
    """Take entries; how many tell what nobody can understand, and so are left out.

    Whoever can write to the ledger can write such an entry, and it must not keep others out.
    """
    connection.execute("SAVEPOINT taken")
    try:
        _Batch(connection, ledger, taken).take()
        left_out = 0
    except (*DAMAGE, sqlite3.IntegrityError):  # Such as a sum that is no number.
        connection.execute("ROLLBACK TO taken")
        if len(taken) > 1:
            left_out = sum(_take(connection, ledger, [each]) for each in taken)
        else:
            left_out = 1
            _LOG.warning("entry %d is in no list", taken[0][0].id, exc_info=True)
    connection.execute("RELEASE taken")
    return left_out


class _At(NamedTuple):
    """Where a candidate stands."""

    standing: Standing
    stands: list[tuple[int, Stand]]
    """What each tier says, the lowest first."""


class _Batch:
    """Entries that are taken together."""

    def __init__(
        self, connection: sqlite3.Connection, ledger: Ledger, taken: Sequence[_Taken]
    ) -> None:
        self.connection, self.ledger, self.taken = connection, ledger, taken
        self.contents: dict[bytes, int] = {}
        """Number of each content key that is mentioned."""

    def take(self) -> None:
        self._note_contents()
        campaigns: dict[str, list[_Taken]] = {}
        for entry, block in self.taken:
            campaigns.setdefault(entry.campaign, []).append((entry, block))
        for name, taken in campaigns.items():
            for row in self.ledger.campaigns(name):
                _OfCampaign(self, row).take(taken)

    def _note_contents(self) -> None:
        rows: dict[bytes, tuple[CandidateRow, int] | None] = {}
        for entry, block in self.taken:
            rows.update({key: None for key in distinct(block) if key not in rows})
            for row in block.candidates:
                rows[row.content_key] = rows[row.content_key] or (row, entry.id)
        self._write_contents(rows)
        self.connection.executemany(
            "INSERT INTO judged VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [
                (self.contents[key], int(block.kind == "score"), entry.id)
                for entry, block in self.taken
                for key in _judged(block)
            ],
        )

    def _write_contents(self, rows: Mapping[bytes, tuple[CandidateRow, int] | None]) -> None:
        """Number contents, and write those of which more is known than before."""
        run, many = self.connection.execute, self.connection.executemany
        (newest,) = run("SELECT coalesce(max(id), 0) FROM content").fetchone()
        fresh, told = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
        for key, first in rows.items():
            found = run("SELECT id, entry FROM content WHERE key = ?", (key,)).fetchone()
            if found is None:
                newest += 1
                fresh.append((*_said(first), newest, key))
            elif found[1] is None and first is not None:
                told.append((*_said(first), found[0]))
            self.contents[key] = newest if found is None else found[0]
        # Rows are never replaced: for each, SQLite would keep a journal of its own, and go through
        # all pages that were written since the savepoint to take it back.
        many("INSERT INTO content (kind, label, entry, id, key) VALUES (?, ?, ?, ?, ?)", fresh)
        many("UPDATE content SET kind = ?, label = ?, entry = ? WHERE id = ?", told)
        many(
            "INSERT INTO word (rowid, label) VALUES (?, ?)",
            [(number, label) for _, label, entry, number, *_ in (*fresh, *told) if entry],
        )

    def judged_in(self, contents: Iterable[bytes]) -> Iterator[Block]:
        """The entries that hold verdicts on candidates, the oldest first."""
        found: set[int] = set()
        for key in contents:
            rows = self.connection.execute(
                "SELECT entry FROM judged WHERE content = ?", (self.contents[key],)
            )
            found.update(entry for (entry,) in rows)
        own = {entry.id: block for entry, block in self.taken}
        for number in sorted(found):
            if number in own:
                yield own[number]
            elif (entry := self.ledger.entry(number)) and (block := _read(self.ledger, entry)):
                yield block


def _said(first: tuple[CandidateRow, int] | None) -> tuple[str, str, int | None]:
    """Kind and label of a content and the entry that tells them, as far as they are known."""
    if first is None:
        return "", "", None
    row, entry = first
    form = row.content if row.canonical is None else row.canonical
    return printable(row.kind, 60), printable(form, LABEL), entry


def _judged(block: Block) -> dict[bytes, None]:
    keys = dict.fromkeys(row.content_key for row in block.verdicts)
    keys.update({row.content_key: None for row in block.candidates if row.verdict is not None})
    return keys


class _OfCampaign:
    """The entries of one campaign in a batch."""

    def __init__(self, batch: _Batch, row: CampaignRow) -> None:
        self.batch, self.run = batch, batch.connection.execute
        self.name = row.name
        self.tally = Tally(row.ladder)
        self.totals: Counter[tuple[str, int, int]] = Counter()
        """What changes of each total."""
        self.sampled: dict[tuple[int, int, int], tuple[Any, ...]] = {}
        """Samples that are written, as the table has them."""
        self.mentions: set[tuple[int, int, int]] = set()
        self.fresh: dict[int, tuple[int, bytes]] = {}
        """Content and task of candidates that the index does not hold yet, by number."""
        self.written: list[tuple[Any, ...]] = []
        self.truths: list[tuple[int, int, float | None]] = []
        self.paired: list[tuple[int, bytes, list[pairtable.Pair]]] = []
        """Rows of the tables beside: each begins as that table's module says."""
        (self.newest,) = self.run("SELECT coalesce(max(id), 0) FROM candidate").fetchone()
        self.steps: dict[tuple[int, int], list[float]] = {}
        """What changes of the sums of each step."""
        self.rows: dict[bytes, int] = {}
        """Number of each candidate, by what the tally calls it."""
        self.last: dict[bytes, tuple[int, int, int]] = {}
        """Run, step and position of the last sample of each candidate in this batch."""
        self.runs_of: dict[bytes, set[int]] = {}
        """Runs that have samples of each candidate in this batch."""
        self.compared = pairtable.compared(row.ladder)
        self.first: dict[bytes, int] = {}
        """Step of the first one."""
        self.run("INSERT INTO campaign (name) VALUES (?) ON CONFLICT DO NOTHING", (row.name,))
        self.id, told = self.run(
            "SELECT id, told FROM campaign WHERE name = ?", (row.name,)
        ).fetchone()
        self.categories: dict[tuple[int, int, int], int] = {
            tuple(alike): number for number, *alike in self.run(
                "SELECT id, standing, reached, stands FROM category WHERE campaign = ?", (self.id,)
            )
        }  # fmt: skip
        known = orjson.loads(told)
        for name, tier in known.get("places", ()):
            self.tally.place(name, tier)
        self.judge = self.tally.top if len(self.tally.tiers) > 1 else None
        """The tier that audits ask; a ladder of one tier has none."""
        self.places = self._places()
        self.tally.units = {int(t): unit for t, unit in known.get("units", {}).items()}
        self.tally.primaries = {int(t): name for t, name in known.get("primaries", {}).items()}

    def take(self, taken: Sequence[_Taken]) -> None:
        for _, block in taken:
            self._recall(block)
        for subject in self.tally.subjects.values():
            if subject.samples:
                self.totals.subtract(self._parts(subject, self._at(subject)))
        for entry, block in taken:
            self.tally.add(entry, block)
            self._note(entry, block)
            if block.kind == "revision" and block.samples is not None:
                self._ask_again(block.samples)
        self._borrow()
        self.places = self._places()
        for entry, block in taken:
            if block.samples is not None and block.rewards:
                self._samples(entry, block, block.samples)
        for key, subject in self.tally.subjects.items():
            at = self._at(subject)
            self.totals.update(self._parts(subject, at))
            self._write(key, subject, at)
        self._write_rows()
        self._count()
        self._close()

    # -- candidates ------------------------------------------------------------------------------

    def _recall(self, block: Block) -> None:
        """Give the tally all candidates of a block as they stood."""
        samples = block.samples
        if samples is not None:
            tasks = samples.tasks or [b""] * len(samples.contents)
            for content, task in zip(samples.contents, tasks, strict=True):
                if content + task not in self.rows:
                    self._recall_one(content, task)
        for content in _judged(block):
            if content not in self.rows:
                # Of several tasks two are enough to know that the verdict's is not certain.
                rows = self.run(
                    "SELECT id, task, memory FROM candidate WHERE campaign = ? AND content = ? "
                    "ORDER BY task LIMIT 2", (self.id, self.batch.contents[content]),
                ).fetchall()  # fmt: skip
                for number, task, memory in rows:
                    if content + task not in self.rows:
                        self.rows[content + task] = number
                        self.tally.recall(content, task, orjson.loads(memory))

    def _recall_one(self, content: bytes, task: bytes) -> None:
        values = (self.id, self.batch.contents[content], task)
        found = self.run(
            "SELECT id, memory FROM candidate WHERE campaign = ? AND content = ? AND task = ?",
            values,
        ).fetchone()
        if found is None:
            self.newest += 1
            self.fresh[self.newest] = values[1:]
            found = (self.newest, "[]")
        self.rows[content + task] = found[0]
        self.tally.recall(content, task, orjson.loads(found[1]))

    def _ask_again(self, samples: SampleColumns) -> None:
        """Who is revised may rest on what another campaign has recorded, and corrected since."""
        tasks = samples.tasks or [b""] * len(samples.contents)
        for content, task, keys in zip(samples.contents, tasks, samples.checks, strict=True):
            subject = self.tally.subjects[content + task]
            stands = self._at(subject).stands
            if any(s is not Stand.FAILED and not subject.own >> t & 1 for t, s in stands):
                for key in keys:
                    self.tally.unknown_checks.setdefault(key, {})[subject] = None

    def _borrow(self) -> None:
        """Look up verdicts that rewards rest on and other entries have recorded."""
        tally = self.tally
        wanted = [*tally.unknown_checks.values(), *tally.unknown_contents.values()]
        contents = {subject.content for owners in wanted for subject in owners}
        for block in self.batch.judged_in(contents):
            is_own = block.campaign == self.name and block.kind != "import"
            tally.borrow(block, is_own=is_own)

    def _parts(self, subject: Subject, at: _At) -> dict[tuple[str, int, int], int]:
        """What a candidate adds to the totals."""
        if not subject.samples:
            return {}
        found = {("candidates", 0, 0): 1, ("category", self._category(subject, at), 0): 1}
        if subject.said(0) is Stand.FAILED:
            found["formless", 0, 0] = 1
        for tier, stand in at.stands:
            found["stand", tier, int(stand)] = 1
            if stand is not Stand.FAILED:
                found["answers", tier, 0] = subject.samples
                found["own", tier, 0] = subject.own >> tier & 1
        found.update(pairtable.counted(pairtable.pairs_of(subject, self.compared)))
        return found

    def _places(self) -> list[tuple[int, tuple[int, ...]]]:
        """Each tier with the places of its verifiers."""
        return [(int(tier), self.tally.verifiers(tier)) for tier in self.tally.tiers]

    def _at(self, subject: Subject) -> _At:
        """Where a candidate stands, with each tier and on the whole."""
        found = ((tier, subject.stand(places)) for tier, places in self.places)
        stands = [(tier, stand) for tier, stand in found if stand is not None]
        # Only where somebody has rejected it, one has to look whether somebody overrules that.
        rejects = any(stand is Stand.REJECTED for _, stand in stands)
        if rejects and self.tally.is_rejected(subject):
            return _At(Standing.REJECTED, stands)
        if subject.pending:
            return _At(Standing.WAITING, stands)
        return _At(_STANDINGS[stands[-1][1]] if stands else Standing.UNJUDGED, stands)

    def _category(self, subject: Subject, at: _At) -> int:
        """The number of those that stand alike, on the whole and with each tier."""
        alike = (int(at.standing), subject.reached, packed(at.stands))
        found = self.categories.get(alike)
        if found is None:
            added = self.run(
                "INSERT INTO category (campaign, standing, reached, stands) VALUES (?, ?, ?, ?)",
                (self.id, *alike),
            )
            found = self.categories[alike] = added.lastrowid or 0
        return found

    def _write(self, key: bytes, subject: Subject, at: _At) -> None:
        tally, (standing, stands) = self.tally, at
        sign, is_out = tally.sign, standing is Standing.REJECTED
        is_out = is_out or not tally.are_comparable
        known, spread = (None, None) if is_out else subject.best_known(tally.top) or (None, None)
        truth, _ = (None if is_out else subject.score(tally.top)) or (None, None)
        told = {"scores": subject.scores, "stands": [[tier, int(stand)] for tier, stand in stands]}
        self.written.append((
            subject.samples, subject.reward, subject.uncertainty, subject.mean,
            subject.deviation, None if known is None else sign * known, spread,
            subject.deepest, None if truth is None else sign * truth,
            None if truth is None or subject.mean is None else sign * (subject.mean - truth),
            int(standing), subject.reached, self._category(subject, at), _json(told),
            _json(tally.memory(subject)),
            *self._place(key), self.rows[key],
        ))  # fmt: skip
        number, best = self.rows[key], None if truth is None else sign * truth
        self.truths += [(run, number, best) for run in self.runs_of.get(key, ())]
        if subject.samples:
            pairs = pairtable.pairs_of(subject, self.compared)
            self.paired.append((number, subject.content, pairs))

    def _write_rows(self) -> None:
        """Write candidates, samples and who tells of them: a new row goes into each index once."""
        many = self.batch.connection.executemany
        names = (
            "samples", "reward", "uncertainty", "mean", "deviation", "known", "spread",
            "known_tier", "truth", "gap", "standing", "reached", "category", "told", "memory",
            "run", "first_step", "step", "position",
        )  # fmt: skip
        kept = {"run": "coalesce(?, run)", "first_step": "coalesce(first_step, ?)",
                "step": "coalesce(?, step)", "position": "coalesce(?, position)"}  # fmt: skip
        changes = ", ".join(f"{name} = {kept.get(name, '?')}" for name in names)
        many(
            f"INSERT INTO candidate ({', '.join(names)}, id, campaign, content, task) "
            f"VALUES ({', '.join('?' * (len(names) + 4))})",
            [
                (*row, self.id, *self.fresh[row[-1]]) for row in self.written
                if row[-1] in self.fresh
            ],
        )  # fmt: skip
        many(
            f"UPDATE candidate SET {changes} WHERE id = ?",
            [row for row in self.written if row[-1] not in self.fresh],
        )
        many(
            "INSERT OR REPLACE INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            self.sampled.values(),
        )
        many("INSERT INTO mention VALUES (?, ?, ?) ON CONFLICT DO NOTHING", self.mentions)
        champions.note(self.batch.connection, self.truths)
        pairtable.write(self.batch.connection, self.id, self.paired)

    def _place(self, key: bytes) -> tuple[int | None, ...]:
        """Run, first step, step and position of a candidate's last sample."""
        if key not in self.last:
            return (None,) * 4
        run, step, position = self.last[key]
        return run, self.first[key], step, position

    # -- samples ---------------------------------------------------------------------------------

    def _samples(self, entry: Entry, block: Block, samples: SampleColumns) -> None:
        run, weights = self._run(samples.run), weights_of(block)
        tasks = samples.tasks or [b""] * len(samples.contents)
        positions = listed(samples.positions)
        sums = self.steps.setdefault((run, samples.step), [0.0] * len(StepSums._fields))
        is_begun = self.run(
            "SELECT 1 FROM sample WHERE run = ? AND step = ? LIMIT 1", (run, samples.step)
        ).fetchone()
        for at, reward in enumerate(block.rewards):
            key, spot = samples.contents[at] + tasks[at], (run, samples.step, positions[at])
            old = self.sampled.get(spot)
            if old is None and is_begun:
                old = self.run(
                    "SELECT * FROM sample WHERE run = ? AND step = ? AND position = ?", spot
                ).fetchone()
            party = old[4] if old else ""
            if samples.groups is not None:
                party = _text(samples.groups[at])
            subject = self.tally.subjects[key]
            self.runs_of.setdefault(key, set()).add(run)
            before = AuditedSample(*old[5:]) if old else None
            is_judged = self.judge is not None and reward.tier == self.judge
            truth = self.tally.truth(subject) if is_judged else None
            told = AuditedSample.of(reward, self.judge, truth, weights.get(at), before)
            self.sampled[spot] = (*spot, self.rows[key], party, *told)
            was_told = before.sums if before else StepSums()
            for place, (new, was) in enumerate(zip(told.sums, was_told, strict=True)):
                sums[place] += new - was
            if block.kind == "score":
                self.last[key] = spot
                self.first.setdefault(key, samples.step)
            self.mentions.add((self.rows[key], int(block.kind != "score"), entry.id))

    def _run(self, name: str) -> int:
        values = (self.id, _text(name))
        self.run("INSERT INTO run (campaign, name) VALUES (?, ?) ON CONFLICT DO NOTHING", values)
        found = self.run("SELECT id FROM run WHERE campaign = ? AND name = ?", values).fetchone()
        return int(found[0])

    # -- the rest --------------------------------------------------------------------------------

    def _note(self, entry: Entry, block: Block) -> None:
        """Take what an entry tells beside candidates and samples."""
        if block.kind == "import":
            return
        if block.kind == TRANSCRIPT:
            run = self._run(block.facts["run"])
            for party, known in block.facts["groups"].items():
                if "prompt" in known:
                    self.run(
                        "INSERT OR REPLACE INTO prompt VALUES (?, ?, ?)",
                        (run, _text(party), entry.id),
                    )
        lowest = self.tally.tier_of[CANONICAL]
        for each in block.candidates:
            if each.verdict is not None:
                row = VerdictRow(b"", each.content_key, CANONICAL, "", lowest, each.verdict)
                self._reason(row, None, entry.id)
        for row, seconds in zip(block.verdicts, charges(block), strict=True):
            if not row.verdict.evidence.get("waiting"):
                self._reason(row, seconds, entry.id)

    def _reason(self, row: VerdictRow, seconds: float | None, entry: int) -> None:
        """Count why a candidate was rejected, or has no answer."""
        verdict = row.verdict
        if verdict.outcome is Outcome.ACCEPT:
            return
        standing = Standing.FAILED if verdict.failed_at is not None else (
            Standing.REJECTED if verdict.outcome is Outcome.REJECT else Standing.ABSTAINED
        )  # fmt: skip
        place = (
            self.id, int(standing), _text(verdict.failed_at or ""), _text(row.verifier), row.tier,
            _text(pattern(verdict.reason)),
        )  # fmt: skip
        where = "WHERE (campaign, standing, boundary, verifier, tier, text) = (?, ?, ?, ?, ?, ?)"
        found = self.run(f"SELECT examples FROM reason {where}", place).fetchone()
        if found is None:
            place = (*place[:-1], self._known_text(place[-1]))
            found = self.run(f"SELECT examples FROM reason {where}", place).fetchone() or ("[]",)
        examples, number = orjson.loads(found[0]), self.batch.contents[row.content_key]
        if number not in examples and len(examples) < _EXAMPLES:
            examples.append(number)
        self.run(
            "INSERT INTO reason VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "count = count + 1, seconds = seconds + excluded.seconds, "
            "examples = excluded.examples, last = excluded.last",
            (*place, seconds or 0.0, _json(examples), entry),
        )

    def _known_text(self, text: Any) -> Any:
        """A new reason; model-made text could make each one unique, so there are only so many."""
        (count,) = self.run(
            "SELECT count(*) FROM reason WHERE campaign = ?", (self.id,)
        ).fetchone()
        return OTHER if count >= MOST_REASONS else text

    def _count(self) -> None:
        """Write what changed of the totals."""
        tally = self.tally
        spells.note(self.batch.connection, self.id, tally.times)
        amounts: dict[tuple[str, int, int], float] = dict(self.totals)
        for tier, costs in tally.declined.items():
            amounts["declined", tier, -1] = len(costs)
            for resource in Resource:
                amounts["declined", tier, resource] = sum(c.amounts[resource] for c in costs)
        self.batch.connection.executemany(
            "INSERT INTO total VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "amount = amount + excluded.amount",
            [(self.id, *place, amount) for place, amount in amounts.items() if amount],
        )
        self._sum_steps()

    def _sum_steps(self) -> None:
        """Write what changed of the sums of steps; no curve is of those that were drawn."""
        rows: dict[tuple[int, int, int], Sequence[float]] = {}
        for (run, step), sums in self.steps.items():
            for width in WIDTHS if 0 <= step < MOST_PLACES else ():
                place = (run, width, step // width * width)
                known = rows.get(place, (0.0,) * len(sums))
                rows[place] = [a + b for a, b in zip(known, sums, strict=True)]
        names = StepSums._fields
        changes = ", ".join(f"{name} = {name} + excluded.{name}" for name in names)
        self.batch.connection.executemany(
            f"INSERT INTO step VALUES ({', '.join('?' * (3 + len(names)))}) "
            f"ON CONFLICT DO UPDATE SET {changes}",
            [(*place, *sums) for place, sums in rows.items()],
        )

    def _close(self) -> None:
        tally = self.tally
        told = {
            "places": [[name, tally.tier_of[name]] for name in tally.places],
            "units": {str(tier): unit for tier, unit in tally.units.items()},
            "primaries": {str(tier): name for tier, name in tally.primaries.items()},
            "sign": tally.sign,
        }
        self.run("UPDATE campaign SET told = ? WHERE id = ?", (_json(told), self.id))


_STANDINGS = {
    Stand.REJECTED: Standing.REJECTED, Stand.FAILED: Standing.FAILED,
    Stand.ABSTAINED: Standing.ABSTAINED, Stand.ACCEPTED: Standing.ACCEPTED,
}  # fmt: skip


def _text(text: str) -> str:
    """Text that SQLite can hold."""
    return text.encode("utf-8", "replace").decode()


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # Halves of characters, which UTF-8 can't hold.
        return orjson.dumps(mended(value)).decode()
