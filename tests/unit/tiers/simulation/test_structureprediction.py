"""Structure prediction: programs of the host, what they are sent, and what becomes of failures.

All programs here are stand-ins that write synthetic files: no predictor was run.
"""

import sys
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, ZipFile

import numpy as np
import pytest
from structurefiles import ending
from synthetic_folds import boltz, folded, read_request, written

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.datasets import Selection, training_set
from verifier_ladder.errors import ConfigError, ToolError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.services.gpumemory import GpusNotKnownError
from verifier_ladder.testing.answerkey import AnswerKey
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.sequencegate import SequenceGate
from verifier_ladder.tiers.simulation.hostprogram import LONGEST
from verifier_ladder.tiers.simulation.predictors import (
    PROFILES,
    SYNTHETIC,
    Request,
    programs,
)
from verifier_ladder.tiers.simulation.structureprediction import QUANTITIES, StructurePrediction
from verifier_ladder.verdict import Outcome, Verdict
from verifier_ladder.verifiers import Verifier

ROOT = Path(__file__).parents[4]
ONE, OTHER = "MKTAYIAKQRQISFVKSHFSRQLEERLG", "MKAELLKRAEELAKKALEEA"
STAND_IN = [sys.executable, str(ROOT / "tools" / "synthetic_folds.py")]
TERMS: dict[str, Any] = {"predictors": ["alphafold3"], "accept_terms": ["alphafold3"]}
Host = Callable[..., None]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Has the host name a program for each profile: a command, or a table of more."""

    def name(**given: Any) -> None:
        lines = []
        for profile, told in given.items():
            table = told if isinstance(told, dict) else {"command": told}
            lines.append(f"[{profile}]")
            for key, value in {"version": "1", "gpu_memory": 0, **table}.items():
                text = str(value).lower() if isinstance(value, bool) else repr(value)
                lines.append(f"{key} = {text}")
        path = tmp_path / "predictors.toml"
        path.write_text("\n".join(lines))
        monkeypatch.setenv("VLADDER_PREDICTORS", str(path))

    return name


def stand_in(profile: str, **more: Any) -> dict[str, Any]:
    """A program that writes what a predictor would."""
    return {"command": [*STAND_IN, profile], "synthetic": True, **more}


def shell(script: str, **more: Any) -> dict[str, Any]:
    """A program of one line, whose arguments are those of the profile."""
    return {"command": ["/bin/sh", "-c", script, "sh"], **more}


def judged(content: str = ONE, task: Mapping[str, Any] | None = None, **settings: Any) -> Verdict:
    return StructurePrediction(**settings).judge([Candidate("protein", content, task=task)])[0]


class TestStructurePrediction(VerifierTestCase):
    strict = True
    cost_floor = 60.0  # A stand-in takes nothing of what a predictor does.

    @pytest.fixture
    def verifier(self, host: Host, tmp_path: Path) -> StructurePrediction:
        # It copies what a stand-in would write, which starts in a hundredth of the time.
        for is_other, chain in enumerate((ONE, OTHER)):
            written(tmp_path / str(is_other), boltz(folded((chain,), seed="boltz")))
        copied = f'cp -r {tmp_path}/$(grep -c {OTHER} "$1")/. "$3"'
        host(boltz=shell(copied, synthetic=True))
        return StructurePrediction()

    @pytest.fixture
    def candidates(self) -> list[Candidate]:
        return [Candidate("protein", text) for text in (ONE, OTHER)]

    @pytest.fixture
    def answer_key(self, verifier: Verifier) -> AnswerKey | None:
        del verifier  # That of its files stands beside their reader.
        return None


# ---- The host


@pytest.mark.parametrize("name", PROFILES)
def test_without_a_predictor_it_abstains_and_says_how_to_install_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLADDER_PREDICTORS", raising=False)

    verdict = judged(predictors=[name], accept_terms=["alphafold3"])

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert f"{name} is not installed: {PROFILES[name].install}" in verdict.reason
    assert f"section [{name}] of the file that VLADDER_PREDICTORS names" in verdict.reason


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[boltz]\nversion = '1'", "boltz.command|command: Field required"),
        ("[boltz]\ncommand = 'boltz'\nversion = '1'", "list"), ("[esmfold]\n", "command"),
        ("[esmfold]\ncommand = ['x']\nversion = '1'", "no profile 'esmfold'"), ("[", "TOML"),
        ("[boltz]\ncommand = []\nversion = '1'", "at least 1"), ("boltz = 3", "boltz|dict|valid"),
        ("[boltz]\ncommand = ['x']\nversion = '1'\nseconds = 43201", "or equal to 43200"),
        ("[boltz]\ncommand = ['x']\nversion = '1'\nseconds = inf", "seconds: Input"),
    ],
)  # fmt: skip
def test_a_file_of_the_host_that_makes_no_sense_is_refused_by_name(
    text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "predictors.toml"
    path.write_text(text)
    monkeypatch.setenv("VLADDER_PREDICTORS", str(path))

    with pytest.raises(ConfigError, match=rf"VLADDER_PREDICTORS=.*({told}|Invalid|Expected)"):
        programs()
    assert not judged().is_answer


def test_a_new_version_of_the_host_has_keys_of_its_own(host: Host) -> None:
    digests = set()
    for version in ("1", "2"):
        host(boltz={"command": ["boltz"], "version": version})
        digests.add(StructurePrediction().digest)

    assert 2 == len(digests)


def test_what_was_opened_with_another_version_is_not_answered(host: Host) -> None:
    host(boltz={"command": ["boltz"], "version": "1"})
    verifier = StructurePrediction()
    host(boltz={"command": ["boltz"], "version": "2"})

    verdict = verifier.judge([Candidate("protein", ONE)])[0]

    assert "tool" == verdict.failed_at
    assert "version 2, and the campaign's is 1" in verdict.reason


# ---- What they are sent


@pytest.mark.parametrize("name", PROFILES)
def test_each_is_asked_about_the_chains_in_its_own_form(name: str, tmp_path: Path) -> None:
    request = Request((ONE, OTHER, ONE), seed=7)

    arguments = PROFILES[name].asked(request, tmp_path, tmp_path / "out")

    assert ([ONE, OTHER, ONE], tmp_path / "out") == read_request(name, arguments)
    assert any("7" in part for part in [*arguments, *(p.read_text() for p in tmp_path.iterdir())])


@pytest.mark.parametrize(
    ("name", "alone", "sent"),
    [
        ("boltz", '"msa": "empty"', "--use_msa_server"),
        ("colabfold", "--msa-mode single_sequence", ""),
    ],
)
def test_a_program_asks_no_server_unless_it_may(
    name: str, alone: str, sent: str, tmp_path: Path
) -> None:
    told = {}
    for sends in (False, True):
        arguments = PROFILES[name].asked(Request((ONE,), sends=sends), tmp_path, tmp_path)
        told[sends] = " ".join([*arguments, *(p.read_text() for p in tmp_path.iterdir())])

    assert alone in told[False]
    assert alone not in told[True]
    assert sent in told[True]
    assert not sent or sent not in told[False]


def test_sequences_leave_the_host_only_where_both_say_so(host: Host, tmp_path: Path) -> None:
    host(boltz=stand_in("boltz", sends=True))
    touched = tmp_path / "asked"
    host(boltz=shell(f"touch {touched}", sends=True))

    verdict = judged()

    assert "tool" == verdict.failed_at
    assert "say send_sequences=True" in verdict.reason
    assert not touched.exists()
    host(boltz=stand_in("boltz", sends=True))
    assert judged(send_sequences=True).is_answer


def test_no_row_says_that_sequences_may_leave_or_terms_are_accepted() -> None:
    model = StructurePrediction.data_settings
    settings = StructurePrediction().settings
    assert model is not None
    model.model_validate(settings, strict=True)

    for changes in ({"send_sequences": True}, TERMS, {"accept_terms": ["alphafold3"]}):
        with pytest.raises(ValueError, match=r"Input should|at most 0"):
            model.model_validate({**settings, **changes}, strict=True)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"predictors": ["alphafold3"]}, r"say accept_terms=\['alphafold3'\]"),
        ({"predictors": ["esmfold"]}, "give one or two of alphafold3, boltz, colabfold"),
        ({"predictors": ["boltz", "boltz"]}, "give one or two"),
        ({"predictors": []}, "one or two"),
        ({"accept_terms": ["all"]}, "no terms 'all'"), ({"max_residues": 10**6}, "at most 2000"),
        ({"score": "agreement_tm"}, "agreement takes two predictors"),
        ({"criteria": {"beauty": {"least": 1}}}, "is none of"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        StructurePrediction(**settings)


# ---- What it says


def test_evidence_names_the_program_its_version_its_terms_and_what_is_synthetic(
    host: Host,
) -> None:
    host(alphafold3=stand_in("alphafold3", version="3.0.1"))

    verdict = judged(f"{ONE}:{OTHER}", **TERMS)

    assert Outcome.ACCEPT is verdict.outcome, verdict.reason
    assert ["alphafold3"] == verdict.evidence["terms"]
    assert SYNTHETIC == verdict.evidence["note"]
    said = verdict.evidence["predictors"]["alphafold3"]
    assert f"3.0.1 ({SYNTHETIC})" == said["version"]
    assert {"plddt", "ptm", "iptm", "pae", "ranking score"} <= said.keys()


def test_two_predictors_are_compared_and_the_first_is_judged(host: Host) -> None:
    host(boltz=stand_in("boltz"), colabfold=stand_in("colabfold"))

    verdict = judged(predictors=["boltz", "colabfold"], score="agreement_lddt")

    assert Outcome.ACCEPT is verdict.outcome, verdict.reason
    assert verdict.evidence["agreement_lddt"] == verdict.score
    assert 0.9 < verdict.evidence["agreement_lddt"] <= 1
    said = verdict.evidence["predictors"]
    assert said["boltz"]["plddt"] == verdict.evidence["plddt"] != said["colabfold"]["plddt"]


def test_a_task_may_ask_for_more_and_a_reject_says_what(host: Host) -> None:
    host(boltz=stand_in("boltz"))
    task = {"criteria": {"plddt": {"least": 99}}}

    verdict = judged(task=task)

    assert Outcome.REJECT is verdict.outcome
    assert "pLDDT is" in verdict.reason
    assert verdict.feedback


@pytest.mark.parametrize(
    ("content", "windows", "told"),
    [
        (ONE, {"iptm": {"least": 0.5}}, "no ipTM of one chain"),
        (ONE, {"agreement_lddt": {"least": 0.5}}, "take two predictors"),
        ("A" * 801, {"plddt": {"least": 1}}, "801 residues are too many; 800"),
    ],
)
def test_what_is_not_defined_is_declined_before_any_work_and_kept(
    content: str, windows: dict[str, Any], told: str
) -> None:
    verdict = judged(content, {"criteria": windows})

    assert Outcome.ABSTAIN is verdict.outcome
    assert verdict.is_answer
    assert told in verdict.reason


def test_chains_of_one_residue_have_no_lddt() -> None:
    verdict = judged("A:G", predictors=["boltz", "colabfold"], score="agreement_lddt")

    assert verdict.is_answer
    assert "says nothing of chains of one residue" in verdict.reason


def test_none_is_run_before_all_may_be(host: Host, tmp_path: Path) -> None:
    host(boltz=shell(f"touch {tmp_path / 'ran'}"))

    verdict = judged(predictors=["boltz", "colabfold"])

    assert "colabfold is not installed" in verdict.reason
    assert not (tmp_path / "ran").exists()


def test_what_is_no_protein_is_rejected_without_a_predictor() -> None:
    assert Outcome.REJECT is judged("the answer").outcome


@pytest.mark.parametrize("name", QUANTITIES)
def test_each_quantity_may_be_the_score(name: str) -> None:
    made = StructurePrediction(predictors=["boltz", "colabfold"], score=name)

    assert QUANTITIES[name].unit == made.unit


def test_chains_in_one_place_are_rejected_however_many_they_are(
    host: Host, tmp_path: Path
) -> None:
    one = folded((OTHER,))
    many = folded((OTHER,) * 8)
    here = {n: one.atoms[n % len(one.atoms)].place for n in range(len(many.atoms))}
    written(tmp_path / "left", boltz(many.moved(here)))
    host(boltz=shell(f'cp -r {tmp_path}/left/. "$3"'))

    verdict = judged(":".join(many.chains))

    assert Outcome.REJECT is verdict.outcome, verdict.reason
    assert "clashes" in verdict.reason


@pytest.mark.parametrize("criteria", [{"plddt": {"least": 50}}, {"crowd": {"least": 1}}])
def test_a_chain_that_has_collapsed_is_rejected_however_sure_the_predictor_is(
    host: Host, tmp_path: Path, criteria: dict[str, Any]
) -> None:
    fold = folded((ONE,))
    small = fold.moved({n: 0.1 * np.array(atom.place) for n, atom in enumerate(fold.atoms)})
    written(tmp_path / "left", boltz(small))
    host(boltz=shell(f'cp -r {tmp_path}/left/. "$3"'))

    verdict = judged(criteria=criteria)

    assert Outcome.REJECT is verdict.outcome, verdict.reason
    assert "heavy atoms in a cube of 3 Å is" in verdict.reason
    assert verdict.evidence["crowd"] > 24


def test_what_stands_beside_a_protein_is_told(host: Host, tmp_path: Path) -> None:
    files = boltz(folded((ONE,)), form="pdb")
    name = ending(files, "_model_0.pdb")
    ion = "HETATM  900 ZN    ZN A 101      40.000  40.000  40.000  1.00 50.00          ZN"
    files[name] = files[name].replace("TER", f"TER\n{ion}")
    written(tmp_path / "left", files)
    host(boltz=shell(f'cp -r {tmp_path}/left/. "$3"'))

    verdict = judged()

    assert Outcome.ACCEPT is verdict.outcome, verdict.reason
    assert {"ZN": 1} == verdict.evidence["predictors"]["boltz"]["left out"]


# ---- What fails is the tool


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exit 0", "no file of the best model (it ended with exit code 0)"),
        ("echo no GPU >&2; exit 3", "ended with exit code 3; its last words: no GPU"),
        ("kill -9 $$", "was killed by signal 9"),
        ('mkdir -p "$3"/predictions/fold; : >"$3"/predictions/fold/fold_model_0.cif', "is empty"),
        ('mkdir "$3"/predictions; ln -s /etc "$3"/predictions/fold', "no file of the best model"),
        ('echo tidied up; rm -rf ./* "$3"', "its last words: tidied up"),
        ('cp -r "$3" ../other; rmdir "$3"; ln -s ../other "$3"', "folder is gone, or a link"),
    ],
    ids=["nothing", "an error", "killed", "an empty file", "a link", "no folder", "all a link"],
)
def test_what_leaves_no_whole_prediction_has_failed(host: Host, script: str, told: str) -> None:
    host(boltz=shell(script))

    verdict = judged()

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert told in verdict.reason
    assert "cause" not in verdict.evidence  # So that no engine blames the candidate.


def test_part_of_the_files_is_a_failure_and_an_exit_code_beside_all_of_them_is_none(
    host: Host,
) -> None:
    whole = " ".join([*STAND_IN, "boltz"]) + ' "$@"'
    host(boltz=shell(f'{whole}; find "$3" -name "plddt_*" -delete'))
    part = judged()
    host(boltz=shell(f"{whole}; exit 1"))
    all_of_them = judged()

    assert "tool" == part.failed_at
    assert "plddt_fold_model_0.npz can't be read" in part.reason
    assert Outcome.ACCEPT is all_of_them.outcome, all_of_them.reason


def deep(files: dict[str, Any]) -> None:
    """Lists in lists for a number, as deep as the parser reads them."""
    name = ending(files, "confidence_fold_model_0.json")
    rest = files[name][files[name].index(",") :]
    files[name] = '{"confidence_score": ' + "[" * 1000 + "]" * 1000 + rest


def packed_ill(files: dict[str, Any]) -> None:
    """An array whose packing is broken."""
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_LZMA) as pack:
        pack.writestr("plddt.npy", bytes(range(256)))
    data = bytearray(stream.getvalue())
    data[50:70] = b"\xff" * 20  # Of what is packed, not of what says where it lies.
    files[ending(files, "plddt_fold_model_0.npz")] = bytes(data)


@pytest.mark.parametrize("edit", [deep, packed_ill])
def test_files_that_break_a_library_are_held_against_nobody(
    host: Host, tmp_path: Path, edit: Callable[[dict[str, Any]], None]
) -> None:
    files = boltz(folded((ONE,)))
    edit(files)
    written(tmp_path / "left", files)
    host(boltz=shell(f'cp -r {tmp_path}/left/. "$3"'))

    verdict = judged()

    assert (Outcome.ABSTAIN, "tool") == (verdict.outcome, verdict.failed_at)
    assert "what it left can't be read" in verdict.reason
    assert "cause" not in verdict.evidence


def test_no_program_is_given_longer_than_the_engine_waits() -> None:
    assert 2 * LONGEST < StructurePrediction.timeout  # Who hangs may be rejected.


def test_a_command_that_is_not_there_is_told(host: Host) -> None:
    host(boltz=["/nowhere/boltz"])

    assert "/nowhere/boltz can't be started: No such file" in judged().reason


# ---- GPUs


def test_no_more_are_predicted_at_once_than_the_host_has_gpus_for(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_GPU_MEMORY", "80GiB,80GiB")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    host(
        boltz={"command": ["boltz"], "gpu_memory": "whole"},
        colabfold={"command": ["colabfold"], "gpu_memory": "20GiB"},
        alphafold3=stand_in("alphafold3", gpu_memory="whole"),
    )

    assert 2 == StructurePrediction(predictors=["boltz"]).max_processes
    assert 8 == StructurePrediction(predictors=["colabfold"]).max_processes
    assert 2 == StructurePrediction(predictors=["boltz", "colabfold"]).max_processes
    assert StructurePrediction(**TERMS).max_processes is None


def test_more_are_predicted_at_once_as_soon_as_it_is_known_which_gpus_there_are(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("verifier_ladder.services.gpumemory._QUESTIONS", [Hung()])
    host(boltz={"command": ["boltz"], "gpu_memory": "whole"})
    verifier = StructurePrediction()

    assert 1 == verifier.max_processes

    monkeypatch.setattr(Hung, "answer", "0, GPU-aa, 81559\n1, GPU-bb, 81559\n")

    assert 2 == verifier.max_processes


class Hung:
    """What was asked of a driver that has not answered yet."""

    answer = ""
    is_over = False

    def told(self) -> str:
        if not self.answer:
            raise GpusNotKnownError
        return self.answer


def test_time_on_a_gpu_is_expected_as_the_host_says_and_charged_as_it_was(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("VLADDER_GPU_MEMORY", "80GiB")
    written(tmp_path / "left", boltz(folded((ONE,))))
    copied = shell(f'cp -r {tmp_path}/left/. "$3"', gpu_memory="20GiB", gpu_seconds=90)
    host(boltz=copied)
    verifier = StructurePrediction()

    (verdict,) = verifier.judge([Candidate("protein", ONE)])
    host(boltz={**copied, "command": ["false"]})
    (failed,) = verifier.judge([Candidate("protein", ONE)])

    assert "tool" == failed.failed_at
    assert failed.cost is not None
    assert 0 < failed.cost.gpu_seconds
    assert 90 == verifier.cost.gpu_seconds
    assert 90 == verifier.expected_cost(Candidate("protein", ONE)).gpu_seconds
    assert verdict.cost is not None
    assert 0 < verdict.cost.gpu_seconds


@pytest.mark.parametrize(
    ("content", "windows", "expected"),
    [("A" * 801, {}, 0), ("the answer", {}, 0), (ONE, {"iptm": {"least": 0.5}}, 90)],
    ids=["too large", "no protein", "not defined"],
)
def test_what_was_not_predicted_is_charged_no_gpu(
    host: Host, content: str, windows: Any, expected: float
) -> None:
    host(boltz={"command": ["false"], "gpu_memory": "20GiB", "gpu_seconds": 90})
    verifier = StructurePrediction()
    candidate = Candidate("protein", content, task={"criteria": windows})

    (verdict,) = verifier.judge([candidate])

    assert Cost() == verdict.cost
    assert expected == verifier.expected_cost(candidate).gpu_seconds


# ---- In a campaign


def test_a_campaign_keeps_terms_and_an_export_leaves_out_what_is_under_them(
    host: Host, tmp_path: Path
) -> None:
    host(alphafold3=stand_in("alphafold3"))
    ladder = vl.Ladder(
        "folds", [SequenceGate(), StructurePrediction(**TERMS)],
        policy="all_tiers",
    )  # fmt: skip
    path = tmp_path / "ledger.db"
    with vl.Campaign.open("c", ladder=ladder, ledger=str(path), workers=1) as campaign:
        told = campaign.score([f">mine\n{ONE}", "AAAA", ONE], groups=["a", "a", "a"], deadline=300)

    assert [1.0, 1.0] == [told[0].value, told[2].value]
    with open_ledger(str(path)) as ledger:
        sets = [
            training_set(
                ledger, "sft", selection=Selection(pass_at=0.5, without_terms=without),
                prompts={"a": "Propose a protein."},
            )
            for without in ((), ("alphafold3",))
        ]  # fmt: skip
    assert 0 < len(sets[0])
    assert 0 == len(sets[1])
    assert 2 == sets[1].left_out["under the terms alphafold3"]
    assert ["alphafold3"] == sets[1].as_json()["selection"]["without_terms"]


@pytest.mark.slow  # A worker is started for it; what a verdict says is told above.
def test_a_failing_predictor_leaves_the_reward_unknown(host: Host, tmp_path: Path) -> None:
    host(boltz=shell("exit 1"))
    ladder = vl.Ladder("folds", [SequenceGate(), StructurePrediction()], policy="all_tiers")

    with vl.Campaign.open(
        "c", ladder=ladder, ledger=str(tmp_path / "l.db"), workers=1
    ) as campaign:
        (told,) = campaign.score([ONE], deadline=300)

    assert told.value is None
    assert "tool" == told.failed_at


def test_a_failure_is_an_error_of_the_tool_where_it_is_called_by_hand(host: Host) -> None:
    from verifier_ladder.tiers.simulation.predictors import predict

    host(boltz=shell("exit 1"))

    with pytest.raises(ToolError, match="boltz 1: it left no file of the best model"):
        predict("boltz", Request((ONE,)))
