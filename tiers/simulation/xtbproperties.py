"""The verifier `xtb-properties`: criteria on gaps, dipoles and redox by extended tight binding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import ConfigError
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.criteria import FIELD, Criteria, Quantity, Window
from verifier_ladder.tiers.fast.molecule import as_text, rdkit
from verifier_ladder.tiers.simulation.conformer import (
    Geometry,
    UnsolvedError,
    conformer,
    parse_paired,
)
from verifier_ladder.tiers.simulation.xtb import (
    EV_PER_HARTREE,
    Xtb,
    fallbacks,
    field_seconds,
    geometry_seconds,
    load_tblite,
)
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.versions import versions
from verifier_ladder.verdict import Verdict

SHIFT = 4.8455
"""eV by which xTB overestimates what it takes to add or remove an electron: the empirical shift of
IPEA1-xTB (doi:10.1039/c7sc00601b)."""
_AFFINITY = "electron_affinity"
_ELECTRON_OUT, _ELECTRON_IN = "use electron-poor groups", "use electron-rich groups"
QUANTITIES: Mapping[str, Quantity] = {
    "gap": Quantity(
        "the gap between frontier orbitals", "shorten the conjugated system",
        "lengthen the conjugated system", "eV",
    ),
    "dipole": Quantity(
        "the dipole moment", "put polar groups on one side",
        "place polar groups so that they cancel, or take them away", "D",
    ),
    "ionisation_energy": Quantity("the ionisation energy", _ELECTRON_OUT, _ELECTRON_IN, "eV"),
    "electron_affinity": Quantity("the electron affinity", _ELECTRON_OUT, _ELECTRON_IN, "eV"),
    "oxidation_potential": Quantity("the oxidation potential", _ELECTRON_OUT, _ELECTRON_IN, "V"),
    "reduction_potential": Quantity("the reduction potential", _ELECTRON_OUT, _ELECTRON_IN, "V"),
}  # fmt: skip
"""What criteria can be about."""
_FIELDS: Mapping[str, tuple[tuple[int, bool], ...]] = {
    "gap": ((0, False),), "dipole": ((0, False),),
    "ionisation_energy": ((1, False), (0, False)), "electron_affinity": ((0, False), (-1, False)),
    "oxidation_potential": ((1, True), (0, True)), "reduction_potential": ((0, True), (-1, True)),
}  # fmt: skip
"""Which fields each takes: the charge that is added, and whether they are in the solvent. Of two
it is what the first one's energy lies above the second one's."""
Name = Literal[
    "gap", "dipole", "ionisation_energy", "electron_affinity", "oxidation_potential",
    "reduction_potential",
]  # fmt: skip
_DEVIATIONS = {
    "GFN2-xTB": {"dipole": 0.6, "ionisation_energy": 0.9, "electron_affinity": 0.4},
    "IPEA1-xTB": {"ionisation_energy": 0.8, "electron_affinity": 0.5},
    "GFN1-xTB": {"dipole": 0.8, "ionisation_energy": 1.4, "electron_affinity": 1.0},
}
"""D and eV: root-mean-square differences from published values of 177 molecules (dipole), 60
(ionisation) and 19 (affinity), which `benchmarks/xtb.py` holds with their sources."""
_MEASURED = {"relaxed": False, "conformers": 5}
"""Settings that these were found with, for neutral molecules: of others no deviation is told."""
_RELAXING = 15
"""Fields that relaxing a geometry takes."""


class XtbPropertiesSettings(BaseModel):
    """Settings of `XtbProperties` that a campaign's row may choose for a worker."""

    method: Literal["GFN2-xTB", "GFN1-xTB", "IPEA1-xTB"]
    criteria: Annotated[dict[Name, Window], Field(max_length=len(QUANTITIES))]
    score: Literal["criteria"] | Name
    field: Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")]
    relaxed: bool
    solvent: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,40}$")]
    electrode: Annotated[float, Field(ge=0, le=10)]
    conformers: Annotated[int, Field(ge=1, le=100)]
    max_iterations: Annotated[int, Field(ge=1, le=10_000)]


class XtbProperties(SingleVerifier):
    """Accepts a molecule that keeps criteria on its gap, dipole and redox by GFN-xTB.

    Criteria are windows (`molecule-properties` says how they are written), of the settings and of
    the task, on

    - `gap`, eV between the highest occupied and the lowest empty orbital,
    - `dipole`, D,
    - `ionisation_energy` and `electron_affinity`, eV: the difference to the molecule with one
      electron less or more, in the gas,
    - `oxidation_potential` and `reduction_potential`, V: the same in the `solvent`, against an
      electrode of known absolute potential.

    The geometry is that of MMFF94, and the ion's is the molecule's own (vertical). With
    `relaxed` each is relaxed by xTB before (adiabatic). From differences 4.8455 eV are taken,
    the empirical shift of IPEA1-xTB. The score is a value, the gap by default, or what
    `molecule-properties` has.

    **Accuracy.** By GFN2, dipoles of 177 molecules are 0.4 D too large on average, those of
    bromides by up to 1.9 D, that of nitrobenzene by 1.5. Ionisation energies of organic molecules
    are off by 0.4 eV on average, but those of chain alkanes are 1.5 to 1.8 eV too small, those of
    two silanes 2.2 and 2.5; by IPEA1 0.6 to 0.8, 1.4 and 1.7. Electron affinities of 19 molecules
    that bind the electron are off by 0.4 eV; of others nothing is known. A deviation is told of
    neutral molecules on the geometry of MMFF94, on which it was measured, and none of potentials.
    That geometry is wrong for some small molecules, see `conformer`: with it sulphur dioxide's
    dipole is 2.6 D too large. Potentials lack zero-point energies, entropies, proton transfer and
    what an ion does next. The gap is one of orbitals, no optical one, and to be compared between
    alike molecules only.

    **Abstains**, having considered it, for unpaired electrons, for the dipole of what is charged
    (it depends on the origin), where no orbital is empty, where bonds change as a geometry
    relaxes, and where the field does not converge after fallbacks while that of water does.
    Isotopes change nothing. Several molecules side by side, and placeholders, are rejected.

    Example:
        >>> task = {"criteria": {"dipole": {"most": 0.1}}}
        >>> verdicts = XtbProperties(score="criteria").judge([
        ...     Candidate("molecule", smiles, task=task) for smiles in ("N#N", "C#N")])
        >>> [verdict.outcome.value for verdict in verdicts]
        ['accept', 'reject']
    """

    name = "xtb-properties"
    version = "2"
    tier = Tier.SIMULATION
    kind = "molecule"
    domain = "chemistry"
    capabilities = ("reasoning",)
    cost = Cost(seconds=0.1)
    timeout = 120.0
    batch_size = 8
    task_fields = ("criteria",)
    control = Candidate("molecule", "O")
    data_settings = XtbPropertiesSettings

    @checked(conformers=1, max_iterations=1)
    def __init__(
        self,
        *,
        method: str = "GFN2-xTB",
        criteria: Mapping[str, Mapping[str, Any]] | None = None,
        score: str = "gap",
        field: str = FIELD,
        relaxed: bool = False,
        solvent: str = "water",
        electrode: float = 4.28,
        conformers: int = 5,
        max_iterations: int = 250,
    ) -> None:
        """Choose the method and the criteria.

        Args:
            method: `GFN2-xTB`, `GFN1-xTB` or `IPEA1-xTB`.
            criteria: Windows by name; a task may name more.
            score: A name whose value is the score of what is accepted, or `criteria`.
            field: The task's field with criteria for this verifier.
            relaxed: Whether geometries are relaxed by xTB, each in its charge and solvent.
            solvent: Of the potentials: one that ALPB has parameters for.
            electrode: Absolute potential, in V, of the electrode that potentials refer to: 4.28
                for hydrogen in water.
            conformers: How many embeddings are compared.
            max_iterations: Cycles of each attempt at a self-consistent field.

        Raises:
            ConfigError: If the method or a name is unknown, or a window makes no sense.
        """
        if method not in _DEVIATIONS:
            raise ConfigError(f"method={method!r}: write {', '.join(_DEVIATIONS)}")
        self._criteria = Criteria(QUANTITIES, criteria or {}, score, field)
        self.task_fields = (field,)
        super().__init__(
            method=method, relaxed=relaxed, solvent=solvent, electrode=electrode,
            conformers=conformers, max_iterations=max_iterations, **self._criteria.settings,
        )  # fmt: skip
        self.unit = self._criteria.unit
        if _MEASURED.items() <= self.settings.items():
            self.deviation = _DEVIATIONS[method].get(score)
        self.features = self._criteria.features
        self.tools = versions("rdkit", "tblite", "ase")

    def setup(self) -> None:
        """Load tblite, on one thread."""
        load_tblite()

    def expected_cost(self, candidate: Candidate) -> Cost:
        """What it takes, by the number of heavy atoms and of fields."""
        windows = self._criteria.of(candidate.task)
        fields = {f for name in self._criteria.wanted(windows) for f in _FIELDS[name]}
        smiles = as_text(candidate.content)
        placing = geometry_seconds(smiles, self.settings["conformers"])
        each = field_seconds(smiles) * (_RELAXING if self.settings["relaxed"] else 1)
        return Cost(seconds=round(placing + len(fields) * each, 4))

    def examine(self, candidate: Candidate) -> Verdict:
        """Solve the fields that the criteria take, and compare."""
        windows = self._criteria.of(candidate.task)
        wanted = self._criteria.wanted(windows)
        smiles = as_text(candidate.content)
        charge = _charge(parse_paired(smiles), wanted)
        geometry = conformer(smiles, tries=self.settings["conformers"])
        xtb = Xtb(self.settings["method"], self.settings["max_iterations"])
        fields = Fields(xtb, geometry, is_relaxed=self.settings["relaxed"])
        values = {name: round(self._value(name, fields), 4) for name in wanted}
        place = self.settings["method"] if self.settings["relaxed"] else "MMFF94"
        evidence = {"method": f"{self.settings['method']}//{place}"}
        return self._criteria.verdict(
            windows, values, uncertainty=None if charge else self._uncertainty(values),
            evidence={**evidence, **fallbacks([*fields.solved.values()])},
        )  # fmt: skip

    def _uncertainty(self, values: Mapping[str, float]) -> float | None:
        """None of an affinity of what binds no electron, which nobody has measured."""
        score: str = self.settings["score"]
        return None if score == _AFFINITY and values[score] <= 0 else self.deviation

    def _value(self, name: str, fields: Fields) -> float:
        is_dissolved = _FIELDS[name][0][1]
        solvent = self.settings["solvent"] if is_dissolved else ""
        first, *others = (fields.state(added, solvent) for added, _ in _FIELDS[name])
        if others:
            change = float(first.energy - others[0].energy) * EV_PER_HARTREE - SHIFT
            return change - self.settings["electrode"] if is_dissolved else change
        found: float | None = first.dipole if name == "dipole" else first.gap
        if found is None:
            raise UnsolvedError("no orbital of the molecule is empty, so that there is no gap")
        return found


def _charge(molecule: Any, names: Sequence[str]) -> int:
    """That of the molecule, for which the quantities are defined.

    Raises:
        UnsolvedError: If a dipole depends on the origin.
    """
    charge: int = rdkit().GetFormalCharge(molecule)
    if charge and "dipole" in names:
        raise UnsolvedError("the dipole of a charged molecule depends on the origin")
    return charge


class Method(Protocol):
    """What solves fields."""

    def state(self, geometry: Geometry, *, added: int = 0, solvent: str = "") -> Any:
        """What is said of a molecule."""

    def relaxed(self, geometry: Geometry, *, added: int = 0, solvent: str = "") -> Geometry:
        """Where its atoms are at rest."""


class Fields:
    """The fields of one molecule, by charge and solvent; each is solved once."""

    def __init__(self, method: Method, geometry: Geometry, *, is_relaxed: bool) -> None:
        """Hold the molecule.

        Args:
            method: What solves its fields.
            geometry: Where its atoms are.
            is_relaxed: Whether each field's geometry is relaxed before.
        """
        self._method, self._geometry, self._is_relaxed = method, geometry, is_relaxed
        self._places: dict[tuple[int, str], Geometry] = {}
        self.solved: dict[tuple[int, str], Any] = {}

    def state(self, added: int, solvent: str) -> Any:
        """That of the molecule with so much charge added."""
        key = added, solvent
        if key not in self.solved:
            place = self._place(added, solvent)
            self.solved[key] = self._method.state(place, added=added, solvent=solvent)
        return self.solved[key]

    def _place(self, added: int, solvent: str) -> Geometry:
        """Where its atoms are; an ion's relax from where the molecule's have come to rest."""
        if not self._is_relaxed:
            return self._geometry
        key = added, solvent
        if key not in self._places:
            start = self._place(0, solvent) if added else self._geometry
            self._places[key] = self._method.relaxed(start, added=added, solvent=solvent)
        return self._places[key]
