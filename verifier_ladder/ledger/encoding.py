"""Encoding: a block of records as the bytes that an entry stores, and back.

The body is JSON: one object per section, one column per field (see `columns`). Fields whose
every value is the usual one are left out. Numbers keep every bit; text keeps every character.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

import orjson

from verifier_ladder.errors import ConfigError, LedgerError, VerifierError
from verifier_ladder.ledger.columns import (
    KeyColumns,
    is_constant,
    pack_column,
    pack_counting,
    pack_shared,
    unpack_column,
)
from verifier_ladder.ledger.records import (
    Block,
    CandidateRow,
    DecisionColumns,
    SampleColumns,
    VerdictRow,
)
from verifier_ladder.ledger.table import columns_of
from verifier_ladder.ledger.values import pack, unpack
from verifier_ladder.ledger.verdicts import (
    VERDICT_DEFAULTS,
    VERDICT_FIELDS,
    pack_field,
    pack_verdict,
    unpack_field,
    unpack_verdict,
)
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

FORMAT = 1
_DAMAGE = (
    KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, VerifierError,
    ConfigError,
)  # fmt: skip
_ROW_FIELDS = ("check_key", "content_key", "verifier", "version", "tier", "verdict", "attempt")
_KEYS = {"raw_key", "content_key", "canonicaliser", "check_key"}
_OPTIONAL = ("groups", "group_sizes", "learner_versions", "weights", "tasks")
_DECISION = ("sample", "action", "tier", "reason", "mean", "deviation", "propensity", "benefit")
_DRAWN = ("draw", "limit", "factor")
_TIERS: dict[int | None, Tier | None] = {None: None, **{int(tier): tier for tier in Tier}}
_VERDICT_PARTS: dict[str, Callable[[Any], Any]] = {
    name: attrgetter(name) for name in VERDICT_FIELDS
}


def leaf(body: bytes) -> bytes:
    """Hash of an entry's exact bytes, as a leaf of a Merkle tree (RFC 6962)."""
    return hashlib.sha256(b"\0" + body).digest()


def encode(
    block: Block, recorded_at: float, verdicts: dict[str, Sequence[Any]] | None = None
) -> bytes:
    """Write a block as the body of an entry.

    Args:
        block: The records.
        recorded_at: Seconds since 1970; stored, so that the hash covers it.
        verdicts: `verdict_columns` of the block's verdicts, if they are made already.

    Raises:
        LedgerError: If columns that belong together differ in length.
    """
    keys = KeyColumns()
    body: dict[str, Any] = {
        "format": FORMAT, "kind": block.kind, "campaign": pack(block.campaign),
        "recorded_at": recorded_at,
    }  # fmt: skip
    if block.candidates:
        body["candidates"] = _pack_candidates(block.candidates, keys)
    if block.verdicts:
        body["verdicts"] = _pack_verdicts(verdicts or verdict_columns(block.verdicts), keys)
    if block.samples is not None:
        body["samples"] = _pack_samples(block.samples, keys)
    if block.decisions:
        body["decisions"] = [_pack_decisions(columns) for columns in block.decisions]
    if block.rewards:
        body["rewards"] = _pack_rewards(block.rewards)
    if block.facts:
        body["facts"] = pack(block.facts)
    return orjson.dumps(body)


def decode(body: bytes) -> Block:
    """Read the body of an entry.

    Raises:
        LedgerError: If the body is damaged, or of a format this version does not know.
    """
    try:
        data = orjson.loads(body)
        form = data["format"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise LedgerError(f"an entry of the ledger is damaged: {error}") from error
    if form != FORMAT:
        raise LedgerError(
            f"an entry has format {form}; this version reads format {FORMAT}: "
            "upgrade verifier-ladder"
        )
    try:
        return _block(data)
    except _DAMAGE as error:
        raise LedgerError(f"an entry of the ledger is damaged: {error!r}") from error


def _block(data: dict[str, Any]) -> Block:
    keys = KeyColumns()
    block = Block(data["kind"], unpack(data["campaign"]))
    if "candidates" in data:
        block.candidates = _unpack_candidates(data["candidates"], keys)
    if "verdicts" in data:
        block.verdicts = _unpack_verdicts(data["verdicts"], keys)
    if "samples" in data:
        block.samples = _unpack_samples(data["samples"], keys)
    if "decisions" in data:
        block.decisions = [_unpack_decisions(columns) for columns in data["decisions"]]
    if "rewards" in data:
        block.rewards = _unpack_rewards(data["rewards"])
    if "facts" in data:
        block.facts = unpack(data["facts"])
    return block


# -- candidates ----------------------------------------------------------------------------------


def _pack_candidates(rows: Sequence[CandidateRow], keys: KeyColumns) -> dict[str, Any]:
    section: dict[str, Any] = {"count": len(rows)}
    for name, values in zip(CandidateRow._fields, columns_of(rows), strict=True):
        if name in _KEYS:
            section[name] = keys.pack(f"candidates.{name}", values)
        elif name == "verdict":
            if any(verdict is not None for verdict in values):
                section[name] = [None if v is None else pack_verdict(v) for v in values]
        elif name != "canonical" or values.count(None) < len(values):
            section[name] = pack_column(values)
    return section


def _unpack_candidates(section: dict[str, Any], keys: KeyColumns) -> list[CandidateRow]:
    count = section["count"]
    columns: list[Sequence[Any]] = []
    for name in CandidateRow._fields:
        column = section.get(name, {"all": None})
        if name in _KEYS:
            columns.append(keys.unpack(f"candidates.{name}", column, count))
        elif name == "verdict" and isinstance(column, list):
            columns.append([None if v is None else unpack_verdict(v) for v in column])
        else:
            columns.append(unpack_column(column, count))
    return list(map(CandidateRow._make, zip(*columns, strict=True)))


# -- verdicts ------------------------------------------------------------------------------------


def verdict_columns(rows: Sequence[VerdictRow]) -> dict[str, Sequence[Any]]:
    """Turn rows into columns, the fields of their verdicts among them."""
    columns = dict(zip(_ROW_FIELDS, columns_of(rows), strict=True))
    verdicts = columns.pop("verdict")
    return columns | {name: list(map(read, verdicts)) for name, read in _VERDICT_PARTS.items()}


def _pack_verdicts(columns: dict[str, Sequence[Any]], keys: KeyColumns) -> dict[str, Any]:
    section: dict[str, Any] = {"count": len(columns["check_key"])}
    for name, values in columns.items():
        if name in _KEYS:
            section[name] = keys.pack(f"verdicts.{name}", values)
        elif name in VERDICT_DEFAULTS:
            _pack_field_column(section, name, values)
        elif name != "attempt" or values.count(1) < len(values):
            section[name] = pack_column(values)
    return section


def _pack_field_column(section: dict[str, Any], name: str, values: Sequence[Any]) -> None:
    usual = VERDICT_DEFAULTS[name]
    if name in {"score", "uncertainty"}:
        if values.count(None) < len(values):
            section[name] = pack_column(values)
    elif values.count(usual) == len(values):
        return
    elif name in {"outcome", "cost", "turns"}:
        if is_constant(values):
            section[name] = {"all": pack_field(name, values[0])}
        else:
            section[name] = pack_shared(values, partial(pack_field, name))
    else:
        section[name] = pack_column(values)


def _unpack_verdicts(section: dict[str, Any], keys: KeyColumns) -> list[VerdictRow]:
    count = section["count"]
    fields = [_unpack_field_column(section, name, count) for name in VERDICT_DEFAULTS]
    verdicts = [Verdict(*parts) for parts in zip(*fields, strict=True)]
    columns: list[Sequence[Any]] = []
    for name in _ROW_FIELDS:
        if name == "verdict":
            columns.append(verdicts)
        elif name in _KEYS:
            columns.append(keys.unpack(f"verdicts.{name}", section[name], count))
        else:
            columns.append(unpack_column(section.get(name, {"all": 1}), count))
    return list(map(VerdictRow._make, zip(*columns, strict=True)))


def _unpack_field_column(section: dict[str, Any], name: str, count: int) -> list[Any]:
    if name not in section:
        return [VERDICT_DEFAULTS[name]] * count
    column = section[name]
    if name in {"outcome", "cost", "turns"}:
        if isinstance(column, dict):
            return [unpack_field(name, column["all"])] * count
        return [unpack_field(name, value) for value in column]
    return unpack_column(column, count)


# -- samples, decisions, rewards ---------------------------------------------------------------


def _pack_samples(samples: SampleColumns, keys: KeyColumns) -> dict[str, Any]:
    count = len(samples.positions)
    flat = [key for checks in samples.checks for key in checks]
    widths = [len(checks) for checks in samples.checks]
    section: dict[str, Any] = {
        "count": count, "run": pack(samples.run), "step": pack(samples.step),
        "positions": pack_counting(samples.positions),
        "contents": keys.pack("samples.contents", samples.contents),
        "widths": pack_column(widths), "checks": keys.pack("samples.checks", flat),
    }  # fmt: skip
    lengths = {count, len(samples.contents), len(widths)}
    for name in _OPTIONAL:
        values = getattr(samples, name)
        if values is not None:
            lengths.add(len(values))
            section[name] = pack_column(values)
    if len(lengths) > 1:
        raise LedgerError(f"the columns of the samples differ in length: {sorted(lengths)}")
    return section


def _unpack_samples(section: dict[str, Any], keys: KeyColumns) -> SampleColumns:
    count = section["count"]
    contents = keys.unpack("samples.contents", section["contents"], count)
    widths = unpack_column(section["widths"], count)
    flat = iter(keys.unpack("samples.checks", section["checks"], sum(widths)))
    samples = SampleColumns(
        unpack(section["run"]), unpack(section["step"]),
        unpack_column(section["positions"], count), contents,
        [tuple(next(flat) for _ in range(width)) for width in widths],
    )  # fmt: skip
    for name in _OPTIONAL:
        if name in section:
            setattr(samples, name, unpack_column(section[name], count))
    return samples


def _pack_decisions(columns: DecisionColumns) -> dict[str, Any]:
    section: dict[str, Any] = {
        "count": len(columns.sample), "policy": pack(columns.policy),
        "reasons": pack(list(columns.reasons)),
    }  # fmt: skip
    for name in (*_DECISION, *_DRAWN):
        values = getattr(columns, name)
        if values is None:
            continue
        if len(values) != len(columns.sample):
            raise LedgerError(f"a decision's column {name!r} has the wrong length")
        packer = pack_counting if name == "sample" else pack_column
        section[name] = packer(values)
    if columns.belief >= 0:
        section["belief"] = columns.belief
    if columns.prices:
        section["prices"] = dict(columns.prices)
    return section


def _unpack_decisions(section: dict[str, Any]) -> DecisionColumns:
    count = section["count"]
    drawn: dict[str, Any] = {
        name: unpack_column(section[name], count) if name in section else None for name in _DRAWN
    }
    return DecisionColumns(
        policy=unpack(section["policy"]),
        reasons=unpack(section["reasons"]),
        **{name: unpack_column(section[name], count) for name in _DECISION},
        **drawn,
        belief=section.get("belief", -1),
        prices=section.get("prices", {}),
    )


def _pack_rewards(rewards: Sequence[Reward]) -> dict[str, Any]:
    section: dict[str, Any] = {"count": len(rewards)}
    for name, values in zip(Reward._fields, columns_of(rewards), strict=True):
        if name == "components":
            section[name] = _pack_components(values)
        elif values.count(usual := Reward._field_defaults.get(name)) < len(values):
            section[name] = pack_column(_numbered(values) if name == "tier" else values)
        elif name == "value":
            section[name] = {"all": usual}
    return section


def _numbered(tiers: Sequence[Tier | None]) -> list[int | None]:
    return [None if tier is None else int(tier) for tier in tiers]


def _pack_components(values: Sequence[Any]) -> Any:
    if not values[0] and not any(values):
        return {"all": {}}
    names = tuple(values[0])
    if all(isinstance(name, str) for name in names) and set(map(tuple, values)) == {names}:
        columns = [pack_column(list(map(itemgetter(name), values))) for name in names]
        return {"names": pack(list(names)), "columns": columns}
    return pack_shared(values, lambda components: pack(dict(components)))


def _unpack_components(column: Any, count: int) -> list[Any]:
    if isinstance(column, dict) and "names" in column:
        names = unpack(column["names"])
        columns = [unpack_column(part, count) for part in column["columns"]]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return unpack_column(column, count)


def _unpack_rewards(section: dict[str, Any]) -> list[Reward]:
    count = section["count"]
    columns: list[Sequence[Any]] = []
    for name in Reward._fields:
        if name == "components":
            columns.append(_unpack_components(section[name], count))
            continue
        usual = Reward._field_defaults.get(name)
        values = unpack_column(section[name], count) if name in section else [usual] * count
        columns.append([_TIERS[tier] for tier in values] if name == "tier" else values)
    return list(map(Reward._make, zip(*columns, strict=True)))


def mentioned(body: bytes) -> dict[bytes, int]:
    """The content keys that an entry mentions.

    Returns:
        For each key its first place among the entry's candidates, -1 if it is not one of them.
    """
    data = orjson.loads(body)
    keys = KeyColumns()
    found: dict[bytes, int] = {}
    candidates, verdicts, samples = (
        data.get(name) for name in ("candidates", "verdicts", "samples")
    )
    if candidates:
        count = candidates["count"]
        columns = {
            name: keys.unpack(f"candidates.{name}", candidates[name], count)
            for name in ("raw_key", "content_key", "canonicaliser")
        }
        for place, key in enumerate(columns["content_key"]):
            found.setdefault(key, place)
    others = []
    if verdicts:
        keys.unpack("verdicts.check_key", verdicts["check_key"], verdicts["count"])
        others += keys.unpack("verdicts.content_key", verdicts["content_key"], verdicts["count"])
    if samples:
        others += keys.unpack("samples.contents", samples["contents"], samples["count"])
    for key in others:
        found.setdefault(key, -1)
    return found
