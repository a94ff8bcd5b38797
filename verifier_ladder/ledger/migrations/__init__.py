"""Schemas of the ledger file, one Alembic revision each."""
