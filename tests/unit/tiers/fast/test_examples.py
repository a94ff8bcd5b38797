"""Examples whose answers are only read run with one command, and say what they are about."""

from importlib import import_module
from pathlib import Path
from shutil import copytree

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.tiers.fast.protein import protein_of
from verifier_ladder.tiers.simulation.hostprogram import LONGEST

EXAMPLES = Path(__file__).parents[4] / "examples"
FOLDER = EXAMPLES / "structured"
REWARDS = {
    "json-schema": [1, 0, 0, 0], "table-schema": [1, 0, 0], "exact-match": [1, 1, 0],
    "choice": [1, 0, 0], "f1": [1, pytest.approx(0.8), 0], "numeric": [1, 1, 0, 0],
    "instruction-constraints": [1, 0, 0, 0],
}  # fmt: skip


def rewards(place: Path, folder: Path) -> list[float | None]:
    """What the rows of an example earn by its ladder."""
    rows, ladder = place.with_suffix(".jsonl"), place.with_suffix(".toml")
    result = vl.score_file(rows, ladder=ladder, ledger=folder / "ledger.db")
    return [reward.value for reward in result.rewards]


def test_every_example_is_known() -> None:
    assert REWARDS.keys() == {path.stem for path in FOLDER.glob("*.toml")}
    assert REWARDS.keys() == {path.stem for path in FOLDER.glob("*.jsonl")}


@pytest.mark.parametrize("name", REWARDS)
def test_an_example_earns_what_it_should(name: str, tmp_path: Path) -> None:
    assert REWARDS[name] == rewards(FOLDER / name, tmp_path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("constraint-solution", [1, 0, 0, 0, 1]), ("equivalent-formula", [1, 0, 0])],
)
def test_an_example_of_proofs_earns_what_it_should(
    name: str, expected: list[float], tmp_path: Path
) -> None:
    assert expected == rewards(EXAMPLES / "proofs" / name, tmp_path)


def test_one_of_two_answers_to_each_task_of_mathematics_is_right(tmp_path: Path) -> None:
    assert [1, 0] * 4 == rewards(EXAMPLES / "mathematics" / "mathematics", tmp_path)


def test_a_query_earns_by_what_it_returns_and_not_by_how_it_is_written(tmp_path: Path) -> None:
    assert [1, 0, 0, 1, 0, 0] == rewards(EXAMPLES / "sql" / "sql", tmp_path)


@pytest.mark.slow  # Its worker loads RDKit, the table of fragments and xTB.
def test_molecules_earn_by_their_electrons_or_are_stopped_by_the_tier_made_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES.parent)  # The ladder names a file that is seen from there.
    reasons = [
        "", "", "", "the dipole moment", "PAINS alerts is 1 (anil_di_alk_A(478))",
        "its count in the reference set is 1", "PAINS alerts is 1 (catechol_A(92))",
        "the largest ring's size is 10", "unpaired electrons", "rings don't close",
    ]  # fmt: skip

    place = EXAMPLES / "molecules" / "design"
    result = vl.score_file(
        place.with_suffix(".jsonl"), ladder=place.with_suffix(".toml"),
        ledger=tmp_path / "ledger.db", workers=1,
    )  # fmt: skip

    expected = [0.607, 0.875, 0.424, *[-0.2] * 7]
    assert expected == pytest.approx([reward.value for reward in result.rewards], abs=0.02)
    for told, reward in zip(reasons, result.rewards, strict=True):
        assert told in reward.reason
        assert bool(told) is bool(reward.feedback)


@pytest.mark.slow  # The how-to page scores such crystals too.
def test_an_alloy_of_the_crystals_is_more_stable_than_its_metals(tmp_path: Path) -> None:
    rows, ladder = (EXAMPLES / "crystals" / name for name in ("crystals.jsonl", "ladder.toml"))
    result = vl.score_file(rows, ladder=ladder, ledger=tmp_path / "ledger.db")
    copper, again, alloy, *refused = [reward.value for reward in result.rewards]

    assert 0.5 == pytest.approx(copper, abs=1e-3)
    assert copper == again
    assert 0.55 == pytest.approx(alloy, abs=5e-3)
    assert [-0.2, -0.2] == refused


def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    command = ["score", f"{FOLDER}/choice.jsonl", "--ladder", f"{FOLDER}/choice.toml"]

    done = CliRunner().invoke(app, [*command, "--ledger", f"{tmp_path}/ledger.db"])

    assert 0 == done.exit_code, done.output
    assert "1 of 3" in done.output or "0.33" in done.output, done.output


def test_what_is_recorded_of_a_binder_is_a_structure_that_dynamics_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "binders"
    copytree(EXAMPLES / "binders", folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("VLADDER_PREDICTORS", str(folder / "predictors.toml"))
    record, binding = import_module("record"), import_module("binding")
    record.record("SEAAAKAAEAAG", 91, folder / "recorded")
    verifier = binding.FoldStability()

    protein = protein_of(verifier.structure_of(vl.Candidate("protein", "SEAAAKAAEAAG")))

    names = [each.name for each in protein.residues]
    assert ["SER", "GLU", "ALA", "ALA", "ALA", "LYS"] == names[:6]
    with pytest.raises(vl.ToolError, match="nothing was recorded for GGGGGGGGGGGG"):
        verifier.structure_of(vl.Candidate("protein", "GGGGGGGGGGGG"))


def test_what_dynamics_decline_of_a_binder_is_not_predicted_and_declined_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "predictors.toml").write_text(
        f"[colabfold]\ncommand = ['touch', '{tmp_path}/ran']\nversion = '1'\nsynthetic = true"
    )
    monkeypatch.setenv("VLADDER_PREDICTORS", str(tmp_path / "predictors.toml"))
    monkeypatch.syspath_prepend(EXAMPLES / "binders")
    verifier = import_module("binding").FoldStability(max_residues=40)

    (verdict,) = verifier.judge([vl.Candidate("protein", "SEAAAKAAEAAG" * 4)])

    assert verdict.is_answer
    assert "48 residues are too many; 40 are predicted" in verdict.reason
    assert not (tmp_path / "ran").exists()
    assert LONGEST < verifier.timeout
