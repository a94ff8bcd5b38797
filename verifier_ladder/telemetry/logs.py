"""Logs: what commands write to stderr, as text for people or as one JSON object a line."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import orjson

from verifier_ladder.text import json_printable, plain_lines, printable

_TEXT = "%(levelname)s: %(message)s"
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class TextFormatter(logging.Formatter):
    r"""A line for people, in which a terminal finds nothing to obey, whoever chose the words.

    Example:
        >>> record = logging.makeLogRecord({"msg": "a \x1b[2Jname\nERROR: b", "levelname": "INFO"})
        >>> TextFormatter().format(record)
        'INFO: a name ERROR: b'
    """

    def __init__(self) -> None:
        """Level and message."""
        super().__init__(_TEXT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line; what breaks lines there would make up another message."""
        return printable(super().formatMessage(record), None)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        """The traceback, of several lines."""
        return plain_lines(super().formatException(ei))


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, what was given as `extra`.

    Example:
        >>> record = logging.makeLogRecord({"msg": "done", "levelname": "INFO", "name": "vl"})
        >>> JsonFormatter().format(record).partition('"level"')[2]
        ':"info","logger":"vl","message":"done"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Write one record; line breaks inside of it are escaped."""
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(), "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _OWN},
        }  # fmt: skip
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json_printable(orjson.dumps(told, default=str).decode())


def write_logs(level: str, form: str = "text") -> None:
    """Write logs to stderr from this level on, unless the process has its own way.

    Args:
        level: debug, info, warning or error.
        form: `text` or `json`.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler])
