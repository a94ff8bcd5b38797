"""Properties of molecules."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.recorded import Recorded
from verifier_ladder.registry import Registry
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast import moleculeproperties as module
from verifier_ladder.tiers.fast.criteria import Window
from verifier_ladder.tiers.fast.molecule import MoleculeCanonicaliser, rdkit
from verifier_ladder.tiers.fast.moleculeproperties import QUANTITIES, MoleculeProperties
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

DRUGS = [
    "CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C[C@H](N)C(=O)O",
    "OC[C@H]1OC(O)[C@H](O)[C@@H](O)[C@@H]1O", "C1C2CC3CC1CC(C2)C3", "O=C1NC(=S)SC1=Cc1ccccc1",
]  # fmt: skip
EVERYTHING: dict[str, dict[str, float]] = {name: {"least": -1e6} for name in QUANTITIES}


def windows(task: Mapping[str, Any]) -> dict[str, Window]:
    return {name: Window(**window) for name, window in task["criteria"].items()}


def plainly(text: str, task: Mapping[str, Any]) -> bool:
    """The library's descriptors of these names; what it has none of is taken to be kept."""
    descriptors: Any = import_module("rdkit.Chem.Descriptors")
    known = {
        "logp": descriptors.MolLogP, "molecular_weight": descriptors.MolWt,
        "tpsa": descriptors.TPSA, "rings": descriptors.RingCount,
        "donors": descriptors.NumHDonors, "acceptors": descriptors.NumHAcceptors,
    }  # fmt: skip
    molecule = rdkit().MolFromSmiles(text)
    given = windows(task).items()
    return all(window.share(known[name](molecule)) == 1 for name, window in given if name in known)


def letters(text: str, task: Mapping[str, Any]) -> bool:
    """Every criterion is one of size."""
    size = sum(letter.isalpha() for letter in text)
    return all((window.most or size) >= size for window in windows(task).values())


class TestMoleculeProperties(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "RDKit plainly called": Twin(plainly),
        "small is good": Twin(letters),
    }
    mutated = (
        "verifier_ladder.tiers.fast.criteria", "verifier_ladder.tiers.fast.moleculeproperties",
    )  # fmt: skip
    mutants: Mapping[str, Any] = {"count": 60, "equivalent": [
        # Words of the reason and of the feedback, and the evidence, which tests read.
        ("f' {quantity.unit}' if quantity.unit else '' -> f' {quantity.unit}' if not "
        "quantity.unit else ''"),
        "f' ({note})' if note else '' -> f' ({note})' if not note else ''",
        ("quantity.more if is_low else quantity.less -> quantity.more if not is_low else "
        "quantity.less"),
        "value < window.least -> value >= window.least",
        "evidence or {} -> evidence and {}", "notes or {} -> notes and {}",
        "{'alerts': alerts} if alerts else {} -> {'alerts': alerts} if not alerts else {}",
        # What is declared, of which a key does not speak.
        "None if is_share else uncertainty -> None if not is_share else uncertainty",
        "name != self.score -> name == self.score",
        ("_PARSING + self._criteria.seconds(windows) -> _PARSING - "
        "self._criteria.seconds(windows)"),
        # The path of a file always has a loader.
        ("if spec is None or spec.loader is None: raise ImportError('no Python module') -> if "
        "spec is None or spec.loader is None: pass"),
        "spec is None or spec.loader is None -> spec is None and spec.loader is None",
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> MoleculeProperties:
        return MoleculeProperties()

    @pytest.fixture
    def candidates(self, verifier: Verifier) -> list[Candidate]:
        """Enough of them for their cost to be seen beside that of a call."""
        assert verifier.control is not None
        task = verifier.control.task
        return [Candidate("molecule", "C" * n + "O", task=task) for n in range(1, 41)]

    @pytest.mark.slow  # Each mutant loads the table of fragments.
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


def judged(smiles: str, **settings: Any) -> Verdict:
    return MoleculeProperties(**settings).judge([Candidate("molecule", smiles)])[0]


def test_the_key_is_the_one_that_was_frozen() -> None:
    frozen = "f702572feb1bf241ca4c13f040698f0c69da75f2b510149ad845d04f9934381f"

    assert frozen == AnswerKey.named("molecule-properties").frozen(370)


def test_all_values_are_in_the_evidence_and_offered_as_features() -> None:
    verdict = judged("O=C1NC(=S)SC1=Cc1ccccc1", criteria=EVERYTHING)

    assert QUANTITIES.keys() == verdict.evidence.keys() - {"alerts"}
    assert ["ene_rhod_A(235)"] == verdict.evidence["alerts"]["pains"]
    assert [*QUANTITIES] == [*MoleculeProperties(criteria=EVERYTHING).features]


@settings(max_examples=25)
@given(smiles=st.sampled_from(DRUGS), seed=st.integers(0, 2**31 - 1))
def test_every_spelling_has_the_same_values(smiles: str, seed: int) -> None:
    verifier = MoleculeProperties(criteria=EVERYTHING)
    [spelling] = rdkit().MolToRandomSmilesVect(rdkit().MolFromSmiles(smiles), 1, seed)

    one, other = verifier.judge([Candidate("molecule", text) for text in (smiles, spelling)])

    assert one.evidence == other.evidence


def test_the_alerts_that_were_found_are_named() -> None:
    verdict = judged("Oc1ccccc1O", criteria={"pains": {"most": 0}})

    assert "PAINS alerts is 1 (catechol_A(92)); the criterion is at most 0" in verdict.reason
    assert "replace the groups" in verdict.feedback


def test_a_value_is_the_score_in_its_unit() -> None:
    verdict = judged("CCO", score="molecular_weight")

    assert 46.07 == pytest.approx(verdict.score, abs=0.01)
    assert "g/mol" == verdict.unit == MoleculeProperties(score="molecular_weight").unit


@pytest.fixture
def without_contrib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from rdkit import RDConfig

    monkeypatch.setattr(RDConfig, "RDContribDir", str(tmp_path))
    module._sascorer.cache_clear()
    yield tmp_path
    module._sascorer.cache_clear()


def test_without_rdkits_contrib_folder_it_abstains_and_says_what_is_missing(
    without_contrib: Path,
) -> None:
    verdict = judged("CCO", criteria={"sa_score": {"most": 4}})

    assert Outcome.ABSTAIN is verdict.outcome
    assert "tool" == verdict.failed_at
    assert str(without_contrib / "SA_Score" / "sascorer.py") in verdict.reason
    assert Outcome.ACCEPT is judged("CCO", criteria={"qed": {"most": 1}}).outcome


def test_what_is_measured_is_what_is_paid() -> None:
    few = MoleculeProperties(criteria={"rings": {"most": 1}})
    many = MoleculeProperties(criteria=EVERYTHING)

    costs = [each.expected_cost(Candidate("molecule", "CCO")).seconds for each in (few, many)]

    assert 10 * costs[0] < costs[1] < 0.01


def test_a_row_of_a_ledger_may_choose_windows_and_nothing_else() -> None:
    registry = Registry()
    registry.hold([MoleculeProperties()])
    wanted = MoleculeProperties(criteria={"qed": {"least": 0.5, "margin": 0.1}}, score="qed")
    row = {"name": wanted.name, "version": "1", "digest": wanted.digest.hex()}

    found = Recorded.read({**row, "settings": wanted.settings}).among(registry)

    assert wanted.settings == found.settings
    for change in ({"criteria": {"/etc/passwd": {"most": 1}}}, {"score": "/etc/passwd"},
                   {"field": "../secret"}, {"folder": "/"}):  # fmt: skip
        settings = {**wanted.settings, **change}
        with pytest.raises(ConfigError, match="may not choose its settings"):
            Recorded.read({**row, "digest": "00" * 32, "settings": settings}).among(registry)


def test_what_is_told_of_a_molecule_does_not_depend_on_the_order_of_criteria() -> None:
    one = MoleculeProperties(criteria={"qed": {"most": 1}, "logp": {"most": 1}})
    other = MoleculeProperties(criteria={"logp": {"most": 1}, "qed": {"most": 1}})

    assert one.digest == other.digest


@pytest.mark.parametrize("smiles", ["CCO.CCO", "[Na+].[Cl-]", "*CC"])
def test_what_is_no_single_molecule_is_rejected(smiles: str) -> None:
    verdict = judged(MoleculeCanonicaliser().canonicalise(smiles), score="logp")

    assert Outcome.REJECT is verdict.outcome
    assert verdict.feedback.endswith(".")
