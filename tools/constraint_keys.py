r"""Make the answer keys of `constraint-solution` and `equivalent-formula`.

Run: `python tools/constraint_keys.py [NAME…]`; it writes the same bytes each time. What is true of
a generated case is known from how it is made: pigeonholes, colourings of cycles and congruences by
their theorems, knapsacks and formulas over few truth values by trying everything here, in Python.
"""
# ruff: noqa: E501  # Tables of cases are read by row.

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, cycle, product
from typing import Any

from keywriter import NO, UNKNOWN, YES, Key, Row, write

_BY_FORM, _TRIED, _READ, _HACK, _EDIT = (
    "generator: closed form", "generator: everything is tried", "convention", "known hack",
    "SMT-LIB 2.6 theories",
)  # fmt: skip
_FRAMES = ("%s", "```json\n%s\n```", "<answer>%s</answer>", "<think>Perhaps unsat.</think>\n%s")


def _task(variables: Mapping[str, Any], constraints: Any, **more: Any) -> Row:
    return {"variables": dict(variables), "constraints": constraints, **more}


def _said(values: Mapping[str, Any]) -> str:
    return json.dumps(dict(values))


# ---- constraint-solution: by hand

_X, _XY = {"x": "Int"}, {"x": "Int", "y": "Int"}
_R, _B, _PQ = {"r": "Real"}, {"v": "BitVec 8"}, {"p": "Bool", "q": "Bool"}
_SIGNS = {"light": ["red", "amber", "green"], "other": ["red", "amber", "green"]}
_PAIRS: list[tuple[Any, Any, Any, Any, str]] = [
    (_X, ["(> x 3)"], {"x": 4}, {"x": 3}, "a strict bound"),
    (_X, ["(>= x 3)", "(<= x 3)"], {"x": 3}, {"x": 4}, "two bounds that meet"),
    (_X, ["(< 1 x 4 5)"], {"x": 2}, {"x": 4}, "a chain of comparisons"),
    (_X, ["(= x (- 7))"], {"x": -7}, {"x": 7}, "a negative number"),
    (_X, ["(= (abs x) 5)", "(< x 0)"], {"x": -5}, {"x": 5}, "an absolute value"),
    (_XY, ["(= (+ x y) 10)", "(= (- x y) 4)"], {"x": 7, "y": 3}, {"x": 3, "y": 7}, "two equations"),
    (_XY, ["(= (* x y) 12)", "(< x y)", "(> x 2)"], {"x": 3, "y": 4}, {"x": 2, "y": 6}, "a product"),
    (_XY, ["(= (div x 3) y)", "(= (mod x 3) 1)", "(< x 0)"], {"x": -2, "y": -1}, {"x": -2, "y": 0}, "division rounds so that the rest is not negative"),
    (_XY, ["(= (div x (- 3)) y)", "(= x 7)"], {"x": 7, "y": -2}, {"x": 7, "y": -3}, "division by a negative number"),
    (_XY, ["(= (mod x (- 3)) y)", "(= x (- 7))"], {"x": -7, "y": 2}, {"x": -7, "y": -1}, "a rest is never negative"),
    (_XY, ["(=> (> x 0) (> y 0))", "(> x 0)"], {"x": 1, "y": 1}, {"x": 1, "y": 0}, "an implication"),
    (_XY, ["(=> (> x 0) (> y 0))", "(< y 0)"], {"x": 0, "y": -1}, {"x": 1, "y": -1}, "an implication whose premise is false"),
    (_PQ, ["(=> p q p)", "(not p)"], {"p": False, "q": True}, {"p": True, "q": True}, "implications group to the right"),
    (_PQ, ["(xor p q)", "p"], {"p": True, "q": False}, {"p": True, "q": True}, "one or the other"),
    (_PQ, ["(or p q)", "(not (and p q))", "(not q)"], {"p": True, "q": False}, {"p": False, "q": False}, "or, and, not"),
    (_PQ, ["(= p q false)"], {"p": False, "q": False}, {"p": True, "q": True}, "a chain of equalities"),
    (_XY, ["(distinct x y 3)", "(<= 2 x 4)", "(<= 2 y 4)", "(< x y)"], {"x": 2, "y": 4}, {"x": 3, "y": 4}, "all are different"),
    ({"x": "Int", "p": "Bool"}, ["(= x (ite p 1 2))", "(not p)"], {"x": 2, "p": False}, {"x": 1, "p": False}, "if, then, else"),
    (_XY, ["(let ((s (+ x y)) (d (- x y))) (and (= s 8) (= d 2)))"], {"x": 5, "y": 3}, {"x": 3, "y": 5}, "names for parts"),
    (_R, ["(= (* 3.0 r) 1.0)"], {"r": "1/3"}, {"r": 0.3333333333333333}, "a third is no decimal"),
    (_R, ["(= (* 3 r) 1)"], {"r": "1/3"}, {"r": "0.333333333333333333333"}, "a whole number among fractions"),
    (_R, ["(= r 0.1)"], {"r": 0.1}, {"r": "0.10000000000000001"}, "a decimal is exact"),
    (_R, ["(= (+ r r r) 0.3)"], {"r": 0.1}, {"r": 0.10000000000000002}, "a sum is exact"),
    (_R, ["(< 1.4142135623730950488 r 1.41421356237309504881)"], {"r": "1.414213562373095048801"}, {"r": "1.4142135623730951"}, "between two neighbours that a float can't tell"),
    (_R, ["(= (/ r 4) 0.25)"], {"r": 1}, {"r": 2}, "a fraction's value may be whole"),
    (_R, ["(= (to_int r) (- 2))", "(not (is_int r))"], {"r": -1.5}, {"r": -2.5}, "the whole number below"),
    ({"x": "Int", "r": "Real"}, ["(= (to_real x) (* 2 r))", "(is_int r)", "(< 3 x 5)"], {"x": 4, "r": 2}, {"x": 4, "r": 4}, "whole numbers and fractions"),
    ({"x": "Int", "r": "Real"}, ["(= (+ x r) 2.5)", "(= x 1)"], {"x": 1, "r": 1.5}, {"x": 1, "r": 2.5}, "a whole number and a fraction are added"),
    (_B, ["(= (bvadd v #xff) #x00)"], {"v": 1}, {"v": 0}, "bits overflow"),
    (_B, ["(= (bvadd v #b11111111) #x00)"], {"v": "#x01"}, {"v": "#x02"}, "bits in base sixteen"),
    (_B, ["(bvslt v #x00)", "(bvugt v #xfe)"], {"v": 255}, {"v": 127}, "bits with a sign and without"),
    (_B, ["(= (bvmul v #x03) #x01)"], {"v": 171}, {"v": 85}, "the inverse of three among bytes"),
    (_B, ["(= (bvand v #x0f) #x05)", "(= (bvlshr v #x04) #x0a)"], {"v": "#xa5"}, {"v": "#x5a"}, "halves of a byte"),
    (_B, ["(= (bvashr v #x01) #xc1)", "(= ((_ extract 0 0) v) #b1)"], {"v": "#x83"}, {"v": "#x82"}, "a shift keeps the sign"),
    (_B, ["(= (bvshl v #x04) #xf0)", "(bvult v #x10)"], {"v": 15}, {"v": 14}, "a shift to the left"),
    (_B, ["(= (bvxor v (bvnot v)) #xff)", "(= (bvneg v) #xfe)"], {"v": 2}, {"v": 254}, "the negative of bits"),
    (_B, ["(= (bvor v #x0f) #x3f)", "(= (bvurem v #x10) #x01)"], {"v": "#x31"}, {"v": "#x32"}, "a rest of bits"),
    (_B, ["(= (bvudiv v #x10) #x07)", "(= (bvsub v #x70) #x02)"], {"v": 114}, {"v": 113}, "a quotient of bits"),
    (_B, ["(= (bvudiv v #x00) #xff)", "(= (bvurem v #x00) #x09)"], {"v": 9}, {"v": 8}, "what dividing bits by nothing gives is fixed"),
    ({"v": "BitVec 4"}, ["(= (concat v #x1) #xb1)"], {"v": "#xb"}, {"v": "#b1010"}, "bits one after the other"),
    ({"v": "BitVec 4"}, ["(= ((_ sign_extend 4) v) #xf9)", "(= ((_ zero_extend 4) v) (_ bv9 8))"], {"v": 9}, {"v": 7}, "bits made longer"),
    ({"v": "BitVec 4"}, ["(bvsge v #x8)", "(bvsle v #x8)", "(bvuge v #x1)", "(bvule v #xf)", "(bvsgt #x7 v)"], {"v": 8}, {"v": 9}, "the least number of four bits"),
    (_SIGNS, ["(distinct light other)", "(= light red)", "(not (= other amber))"], {"light": "red", "other": "green"}, {"light": "red", "other": "amber"}, "values with names"),
    ({"n": [2, 3, 5, 7]}, ["(> n 3)", "(< n 7)"], {"n": 5}, {"n": 6}, "one of some numbers"),
    ({"a": [1, 2], "b": [2, 3]}, ["(= a b)"], {"a": 2, "b": 2}, {"a": 1, "b": 2}, "domains that overlap"),
    (_XY, {"sum": "(= (+ x y) 5)", "order": "(< x y)"}, {"x": 2, "y": 3}, {"x": 3, "y": 2}, "constraints with names"),
    (_X, ["(= x 1000000000000000000000000000001)"], {"x": 10**30 + 1}, {"x": 10**30}, "a number beyond machine words"),
    (_X, ["(= (* x x x) 1000000000000000000000000000)"], {"x": 10**9}, {"x": 10**9 + 1}, "a cube, exactly"),
    (_X, ["(> x 0) ; above zero", "  (< x\n 2)"], {"x": 1}, {"x": 2}, "remarks and lines"),
]  # fmt: skip


# ---- constraint-solution: generated


def _rows(edges: Sequence[tuple[int, int]], colours: Sequence[str], size: int) -> Row:
    names = {f"c{n}": list(colours) for n in range(size)}
    return _task(names, [f"(distinct c{a} c{b})" for a, b in edges])


def _cycle(size: int) -> list[tuple[int, int]]:
    return [(n, (n + 1) % size) for n in range(size)]


def _pigeons(birds: int, holes: int) -> Row:
    names = {f"b{n}": "Int" for n in range(birds)}
    inside = [f"(<= 1 {name} {holes})" for name in names]
    return _task(names, [*inside, f"(distinct {' '.join(names)})"])


def _queens(size: int) -> Row:
    names = [f"q{n}" for n in range(size)]
    apart = [
        f"(and (distinct {a} {b}) (distinct (- {a} {b}) {j - i} (- {j - i})))"
        for (i, a), (j, b) in combinations(enumerate(names), 2)
    ]
    return _task(dict.fromkeys(names, "Int"), [*(f"(<= 1 {q} {size})" for q in names), *apart])


def _linear(solution: Sequence[Fraction], rows: Sequence[Sequence[int]]) -> Row:
    names = [f"r{n}" for n in range(len(solution))]
    told = []
    for row in rows:
        value = sum((a * x for a, x in zip(row, solution, strict=True)), Fraction(0))
        parts = " ".join(f"(* {_number(a)} {x})" for a, x in zip(row, names, strict=True))
        told.append(f"(= (+ {parts}) (/ {_number(value.numerator)} {value.denominator}))")
    return _task(dict.fromkeys(names, "Real"), told)


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def _knapsack(weights: Sequence[int], values: Sequence[int], most: int) -> tuple[Row, list[bool]]:
    """A task, and one of its best choices."""
    names = [f"t{n}" for n in range(len(weights))]

    def sum_of(amounts: Sequence[int]) -> str:
        return f"(+ {' '.join(f'(ite {t} {a} 0)' for t, a in zip(names, amounts, strict=True))})"

    def worth(choice: Sequence[bool], amounts: Sequence[int]) -> int:
        return sum(a for a, taken in zip(amounts, choice, strict=True) if taken)

    fitting = [c for c in product([False, True], repeat=len(weights)) if worth(c, weights) <= most]
    best = max(fitting, key=lambda choice: worth(choice, values))
    task = _task(dict.fromkeys(names, "Bool"), [f"(<= {sum_of(weights)} {most})"],
                 maximize=sum_of(values))  # fmt: skip
    return task, list(best)


def _generated(key: Key) -> None:
    frames = cycle(_FRAMES)
    for size in (4, 6, 8):
        right = {f"c{n}": ("black", "white")[n % 2] for n in range(size)}
        task = _rows(_cycle(size), ("black", "white"), size)
        key.pair(
            next(frames) % _said(right),
            next(frames) % _said({**right, "c1": "black"}),
            task,
            "two colours of an even circle",
            _BY_FORM,
        )
        key.add(next(frames) % "unsat", task, NO, "an even circle has two colours", _BY_FORM)
    for size in (3, 5, 7):
        task = _rows(_cycle(size), ("black", "white"), size)
        almost = {f"c{n}": ("black", "white")[n % 2] for n in range(size)}
        key.pair("unsat", _said(almost), task, "an odd circle has no two colours", _BY_FORM)
    for holes in (2, 3, 4, 5):
        key.pair(
            next(frames) % "unsat",
            _said({f"b{n}": min(n + 1, holes) for n in range(holes + 1)}),
            _pigeons(holes + 1, holes),
            "more birds than holes",
            _BY_FORM,
        )
        key.pair(
            _said({f"b{n}": n + 1 for n in range(holes)}),
            "unsat",
            _pigeons(holes, holes),
            "as many birds as holes",
            _BY_FORM,
        )
    placed: list[list[int]] = [[2, 4, 1, 3], [2, 4, 6, 1, 3, 5]]
    for queens in placed:
        attacked = [*queens[:-2], queens[-1], queens[-2]]
        key.pair(
            _said({f"q{n}": at for n, at in enumerate(queens)}),
            _said({f"q{n}": at for n, at in enumerate(attacked)}),
            _queens(len(queens)),
            "queens that don't attack each other",
            _BY_FORM,
        )
    key.add("unsat", _queens(3), YES, "three queens attack each other", _BY_FORM)
    key.add("unsat", _queens(4), NO, "four queens need not", _BY_FORM)
    systems = [
        ((Fraction(1, 7), Fraction(-3, 11)), ((2, 3), (5, -1))),
        ((Fraction(22, 7), Fraction(5), Fraction(-1, 3)), ((1, 1, 1), (2, -1, 4), (1, 3, -5))),
        ((Fraction(1, 3),), ((9,),)),
    ]
    for solution, rows in systems:
        right = {f"r{n}": str(x) for n, x in enumerate(solution)}
        rounded = {**right, "r0": str(round(solution[0], 30))}
        task = _linear(solution, rows)
        key.pair(
            next(frames) % _said(right),
            next(frames) % _said(rounded),
            task,
            "equations with one solution",
            _BY_FORM,
        )
        key.add("unsat", task, NO, "equations with a solution", _BY_FORM)
    for moduli, rests in (((3, 5, 7), (2, 3, 2)), ((4, 9), (3, 4))):
        least = next(
            x for x in range(10**4) if all(x % m == r for m, r in zip(moduli, rests, strict=True))
        )
        told = [f"(= (mod x {m}) {r})" for m, r in zip(moduli, rests, strict=True)]
        key.pair(
            _said({"x": least}),
            _said({"x": least + moduli[0]}),
            _task(_X, [*told, "(>= x 0)"], minimize="x"),
            "the least of its residue class",
            _BY_FORM,
        )
        period = least + moduli[0] * moduli[1] * (moduli[2] if len(moduli) > 2 else 1)  # noqa: PLR2004
        key.add(
            _said({"x": period}),
            _task(_X, [*told, "(>= x 0)"], minimize="x"),
            NO,
            "of its residue class, and not the least",
            _BY_FORM,
        )
    key.pair(
        "unsat",
        _said({"x": 3}),
        _task(_X, ["(= (mod x 4) 3)", "(= (mod x 6) 2)"]),
        "residues that contradict each other",
        _BY_FORM,
    )
    key.pair(
        "unsat",
        _said({"x": 3, "y": 2}),
        _task(_XY, ["(= (* 6 x) (+ 5 (* 9 y)))"]),
        "a divisor of one side only",
        _BY_FORM,
    )
    key.pair(
        "unsat",
        _said({"v": 2}),
        _task(_B, ["(= (bvmul v v) #x03)"]),
        "an odd square is one more than a multiple of eight",
        _BY_FORM,
    )
    key.pair(
        "unsat",
        _said({"v": 0}),
        _task(_B, ["(distinct (bvadd (bvnot v) #x01) (bvneg v))"]),
        "two ways to the negative",
        _BY_FORM,
    )
    key.pair(
        "unsat", _said({"r": 1}), _task(_R, ["(< (* r r) 0)"]), "a square below zero", _BY_FORM
    )
    key.add(
        "unsat", _task(_R, ["(= (* r r) 2.0)"]), NO, "a solution that is no fraction", _BY_FORM
    )
    key.add(
        _said({"r": "1.41421356237"}),
        _task(_R, ["(= (* r r) 2.0)"]),
        NO,
        "nearly the root of two",
        _BY_FORM,
    )
    for weights, values, most in (
        ((3, 4, 5, 9), (30, 41, 52, 96), 12),
        ((2, 3, 5, 7, 11), (3, 5, 8, 11, 19), 16),
        ((5, 4, 6, 3), (11, 9, 14, 5), 10),
    ):
        task, best = _knapsack(weights, values, most)
        less = [*best]
        less[best.index(True)] = False
        more = [*best]
        more[best.index(False)] = True
        chosen, worse, heavy = (
            _said({f"t{n}": taken for n, taken in enumerate(c)}) for c in (best, less, more)
        )
        key.pair(next(frames) % chosen, worse, task, "the best of a knapsack", _TRIED)
        key.add(heavy, task, NO, "a better one that does not fit", _TRIED)
    corner = _task(
        {"x": "Real", "y": "Real"},
        ["(<= (+ x (* 2 y)) 4)", "(<= (+ (* 3 x) y) 6)", "(>= x 0)", "(>= y 0)"],
        maximize="(+ x y)",
    )
    key.pair(
        _said({"x": "8/5", "y": "6/5"}),
        _said({"x": 1.6, "y": 1.1999999999999}),
        corner,
        "the corner of a linear programme",
        _BY_FORM,
    )
    key.add(_said({"x": 2, "y": 0}), corner, NO, "another corner", _BY_FORM)


def _answers(key: Key) -> None:
    """How an answer is written."""
    task = _task(_XY, ["(= (+ x y) 5)", "(> x y)"])
    right = '{"x": 3, "y": 2}'
    for said, why in [
        ('{"y": 2, "x": 3}', "another order"), ('Done:\n```json\n{"x": 3, "y": 2}\n```', "talk around a block"),
        ('{"x": 3,\n "y": 2}\n', "lines"), (f"<answer>\n{right}\n</answer>\nThat is all.", "a tag"),
        ('```\n{"x": "3", "y": "2"}\n```', "numbers as texts"),
    ]:  # fmt: skip
        key.add(said, task, YES, why, _READ)
    for said, why in [
        ('{"x": 3}', "a variable is left out"), ('{"x": 3, "y": 2, "z": 1}', "a variable that there is not"),
        ('{"x": 3, "y": 3, "y": 2}', "a variable twice"), ('{"x": 3.5, "y": 1.5}', "fractions for whole numbers"),
        ('{"x": true, "y": 2}', "a truth value for a number"), ('{"x": [3], "y": 2}', "a list for a number"),
        ('{"x": null, "y": 2}', "nothing for a number"), ('{"x": NaN, "y": 2}', "no number"),
        ('{"x": "3 ", "y": 2}', "a space in a number"), ('{"x": "\u0663", "y": 2}', "digits of another script"),
        ('{"x": "0x3", "y": 2}', "another base"), ('{"x": "1_0", "y": "(- 5)"}', "other spellings of numbers"),
        ("[3, 2]", "a list"), ("x = 3, y = 2", "no JSON"), ("", "nothing"), ('"unsat"', "the claim as JSON"),
        ("sat", "another word"), ("unknown", "no claim"), ("unsat or sat", "a hedge"),
        (f"<answer>{right}</answer><answer>unsat</answer>", "two claims"),
        (f'```json\n{right}\n```\n```json\n{{"x": 4, "y": 1}}\n```', "two solutions, each of them right"),
        (f"unsat\n{right}", "a claim and a solution"), ("UNSAT?", "a question"), ("It is unsat.", "talk without a mark"),
        (f"<think>{right}", "thought that never ends"),
    ]:  # fmt: skip
        key.add(said, task, NO, why, _READ)
    contradiction = _task(_XY, ["(> x y)", "(> y x)"])
    for said in ("unsat", "```\nunsat\n```", "<answer> unsat </answer>", "UNSAT"):
        key.add(said, contradiction, YES, "how it is claimed that there is no solution", _READ)
    key.add('{"x": 1, "y": 1, "unsat": true}', contradiction, NO, "a claim among values", _HACK)
    key.add("{}", contradiction, NO, "no values", _HACK)
    flags = _task(_PQ, ["(or p q)"])
    for said, why in [
        ('{"p": 1, "q": 0}', "a number for a truth value"),
        ('{"p": "true", "q": false}', "text for a truth value"),
    ]:
        key.add(said, flags, NO, why, _READ)
    key.add('{"p": true, "q": false}', flags, YES, "truth values of JSON", _READ)
    bits = _task(_B, ["(bvuge v #x00)"])
    for value in (256, -1, "#x1ff", "#x1", "#b1", "#xgg", 1.5, True, "red"):
        key.add(_said({"v": value}), bits, NO, "no eight bits", _READ)
    key.add(_said({"v": 255}), bits, YES, "eight bits", _READ)
    key.add(_said({"v": "#b00000001"}), bits, YES, "eight bits one by one", _READ)
    lights = _task(_SIGNS, ["(= light other)"])
    key.pair(
        '{"light": "red", "other": "red"}',
        '{"light": "blue", "other": "blue"}',
        lights,
        "a name of the domain",
        _READ,
    )
    key.add('{"light": 0, "other": 0}', lights, NO, "a place for a name", _READ)
    key.add('{"light": "Red", "other": "Red"}', lights, NO, "a name in capitals", _READ)
    real = _task(_R, ["(> r 0)"])
    for good in ("1/3", "0.5", "7", "1e-3", "2.5E+1"):
        key.add(_said({"r": good}), real, YES, "how a fraction is written", _READ)
    for bad in (
        "1/0",
        "1/-3",
        "1.5/3",
        "/3",
        "1//3",
        "inf",
        "nan",
        "1e999999",
        ".5",
        "5.",
        "+1",
        "--1",
        "1/3/5",
        "",
    ):
        key.add(_said({"r": bad}), real, NO, "no fraction", _READ)


def _of_any_size(key: Key) -> None:
    """Numbers beyond the digits that Python reads, and those that no answer can write."""
    least = _task(_X, [f"(>= x {10**900})"], minimize="(* x x x x x)")
    why = "an objective of four thousand digits"
    key.pair(_said({"x": str(10**900)}), _said({"x": str(10**900 - 1)}), least, why, _BY_FORM)
    for variables in (_X, {"x": "Real"}):
        many = _task(variables, [f"(= x {10**400})"])
        key.pair(
            _said({"x": 10**400}), _said({"x": 10**400 + 1}), many, "four hundred digits", _READ
        )
    root, more = "(= (* x x) 2.0)", {"x": "Real"}
    key.broken("unsat", [(_task(more, [root]), "no fraction", "a solution that is no fraction")])
    either = _task(more, [f"(or {root} (> x 5.0))"])
    key.pair(_said({"x": 6}), "unsat", either, "fractions beside a solution that is none", _EDIT)
    best = _task(more, ["(>= (* x x) 2.0)", "(> x 0.0)"], minimize="x")
    key.broken(_said({"x": 1.5}), [(best, "no fraction", "a best value that is no fraction")])


def constraint_solution(key: Key) -> None:
    """Theories, answers, optima and claims."""
    frames = cycle(_FRAMES)
    for variables, constraints, right, wrong, why in _PAIRS:
        key.pair(
            next(frames) % _said(right),
            next(frames) % _said(wrong),
            _task(variables, constraints),
            why,
            _EDIT,
        )
    _generated(key)
    _answers(key)
    claims: list[tuple[Row, list[str], bool, str]] = [
        (_X, ["(> x 3)"], False, "a bound"), (_X, ["(> x 3)", "(< x 4)"], True, "no whole number between"),
        (_R, ["(> r 3)", "(< r 4)"], False, "a fraction between"), (_PQ, ["(xor p q)", "(= p q)"], True, "a contradiction"),
        (_PQ, ["(xor p q)", "(=> p q)"], False, "no contradiction"), ({"n": [2, 3, 5]}, ["(= (mod n 4) 0)"], True, "no number of the domain"),
        ({"n": [2, 4, 5]}, ["(= (mod n 4) 0)"], False, "a number of the domain"), (_SIGNS, ["(distinct light other red)", "(distinct light other green)", "(distinct light other amber)"], True, "two of three are not all"),
        ({"light": ["red", "amber"]}, ["(distinct light red)", "(distinct light amber)"], True, "a domain is no more than its names"),
        (_B, ["(bvult v #x00)"], True, "nothing is below no bits"), (_B, ["(bvslt v #x00)"], False, "a negative byte"),
        (_XY, ["(= (to_real (* 2 x)) (+ (to_real (* 2 y)) 1.0))"], True, "an even number is no odd one"),
        (_XY, ["(= (* 3 x) (+ (* 2 y) 1))"], False, "an equation with solutions"),
        (_XY, ["(= (div x 2) y)", "(= x (+ (* 2 y) 2))"], True, "division"), (_XY, ["(= (ite (> x y) x y) (- x 1))"], True, "the larger is no smaller"),
        (_X, ["(distinct (abs x) x (- x))"], True, "an absolute value is one of two"),
        (_R, ["(is_int r)", "(distinct (to_real (to_int r)) r)"], True, "a whole number is its own whole part"),
        (_XY, ["(let ((s (+ x y))) (distinct s (+ y x)))"], True, "a sum in another order"),
        (_B, ["(distinct (concat ((_ extract 7 4) v) ((_ extract 3 0) v)) v)"], True, "a byte is its halves"),
        (_B, ["(distinct (bvsub v (bvand v #x0f)) (bvand v #xf0))"], True, "without its lower half"),
        (_B, ["(distinct (bvadd (bvmul (bvudiv v #x07) #x07) (bvurem v #x07)) v)"], True, "quotient and rest"),
        (_B, ["(distinct (bvor (bvshl v #x04) (bvlshr v #x04)) (concat ((_ extract 3 0) v) ((_ extract 7 4) v)))"], True, "halves that change places"),
        (_B, ["(bvsgt (bvashr v #x07) #x00)"], True, "a sign that is shifted down"), (_B, ["(distinct (bvxor v #xff) (bvnot v))"], True, "all bits turned"),
        (_B, ["(distinct ((_ sign_extend 8) v) ((_ zero_extend 8) v))"], False, "a sign that is kept"),
        (_PQ, ["(=> p q false)", "p", "(not q)"], False, "implications group to the right"), (_PQ, ["(=> p q false)", "p", "q"], True, "implications group to the right"),
    ]  # fmt: skip
    for variables, constraints, is_right, why in claims:
        key.add("unsat", _task(variables, constraints), YES if is_right else NO, why, _EDIT)
    limits = {"minimize": "(+ x y)"}, {"maximize": "(- 0 x y)"}
    for objective in limits:
        task = _task(_XY, ["(>= x 2)", "(>= y 3)"], **objective)
        key.pair('{"x": 2, "y": 3}', '{"x": 2, "y": 4}', task, "the least sum", _BY_FORM)
        key.add('{"x": 1, "y": 3}', task, NO, "less than is allowed", _BY_FORM)
        key.add("unsat", task, NO, "a task with a solution", _BY_FORM)
    key.add(
        "unsat", _task(_X, ["(< x x)"], minimize="x"), YES, "nothing is the best of none", _BY_FORM
    )
    key.pair(
        '{"n": 7}',
        '{"n": 5}',
        _task({"n": [2, 3, 5, 7]}, ["(> n 1)"], maximize="n"),
        "the largest of a domain",
        _BY_FORM,
    )
    open_ended = "the objective has no best value"
    for constraints, objective, said in [
        (["(> r 0)"], {"minimize": "r"}, '{"r": 0.001}'), (["(> r 0)"], {"maximize": "r"}, '{"r": 10}'),
        (["(< (* 2 r) 6)"], {"maximize": "(+ r 1)"}, '{"r": 2.9}'),
    ]:  # fmt: skip
        key.add(
            said,
            _task(_R, constraints, **objective),
            UNKNOWN,
            "there is always a better one",
            _BY_FORM,
            reason=open_ended,
        )
    wrong = "the task's"
    key.broken('{"x": 1}', [
        ({"constraints": ["true"]}, "no variables", "no variables"),
        ({"variables": _X}, "no constraints", "no constraints"),
        ({"variables": {}, "constraints": ["true"]}, wrong, "variables that are none"),
        (_task(_X, []), wrong, "constraints that are none"), (_task(_X, {}), wrong, "names for no constraints"),
        (_task(_X, ["(> x y)"]), "y", "a name that there is not"), (_task(_X, ["(+ x 1)"]), wrong, "a number for a constraint"),
        (_task(_X, ["(> x 1"]), wrong, "a bracket is missing"), (_task(_X, ["(> x 1))"]), wrong, "a bracket too many"),
        (_task(_X, ["(> x 1) (< x 3)"]), wrong, "two constraints in one"), (_task(_X, [""]), wrong, "an empty constraint"),
        (_task(_X, ["(> x true)"]), wrong, "a truth value for a number"), (_task(_X, ["(and x true)"]), wrong, "a number for a truth value"),
        (_task(_X, ["(not x)"]), wrong, "a number is not negated"), (_task(_X, ["(>)"]), wrong, "a comparison of nothing"),
        (_task(_X, ["(forall ((y Int)) (> y x))"]), "forall", "a quantifier"), (_task(_X, ["(sin x)"]), "sin", "an operator that there is not"),
        (_task(_X, ["(= (div x 0) 1)"]), "divi", "a division by nothing"), (_task(_XY, ["(= (div x y) 1)"]), "divi", "a division by a variable"),
        (_task(_R, ["(= (/ r r) 1.0)"]), "divi", "a division by a variable"), (_task(_X, ["(= (mod x 2.0) 1)"]), wrong, "a rest of fractions"),
        (_task({"x": "Integer"}, ["(> x 1)"]), wrong, "a sort that there is not"), (_task({"x": "BitVec 0"}, ["true"]), wrong, "no bits"),
        (_task({"x": []}, ["true"]), wrong, "an empty domain"), (_task({"x": ["a", "a"]}, ["true"]), wrong, "a name twice in a domain"),
        (_task({"x": ["a", 1]}, ["true"]), wrong, "names and numbers in a domain"), (_task({"x": [True]}, ["true"]), wrong, "truth values in a domain"),
        (_task({"x": ["x"]}, ["true"]), wrong, "a name of two things"), (_task({"x": ["a", "b"], "y": ["b", "c"]}, ["true"]), wrong, "one name in two domains"),
        (_task({"let": "Int"}, ["true"]), wrong, "a word of the language"), (_task({"x y": "Int"}, ["true"]), wrong, "a name with a space"),
        (_task({"x": ["a"], "y": ["b"]}, ["(= x y)"]), wrong, "two domains are compared"), (_task({"v": "BitVec 4"}, ["(= v #xff)"]), wrong, "bits of two lengths"),
        (_task({"v": "BitVec 4"}, ["(= ((_ extract 4 0) v) #b00000)"]), wrong, "a bit that there is not"), (_task({"v": "BitVec 4"}, ["(bvadd v 1)"]), wrong, "a number among bits"),
        (_task(_X, ["true"], minimize="x", maximize="x"), wrong, "two objectives"), (_task(_X, ["true"], minimize="(> x 1)"), wrong, "a truth value for an objective"),
        (_task(_X, ["(let ((x 1)) (> x 0))"]), wrong, "a name that is hidden by another"), (_task(_X, ["(let ((y 1) (y 2)) (> x y))"]), wrong, "a name twice in one let"),
        (_task(_X, ["(ite true x false)"]), wrong, "branches of two sorts"), (_task(_X, [f"(> x {'(+ 1 ' * 300}1{')' * 300})"]), "deep", "a term three hundred deep"),
        (_task(_X, ["(> (* " + "x " * 100 + ") 0)"]), "multipl", "the hundredth power"), (_task(_X, ['(= x "1")']), wrong, "text"),
    ])  # fmt: skip
    key.add("unsat", _task(_X, ["(= (abs x) (- 1))"]), YES, "no absolute value is negative", _EDIT)
    key.add("unsat", _task(_X, ["(= (abs x) 1)"]), NO, "an absolute value", _EDIT)
    byte, four = {"v": "BitVec 8"}, {"v": "BitVec 4"}
    key.broken('{"v": 1}', [
        (_task(four, ["(= (bvadd v #xff) v)"]), wrong, "bits of two lengths are added"),
        (_task(byte, ["(bvult v #xf)"]), wrong, "bits of two lengths are compared"),
        (_task({"v": "Int"}, ["(bvult v v)"]), wrong, "numbers for bits"),
        (_task(four, ["(= ((_ zero_extend q) v) #b000)"]), wrong, "a letter for a number of bits"),
        (_task({"v": "Int"}, ["(= ((_ zero_extend 1) v) #b1)"]), wrong, "a number is made longer"),
        (_task({"v": "Int"}, ["(ite true true v)"]), wrong, "branches of two sorts"),
        (_task({"v": "Int"}, ["(= (ite v 1 2) 1)"]), wrong, "a number for a condition"),
        (_task({"v": "Int"}, [f"(let ((a {'(not ' * 150}true{')' * 150})) {'(not ' * 60}a{')' * 60})"]), "deep", "depth behind a name"),
    ])  # fmt: skip
    for said in ("3", "true", '"x"', "null"):
        key.add(said, _task(_X, ["(> x 1)"]), NO, "JSON, and no object", _READ)
    key.broken('{"x": 1}', [
        (_task(_X, [f"(let {names} (> x 0))"]), wrong, "names for parts that are none")
        for names in ("x", "()()", "(y)", "((y))", "((y 1 2))", "(((y) 1))", "((y (z)))")
    ])  # fmt: skip
    birds = _pigeons(14, 13)
    key.add(
        "unsat",
        birds,
        UNKNOWN,
        "too hard for what may be spent",
        _BY_FORM,
        reason="steps",
        settings={"steps": 20000},
    )
    cubes = _task(
        {"x": "Int", "y": "Int", "z": "Int"}, ["(= (+ (* x x x) (* y y y) (* z z z)) 114)"]
    )
    key.add(
        "unsat",
        cubes,
        UNKNOWN,
        "a question that nobody has answered",
        "open problem: sums of three cubes",
        reason="steps",
    )
    key.add('{"x": 1, "y": 2, "z": 3}', cubes, NO, "no solution of a hard question", _BY_FORM)
    _of_any_size(key)
    easy = _task(_XY, ["(= (+ x y) 5)"])
    for parts, why in [
        ([['{"x": ', 50_000], ["1", 1], ["}", 50_000]], "objects fifty thousand deep"), ([["[", 100_000]], "brackets without end"),
        ([['{"x": ', 1], ["9", 1_000_000], [', "y": 1}', 1]], "a number of a million digits"), ([['{"x": "', 1], ["9", 90_000], ['", "y": 1}', 1]], "digits as text"),
        ([['{"x": 1e999999999, "y": 0}', 1]], "an exponent without end"), ([['{"x": "1e999999999", "y": 0}', 1]], "an exponent as text"),
        ([['{"x": 1, "y": "', 1], ["(+ ", 30_000], ['"}', 1]], "a term for a number"), ([["unsat ", 100_000]], "a claim again and again"),
        ([['{"x": 1, ', 1], ['"y": 2, ', 100_000], ['"y": 4}', 1]], "a name a hundred thousand times"), ([["x", 2_000_000]], "two million characters"),
        ([['{"x": "1/', 1], ["3", 90_000], ['", "y": 1}', 1]], "a long denominator"), ([["\u0000", 100]], "characters without a sign"),
        ([['{"__class__": 1, "x": 1, "y": 4}', 1]], "a name of the machinery"), ([["(check-sat)(exit)", 1]], "commands of a solver"),
        ([["(assert false)", 1]], "a constraint of its own"), ([['{"x": "(set-option :rlimit 0)", "y": 1}', 1]], "an option of a solver"),
    ]:  # fmt: skip
        key.hostile(parts, easy, why)


# ---- equivalent-formula

_P = {"p": "Bool", "q": "Bool", "r": "Bool"}
_LAWS: list[tuple[str, str, str, str]] = [
    ("(not (and p q))", "(or (not p) (not q))", "(or (not p) q)", "De Morgan"),
    ("(not (or p q))", "(and (not p) (not q))", "(or (not p) (not q))", "De Morgan"),
    ("(and p (or q r))", "(or (and p q) (and p r))", "(and (or p q) (or p r))", "distribution"),
    ("(or p (and q r))", "(and (or p q) (or p r))", "(or (and p q) (and p r))", "distribution"),
    ("(=> p q)", "(or (not p) q)", "(or p (not q))", "an implication"),
    ("(=> p q)", "(=> (not q) (not p))", "(=> q p)", "a contraposition"),
    ("(=> p (=> q r))", "(=> (and p q) r)", "(=> (or p q) r)", "an implication of an implication"),
    ("(=> p q r)", "(=> p (=> q r))", "(=> (=> p q) r)", "implications group to the right"),
    ("(xor p q)", "(distinct p q)", "(= p q)", "one or the other"),
    ("(xor p q)", "(and (or p q) (not (and p q)))", "(and (or p q) (and p q))", "one or the other"),
    ("(xor (xor p q) r)", "(xor p (xor q r))", "(xor p (and q r))", "three in a row"),
    ("(= p q)", "(and (=> p q) (=> q p))", "(and (=> p q) (=> p q))", "both ways"),
    ("(or p (and p q))", "p", "q", "absorption"),
    ("(and p (or p q))", "p", "(and p q)", "absorption"),
    ("(and p (not p))", "false", "true", "a contradiction"),
    ("(or p (not p))", "true", "(or p q)", "what always holds"),
    ("(ite p q r)", "(and (=> p q) (=> (not p) r))", "(and (=> p r) (=> (not p) q))", "if, then, else"),
    ("(ite p q r)", "(or (and p q) (and (not p) r))", "(or (and p q) (and p r))", "if, then, else"),
    ("(not (=> p q))", "(and p (not q))", "(and (not p) q)", "what is not implied"),
    ("(not (not p))", "p", "(not p)", "twice not"),
    ("(or (and p q) (and (not p) r) (and q r))", "(or (and p q) (and (not p) r))", "(or (and p q) (and p r))", "consensus"),
    ("(and (or p q) (or p (not q)))", "p", "q", "resolution"),
    ("(=> (=> (=> p q) p) p)", "true", "(=> (=> p q) p)", "Peirce"),
    ("(or (and p q) (and p r) (and q r))", "(ite p (or q r) (and q r))", "(ite p (and q r) (or q r))", "two of three"),
    ("(and p q r)", "(not (or (not p) (not q) (not r)))", "(not (or (not p) (not q) r))", "all of three"),
]  # fmt: skip
_NI, _NR, _NB = (
    {"x": "Int", "y": "Int"},
    {"x": "Real", "y": "Real"},
    {"a": "BitVec 8", "b": "BitVec 8"},
)
_OTHERS: list[tuple[Any, str, str, str, str]] = [
    (_NI, "(< x y)", "(<= (+ x 1) y)", "(<= x y)", "below, among whole numbers"),
    (_NR, "(< x y)", "(not (>= x y))", "(<= (+ x 1) y)", "below, among fractions"),
    (_NI, "(not (< x y))", "(>= x y)", "(> x y)", "not below"),
    (_NI, "(= (* 2 x) 6)", "(= x 3)", "(= x 2)", "an equation"),
    (_NI, "(= (* 2 x) 7)", "false", "(= x 3)", "an equation without a whole solution"),
    (_NR, "(= (* 2 x) 7)", "(= x 3.5)", "false", "an equation with a fraction"),
    (_NI, "(* (+ x y) (+ x y))", "(+ (* x x) (* 2 x y) (* y y))", "(+ (* x x) (* x y) (* y y))", "a binomial"),
    (_NR, "(* (+ x y) (- x y))", "(- (* x x) (* y y))", "(+ (* x x) (* y y))", "a difference of squares"),
    (_NI, "(+ (* 3 (div x 3)) (mod x 3))", "x", "(+ x 1)", "quotient and rest"),
    (_NI, "(mod (mod x 6) 3)", "(mod x 3)", "(mod x 2)", "a rest of a rest"),
    (_NI, "(ite (> x y) x y)", "(ite (>= y x) y x)", "(ite (> y x) x y)", "the larger of two"),
    (_NI, "(abs x)", "(ite (< x 0) (- x) x)", "(ite (> x 0) (- x) x)", "an absolute value"),
    (_NB, "(bvsub a b)", "(bvadd a (bvneg b))", "(bvadd a (bvnot b))", "a difference of bits"),
    (_NB, "(bvneg a)", "(bvadd (bvnot a) #x01)", "(bvnot a)", "the negative of bits"),
    (_NB, "(bvxor a b)", "(bvand (bvor a b) (bvnot (bvand a b)))", "(bvand (bvor a b) (bvand a b))", "bits that differ"),
    (_NB, "(bvadd a b)", "(bvadd (bvxor a b) (bvshl (bvand a b) #x01))", "(bvadd (bvxor a b) (bvand a b))", "a sum by its carries"),
    (_NB, "(bvmul a #x08)", "(bvshl a #x03)", "(bvshl a #x08)", "eight times"),
    (_NB, "(bvudiv a #x04)", "(bvlshr a #x02)", "(bvashr a #x02)", "a quarter without a sign"),
    (_NB, "(bvurem a #x10)", "(bvand a #x0f)", "(bvand a #x10)", "a rest by sixteen"),
    (_NB, "(bvult a b)", "(not (bvuge a b))", "(bvslt a b)", "below, without a sign"),
    (_NB, "(bvsle a b)", "(or (bvslt a b) (= a b))", "(or (bvult a b) (= a b))", "at most, with a sign"),
]  # fmt: skip


def _true_of(formula: str) -> list[bool]:
    """Its truth table, by Python."""
    return [
        _truth(formula, dict(zip(_P, row, strict=True)))
        for row in product([False, True], repeat=3)
    ]


def _truth(formula: str, values: Mapping[str, bool]) -> bool:
    read = iter(formula.replace("(", " ( ").replace(")", " ) ").split())

    def term(word: str) -> bool:
        if word != "(":
            return values.get(word, word == "true")
        name, parts = next(read), []
        while (found := next(read)) != ")":
            parts.append(term(found))
        return _apply(name, parts)

    return term(next(read))


def _apply(name: str, parts: list[bool]) -> bool:
    if name == "=>":
        return parts[0] if len(parts) == 1 else not parts[0] or _apply(name, parts[1:])
    if name == "ite":
        return parts[1] if parts[0] else parts[2]
    whole = {
        "and": all(parts), "or": any(parts), "not": not parts[0], "xor": sum(parts) % 2 == 1,
        "=": len({*parts}) == 1, "distinct": len({*parts}) == len(parts),
    }  # fmt: skip
    return whole[name]


def _formulas() -> Iterator[tuple[str, str, str, str]]:
    for formula, right, wrong, why in _LAWS:
        if _true_of(formula) != _true_of(right) or _true_of(formula) == _true_of(wrong):
            raise ValueError(f"{why} is not what it says: {formula}")
        yield formula, right, wrong, why


def _of_many_bits(key: Key) -> None:
    """What is too large to be proved, and differences that are plain or far away."""
    wide = {"v": "BitVec 256"}
    nothing = {"variables": wide, "formula": "(_ bv0 256)"}
    said = [f"(bvand (bvmul {'v ' * count}) (_ bv0 256))" for count in (9, 10)]
    key.pair(said[0], said[1], nothing, "products of as many bits as are allowed", _READ)
    for name in ("bvudiv", "bvurem"):
        said = [f"(bvand {f'({name} v v) ' * count} (_ bv0 256))" for count in (8, 9)]
        key.pair(said[0], said[1], nothing, "a quotient again and again", _READ)
    large = {"variables": wide, "formula": f"(bvmul {'v ' * 10})"}
    key.broken("v", [(large, "the task's products", "a formula that is too large to be proved")])
    plain = {"variables": wide, "formula": "(bvadd v (_ bv1 256))"}
    key.add(f"(bvmul {'v ' * 60})", plain, NO, "sixty products of 256 bits", _HACK)
    numeral = "9" * 999
    far = f"(ite (= x (* {' '.join([numeral] * 5)})) 0 x)"
    key.pair(
        "(+ x 0)", far, {"variables": _X, "formula": "x"}, "a difference of 4,995 digits", _HACK
    )


def equivalent_formula(key: Key) -> None:
    """Laws of truth values, whole numbers, fractions and bits."""
    frames = cycle(
        ("%s", "```smt2\n%s\n```", "<answer>%s</answer>", "<think>(or p q)</think>\n%s")
    )
    for formula, right, wrong, why in _formulas():
        task = {"variables": _P, "formula": formula}
        key.pair(next(frames) % right, next(frames) % wrong, task, why, _TRIED)
    for variables, formula, right, wrong, why in _OTHERS:
        key.pair(
            next(frames) % right,
            next(frames) % wrong,
            {"variables": variables, "formula": formula},
            why,
            _EDIT,
        )
    given = {"variables": _NI, "formula": "(> x 0)", "assuming": ["(> y 0)", "(= x y)"]}
    key.pair("(> y 0)", "(> x 1)", given, "under assumptions", _BY_FORM)
    key.add("true", given, YES, "what the assumptions say", _BY_FORM)
    key.add(
        "(> x 0)",
        {**given, "formula": "(> y 0)", "assuming": ["(= x y)"]},
        YES,
        "under one assumption",
        _BY_FORM,
    )
    few = {"variables": _P, "formula": "(or p (and q r))", "operators": ["and", "or", "not"]}
    key.pair(
        "(and (or p q) (or p r))",
        "(not (=> (or p q) (not (or p r))))",
        few,
        "with some operators only",
        _READ,
    )
    key.add("(ite p true (and q r))", few, NO, "an operator that is not allowed", _READ)
    key.add(
        "(let ((a (or p q))) (and a (or p r)))",
        few,
        YES,
        "names for parts are no operators",
        _READ,
    )
    short = {
        "variables": _P,
        "formula": "(or (and p q) (and p (not q)) (and (not p) q))",
        "most_symbols": 3,
    }
    key.pair("(or p q)", "(or p (and q true))", short, "a short one", _READ)
    key.add("(or p q p)", short, NO, "one symbol too many", _READ)
    key.add(
        "(let ((a p)) (or a q))",
        short,
        NO,
        "every symbol counts, those of names for parts too",
        _READ,
    )
    task = {"variables": _P, "formula": "(or p q)"}
    for said, why in [
        ("(or p q", "a bracket is missing"), ("(or p q))", "a bracket too many"), ("(or p q) (or q p)", "two formulas"), ("", "nothing"),
        ("p or q", "another language"), ("(or p z)", "a name that there is not"), ("(or p 1)", "a number"), ("(nor p q)", "an operator that there is not"),
        ("(exists ((z Bool)) (or p q z))", "a quantifier"), ("(or)", "no parts"), ("(not p q)", "too many parts"), ("((or) p q)", "a bracket too early"),
        ("(let ((p true)) (or p q))", "a name that is hidden by another"), ("(! (or p q) :named x)", "a remark"), ("(or |p| q)", "bars"), ("()", "an empty list"),
        ("(or p q) or (and p q)", "a hedge"), ("<answer>(or p q)</answer><answer>(and p q)</answer>", "two answers"), ("(assert (or p q))", "a command"),
        ("(or P q)", "a name in capitals"), ("(\uff4fr p q)", "letters that look alike"), ("(or p q true)", "what always holds"),
    ]:  # fmt: skip
        key.add(said, task, NO, why, _READ)
    for said in (
        "(or q p)",
        "(or p q q)",
        "(or p q) ; either",
        "(or\n p\n q)",
        "(let ((s q)) (or p s))",
        "(=> (not p) q)",
        "(or p q false)",
    ):
        key.add(said, task, YES, "how a formula is written", _READ)
    wrong = "the task's"
    key.broken("(or p q)", [
        ({"formula": "p"}, "no variables", "no variables"), ({"variables": _P}, "no formula", "no formula"),
        ({"variables": _P, "formula": "(or p"}, wrong, "a formula that never ends"), ({"variables": _P, "formula": "(or p z)"}, wrong, "a name that there is not"),
        ({"variables": _P, "formula": "p", "assuming": ["(and p (not p))"]}, "assum", "assumptions that contradict each other"),
        ({"variables": _P, "formula": "p", "operators": ["nor"]}, wrong, "an operator that there is not"),
        ({"variables": _P, "formula": "p", "assuming": ["(ite p q"]}, wrong, "an assumption that never ends"),
        ({"variables": _P, "formula": "p", "most_symbols": 0}, wrong, "no symbols"),
    ])  # fmt: skip
    lights, some = {"light": ["red", "amber", "green"]}, {"n": [2, 3, 5]}
    root = {"x": "Real"}
    for variables, formula, right, other, why in [
        (lights, "(not (= light red))", "(or (= light amber) (= light green))", "(= light green)", "a domain of names"),
        (lights, "(or (= light red) (= light amber) (= light green))", "true", "(distinct light red)", "a domain is no more than its names"),
        (some, "(= (mod n 2) 0)", "(= n 2)", "false", "a domain of numbers"),
        (some, "(> n 3)", "(= n 5)", "(>= n 3)", "a domain of numbers"),
        (root, "(= (* x x) 2.0)", "(and (<= (* x x) 2) (>= (* x x) 2))", "false", "a solution that is no fraction"),
        (root, "(> x 0.5)", "(> (* 2 x) 1)", "(>= x 1)", "a bound between whole numbers"),
        (_NB, "(bvadd a b)", "(bvadd b a)", "(bvor a b)", "values that are shown, of bits"),
        (_P, "(and p q)", "(and q p)", "(and p r)", "values that are shown, of truth"),
    ]:  # fmt: skip
        shown = {"variables": variables, "formula": formula, "show_counterexample": True}
        key.pair(next(frames) % right, next(frames) % other, shown, why, _EDIT)
    cubes = "(= (+ (* x x x) (* y y y) (* z z z)) 114)"
    hard = {"variables": dict.fromkeys("xyz", "Int"), "formula": cubes}
    key.add(
        "false",
        hard,
        UNKNOWN,
        "a question that nobody has answered",
        "open problem: sums of three cubes",
        reason="steps",
    )
    key.add("true", hard, NO, "it does not hold everywhere", _BY_FORM)
    _of_many_bits(key)
    for parts, why in [
        ([["(not ", 100_000], ["p", 1], [")", 100_000]], "a hundred thousand deep"), ([["(", 500_000]], "brackets without end"), ([["(or p q) ; ", 1], ["x", 900_000]], "a long remark"),
        ([["(or ", 1], ["p ", 400_000], [")", 1]], "four hundred thousand parts"), ([["(let ((", 1], ["a", 100_000], [" p)) q)", 1]], "a long name"),
        ([["(or p #x", 1], ["f", 200_000], [")", 1]], "bits without end"), ([["(= ", 1], ["9", 200_000], [" 1)", 1]], "digits without end"),
        ([["((_ extract 99999999999999999999 0) p)", 1]], "a place without end"), ([["((_ zero_extend 1000000000) #x1)", 1]], "a gigabit"),
        ([["(_ bv1 1000000000)", 1]], "a number of a gigabit"), ([["(set-option :rlimit 0)", 1]], "an option of a solver"),
        ([["(let ((a0 p)) ", 1], ["(let ((a1 a0)) ", 5000]], "names without end"), ([['(include "/etc/passwd")', 1]], "a file of the machine"), ([["|", 1], ["x", 1000]], "a bar that never closes"),
    ]:  # fmt: skip
        key.hostile(parts, task, why)


if __name__ == "__main__":
    write(
        {"constraint-solution": constraint_solution, "equivalent-formula": equivalent_formula},
        sys.argv[1:],
    )
