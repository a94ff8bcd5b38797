"""What can go wrong, one class per boundary that was crossed.

    LadderError
     ├── CandidateError   the candidate is bad: the learner's fault, a reject
     ├── VerifierError    a verifier raised, or answered nonsense (AnswerError)
     ├── ToolError        a tool a verifier uses failed (ServiceError: a service's process did)
     ├── SandboxError     untrusted code could not be contained
     ├── EngineError      a worker crashed, hung or ran out of memory
     ├── BudgetError      the work is not affordable
     ├── LeaseError       somebody else owns this check now
     ├── LedgerError      the ledger can't be read or written
     ├── ConfigError      what the user asked for can't be: says what to do instead
     └── PluginError      an installed plugin can't be loaded

Only `CandidateError` lowers a reward by itself.
Every other one makes the verifier abstain and is noted as `failed_at`, unless a candidate brings
it about again and again while others are judged well: then that candidate is rejected.
"""

from __future__ import annotations

from typing import ClassVar, Final

from verifier_ladder.text import plain_lines

_HEAD: Final = 600
_TAIL: Final = 380
"""Characters of a longer message that are kept: what to do stands at its end."""


class LadderError(Exception):
    """Something in verifier-ladder failed."""

    boundary: ClassVar[str] = "ladder"
    """Name of the boundary, as stored in `Verdict.failed_at`."""
    cause: ClassVar[str] = ""
    """What content may have to do with it, as stored in a failure's evidence; "" for nothing."""

    def __init__(self, message: str | None = None) -> None:
        """Take the class docstring as the message when none is given.

        Messages repeat what users and models wrote: they are cut, and hold nothing that a
        terminal obeys.
        """
        told = message or (type(self).__doc__ or "").split("\n", maxsplit=1)[0]
        if len(told) > _HEAD + _TAIL:
            told = f"{told[:_HEAD]} … {told[-_TAIL:]}"
        super().__init__(plain_lines(told))


class CandidateError(LadderError):
    """The candidate is not what it claims to be."""

    boundary = "candidate"

    def __init__(self, message: str | None = None, *, feedback: str = "") -> None:
        """Say what is wrong, and in `feedback` what a student model should do instead."""
        super().__init__(message)
        self.feedback = feedback


class VerifierError(LadderError):
    """The verifier raised an error or answered with something that is not a verdict."""

    boundary = "verifier"


class AnswerError(VerifierError):
    """The verifier answered with something that is no verdict, such as a score without end."""

    cause = "answer"


class ToolError(LadderError):
    """A tool that the verifier needs failed or is not installed."""

    boundary = "tool"


class ServiceError(ToolError):
    """The process of a service can't be started, or dies; see `verifier_ladder.services`."""


class SandboxError(LadderError):
    """Untrusted code could not be run in a sandbox."""

    boundary = "sandbox"


class EngineError(LadderError):
    """A worker process crashed, ran past its time limit or out of memory."""

    boundary = "engine"


class BudgetError(LadderError):
    """The budget does not pay for this work."""

    boundary = "budget"


class LeaseError(LadderError):
    """The lease on this check ran out and another worker holds it now."""

    boundary = "lease"


class LedgerError(LadderError):
    """The ledger could not be read or written."""

    boundary = "ledger"


class LedgerAwayError(LedgerError):
    """The ledger's server is away, or its disk is full: the call may be made again as it was."""


class ConfigError(LadderError):
    """The configuration can't work as given."""

    boundary = "config"


class PluginError(LadderError):
    """A plugin is installed but can't be loaded."""

    boundary = "plugin"
