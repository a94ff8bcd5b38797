"""Answers and scripts that would pass for proofs without proving anything."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks import Attack, Fight, attack

from verifier_ladder.tiers.fast.constraintsolution import ConstraintSolution
from verifier_ladder.tiers.fast.equivalentformula import EquivalentFormula
from verifier_ladder.tiers.sandbox import Backend
from verifier_ladder.tiers.simulation.proof import CoqProof

# ---- Constraints and formulas

_SUM = {"variables": {"x": "Int", "y": "Int"}, "constraints": ["(= (+ x y) 5)", "(> x y)"]}
_THIRD = {"variables": {"r": "Real"}, "constraints": ["(= (* 3 r) 1)"]}
_BEST = {**_SUM, "minimize": "x"}
_BYTE = {"variables": {"v": "BitVec 8"}, "constraints": ["(= (bvadd v #xff) #x00)"]}
_CUBE = {"variables": {"x": "Int"}, "constraints": ["(= (* x x x) 27)"]}


def _solutions() -> dict[str, Attack]:
    right, third = '{"x": 3, "y": 2}', '{"r": "1/3"}'
    rows: dict[str, tuple[Any, Any, Any, str]] = {
        "a claim that there is none": ("unsat", right, _SUM, "can be satisfied"),
        "both claims": (f"unsat\n{right}", right, _SUM, "no JSON"),
        "a claim behind an answer": (f"{right}\n\nor unsat", right, _SUM, ""),
        "one of two answers": (f"<answer>{right}</answer><answer>unsat</answer>", right, _SUM, ""),
        "a variable twice": ('{"x": 9, "x": 3, "y": 2}', right, _SUM, "twice"),
        "a variable of its own": ('{"x": 1, "y": 1, "(> x y)": true}', right, _SUM, "no variable"),
        "no variables": ("{}", right, _SUM, "no value"),
        "a constraint of its own": ("(assert false)", right, _SUM, "no JSON"),
        "commands of a solver": ("(reset)(check-sat)", right, _SUM, "no JSON"),
        "a term for a number": ('{"x": "(- 5 y)", "y": 2}', right, _SUM, "not Int"),
        "a truth value for a number": ('{"x": true, "y": 4}', right, _SUM, "not Int"),
        "no number": ('{"x": NaN, "y": 2}', right, _SUM, "no JSON"),
        "no end": ('{"x": 1e999999999, "y": 2}', right, _SUM, "bounds|no JSON|Int"),
        "digits of another script": ('{"x": "\u0663", "y": 2}', right, _SUM, "not Int"),
        "a number of a million digits": (
            f'{{"x": {"9" * 90_000}, "y": 1}}',
            right,
            _SUM,
            "digits",
        ),
        "a float that is nearly it": ('{"r": 0.3333333333333333}', third, _THIRD, "not satisfied"),
        "a fraction of nothing": ('{"r": "1/0"}', third, _THIRD, "not Real"),
        "a solution that is not the best": ('{"x": 4, "y": 1}', right, _BEST, "can be smaller"),
        "a better one that is none": ('{"x": 2, "y": 3}', right, _BEST, "not satisfied"),
        "bits beyond the last": ('{"v": 257}', '{"v": 1}', _BYTE, "not BitVec 8"),
        "bits below the first": ('{"v": -255}', '{"v": 1}', _BYTE, "not BitVec 8"),
        "too hard to claim": ("unsat", '{"x": 3}', _CUBE, "can be satisfied"),
        "objects without end": ('{"x": ' * 10_000, right, _SUM, "deep"),
    }
    return {name: attack(bad, good, task, why) for name, (bad, good, task, why) in rows.items()}


_EITHER = {"variables": {"p": "Bool", "q": "Bool"}, "formula": "(or p q)", "operators": ["or"]}


def _formulas() -> dict[str, Attack]:
    right = "(or q p)"
    tried = {
        "what always holds": ("true", "not equivalent"),
        "a command": ("(assert (or p q))", "no operator"),
        "a definition": ("(define-fun or ((a Bool) (b Bool)) Bool true)", "no operator"),
        "another meaning of a variable": ("(let ((p true)) (or p q))", "another meaning"),
        "another meaning of an operator": ("(let ((or true)) or)", "can't be a name"),
        "an operator that is not allowed": ("(not (and (not p) (not q)))", "not allowed"),
        "two formulas": ("(or p q) (or p q)", "2 terms"),
        "a hedge": ("<answer>(or p q)</answer> or <answer>(or p p)</answer>", ""),
        "a name of nothing": ("(or p z)", "not known"),
        "a quantifier": ("(exists ((z Bool)) (or p q z))", "no operator"),
        "a mark of its own": ("(! (or p q) :named (or p q))", "no operator"),
        "letters that look alike": ("(or \u0440 q)", "not known"),
        "brackets without end": ("(" * 50_000, "deeper"),
        "parts without end": (f"(or {'p ' * 40_000})", "more than"),
        "bits without end": ("((_ zero_extend 1000000000) #x1)", ""),
    }
    return {name: attack(bad, right, _EITHER, why) for name, (bad, why) in tried.items()}


def test_no_wrong_solution_is_accepted_or_unknown(tmp_path: Path) -> None:
    Fight([ConstraintSolution()], _solutions(), tmp_path).run().check()


def test_no_other_formula_is_accepted_or_unknown(tmp_path: Path) -> None:
    Fight([EquivalentFormula()], _formulas(), tmp_path).run().check()


# ---- Scripts

_THEOREM = {"statement": "forall n m : nat, n + m = m + n", "limits": {"cpu": 5.0}}
_PROOF = (
    "Require Import Arith.\nTheorem answer : forall n m, n + m = m + n.\n"
    "Proof. exact Nat.add_comm. Qed."
)
_SAME = "Theorem answer : forall n m : nat, n + m = m + n."
_CHEAT = f"Axiom cheat : forall n m : nat, n + m = m + n.\n{_SAME} Proof. exact cheat. Qed."
_LOOP = "Fixpoint f (n : nat) : False := f (S n)."
AT_COQ: dict[str, tuple[str, str]] = {
    "an end that admits": (f"{_SAME} Admitted.", "Answer.answer"),
    "an axiom": (_CHEAT, "Answer.cheat"),
    "an axiom by a name of the library": (
        (
            f"Module Nat. {_CHEAT.replace('cheat', 'add_comm')} End Nat.\n"
            "Definition answer := Nat.answer."
        ),
        "Answer.Nat.add_comm",
    ),
    "another meaning of the numbers": (
        (
            f'Inductive nat := one. Definition add (a b : nat) := a. Infix "+" := add.\n{_SAME} '
            "Proof. destruct n, m; reflexivity. Qed."
        ),
        "not prove the statement",
    ),
    "another meaning of equality": (
        f'Notation "a = b" := True (at level 70).\n{_SAME} Proof. exact (fun _ _ => I). Qed.',
        "refuses the script",
    ),
    "our module, defined again": (
        (
            "Module Task. Definition statement := True. End Task.\n"
            "Theorem answer : Task.statement. Proof. exact I. Qed."
        ),
        "not prove the statement",
    ),
    "recursion without end": (
        f"Unset Guard Checking. {_LOOP}\n{_SAME} Proof. destruct (f 0). Qed.",
        "assumed to be guarded",
    ),
    "recursion without end, put in by a functor": (
        (
            "Module Type S. Parameter Inline T : nat -> False. End S.\n"
            "Module F (X : S). Definition loop : nat -> False := X.T. End F.\n"
            "Module X. Local Unset Guard Checking.\n"
            "Fixpoint T (n : nat) : False := T (S n). End X.\n"
            "Unset Guard Checking. Module M := F X. Set Guard Checking.\n"
            f"{_SAME} Proof. destruct (M.loop 0). Qed."
        ),
        "checker refuses",
    ),
    "a type of all types, put in by a functor": (
        (
            "Module Type S. Parameter Inline T : Set. End S.\n"
            "Module F (X : S). Definition set : Set := X.T. End F.\n"
            "Module X. Definition T := Set. End X.\n"
            "Unset Universe Checking. Module M := F X. Set Universe Checking.\n"
            "Require Import Arith. Theorem answer : forall n m, n + m = m + n.\n"
            "Proof. pose M.set. exact Nat.add_comm. Qed."
        ),
        "checker refuses|type-in-type",
    ),
    "an option for what comes after": (
        f"#[global] Unset Guard Checking. #[global] Set Printing Width 3.\n{_CHEAT}",
        "rests on",
    ),
    "our words, printed": (
        f'{_CHEAT}\nGoal True. idtac "Closed under the global context". Abort.',
        "Answer.cheat",
    ),
    "a file in the place of ours": (
        f'Redirect "Check" Print nat.\nRequire Extraction. Extraction "Check.v" nat.\n{_CHEAT}',
        "Answer.cheat",
    ),
    "a file of the machine": (f'Load "/etc/shadow".\n{_SAME} Admitted.', "refuses the script"),
    "a plug-in": (f'Declare ML Module "/box/cheat".\n{_SAME} Admitted.', "refuses the script"),
    "a program, compiled": (
        f"Goal True. native_compute. Abort.\n{_SAME} Proof. native_compute. Admitted.",
        "",
    ),
    "a search without end": (f"Ltac f := f.\n{_SAME} Proof. f. Qed.", "refuses the script"),
    "a number without end": (
        (
            "Fixpoint p n := match n with O => 1 | S k => p k + p k end.\n"
            f"{_SAME} Proof. assert (p 60 = 0) by (vm_compute; reflexivity). Qed."
        ),
        "refuses the script",
    ),
}
"""Beside what the ledger must say."""


def test_no_script_is_a_proof_by_what_it_says_of_itself(
    tmp_path: Path, require: Callable[..., None]
) -> None:
    require("coqc", shutil.which("coqc") is not None, "apt-get install coq")
    backend = Backend("namespaces")  # The only one of ours that has files.
    why = backend.problem()
    require("the sandbox namespaces", not why, why)
    attacks = {
        name: attack(script, _PROOF, _THEOREM, reason) for name, (script, reason) in AT_COQ.items()
    }

    Fight([CoqProof()], attacks, tmp_path, backend).run().check()
