"""Alerts: somebody hears of budgets that run out, of drift, of dead checks, of a queue that waits.

What is alerted about follows from the ledger alone, so that a restart neither loses an alert nor
sends it once more.
"""

from verifier_ladder.alerts.rules import AlertRules, load_rules

__all__ = ["AlertRules", "load_rules"]
