"""Sections: the records of one kind as columns, ready to be written as JSON, and back.

A section is an object with one column per field (see `columns`) and their count. Fields whose
every value is the usual one are left out. Sections that are written together share a
`KeyColumns`, so that equal columns of digests are written once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import Any

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.columns import (
    KeyColumns,
    is_constant,
    pack_column,
    pack_counting,
    pack_shared,
    unpack_column,
)
from verifier_ladder.ledger.records import (
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
    pack_turns,
    pack_verdict,
    unpack_field,
    unpack_turns,
    unpack_verdict,
)
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

Columns = Mapping[str, Sequence[Any]]
"""Columns of equal length, by the name of the field."""

_ROW_FIELDS = ("check_key", "content_key", "verifier", "version", "tier", "verdict", "attempt")
_KEYS = {"raw_key", "content_key", "canonicaliser", "check_key"}
_OPTIONAL = ("groups", "group_sizes", "learner_versions", "weights", "tasks", "turns")
_DECISION = ("sample", "action", "tier", "reason", "mean", "deviation", "propensity", "benefit")
_DRAWN = ("draw", "limit", "factor")
_PACKED = {"outcome", "cost", "turns", "artifacts"}
_SCALARS = {"count", "round", "run", "step", "policy", "reasons", "belief", "prices"}
_DIGITS = 64
"""Hexadecimal digits of a digest."""
_TIERS: dict[int | None, Tier | None] = {None: None, **{int(tier): tier for tier in Tier}}
_VERDICT_PARTS: dict[str, Callable[[Any], Any]] = {
    name: attrgetter(name) for name in VERDICT_FIELDS
}


# -- candidates ----------------------------------------------------------------------------------


def pack_candidates(rows: Sequence[CandidateRow], keys: KeyColumns) -> dict[str, Any]:
    """Write candidates."""
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


def unpack_candidates(section: dict[str, Any], keys: KeyColumns) -> list[CandidateRow]:
    """Read candidates."""
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


def verdict_columns(rows: Sequence[VerdictRow]) -> Columns:
    """Turn rows into columns, the fields of their verdicts among them."""
    columns = dict(zip(_ROW_FIELDS, columns_of(rows), strict=True))
    verdicts = columns.pop("verdict")
    ids = list(map(id, verdicts))
    once = dict(zip(ids, verdicts, strict=True))
    return columns | {
        name: _spread(ids, dict(zip(once, map(read, once.values()), strict=True)))
        for name, read in _VERDICT_PARTS.items()
    }


def _spread(places: Sequence[int], values: Mapping[int, Any]) -> Sequence[Any]:
    """The value of each place; places that share one object have one value."""
    if len(values) == len(places):
        return list(values.values())
    first = next(iter(values.values()))
    if all(value is first for value in values.values()):
        return [first] * len(places)
    return list(map(values.__getitem__, places))


def pack_verdicts(columns: Columns, keys: KeyColumns) -> dict[str, Any]:
    """Write verdicts."""
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
    elif name in _PACKED:
        if is_constant(values):
            section[name] = {"all": pack_field(name, values[0])}
        else:
            section[name] = pack_shared(values, partial(pack_field, name))
    else:
        section[name] = pack_column(values)


def unpack_verdicts(section: dict[str, Any], keys: KeyColumns) -> list[VerdictRow]:
    """Read verdicts."""
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
    if name in _PACKED:
        if isinstance(column, dict):
            return [unpack_field(name, column["all"])] * count
        return [unpack_field(name, value) for value in column]
    return unpack_column(column, count)


# -- samples and decisions -----------------------------------------------------------------------


def join_samples(parts: Sequence[SampleColumns]) -> SampleColumns:
    """The samples of several parts."""
    first = parts[0]
    if len(parts) == 1:
        return first
    names = ("positions", "contents", "checks", *_OPTIONAL)
    joined = {
        name: list(chain.from_iterable(getattr(part, name) for part in parts))
        for name in names
        if getattr(first, name) is not None
    }
    return SampleColumns(first.run, first.step, **joined)


def pack_samples(samples: SampleColumns, keys: KeyColumns) -> dict[str, Any]:
    """Write samples.

    Raises:
        LedgerError: If their columns differ in length.
    """
    count = len(samples.positions)
    flat = list(chain.from_iterable(samples.checks))
    widths = list(map(len, samples.checks))
    lengths = {count, len(samples.contents), len(widths)}
    section: dict[str, Any] = {
        "count": count, "run": pack(samples.run), "step": pack(samples.step),
        "positions": pack_counting(samples.positions),
        "contents": keys.pack("samples.contents", samples.contents),
        "widths": pack_column(widths),
    }  # fmt: skip
    # A column with more or fewer values than samples is cut elsewhere than those of its length.
    alone = widths.count(1) < count
    section["checks"] = (KeyColumns() if alone else keys).pack(
        "samples.checks", flat, is_written_out=max(widths, default=0) > 1
    )
    for name in _OPTIONAL:
        values = getattr(samples, name)
        if values is not None:
            lengths.add(len(values))
            section[name] = pack_column(values)
    if len(lengths) > 1:
        raise LedgerError(f"the columns of the samples differ in length: {sorted(lengths)}")
    return section


def unpack_samples(section: dict[str, Any], keys: KeyColumns) -> SampleColumns:
    """Read samples."""
    count = section["count"]
    contents = keys.unpack("samples.contents", section["contents"], count)
    widths = unpack_column(section["widths"], count)
    checks = section["checks"]
    is_one = isinstance(checks, dict) and "all" in checks
    if is_one and sum(widths) > count:  # Of a sample's checks no two are the same.
        raise ValueError(f"no program writes {sum(widths):,} checks of {count} samples so")
    named = keys.unpack("samples.checks", checks, sum(widths))
    if len(named) < sum(widths):
        raise ValueError(f"{sum(widths):,} checks are counted, and {len(named):,} are there")
    flat = iter(named)
    taken = zip(flat) if widths.count(1) == count else (tuple(islice(flat, n)) for n in widths)
    samples = SampleColumns(
        unpack(section["run"]), unpack(section["step"]),
        unpack_column(section["positions"], count), contents,
        list(taken),
    )  # fmt: skip
    for name in _OPTIONAL:
        if name in section:
            setattr(samples, name, unpack_column(section[name], count))
    return samples


def join_decisions(parts: Sequence[DecisionColumns]) -> DecisionColumns:
    """The decisions of one round, from several parts."""
    first = parts[0]
    if len(parts) == 1:
        return first
    joined: dict[str, Any] = {
        name: list(chain.from_iterable(getattr(part, name) for part in parts))
        for name in (*_DECISION, *_DRAWN)
        if getattr(first, name) is not None
    }
    return replace(first, **joined)


def pack_decisions(columns: DecisionColumns) -> dict[str, Any]:
    """Write the decisions of a round.

    Raises:
        LedgerError: If their columns differ in length.
    """
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


def unpack_decisions(section: dict[str, Any]) -> DecisionColumns:
    """Read the decisions of a round."""
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


# -- rewards -------------------------------------------------------------------------------------


def pack_rewards(rewards: Sequence[Reward]) -> dict[str, Any]:
    """Write rewards."""
    section: dict[str, Any] = {"count": len(rewards)}
    # Candidates that earn the same share one reward: it is read once.
    ids = list(map(id, rewards))
    once = dict(zip(ids, rewards, strict=True))
    for name, distinct in zip(Reward._fields, columns_of(list(once.values())), strict=True):
        values = distinct
        if not is_constant(distinct):
            values = _spread(ids, dict(zip(once, distinct, strict=True)))
        if name == "components":
            section[name] = _pack_components(values)
        elif values.count(usual := Reward._field_defaults.get(name)) < len(values):
            section[name] = _pack_reward_column(name, values)
        elif name == "value":
            section[name] = {"all": usual}
    return section


def _pack_reward_column(name: str, values: Sequence[Any]) -> Any:
    if name == "turns":
        return pack_shared(values, pack_turns)
    return pack_column(_numbered(values) if name == "tier" else values)


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


def unpack_rewards(section: dict[str, Any]) -> list[Reward]:
    """Read rewards."""
    count = section["count"]
    columns: list[Sequence[Any]] = []
    for name in Reward._fields:
        if name == "components":
            columns.append(_unpack_components(section[name], count))
            continue
        usual = Reward._field_defaults.get(name)
        if name == "turns" and name in section:
            columns.append(list(map(unpack_turns, section[name])))
            continue
        values = unpack_column(section[name], count) if name in section else [usual] * count
        columns.append([_TIERS[tier] for tier in values] if name == "tier" else values)
    return list(map(Reward._make, zip(*columns, strict=True)))


# -- parts ---------------------------------------------------------------------------------------


def cut(section: dict[str, Any], first: int, last: int) -> dict[str, Any]:
    """Some rows of a section as it is written; the section itself if that is all of them.

    Columns were looked at when the section was packed, so cutting costs next to nothing.
    """
    if first == 0 and section["count"] <= last:
        return section
    part = {
        name: column if name in _SCALARS else _cut_column(column, first, last)
        for name, column in section.items()
    }
    part["count"] = max(0, min(section["count"], last) - first)
    if "widths" in section:
        widths = section["widths"]
        if isinstance(widths, dict):
            part["checks"] = _cut_column(
                section["checks"], first * widths["all"], last * widths["all"]
            )
        else:
            begin = sum(widths[:first])
            end = begin + sum(widths[first:last])
            part["checks"] = _cut_column(section["checks"], begin, end)
    return part


def _cut_column(column: Any, first: int, last: int) -> Any:
    if not isinstance(column, dict):
        return column[first:last]
    if "keys" in column:
        return {"keys": column["keys"][_DIGITS * first : _DIGITS * last]}
    if "from" in column:
        return {"from": column["from"] + first}
    if "names" in column:
        return {**column, "columns": [_cut_column(c, first, last) for c in column["columns"]]}
    return column
