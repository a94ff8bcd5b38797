"""Answers and scripts that would pass for proofs without proving anything."""

from pathlib import Path
from typing import Any

from attacks import Attack, Fight, attack

from verifier_ladder.tiers.fast.constraintsolution import ConstraintSolution
from verifier_ladder.tiers.fast.equivalentformula import EquivalentFormula

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
