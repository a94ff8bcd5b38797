"""The table of measured values."""

import csv
from pathlib import Path

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.tiers.fast.gate import MoleculeGate
from verifier_ladder.tiers.fast.molecule import MoleculeCanonicaliser
from verifier_ladder.tiers.world.case import is_waiting
from verifier_ladder.tiers.world.measured import COLUMNS, MeasuredHydration, read_table
from verifier_ladder.verdict import Outcome

HEAD = ",".join(COLUMNS)
METHANOL = "CO,methanol,-5.1,kcal/mol,0.6,somebody 1990"


@pytest.fixture(scope="module")
def laboratory() -> MeasuredHydration:
    return MeasuredHydration()


def test_the_package_holds_a_few_dozen_values(laboratory: MeasuredHydration) -> None:
    assert 40 <= len(laboratory.rows) <= 60


def test_no_molecule_stands_twice(laboratory: MeasuredHydration) -> None:
    assert len(laboratory.rows) == len(laboratory.known)


def test_every_molecule_passes_the_gate(laboratory: MeasuredHydration) -> None:
    gate = MoleculeGate()
    verdicts = gate.judge([Candidate("molecule", smiles) for smiles in laboratory.known])

    assert {Outcome.ACCEPT} == {verdict.outcome for verdict in verdicts}


def test_every_value_has_its_range_uncertainty_and_citation(
    laboratory: MeasuredHydration,
) -> None:
    for row in laboratory.rows:
        assert -15 < row.value < 4
        assert row.uncertainty is not None
        assert 0 < row.uncertainty <= 1
        assert "doi:10." in row.citation
        assert row.name


def test_a_molecule_of_the_table_is_answered_at_once(laboratory: MeasuredHydration) -> None:
    form = MoleculeCanonicaliser().canonicalise("n1ccccc1")

    verdict = laboratory.judge([Candidate("molecule", form)])[0]

    assert -4.69 == verdict.score
    assert 0.6 == verdict.uncertainty
    assert "pyridine" == verdict.evidence["name"]


def test_another_molecule_opens_a_case(laboratory: MeasuredHydration) -> None:
    urea = Candidate("molecule", "NC(N)=O")

    assert is_waiting(laboratory.judge([urea])[0])
    assert "'NC(N)=O' at 298 K" in laboratory.question(urea)


def test_a_measurement_that_can_not_be_true_is_refused(laboratory: MeasuredHydration) -> None:
    with pytest.raises(VerifierError, match="between -50 and 20 kcal/mol"):
        laboratory.answered(Candidate("molecule", "NC(N)=O"), -500.0)


def test_a_table_of_ones_own_is_read(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text(f"{HEAD}\nOC,methanol,-9.9,kcal/mol,,me\n", encoding="utf-8")

    verdict = MeasuredHydration(table=str(table)).judge([Candidate("molecule", "CO")])[0]

    assert -9.9 == verdict.score
    assert verdict.uncertainty is None


def test_a_changed_table_answers_under_another_key(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text(f"{HEAD}\n{METHANOL}\n", encoding="utf-8")
    before = MeasuredHydration(table=str(table)).digest
    table.write_text(f"{HEAD}\n{METHANOL.replace('-5.1', '-5.2')}\n", encoding="utf-8")

    assert before != MeasuredHydration(table=str(table)).digest


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "lacks the columns"),
        ("smiles,value\nCO,-5.1\n", "lacks the columns citation, name, uncertainty, unit"),
        (f"{HEAD}\nCO,methanol,-5.1\n", "line 2: it has fewer than 6 fields"),
        (f"{HEAD}\n{METHANOL.replace('kcal', 'kJ')}\n", "line 2: the unit is 'kJ/mol'"),
        (f"{HEAD}\n{METHANOL.replace('-5.1', 'low')}\n", "line 2: 'low' is not a finite number"),
        (f"{HEAD}\n{METHANOL.replace('-5.1', 'nan')}\n", "line 2: 'nan' is not a finite number"),
        (f"{HEAD}\n{METHANOL.replace('-5.1', '-99')}\n", "line 2: -99 lies outside -50 to 20"),
        (f"{HEAD}\n{METHANOL}\n{METHANOL.replace('0.6', '-1')}\n", "line 3: the uncertainty is"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_by_line(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read_table(text, where="own.csv", unit="kcal/mol", low=-50, high=20)


def test_a_cell_that_is_too_long_is_named_by_its_line() -> None:
    before = csv.field_size_limit(100)
    try:
        with pytest.raises(ConfigError, match="table x, line 2: field larger than field limit"):
            read_table(f"{HEAD}\n{'C' * 200},,-5.1\n", where="x", unit="kcal/mol")
    finally:
        csv.field_size_limit(before)


def test_a_table_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't read the table"):
        MeasuredHydration(table=str(tmp_path / "none.csv"))
