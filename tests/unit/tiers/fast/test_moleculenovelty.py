"""Novelty and similarity of molecules."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.molecule import rdkit
from verifier_ladder.tiers.fast.moleculenovelty import MoleculeNovelty
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

KNOWN = ["CCO", "c1ccccc1", "C[C@H](N)C(=O)O", "CC(=O)CC(C)=O", "OC[C@H]1OC(O)C(O)C(O)C1O"]


class TestMoleculeNovelty(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "it is written as the target is": Twin(
            lambda text, task: text == task.get("target", "CCO")
        ),
        "it is written otherwise": Twin(lambda text, task: text != task.get("target", "CCO")),
        "it is as long as the target": Twin(
            lambda text, task: len(text) == len(task.get("target", text))
        ),
    }
    mutated = ("verifier_ladder.tiers.fast.moleculenovelty",)
    mutants: Mapping[str, Any] = {"count": 60, "equivalent": [
        # A key has lists and no files, whose tests stand below.
        ("str(reference) if isinstance(reference, Path) else reference -> str(reference) if not "
        "isinstance(reference, Path) else reference"),
        "_MOST if is_file else _MOST_LISTED -> _MOST if not is_file else _MOST_LISTED",
        ("if (size := path.stat().st_size) > _LARGEST: raise ConfigError(f'reference {path} has "
        "{size} byte... -> if (size := path.stat().st_size) > _LARGEST: pass"),
        "(size := path.stat().st_size) > _LARGEST -> (size := path.stat().st_size) <= _LARGEST",
        "found and found[0][1].lower() == 'smiles' -> found or found[0][1].lower() == 'smiles'",
        "found[0][1].lower() == 'smiles' -> found[0][1].lower() != 'smiles'",
        ("not line.startswith('#') and (first := _FIRST.match(line.strip())) -> not "
        "line.startswith('#') or (first := _FIRST.match(line.strip()))"),
        # Words, costs, and what travels, which tests read.
        ("f'reference {printable(given)}' if isinstance(given, str) else 'reference' -> "
        "f'reference {printable(given)}' if not isinstance(given, str) else 'reference'"),
        "f' {reference}' if is_file else '' -> f' {reference}' if not is_file else ''",
        "k != '_reference' -> k == '_reference'",
        ("self.cost.seconds + 2e-07 * len(self._rows) -> self.cost.seconds - 2e-07 * "
        "len(self._rows)"),
        "2e-07 * len(self._rows) -> 2e-07 / len(self._rows)",
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> MoleculeNovelty:
        return MoleculeNovelty()

    @pytest.fixture
    def candidates(self, verifier: Verifier) -> list[Candidate]:
        """Enough of them for their cost to be seen beside that of a call."""
        assert verifier.control is not None
        task = verifier.control.task
        return [Candidate("molecule", "C" * n + "O", task=task) for n in range(1, 41)]

    @pytest.mark.slow
    def test_the_answer_key_catches_mutants(
        self, verifier: Verifier, answer_key: AnswerKey | None
    ) -> None:
        super().test_the_answer_key_catches_mutants(verifier, answer_key)


def judged(smiles: str, task: Mapping[str, Any] | None = None, **settings: Any) -> Verdict:
    candidate = Candidate("molecule", smiles, task=task)
    return MoleculeNovelty(**settings).judge([candidate])[0]


def outcomes(verifier: MoleculeNovelty, *smiles: str) -> list[Outcome]:
    return [v.outcome for v in verifier.judge([Candidate("molecule", s) for s in smiles])]


def test_the_key_is_the_one_that_was_frozen() -> None:
    frozen = "630d4159b9fbfd44a9cea3671eb9dd5407ef5395292495425a42380eff199aaa"

    assert frozen == AnswerKey.named("molecule-novelty").frozen(142)


@pytest.mark.parametrize(
    "text",
    [
        "CCO\nc1ccccc1\n",
        "# from somewhere\nCCO ethanol\nc1ccccc1\tbenzene\n\n",
        'smiles,name\nCCO,ethanol\n"c1ccccc1","benzene, pure"\n',
        "SMILES;value\r\nOCC;1\r\nC1=CC=CC=C1;2\r\n",
    ],
)
def test_a_file_has_a_molecule_at_the_beginning_of_each_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "known.smi"
    path.write_text(text, "utf-8")

    verifier = MoleculeNovelty(reference=path)

    expected = [Outcome.REJECT, Outcome.REJECT, Outcome.ACCEPT]
    assert expected == outcomes(verifier, "CCO", "c1ccccc1", "CCC")


def test_what_a_file_holds_is_part_of_the_key(tmp_path: Path) -> None:
    path = tmp_path / "known.smi"
    digests = []
    for text in ("CCO", "CCC", "CCO # the same molecules"):
        path.write_text(text, "utf-8")
        digests.append(MoleculeNovelty(reference=path).digest)

    assert digests[0] == digests[2] != digests[1]


def test_a_row_that_is_no_molecule_is_told_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "known.smi"
    path.write_text("CCO\nC1CC\n", "utf-8")

    verdict = judged("CCC", reference=path)

    assert Outcome.ABSTAIN is verdict.outcome
    assert "known.smi, line 2" in verdict.reason
    assert "config" == verdict.failed_at


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "smiles\n", "CCO\n" * 200_001])
def test_a_file_of_no_or_too_many_molecules_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "known.smi"
    path.write_text(text, "utf-8")

    with pytest.raises(ConfigError, match=r"known\.smi holds \d+ molecules; give 1 to 200000"):
        MoleculeNovelty(reference=path)


def test_a_list_of_no_molecules_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^reference holds 0 molecules; give 1 to 10000"):
        MoleculeNovelty(reference=[])


@pytest.mark.parametrize(
    "settings",
    [
        {"reference": "no such file"}, {"reference": []}, {"reference": ["C"] * 10_001},
        {"identity": "name"}, {"radius": 7}, {"radius": 2.0}, {"bits": 1}, {"score": "beauty"},
        {"criteria": {"nearest": {"most": 0.5}}}, {"criteria": {"known": {"most": 0}}},
        {"score": "nearest"}, {"field": "target"},
    ],
)  # fmt: skip
def test_settings_without_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        MoleculeNovelty(**settings)


def test_a_file_of_bytes_and_one_that_is_too_large_are_refused(tmp_path: Path) -> None:
    for data, told in ((b"\xff\xfe", "UTF-8"), (b"C" * ((64 << 20) + 1), "are read")):
        path = tmp_path / "known.smi"
        path.write_bytes(data)
        with pytest.raises(ConfigError, match=told):
            MoleculeNovelty(reference=path)


@settings(max_examples=25)
@given(smiles=st.sampled_from(KNOWN), seed=st.integers(0, 2**31 - 1))
def test_every_spelling_of_what_is_known_is_known(smiles: str, seed: int) -> None:
    [spelling] = rdkit().MolToRandomSmilesVect(rdkit().MolFromSmiles(smiles), 1, seed)

    for identity in ("canonical", "tautomer"):
        verdict = judged(spelling, reference=KNOWN, identity=identity)
        assert Outcome.REJECT is verdict.outcome
    near = {"nearest": {"least": 1}}
    assert 1.0 == judged(spelling, reference=KNOWN, score="nearest", criteria=near).score


def test_a_score_of_its_own_needs_no_criteria() -> None:
    verdict = judged("CCC", reference=["CC"], score="nearest")

    assert 0.2 == verdict.score


def test_similarity_is_the_same_both_ways() -> None:
    def similarity(one: str, other: str) -> float | None:
        return judged(one, {"target": other}, score="similarity").score

    for one in KNOWN:
        for other in KNOWN:
            assert similarity(one, other) == similarity(other, one)
        assert 1.0 == similarity(one, one)


def test_a_verifier_travels_without_the_set_that_it_has_made() -> None:
    verifier = MoleculeNovelty(reference=KNOWN)
    before = len(pickle.dumps(verifier))
    verifier.setup()

    travelled = pickle.dumps(verifier)

    assert before == len(travelled)
    again = pickle.loads(travelled)  # noqa: S301 - our own bytes
    assert [Outcome.REJECT, Outcome.ACCEPT] == outcomes(again, "CCO", "CCC")


def test_a_larger_set_costs_more() -> None:
    candidate = Candidate("molecule", "CCO")
    costs = [
        MoleculeNovelty(reference=["C"] * n).expected_cost(candidate).seconds for n in (1, 9999)
    ]

    assert costs[0] < costs[1] < 10 * costs[0]
