"""Molecular dynamics: real runs of the smallest peptides."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from peptides import HELIX, POLYPROLINE, STRAND, pdb, peptide, turned

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers import checkpoints
from verifier_ladder.tiers.fast.protein import ATOMS, protein_of
from verifier_ladder.tiers.high_fidelity import dynamics
from verifier_ladder.tiers.high_fidelity.dynamics import (
    CONTROL,
    QUANTITIES,
    BlownUpError,
    Conditions,
    Kept,
    Model,
    OpenmmStability,
    Run,
    deviation,
    piece_of,
    seconds_for,
)
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

pytest.importorskip("openmm")

SHORT: Mapping[str, Any] = {"equilibration": 1, "duration": 1}
CONDITIONS = Conditions("ff14SB/GBn2", 300.0, 1)


def reads_as_pdb(text: str, _: Mapping[str, Any]) -> bool:
    """What a library that reads anything says."""
    from io import StringIO

    return bool(dynamics.openmm("app").PDBFile(StringIO(text)).topology.getNumAtoms())


def keeps_its_distances(text: str, _: Mapping[str, Any]) -> bool:
    """Neighbouring alpha carbons are 3.8 Å apart: the commonest shortcut."""
    lines = [line for line in text.splitlines() if line[12:16] == " CA "]
    places = [[float(line[at : at + 8]) for at in (30, 38, 46)] for line in lines]
    gaps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    return bool(len(gaps) and (abs(gaps - 3.8) < 0.3).all())


TWINS: Mapping[str, Judge] = {
    "OpenMM reads it": Twin(reads_as_pdb), "its alpha carbons are in place":
    Twin(keeps_its_distances),
}  # fmt: skip


UNSEEN = (
    # Costs, which tests read.
    "_ATOM * atoms + _PAIR * atoms ** 2 -> _ATOM * atoms - _PAIR * atoms ** 2",
    "_ATOM * atoms -> _ATOM / atoms",
    "_PAIR * atoms ** 2 -> _PAIR / atoms ** 2",
    "_CONTEXT + STEPS * _seconds_of_step(atoms) -> _CONTEXT - STEPS * _seconds_of_step(atoms)",
    "STEPS * _seconds_of_step(atoms) -> STEPS / _seconds_of_step(atoms)",
    "stretches + _MINIMISED -> stretches - _MINIMISED",
    "(stretches + _MINIMISED) * stretch -> (stretches + _MINIMISED) / stretch",
    "_LOADING * atoms -> _LOADING / atoms",
    (
        "_LOADING * atoms + (stretches + _MINIMISED) * stretch -> "
        "_LOADING * atoms - (stretches + _MINIMISED) * stretch"
    ),
    "_LARGEST_RESIDUE * max_residues -> _LARGEST_RESIDUE / max_residues",
    "_PATIENCE * expected -> _PATIENCE / expected",
    "4 * 3600.0 -> 4 / 3600.0",
    "if not atoms: return Cost(seconds=0.01) -> if not not atoms: return Cost(seconds=0.01)",
    "2 * len(atoms) -> 2 / len(atoms)",
    "2 * len(atoms) if is_allowed else 0 -> 2 * len(atoms) if not is_allowed else 0",
    "_is_atom(line) and _is_heavy(line) -> _is_atom(line) or _is_heavy(line)",
    (
        "len({place for place, _ in atoms}) <= max_residues -> "
        "len({place for place, _ in atoms}) > max_residues"
    ),
    # Pieces, which tests read; all that the key holds is small.
    "steps * _seconds_of_step(atoms) <= _PIECE -> steps * _seconds_of_step(atoms) > _PIECE",
    "steps * _seconds_of_step(atoms) -> steps / _seconds_of_step(atoms)",
    # Seeds, replicates and evidence, which tests read too.
    "2 ** 31 - 1 -> 2 ** 31 + 1",
    "self.replicates > 1 -> self.replicates <= 1",
    "begun.steps / STEPS -> begun.steps * STEPS",
    # What lies in a folder of checkpoints, where a key leaves nothing.
    (
        "keeping is not None and keeping.checkpoint.is_due -> "
        "keeping is not None or keeping.checkpoint.is_due"
    ),
    "keeping is not None -> keeping is None",
    "run.steps not in begins -> run.steps in begins",
    (
        "self.names != model.names or run.steps not in begins -> "
        "self.names != model.names and run.steps not in begins"
    ),
    "self.names != model.names -> self.names == model.names",
    "stretches * STEPS -> stretches / STEPS",
    "is_measured and is_whole -> is_measured or is_whole",
    # Nothing blows up that the key can hold.
    "self.settings['unsolved'] == 'abstain' -> self.settings['unsolved'] != 'abstain'",
    (
        "if 'NaN' in told or 'infinite' in told: raise BlownUpError(f'the trajectory blows up: "
        "{told}') fr... -> if 'NaN' in told or 'infinite' in told: pass"
    ),
    "'NaN' in told or 'infinite' in told -> 'NaN' in told and 'infinite' in told",
    "'NaN' in told -> 'NaN' not in told",
    "'infinite' in told -> 'infinite' not in told",
    (
        "if not is_known or np.abs(positions).max() > _FURTHEST: raise _blown_up() -> "
        "if not is_known or np.abs(positions).max() > _FURTHEST: pass"
    ),
    "if not np.isfinite(energy): raise _blown_up() -> if not np.isfinite(energy): pass",
    (
        "not is_known or np.abs(positions).max() > _FURTHEST -> "
        "not is_known and np.abs(positions).max() > _FURTHEST"
    ),
)


class TestOpenmmStability(VerifierTestCase):
    strict = True

    @pytest.fixture
    def verifier(self) -> OpenmmStability:
        return OpenmmStability(**SHORT)

    @pytest.fixture
    def answer_key(self, verifier: Verifier) -> AnswerKey | None:
        del verifier  # It takes a minute.
        return None


@pytest.mark.slow  # Forty trajectories, and again for each mutant.
class TestTheKey(VerifierTestCase):
    strict = True
    twins = TWINS
    mutated = (
        "verifier_ladder.tiers.high_fidelity.dynamics",
        "verifier_ladder.tiers.fast.protein",
    )
    mutants: Mapping[str, Any] = {"count": 30, "equivalent": UNSEEN}

    @pytest.fixture
    def verifier(self) -> OpenmmStability:
        return OpenmmStability(**SHORT)


def judged(text: str, **settings: Any) -> Verdict:
    return OpenmmStability(**{**SHORT, **settings}).judge([Candidate("structure", text)])[0]


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(protein_of(CONTROL), CONDITIONS)


@pytest.fixture(scope="module")
def minimised(model: Model) -> Run:
    return model.begun()


def until(steps: int, model: Model, run: Run, seed: int = 1) -> Run:
    while run.steps < steps:
        run = model.further(run, seed)
    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where checkpoints are kept, each half of a picosecond."""
    monkeypatch.setenv("VLADDER_CHECKPOINTS", str(tmp_path))
    monkeypatch.setattr(dynamics, "_PIECES", (125,))
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    return tmp_path


def test_the_key_is_the_one_that_was_frozen() -> None:
    frozen = "2ed0ffca0eb9e78ec63804902cc73a5c78b7a76eb5b0fc2be27631ed58c6aff0"

    assert frozen == AnswerKey.named("openmm-stability").frozen(110)


def test_naive_judges_do_not_meet_the_key() -> None:
    assert [] == AnswerKey.named("openmm-stability").weaknesses(TWINS)


def test_a_run_that_is_gone_on_with_is_the_same_to_the_last_bit(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamics, "_PIECES", (125,))
    whole = until(500, model, model.begun(), seed=5)
    other = Model(protein_of(CONTROL), CONDITIONS)
    parted = other.begun()
    while parted.steps < 500:
        parted = Run.model_validate_json(other.further(parted, seed=5).model_dump_json())

    assert whole == parted
    assert (500, 2, 2) == (whole.steps, len(whole.drifts), len(whole.energies))


def test_another_seed_is_another_run(model: Model, minimised: Run) -> None:
    one, two = (model.further(minimised, seed).positions for seed in (1, 2))

    assert one != two


def test_replicates_are_runs_of_their_own_and_a_lone_run_is_always_the_same() -> None:
    def scores(replicates: int) -> list[float | None]:
        found = []
        for seed in (1, 2):
            random.seed(seed)
            found.append(judged(CONTROL, replicates=replicates).score)
        return found

    lone, several = scores(1), scores(2)

    assert lone[0] == lone[1]
    assert several[0] != several[1]


def test_what_was_computed_before_a_worker_was_killed_is_not_computed_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = judged(CONTROL)
    further, told = Model.further, list[int]()

    def killed_at(steps: int) -> None:
        def killed(self: Model, run: Run, seed: int) -> Run:
            if run.steps == steps:
                raise KeyboardInterrupt
            told.append(run.steps)
            return further(self, run, seed)

        monkeypatch.setattr(Model, "further", killed)
        with pytest.raises(KeyboardInterrupt):
            OpenmmStability(**SHORT).examine(Candidate("structure", CONTROL))
        assert 1 == len(list(folder.iterdir()))

    def resumed(self: Model, run: Run, seed: int) -> Run:
        told.append(run.steps)
        return further(self, run, seed)

    killed_at(0)
    killed_at(375)
    monkeypatch.setattr(Model, "further", resumed)
    last = judged(CONTROL)

    assert [*range(0, 500, 125)] == told
    assert (whole.score, whole.evidence["energy"]) == (last.score, last.evidence["energy"])
    assert 1.5 == last.evidence["went on after picosecond"]
    assert "went on after picosecond" not in whole.evidence
    assert [] == list(folder.iterdir())


PLACE = {"positions": [[0, 0, 1]], "velocities": [[0, 0, 1]]}
MEASURED = {"drifts": [1], "energies": [1]}


class Lone(NamedTuple):
    """What is asked of a model of few atoms."""

    size: int = 1
    names: str = "ALA N"
    piece: int = 125


def taken(checkpoint: checkpoints.Checkpoint, model: Lone) -> Run | None:
    kept = Kept.found(checkpoint)
    return None if kept is None else kept.run_of(cast("Model", model), 3)


@pytest.mark.parametrize(
    "said",
    [
        {}, {"positions": [[0, 0, 1]], "velocities": []},
        {**PLACE, "steps": 375}, {**PLACE, "steps": 375, "drifts": [1]},
        {**PLACE, "steps": 375, "drifts": [1] * 1000, "energies": [1] * 1000},
        {**PLACE, **MEASURED, "steps": 400}, {**PLACE, **MEASURED, "steps": -125},
        {**PLACE, "steps": 750, "drifts": [1] * 3, "energies": [1] * 3},
    ],
)  # fmt: skip
def test_a_checkpoint_that_is_none_of_this_run_is_not_gone_on_with(
    folder: Path, said: dict[str, Any]
) -> None:
    del folder
    checkpoint, about = checkpoints.Checkpoint(b"a"), {"structure": "", "names": "ALA N"}

    checkpoint.save(json.dumps({**about, "run": {**PLACE, **MEASURED, "steps": 375}}).encode())
    assert taken(checkpoint, Lone()) is not None
    assert taken(checkpoint, Lone(size=2)) is None
    assert taken(checkpoint, Lone(names="ALA CA")) is None
    checkpoint.save(json.dumps({**about, "run": said}).encode())
    assert taken(checkpoint, Lone()) is None


def test_what_was_predicted_is_kept_with_the_run_that_was_begun(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No predictor says the same twice: of another structure nothing could be gone on with."""
    asked: list[str] = []

    class Predicted(OpenmmStability):
        def structure_of(self, _: Candidate) -> str:
            asked.append(pdb(turned(peptide("AAA", POLYPROLINE), len(asked))))
            return asked[-1]

    def killed(self: Model, run: Run, seed: int) -> Run:
        if run.steps == 125:
            raise KeyboardInterrupt
        return further(self, run, seed)

    verifier, further = Predicted(**SHORT), Model.further
    monkeypatch.setattr(Model, "further", killed)
    with pytest.raises(KeyboardInterrupt):
        verifier.examine(Candidate("structure", "AAA"))
    monkeypatch.setattr(Model, "further", further)
    verdict = verifier.examine(Candidate("structure", "AAA"))

    assert 1 == len(asked)
    assert 0.5 == verdict.evidence["went on after picosecond"]
    assert judged(asked[0]).score == verdict.score
    assert [] == list(folder.iterdir())


@pytest.mark.parametrize(("atoms", "steps"), [(33, 250), (900, 50), (2000, 10), (16_000, 1)])
def test_a_trajectory_is_cut_by_the_number_of_its_atoms(atoms: int, steps: int) -> None:
    """Other pieces are other trajectories, which another version has to tell."""
    assert ("3", steps) == (OpenmmStability.version, piece_of(atoms))


@pytest.mark.parametrize("name", ["drift", "energy"])
def test_each_quantity_may_be_the_score(name: str) -> None:
    verdict = judged(CONTROL, score=name)

    assert verdict.score == verdict.evidence[name]
    assert QUANTITIES[name].unit == verdict.unit


def test_a_turned_protein_lies_upon_itself() -> None:
    helix = protein_of(pdb(peptide("AAAA", HELIX))).backbone
    other = protein_of(pdb(turned(peptide("AAAA", HELIX), 3))).backbone

    assert deviation(other, helix) < 2e-3
    assert deviation(other * [1, 1, -1], helix) > 0.5
    assert 1.0 == pytest.approx(deviation(helix + [[0, 0, 1], [0, 0, -1]] * 6, helix), abs=0.2)


def test_energies_do_not_depend_on_how_a_protein_is_turned() -> None:
    """Minimised and cold, each ends in the same place."""
    energies = [
        judged(pdb(turned(peptide("AAA", POLYPROLINE), n)), temperature=1.0).evidence["energy"]
        for n in range(2)
    ]

    assert energies[0] == pytest.approx(energies[1], abs=1.0)


def test_amino_acids_of_each_sort_are_known_to_the_force_field() -> None:
    protein = protein_of(pdb(peptide("GSVTILFEKDC", POLYPROLINE)))

    assert 169 == Model(protein, CONDITIONS).size


@pytest.mark.parametrize(("unsolved", "outcome"), [("abstain", "abstain"), ("reject", "reject")])
def test_a_ladder_chooses_what_becomes_of_what_blows_up(
    monkeypatch: pytest.MonkeyPatch, unsolved: str, outcome: str
) -> None:
    further = Model.further

    def blow_up(self: Model, run: Run, seed: int) -> Run:
        if self.size > 33 and run.drifts:
            raise BlownUpError("the trajectory blows up")
        return further(self, run, seed)

    monkeypatch.setattr(Model, "further", blow_up)
    verdict = judged(pdb(peptide("AAAA", STRAND)), unsolved=unsolved)

    assert outcome == verdict.outcome.value
    assert verdict.is_answer
    assert "that of a small peptide does not" in verdict.reason


def test_what_blows_up_for_everybody_is_a_failure_of_the_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def blow_up(*_: object) -> Run:
        raise BlownUpError("the trajectory blows up")

    monkeypatch.setattr(Model, "further", blow_up)
    verdict = judged(CONTROL)

    assert "tool" == verdict.failed_at
    assert not verdict.is_answer


def test_what_blows_up_for_everybody_once_it_is_let_go_is_a_failure_of_the_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def blow_up(_: Model, run: Run, seed: int) -> Run:
        if run.steps > 0 and seed == 1:
            raise BlownUpError("the trajectory blows up")
        return run.model_copy(update={"steps": run.steps + 250})

    monkeypatch.setattr(Model, "further", blow_up)

    assert "tool" == judged(CONTROL).failed_at


def test_atoms_that_fly_apart_end_a_trajectory(model: Model, minimised: Run) -> None:
    fast = [(1e9 * (-1) ** n, 0.0, 0.0) for n in range(model.size)]
    flying = minimised.model_copy(update={"velocities": fast, "steps": 250})

    with pytest.raises(BlownUpError, match="blows up"):
        model.further(flying, 1)


def test_a_file_of_the_force_fields_name_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("amber14/protein.ff14SB.xml", "implicit/gbn2.xml"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("<ForceField><Script>raise SystemExit</Script></ForceField>")

    assert Outcome.ACCEPT is judged(CONTROL).outcome


def test_without_the_library_the_verifier_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(dynamics, "import_module", missing)

    assert "pip install '.[dynamics]'" in judged(CONTROL).reason


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"force_field": "amber14-all.xml"}, "write ff14SB/GBn2 or ff14SB/OBC2"),
        ({"unsolved": "ignore"}, "write abstain or reject"),
        ({"score": "beauty"}, "write criteria, rmsd"),
        ({"criteria": {"rmsd": {}}}, "give least"),
        ({"duration": 0}, "duration"),
        ({"duration": 10**6}, "give at most 100000"),
        ({"duration": 100_000, "max_residues": 1000}, "lower max_residues"),
        ({"temperature": 1e4}, "give at most 1000"),
        ({"replicates": 101}, "give at most 100"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        OpenmmStability(**settings)


@pytest.mark.parametrize(
    ("atoms", "seconds"),
    # Processor time of minimising and 22 stretches on one core of an ordinary server; of the last
    # two, whose sizes were not fitted, ten steps were measured.
    [
        (33, 3.1), (95, 13), (157, 31), (240, 89), (324, 126), (437, 217), (582, 370),
        (1151, 1590), (2292, 6400),
    ],
)  # fmt: skip
def test_what_is_reserved_is_within_a_factor_of_two(atoms: int, seconds: float) -> None:
    assert 0.5 < seconds_for(atoms, 22) / seconds < 2


@pytest.mark.parametrize("settings", [{"duration": 2000}, {"duration": 20, "max_residues": 300}])
def test_a_good_protein_that_takes_long_has_time_to_end(settings: Mapping[str, Any]) -> None:
    verifier = OpenmmStability(**settings)
    residues = verifier.settings["max_residues"]
    tryptophans = "\n".join(
        f"ATOM      1 {name:<4} TRP A{number:4}       0.000   0.000   0.000"
        for number in range(residues) for name in ATOMS["TRP"]
    )  # fmt: skip

    expected = verifier.expected_cost(Candidate("structure", tryptophans)).seconds

    assert 4 * 3600 < expected < verifier.timeout / 5


def test_larger_proteins_and_longer_runs_cost_more_and_no_protein_next_to_nothing() -> None:
    def cost(text: str, **settings: Any) -> float:
        candidate = Candidate("structure", text)
        return OpenmmStability(**settings).expected_cost(candidate).seconds

    small, large = pdb(peptide("AAA", HELIX)), pdb(peptide("AAAAAA", HELIX))

    assert cost("words") < 0.1 < cost(small) < cost(large) < cost(large, duration=40)
