"""Open requests: the samples of a campaign that wait for checks, read from rows that can change.

Rows of table `request` are signed by nobody, but what a revision says is. So no row is believed:
it is one that this process has written, to the last bit, or its sample waits for that check by the
ledger's history, or rests on an answer to it that was superseded since; and what a reward rests on
is taken from there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, Final

import orjson

from verifier_ladder.candidate import Candidate, sample_place
from verifier_ladder.errors import LedgerError
from verifier_ladder.keys import content_key, raw_key, task_digest
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Request
from verifier_ladder.ledger.values import dumps
from verifier_ladder.scheduler.audits import stratum_of
from verifier_ladder.scheduler.candidates import candidate_of, turns_digest
from verifier_ladder.scheduler.comparison import Comparison, comparing
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.intake import Intake
from verifier_ladder.scheduler.samplehistory import RecordedSample, retold, samples_of_step
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.survey import Survey
from verifier_ladder.scheduler.watch import SampleKey
from verifier_ladder.text import printable

_LOG = logging.getLogger("verifier_ladder")
SUPERSEDED: Final = "superseded"
"""Part of a request: its sample had its reward already, by an answer that was superseded."""


class ForgedRequestError(LedgerError):
    """A row names a sample that does not wait for its check."""


class _UnshownError(ForgedRequestError):
    """The ledger does not show why a sample waits; where others write, it may show that soon.

    Entries of others are shown only once no earlier one can come, rows beside them at once.
    """


class OpenRequests:
    """Reads the requests of one campaign. Used under the desk's lock."""

    def __init__(self, campaign: str, ladder: Ladder, ledger: Ledger, intake: Intake) -> None:
        """Know of none yet: those of an earlier process are compared with the history."""
        self._campaign, self._ladder = campaign, ladder
        self._ledger, self._intake = ledger, intake
        self._written: dict[tuple[Any, ...], bytes] = {}
        """Digests of the rows that this process has written, by check and sample."""
        self._recorded: dict[SampleKey, RecordedSample] = {}
        """Samples that may wait, as they were read from the history and still are."""
        self._reads_raw = any(verifier.reads == "raw" for verifier in ladder.verifiers)

    def note(self, requests: Iterable[Request]) -> None:
        """Hear of requests that are about to be written."""
        for request in requests:
            self._written[_name(request)] = _digest(request)

    def forget(self, answered: Iterable[Request]) -> None:
        """Hear of requests that were answered."""
        for request in answered:
            self._written.pop(_name(request), None)

    def reread(self, samples: Iterable[SampleKey]) -> None:
        """Read samples anew when they are needed: an entry tells something new of them."""
        if self._recorded:
            for sample in samples:
                self._recorded.pop(sample, None)

    def read(
        self, *, check_keys: Sequence[bytes] | None = None, final: bool | None = None
    ) -> list[Request]:
        """Read requests; those that can't be true are left out, each with a warning.

        Args:
            check_keys: Those for these checks only.
            final: Those whose check has ended, or has not.
        """
        rows = self._ledger.requests(campaign=self._campaign, check_keys=check_keys, final=final)
        return list(self._true(rows))

    def _true(self, rows: Sequence[Request]) -> Iterator[Request]:
        strange = [self._written.get(_name(row)) != _digest(row) for row in rows]
        self._recall([row for row, is_strange in zip(rows, strange, strict=True) if is_strange])
        superseded = cache(self._superseded)
        for row, is_strange in zip(rows, strange, strict=True):
            if not is_strange:
                yield row
                continue
            try:
                yield self._as_recorded(row, superseded)
            except ForgedRequestError as error:
                may_follow = self._ledger.is_shared and isinstance(error, _UnshownError)
                _LOG.log(
                    logging.DEBUG if may_follow else logging.WARNING,
                    "campaign %s: a row of table request is left out: %s. No program writes such "
                    "a row; find out who else can write to the ledger",
                    self._campaign, printable(f"{sample_place(*row[2:5])} {error}"),
                )  # fmt: skip

    def _as_recorded(self, row: Request, superseded: Callable[[bytes, bytes], int]) -> Request:
        """The request as it follows from the history.

        Args:
            row: What the table holds.
            superseded: See `_superseded`; the samples of a check ask once.

        Raises:
            ForgedRequestError: If its sample does not wait for its check.
        """
        sample = self._recorded.get(row[2:5])
        if sample is None:
            raise ForgedRequestError("does not wait for anything")
        candidate, given = self._candidate(row, sample)
        standing = self._intake.recall(candidate, row.content_key, given)
        try:
            if sample.party is not None and (compared := comparing(self._ladder)) is not None:
                place, by = compared
                standing = Comparison.from_json(by, place, sample.party).member(standing)
            verifier, _ = self._ladder.askings[standing.place_of(row.check_key)]
        except ValueError:
            raise ForgedRequestError("has no such check") from None
        is_revised = not sample.awaits(row.check_key, int(verifier.tier))
        if is_revised and row.check_key not in sample.checks:
            raise ForgedRequestError("does not wait for this check")
        if is_revised and superseded(row.check_key, row.content_key) <= sample.entry:
            raise _UnshownError("does not wait for this check")
        told = retold({
            "candidate": row.state["candidate"], "given": given, "group": sample.group,
            "learner_version": sample.learner_version, "weight": sample.weight,
            "draw": self._drawn(sample, candidate), "size": sample.size, "left": sample.share_left,
            "lot": sample.lot, "spoken": sample.spoken, **_party(sample),
            **({SUPERSEDED: True} if is_revised else {}),
        }, sample.reward)  # fmt: skip
        return row._replace(state={**told, **_hints(row.state)})

    def _candidate(self, row: Request, sample: RecordedSample) -> tuple[Candidate, str | None]:
        """The sample's candidate, and one spelling of it, if a verifier may read that.

        Raises:
            ForgedRequestError: If the row holds another one.
        """
        try:
            candidate, given = candidate_of(row.state["candidate"]), row.state.get("given")
            key = content_key(candidate.kind, candidate.content)
            subject = key, task_digest(candidate.task or {}), turns_digest(candidate.turns)
            raw = None if given is None else raw_key(candidate.kind, given)
        except Exception as error:  # noqa: BLE001 - anybody can have written anything there
            raise ForgedRequestError(f"can't be read: {error!r:.100}") from None
        if subject != sample.subject or row.content_key != key:
            raise ForgedRequestError("has another candidate, task or trajectory")
        if raw is None or not self._reads_raw:
            return candidate, None
        known = self._ledger.aliases(self._ladder.canonicaliser.digest, [raw]).get(raw)
        if known is None or known.content_key != key:
            raise ForgedRequestError("was never spelled like this")
        return candidate, given

    def _drawn(self, sample: RecordedSample, candidate: Candidate) -> Draw | None:
        """The draw of a sample, with what its candidate was known to be before it."""
        if sample.draw is None or sample.draw.is_certain:
            return sample.draw
        standing = self._intake.recall(candidate, sample.subject[0], None)
        before = Standing(candidate, sample.subject[0], candidate.content)
        for key, verdict in self._ledger.verdicts(sample.before).items():
            if key in standing.keys:
                before.hear(*self._ladder.askings[standing.keys.index(key)], verdict)
        return sample.draw._replace(stratum=stratum_of(Survey(self._ladder, before)))

    def _recall(self, rows: Sequence[Request]) -> None:
        """Read the samples of some rows from the history, those of a step at once."""
        wanted: dict[tuple[str, int], set[int]] = {}
        for row in rows:
            if row[2:5] not in self._recorded:
                wanted.setdefault((row.run, row.step), set()).add(row.position)
        for (run, step), positions in wanted.items():
            found = self._samples(run, step, positions)
            self._recorded.update({
                (run, step, position): told for position, told in found.items()
                if told.is_open or position in positions
            })  # fmt: skip

    def _samples(
        self, run: str, step: int, positions: Collection[int]
    ) -> dict[int, RecordedSample]:
        """What the entries of these samples say, and others as they are cancelled."""
        return samples_of_step(
            self._ledger, self._campaign, run, step, positions, hear_others=True
        )

    def _superseded(self, check_key: bytes, content_key: bytes) -> int:
        """The latest entry that puts an answer to a check in the place of another; 0 for none.

        The first answer is one, too, but no reward of an earlier entry rests on that.
        """
        for number in reversed(self._ledger.mentions(content_key)):
            entry = self._ledger.entry(number)
            if entry is not None and entry.kind == "review":
                told = self._ledger.read(entry).verdicts
                if any(row.check_key == check_key for row in told):
                    return number
        return 0


def _party(sample: RecordedSample) -> dict[str, Any]:
    """What a request tells of the group that its sample waits for."""
    if sample.party is None:
        return {}
    return {"party": sample.party, "partial": sample.is_partial}


def _name(request: Request) -> tuple[Any, ...]:
    return (request.check_key, *request[2:5])


def _digest(request: Request) -> bytes:
    """Digest of what a row says."""
    try:
        text = orjson.dumps(request.state, default=_listed)
    except TypeError:  # What JSON has no word for, such as bytes in a task.
        text = dumps(dict(request.state))
    return blake2b(request.content_key + text, digest_size=16).digest()


def _listed(value: object) -> list[Any]:
    """A draw as JSON."""
    if isinstance(value, tuple):
        return list(value)
    raise TypeError


def _hints(state: Mapping[str, Any]) -> dict[str, Any]:
    """What no reward rests on: until when somebody waits, the trace, what a check may take."""
    until, trace, expected = (state.get(name) for name in ("until", "trace", "expected"))
    found: dict[str, Any] = {}
    if isinstance(until, float):
        found["until"] = until
    if isinstance(trace, str):
        found["trace"] = trace
    if isinstance(expected, dict) and all(map(_is_cost, expected.values())):
        found["expected"] = expected
    return found


def _is_cost(amounts: object) -> bool:
    return (
        isinstance(amounts, (list, tuple))
        and len(amounts) == 4  # noqa: PLR2004 - seconds, seconds of a GPU, money, minutes
        and all(isinstance(amount, float) and 0.0 <= amount < 1e10 for amount in amounts)  # noqa: PLR2004
    )
