"""Tables: scored rows as Parquet, JSON lines or CSV, moved into place when they are complete."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from verifier_ladder.errors import ConfigError
from verifier_ladder.private import check_other_file, replacing, unwritable
from verifier_ladder.rollouts.records import import_parquet
from verifier_ladder.text import csv_cell

FORMATS = (".parquet", ".jsonl", ".csv")
INTEGERS = frozenset({"line", "revision"})
FLAGS = frozenset({"passed", "pending"})
NUMBERS = frozenset({"reward", "worth", "uncertainty"})
SCORE = "score_"
"""Prefix of the columns that hold one verifier's score."""
PART = "part_"
"""Prefix of the columns that hold one named score of the deciding verdict."""
_BATCH = 4096
Record = Mapping[str, Any]


def check_target(path: str | Path, *inputs: object) -> Path:
    """See that a table can be written there, before hours are spent on making it.

    Args:
        path: Where to write.
        inputs: What is read for it, and must stay.

    Raises:
        ConfigError: If the format is unknown, pyarrow is missing or the folder is, or an input
            lies there.
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise ConfigError(
            f"can't tell the format of {path}; its name must end in {', '.join(FORMATS)}"
        )
    if path.suffix == ".parquet":
        import_parquet("write Parquet files")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(f"can't write {path}: {path.parent} is no folder that can be written to")
    check_other_file(path, *inputs)
    return path


def write_table(path: Path, names: Sequence[str], records: Iterable[Record]) -> None:
    """Write a table in the format that its name says.

    The file appears under its name only when it is complete; until then an older one stays.

    Raises:
        ConfigError: If it can't be written.
    """
    write = {".parquet": _write_parquet, ".jsonl": _write_jsonl, ".csv": _write_csv}[path.suffix]
    try:
        with replacing(path) as partial:
            write(partial, names, records)
    except OSError as error:
        raise unwritable(path, error) from error


def _write_jsonl(path: Path, names: Sequence[str], records: Iterable[Record]) -> None:
    with path.open("wb") as stream:
        for record in records:
            row = {name: _clean(record.get(name)) for name in names}
            stream.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def _write_csv(path: Path, names: Sequence[str], records: Iterable[Record]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([csv_cell(name) for name in names])
        for record in records:
            writer.writerow([csv_cell(_clean(record.get(name))) for name in names])


def _write_parquet(path: Path, names: Sequence[str], records: Iterable[Record]) -> None:
    parquet = import_parquet("write Parquet files")
    iterator = iter(records)
    with parquet.ParquetWriter(path, _schema(names)) as writer:
        while batch := list(islice(iterator, _BATCH)):
            writer.write_table(as_frame(names, batch))


def as_frame(names: Sequence[str], records: Iterable[Record]) -> Any:
    """The records as a `pyarrow.Table`.

    Raises:
        ConfigError: If pyarrow is not installed.
    """
    import_parquet("make a frame")
    import pyarrow as pa

    rows = [{name: _clean(record.get(name)) for name in names} for record in records]
    return pa.Table.from_pylist(rows, schema=_schema(names))


def _schema(names: Sequence[str]) -> Any:
    import pyarrow as pa

    def kind(name: str) -> Any:
        if name in INTEGERS:
            return pa.int64()
        if name in FLAGS:
            return pa.bool_()
        if name in NUMBERS or name.startswith((SCORE, PART)):
            return pa.float64()
        return pa.string()

    return pa.schema([(name, kind(name)) for name in names])


def _clean(value: Any) -> Any:
    """Text that UTF-8 can hold: bytes are read, lone surrogates replaced."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value
