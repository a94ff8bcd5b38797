r"""Make the answer key of `coq-proof`.

Run: `python tools/proof_key.py`; it writes the same bytes each time. Statements are theorems of
Coq's standard library and of any first course in logic; what is wrong with a script is an edit of
a right one. The ways around checks that Coq's tracker has reports of name their number.
"""
# ruff: noqa: E501  # Tables of cases are read by row.

from __future__ import annotations

import sys
from itertools import cycle
from typing import Any

from keywriter import NO, UNKNOWN, YES, Key, Row, write

_LIBRARY, _LOGIC, _EDIT, _READ, _HACK = (
    "Coq's standard library", "first course in logic", "generator: an edit of a proof",
    "convention", "known hack",
)  # fmt: skip
_FRAMES = (
    "%s",
    "```coq\n%s\n```",
    "<think>Induction?</think>\n```coq\n%s\n```",
    "Done:\n```\n%s\n```",
)


def _task(statement: str, **more: Any) -> Row:
    return {"statement": statement, **more}


_TREE = (
    "Inductive tree := leaf | node (l r : tree). "
    "Fixpoint mirror t := match t with leaf => leaf | node l r => node (mirror r) (mirror l) end."
)
_SUM = "Fixpoint sum n := match n with O => 0 | S k => n + sum k end."
_EVEN = "Inductive ev : nat -> Prop := ev0 : ev 0 | evS : forall n, ev n -> ev (S (S n))."
_LIA, _LIST = "Require Import Lia.", "Require Import List. Import ListNotations."
_CLASSIC = "Require Import Classical."
_PAIRS: list[tuple[Row, str, str, str, str]] = [
    (_task("forall n : nat, n + 0 = n"), "Theorem answer : forall n : nat, n + 0 = n. Proof. induction n; simpl; auto. Qed.", "Theorem answer : forall n : nat, n + 0 = n. Proof. induction n; simpl; auto. Admitted.", "an end that admits everything", _LIBRARY),
    (_task("forall n m : nat, n + m = m + n"), "Lemma r0 : forall n, n + 0 = n. Proof. induction n; simpl; auto. Qed.\nLemma rS : forall n m, n + S m = S (n + m). Proof. induction n; simpl; auto. Qed.\nTheorem answer : forall n m, n + m = m + n.\nProof. induction n; intros; simpl. rewrite r0; auto. rewrite rS, IHn; auto. Qed.", "Lemma r0 : forall n, n + 0 = n. Proof. induction n; simpl; auto. Qed.\nLemma rS : forall n m, n + S m = S (n + m). Admitted.\nTheorem answer : forall n m, n + m = m + n.\nProof. induction n; intros; simpl. rewrite r0; auto. rewrite rS, IHn; auto. Qed.", "a lemma that is admitted", _LIBRARY),
    (_task("forall b : bool, negb (negb b) = b"), "Theorem answer : forall b, negb (negb b) = b. Proof. destruct b; reflexivity. Qed.", "Axiom answer : forall b, negb (negb b) = b.", "an axiom", _LIBRARY),
    (_task("forall P Q : Prop, P /\\ Q -> Q /\\ P"), "Theorem answer : forall P Q : Prop, P /\\ Q -> Q /\\ P. Proof. intros P Q [p q]; split; assumption. Qed.", "Theorem answer : forall P Q : Prop, P /\\ Q -> P /\\ Q. Proof. intros P Q [p q]; split; assumption. Qed.", "another statement", _LOGIC),
    (_task("forall P Q : Prop, P \\/ Q -> Q \\/ P"), "Definition answer : forall P Q : Prop, P \\/ Q -> Q \\/ P := fun P Q h => match h with or_introl p => or_intror p | or_intror q => or_introl q end.", "Parameter answer : forall P Q : Prop, P \\/ Q -> Q \\/ P.", "a parameter", _LOGIC),
    (_task("forall P Q : Prop, ~ (P \\/ Q) <-> ~ P /\\ ~ Q"), "Theorem answer : forall P Q : Prop, ~ (P \\/ Q) <-> ~ P /\\ ~ Q. Proof. intros; tauto. Qed.", "Theorem answer : forall P Q : Prop, ~ (P /\\ Q) <-> ~ P /\\ ~ Q. Proof. intros; tauto. Qed.", "what does not hold", _LOGIC),
    (_task("forall P : Prop, ~ ~ (P \\/ ~ P)"), "Theorem answer : forall P : Prop, ~ ~ (P \\/ ~ P). Proof. intros P h; apply h; right; intro p; apply h; left; exact p. Qed.", "Variable answer : forall P : Prop, ~ ~ (P \\/ ~ P).", "a variable outside of a section", _LOGIC),
    (_task("forall P Q : Prop, (P -> Q) -> ~ Q -> ~ P"), "Theorem answer : forall P Q : Prop, (P -> Q) -> ~ Q -> ~ P. Proof. intros P Q h n p; exact (n (h p)). Qed.", "Theorem reply : forall P Q : Prop, (P -> Q) -> ~ Q -> ~ P. Proof. intros P Q h n p; exact (n (h p)). Qed.", "another name", _LOGIC),
    (_task("exists n : nat, n * n = 49"), "Theorem answer : exists n, n * n = 49. Proof. exists 7; reflexivity. Qed.", "Theorem answer : exists n, n * n = 49. Proof. exists 8; reflexivity. Qed.", "a witness", _LOGIC),
    (_task("forall n : nat, n <> S n"), "Theorem answer : forall n, n <> S n. Proof. induction n; congruence. Qed.", "Theorem answer : forall n, n <> S n. Proof. destruct n; congruence. Qed.", "induction", _LIBRARY),
    (_task("forall n m : nat, n < m -> n + 1 <= m", imports=_LIA), "Theorem answer : forall n m : nat, n < m -> n + 1 <= m. Proof. lia. Qed.", "Theorem answer : forall n m : nat, n < m -> n + 2 <= m. Proof. lia. Qed.", "arithmetic", _LIBRARY),
    (_task("forall (A : Type) (l m n : list A), (l ++ m) ++ n = l ++ m ++ n", imports=_LIST), "Theorem answer : forall (A : Type) (l m n : list A), (l ++ m) ++ n = l ++ m ++ n. Proof. intros; symmetry; apply app_assoc. Qed.", "Theorem answer : forall (l m n : list nat), (l ++ m) ++ n = l ++ m ++ n. Proof. intros; symmetry; apply app_assoc. Qed.", "lists of one type", _LIBRARY),
    (_task("forall (A : Type) (l : list A), rev (rev l) = l", imports=_LIST), "Theorem answer (A : Type) (l : list A) : rev (rev l) = l. Proof. apply rev_involutive. Qed.", "Theorem answer (A : Type) (l : list A) (h : rev (rev l) = l) : rev (rev l) = l. Proof. exact h. Qed.", "one more premise", _LIBRARY),
    (_task("forall t : tree, mirror (mirror t) = t", preamble=_TREE), "Theorem answer : forall t, mirror (mirror t) = t. Proof. induction t; simpl; congruence. Qed.", f"{_TREE}\nTheorem answer : forall t, mirror (mirror t) = t. Proof. induction t; simpl; congruence. Qed.", "definitions of its own", _EDIT),
    (_task("forall n : nat, 2 * sum n = n * (n + 1)", preamble=_SUM, imports=_LIA), "Theorem answer : forall n : nat, 2 * sum n = n * (n + 1). Proof. induction n; simpl in *; lia. Qed.", "Fixpoint sum n := match n with O => 0 | S k => n + sum k end. Definition half := 0.\nTheorem answer : forall n : nat, 2 * sum n = n * n + n + half. Proof. induction n; unfold half in *; simpl in *; lia. Qed.", "a sum of its own", _EDIT),
    (_task("forall n : nat, ev n -> ev (4 + n)", preamble=_EVEN), "Theorem answer : forall n, ev n -> ev (4 + n). Proof. intros n h; simpl; apply evS, evS, h. Qed.", "Definition ev (n : nat) := True.\nTheorem answer : forall n, ev n -> ev (4 + n). Proof. intros; exact I. Qed.", "a predicate of its own", _EDIT),
    (_task("forall P : Prop, P \\/ ~ P", imports=_CLASSIC, axioms=["Coq.Logic.Classical_Prop.classic"]), "Theorem answer : forall P : Prop, P \\/ ~ P. Proof. exact classic. Qed.", "Axiom classic : forall P : Prop, P \\/ ~ P.\nTheorem answer : forall P : Prop, P \\/ ~ P. Proof. exact classic. Qed.", "an axiom of its own by an allowed name", _LIBRARY),
    (_task("forall P : Prop, ~ ~ P -> P", imports=_CLASSIC, axioms=["classic"]), "Theorem answer : forall P : Prop, ~ ~ P -> P. Proof. exact NNPP. Qed.", "Module Classical_Prop. Axiom classic : False. End Classical_Prop.\nTheorem answer : forall P : Prop, ~ ~ P -> P. Proof. destruct Classical_Prop.classic. Qed.", "a module by an allowed name", _LIBRARY),
    (_task("{ n : nat | n > 3 }"), "Definition answer : { n : nat | n > 3 }. Proof. exists 4. auto. Defined.", "Definition answer : { n : nat | n > 3 }. Proof. exists 3. auto. Defined.", "a number with a proof", _LOGIC),
    (_task("forall n m : nat, n * m = m * n", imports="Require Import Arith."), "Proof. intros n m. apply Nat.mul_comm. Qed.", "Proof. intros n m. apply Nat.add_comm. Qed.", "the proof alone", _LIBRARY),
    (_task("forall f g : nat -> nat, (forall x, f x = g x) -> f = g", imports="Require Import FunctionalExtensionality.", axioms=["functional_extensionality_dep"]), "Theorem answer : forall f g : nat -> nat, (forall x, f x = g x) -> f = g. Proof. intros; apply functional_extensionality; assumption. Qed.", "Theorem answer : forall f g : nat -> nat, (forall x, f x = g x) -> f = g. Proof. intros; reflexivity. Qed.", "functions that agree", _LIBRARY),
    (_task("forall x y : Z, (x + y) * (x - y) = x * x - y * y", imports="Require Import ZArith.", preamble="Global Open Scope Z_scope."), "Open Scope Z_scope.\nTheorem answer : forall x y : Z, (x + y) * (x - y) = x * x - y * y. Proof. intros; ring. Qed.", "Open Scope Z_scope.\nTheorem answer : forall x y : Z, (x + y) * (x + y) = x * x + y * y. Proof. intros; ring. Qed.", "a ring", _LIBRARY),
    (_task("forall n : nat, P n", preamble="Definition P (n : nat) := n = n.", name="all_p"), "Section S. Variable n : nat. Lemma here : P n. Proof. reflexivity. Qed. End S.\nTheorem all_p : forall n, P n. Proof. exact here. Qed.", "Section S. Variable h : forall n, P n. Theorem all_p : forall n, P n. Proof. exact h. Qed. End S.", "a section", _EDIT),
    (_task("True"), "Module Type T. Parameter t : True. End T.\nModule M : T. Lemma t : True. Proof. exact I. Qed. End M.\nTheorem answer : True. Proof. exact M.t. Qed.", "Module Type T. Parameter t : True. End T.\nDeclare Module M : T.\nTheorem answer : True. Proof. exact M.t. Qed.", "a module that hides its proof", "rocq-prover/rocq #11853"),
    (_task("forall n : nat, n = n"), "Lemma idle : 1 = 2. Admitted.\nTheorem answer : forall n : nat, n = n. Proof. reflexivity. Qed.", "Lemma idle : 1 = 2. Admitted.\nTheorem answer : forall n : nat, n = n. Proof. pose idle; discriminate. Qed.", "what is admitted and not used", _READ),
]  # fmt: skip
_FALSE: list[tuple[str, str, str]] = [
    ("Axiom cheat : False. Definition answer := cheat.", "an axiom", _HACK),
    ("Theorem answer : False. Proof. admit. Admitted.", "a tactic that admits", _HACK),
    ("Theorem answer : False. Proof. Abort.", "a proof that is given up", _EDIT),
    ("Theorem answer : False. Proof. exact I. Qed.", "no proof", _EDIT),
    ("Definition False := True. Theorem answer : False. Proof. exact I. Qed.", "another meaning of False", _HACK),
    ("Inductive False : Prop := yes. Theorem answer : False. Proof. exact yes. Qed.", "another type called False", _HACK),
    ("Notation False := True. Theorem answer : False. Proof. exact I. Qed.", "another notation", _HACK),
    ("Notation \"'False'\" := True. Theorem answer : False. Proof. exact I. Qed.", "a notation in quotes", _HACK),
    ("Module Task. Definition statement := True. End Task. Theorem answer : Task.statement. Proof. exact I. Qed.", "a module by the name of ours", _HACK),
    ("Module Ladder. Module Task. Definition statement := True. End Task. End Ladder. Theorem answer : Ladder.Task.statement. Proof. exact I. Qed.", "our names, one inside the other", _HACK),
    ("Definition statement := True. Theorem answer : statement. Proof. exact I. Qed.", "the name of our statement", _HACK),
    ("Unset Guard Checking. Fixpoint f (n : nat) : False := f (S n). Definition answer := f 0.", "recursion without end", "Coq's reference manual, typing flags"),
    ("#[bypass_check(guard)] Fixpoint f (n : nat) : False := f (S n). Definition answer := f 0.", "recursion without end, by an attribute", "Coq's reference manual, typing flags"),
    ("Unset Positivity Checking. Inductive T := C : (T -> False) -> T. Definition d (t : T) : False := match t with C f => f t end. Definition answer : False := d (C d).", "a type that takes itself", "Coq's reference manual, typing flags"),
    ("#[bypass_check(positivity)] Inductive T := C : (T -> False) -> T. Definition d (t : T) : False := match t with C f => f t end. Definition answer : False := d (C d).", "a type that takes itself, by an attribute", "Coq's reference manual, typing flags"),
    ("Module Type S. Parameter Inline T : nat -> False. End S. Module F (X : S). Definition loop : nat -> False := X.T. End F. Module X. Local Unset Guard Checking. Fixpoint T (n : nat) : False := T (S n). End X. Unset Guard Checking. Module M := F X. Set Guard Checking. Definition answer : False := M.loop 0.", "recursion without end, put in by a functor", "rocq-prover/rocq #22366"),
    ("Require Import Hurkens. Unset Universe Checking. Definition answer : False. Proof. apply (TypeNeqSmallType.paradox Type eq_refl). Qed.", "a type of all types", "Coq's reference manual, typing flags"),
    ("Section S. Hypothesis h : False. Theorem answer : False. Proof. exact h. Qed. End S.", "a premise of a section", _EDIT),
    ("Theorem answer : False -> False. Proof. auto. Qed. Coercion to_false (x : False -> False) : False := match x with _ => match (x : Type) with end end.", "a coercion", _HACK),
    ("#[global] Set Silent. Axiom cheat : False. Definition answer := cheat.", "an option that silences what comes after", _HACK),
    ("#[global] Set Printing Width 2. Axiom cheat : False. Definition answer := cheat.", "an option that breaks lines", _HACK),
    ('Axiom cheat : False. Definition answer := cheat. Goal True. idtac "Closed under the global context". Abort.', "our words in its output", _HACK),
    ("Axiom Closed_under_the_global_context : False. Definition answer := Closed_under_the_global_context.", "our words in a name", _HACK),
    ('Redirect "Check" Print nat. Axiom cheat : False. Definition answer := cheat.', "output into a file", _HACK),
    ('Require Import Extraction. Extraction "Task.v" nat. Axiom cheat : False. Definition answer := cheat.', "a file in the place of ours", _HACK),
    ('Load "/etc/passwd". Definition answer := I.', "a file of the machine", _HACK),
    ('Declare ML Module "cheat". Definition answer := I.', "a plug-in", _HACK),
    ("Drop.", "the way to OCaml", _HACK), ("Quit.", "an end before the end", _HACK),
    ('Add LoadPath "/tmp" as Ladder. Require Import Ladder.Task.', "another place for ours", _HACK),
    ("Require Ladder.Check. Definition answer := Ladder.Check.proved.", "what comes after it", _HACK),
    ("Require Import Ladder.Answer.", "itself", _HACK),
    ("Fail Theorem answer : False.", "a command that must fail", _EDIT),
    ("(* Theorem answer : False. Proof. exact I. Qed.", "a remark that never ends", _READ),
    ("Module A. Theorem answer : False.", "a module that never ends", _READ),
    ("Set Implicit Arguments. Theorem answer : forall P : Prop, P. Admitted.", "more than is asked, admitted", _EDIT),
    ("", "nothing", _READ), ("I can't prove it.", "talk", _READ), ("```lean\ntheorem answer : False := by sorry\n```", "another language", _READ),
]  # fmt: skip
_SLOW = {"cpu": 4.0, "memory": 1 << 30}
_HOSTILE: list[tuple[Any, str]] = [
    ("Ltac loop := idtac; loop. Theorem answer : False. Proof. loop. Qed.", "a tactic without end"),
    ("Fixpoint p n := match n with O => 1 | S k => p k + p k end. Theorem answer : False. Proof. assert (p 60 = 0) by (vm_compute; reflexivity). Qed.", "a number without end"),
    ("Theorem answer : False. Proof. do 100000000 (assert True by exact I). Qed.", "premises without end"),
    ('Goal True. do 10000000 idtac "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx". Abort.', "words without end"),
    ([["(* ", 60_000]], "remarks without end"), ([["Goal True. Proof. exact (", 1], ["(", 100_000]], "brackets without end"),
    ([["x", 400_000]], "a long word"), ("\x00\x01\x02", "characters without a sign"), ('Definition a := "\x1b]0;owned\x07".', "what a terminal obeys"),
]  # fmt: skip


def coq_proof(key: Key) -> None:
    """Proofs, what looks like them, and tasks that nobody can prove."""
    frames = cycle(_FRAMES)
    for task, right, wrong, why, source in _PAIRS:
        key.pair(next(frames) % right, next(frames) % wrong, task, why, source)
    for script, why, source in _FALSE:
        key.add(script, _task("False", limits=_SLOW), NO, why, source)
    proof = "Theorem answer : forall P : Prop, P \\/ ~ P. Proof. exact classic. Qed."
    key.add(
        proof,
        _task("forall P : Prop, P \\/ ~ P", imports=_CLASSIC),
        NO,
        "an axiom of the library that is not allowed",
        _LIBRARY,
    )
    key.add(
        proof,
        _task(
            "forall P : Prop, P \\/ ~ P",
            imports=_CLASSIC,
            axioms=["functional_extensionality_dep"],
        ),
        NO,
        "another axiom is allowed",
        _LIBRARY,
    )
    given = _task(
        "forall n : nat, small n",
        preamble="Parameter small : nat -> Prop. Axiom all_small : forall n, small n.",
    )
    key.add(
        "Theorem answer : forall n, small n. Proof. exact all_small. Qed.",
        {**given, "axioms": ["Task.small", "Task.all_small"]},
        YES,
        "axioms of the task",
        _READ,
    )
    key.add(
        "Theorem answer : forall n, small n. Proof. exact all_small. Qed.",
        {**given, "axioms": ["Task.small"]},
        NO,
        "an axiom of the task that is not allowed",
        _READ,
    )
    key.add(
        "Require Import Classical.\nTheorem answer : True. Proof. exact I. Qed.",
        _task("True"),
        YES,
        "an axiom that is not used",
        _READ,
    )
    key.add(
        "Require Import Lia.\nTheorem answer : forall n : nat, n <= n + n. Proof. lia. Qed.",
        _task("forall n : nat, n <= n + n"),
        YES,
        "a library of its own choice",
        _LIBRARY,
    )
    key.add(
        "Theorem answer : 20 * 20 = 400. Proof. vm_compute. reflexivity. Qed.",
        _task("20 * 20 = 400"),
        YES,
        "a computation",
        _LIBRARY,
    )
    key.add(
        "Theorem answer : forall {P : Prop}, P -> P. Proof. auto. Qed.",
        _task("forall P : Prop, P -> P"),
        YES,
        "arguments that are left out",
        _LOGIC,
    )
    key.add(
        "Module M. Theorem answer : True. Proof. exact I. Qed. End M.",
        _task("True"),
        NO,
        "a name inside a module",
        _READ,
    )
    key.add(
        "Module M. Theorem answer : True. Proof. exact I. Qed. End M.\nDefinition answer := M.answer.",
        _task("True"),
        YES,
        "a name from a module",
        _READ,
    )
    wrong = "the task's"
    key.broken("Definition answer := I.", [
        ({}, "no statement", "no statement"), (_task(""), wrong, "an empty statement"), (_task("forall n, n +"), wrong, "a statement that never ends"),
        (_task("nat = 3"), wrong, "a statement of no type"), (_task("True", imports="Require Import Nowhere."), wrong, "a library that there is not"),
        (_task("True", preamble="Definition two : nat := true."), wrong, "a definition that makes no sense"), (_task("True", name="a b"), wrong, "a name with a space"),
        (_task("True", axioms=["a b"]), wrong, "an axiom with a space"), (_task("True", limits={"cpu": 1e9}), "limits.cpu", "more than may be taken"),
        (_task("True. Definition x := I"), wrong, "two sentences"),
    ])  # fmt: skip
    tree = "Fixpoint b n := match n with O => true | S k => andb (b k) (b k) end."
    machine = "Theorem answer : b 23 = true. Proof. vm_compute. reflexivity. Qed."
    long = _task("b 23 = true", preamble=tree, limits={"cpu": 2.5})
    key.add(
        machine,
        long,
        UNKNOWN,
        "a computation that takes the checker ten times as long",
        _LIBRARY,
        reason="coqchk",
    )
    key.add(
        machine.replace("23", "13"),
        {**long, "statement": "b 13 = true"},
        YES,
        "a smaller one",
        _LIBRARY,
    )
    for parts, why in _HOSTILE:
        key.hostile(parts, _task("False", limits=_SLOW), why)


if __name__ == "__main__":
    write({"coq-proof": coq_proof}, sys.argv[1:])
