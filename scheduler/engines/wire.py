"""Wire: how answers cross from a worker to its lane as plain data, never as a user's objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import inf, isfinite
from typing import Annotated, Any, Literal

import orjson
from msgspec import Meta
from msgspec.msgpack import Decoder
from msgspec.msgpack import Encoder as Packer

from verifier_ladder.artifact import MOST as MOST_ARTIFACTS
from verifier_ladder.artifact import artifacts_of, checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.containment import ends_program, text_of
from verifier_ladder.cost import Amounts, Cost
from verifier_ladder.errors import AnswerError, EngineError, LadderError
from verifier_ladder.hidden import without_hidden
from verifier_ladder.verdict import (
    MOST_SCORES,
    NO_EVIDENCE,
    Outcome,
    TurnVerdict,
    Verdict,
    plain_verdict,
)
from verifier_ladder.verifiers import Verifier, as_verdict, failure

LARGEST_TEXT = 64 * 1024
"""Characters of a reason or a feedback, bytes of evidence; the rest is cut."""
LARGEST = 1 << 27
"""Bytes that the answers to one request may take; what says more was made up."""
MOST_CARRIED = LARGEST // 2
"""Bytes of artifacts in the answers to one request; of more, the digests come."""
_MOST_TURNS = 10_000
_MOST_WRITTEN = 8 * LARGEST_TEXT
"""Bytes of evidence as JSON, which may be longer than it was estimated."""
_MOST_FIELDS = 1000
_SHORTEST = 100
"""Bytes of a field's name, and of the marks around it."""
_DEEPEST = 64
"""Tables and lists of evidence that may stand one in the other: whatever writes it goes deeper."""
_EXACT = 2**53
_ACCEPT = Outcome.ACCEPT
_NOTHING = Cost()
_JSON = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
_CUT = " … [cut]"
_BYTES, _TEXT = b"b", b"t"
"""Marks of canonical forms."""

# What may cross, and nothing else does: it is read by these types, which go no deeper. No limit
# may stand beside a tuple in a union: msgspec then reads the tuple's length in a wrong place.
Text = Annotated[str, Meta(max_length=LARGEST_TEXT + len(_CUT))]
"""A text that was cut to size."""
_Number = float | None
_Turn = tuple[int, _Number, Text, tuple[int, int] | None]
_Turns = Annotated[list[_Turn], Meta(max_length=_MOST_TURNS)]
_Written = Annotated[bytes, Meta(max_length=_MOST_WRITTEN)]
_Artifact = tuple[Text, Text, int, Text, Text, bytes | None]
_Artifacts = Annotated[list[_Artifact], Meta(max_length=MOST_ARTIFACTS)]
_Scores = Annotated[list[tuple[Text, float]], Meta(max_length=MOST_SCORES)]
Fields = tuple[
    Text,
    _Number,
    _Number,
    Text,
    Text,
    Text,
    Text | None,
    _Turns,
    _Written,
    Amounts | None,
    _Scores,
    _Artifacts,
]
"""A verdict as plain data."""
Item = float | bool | Fields
"""An answer on its way: a number, a truth value, or a verdict's fields."""
FormItem = bytes | Fields
"""A canonical form on its way, or the fields of a verdict where there is none."""

pack = Packer().encode
"""Writes plain data."""


@cache
def reader(kind: Any) -> Callable[[bytes], Any]:
    """What reads data of one type, and refuses everything else with an `EngineError`.

    Example:
        >>> reader(float)(pack(1.5))
        1.5
    """
    decode = Decoder(kind).decode

    def read(message: bytes) -> Any:
        try:
            return decode(message)
        except Exception as error:  # noqa: BLE001 - whatever has been made of it
            raise EngineError(f"a worker's answer can't be read: {error!s:.200}") from None

    return read


read_reply = reader(tuple[Literal["ok", "need", "import", "refuse", "gpu"], bytes, float])
"""Reads what kind of reply it is, what it says, and the cpu-seconds that it took."""
read_fields = reader(Fields)
"""Reads a verdict."""
read_missing = reader(tuple[Text, Text])
"""Reads which module is missing, and why."""
read_lost = reader(tuple[Text])
"""Reads why a worker can't use its GPU any more."""


def read_rest(kind: Any, said: bytes, asked: int) -> tuple[list[Any], list[float] | None]:
    """Read answers of a type, and what each took; about as many as were asked for, at most."""
    return _rest_reader(kind, asked.bit_length())(said)  # type: ignore[no-any-return]


@cache
def _rest_reader(kind: Any, bits: int) -> Callable[[bytes], Any]:
    """There are few of them, because making one takes longer than reading with it."""
    most = Meta(max_length=1 << bits)
    return reader(tuple[Annotated[list[kind], most], Annotated[list[float], most] | None])


def form_item(form: str | bytes) -> bytes:
    """A canonical form for its way: a mark, and its bytes. Text may hold lone surrogates."""
    if isinstance(form, bytes):
        return _BYTES + form
    return _TEXT + form.encode("utf-8", "surrogatepass")


def form_of(item: bytes) -> str | bytes:
    """The canonical form that came."""
    form = item[1:]
    return form if item.startswith(_BYTES) else form.decode("utf-8", "surrogatepass")


def flatten(verdict: Verdict) -> Fields:
    """Take a verdict apart into exact built-in types, cut to size."""
    cost = verdict.cost
    if not isinstance(cost, Cost | None):
        raise AnswerError(f"a verdict's cost must be a vl.Cost, not {_kind(cost)}")
    return (
        str.__str__(Outcome(verdict.outcome).value),
        _number(verdict.score), _number(verdict.uncertainty),
        text(verdict.unit, 100), text(verdict.reason), text(verdict.feedback),
        None if verdict.failed_at is None else text(verdict.failed_at, 100),
        _turns(verdict.turns),
        _evidence(verdict.evidence),
        None if cost is None else (
            float(cost.seconds), float(cost.gpu_seconds), float(cost.money),
            float(cost.person_minutes),
        ),
        _scores(verdict.scores),
        [
            (name, one.digest, one.size, one.type, one.note, one.data)
            for name, one in artifacts_of(verdict.artifacts).items()
        ] if verdict.artifacts else [],
    )  # fmt: skip


def _kind(value: object) -> str:
    return type(value).__name__


def _turns(turns: Any) -> list[tuple[int, float | None, str, tuple[int, int] | None]]:
    if not isinstance(turns, (tuple, list)) or not all(isinstance(t, TurnVerdict) for t in turns):
        raise AnswerError("a verdict's turns must be vl.TurnVerdict in a tuple")
    found = [
        (int(turn.turn), _number(turn.score), text(turn.feedback, 4096), _place(turn.span))
        for turn in turns[:_MOST_TURNS]
    ]
    if not all(0 <= turn < _EXACT and (span or (0, 0))[1] < _EXACT for turn, _, _, span in found):
        raise AnswerError("a turn's index and span must be from 0 to 2**53")
    return found


def _place(span: Any) -> tuple[int, int] | None:
    if span is None:
        return None
    begin, end = map(int, span)
    return begin, end


def _scores(scores: Any) -> list[tuple[str, float]]:
    if not isinstance(scores, Mapping) or len(scores) > MOST_SCORES:
        raise AnswerError(f"a verdict's scores must be up to {MOST_SCORES} numbers by name")
    return [(text(name, 100), float(_number(score) or 0.0)) for name, score in scores.items()]


def _number(value: Any) -> float | None:
    if value is None:
        return None
    number = float(value)
    if not isfinite(number):
        raise AnswerError(f"a verdict's numbers must be finite, not {number!r}")
    return number


def text(value: Any, most: int = LARGEST_TEXT) -> str:
    """Exact `str`, cut to size, without lone surrogates, which no ledger can store."""
    if not isinstance(value, str):
        raise AnswerError(f"a verdict's texts must be text, not {type(value).__name__}")
    cut = str.__getitem__(value, slice(most))
    tail = _CUT if str.__len__(value) > most else ""
    return str.encode(cut, "utf-8", "replace").decode() + tail


def _evidence(evidence: Any) -> bytes:
    if not isinstance(evidence, Mapping):
        raise AnswerError(f"a verdict's evidence must be values by name, not {_kind(evidence)}")
    if not evidence:
        return b""
    try:
        written = None
        if _weight(evidence, LARGEST_TEXT) <= LARGEST_TEXT:  # measured first: writing takes memory
            written = orjson.dumps(dict(evidence), option=_JSON)
    except (TypeError, ValueError, RecursionError):
        pass
    if written is None or len(written) > _MOST_WRITTEN:
        return orjson.dumps(_fitting(evidence), option=_JSON)
    return written


def _fitting(evidence: Mapping[Any, Any]) -> dict[Any, Any]:
    """What of evidence fits, field by field: each has its share, and small ones leave theirs.

    A text is cut to its share; another value that is larger, or is no JSON, is left out. The field
    `dropped` says of which fields that is so.
    """
    items = list(evidence.items())
    weighed = sorted((_weight_of(*item), place) for place, item in enumerate(items))[:_MOST_FIELDS]
    left, kept, lost = LARGEST_TEXT, dict[int, Any](), dict[int, str]()
    for count, (weight, place) in zip(range(len(weighed), 0, -1), weighed, strict=True):
        name, value = items[place]
        share = left // count
        kept[place], why = _within(name, value, weight, share)
        if why:
            lost[place] = f"{name!s:.40} {why}"
        if why and not isinstance(value, str):
            del kept[place]
        else:
            left -= min(weight, share)
    more = len(items) - len(weighed)
    told = [*(lost[place] for place in sorted(lost)), *([f"{more} fields more"] if more else [])]
    fitting = {items[place][0]: kept[place] for place in sorted(kept)}
    return {**fitting, "dropped": text("; ".join(told), 500)}


def _within(name: Any, value: Any, weight: int, share: int) -> tuple[Any, str]:
    """A field's value as far as it fits, and why not all of it does."""
    if isinstance(value, str) and weight > share:
        return text(value, max(0, share - _SHORTEST)), "was cut"
    try:
        written = orjson.dumps({name: value}, option=_JSON) if weight <= LARGEST_TEXT else b""
    except (TypeError, ValueError, RecursionError) as error:
        return None, f"was not JSON: {error!s:.200}"
    if weight > share or len(written) > 8 * share:
        return None, "was too large, or too deep"
    return value, ""


def _weight_of(name: Any, value: Any) -> int:
    """About how many bytes a field takes; more than there are for one that goes too deep."""
    try:
        return _weight({name: value}, LARGEST_TEXT)
    except (TypeError, ValueError, RecursionError):
        return LARGEST_TEXT + 1


def _weight(value: Any, most: float, deepest: int = _DEEPEST) -> int:
    """About how many bytes a value takes as JSON; stops counting above `most`.

    Raises:
        ValueError: If too much stands one in the other.
    """
    if isinstance(value, (str, bytes)):
        return len(value) + 2
    if isinstance(value, Mapping):
        parts: Iterable[Any] = (part for pair in value.items() for part in pair)
    elif isinstance(value, (list, tuple)):
        parts = value
    else:
        return 8 * int(getattr(value, "size", 1))  # an array counts its elements
    if not deepest:
        raise ValueError(f"more than {_DEEPEST} tables and lists stand one in the other")
    total = 2
    for part in parts:
        total += _weight(part, most - total, deepest - 1) + 1
        if total > most:
            break
    return total


def _read_evidence(written: bytes) -> Any:
    evidence = orjson.loads(written) if written else {}
    if written.count(b"[") + written.count(b"{") > _DEEPEST:
        _weight(evidence, inf)  # refuses what goes too deep
    return evidence


def rebuild(fields: Fields, seconds: float, declared: Cost = _NOTHING) -> Verdict:
    """Put a verdict together again; it costs what was measured, unless it says so itself.

    What can't be measured, such as money, is what the verifier declared.

    Fields that contradict each other, as those of a verdict that was changed after it was made,
    become an abstention of the verifier.
    """
    measured = replace(declared, seconds=seconds)
    try:
        return _rebuilt(fields, measured)
    except (LadderError, TypeError, ValueError) as error:
        return replace(failure(AnswerError(f"{error}")), cost=measured)


def _rebuilt(fields: Fields, measured: Cost | None) -> Verdict:
    (
        outcome, score, uncertainty, unit, reason, feedback, failed_at, turns, evidence, cost,
        scores, artifacts,
    ) = fields  # fmt: skip
    return Verdict(
        Outcome(outcome), score, uncertainty, unit, reason, feedback, failed_at,
        tuple(TurnVerdict(*turn) for turn in turns),
        _read_evidence(evidence),
        measured if cost is None else _stated(Cost(*cost), measured),
        dict(scores) if scores else NO_EVIDENCE,
        {one[0]: checked(*one[1:]) for one in artifacts} if artifacts else NO_EVIDENCE,
    )  # fmt: skip


def _stated(cost: Cost, measured: Cost | None) -> Cost:
    """What a verdict says that it took; cpu time that it does not tell is what was measured."""
    return cost if cost.seconds or measured is None else replace(cost, seconds=measured.seconds)


def plain(verdict: Verdict) -> Verdict:
    """The verdict as it would come from a worker: of plain data, cut to size.

    Raises:
        AnswerError: If it cannot be read.

    Example:
        >>> plain(Verdict.accept(1.0, evidence={"step": (1, object())})).evidence["dropped"]
        'step was not JSON: Type is not JSON serializable: object'
    """
    fields = _flat(verdict)
    try:
        return _rebuilt(fields, None)
    except (LadderError, TypeError, ValueError) as error:
        raise AnswerError(f"{error}") from error


def told(verifier: Verifier, candidate: Candidate, value: object) -> Verdict:
    """The verdict, of plain data, that an answer from outside amounts to.

    Raises:
        VerifierError: If it can't be an answer of this verifier. Whatever else the verifier's own
            `answered` raises comes through.
    """
    said = plain(as_verdict(verifier.answered(candidate, value), unit=verifier.unit))
    return without_hidden(verifier, candidate, said)


def _flat(verdict: Verdict) -> Fields:
    """Take a verdict apart that anybody may have made, or changed after it was made."""
    try:
        return flatten(verdict)
    except AnswerError:
        raise
    except BaseException as error:
        if ends_program(error):
            raise
        raise AnswerError(f"a verdict that can't be read: {text_of(error)}") from error


class Encoder:
    """Writes what a verifier answered: plain numbers stay, all else becomes fields.

    An answer that is no verdict becomes an abstention of its own candidate. An object that
    answers many candidates becomes one object.
    """

    def __init__(self, verifier: Verifier) -> None:
        """Write for one verifier."""
        self._verifier = verifier
        is_plain = type(verifier).verdict_of is Verifier.verdict_of
        self.item: Callable[[Any], Item] = self._item if is_plain else self._verdict
        """Writes one answer."""
        self._room = MOST_CARRIED
        self._known: dict[int, tuple[Any, Fields]] = {}
        """Fields by the id of their answer, which is kept, so that no other gets its id."""

    def _item(self, answer: Any) -> Item:
        kind = type(answer)
        if (kind is float and answer - answer == 0.0) or kind is bool:
            return answer  # type: ignore[no-any-return]
        if kind is int and -_EXACT < answer < _EXACT:
            return float(answer)
        return self._verdict(answer)

    def _verdict(self, answer: Any) -> Fields:
        known = self._known.get(id(answer))
        if known is None:
            known = self._known[id(answer)] = (answer, self._fields(answer))
        return known[1]

    def _fields(self, answer: Any) -> Fields:
        try:
            return self._carried(_flat(self._verifier.verdict_of(answer)))
        except Exception as error:  # noqa: BLE001 - a hostile answer may raise anything
            return flatten(failure(error))

    def _carried(self, fields: Fields) -> Fields:
        """The fields, without the bytes of artifacts for which there is no room."""
        kept: list[_Artifact] = []
        for name, digest, size, kind, note, data in fields[-1]:
            if data is not None and len(data) > self._room:
                kept.append((name, digest, size, kind, "more than one answer may hold", None))
                continue
            self._room -= len(data or b"")
            kept.append((name, digest, size, kind, note, data))
        return (*fields[:-1], kept)


def decode(
    answers: Sequence[Any],
    unit: str,
    seconds: Sequence[float] | float,
    declared: Sequence[Cost] | Cost = _NOTHING,
) -> list[Verdict]:
    """Read what an `Encoder` wrote.

    Args:
        answers: Numbers, truth values and fields.
        unit: The verifier's unit, for plain numbers.
        seconds: Cpu-seconds of each candidate, or one number for all.
        declared: What a check takes of other resources, where a verdict does not say: of each
            candidate, or the same for all.
    """
    same: Cost | None = None
    costs: Sequence[Cost]
    if isinstance(seconds, float) and isinstance(declared, Cost):
        same, costs = replace(declared, seconds=seconds), ()
    else:
        took = [seconds] * len(answers) if isinstance(seconds, float) else seconds
        others = [declared] * len(answers) if isinstance(declared, Cost) else declared
        costs = list(map(_measured, others, took))
    known: dict[bool, Verdict] = {}
    rebuilt: dict[int, Verdict] = {}  # By the id of fields, which are alive with the answers.
    verdicts = []
    for place, answer in enumerate(answers):
        cost = same or costs[place]
        if type(answer) is float and isfinite(answer):
            verdict = plain_verdict(_ACCEPT, answer, None, unit, cost)
        elif type(answer) is bool:
            found = known.get(answer) if same else None
            verdict = found or known.setdefault(answer, _truth(answer, unit, cost))
            if not same:
                known.clear()
        else:
            again = rebuilt.get(id(answer)) if same else None
            verdict = again or rebuilt.setdefault(id(answer), rebuild(answer, cost.seconds, cost))
            if not same:
                rebuilt.clear()
        verdicts.append(verdict)
    return verdicts


def _measured(declared: Cost, seconds: float) -> Cost:
    return replace(declared, seconds=seconds)


def _truth(answer: bool, unit: str, cost: Cost) -> Verdict:  # noqa: FBT001 - it is the answer
    said = as_verdict(answer, unit=unit)
    return Verdict(said.outcome, said.score, None, unit, said.reason, cost=cost)
