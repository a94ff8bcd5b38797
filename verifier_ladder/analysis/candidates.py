"""Candidates of a ledger, sorted, filtered and searched in milliseconds however many there are.

The lists come from an index that is derived from the ledger, entry by entry, and kept in the
user's cache (see `indexfile` and `filling`). It is trusted for lists and counts, and never for
what is proven: whoever looks at one candidate reads its entries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from verifier_ladder.analysis.audited import StepSums
from verifier_ladder.analysis.filling import LABEL, WIDTHS, Standing, fill, said_by
from verifier_ladder.analysis.indexfile import IndexFile, index_file
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.run import trainings_first
from verifier_ladder.summary.subject import Stand
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier

FEWEST_LETTERS: Final = 3
"""Characters that a search takes at least."""
_MOST_LETTERS = 100
_FOUND = 2_000
"""Candidates of a search that are sorted when they are asked for; of more, so many fit that a
walk through the list finds them."""
_STRIDE = 1_000
"""Candidates of such a walk that are looked at together."""
_FEWEST_DIGITS = 6
"""Digits of a key that are taken for the beginning of one."""
_MOST_ROWS = 2**63
_POINTS = 60
"""Points of a curve; of more steps, several become one."""


class Order(StrEnum):
    """How a list is sorted; what lacks the number that is asked for is not in it."""

    REWARD = "reward"
    """The highest training reward first."""
    LOWEST = "lowest"
    """The lowest training reward first."""
    TRUTH = "truth"
    """The best first, by what the top tier says."""
    KNOWN = "known"
    """The best first, by what is known of them, measured or believed."""
    OVERRATED = "overrated"
    """Those first that turned out the furthest below what was predicted."""
    SAMPLES = "samples"
    """The most frequent first."""
    NEWEST = "newest"
    """The last that was seen for the first time comes first."""


class _Sorting(NamedTuple):
    """How an order is read from the index."""

    name: str
    direction: str
    path: str


_SORTINGS = {
    Order.REWARD: _Sorting("reward", "DESC", "candidate_reward"),
    Order.LOWEST: _Sorting("reward", "ASC", "candidate_reward"),
    Order.TRUTH: _Sorting("truth", "DESC", "candidate_truth"),
    Order.KNOWN: _Sorting("known", "DESC", "candidate_known"),
    Order.OVERRATED: _Sorting("gap", "DESC", "candidate_gap"),
    Order.SAMPLES: _Sorting("samples", "DESC", "candidate_samples"),
    Order.NEWEST: _Sorting("id", "DESC", "candidate_newest"),
}


@dataclass(frozen=True, slots=True)
class Listing:
    """Which candidates to list, and where to go on."""

    campaign: str
    order: Order = Order.REWARD
    standing: Standing | None = None
    reached: Tier | None = None
    """The highest tier that has answered."""
    text: str = ""
    """What stands in the first 200 characters of the candidate, or begins its key."""
    after: str = ""
    """`ListPage.after` of the page before; empty for the first."""
    said: tuple[Tier, Stand] | None = None
    """A tier, and what it says of the candidate."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A candidate as lists show it."""

    number: int = field(repr=False)
    """Its place in the index; it says nothing elsewhere."""
    key: str
    """Content key, in hexadecimal."""
    task: str
    """Digest of the task that it answers, in hexadecimal; empty for none."""
    kind: str
    label: str
    """The beginning of its canonical form, in one line; model-made text."""
    samples: int
    reward: float | None
    """What the learner was told last."""
    uncertainty: float | None
    predicted: float | None
    """What was believed of its target before the top tier answered; target units."""
    deviation: float | None
    known: float | None
    """The best that is known of its target; target units, None for what is rejected."""
    spread: float | None
    known_by: str | None
    """The highest tier that has scored it."""
    truth: float | None
    """What the top tier says of it; target units."""
    standing: str
    reached: str | None
    """The highest tier that has answered."""
    scores: Mapping[str, Mapping[str, float | None]]
    """Score and uncertainty, by tier."""
    stands: Mapping[str, str]
    """What each tier's verifiers say, by tier; of several the lowest."""
    run: str
    first_step: int | None
    step: int | None
    """Step of its last sample."""
    position: int | None
    """Position of its last sample in that step."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """A part of a list."""

    rows: tuple[Listed, ...]
    count: int | None
    """How many fit outcome and tier; None where a text was searched for."""
    after: str
    """Where the next page begins; empty at the end."""


@dataclass(frozen=True, slots=True)
class Member:
    """One sample of a group."""

    position: int
    reward: float | None
    truth: float | None
    """What the top tier says of it, on the learner's scale."""
    is_rejected: bool
    candidate: Listed


@dataclass(frozen=True, slots=True)
class Party:
    """The samples of one prompt in one step."""

    run: str
    step: int
    name: str
    """The group's name; empty where a whole step is compared."""
    members: tuple[Member, ...]
    """The highest reward first, and those without one last."""
    prompt_entry: int | None
    """The entry that holds the prompt, if it was kept."""


@dataclass(frozen=True, slots=True)
class StepPoint:
    """One step of a run, or a few that follow each other."""

    step: int
    """The first of them."""
    samples: int
    told: float | None
    """Mean of the rewards that are known."""
    audited: float | None
    """Mean truth of the same samples, estimated from those that the top tier has judged."""
    audits: int
    """How many those are."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why candidates were rejected or have no answer."""

    standing: str
    boundary: str
    """The boundary that failed; empty for what was said of the candidate."""
    verifier: str
    tier: str
    text: str
    count: int
    seconds: float
    """Cpu-seconds that it took."""
    last: int
    """The newest entry that says so."""
    examples: tuple[tuple[str, str, str], ...]
    """Key, task and label of a few candidates."""


@dataclass(frozen=True, slots=True)
class CandidateTotals:
    """How the distinct candidates of a campaign stand, as far as the index has come."""

    amounts: Mapping[tuple[str, int, int], float] = field(default_factory=dict)
    units: Mapping[int, str] = field(default_factory=dict)
    primaries: Mapping[int, str] = field(default_factory=dict)
    """The verifier that gives each tier's score."""

    def count(self, name: str, place: int = 0, state: int = 0) -> int:
        """A total that counts."""
        return int(self.amounts.get((name, place, state), 0))


class Progress(NamedTuple):
    """How far an index has come."""

    entry: int
    """The last entry that is in it."""
    damaged: int
    """Entries that can't be read."""


class CandidateIndex:
    """Lists of a ledger's candidates.

    **Threads.** Any number may ask; `catch_up` may be called beside them, also by several
    processes.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from verifier_ladder.ledger import open_ledger
        >>> with TemporaryDirectory() as folder, open_ledger(":memory:") as ledger:
        ...     index = CandidateIndex(Path(folder) / "try.index")
        ...     _ = ledger.open_campaign("try", {"verifiers": []}, b"0" * 32)
        ...     index.catch_up(ledger), index.page(Listing("try")).rows
        (1, ())
    """

    def __init__(self, path: Path) -> None:
        """Open an index, or begin one."""
        self._file = IndexFile(path)

    @classmethod
    def of(cls, ledger: Ledger) -> CandidateIndex:
        """The index of a ledger in the user's cache; it may have to catch up.

        Raises:
            ConfigError: If others could read that cache.
        """
        return cls(index_file(ledger.url))

    # -- filling ---------------------------------------------------------------------------------

    def check(self, ledger: Ledger) -> bool:
        """Begin anew if it was made of another ledger; whether it was."""
        if self._file.fits(ledger):
            return False
        with self._file.filling(ledger):
            return True

    def catch_up(self, ledger: Ledger) -> int:
        """Take the next entries of the ledger; how many there were, 0 at its end.

        An index of another ledger, or one that is damaged or gone, is begun anew first.
        """
        file = self._file
        with suppress(sqlite3.DatabaseError):
            is_made = file.is_sound and file.fits(ledger)
            if is_made and ledger.newest() <= self.progress().entry:
                return 0
        with file.filling(ledger) as connection:
            return fill(connection, ledger)

    def progress(self) -> Progress:
        """How far it has come."""
        with self._file.reading() as connection:
            entry, _, damaged = connection.execute("SELECT * FROM cursor").fetchone()
        return Progress(entry, damaged)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @contextmanager
    def reading(self, campaign: str) -> Iterator[tuple[sqlite3.Connection, int]]:
        """Give a connection that sees one moment of the index, and the number of a campaign in it.

        Args:
            campaign: Its name; the number of one that the index does not know fits nothing.
        """
        with self._file.reading() as connection:
            yield connection, _campaign(connection, campaign)

    # -- lists -----------------------------------------------------------------------------------

    def page(self, listing: Listing, size: int = 40) -> ListPage:
        """A part of a list; the next one begins exactly behind it, whatever is added meanwhile.

        Raises:
            ConfigError: If the text is too short to be searched for, or there is no such place to
                go on.
        """
        with self._file.reading() as connection:
            campaign = _campaign(connection, listing.campaign)
            categories = _categories(connection, campaign, listing)
            found = _found(connection, campaign, listing, list(categories), size + 1)
            sign = self._sign(connection, campaign)
        rows = tuple(_listed(row, sign) for row in found[:size])
        more = f"{found[size - 1][-1]!r},{found[size - 1][0]}" if len(found) > size else ""
        return ListPage(rows, None if listing.text else sum(categories.values()), more)

    def candidate(self, campaign: str, key: bytes, task: bytes = b"") -> Listed | None:
        """One candidate of a campaign; None if it has none such."""
        with self._file.reading() as connection:
            number = _campaign(connection, campaign)
            row = connection.execute(
                f"SELECT {_LISTED} FROM content t JOIN candidate c ON c.content = t.id "
                "LEFT JOIN run r ON r.id = c.run "
                "WHERE t.key = ? AND c.campaign = ? AND c.task = ?", (key, number, task),
            ).fetchone()  # fmt: skip
            return None if row is None else _listed(row, self._sign(connection, number))

    def best_of(self, campaign: str, run: str) -> Listed | None:
        """The best candidate of a run, by what the top tier says; None if it has scored none."""
        with self._file.reading() as connection:
            number = _campaign(connection, campaign)
            row = connection.execute(
                f"SELECT {_LISTED} FROM (SELECT b.candidate FROM champion b WHERE b.run = "
                "(SELECT id FROM run WHERE campaign = ? AND name = ?) "
                "ORDER BY b.truth DESC, b.candidate DESC LIMIT 1) best "
                "JOIN candidate c ON c.id = best.candidate JOIN content t ON t.id = c.content "
                "LEFT JOIN run r ON r.id = c.run", (number, run),
            ).fetchone()  # fmt: skip
            return None if row is None else _listed(row, self._sign(connection, number))

    def entries_of(self, candidate: Listed) -> tuple[list[int], int]:
        """Entries that tell of a candidate, in order, and how many there are in all.

        Of one that came up often they are the first ones and the last: entries that score are
        large, and say little new of what was known before.
        """
        found: set[int] = set()
        with self._file.reading() as connection:
            for statement, most in _TOLD_IN.items():
                for ending in ("ASC", "DESC"):
                    whole = f"{statement} ORDER BY entry {ending} LIMIT ?"
                    found.update(_first(connection, whole, candidate.number, most))
            (count,) = connection.execute(
                f"SELECT count(*) FROM ({' UNION '.join(_TOLD_IN)})",
                (candidate.number,) * len(_TOLD_IN),
            ).fetchone()
        return sorted(found), count

    def written_in(self, keys: Sequence[str]) -> dict[str, int]:
        """The entry that holds the text of each candidate, by its key."""
        with self._file.reading() as connection:
            found = {
                key: connection.execute(
                    "SELECT entry FROM content WHERE key = ?", (bytes.fromhex(key),)
                ).fetchone()
                for key in dict.fromkeys(keys)
            }
        return {key: row[0] for key, row in found.items() if row is not None and row[0]}

    def party(self, campaign: str, run: str, step: int, position: int) -> Party | None:
        """The group of a sample; None if there is no such sample.

        Samples without a group are compared with all of their step.
        """
        with self._file.reading() as connection:
            number = _campaign(connection, campaign)
            own = connection.execute(
                "SELECT s.run, s.party FROM sample s JOIN run r ON r.id = s.run "
                "WHERE r.campaign = ? AND r.name = ? AND s.step = ? AND s.position = ?",
                (number, run, step, position),
            ).fetchone()
            if own is None:
                return None
            rows = connection.execute(
                f"SELECT {_LISTED}, s.position, s.reward, s.truth, s.rejected FROM sample s "
                "JOIN candidate c ON c.id = s.candidate JOIN content t ON t.id = c.content "
                "LEFT JOIN run r ON r.id = c.run WHERE s.run = ? AND s.step = ? AND s.party = ? "
                "ORDER BY s.reward IS NULL, s.reward DESC, s.position LIMIT 256",
                (own[0], step, own[1]),
            ).fetchall()
            sign = self._sign(connection, number)
            prompt = connection.execute(
                "SELECT entry FROM prompt WHERE run = ? AND party = ?", own
            ).fetchone()
        members = tuple(
            Member(position, reward, truth, bool(is_rejected), _listed(listed, sign))
            for *listed, position, reward, truth, is_rejected in rows
        )
        return Party(run, step, own[1], members, prompt[0] if prompt else None)

    # -- totals ----------------------------------------------------------------------------------

    def totals(self, campaign: str) -> CandidateTotals:
        """How the distinct candidates of a campaign stand, as far as the index has come."""
        with self._file.reading() as connection:
            row = connection.execute(
                "SELECT id, told FROM campaign WHERE name = ?", (campaign,)
            ).fetchone()
            if row is None:
                return CandidateTotals()
            amounts = connection.execute(
                "SELECT name, place, state, amount FROM total WHERE campaign = ?", (row[0],)
            ).fetchall()
        told = orjson.loads(row[1])
        return CandidateTotals(
            {(name, place, state): amount for name, place, state, amount in amounts},
            {int(tier): unit for tier, unit in told.get("units", {}).items()},
            {int(tier): name for tier, name in told.get("primaries", {}).items()},
        )  # fmt: skip

    def reasons(self, campaign: str) -> list[Reason]:
        """Why candidates were rejected or have no answer, the most frequent first."""
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT standing, boundary, verifier, tier, text, count, seconds, last, examples "
                "FROM reason WHERE campaign = ? ORDER BY count DESC, text",
                (number := _campaign(connection, campaign),),
            ).fetchall()
            return [
                Reason(
                    Standing(standing).label, boundary, verifier, Tier(tier).label, text, count,
                    seconds, last, _examples(connection, number, orjson.loads(examples)),
                )
                for standing, boundary, verifier, tier, text, count, seconds, last, examples
                in rows
            ]  # fmt: skip

    def runs(self, campaign: str) -> list[str]:
        """The runs that have samples, the newest first, and evaluations behind trainings."""
        with self._file.reading() as connection:
            found: list[str] = _first(
                connection,
                "SELECT name FROM run r WHERE campaign = ? "
                "AND EXISTS (SELECT 1 FROM sample s WHERE s.run = r.id) "
                "ORDER BY id DESC LIMIT 200",
                _campaign(connection, campaign),
            )
        return trainings_first(found)

    def curve(self, campaign: str, run: str) -> list[StepPoint]:
        """What the learner was told, step by step, and what audits say of the same samples.

        See `StepSums`; where nothing of a step was judged, nothing is said of it.
        """
        with self._file.reading() as connection:
            number = connection.execute(
                "SELECT id FROM run WHERE campaign = ? AND name = ?",
                (_campaign(connection, campaign), run),
            ).fetchone() or (-1,)
            first, last = (
                connection.execute(
                    f"SELECT {end}(step) FROM step WHERE run = ? AND width = 1", number
                ).fetchone()[0]
                for end in ("min", "max")
            )
            if first is None:
                return []
            kept = max(width for width in WIDTHS if width <= max(1, (last - first) // _POINTS))
            begun = first // kept * kept
            width = -(-(last - begun + 1) // (_POINTS * kept)) * kept
            sums = ", ".join(f"total({name})" for name in StepSums._fields)
            rows = connection.execute(
                f"SELECT min(step), {sums} FROM step "
                "WHERE run = ? AND width = ? GROUP BY (step - ?) / ? ORDER BY 1",
                (*number, kept, begun, width),
            ).fetchall()
        return [_point(max(first, step), StepSums(*its)) for step, *its in rows]

    def _sign(self, connection: sqlite3.Connection, campaign: int) -> float:
        """1 if more of the target is better, -1 if less is."""
        (told,) = connection.execute(
            "SELECT told FROM campaign WHERE id = ?", (campaign,)
        ).fetchone() or ("{}",)
        return float(orjson.loads(told).get("sign", 1.0))


_JUDGED = "SELECT entry FROM judged WHERE content = (SELECT content FROM candidate WHERE id = ?)"
_TOLD_IN = {
    "SELECT entry FROM mention WHERE candidate = ? AND revises = 0": 3,
    "SELECT entry FROM mention WHERE candidate = ? AND revises = 1": 10,
    f"{_JUDGED} AND scores = 0": 10,
    f"{_JUDGED} AND scores = 1": 1,
}
"""Where entries of a candidate are found, and how many of them are read at either end."""
_LISTED = (
    "c.id, t.key, c.task, t.kind, t.label, c.samples, c.reward, c.uncertainty, c.mean, "
    "c.deviation, c.known, c.spread, c.known_tier, c.truth, c.standing, c.reached, c.told, "
    "coalesce(r.name, ''), c.first_step, c.step, c.position"
)


def _campaign(connection: sqlite3.Connection, name: str) -> int:
    """The number of a campaign; that of none where nothing of it is in the index yet."""
    row = connection.execute("SELECT id FROM campaign WHERE name = ?", (name,)).fetchone()
    return -1 if row is None else int(row[0])


def _first(connection: sqlite3.Connection, statement: str, *values: Any) -> list[Any]:
    """The first column of what is asked for."""
    return [row[0] for row in connection.execute(statement, values)]


def _categories(connection: sqlite3.Connection, campaign: int, listing: Listing) -> dict[int, int]:
    """Categories that fit outcome, tier, and what a tier says: how many candidates are of each."""
    rows = connection.execute(
        "SELECT g.id, g.standing, g.reached, g.stands, t.amount FROM category g JOIN total t "
        "ON (t.campaign, t.name, t.place, t.state) = (g.campaign, 'category', g.id, 0) "
        "WHERE g.campaign = ? AND t.amount > 0", (campaign,),
    )  # fmt: skip
    tier, stand = listing.said or (Tier.FAST, None)
    return {
        number: int(amount) for number, standing, reached, stands, amount in rows
        if listing.standing in {None, standing} and listing.reached in {None, reached}
        and stand in {None, said_by(tier, stands)}
    }  # fmt: skip


def _found(
    connection: sqlite3.Connection, campaign: int, listing: Listing, categories: Sequence[int],
    size: int,
) -> list[Any]:  # fmt: skip
    """The first candidates of a list: what is listed of each, and the number it is sorted by."""
    text, like, stride = printable(listing.text, None)[:_MOST_LETTERS], "%", size
    contents = _search(connection, text) if text else None
    if contents is not None and len(contents) > _FOUND:
        contents, like, stride = None, _like(text), max(size, _STRIDE)
    places, rows = _places(connection, campaign, listing, categories, contents), list[Any]()
    while len(rows) < size and (some := [number for _, number in islice(places, stride)]):
        rows += connection.execute(
            f"SELECT {_LISTED}, c.{_SORTINGS[listing.order].name} FROM json_each(?) place "
            "CROSS JOIN candidate c ON c.id = place.value CROSS JOIN content t "
            "ON t.id = c.content LEFT JOIN run r ON r.id = c.run WHERE c.samples > 0 "
            "AND t.label LIKE ? ESCAPE '\\' ORDER BY place.key LIMIT ?",
            (orjson.dumps(some).decode(), like, size - len(rows)),
        ).fetchall()
    return rows


def _places(
    connection: sqlite3.Connection, campaign: int, listing: Listing, categories: Sequence[int],
    contents: Sequence[int] | None,
) -> Iterator[tuple[float, int]]:  # fmt: skip
    """Numbers of candidates, sorted, with the number that they are sorted by.

    All of a category stand alike, so none is looked at in vain: those of each are read from an
    index in the order of the list, as far as they are asked for.
    """
    column, direction, index = _SORTINGS[listing.order]
    beyond, place = "", list[Any]()
    if listing.after:
        beyond = f"AND (c.{column}, c.id) {'<' if direction == 'DESC' else '>'} (?, ?)"
        place += _place(listing.after)
    chosen = f"c.{column} IS NOT NULL {beyond} ORDER BY c.{column} {direction}, c.id {direction}"
    if contents is not None:
        numbers = [orjson.dumps(some).decode() for some in (contents, categories)]
        return connection.execute(
            f"SELECT c.{column}, c.id FROM candidate c INDEXED BY candidate_once "
            "WHERE c.campaign = ? AND c.content IN (SELECT value FROM json_each(?)) "
            f"AND c.category IN (SELECT value FROM json_each(?)) AND {chosen}",
            (campaign, *numbers, *place),
        )
    walks = [
        connection.execute(
            f"SELECT c.{column}, c.id FROM candidate c INDEXED BY {index} "
            f"WHERE c.category = ? AND {chosen}", (number, *place),
        )
        for number in categories
    ]  # fmt: skip
    return merge(*walks, reverse=direction == "DESC")


def _search(connection: sqlite3.Connection, text: str) -> list[int]:
    """Numbers of the contents that hold a text or whose key begins so; only the first of many."""
    if len(text) < FEWEST_LETTERS:
        raise ConfigError(
            f"a search takes at least {FEWEST_LETTERS} characters; {text!r} has less"
        )
    triples = dict.fromkeys(text[at : at + 3].replace('"', '""') for at in range(len(text) - 2))
    found = _first(
        connection,
        "SELECT t.id FROM word w JOIN content t ON t.id = w.rowid WHERE word MATCH ? "
        "AND t.label LIKE ? ESCAPE '\\' LIMIT ?",
        " AND ".join(f'"{triple}"' for triple in triples), _like(text), _FOUND + 1,
    )  # fmt: skip
    digits = text.lower()
    if len(digits) >= _FEWEST_DIGITS and not set(digits) - set("0123456789abcdef"):
        least, most = digits.ljust(64, "0")[:64], digits.ljust(64, "f")[:64]
        found += _first(
            connection, "SELECT id FROM content WHERE key BETWEEN ? AND ? LIMIT ?",
            bytes.fromhex(least), bytes.fromhex(most), _FOUND,
        )  # fmt: skip
    return list(dict.fromkeys(found))


def _like(text: str) -> str:
    for letter in ("\\", "%", "_"):
        text = text.replace(letter, f"\\{letter}")
    return f"%{text[:LABEL]}%"


def _place(after: str) -> tuple[float, int]:
    """Where a page ended."""
    value, _, number = after.partition(",")
    with suppress(ValueError):
        if abs(int(number)) < _MOST_ROWS:
            return float(value), int(number)
    raise ConfigError(f"{after!r:.60} is no place in a list; begin with its first page")


def _listed(row: Sequence[Any], sign: float) -> Listed:
    (
        number, key, task, kind, label, samples, reward, uncertainty, mean, deviation, known,
        spread, known_tier, truth, standing, reached, told, run, first_step, step, position,
    ) = row[:21]  # fmt: skip
    said = orjson.loads(told)
    return Listed(
        number, key.hex(), task.hex(), kind, label, samples, reward, uncertainty, mean, deviation,
        None if known is None else sign * known, spread,
        None if known_tier is None else Tier(known_tier).label,
        None if truth is None else sign * truth, Standing(standing).label,
        None if reached < 0 else Tier(reached).label,
        {
            Tier(tier).label: {"value": value, "uncertainty": deviation}
            for tier, value, deviation in sorted(said.get("scores", ()), key=lambda s: s[0])
        },
        {Tier(tier).label: Stand(stand).name.lower() for tier, stand in said.get("stands", ())},
        run, first_step, step, position,
    )  # fmt: skip


def _examples(
    connection: sqlite3.Connection, campaign: int, contents: Sequence[int]
) -> tuple[tuple[str, str, str], ...]:
    rows = [
        connection.execute(
            "SELECT t.key, c.task, t.label FROM content t JOIN candidate c ON c.content = t.id "
            "AND c.campaign = ? WHERE t.id = ? LIMIT 1", (campaign, number),
        ).fetchone()
        for number in contents
    ]  # fmt: skip
    return tuple((row[0].hex(), row[1].hex(), row[2]) for row in rows if row is not None)


def _point(step: int, sums: StepSums) -> StepPoint:
    return StepPoint(step, int(sums.samples), sums.mean, sums.mean_truth, int(sums.audited))
