"""The tables: history that is only appended to, and the work queue beside it.

The tables are described for people in `docs/reference/tables.md`.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    desc,
    text,
)

from verifier_ladder.ledger.columntypes import BYTES, FORM, NUMBER, WHOLE
from verifier_ladder.resource import Resource

REVISION: Final = "0013"
"""Schema of this version: the newest Alembic revision in `migrations/versions`."""
VERSION_TABLE: Final = "verifier_ladder_version"
APPLICATION_ID: Final = 0x564C4144  # "VLAD" in the file's header, so that `file` can tell.

RESERVE: Final = tuple(f"reserve_{resource.label}" for resource in Resource)
"""Columns of what a check will reserve of each resource, in units of the resource."""
RESERVED: Final = tuple(f"reserved_{resource.label}" for resource in Resource)
"""Columns of what it has reserved, in whole millionths."""

metadata = MetaData()


def _only(condition: str) -> dict[str, Any]:
    """Have an index hold only some rows."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


entry = Table(
    "entry", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("campaign", Text, nullable=False),
    Column("recorded_at", NUMBER, nullable=False),
    Column("leaf", BYTES, nullable=False),
    Column("body", BYTES, nullable=False),
    Index("entry_campaign", "campaign", "id"),
    Index("entry_alarm", "campaign", "kind", "id", **_only("kind = 'alarm'")),
)  # fmt: skip

canonicaliser = Table(
    "canonicaliser", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("digest", BYTES, nullable=False, unique=True),
)  # fmt: skip

# `key` columns hold the first 48 bits of a digest: a narrow index costs a third of one over the
# whole digest once the ledger is large. The whole digest stands beside it and is compared.
alias = Table(
    "alias", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("key", WHOLE, nullable=False),
    Column("raw_key", BYTES, nullable=False),
    Column("canonicaliser", WHOLE, nullable=False),
    Column("content_key", BYTES, nullable=False),
    Column("canonical", FORM),
    Column("detail", BYTES),
    Index("alias_key", "key"),
)  # fmt: skip

verifier = Table(
    "verifier", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("tier", WHOLE, nullable=False),
    Column("unit", Text, nullable=False),
    UniqueConstraint("name", "version", "tier", "unit"),
)  # fmt: skip

# No foreign keys here: one function writes these rows, and checking each would cost a tenth.
verdict = Table(
    "verdict", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("key", WHOLE, nullable=False),
    Column("check_key", BYTES, nullable=False),
    Column("verifier", WHOLE, nullable=False),
    Column("outcome", WHOLE, nullable=False),
    Column("score", NUMBER),
    Column("uncertainty", NUMBER),
    Column("seconds", NUMBER),
    Column("detail", BYTES),
    Column("entry_id", WHOLE, nullable=False),
    Column("supersedes", WHOLE),
    Index("verdict_key", "key").ddl_if(dialect="sqlite"),
    # Many writers at once: the index itself sees to it that a check is told once, and each
    # verdict superseded once.
    Index(
        "verdict_once", "key", "check_key", "supersedes", unique=True,
        postgresql_nulls_not_distinct=True,
    ).ddl_if(dialect="postgresql"),
    Index("verdict_supersedes", "supersedes", **_only("supersedes IS NOT NULL")),
)  # fmt: skip

span = Table(
    "span", metadata,
    Column("campaign", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", WHOLE, nullable=False),
    Column("entry_id", WHOLE, ForeignKey("entry.id"), nullable=False),
    Column("first", WHOLE, nullable=False),
    Column("last", WHOLE, nullable=False),
    PrimaryKeyConstraint("campaign", "run", "step", "entry_id", "first"),
    sqlite_with_rowid=False,
)  # fmt: skip

appearance = Table(
    "appearance", metadata,
    Column("candidate", WHOLE, nullable=False),
    Column("entry_id", WHOLE, ForeignKey("entry.id"), nullable=False),
    Column("place", WHOLE, nullable=False),
    PrimaryKeyConstraint("candidate", "entry_id", "place"),
    sqlite_with_rowid=False,
)  # fmt: skip

appearance_until = Table(
    "appearance_until", metadata,
    Column("entry_id", WHOLE, primary_key=True),
)  # fmt: skip

campaign = Table(
    "campaign", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("ladder", BYTES, nullable=False),
    Column("ladder_digest", BYTES, nullable=False),
    Column("created_at", NUMBER, nullable=False),
)  # fmt: skip

run = Table(
    "run", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("campaign", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", BYTES, nullable=False),
    UniqueConstraint("campaign", "name"),
)  # fmt: skip

verifier_source = Table(
    "verifier_source", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("digest", Text, nullable=False),
    UniqueConstraint("name", "version", "digest"),
)  # fmt: skip

# -- the log: in which order entries stand, and what was signed for it ----------------------------

leaf = Table(
    "leaf", metadata,
    Column("idx", WHOLE, primary_key=True, autoincrement=False),
    Column("entry_id", WHOLE, ForeignKey("entry.id"), nullable=False, unique=True),
)  # fmt: skip

tile = Table(
    "tile", metadata,
    Column("level", WHOLE, nullable=False),
    Column("idx", WHOLE, nullable=False),
    Column("hashes", BYTES, nullable=False),
    PrimaryKeyConstraint("level", "idx"),
)  # fmt: skip

checkpoint = Table(
    "checkpoint", metadata,
    Column("size", WHOLE, primary_key=True, autoincrement=False),
    Column("note", Text, nullable=False),
    Column("frontier", BYTES, nullable=False),
)  # fmt: skip

signer = Table(
    "signer", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("origin", Text, nullable=False),
    Column("key", Text, nullable=False, unique=True),
)  # fmt: skip

# -- counters: they follow from the entries, and change with each ---------------------------------

verdict_count = Table(
    "verdict_count", metadata,
    Column("campaign", Text, nullable=False),
    Column("tier", WHOLE, nullable=False),
    Column("verifier", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("boundary", Text, nullable=False),
    Column("checks", WHOLE, nullable=False),
    PrimaryKeyConstraint("campaign", "tier", "verifier", "version", "outcome", "boundary"),
    sqlite_with_rowid=False,
)  # fmt: skip

# In the order of steps, so that the sums of a campaign's runs lie together before all of them.
step_count = Table(
    "step_count", metadata,
    Column("campaign", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", WHOLE, nullable=False),
    Column("samples", WHOLE, nullable=False),
    Column("revised", WHOLE, nullable=False),
    Column("known", WHOLE, nullable=False),
    Column("waiting", WHOLE, nullable=False),
    Column("whole", WHOLE, nullable=False),
    Column("part", WHOLE, nullable=False),
    Column("unsummed", WHOLE, nullable=False),
    Column("checks", WHOLE, nullable=False),
    Column("reused", WHOLE, nullable=False),
    PrimaryKeyConstraint("campaign", "step", "run"),
    sqlite_with_rowid=False,
)  # fmt: skip

# -- the work queue and the accounts: these rows change -------------------------------------------

check_queue = Table(
    "check_queue", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("check_key", BYTES, nullable=False, unique=True),
    Column("content_key", BYTES, nullable=False),
    Column("campaign", Text, nullable=False),
    Column("verifier", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("tier", WHOLE, nullable=False),
    Column("state", WHOLE, nullable=False),
    Column("priority", NUMBER, nullable=False),
    Column(RESERVE[0], NUMBER, nullable=False),
    Column("payload", BYTES, nullable=False),
    Column("not_before", NUMBER, nullable=False),
    Column("deadline", NUMBER),
    Column("owner", Text, nullable=False),
    Column("lease_until", NUMBER, nullable=False),
    Column("fence", WHOLE, nullable=False),
    Column("attempt", WHOLE, nullable=False),
    Column("note", Text, nullable=False),
    Column("claimed_at", NUMBER, nullable=False, server_default=text("0")),
    Column(RESERVED[0], WHOLE, nullable=False, server_default=text("0")),
    *(Column(name, NUMBER, nullable=False, server_default=text("0")) for name in RESERVE[1:]),
    *(
        Column(
            name, WHOLE, CheckConstraint(f"{name} >= 0 AND ({name} = 0 OR state IN (1, 2))"),
            nullable=False, server_default=text("0"),
        )
        for name in RESERVED[1:]
    ),
    Column("run", Text, nullable=False, server_default=text("''")),
    Column("wanted_until", NUMBER, nullable=False, server_default=text("0")),
    Column("asked_at", NUMBER, nullable=False, server_default=text("0")),
    Column("digest", BYTES, nullable=False, server_default=text("''")),
    Column("seen_at", NUMBER, nullable=False, server_default=text("0")),
    Column("begun_at", NUMBER, nullable=False, server_default=text("0")),
    CheckConstraint("state BETWEEN 0 AND 6", name="known_state"),
    CheckConstraint(f"{RESERVED[0]} >= 0", name="reserved_is_positive"),
    CheckConstraint(f"{RESERVED[0]} = 0 OR state IN (1, 2)", name="reserved_only_at_work"),
    Index("check_ready", desc("priority"), "not_before", "id", **_only("state = 0")),
    Index("check_wanted", "wanted_until", **_only("state = 0 AND wanted_until > 0")),
    Index("check_dead", "id", **_only("state = 4")),
    Index("check_leased", "lease_until", **_only("state = 1")),
    Index("check_waiting", "deadline", **_only("state = 2")),
)  # fmt: skip

asked = Table(
    "asked", metadata,
    Column("check_key", BYTES, ForeignKey("check_queue.check_key"), nullable=False),
    Column("campaign", Text, nullable=False),
    PrimaryKeyConstraint("check_key", "campaign"),
    Index("asked_campaign", "campaign"),
    sqlite_with_rowid=False,
)  # fmt: skip

request = Table(
    "request", metadata,
    Column("id", WHOLE, primary_key=True),
    Column("check_key", BYTES, ForeignKey("check_queue.check_key"), nullable=False),
    Column("campaign", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", WHOLE, nullable=False),
    Column("position", WHOLE, nullable=False),
    Column("content_key", BYTES, nullable=False),
    Column("state", BYTES, nullable=False),
    UniqueConstraint("check_key", "campaign", "run", "step", "position"),
    Index("request_campaign", "campaign", "id"),
)  # fmt: skip

NO_DEBTS = "settled >= 0 AND reserved >= 0 AND failed >= 0"
WITHIN_CAP = "cap IS NULL OR settled + failed + reserved <= cap + excess"

# Whole millionths: sums of floats would not keep the cap exactly.
account = Table(
    "account", metadata,
    Column("campaign", Text, nullable=False),
    Column("tier", WHOLE, nullable=False),
    Column("resource", WHOLE, nullable=False),
    Column("cap", WHOLE),
    Column("excess", WHOLE, nullable=False, server_default=text("0")),
    Column("settled", WHOLE, nullable=False, server_default=text("0")),
    Column("reserved", WHOLE, nullable=False, server_default=text("0")),
    Column("failed", WHOLE, nullable=False, server_default=text("0")),
    Column("checks", WHOLE, nullable=False, server_default=text("0")),
    Column("kept", WHOLE, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("campaign", "tier", "resource"),
    CheckConstraint(NO_DEBTS, name="no_debts"),
    CheckConstraint(WITHIN_CAP, name="within_cap"),
    sqlite_with_rowid=False,
)  # fmt: skip

# What accounts have spent, told apart by run and verifier; each sum is that of the accounts.
spend = Table(
    "spend", metadata,
    Column("campaign", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("tier", WHOLE, nullable=False),
    Column("verifier", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("resource", WHOLE, nullable=False),
    Column("settled", WHOLE, nullable=False),
    Column("failed", WHOLE, nullable=False),
    Column("checks", WHOLE, nullable=False),
    PrimaryKeyConstraint("campaign", "run", "tier", "verifier", "version", "resource"),
    sqlite_with_rowid=False,
)  # fmt: skip

pause = Table(
    "pause", metadata,
    Column("campaign", Text, nullable=False),
    Column("tier", WHOLE, nullable=False),
    PrimaryKeyConstraint("campaign", "tier"),
    sqlite_with_rowid=False,
)  # fmt: skip

# When the bucket of a rate is full again. Checks of all verifiers that name it take from it.
rate = Table(
    "rate", metadata,
    Column("name", Text, primary_key=True),
    Column("full_at", NUMBER, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip

inbox = Table(
    "inbox", metadata,
    Column("source", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("received_at", NUMBER, nullable=False),
    PrimaryKeyConstraint("source", "event"),
    sqlite_with_rowid=False,
)  # fmt: skip

# What was answered to calls that carry a key; these rows go away after a day.
reply = Table(
    "reply", metadata,
    Column("key", BYTES, primary_key=True),
    Column("request", BYTES, nullable=False),
    Column("campaign", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("step", WHOLE, nullable=False),
    Column("cursor", WHOLE, nullable=False),
    Column("asked_at", NUMBER, nullable=False),
    Column("answer", BYTES),
    Index("reply_asked_at", "asked_at"),
)  # fmt: skip

# The bytes of files beside verdicts: entries hold their digests, and bytes may be erased.
artifact = Table(
    "artifact", metadata,
    Column("digest", BYTES, primary_key=True),
    Column("campaign", Text, nullable=False),
    Column("size", WHOLE, nullable=False),
    Column("note", Text, nullable=False),
    Index("artifact_campaign", "campaign"),
)  # fmt: skip

artifact_chunk = Table(
    "artifact_chunk", metadata,
    Column("digest", BYTES, nullable=False),
    Column("place", WHOLE, nullable=False),
    Column("data", BYTES, nullable=False),
    PrimaryKeyConstraint("digest", "place"),
)  # fmt: skip

HISTORY: Final = (
    "entry", "canonicaliser", "alias", "verifier", "verdict", "span", "appearance",
    "appearance_until", "campaign", "run", "verifier_source", "inbox", "leaf", "tile",
    "checkpoint", "signer",
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
