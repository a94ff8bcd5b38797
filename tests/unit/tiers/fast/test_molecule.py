"""Molecules from model output."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.keys import content_key
from verifier_ladder.tiers.fast.molecule import (
    MoleculeCanonicaliser,
    ordinary_size,
    parse,
    rdkit,
    rough_size,
)

ETHANOL = ["CCO", "OCC", "C(O)C", "[CH3][CH2][OH]", "[H]OC([H])([H])C([H])([H])[H]", "[CH3:1]CO"]
BENZENE = ["c1ccccc1", "C1=CC=CC=C1", "c%11ccccc%11", "[cH]1[cH][cH][cH][cH][cH]1"]
DRUGS = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "C[C@H](N)C(=O)O",
    "F/C=C\\F",
    "O=[N+]([O-])c1ccccc1",
    "OC[C@H]1OC(O)[C@H](O)[C@@H](O)[C@@H]1O",
]


@pytest.fixture(scope="module")
def canonicaliser() -> MoleculeCanonicaliser:
    return MoleculeCanonicaliser()


@pytest.mark.parametrize("spellings", [ETHANOL, BENZENE])
def test_every_spelling_of_a_molecule_has_one_key(
    canonicaliser: MoleculeCanonicaliser, spellings: list[str]
) -> None:
    forms = [canonicaliser.canonicalise(spelling) for spelling in spellings]

    assert 1 == len({content_key("molecule", form) for form in forms})


@given(smiles=st.sampled_from(DRUGS), seed=st.integers(0, 2**31 - 1))
def test_random_spellings_have_one_form(smiles: str, seed: int) -> None:
    canonicaliser = MoleculeCanonicaliser()
    molecule = rdkit().MolFromSmiles(smiles)
    [spelling] = rdkit().MolToRandomSmilesVect(molecule, 1, seed)

    assert canonicaliser.canonicalise(smiles) == canonicaliser.canonicalise(spelling)


@pytest.mark.parametrize("smiles", DRUGS)
def test_a_canonical_form_is_its_own_canonical_form(
    canonicaliser: MoleculeCanonicaliser, smiles: str
) -> None:
    form = canonicaliser.canonicalise(smiles)

    assert form == canonicaliser.canonicalise(form)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"),  # Mirror images.
        ("F/C=C\\F", "F/C=C/F"),
        ("CC(=O)O", "CC(=O)[O-]"),  # Charge states.
        ("CC(C)=O", "CC(O)=C"),  # Tautomers.
        ("C", "[13CH4]"),
    ],
)
def test_different_molecules_keep_different_forms(
    canonicaliser: MoleculeCanonicaliser, one: str, other: str
) -> None:
    assert canonicaliser.canonicalise(one) != canonicaliser.canonicalise(other)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "the output is empty"),
        ("ethanol", "is not SMILES"),
        ("C1CC", "rings don't close"),
        ("C(C", "brackets or rings"),
        ("CCCCC(C)(C)(C)C", "Explicit valence for atom # 4 C, 5"),
        ("c1cccc1", "kekulize"),
        ("[C+999]", "out of range"),
        ("[CH4+256]", "out of range"),  # RDKit reads it as methane.
        ("[CH260]", "out of range"),
        ("[#6]-[OH]", "a pattern and no SMILES"),  # RDKit reads it as a radical.
        ("C[13#6]", "a pattern and no SMILES"),
        ("[65548CH4]", "out of range"),
        ("[C" + "+" * 256 + "]", "out of range"),
        ("C" * 20_000, "20000 characters long; at most 1000"),
        ("(" * 1_000_000, "at most 200000 are read"),
        ("." * 100_000, "the answer is empty"),
        ("C" * 201, "201 atoms besides hydrogen"),
        ("CCO\x07", "characters that SMILES does not have"),
        ("\x1b[31mCCO\x1b[0m", "characters that SMILES does not have"),
        ("\uff23\uff23\uff2f", "characters that SMILES does not have"),
        ("C\u200bCO", "characters that SMILES does not have"),
        ("\ud800", "characters that SMILES does not have"),
        ("<script>alert(1)</script>", "characters that SMILES does not have"),
        ("<answer>CCO</answer><answer>CCN</answer>", "2 different molecules"),
        ("".join(f"<answer>{'C' * n}</answer>" for n in range(1, 10)), "gives 9 answers"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_what_is_no_molecule_is_refused_with_the_reason(
    canonicaliser: MoleculeCanonicaliser, content: str | bytes, complaint: str
) -> None:
    with pytest.raises(CandidateError, match=complaint) as caught:
        canonicaliser.canonicalise(content)

    assert caught.value.feedback.endswith(".")


def test_a_hedge_between_spellings_of_one_molecule_is_an_answer(
    canonicaliser: MoleculeCanonicaliser,
) -> None:
    text = "<answer>CCO</answer>, that is <answer>OCC</answer>"

    assert "CCO" == canonicaliser.canonicalise(text)


def test_bytes_are_read_as_text(canonicaliser: MoleculeCanonicaliser) -> None:
    assert "CCO" == canonicaliser.canonicalise(b"SMILES: OCC")


def test_a_complaint_shows_no_control_character(canonicaliser: MoleculeCanonicaliser) -> None:
    with pytest.raises(CandidateError) as caught:
        canonicaliser.canonicalise("<answer>\x1b[31m\u202eCCO</answer>")

    assert str(caught.value).isprintable()


@given(st.text(max_size=80))
def test_any_text_gives_a_molecule_or_a_candidate_error(text: str) -> None:
    _refuses_only_the_candidate(text)


@given(st.text(alphabet="CNOScno()[]=#+-123%@H/\\.*Br:", max_size=24))
def test_anything_like_smiles_gives_a_molecule_or_a_candidate_error(text: str) -> None:
    _refuses_only_the_candidate(text)


def _refuses_only_the_candidate(text: str) -> None:
    try:
        form = MoleculeCanonicaliser().canonicalise(text)
    except CandidateError:
        return

    assert form


@pytest.mark.parametrize(
    "bounds", [{"max_text": 0}, {"max_characters": -1}, {"max_heavy_atoms": 0}]
)
def test_a_bound_that_nothing_could_keep_is_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        MoleculeCanonicaliser(**bounds)


def test_the_bounds_are_settings() -> None:
    canonicaliser = MoleculeCanonicaliser(max_characters=4)

    assert "CCO" == canonicaliser.canonicalise("CCO")
    with pytest.raises(CandidateError, match="at most 4"):
        canonicaliser.canonicalise("CCCCO")
    assert canonicaliser.digest != MoleculeCanonicaliser().digest


def test_another_release_of_rdkit_is_another_canonicaliser() -> None:
    assert "rdkit" in MoleculeCanonicaliser().settings


@pytest.mark.parametrize(
    ("content", "size"), [("CCO", 3), ("CC(N)=O", 4), ("C[N+](=O)[O-]", 4), ("BrCC", 3)]
)
def test_the_size_of_an_ordinary_molecule_is_remembered(
    canonicaliser: MoleculeCanonicaliser, content: str, size: int
) -> None:
    assert size == ordinary_size(canonicaliser.canonicalise(content))


@pytest.mark.parametrize(
    "content",
    ["[CH3]", "[13CH4]", "[NH4+]", "[Na+].[Cl-]", "O.O", "*C", "CB(O)O", "c1ccbcc1", "C[C+2]"],
)
def test_an_unusual_molecule_is_left_to_the_gate(
    canonicaliser: MoleculeCanonicaliser, content: str
) -> None:
    assert ordinary_size(canonicaliser.canonicalise(content)) is None


@pytest.mark.parametrize("content", DRUGS)
def test_an_ordinary_drug_is_known_to_be_ordinary(
    canonicaliser: MoleculeCanonicaliser, content: str
) -> None:
    """Stereo centres and aromatic nitrogen stand in brackets, and are harmless."""
    assert ordinary_size(canonicaliser.canonicalise(content))


def test_text_without_an_atom_is_no_molecule() -> None:
    with pytest.raises(CandidateError, match="no atom"):
        parse("")


@pytest.mark.parametrize(
    ("smiles", "size"),
    [("CCO", 3), ("ClC(Br)I", 4), ("C[C@H](N)C(=O)O", 6), ("[2H]O[2H]", 3), ("[H][H]", 0)],
)
def test_the_rough_size_counts_atoms_in_text(smiles: str, size: int) -> None:
    assert size == rough_size(smiles)
