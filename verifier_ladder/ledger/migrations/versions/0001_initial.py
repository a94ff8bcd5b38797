"""The first schema.

Written out, so that it stays what it is when the tables of the program change.

Revision ID: 0001
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    """
    CREATE TABLE account (
        campaign TEXT NOT NULL,
        tier INTEGER NOT NULL,
        cap INTEGER,
        excess INTEGER DEFAULT 0 NOT NULL,
        settled INTEGER DEFAULT 0 NOT NULL,
        reserved INTEGER DEFAULT 0 NOT NULL,
        failed INTEGER DEFAULT 0 NOT NULL,
        checks INTEGER DEFAULT 0 NOT NULL,
        PRIMARY KEY (campaign, tier),
        CONSTRAINT no_debts CHECK (settled >= 0 AND reserved >= 0 AND failed >= 0),
        CONSTRAINT within_cap CHECK (cap IS NULL OR settled + failed + reserved <= cap + excess)
    )
     WITHOUT ROWID
    """,
    """
    CREATE TABLE alias (
        id INTEGER NOT NULL,
        "key" INTEGER NOT NULL,
        raw_key BLOB NOT NULL,
        canonicaliser INTEGER NOT NULL,
        content_key BLOB NOT NULL,
        canonical BLOB,
        detail BLOB,
        PRIMARY KEY (id)
    )
    """,
    """
    CREATE INDEX alias_key ON alias ("key")
    """,
    """
    CREATE TABLE appearance_until (
        entry_id INTEGER NOT NULL,
        PRIMARY KEY (entry_id)
    )
    """,
    """
    CREATE TABLE campaign (
        id INTEGER NOT NULL,
        name TEXT NOT NULL,
        ladder BLOB NOT NULL,
        ladder_digest BLOB NOT NULL,
        created_at REAL NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (name)
    )
    """,
    """
    CREATE TABLE canonicaliser (
        id INTEGER NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (digest)
    )
    """,
    """
    CREATE TABLE check_queue (
        id INTEGER NOT NULL,
        check_key BLOB NOT NULL,
        content_key BLOB NOT NULL,
        campaign TEXT NOT NULL,
        verifier TEXT NOT NULL,
        version TEXT NOT NULL,
        tier INTEGER NOT NULL,
        state INTEGER NOT NULL,
        priority REAL NOT NULL,
        reserve REAL NOT NULL,
        payload BLOB NOT NULL,
        not_before REAL NOT NULL,
        deadline REAL,
        owner TEXT NOT NULL,
        lease_until REAL NOT NULL,
        fence INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        note TEXT NOT NULL,
        claimed_at REAL DEFAULT 0 NOT NULL,
        reserved INTEGER DEFAULT 0 NOT NULL,
        PRIMARY KEY (id),
        CONSTRAINT known_state CHECK (state BETWEEN 0 AND 6),
        CONSTRAINT reserved_is_positive CHECK (reserved >= 0),
        CONSTRAINT reserved_only_at_work CHECK (reserved = 0 OR state IN (1, 2)),
        UNIQUE (check_key)
    )
    """,
    """
    CREATE INDEX check_leased ON check_queue (lease_until) WHERE state = 1
    """,
    """
    CREATE INDEX check_ready ON check_queue (priority DESC, not_before, id) WHERE state = 0
    """,
    """
    CREATE INDEX check_waiting ON check_queue (deadline) WHERE state = 2
    """,
    """
    CREATE TABLE entry (
        id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        campaign TEXT NOT NULL,
        recorded_at REAL NOT NULL,
        leaf BLOB NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (id)
    )
    """,
    """
    CREATE INDEX entry_campaign ON entry (campaign, id)
    """,
    """
    CREATE TABLE inbox (
        source TEXT NOT NULL,
        event TEXT NOT NULL,
        received_at REAL NOT NULL,
        PRIMARY KEY (source, event)
    )
     WITHOUT ROWID
    """,
    """
    CREATE TABLE run (
        id INTEGER NOT NULL,
        campaign TEXT NOT NULL,
        name TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (campaign, name)
    )
    """,
    """
    CREATE TABLE verdict (
        id INTEGER NOT NULL,
        "key" INTEGER NOT NULL,
        check_key BLOB NOT NULL,
        verifier INTEGER NOT NULL,
        outcome INTEGER NOT NULL,
        score REAL,
        uncertainty REAL,
        seconds REAL,
        detail BLOB,
        entry_id INTEGER NOT NULL,
        supersedes INTEGER,
        PRIMARY KEY (id)
    )
    """,
    """
    CREATE INDEX verdict_key ON verdict ("key")
    """,
    """
    CREATE INDEX verdict_supersedes ON verdict (supersedes) WHERE supersedes IS NOT NULL
    """,
    """
    CREATE TABLE verifier (
        id INTEGER NOT NULL,
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        tier INTEGER NOT NULL,
        unit TEXT NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (name, version, tier, unit)
    )
    """,
    """
    CREATE TABLE verifier_source (
        id INTEGER NOT NULL,
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (name, version, digest)
    )
    """,
    """
    CREATE TABLE appearance (
        candidate INTEGER NOT NULL,
        entry_id INTEGER NOT NULL,
        place INTEGER NOT NULL,
        PRIMARY KEY (candidate, entry_id, place),
        FOREIGN KEY(entry_id) REFERENCES entry (id)
    )
     WITHOUT ROWID
    """,
    """
    CREATE TABLE asked (
        check_key BLOB NOT NULL,
        campaign TEXT NOT NULL,
        PRIMARY KEY (check_key, campaign),
        FOREIGN KEY(check_key) REFERENCES check_queue (check_key)
    )
     WITHOUT ROWID
    """,
    """
    CREATE INDEX asked_campaign ON asked (campaign)
    """,
    """
    CREATE TABLE request (
        id INTEGER NOT NULL,
        check_key BLOB NOT NULL,
        campaign TEXT NOT NULL,
        run TEXT NOT NULL,
        step INTEGER NOT NULL,
        position INTEGER NOT NULL,
        content_key BLOB NOT NULL,
        state BLOB NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (check_key, campaign, run, step, position),
        FOREIGN KEY(check_key) REFERENCES check_queue (check_key)
    )
    """,
    """
    CREATE INDEX request_campaign ON request (campaign, id)
    """,
    """
    CREATE TABLE span (
        campaign TEXT NOT NULL,
        run TEXT NOT NULL,
        step INTEGER NOT NULL,
        entry_id INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (campaign, run, step, entry_id, first),
        FOREIGN KEY(entry_id) REFERENCES entry (id)
    )
     WITHOUT ROWID
    """,
)
_HISTORY = (
    "entry",
    "canonicaliser",
    "alias",
    "verifier",
    "verdict",
    "span",
    "appearance",
    "appearance_until",
    "campaign",
    "run",
    "verifier_source",
    "inbox",
)


def upgrade() -> None:
    """Make the tables and the guards that refuse to change history."""
    for statement in _TABLES:
        op.execute(statement)
    for table in _HISTORY:
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_{verb.lower()}_refused BEFORE {verb} ON {table} BEGIN "
                f"SELECT RAISE(ABORT, 'the ledger is append-only: {table} rows are never changed "
                "or deleted'); END"
            )
