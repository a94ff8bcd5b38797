"""The tables: history that is only appended to, and the work queue beside it.

The tables are described for people in `docs/reference/tables.md`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BLOB,
    REAL,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    desc,
    text,
)

from verifier_ladder.resource import Resource

REVISION: Final = "0003"
"""Schema of this version: the newest Alembic revision in `migrations/versions`."""
VERSION_TABLE: Final = "verifier_ladder_version"
APPLICATION_ID: Final = 0x564C4144  # "VLAD" in the file's header, so that `file` can tell.

RESERVE: Final = tuple(f"reserve_{resource.label}" for resource in Resource)
"""Columns of what a check will reserve of each resource, in units of the resource."""
RESERVED: Final = tuple(f"reserved_{resource.label}" for resource in Resource)
"""Columns of what it has reserved, in whole millionths."""

metadata = MetaData()

entry = Table(
    "entry", metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("campaign", Text, nullable=False),
    Column("recorded_at", REAL, nullable=False),
    Column("leaf", BLOB, nullable=False),
    Column("body", BLOB, nullable=False),
    Index("entry_campaign", "campaign", "id"),
)  # fmt: skip

canonicaliser = Table(
    "canonicaliser", metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", BLOB, nullable=False, unique=True),
)  # fmt: skip

# `key` columns hold the first 48 bits of a digest: a narrow index costs a third of one over the
# whole digest once the ledger is large. The whole digest stands beside it and is compared.
alias = Table(
    "alias", metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Integer, nullable=False),
    Column("raw_key", BLOB, nullable=False),
    Column("canonicaliser", Integer, nullable=False),
    Column("content_key", BLOB, nullable=False),
    Column("canonical", BLOB),
    Column("detail", BLOB),
    Index("alias_key", "key"),
)  # fmt: skip

verifier = Table(
    "verifier", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("tier", Integer, nullable=False),
    Column("unit", Text, nullable=False),
    UniqueConstraint("name", "version", "tier", "unit"),
)  # fmt: skip

# No foreign keys here: one function writes these rows, and checking each would cost a tenth.
verdict = Table(
    "verdict", metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Integer, nullable=False),
    Column("check_key", BLOB, nullable=False),
    Column("verifier", Integer, nullable=False),
    Column("outcome", Integer, nullable=False),
    Column("score", REAL),
    Column("uncertainty", REAL),
    Column("seconds", REAL),
    Column("detail", BLOB),
    Column("entry_id", Integer, nullable=False),
    Column("supersedes", Integer),
    Index("verdict_key", "key"),
    Index("verdict_supersedes", "supersedes", sqlite_where=text("supersedes IS NOT NULL")),
)  # fmt: skip

span = Table(
    "span", metadata,
    Column("campaign", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("entry_id", Integer, ForeignKey("entry.id"), nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    PrimaryKeyConstraint("campaign", "run", "step", "entry_id", "first"),
    sqlite_with_rowid=False,
)  # fmt: skip

appearance = Table(
    "appearance", metadata,
    Column("candidate", Integer, nullable=False),
    Column("entry_id", Integer, ForeignKey("entry.id"), nullable=False),
    Column("place", Integer, nullable=False),
    PrimaryKeyConstraint("candidate", "entry_id", "place"),
    sqlite_with_rowid=False,
)  # fmt: skip

appearance_until = Table(
    "appearance_until", metadata,
    Column("entry_id", Integer, primary_key=True),
)  # fmt: skip

campaign = Table(
    "campaign", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("ladder", BLOB, nullable=False),
    Column("ladder_digest", BLOB, nullable=False),
    Column("created_at", REAL, nullable=False),
)  # fmt: skip

run = Table(
    "run", metadata,
    Column("id", Integer, primary_key=True),
    Column("campaign", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", BLOB, nullable=False),
    UniqueConstraint("campaign", "name"),
)  # fmt: skip

verifier_source = Table(
    "verifier_source", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("digest", Text, nullable=False),
    UniqueConstraint("name", "version", "digest"),
)  # fmt: skip

# -- the work queue and the accounts: these rows change -------------------------------------------

check_queue = Table(
    "check_queue", metadata,
    Column("id", Integer, primary_key=True),
    Column("check_key", BLOB, nullable=False, unique=True),
    Column("content_key", BLOB, nullable=False),
    Column("campaign", Text, nullable=False),
    Column("verifier", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("tier", Integer, nullable=False),
    Column("state", Integer, nullable=False),
    Column("priority", REAL, nullable=False),
    Column(RESERVE[0], REAL, nullable=False),
    Column("payload", BLOB, nullable=False),
    Column("not_before", REAL, nullable=False),
    Column("deadline", REAL),
    Column("owner", Text, nullable=False),
    Column("lease_until", REAL, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("note", Text, nullable=False),
    Column("claimed_at", REAL, nullable=False, server_default=text("0")),
    Column(RESERVED[0], Integer, nullable=False, server_default=text("0")),
    *(Column(name, REAL, nullable=False, server_default=text("0")) for name in RESERVE[1:]),
    *(
        Column(
            name, Integer, CheckConstraint(f"{name} >= 0 AND ({name} = 0 OR state IN (1, 2))"),
            nullable=False, server_default=text("0"),
        )
        for name in RESERVED[1:]
    ),
    CheckConstraint("state BETWEEN 0 AND 6", name="known_state"),
    CheckConstraint(f"{RESERVED[0]} >= 0", name="reserved_is_positive"),
    CheckConstraint(f"{RESERVED[0]} = 0 OR state IN (1, 2)", name="reserved_only_at_work"),
    Index("check_ready", desc("priority"), "not_before", "id", sqlite_where=text("state = 0")),
    Index("check_leased", "lease_until", sqlite_where=text("state = 1")),
    Index("check_waiting", "deadline", sqlite_where=text("state = 2")),
)  # fmt: skip

asked = Table(
    "asked", metadata,
    Column("check_key", BLOB, ForeignKey("check_queue.check_key"), nullable=False),
    Column("campaign", Text, nullable=False),
    PrimaryKeyConstraint("check_key", "campaign"),
    Index("asked_campaign", "campaign"),
    sqlite_with_rowid=False,
)  # fmt: skip

request = Table(
    "request", metadata,
    Column("id", Integer, primary_key=True),
    Column("check_key", BLOB, ForeignKey("check_queue.check_key"), nullable=False),
    Column("campaign", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("content_key", BLOB, nullable=False),
    Column("state", BLOB, nullable=False),
    UniqueConstraint("check_key", "campaign", "run", "step", "position"),
    Index("request_campaign", "campaign", "id"),
)  # fmt: skip

# Whole millionths: sums of floats would not keep the cap exactly.
account = Table(
    "account", metadata,
    Column("campaign", Text, nullable=False),
    Column("tier", Integer, nullable=False),
    Column("resource", Integer, nullable=False),
    Column("cap", Integer),
    Column("excess", Integer, nullable=False, server_default=text("0")),
    Column("settled", Integer, nullable=False, server_default=text("0")),
    Column("reserved", Integer, nullable=False, server_default=text("0")),
    Column("failed", Integer, nullable=False, server_default=text("0")),
    Column("checks", Integer, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("campaign", "tier", "resource"),
    CheckConstraint("settled >= 0 AND reserved >= 0 AND failed >= 0", name="no_debts"),
    CheckConstraint(
        "cap IS NULL OR settled + failed + reserved <= cap + excess", name="within_cap"
    ),
    sqlite_with_rowid=False,
)  # fmt: skip

pause = Table(
    "pause", metadata,
    Column("campaign", Text, nullable=False),
    Column("tier", Integer, nullable=False),
    PrimaryKeyConstraint("campaign", "tier"),
    sqlite_with_rowid=False,
)  # fmt: skip

inbox = Table(
    "inbox", metadata,
    Column("source", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("received_at", REAL, nullable=False),
    PrimaryKeyConstraint("source", "event"),
    sqlite_with_rowid=False,
)  # fmt: skip

HISTORY: Final = (
    "entry", "canonicaliser", "alias", "verifier", "verdict", "span", "appearance",
    "appearance_until", "campaign", "run", "verifier_source", "inbox",
)  # fmt: skip
"""Tables that are only appended to."""


def guards() -> list[str]:
    """SQL of the triggers that refuse to change or delete history."""
    return [
        f"CREATE TRIGGER {table}_{verb.lower()}_refused BEFORE {verb} ON {table} BEGIN "
        f"SELECT RAISE(ABORT, 'the ledger is append-only: {table} rows are never changed or "
        "deleted'); END"
        for table in HISTORY
        for verb in ("UPDATE", "DELETE")
    ]
