"""Proofs in Coq: the statement asked is the statement proved, and rests on what is allowed."""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.mutants import mutation_test
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.programs import program_in
from verifier_ladder.tiers.sandbox import Backend, Ending, Result, Sandbox
from verifier_ladder.tiers.sandbox.language import MISSING
from verifier_ladder.tiers.simulation import proof
from verifier_ladder.tiers.simulation.proof import COQ, CoqProof, assumptions
from verifier_ladder.verdict import Outcome, Verdict

_EVERY = 8
"""The kit has one of so many cases; all of them are slow."""
CLOSED = "Closed under the global context"
_PLUS = "forall n m : nat, n + m = m + n"


@pytest.fixture
def coq(require: Callable[..., None]) -> None:
    """Coq is here, and a sandbox with files."""
    require("coqc", shutil.which("coqc") is not None, "apt-get install coq")
    why = Sandbox(needs=("files",)).problem()
    require("a sandbox with files", not why, why)


# ---- The answer key


def _script(text: str) -> str:
    return program_in(text, COQ).decode()


def names_it(text: str, task: Mapping[str, Any]) -> bool:
    """What stands in a script without the words for admitting."""
    script = _script(text)
    admits = any(word in script for word in ("Admitted", "admit", "Axiom", "Parameter"))
    return task.get("name", "answer") in script and "Qed" in script and not admits


def compiles(text: str, task: Mapping[str, Any]) -> bool:
    """Coq plainly called on the task's lines and the script: it ends with status 0."""
    lines = [task.get("imports", ""), task.get("preamble", ""), _script(text)]
    if not task["statement"]:
        return False
    with TemporaryDirectory() as folder:
        Path(folder, "whole.v").write_text("\n".join(lines), "utf-8")
        done = subprocess.run(
            ["coqc", "-q", "whole.v"], cwd=folder, timeout=20, capture_output=True, check=False  # noqa: S607
        )  # fmt: skip
        return done.returncode == 0


@pytest.mark.usefixtures("coq")
class TestCoqProof(VerifierTestCase):
    strict = True
    cost_factor = 100.0  # Of four runs of Coq on a machine that others use too.
    twins: Mapping[str, Judge] = {
        "it names the theorem and admits nothing": Twin(names_it),
        "it compiles": Twin(compiles),
    }
    mutated = ("verifier_ladder.tiers.simulation.proof",)
    mutants: Mapping[str, Any] = {
        "count": 24,
        "equivalent": [
            # Coq or its checker itself is missing or fails, which tests below imitate.
            (
                "if _ANOMALY in told: raise SandboxError(f'Coq itself fails in the sandbox: "
                "{told}') -> if _ANOMALY in told: pass"
            ),
            (
                "if result.ended is Ending.EXITED and result.status == _NOT_FOUND: raise "
                "SandboxError(f'coqchk is ... -> if result.ended is Ending.EXITED and "
                "result.status == _NOT_FOUND: pass"
            ),
            # Words of the feedback, which tests below read.
            "int(found['line']) - before -> int(found['line']) + before",
            "before is None -> before is not None",
            "found['line'] is None -> found['line'] is not None",
            (
                "found['line'] is None or before is None -> found['line'] is None and "
                "before is None"
            ),
            (
                "if 'was not found' in told: raise CandidateError(f'the script defines no "
                "{task.name}', feedback=f... -> if 'was not found' in told: pass"
            ),
            "'was not found' in told -> 'was not found' not in told",
            (
                "printable(' '.join(lines), 200) or 'nothing that Coq tells' -> "
                "printable(' '.join(lines), 200) and 'nothing that Coq tells'"
            ),
        ],
    }

    @pytest.fixture
    def verifier(self) -> CoqProof:
        return CoqProof()

    @pytest.fixture
    def answer_key(self, request: pytest.FixtureRequest) -> AnswerKey:
        tame = AnswerKey.named("coq-proof").without_hostile()
        step = 1 if "twins" in request.node.name else _EVERY
        return AnswerKey(tame.name, tame.cases[::step], tame.lines[::step])

    @pytest.mark.slow
    def test_hostile_input_gets_verdicts(self, trial: Any) -> None:
        super().test_hostile_input_gets_verdicts(trial)

    @pytest.mark.slow
    def test_the_answer_key_tells_it_from_naive_twins(self, answer_key: Any) -> None:
        super().test_the_answer_key_tells_it_from_naive_twins(answer_key)

    @pytest.mark.slow
    def test_the_answer_key_catches_mutants(self) -> None:  # type: ignore[override]
        tame = AnswerKey.named("coq-proof").without_hostile()
        found = mutation_test(tame, CoqProof, self.mutated, **self.mutants).weaknesses
        assert not found, found

    @pytest.mark.slow
    def test_every_case_is_judged_rightly(self) -> None:
        report = AnswerKey.named("coq-proof").check(CoqProof())
        unjudged = [graded.told() for graded in report.hostile if graded.how]
        assert not report.complaints + report.flaws + unjudged, report.complaints + unjudged


# ---- What it says


def said(script: str, statement: str = "False", **of: Any) -> Verdict:
    task = {"statement": statement, **of}
    return CoqProof().judge([vl.Candidate("text", script, task=task)])[0]


@pytest.mark.usefixtures("coq")
def test_feedback_names_the_line_of_the_script() -> None:
    script = "Lemma one : 1 = 1. Proof. reflexivity. Qed.\n\nTheorem answer : 1 = 2.\nProof. lia."
    verdict = said(script, "1 = 2", imports="Require Import Arith.\nRequire Import Lia.")

    assert Outcome.REJECT is verdict.outcome
    assert "Coq refuses the script: line 4: Tactic failure" in verdict.feedback


@pytest.mark.usefixtures("coq")
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("Theorem reply : False -> False. Proof. auto. Qed.", "under the name answer"),
        ("Theorem answer : True. Proof. auto. Qed.", 'has type "True" while it is expected'),
        ("Axiom cheat : False. Definition answer := cheat.", "Prove it without Answer.cheat"),
        ("Module A. Theorem b : True.", "There are pending proofs"),
        ("Theorem answer : False. Proof. do 1000000000 idtac. Qed.", "more than 2 s of processor"),
    ],
)
def test_feedback_says_what_is_wrong(script: str, words: str) -> None:
    assert words in said(script, limits={"cpu": 2.0}).feedback


_HEAVY = (
    "Require Import NArith. Lemma heavy : N.iter 2000000 N.succ 0%N = 2000000%N.\n"
    "Proof. vm_compute. reflexivity. Qed.\n"
)
_FUNCTOR = (
    "Module Type S. Parameter Inline T : nat -> False. End S.\n"
    "Module F (X : S). Definition loop : nat -> False := X.T. End F.\n"
    "Module X. Local Unset Guard Checking.\n"
    "Fixpoint T (n : nat) : False := T (S n). End X.\n"
    "Unset Guard Checking. Module M := F X. Set Guard Checking.\n"
    "Theorem answer : False. Proof. destruct (M.loop 0). Qed."
)


@pytest.mark.slow
@pytest.mark.usefixtures("coq")
def test_a_long_computation_hides_no_check_that_was_turned_off() -> None:
    """Without one it is not known whether the proof holds, and nobody is rejected."""
    hidden = said(_HEAVY + _FUNCTOR, limits={"cpu": 3.0})
    honest = said(f"{_HEAVY}Definition answer := I.", "True", limits={"cpu": 3.0})

    assert Outcome.REJECT is hidden.outcome
    assert "Turn no check of Coq off" in hidden.feedback
    assert (Outcome.ABSTAIN, None) == (honest.outcome, honest.failed_at)


@pytest.mark.usefixtures("coq")
def test_a_proof_tells_its_axioms() -> None:
    task = {"imports": "Require Import Classical.", "axioms": ["classic"]}

    verdict = said("Proof. exact NNPP. Qed.", "forall P : Prop, ~ ~ P -> P", **task)

    assert ["Classical_Prop.classic"] == verdict.evidence["axioms"]


@pytest.mark.usefixtures("coq")
def test_the_statement_of_a_task_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier, made = CoqProof(), list[str]()
    compiled = verifier._compiled

    def counted(module: str, *rest: Any) -> Any:
        made.append(module)
        return compiled(module, *rest)

    monkeypatch.setattr(verifier, "_compiled", counted)
    task = {"statement": _PLUS, "imports": "Require Import Arith."}
    proofs = ["Proof. exact Nat.add_comm. Qed.", "Proof. intros; ring. Qed."]
    verdicts = verifier.judge([vl.Candidate("text", each, task=task) for each in proofs])

    assert [Outcome.ACCEPT] * 2 == [each.outcome for each in verdicts]
    assert ["Task", "Answer", "Check", "Answer", "Check"] == made


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (f"{CLOSED}\n", []),
        ("", ["nothing that Coq tells"]),
        (f"{CLOSED}\nAxioms:\n", [f"{CLOSED} Axioms:"]),
        ("Axioms:\n", ["Axioms:"]),
        ("Axioms:\na : nat\nb.c\n  : forall n, n = n\n", ["a", "b.c"]),
        ("Axioms:\nf is assumed to be guarded.\n", ["f is assumed to be guarded."]),
        ("Axioms:\nf relies on an unsafe hierarchy.\n", ["f relies on an unsafe hierarchy."]),
        ("Section Variables:\nh : False\n", ["Section Variables: h : False"]),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_assumed(written: str, found: list[str]) -> None:
    assert found == assumptions(written)


@pytest.mark.parametrize(
    ("name", "axioms", "allowed"),
    [
        ("Classical_Prop.classic", ["Coq.Logic.Classical_Prop.classic"], True),
        ("Classical_Prop.classic", ["classic"], True),
        ("classic", ["Classical_Prop.classic"], True),
        ("Answer.classic", ["classic"], False),
        ("Ladder.Answer.classic", ["classic"], False),
        ("my_classic", ["classic"], False),
        ("Answer.f is assumed to be guarded.", ["f"], False),
        ("Task.f is assumed to be guarded.", ["guarded"], False),
    ],
)
def test_an_axiom_is_allowed_by_its_name_alone(
    name: str, axioms: list[str], allowed: bool  # noqa: FBT001 - a column
) -> None:  # fmt: skip
    assert allowed is proof._is_allowed(name, axioms)


# ---- Machines that lack something


def test_a_machine_without_coq_rejects_nobody_and_is_told_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, require: Callable[..., None]
) -> None:
    why = Sandbox(needs=("files",)).problem()
    require("a sandbox with files", not why, why)
    lacking = replace(COQ, runner=("coqc-of-nowhere",), version=("coqc-of-nowhere", "--version"))
    monkeypatch.setattr(proof, "COQ", lacking)

    verifier = CoqProof()
    verdict = verifier.judge([verifier.control])[0]

    assert {"coq": MISSING} == verifier.tools
    assert (Outcome.ABSTAIN, "sandbox") == (verdict.outcome, verdict.failed_at)
    assert "apt-get install coq" in verdict.reason


@pytest.mark.usefixtures("coq")
@pytest.mark.parametrize(
    ("status", "written", "words"),
    [
        (127, b"", "coqchk is not installed"),
        (129, b"Fatal Error: Stack overflow", "comes to no end"),
        (129, b"Fatal Error: Anomaly", "comes to no end"),
    ],
)
def test_a_checker_that_is_missing_or_gives_up_rejects_nobody(
    status: int, written: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = CoqProof()
    run = verifier._run

    def failing(command: tuple[str, ...], *rest: Any) -> Any:
        if command[0] == "coqchk":
            return proof._Made(Result(Ending.EXITED, status=status, stderr=written), b"")
        return run(command, *rest)

    monkeypatch.setattr(verifier, "_run", failing)
    verdict = verifier.judge([verifier.control])[0]

    assert (Outcome.ABSTAIN, True) == (verdict.outcome, words in verdict.reason)


@pytest.mark.usefixtures("coq")
def test_coq_that_fails_itself_is_no_fault_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = CoqProof()
    broken = Result(Ending.EXITED, status=129, stderr=b'Error: Anomaly "Uncaught exception".')
    monkeypatch.setattr(verifier, "_compiled", lambda *_: proof._Made(broken, b""))

    verdict = verifier.judge([verifier.control])[0]

    assert (Outcome.ABSTAIN, "sandbox") == (verdict.outcome, verdict.failed_at)


def test_a_sandbox_without_files_is_named(require: Callable[..., None]) -> None:
    why = Backend("landlock").problem()
    require("the sandbox landlock", not why, why)
    verifier = CoqProof().in_sandbox(Backend("landlock"))

    verdict = verifier.judge([CoqProof.control])[0]

    assert (Outcome.ABSTAIN, "sandbox") == (verdict.outcome, verdict.failed_at)
    assert "files" in verdict.reason


EXAMPLE = Path(__file__).parents[4] / "examples" / "proofs" / "coq-proof"


@pytest.mark.usefixtures("coq")
def test_an_example_runs_with_one_command(tmp_path: Path) -> None:
    result = vl.score_file(
        EXAMPLE.with_suffix(".jsonl"), ladder=EXAMPLE.with_suffix(".toml"),
        ledger=tmp_path / "ledger.db",
    )  # fmt: skip

    assert [1, 0, 0, 0] == [reward.value for reward in result.rewards]
    assert "n + S m" in result.rewards[1].feedback or "Answer" in result.rewards[1].feedback


@pytest.mark.parametrize("settings", [{"limits": {"patience": 1}}, {"most": {"cpu": 0}}])
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(vl.ConfigError):
        CoqProof(**settings)
