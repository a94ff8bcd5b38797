"""The molecule gate."""

import pickle
import re
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.tiers.fast.gate import MoleculeGate
from verifier_ladder.tiers.fast.molecule import MoleculeCanonicaliser
from verifier_ladder.verdict import Outcome, Verdict

GOOD = ["C", "CCO", "c1ccccc1", "C[N+](=O)[O-]", "C[C@H](N)C(=O)O", "c1cc[nH]c1", "BrCCBr", "N"]
BAD = [
    ("[C]", "unpaired electrons"),
    ("[CH3]", "unpaired electrons"),
    ("[O][O]", "unpaired electrons"),
    ("*", "placeholder"),
    ("*C", "placeholder"),
    ("[NH4+]", "total charge \\+1"),
    ("[OH-]", "total charge -1"),
    ("[O-2]", "charge -2 on one atom"),
    ("CCO.O", "2 separate molecules"),
    ("[Na+].[Cl-]", "2 separate molecules"),
    ("[13CH4]", "isotope"),
    ("[2H]O[2H]", "isotope"),
    ("[Fe]", "element Fe"),
    ("C[SiH3]", "element Si"),
    ("CB(O)O", "element B "),
    ("[H][H]", "0 atoms besides hydrogen"),
    ("C" * 61, "61 atoms besides hydrogen"),
]


def judge(smiles: str, **bounds: Any) -> Verdict:
    return MoleculeGate(**bounds).judge([Candidate("molecule", smiles)])[0]


@pytest.fixture(params=["seen by the canonicaliser", "new to the process"])
def seen(request: pytest.FixtureRequest) -> bool:
    """The gate has a short way for what this process has just canonicalised."""
    return bool(request.param.startswith("seen"))


@pytest.mark.parametrize("smiles", GOOD)
def test_a_molecule_within_the_bounds_passes(smiles: str, *, seen: bool) -> None:
    if seen:
        MoleculeCanonicaliser().canonicalise(smiles)

    verdict = judge(smiles)

    assert Outcome.ACCEPT is verdict.outcome
    assert verdict.score is None


@pytest.mark.parametrize(("smiles", "reason"), BAD)
def test_a_molecule_outside_the_bounds_is_rejected_with_the_reason(
    smiles: str, reason: str, *, seen: bool
) -> None:
    if seen:
        smiles = MoleculeCanonicaliser().canonicalise(smiles)

    verdict = judge(smiles)

    assert Outcome.REJECT is verdict.outcome
    assert re.search(reason, verdict.reason)
    assert verdict.feedback.endswith(".")


@pytest.mark.parametrize(
    ("smiles", "bounds"),
    [
        ("CCO", {"max_heavy_atoms": 2}),
        ("CCO", {"min_heavy_atoms": 4}),
        ("CS", {"elements": ["H", "C", "O"]}),
        ("c1ccsc1", {"elements": ["H", "C", "O"]}),
        ("CCl", {"elements": ["H", "C", "Br"]}),
        ("CBr", {"elements": ["H", "C", "Cl"]}),
        ("C[N+](=O)[O-]", {"max_atom_charge": 0}),
    ],
)
def test_narrower_bounds_hold_for_ordinary_molecules(
    smiles: str, bounds: dict[str, Any], *, seen: bool
) -> None:
    if seen:
        smiles = MoleculeCanonicaliser().canonicalise(smiles)

    assert Outcome.REJECT is judge(smiles, **bounds).outcome


@pytest.mark.parametrize(
    ("smiles", "bounds"),
    [
        ("[NH4+]", {"max_charge": 1}),
        ("[CH3]", {"max_radicals": 1}),
        ("CCO.O", {"max_fragments": 2}),
        ("[13CH4]", {"isotopes": True}),
        ("*C", {"dummies": True}),
        ("C[SiH3]", {"elements": ["H", "C", "Si"]}),
        ("CBr", {"elements": ["H", "C", "Br"]}),
        ("C" * 61, {"max_heavy_atoms": 61}),
    ],
)
def test_wider_bounds_let_more_pass(smiles: str, bounds: dict[str, Any]) -> None:
    assert Outcome.ACCEPT is judge(smiles, **bounds).outcome


def test_a_bad_molecule_costs_only_itself() -> None:
    batch = [Candidate("molecule", smiles) for smiles in ("CCO", "C1CC", "CCN")]

    outcomes = [verdict.outcome for verdict in MoleculeGate().judge(batch)]

    assert [Outcome.ACCEPT, Outcome.REJECT, Outcome.ACCEPT] == outcomes


@pytest.mark.parametrize(
    "bounds",
    [{"min_heavy_atoms": 9, "max_heavy_atoms": 8}, {"max_fragments": 0}, {"elements": []}],
)
def test_bounds_that_nothing_could_keep_are_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="no molecule passes"):
        MoleculeGate(**bounds)


def test_bounds_are_part_of_what_verdicts_are_filed_under() -> None:
    assert MoleculeGate().digest != MoleculeGate(max_heavy_atoms=50).digest


def test_the_order_of_elements_is_no_bound() -> None:
    one, other = MoleculeGate(elements=["C", "H"]), MoleculeGate(elements=["H", "C"])

    assert one.digest == other.digest


def test_a_gate_travels_to_a_worker() -> None:
    gate = pickle.loads(pickle.dumps(MoleculeGate()))  # noqa: S301 - our own bytes

    assert Outcome.ACCEPT is gate.judge([gate.control])[0].outcome
