"""Pages about a ledger: who won, is something wrong, what was spent, and why one climbed."""
