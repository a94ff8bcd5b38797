"""Expert cases: a question that a person answers with a score."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.tags import domain_of
from verifier_ladder.tiers.world.case import WorldVerifier, check_bounds


class ExpertSettings(BaseModel):
    """Settings of `ExpertCase` that a campaign's row may choose."""

    ask: Annotated[str, Field(max_length=2000)]
    kind: Annotated[str, Field(pattern=r"^[\w.-]{1,60}$")]
    low: float
    high: float
    unit: Annotated[str, Field(max_length=40)]
    readers: Literal[1, 2] = 1
    tolerance: Annotated[float, Field(ge=0.0)] = 0.0
    third_reader: bool = True


class ExpertCase(WorldVerifier):
    """Asks a person to score every candidate that climbs this far.

    Example:
        >>> expert = ExpertCase(ask="How easy is it to make?", low=1, high=5)
        >>> expert.question(Candidate("molecule", "CCO"))
        "How easy is it to make? 'CCO' (a number from 1 to 5)"
    """

    name = "expert-case"
    version = "1"
    capabilities = ("reasoning",)
    cost = Cost(person_minutes=5.0)
    data_settings = ExpertSettings

    @checked()
    def __init__(
        self,
        *,
        ask: str = "How good is it?",
        kind: str = "molecule",
        low: float = 0.0,
        high: float = 10.0,
        unit: str = "",
        readers: int = 1,
        tolerance: float = 0.0,
        third_reader: bool = True,
    ) -> None:
        """Word the question.

        Args:
            ask: The question.
            kind: Kind of candidate it is about.
            low: Smallest score.
            high: Largest score.
            unit: Unit of the score.
            readers: How many people read each case without seeing each other's answers: 1, or
                2 who must agree.
            tolerance: How far two scores may lie apart and still agree.
            third_reader: Whether a third is asked where two disagree; else nothing is known.

        Raises:
            ConfigError: If the question is empty or the bounds make no sense.
        """
        if not ask.strip():
            raise ConfigError("an expert case needs a question: set ask")
        check_bounds(low, high)
        self.kind, self.low, self.high, self.unit = kind, float(low), float(high), unit
        self.readers, self.tolerance, self.third_reader = readers, tolerance, third_reader
        self.ask, self.domain = ask.strip(), domain_of(kind)
        super().__init__(ask=self.ask, kind=kind, low=self.low, high=self.high, unit=unit)
        if readers > 1:
            self.cost = Cost(person_minutes=readers * self.cost.person_minutes)

    def question(self, candidate: Candidate) -> str:
        """The question, the candidate, and what may be answered."""
        unit = f" {self.unit}" if self.unit else ""
        yes = "yes, no, or " if self.takes_yes else ""
        wanted = f"{yes}a number from {self.low:g} to {self.high:g}{unit}"
        return f"{self.ask} {candidate.content!r} ({wanted})"
