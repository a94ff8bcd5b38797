"""Tables of training sets: columns of a fixed sort, as Arrow, Parquet or JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from verifier_ladder.ledger.values import pack
from verifier_ladder.private import replacing, unwritable
from verifier_ladder.rollouts.records import import_parquet
from verifier_ladder.runs.chat import as_chat, has_tools, is_chat

FORMATS = ("parquet", "jsonl")
_ROLES = {"prompt": "user"}


class Layout:
    """How the columns of one training set are laid out, the same in all of its splits."""

    def __init__(self, columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Look through the rows: where one prompt or completion is a chat, all become one."""
        self.columns = columns
        said = [
            row[name] for row in rows for name, sort in columns.items() if sort == "said"
        ]  # fmt: skip
        self.is_chat = any(map(is_chat, said))
        chats = [as_chat(value, "user") for value in said if is_chat(value)]
        self.has_tools = any(map(has_tools, chats))

    def row(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """One row as it is written."""
        return {name: self._cell(name, sort, values[name]) for name, sort in self.columns.items()}

    def _cell(self, name: str, sort: str, value: Any) -> Any:
        if sort == "said" and self.is_chat:
            value = as_chat(value, _ROLES.get(name, "assistant"))
        return _clean(value)

    def schema(self) -> Any:
        """The Arrow schema.

        Raises:
            ConfigError: If pyarrow is not installed.
        """
        import_parquet("make a table")
        import pyarrow as pa

        return pa.schema([(name, self._type(sort)) for name, sort in self.columns.items()])

    def _type(self, sort: str) -> Any:
        import pyarrow as pa

        text, number = pa.string(), pa.float64()
        place = [("run", text), ("step", pa.int64()), ("position", pa.int64()), ("group", text)]
        rest = [(name, text) for name in ("learner_version", "candidate", "task")]
        sorts = {
            "text": text, "number": number, "flag": pa.bool_(), "texts": pa.list_(text),
            "numbers": pa.list_(number), "flags": pa.list_(pa.bool_()),
            "integers": pa.list_(pa.int64()),
            "integer lists": pa.list_(pa.list_(pa.int64())),
            "number lists": pa.list_(pa.list_(number)),
            "info": pa.struct([("demonstration", text)]),
            "source": pa.struct([*place, *rest]),
            "said": pa.list_(self._message()) if self.is_chat else text,
        }  # fmt: skip
        return sorts[sort]

    def _message(self) -> Any:
        import pyarrow as pa

        text = pa.string()
        fields = [("role", text), ("content", text)]
        if self.has_tools:
            function = pa.struct([("name", text), ("arguments", text)])
            call = pa.struct([("id", text), ("type", text), ("function", function)])
            fields += [("tool_calls", pa.list_(call)), ("tool_call_id", text), ("name", text)]
        return pa.struct(fields)


def write_rows(path: Path, layout: Layout, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as Parquet or JSON lines; the file appears when it is complete.

    Raises:
        ConfigError: If it can't be written.
    """
    write = _write_parquet if path.suffix == ".parquet" else _write_jsonl
    try:
        with replacing(path) as partial:
            write(partial, layout, [layout.row(row) for row in rows])
    except OSError as error:
        raise unwritable(path, error) from error


def as_table(layout: Layout, rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows as a `pyarrow.Table`."""
    schema = layout.schema()
    import pyarrow as pa

    return pa.Table.from_pylist([layout.row(row) for row in rows], schema=schema)


def _write_parquet(path: Path, layout: Layout, rows: Sequence[Mapping[str, Any]]) -> None:
    schema = layout.schema()
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)


def _write_jsonl(path: Path, layout: Layout, rows: Sequence[Mapping[str, Any]]) -> None:
    del layout
    with path.open("wb") as stream:
        for row in rows:
            stream.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def _clean(value: Any) -> Any:
    """What UTF-8 and JSON can hold: lone surrogates are replaced."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {name: _clean(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(part) for part in value]
    return value if isinstance(value, (int, float, bool, type(None))) else str(pack(value))
