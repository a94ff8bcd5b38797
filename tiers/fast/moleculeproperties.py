"""The verifier `molecule-properties`: criteria on what RDKit says of a molecule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ToolError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.criteria import FIELD, SHARE, Criteria, Quantity, Window
from verifier_ladder.tiers.fast.molecule import as_text, parse_single, rdkit
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

_POLAR, _APOLAR = "add polar groups or take carbon away", "take polar groups away or add carbon"
_LARGER, _SMALLER = "propose a larger molecule", "propose a smaller molecule"
_REPLACE = "replace the groups that the reason names"
_SHOWN = 5
"""Alerts that are named in words."""
QUANTITIES: Mapping[str, Quantity] = {
    "qed": Quantity(
        "QED", "come nearer to the size, polarity and few alerts of oral drugs",
        "leave the range of oral drugs", seconds=1.2e-3,
    ),
    "sa_score": Quantity(
        "the synthetic accessibility score", "propose a more complex molecule",
        "use common fragments, fewer stereocentres and fewer bridged or large rings", seconds=5e-4,
    ),
    "logp": Quantity("logP", _APOLAR, _POLAR, seconds=2e-4),
    "tpsa": Quantity(
        "the polar surface", "add groups with nitrogen or oxygen",
        "take groups with nitrogen or oxygen away", "Å²",
    ),
    "molecular_weight": Quantity("the molecular weight", _LARGER, _SMALLER, "g/mol"),
    "rings": Quantity("the number of rings", "add a ring", "open a ring or take it away"),
    "largest_ring": Quantity("the largest ring's size", "use a larger ring", "use smaller rings"),
    "rotatable_bonds": Quantity(
        "the number of rotatable bonds", "make chains longer", "shorten chains or close rings",
    ),
    "donors": Quantity("the number of N-H and O-H", "add OH or NH", "take OH or NH away"),
    "acceptors": Quantity("the number of N and O", "add N or O", "take N or O away"),
    "lipinski_violations": Quantity(
        "the number of broken rules of five", "leave the range of oral drugs",
        "stay within 500 g/mol, logP 5, 5 N-H and O-H, 10 N and O", seconds=1e-4,
    ),
    "pains": Quantity("the number of PAINS alerts", "use such groups", _REPLACE, seconds=2e-3),
    "brenk": Quantity("the number of Brenk alerts", "use such groups", _REPLACE, seconds=4e-4),
}  # fmt: skip
"""What criteria can be about."""
Name = Literal[
    "qed", "sa_score", "logp", "tpsa", "molecular_weight", "rings", "largest_ring",
    "rotatable_bonds", "donors", "acceptors", "lipinski_violations", "pains", "brenk",
]  # fmt: skip
_PARSING = 1e-4


class PropertiesSettings(BaseModel):
    """Settings of `MoleculeProperties` that a campaign's row may choose for a worker."""

    criteria: Annotated[dict[Name, Window], Field(max_length=len(QUANTITIES))]
    score: Literal["criteria"] | Name
    field: Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]


class MoleculeProperties(SingleVerifier):
    """Accepts a molecule that keeps every criterion of the settings and of the task.

    A criterion is a window, `{"least": …, "most": …, "margin": …}`, by name: `qed` (Bickerton
    2012), `sa_score` (Ertl and Schuffenhauer 2009), `logp` (Wildman and Crippen 1999), `tpsa`
    (Ertl 2000; N and O), `molecular_weight`, `rings` (independent cycles), `largest_ring` (its
    atoms), `rotatable_bonds` (without amides), `donors` and `acceptors` (N-H and O-H, N and O),
    `lipinski_violations`, and the structural alerts `pains` (Baell and Holloway 2010) and `brenk`
    (Brenk 2008), which are counted.

    Named scores say how far each criterion is kept, from 0 to 1; the evidence holds the values.
    The score is 1, and of a reject the mean of the named scores; with `score` it is a value.

    **Limits.** QED, logP and the accessibility score are estimates for molecules like those that
    they were made of, and search drives them to molecules that do not exist: put `molecule-gate`
    before, and bound the score from both sides. A molecule is judged as it is written: another
    tautomer or charge state has other properties, ions are taken as they are, isotopes weigh what
    they weigh, unpaired electrons are left to the gate. Several molecules side by side, and
    placeholders, are rejected.

    Example:
        >>> verifier = MoleculeProperties(criteria={"logp": {"least": 0, "most": 1}})
        >>> verdicts = verifier.judge([Candidate("molecule", s) for s in ("CCCO", "CCCCCC")])
        >>> [verdict.score for verdict in verdicts]
        [1.0, 0.0]
        >>> verdicts[1].reason
        'logP is 2.5866; the criterion is 0 to 1'
    """

    name = "molecule-properties"
    version = "1"
    tier = Tier.FAST
    kind = "molecule"
    domain = "chemistry"
    capabilities = ("reasoning",)
    cost = Cost(seconds=1e-3)
    timeout = 10.0
    task_fields = ("criteria",)
    control = Candidate("molecule", "CCO", task={"criteria": {"logp": {"most": 5}}})
    data_settings = PropertiesSettings

    @checked()
    def __init__(
        self,
        *,
        criteria: Mapping[str, Mapping[str, Any]] | None = None,
        score: str = SHARE,
        field: str = FIELD,
    ) -> None:
        """Set the criteria.

        Args:
            criteria: Windows by name; a task may name more.
            score: A name whose value is the score of what is accepted, or `criteria`.
            field: The task's field with criteria for this verifier.

        Raises:
            ConfigError: If a name is unknown, or a window makes no sense.
        """
        self._criteria = Criteria(QUANTITIES, criteria or {}, score, field)
        self.task_fields = (field,)
        super().__init__(**self._criteria.settings)
        self.unit = self._criteria.unit
        self.features = self._criteria.features
        self.tools = versions("rdkit")

    def setup(self) -> None:
        """Load what its own criteria need."""
        for name in self._criteria.wanted(self._criteria.windows):
            _measured(name, rdkit().MolFromSmiles("CCO"))

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by what is measured."""
        windows = self._criteria.of(candidate.task)
        return Cost(seconds=_PARSING + self._criteria.seconds(windows))

    def examine(self, candidate: Candidate) -> Verdict:
        """Measure what is wanted, and compare."""
        windows = self._criteria.of(candidate.task)
        molecule = parse_single(as_text(candidate.content))
        found = {name: _measured(name, molecule) for name in self._criteria.wanted(windows)}
        alerts = {name: alerts for name, (_, alerts) in found.items() if alerts}
        return self._criteria.verdict(
            windows,
            {name: value for name, (value, _) in found.items()},
            {name: ", ".join(each[:_SHOWN]) for name, each in alerts.items()},
            evidence={"alerts": alerts} if alerts else {},
        )


# ---- What is measured


def _measured(name: str, molecule: Any) -> tuple[float, list[str]]:
    """A quantity's value, and the names of the alerts that it counts."""
    if name in _CATALOGS:
        alerts = [entry.GetDescription() for entry in _catalog(name).GetMatches(molecule)]
        return float(len(alerts)), alerts
    # Rounded: a sum over atoms depends on their order in its last bits.
    return round(_MEASURES[name](molecule), 4), []


def _accessibility(molecule: Any) -> float:
    return float(_sascorer().calculateScore(molecule))


@cache
def _sascorer() -> Any:
    """RDKit's own program for the synthetic accessibility score, which is no module of it.

    Raises:
        ToolError: If this RDKit came without it.
    """
    from rdkit import RDConfig

    path = Path(RDConfig.RDContribDir, "SA_Score", "sascorer.py")
    spec = spec_from_file_location("verifier_ladder_sascorer", path)
    try:
        if spec is None or spec.loader is None:
            raise ImportError("no Python module")  # noqa: TRY301 - as if there were no file
        program = module_from_spec(spec)
        spec.loader.exec_module(program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # It leaves its table open.
            program.readFragmentScores()
    except (OSError, ImportError) as error:
        raise ToolError(
            f"the criterion sa_score needs {path} and its table fpscores.pkl.gz ({error}), which "
            "come with RDKit's wheels in the folder Contrib: pip install rdkit, or leave it out"
        ) from error
    return program


def _cycles(molecule: Any) -> float:
    """Independent cycles; how many rings RDKit sees in a cage depends on how it looks."""
    return float(molecule.GetNumBonds() - molecule.GetNumAtoms() + 1)


def _largest_ring(molecule: Any) -> float:
    return float(max(map(len, molecule.GetRingInfo().AtomRings()), default=0))


def _descriptor(name: str, module: str = "rdMolDescriptors") -> Callable[[Any], float]:
    """A function of RDKit's by its name there."""

    def measure(molecule: Any) -> float:
        return float(getattr(import_module(f"rdkit.Chem.{module}"), name)(molecule))

    return measure


_weight, _logp = _descriptor("MolWt", "Descriptors"), _descriptor("MolLogP", "Crippen")
_donors, _acceptors = _descriptor("CalcNumLipinskiHBD"), _descriptor("CalcNumLipinskiHBA")


def _violations(molecule: Any) -> float:
    """How many of the four bounds of the rule of five are broken."""
    bounds = ((_weight, 500), (_logp, 5), (_donors, 5), (_acceptors, 10))
    return float(sum(measure(molecule) > most for measure, most in bounds))


_CATALOGS = {"pains": "PAINS", "brenk": "BRENK"}


@cache
def _catalog(name: str) -> Any:
    """A published list of classes of structural alerts."""
    from rdkit.Chem.FilterCatalog import FilterCatalog, FilterCatalogParams

    return FilterCatalog(
        FilterCatalogParams(getattr(FilterCatalogParams.FilterCatalogs, _CATALOGS[name]))
    )


_MEASURES: Mapping[str, Callable[[Any], float]] = {
    "qed": _descriptor("qed", "QED"), "sa_score": _accessibility, "logp": _logp,
    "tpsa": _descriptor("CalcTPSA"),
    "molecular_weight": _weight, "rings": _cycles, "largest_ring": _largest_ring,
    "rotatable_bonds": _descriptor("CalcNumRotatableBonds"), "donors": _donors,
    "acceptors": _acceptors, "lipinski_violations": _violations,
}  # fmt: skip
