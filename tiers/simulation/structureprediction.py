"""The verifier `structure-prediction`: what programs of the host predict of a protein."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError, LadderError, ToolError
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.criteria import FIELD, SHARE, Criteria, Quantity, Window
from verifier_ladder.tiers.fast.sequence import protein_of
from verifier_ladder.tiers.simulation.conformer import UnsolvedError
from verifier_ladder.tiers.simulation.hostprogram import LONGEST
from verifier_ladder.tiers.simulation.modelagreement import SHORTEST, agreement
from verifier_ladder.tiers.simulation.predictors import (
    PROFILES,
    SYNTHETIC,
    Prediction,
    Program,
    Request,
    predict,
    program,
    programs,
    versions_of,
)
from verifier_ladder.tiers.simulation.proteinmodel import CROWD, crowd, gemmi, geometry
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

_FOLD = "propose a sequence that folds"
_BURIED = "propose a sequence whose fold has room for its side chains"
QUANTITIES: Mapping[str, Quantity] = {
    "plddt": Quantity("pLDDT", _FOLD, "propose a less ordered sequence"),
    "ptm": Quantity("pTM", _FOLD, "propose a less ordered sequence"),
    "iptm": Quantity("ipTM", "propose chains that bind each other", "propose chains that don't"),
    "pae": Quantity("the mean PAE", "propose a less ordered sequence", _FOLD, "Å"),
    "clashes": Quantity("the number of clashes in 1000 atoms", "crowd the fold", _BURIED),
    "chirality": Quantity("the number of mirrored residues", "mirror some", _FOLD),
    "bonds": Quantity("the share of bonds that are off", "stretch some", _FOLD, "%"),
    "angles": Quantity("the share of angles that are off", "bend some", _FOLD, "%"),
    "breaks": Quantity("the number of chain breaks", "break a chain", _FOLD),
    "twisted": Quantity("the share of twisted peptides", "twist some", _FOLD, "%"),
    "cis": Quantity("the number of cis peptides before other residues than proline",
                    "turn some over", _FOLD),
    "crowd": Quantity("the number of a chain's heavy atoms in a cube of 3 Å", "crowd the fold",
                      _BURIED),
    "agreement_lddt": Quantity("the lDDT of two predictors", _FOLD, "propose a harder sequence"),
    "agreement_tm": Quantity("the TM-score of two predictors", _FOLD, "propose a harder sequence"),
}  # fmt: skip
"""What criteria can be about."""
Name = Literal[
    "plddt", "ptm", "iptm", "pae", "clashes", "chirality", "bonds", "angles", "breaks", "twisted",
    "cis", "crowd", "agreement_lddt", "agreement_tm",
]  # fmt: skip
AGREEMENT = ("agreement_lddt", "agreement_tm")
SOUND: Mapping[str, Mapping[str, float]] = {
    "plddt": {"least": 70, "margin": 20}, "clashes": {"most": 5, "margin": 20},
    "chirality": {"most": 0}, "breaks": {"most": 0}, "bonds": {"most": 2, "margin": 10},
    "angles": {"most": 5, "margin": 10},
}  # fmt: skip
"""The criteria where none are set: the predictor is sure, and its model could exist."""
_COLLAPSED: Mapping[str, Window] = {"crowd": Window(most=CROWD)}
"""A criterion that is always kept: such a chain is none, however sure the predictor is."""
_MOST_RESIDUES = 2000
_TERMS = {name: profile.terms for name, profile in PROFILES.items() if profile.terms}
_MOST_BESIDE = 10
"""Kinds of what stands beside a protein that are told."""
_OVERHEAD = 5.0
_A_RESIDUE = 0.5
_DECLINED = 0.01
"""Seconds for a text that nothing is predicted of."""


@contextmanager
def _of_the_tool() -> Iterator[None]:
    """Whatever fails once a sequence is read is the tool's failure, and no candidate's.

    Raises:
        ToolError: If something fails.
    """
    try:
        yield
    except ToolError:
        raise
    except Exception as error:
        kind = "" if isinstance(error, LadderError) else f"{type(error).__name__}: "
        raise ToolError(f"{kind}{printable(error, 300)}") from error


class StructurePredictionSettings(BaseModel):
    """Settings of `StructurePrediction` that a campaign's row may choose for a worker.

    That sequences leave the host, or that terms are accepted, no row can say.
    """

    predictors: Annotated[list[Literal["boltz", "colabfold"]], Field(min_length=1, max_length=2)]
    criteria: Annotated[dict[Name, Window], Field(max_length=len(QUANTITIES))]
    score: Literal["criteria"] | Name
    field: Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]
    send_sequences: Literal[False]
    accept_terms: Annotated[list[str], Field(max_length=0)]
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)]
    max_residues: Annotated[int, Field(ge=1, le=_MOST_RESIDUES)]


class StructurePrediction(SingleVerifier):
    """Accepts a protein whose predicted structure keeps criteria.

    `predictors` names one or two of `alphafold3`, `boltz` and `colabfold`. Which program each is,
    the host says in a file (`VLADDER_PREDICTORS`); without it every check abstains and says how to
    install one. The first one's model is judged, and compared with the second's.

    Criteria are windows (`molecule-properties` says how they are written), of the settings and of
    the task, on

    - what a predictor says of itself: `plddt` (mean, 0 to 100), `ptm`, `iptm` (of two chains and
      more; 0.0 is a value), `pae` (mean, Å),
    - what the coordinates say: `clashes` (pairs of heavy atoms in 1000 that overlap by 0.8 Å),
      `chirality` (residues whose CA is no L-amino acid's), `bonds` and `angles` (% of those of
      backbone and CB that are off by 0.1 Å or 20°), `breaks` of a chain, `twisted` (% of peptides
      30° off their plane), `cis` (peptides before other residues than proline), `crowd` (the most
      heavy atoms of a chain in a cube of 3 Å: above 24 it has collapsed, and is always rejected),
    - how alike two predictors' models are: `agreement_lddt` and `agreement_tm`, of CA.

    **A predictor's confidence can be optimised**: sequences are found that it is sure of and that
    fold to nothing. Two predictors rarely err alike; geometry catches what neither would build.

    **Failures.** A prediction that is broken, not whole, or inconsistent with the sequence or with
    itself is a failure of the tool: nothing is known of the protein, and no candidate is ever
    rejected for it. A protein that is too large, or lacks what a criterion is about, such as the
    ipTM of one chain, is declined, and that is kept.

    **Terms.** Outputs of AlphaFold 3 come under terms that its makers set: choose it only with
    `accept_terms=["alphafold3"]`. Evidence names the terms, and exports leave it out by them
    (`vladder run export --without-terms alphafold3`).

    Example:
        >>> StructurePrediction(predictors=["boltz", "colabfold"], score="agreement_lddt").network
        False
    """

    name = "structure-prediction"
    version = "4"
    tier = Tier.SIMULATION
    kind = "protein"
    domain = "biology"
    capabilities = ("reasoning",)
    cost = Cost(seconds=30.0)
    timeout = 2 * LONGEST + 3600.0  # Whoever hangs may be rejected; the host's clocks come first.
    memory = 4 * 2**30
    batch_size = 1
    task_fields = (FIELD,)
    control = Candidate("protein", "MKTAYIAKQRQISFVKSHFSRQ")
    data_settings = StructurePredictionSettings

    @checked(seed=0, max_residues=1)
    def __init__(
        self,
        *,
        predictors: Sequence[str] = ("boltz",),
        criteria: Mapping[str, Mapping[str, Any]] | None = None,
        score: str = SHARE,
        field: str = FIELD,
        send_sequences: bool = False,
        accept_terms: Sequence[str] = (),
        seed: int = 1,
        max_residues: int = 800,
    ) -> None:
        """Choose the predictors and the criteria.

        Args:
            predictors: One or two of `alphafold3`, `boltz` and `colabfold`.
            criteria: Windows by name; a task may name more. By default pLDDT, and what no sound
                model lacks.
            score: A name whose value is the score of what is accepted, or `criteria`.
            field: The task's field with criteria for this verifier.
            send_sequences: Whether sequences may leave the host, as where the host's predictor
                asks a server for alignments.
            accept_terms: Names of terms that you have read and accept: `alphafold3`.
            seed: Of the predictors' random numbers.
            max_residues: Larger proteins are not predicted.

        Raises:
            ConfigError: If a name is unknown, terms are not accepted, or a setting makes no sense.
        """
        self._refuse(predictors, accept_terms, max_residues)
        self._criteria = Criteria(
            QUANTITIES, SOUND if criteria is None else criteria, score, field
        )
        if len(predictors) == 1 and any(n in AGREEMENT for n in (score, *self._criteria.windows)):
            raise ConfigError(f"agreement takes two predictors; there is {predictors[0]} alone")
        self.task_fields = (field,)
        self.network = send_sequences
        self._here = self._programs(predictors)
        self.cost = replace(self.cost, gpu_seconds=sum(each.gpu_seconds for each in self._here))
        super().__init__(
            predictors=list(predictors), send_sequences=send_sequences,
            accept_terms=sorted(set(accept_terms)), seed=seed, max_residues=max_residues,
            **self._criteria.settings,
        )  # fmt: skip
        self.unit = self._criteria.unit
        self.features = self._criteria.features
        self.tools = {**versions("gemmi", "biotite", "scipy"), **versions_of(predictors)}

    @staticmethod
    def _programs(predictors: Sequence[str]) -> list[Program]:
        with suppress(ConfigError):  # Who runs it is told.
            known = programs()
            return [known[name] for name in predictors if name in known]
        return []

    @property
    def max_processes(self) -> int | None:  # type: ignore[override]
        """No more workers than this host has GPUs for: one, until it is known which it has."""
        return min(
            (most for each in self._here if (most := each.at_once) is not None), default=None
        )

    @staticmethod
    def _refuse(predictors: Sequence[str], accepted: Sequence[str], residues: int) -> None:
        known = ", ".join(PROFILES)
        unknown = [name for name in predictors if name not in PROFILES]
        if unknown or len(set(predictors)) != len(predictors) or len(predictors) not in (1, 2):
            raise ConfigError(
                f"predictors={printable(list(predictors), 100)}: give one or two of {known}"
            )
        if strange := set(accepted) - {*_TERMS.values()}:
            raise ConfigError(f"accept_terms: there are no terms {printable(min(strange), 40)!r}")
        for name in predictors:
            if name in _TERMS and _TERMS[name] not in accepted:
                raise ConfigError(
                    f"outputs of {name} come under terms of their own (TERMS_OF_USE.md beside "
                    f"them): read those, and say accept_terms=[{_TERMS[name]!r}]"
                )
        if residues > _MOST_RESIDUES:
            raise ConfigError(f"max_residues={residues}: give at most {_MOST_RESIDUES}")

    def setup(self) -> None:
        """Load what reads models."""
        gemmi()

    @property
    def counts_gpu(self) -> bool:
        """Programs do, that of a prediction which fails too."""
        return True

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of residues; hardly anything of what is not predicted."""
        try:
            count = self._size(protein_of(candidate.content))
        except LadderError:
            return Cost(seconds=_DECLINED)
        times = len(self.settings["predictors"])
        seconds = round(times * (_OVERHEAD + _A_RESIDUE * count), 2)
        return replace(self.cost, seconds=seconds)

    def examine(self, candidate: Candidate) -> Verdict:
        """Have the structure predicted, and compare."""
        windows = self._criteria.of(candidate.task)
        wanted = self._criteria.wanted(windows)
        chains = protein_of(candidate.content)
        self._refuse_undefined(chains, wanted)
        return self._compared(self.predictions(chains), windows, wanted)

    def _compared(
        self, said: Mapping[str, Prediction], windows: Mapping[str, Window], wanted: Sequence[str]
    ) -> Verdict:
        with _of_the_tool():
            models = list(said.values())
            if _COLLAPSED["crowd"].beyond(crowd(models[0].model)):
                windows, wanted = _COLLAPSED, list(_COLLAPSED)  # It alone is held against it.
            values = self._values(models, wanted)
        terms = sorted({_TERMS[name] for name in said if name in _TERMS})
        return self._criteria.verdict(
            windows, values,
            evidence={
                "predictors": {name: self._told(name, each) for name, each in said.items()},
                **({"terms": terms} if terms else {}),
                **({"note": SYNTHETIC} if self._is_synthetic else {}),
            },
        )  # fmt: skip

    def _refuse_undefined(self, chains: Sequence[str], wanted: Sequence[str]) -> None:
        """Decline what a criterion can't be about, before any work.

        Raises:
            UnsolvedError: If it is.
        """
        size = sum(map(len, chains))
        if len(chains) == 1 and "iptm" in wanted:
            raise UnsolvedError("there is no ipTM of one chain")
        if any(name in AGREEMENT for name in wanted) and len(self.settings["predictors"]) == 1:
            raise UnsolvedError("the task's criteria take two predictors; there is one")
        if "agreement_tm" in wanted and size < SHORTEST:
            raise UnsolvedError(f"a TM-score says nothing of fewer than {SHORTEST} residues")
        if "agreement_lddt" in wanted and max(map(len, chains)) == 1:
            raise UnsolvedError("an lDDT says nothing of chains of one residue")

    def predictions(self, chains: tuple[str, ...]) -> dict[str, Prediction]:
        """What the predictors say, none of which is run before all may be.

        It is asked for anew: whatever a higher tier computes with a model asks here too, and a
        program that keeps what it has predicted spares it the time.

        Args:
            chains: The protein, as `protein_of` reads it.

        Raises:
            UnsolvedError: If it is larger than `max_residues`.
            ToolError: If one is not there, would send sequences elsewhere, or fails.
        """
        self._size(chains)
        with _of_the_tool():
            found = {name: self._program(name) for name in self.settings["predictors"]}
            return {
                name: predict(name, Request(chains, self.settings["seed"], each.sends))
                for name, each in found.items()
            }

    def _size(self, chains: Sequence[str]) -> int:
        """How many residues are predicted.

        Raises:
            UnsolvedError: If they are too many.
        """
        size, most = sum(map(len, chains)), self.settings["max_residues"]
        if size > most:
            raise UnsolvedError(f"{size} residues are too many; {most} are predicted")
        return size

    def _program(self, name: str) -> Program:
        """A program that may be run.

        Raises:
            ToolError: If it is not there, would send sequences elsewhere, or is another version.
        """
        found = program(name)
        if found.sends and not self.settings["send_sequences"]:
            raise ToolError(
                f"{name} of this host sends sequences elsewhere; say send_sequences=True to allow "
                "it, or have the host set up one that doesn't"
            )
        if found.told != self.tools[name]:
            raise ToolError(
                f"{name} of this host is version {found.told}, and the campaign's is "
                f"{self.tools[name]}; open it where VLADDER_PREDICTORS says the same"
            )
        return found

    def _values(self, said: Sequence[Prediction], wanted: Sequence[str]) -> dict[str, float]:
        """What was asked for.

        Raises:
            ToolError: If the predictor did not tell it.
        """
        first = said[0]
        values = {
            **first.confidences, **geometry(first.model), "crowd": float(crowd(first.model))
        }  # fmt: skip
        if any(name in AGREEMENT for name in wanted):
            values |= agreement(first.model, said[1].model)
        if lacking := [name for name in wanted if name not in values]:
            raise ToolError(f"{self.settings['predictors'][0]} told no {lacking[0]}")
        return values

    @staticmethod
    def _told(name: str, said: Prediction) -> dict[str, Any]:
        beside = dict(islice(said.model.besides.items(), _MOST_BESIDE))
        return {
            "version": versions_of([name])[name], **said.confidences, **said.facts,
            **({"left out": beside} if beside else {}),
        }  # fmt: skip

    @property
    def _is_synthetic(self) -> bool:
        return any(SYNTHETIC in self.tools[name] for name in self.settings["predictors"])
