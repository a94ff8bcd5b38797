"""The gate of proteins: what is read as one, and what its sequence must keep."""

from collections.abc import Mapping
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.sequence import LETTERS, ProteinCanonicaliser, motif, protein_of
from verifier_ladder.tiers.fast.sequencegate import QUANTITIES, SequenceGate

FROZEN = "21f3563866c6fc6f9b058e24930f87e6e547f9f13f43482332549c687a347556"
ONE = "MKTAYIAKQRQISFVKSHFSRQLEERLG"
WORDS = (
    "place + 1 -> place - 1", "sign.upper() in LETTERS -> sign.upper() not in LETTERS",
    "sign in _OTHERS -> sign not in _OTHERS",
    "sign.isascii() and sign.isprintable() -> sign.isascii() or sign.isprintable()",
    "{'found': found} if found else {} -> {'found': found} if not found else {}",
    "_READING + self._criteria.seconds(windows) -> _READING - self._criteria.seconds(windows)",
)  # fmt: skip
"""Edits that change what is told or expected, and no verdict."""


def letters_of(text: str) -> str:
    return "".join(line for line in text.split("\n") if not line.startswith(">"))


class TestSequenceGate(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "letters of amino acids": Twin(lambda text, _: set(letters_of(text)) <= {*LETTERS, ":"}),
        "any letters": Twin(lambda text, _: text.replace(":", "").isalpha()),
        "a length": Twin(lambda text, _: 10 <= len(letters_of(text)) <= 1000),
    }
    mutated = ("verifier_ladder.tiers.fast.sequence", "verifier_ladder.tiers.fast.sequencegate")
    mutants: Mapping[str, Any] = {"equivalent": WORDS, "count": 30}

    @pytest.fixture
    def verifier(self) -> SequenceGate:
        return SequenceGate()

    @pytest.fixture
    def candidates(self) -> list[Candidate]:
        return [Candidate("protein", text) for text in (ONE, f"{ONE}:{ONE}", "GSSGPPWWYYA")]


def test_its_answer_key_is_the_frozen_one() -> None:
    assert FROZEN == AnswerKey.named("sequence-gate").frozen(231)


@pytest.mark.parametrize(
    "said",
    [ONE, f">mine\n{ONE}", f"{ONE[:9]}\n{ONE[9:]}", f"```fasta\n>a b\n{ONE}\n```", f" {ONE}\r\n"],
)
def test_spellings_of_one_protein_have_one_form(said: str) -> None:
    assert ONE == ProteinCanonicaliser().canonicalise(said)


@pytest.mark.parametrize("said", [f"{ONE}:GSS", f">a\n{ONE}\n>b\nGSS", f">a\n{ONE}:GSS"])
def test_chains_keep_their_order(said: str) -> None:
    assert (ONE, "GSS") == protein_of(said)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("MKT AYI", "the sign ' ' at place 4 of chain 1"), ("MKTX", "any amino acid"),
        ("mkt", "a small letter"), ("MKT:", "chain 2 has no residues"),
        ("MKT\u200bA", "U+200B"), (f"seen\n>a\n{ONE}", "text above"),
        ("A" * 10_001, "at most 26 chains and 10000 residues"),
    ],
)  # fmt: skip
def test_what_is_no_protein_is_refused_by_the_sign_that_makes_it_none(
    said: str, told: str
) -> None:
    with pytest.raises(CandidateError) as refused:
        protein_of(said)

    assert told in str(refused.value)
    assert refused.value.feedback


def test_a_reject_says_what_to_do_and_names_the_motif() -> None:
    gate = SequenceGate(motifs=["N-{P}-[ST]-{P}"], criteria={"charge": {"most": 0}})

    verdict = gate.judge([Candidate("protein", "KKNASAGGGG")])[0]

    assert "the charge is 2; the criterion is at most 0" in verdict.reason
    assert "(N-{P}-[ST]-{P})" in verdict.reason
    assert "put D or E in the place of K or R" in verdict.feedback
    assert {"N-{P}-[ST]-{P}": 1} == verdict.evidence["found"]


def test_a_task_names_criteria_of_its_own() -> None:
    task = {"criteria": {"cysteines": {"least": 2}}}

    verdict = SequenceGate().judge([Candidate("protein", "CAGTSVLIKD", task=task)])[0]

    assert "the number of cysteines is 1" in verdict.reason


@pytest.mark.parametrize("name", QUANTITIES)
def test_each_quantity_is_measured(name: str) -> None:
    gate = SequenceGate(criteria={name: {"most": 1e6}}, motifs=["AA"])

    assert name in gate.judge([Candidate("protein", ONE)])[0].evidence


@pytest.mark.parametrize(
    "pattern", ["x(50)-x(50)-x(50)-W", "x(0,20)-x(0,20)-W", "x(0,99)-x(0,3)-W"]
)
def test_no_motif_takes_long(pattern: str) -> None:
    assert [] == list(motif(pattern).finditer("A" * 1000))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"motifs": ["(A+)+"]}, "is no motif"), ({"motifs": ["x(0,50)-x(0,50)-W"]}, "500 ways"),
        ({"motifs": [f"{a}-x(0,20)-x(0,20)-[WY]" for a in "ACD"]}, "1000 ways together"),
        ({"motifs": ["A"] * 21}, "at most 20"),
        ({"motifs": ["A" * 61]}, "at most 60 characters"), ({"motifs": "KDEL"}, "a list of texts"),
        ({"criteria": {"beauty": {"least": 1}}}, "is none of"),
        ({"score": "charge"}, "a gate has"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        SequenceGate(**settings)
