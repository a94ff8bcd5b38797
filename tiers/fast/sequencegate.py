"""The sequence gate: criteria on what the sequence of a protein says without any structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.criteria import FIELD, SHARE, Criteria, Quantity, Window
from verifier_ladder.tiers.fast.sequence import (
    MEASURES,
    MOST_WAYS,
    motif,
    motifs_in,
    protein_of,
    ways,
)
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.verdict import Verdict

MOTIFS = "motifs"
QUANTITIES: Mapping[str, Quantity] = {
    "length": Quantity("the number of residues", "add residues", "take residues away"),
    "chains": Quantity("the number of chains", "add chains", "take chains away"),
    "charge": Quantity(
        "the charge", "put K or R in the place of D or E", "put D or E in the place of K or R"
    ),
    "weight": Quantity("the molecular weight", "add residues", "take residues away", "Da"),
    "hydropathy": Quantity(
        "the mean hydropathy", "use more of I, V, L and F", "use more of R, K, D, E, N and Q"
    ),
    "extinction": Quantity(
        "the extinction coefficient", "use more W and Y", "use fewer W and Y", "L/mol/cm"
    ),
    "cysteines": Quantity("the number of cysteines", "use more C", "use fewer C"),
    "longest_run": Quantity(
        "the longest run of one amino acid", "repeat one more often", "break the run up"
    ),
    "complexity": Quantity(
        "the least entropy of twelve neighbours", "use more different amino acids close together",
        "repeat amino acids", "bits", 1e-4,
    ),
    MOTIFS: Quantity("the number of motifs", "write them", "write another sequence at the motifs"),
}  # fmt: skip
"""What criteria can be about."""
Name = Literal[
    "length", "chains", "charge", "weight", "hydropathy", "extinction", "cysteines", "longest_run",
    "complexity", "motifs",
]  # fmt: skip
SIZE: Mapping[str, Mapping[str, float]] = {"length": {"least": 10, "most": 1000}}
"""The criteria where none are set."""
_MOST_MOTIFS, _LONGEST_MOTIF = 20, 60
_MOST_WAYS = 2 * MOST_WAYS
"""In which the ranges of all motifs may be met: those of the longest sequence that is read then
take a few seconds, well below the timeout, which is held against candidates."""
_READING = 5e-5
"""Seconds of a protein of 30 residues, its verdict included, as measured."""


class SequenceGateSettings(BaseModel):
    """Settings of `SequenceGate` that a campaign's row may choose for a worker."""

    criteria: Annotated[dict[Name, Window], Field(max_length=len(QUANTITIES))]
    score: Literal["criteria"]
    field: Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]
    motifs: Annotated[
        list[Annotated[str, Field(max_length=_LONGEST_MOTIF)]], Field(max_length=_MOST_MOTIFS)
    ]


class SequenceGate(SingleVerifier):
    """Rejects what is no protein, and proteins whose sequence leaves the criteria.

    Criteria are windows (`molecule-properties` says how they are written), of the settings and of
    the task, on `length` and `chains`, `charge` (K and R less D and E), `weight` in Da,
    `hydropathy` (mean, Kyte and Doolittle 1982), `extinction` at 280 nm, `cysteines`, the
    `longest_run` of one amino acid, `complexity` (the least entropy of twelve neighbours, bits:
    what is low is disordered or a repeat, and predictors are sure of it all the same) and
    `motifs`, how often those of the setting occur, which is never unless a window says else.

    Motifs have the notation of PROSITE: `N-{P}-[ST]-{P}`, or letters alone.

    Example:
        >>> gate = SequenceGate(motifs=["KDEL"])
        >>> [v.reason for v in gate.judge([Candidate("protein", "MKTAYIAKQRQISFVKDEL")])]
        ['the number of motifs is 1 (KDEL); the criterion is at most 0']
    """

    name = "sequence-gate"
    version = "1"
    tier = Tier.FAST
    kind = "protein"
    domain = "biology"
    capabilities = ("reasoning",)
    role = "gate"
    definitive = True
    cost = Cost(seconds=5e-5)
    timeout = 10.0
    task_fields = (FIELD,)
    control = Candidate("protein", "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVK")
    data_settings = SequenceGateSettings

    @checked()
    def __init__(
        self,
        *,
        criteria: Mapping[str, Mapping[str, Any]] | None = None,
        score: str = SHARE,
        field: str = FIELD,
        motifs: Sequence[str] = (),
    ) -> None:
        """Set the criteria.

        Args:
            criteria: Windows by name; a task may name more. 10 to 1000 residues by default.
            score: `criteria`: a gate has no other score.
            field: The task's field with criteria for this verifier.
            motifs: Those that may not occur, unless a window of `motifs` says how often.

        Raises:
            ConfigError: If a name is unknown, or a window or motif makes no sense.
        """
        if score != SHARE:
            raise ConfigError(f"score={score!r:.60}: a gate has none but {SHARE!r}")
        if len(motifs) > _MOST_MOTIFS or any(len(each) > _LONGEST_MOTIF for each in motifs):
            raise ConfigError(
                f"motifs: give at most {_MOST_MOTIFS}, each of at most {_LONGEST_MOTIF} characters"
            )
        try:
            self._motifs = {each: motif(each) for each in motifs}
        except ValueError as error:
            raise ConfigError(f"motifs: {error}") from None
        if sum(map(ways, motifs)) > _MOST_WAYS:
            raise ConfigError(
                f"motifs: the ranges of all, such as x(2,4), may be met in at most {_MOST_WAYS} "
                "ways together; give fewer, or narrower ranges"
            )
        windows = dict(SIZE if criteria is None else criteria)
        if motifs:
            windows.setdefault(MOTIFS, {"most": 0})
        self._criteria = Criteria(QUANTITIES, windows, score, field)
        self.task_fields = (field,)
        super().__init__(motifs=list(motifs), **self._criteria.settings)
        self.features = self._criteria.features

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by what is measured."""
        windows = self._criteria.of(candidate.task)
        return Cost(seconds=_READING + self._criteria.seconds(windows))

    def examine(self, candidate: Candidate) -> Verdict:
        """Read the sequence and measure what is wanted."""
        windows = self._criteria.of(candidate.task)
        chains = protein_of(candidate.content)
        values = {name: MEASURES[name](chains) for name in windows if name != MOTIFS}
        found = motifs_in(chains, self._motifs) if MOTIFS in windows else {}
        if MOTIFS in windows:
            values[MOTIFS] = float(sum(found.values()))
        return self._criteria.verdict(
            windows, values, {MOTIFS: ", ".join(found)}, evidence={"found": found} if found else {}
        )
