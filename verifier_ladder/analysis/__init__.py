"""Analysis: every question about a ledger, for commands, pages and reports alike."""
