"""How Alembic runs the migrations: on the connection it is given, inside its transaction."""

from __future__ import annotations

from alembic import context

from verifier_ladder.ledger.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=False,  # The caller's transaction holds all migrations together.
)
context.run_migrations()
