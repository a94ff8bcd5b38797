"""verifier-ladder: rewards from verifiers that cost from microseconds to weeks.

Everything a user needs is imported from here; heavy parts load when first touched.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verifier_ladder.artifact import Artifact
    from verifier_ladder.asynchronous import AsyncVerifier
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.candidate import (
        Candidate,
        Sample,
        SampleId,
        Terminate,
        ToolCall,
        Turn,
    )
    from verifier_ladder.canonicaliser import Canonicaliser
    from verifier_ladder.case import Case
    from verifier_ladder.client import AsyncClient, Client
    from verifier_ladder.command import CommandVerifier
    from verifier_ladder.cost import Cost
    from verifier_ladder.decision import (
        Action,
        Belief,
        Decision,
        Decisions,
        EscalationPolicy,
        Situation,
    )
    from verifier_ladder.endpoint import EndpointVerifier
    from verifier_ladder.errors import (
        BudgetError,
        CandidateError,
        ConfigError,
        EngineError,
        LadderError,
        LeaseError,
        LedgerError,
        PluginError,
        SandboxError,
        ServiceError,
        ToolError,
        VerifierError,
    )
    from verifier_ladder.function import verifier, wrap
    from verifier_ladder.httpservice import HttpService
    from verifier_ladder.ladder import Ladder
    from verifier_ladder.ledger import Ledger, open_ledger
    from verifier_ladder.rate import Rate
    from verifier_ladder.reward import Revision, Reward, RewardRule
    from verifier_ladder.rollouts import score_file
    from verifier_ladder.run import Run
    from verifier_ladder.services.service import Service
    from verifier_ladder.target import Target
    from verifier_ladder.taskenvironment import Environment, StepResult
    from verifier_ladder.tier import Tier
    from verifier_ladder.tiers.fast.actionguard import ActionGuard
    from verifier_ladder.transcript import Transcript
    from verifier_ladder.verdict import Outcome, TurnVerdict, Verdict
    from verifier_ladder.verifiers import Verifier

__version__ = "0.1.0"

_HOMES = {
    "Action": "decision", "ActionGuard": "tiers.fast.actionguard",
    "Artifact": "artifact", "AsyncClient": "client",
    "AsyncVerifier": "asynchronous", "Belief": "decision", "BudgetError": "errors",
    "Campaign": "campaign", "Candidate": "candidate", "CandidateError": "errors",
    "Canonicaliser": "canonicaliser", "Case": "case", "Client": "client",
    "CommandVerifier": "command", "ConfigError": "errors", "Cost": "cost",
    "Decision": "decision", "Decisions": "decision", "EndpointVerifier": "endpoint",
    "EngineError": "errors", "Environment": "taskenvironment",
    "EscalationPolicy": "decision", "HttpService": "httpservice",
    "Ladder": "ladder", "LadderError": "errors",
    "LeaseError": "errors", "Ledger": "ledger", "LedgerError": "errors", "Outcome": "verdict",
    "PluginError": "errors", "Rate": "rate", "Revision": "reward", "Reward": "reward",
    "RewardRule": "reward",
    "Run": "run", "Sample": "candidate", "SampleId": "candidate", "SandboxError": "errors",
    "Service": "services.service", "ServiceError": "errors",
    "Situation": "decision", "StepResult": "taskenvironment", "Target": "target", "Tier": "tier",
    "ToolError": "errors",
    "Terminate": "candidate", "ToolCall": "candidate", "Transcript": "transcript",
    "Turn": "candidate", "TurnVerdict": "verdict", "Verdict": "verdict",
    "Verifier": "verifiers", "VerifierError": "errors", "open_ledger": "ledger",
    "score_file": "rollouts", "verifier": "function", "wrap": "function",
}  # fmt: skip

__all__ = [
    "Action", "ActionGuard", "Artifact", "AsyncClient", "AsyncVerifier",
    "Belief", "BudgetError", "Campaign", "Candidate",
    "CandidateError", "Canonicaliser", "Case", "Client", "CommandVerifier", "ConfigError",
    "Cost", "Decision", "Decisions", "EndpointVerifier", "EngineError",
    "Environment", "EscalationPolicy", "HttpService", "Ladder",
    "LadderError", "LeaseError", "Ledger", "LedgerError", "Outcome", "PluginError", "Rate",
    "Revision", "Reward", "RewardRule", "Run", "Sample", "SampleId", "SandboxError", "Service",
    "ServiceError", "Situation",
    "StepResult", "Target", "Terminate", "Tier", "ToolCall", "ToolError", "Transcript", "Turn",
    "TurnVerdict", "Verdict", "Verifier", "VerifierError", "open_ledger", "score_file",
    "verifier", "wrap",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"verifier_ladder.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*globals(), *__all__])
