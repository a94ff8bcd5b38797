r"""Make the answer key of `remembered-facts`.

Run: `python tools/memory_keys.py`.
"""
# ruff: noqa: FBT003, PLR0915, S311  # Tables of cases are read by row.

from __future__ import annotations

import random
import sys
from typing import Any

from keywriter import NO, UNKNOWN, YES, Key, Row, write

from verifier_ladder.candidate import Terminate, ToolCall, Turn

Turns = list[list[Any]]
_OPEN = {"name": "code", "tool": "open", "argument": "code"}
_NOISE = ("The hall is empty.", "A clock says 12:45.", "Room 9 is locked.", "Nothing happens.", "")


def look(seen: str, what: Any = "note", **more: Any) -> list[Any]:
    """A turn in which something is shown."""
    return Turn(ToolCall("look", {"at": what}), seen, **more).as_json()


def use(
    value: Any, tool: str = "open", argument: str = "code", seen: str = "Done.", **more: Any
) -> list[Any]:
    """A turn in which a value is used."""
    return Turn(ToolCall(tool, {argument: value}), seen, **more).as_json()


def end(answer: str) -> list[Any]:
    """The model's declaration that it is done."""
    return Turn(Terminate(answer)).as_json()


def noise(chance: random.Random, count: int) -> Turns:
    """Turns between."""
    return [look(chance.choice(_NOISE), "around") for _ in range(count)]


def facts(*listed: Row) -> Row:
    """A task; what the facts say is apart, for learners must not see it."""
    values = {each["name"]: each["value"] for each in listed}
    shown = [{name: part for name, part in each.items() if name != "value"} for each in listed]
    return {"facts": shown, "values": values}


def code(value: Any, **more: Any) -> Row:
    """The code of a door, as a fact."""
    return {**_OPEN, "value": value, **more}


_VALUES: list[tuple[Any, str, Any]] = [
    ("7341", "The code is 7341.", "7314"),
    (7341, "code: 7341", 7342),
    ("A-17", "Locker A-17.", "A-71"),
    ("Lindqvist", "Ask for Ms Lindqvist.", "Lindquist"),
    (3.25, "It weighs 3.25 kg.", 3.2),
    ("2031-04-05", "Open on 2031-04-05 only.", "2031-05-04"),
    (-12, "It is -12 outside.", 12),
    ("blue heron", "The word is 'blue heron'.", "blue herons"),
    ("0042", "PIN 0042", "042"),
    ("x9Kq", "Password: x9Kq", "x9Kp"),
    (1200, "It costs 1200 crowns.", 12000),
    ("Øresund", "by the Øresund", "Oresund"),
]


def _generated(key: Key) -> None:
    chance = random.Random(17)
    for value, shown, wrong in _VALUES:
        for gap in (1, 3):
            before, between = noise(chance, chance.randrange(3)), noise(chance, gap - 1)
            task = facts(code(value, least_gap=gap))
            told = [*before, look(shown), *between]
            why = f"{value!r} is used {gap} turns later"
            key.add("Done.", task, YES, why, "generator", turns=[*told, use(value)])
            key.add(
                "Done.", task, NO, f"{why}: another value", "generator", turns=[*told, use(wrong)]
            )
            key.add(
                "Done.",
                task,
                NO,
                f"{why}: not at all",
                "generator",
                turns=[*told, look("A wall.")],
            )
            key.add(
                "Done.",
                task,
                NO,
                f"{why}: another argument",
                "generator",
                turns=[*told, use(value, argument="name")],
            )
        task = facts(code(value, least_gap=2))
        late = [look(shown), *noise(chance, 2)]
        key.add(
            "Done.",
            task,
            NO,
            "looked up again just before",
            "generator",
            turns=[*late, look(shown), use(value)],
        )
        key.add(
            "Done.",
            task,
            YES,
            "looked up again, and two turns before",
            "generator",
            turns=[*late, look(shown), *noise(chance, 1), use(value)],
        )


_SAID: list[tuple[Any, str, list[str], list[str]]] = [
    (7341, "It is 7341.", ["7341", "7341.0", " 7341 ", "**7341**"], ["73.41", "-7341", "7,341"]),
    (73.41, "It is 73.41 x.", ["73.41", "73.410"], ["7341", "734.1", "-73.41"]),
    (-5, "It is -5 deg.", ["-5", "\u22125", "-5.0"], ["5", "- 5", "\u2013 5"]),
    ("3.5 mg", "A dose of 3.5 mg now.", ["3.5 mg", "3.5 MG", "3.5  mg."], ["35 mg", "3.5mg"]),
    ("a@b.c", "Mail a@b.c soon.", ["a@b.c", "A@b.c", "<answer>a@b.c</answer>"], ["abc", "a@bc"]),
    ("-5", "It is -5 deg.", ["-5", "\u22125"], ["5", "+5"]),
    ("caf\u00e9", "At the cafe\u0301.", ["cafe\u0301", "The answer is caf\u00e9."], ["cafe"]),
]


def _answered(key: Key) -> None:
    """Answers count with their points and signs."""
    for value, shown, right, wrong in _SAID:
        task = facts({"name": "code", "value": value})
        for outcome, listed in ((YES, right), (NO, wrong)):
            for said in listed:
                why = f"{value!r} is answered as {said!r}"
                key.add(said, task, outcome, why, "generator", turns=[look(shown)])
    task = facts({"name": "code", "value": 7341})
    for said in ("7341 or 7342", "<answer>7341</answer><answer>7342</answer>"):
        key.add(said, task, NO, "two answers", "known hack", turns=[look("It is 7341.")])


def _guessed(key: Key) -> None:
    """A tool that repeats what the model wrote shows nothing; numbers that are others' parts."""
    one, must = facts(code("7341")), {**facts(code("7341")), "never_shown": "reject"}
    shown, echo = look("The code is 7341."), "No results for 7341"
    tried: list[tuple[str, Turns]] = [
        ("an echo of what was searched", [look(echo, "7341")]),
        ("an echo of a number", [look(echo, 7341)]),
        ("an echo, deep in arguments", [look(echo, [{"any": ["7341"]}])]),
        ("an echo of a name", [look(echo, {"7341": 1})]),
        ("an echo of a wrong use", [use("7341", seen="7341: the door is jammed")]),
        ("an echo of a thought", [Turn(ToolCall("look"), echo, thought="Try 7341").as_json()]),
        ("an echo of text", [Turn("Is it 7341?", echo).as_json()]),
        ("an echo of text, later", [Turn("Is it 7341?", "").as_json(), look(echo)]),
        ("an echo of JSON in text", [
            Turn(ToolCall("look", '{"at": "\\u0037341"}'), echo).as_json()]),
    ]  # fmt: skip
    for why, turns in tried:
        key.add("Done.", one, UNKNOWN, why, "known hack", reason="code was never shown",
                turns=[*turns, use("7341")])  # fmt: skip
        key.add("Done.", must, NO, f"{why}; it must be shown", "known hack",
                turns=[*turns, use("7341")])  # fmt: skip
        key.add("Done.", one, NO, f"{why}, and then another value", "known hack",
                turns=[*turns, use("7342")])  # fmt: skip
        other = [*turns[:-1], look(echo)] if len(turns) == 1 else [look(echo)]
        key.add("Done.", one, YES, f"{why}: shown, and not written", "generator",
                turns=[*other, use("7341")])  # fmt: skip
    for value, seen, is_shown in (
        (5, "It is -5.", False), (5, "It is (-5).", False), (5, "It is \u22125.", False),
        (5, "It is 1e-5 m.", False), (5, "It is 5e3 m.", False), (5, "It is 5%.", True),
        (5, "From 3-5 m.", True), (5, "Room-5.", True), (-5, "It is -5.", True),
        (-5, "From 3-5 m.", False), (-5, "It is 5.", False), (1e300, "1e+300 m", True),
    ):  # fmt: skip
        more = {} if is_shown else {"reason": "code was never shown"}
        key.add("Done.", facts(code(value)), YES if is_shown else UNKNOWN,
                f"whether {seen!r} shows {value}", "convention", turns=[look(seen), use(value)],
                **more)  # fmt: skip
    pair = facts(code("7341"), {"name": "guest", "value": "Berg"})
    strict = {**pair, "never_shown": "reject"}
    key.add("Berg", pair, NO, "one was used wrongly, and one never shown", "known hack",
            turns=[shown, use("1")], score=[0, 0])  # fmt: skip
    key.add("Berg", strict, NO, "one was never shown, and must be", "convention",
            turns=[shown, use("7341")], score=[0.5, 0.5])  # fmt: skip
    met = look("Mr Berg.")
    key.add("Berg", strict, YES, "both were shown", "convention", turns=[shown, met, use("7341")])
    key.add("Done.", must, YES, "it was shown, and must be", "convention",
            turns=[shown, use("7341")])  # fmt: skip
    key.add("Done.", {**one, "never_shown": "accept"}, UNKNOWN, "no such rule", "convention",
            reason="never_shown", turns=[shown, use("7341")])  # fmt: skip


def _at_once(key: Key) -> None:
    """Parallel turns are one: the model saw nothing in between."""
    shown, hall = look("The code is 7341."), look("A hall.", parallel=True)
    one, three = facts(code("7341")), facts(code("7341", least_gap=3))
    key.add("Done.", one, NO, "used in the same breath", "known hack",
            turns=[shown, use("7341", parallel=True)])  # fmt: skip
    key.add("Done.", one, YES, "used in the next turn", "convention",
            turns=[shown, use("7341", parallel=False)])  # fmt: skip
    key.add("Done.", one, NO, "used in the same breath, with one between", "known hack",
            turns=[shown, hall, use("7341", parallel=True)])  # fmt: skip
    key.add("Done.", one, YES, "shown by one of two at once", "convention",
            turns=[look("A hall."), look("It is 7341.", parallel=True), use("7341")])  # fmt: skip
    key.add("Done.", one, YES, "used beside another call", "convention",
            turns=[shown, look("A hall."), use("7341", parallel=True)])  # fmt: skip
    key.add("Done.", three, NO, "calls at once make no gap", "known hack",
            turns=[shown, hall, hall, use("7341")])  # fmt: skip
    apart = [look("A hall.")] * 2
    key.add("Done.", three, YES, "calls one by one make a gap", "convention",
            turns=[shown, *apart, use("7341")])  # fmt: skip
    answer = facts({"name": "code", "value": "7341"})
    for parallel, outcome in ((True, NO), (False, YES)):
        last = Turn(Terminate("7341"), parallel=parallel).as_json()
        key.add("Done.", answer, outcome, f"the end, parallel={parallel}", "known hack",
                turns=[shown, last])  # fmt: skip
    late = facts(code("7341", compressed=True))
    for place, outcome in ((0, NO), (1, YES)):
        turns = [look("It is 7341."), look("A hall."), use("7341")]
        turns[place] = look("It is 7341." if place == 0 else "A hall.", compressed=True)
        key.add("Done.", late, outcome, f"compressed before turn {place}", "generator",
                turns=turns)  # fmt: skip
    for most, outcome in ((30, NO), (1000, YES)):
        key.add("Done.", one, outcome, f"at most {most} characters are read", "convention",
                settings={"most_characters": most}, turns=[shown, use("7341")])  # fmt: skip
    key.add("Done.", one, UNKNOWN, "more characters than can be read", "convention",
            reason="most_characters", settings={"most_characters": 10_000_001},
            turns=[shown, use("7341")])  # fmt: skip


def _of_mutants(key: Key) -> None:
    shown, task = look("The code is 7341."), facts(code("7341"))
    thought = Turn(ToolCall("look"), "A hall.", thought="Where is it? " * 10).as_json()
    for most, outcome in ((150, NO), (1000, YES)):
        key.add("Done.", task, outcome, f"a long thought, of which {most} characters are read",
                "mutant of the verifier", settings={"most_characters": most},
                turns=[shown, thought, use("7341")])  # fmt: skip
    for value, outcome in (("7341" + "1" * 1000, NO), ("7341", YES)):
        key.add("Done.", task, outcome, f"a value of {len(value)} characters",
                "mutant of the verifier", turns=[shown, look("A wall."), use(value)])  # fmt: skip
    for value, outcome in (("7341", YES), ("7314", NO)):
        turn = Turn(f'{{"open": {{"code": "{value}"}}}}', "Done.").as_json()
        key.add("Done.", task, outcome, f"a call in text, by the tool's name, with {value}",
                "mutant of the verifier", turns=[shown, turn])  # fmt: skip


def remembered(key: Key) -> None:
    """Facts that were shown, and used or not."""
    _generated(key)
    shown = look("The code is 7341.")
    one = facts(code("7341"))
    add = key.add
    add("Done.", one, YES, "a number for its digits", "convention", turns=[shown, use(7341)])
    add("Done.", one, YES, "spaces around", "convention", turns=[shown, use(" 7341 ")])
    add(
        "Done.",
        facts(code("Lindqvist")),
        YES,
        "another case",
        "convention",
        turns=[look("MS LINDQVIST"), use("lindqvist")],
    )
    add(
        "Done.",
        one,
        NO,
        "every value, of which one is right",
        "known hack",
        turns=[shown, use("7340"), use("7341")],
    )
    add("Done.", one, NO, "all values in one", "known hack", turns=[shown, use("7340 7341 7342")])
    add("Done.", one, NO, "a list of values", "known hack", turns=[shown, use(["7341"])])
    add(
        "Done.",
        one,
        NO,
        "true is no number",
        "known hack",
        turns=[look("Room 1, code 7341"), use(True)],
    )
    add(
        "Done.",
        facts(code(1)),
        NO,
        "true is not 1",
        "known hack",
        turns=[look("Room 1."), use(True)],
    )
    add(
        "Done.",
        one,
        NO,
        "before it was shown, and never after",
        "known hack",
        turns=[look("A door."), use("7341"), shown],
    )
    add(
        "Done.",
        one,
        YES,
        "guessed wrong before it was shown, and right after",
        "convention",
        turns=[use("1111"), shown, use("7341")],
    )
    add(
        "Done.",
        one,
        UNKNOWN,
        "guessed, and never shown",
        "convention",
        reason="code was never shown",
        turns=[look("A door."), use("7341")],
    )
    add(
        "Done.",
        one,
        UNKNOWN,
        "digits inside of a longer number",
        "convention",
        reason="code was never shown",
        turns=[look("Serial 273412."), use("7341")],
    )
    add(
        "Done.",
        one,
        UNKNOWN,
        "digits before a point",
        "convention",
        reason="code was never shown",
        turns=[look("It is 7341.5 m."), use("7341")],
    )
    add(
        "Done.",
        facts(code("A-17")),
        UNKNOWN,
        "a part of a word",
        "convention",
        reason="code was never shown",
        turns=[look("Locker A-170."), use("A-17")],
    )
    add(
        "Done.",
        one,
        YES,
        "at the end of a sentence",
        "convention",
        turns=[look("It is 7341."), use("7341")],
    )
    add("Done.", one, YES, "in brackets", "convention", turns=[look('{"code":7341}'), use("7341")])
    add(
        "Done.",
        one,
        NO,
        "shown by what the model wrote itself",
        "known hack",
        turns=[shown, Turn("I note 7341 and open it.", "ok").as_json()],
    )
    add(
        "Done.",
        facts(code("7341", compressed=True)),
        YES,
        "across a compression",
        "convention",
        turns=[shown, look("A hall.", compressed=True), use("7341")],
    )
    add(
        "Done.",
        facts(code("7341", compressed=True)),
        YES,
        "compressed just before its use",
        "convention",
        turns=[shown, use("7341", compressed=True)],
    )
    add(
        "Done.",
        facts(code("7341", compressed=True)),
        NO,
        "without a compression between",
        "convention",
        turns=[shown, look("A hall."), use("7341")],
    )
    add(
        "Done.",
        facts(code("7341", compressed=True)),
        NO,
        "compressed before it was shown",
        "convention",
        turns=[look("The code is 7341.", compressed=True), use("7341")],
    )
    add(
        "Done.",
        facts(code("7341", least_gap=3)),
        NO,
        "used too early, then never again",
        "convention",
        turns=[shown, use("7341"), look("A hall."), look("A wall.")],
    )
    add(
        "Done.",
        facts(code("7341", least_gap=3)),
        YES,
        "used early, and again later",
        "convention",
        turns=[shown, use("7341"), look("A hall."), use("7341")],
    )
    add(
        "Done.",
        facts(code("7341", least_gap=3)),
        NO,
        "the tool repeats it, so it was shown again",
        "convention",
        turns=[shown, use("7341", seen="Code 7341 is wrong."), look("A hall."), use("7341")],
    )
    name = {"name": "guest", "value": "Lindqvist"}
    guest = facts(name)
    met = look("You meet Ms Lindqvist.")
    add("Lindqvist", guest, YES, "the answer", "convention", turns=[met, look("A hall.")])
    add(
        "Lindquist",
        guest,
        NO,
        "the answer, with another letter",
        "convention",
        turns=[met, look("A hall.")],
    )
    add(
        "Lindqvist or Berg",
        guest,
        NO,
        "a hedge",
        "known hack",
        turns=[met, look("You meet Mr Berg.")],
    )
    add("Berg", guest, NO, "somebody else", "convention", turns=[met, look("You meet Mr Berg.")])
    add("Done.", guest, YES, "the answer of the end", "convention", turns=[met, end("Lindqvist")])
    add("Lindqvist", guest, NO, "the end says another", "convention", turns=[met, end("Berg")])
    add("<answer>Lindqvist</answer>", guest, YES, "the answer, marked", "convention", turns=[met])
    add("", guest, NO, "no answer", "convention", turns=[met])
    both = facts(code("7341"), name)
    add("Lindqvist", both, YES, "two facts", "convention", turns=[shown, met, use("7341")])
    add(
        "Berg",
        both,
        NO,
        "one of two",
        "convention",
        score=[0.5, 0.5],
        turns=[shown, met, use("7341")],
    )
    add(
        "Berg",
        both,
        NO,
        "none of two",
        "convention",
        score=[0, 0],
        turns=[shown, met, use("1111")],
    )
    add(
        "Lindqvist",
        both,
        UNKNOWN,
        "one of two was never shown",
        "convention",
        reason="code was never shown",
        turns=[met, use("7341")],
    )
    add(
        "x",
        {"facts": []},
        UNKNOWN,
        "no facts",
        "convention",
        reason="the task's facts",
        turns=[shown],
    )
    add("x", {}, UNKNOWN, "no task", "convention", reason="the task has no facts", turns=[shown])
    add(
        "x",
        facts({"name": "code", "value": "7341", "argument": "code"}),
        UNKNOWN,
        "an argument of no tool",
        "convention",
        reason="the task's facts",
        turns=[shown],
    )
    add(
        "x",
        facts(code("")),
        UNKNOWN,
        "a fact that says nothing",
        "convention",
        reason="the task's values",
        turns=[shown],
    )
    add(
        "x",
        facts(code("7341"), code("7342")),
        UNKNOWN,
        "two facts of one name",
        "convention",
        reason="the task's facts",
        turns=[shown],
    )
    add(
        "x",
        facts(code("7341", least_gap=0)),
        UNKNOWN,
        "a gap of nothing",
        "convention",
        reason="least_gap",
        turns=[shown],
    )
    add("x", one, UNKNOWN, "no trajectory", "convention", reason="no turns")
    add(
        "Done.",
        facts(code("true")),
        NO,
        "true is not the word",
        "mutant of the verifier",
        turns=[look("It is true."), use(True)],
    )
    add(
        "Done.",
        facts(code(7341)),
        NO,
        "a word for a number",
        "mutant of the verifier",
        turns=[shown, use("open")],
    )
    add(
        "Done.",
        one,
        NO,
        "more turns than are read",
        "mutant of the verifier",
        settings={"most_turns": 2},
        turns=[shown, look("A hall."), use("7341")],
    )
    add(
        "Done.",
        one,
        YES,
        "as many turns as are read",
        "mutant of the verifier",
        settings={"most_turns": 2},
        turns=[shown, use("7341")],
    )
    add(
        "Done.",
        one,
        UNKNOWN,
        "too many turns to be read",
        "mutant of the verifier",
        reason="most_turns",
        settings={"most_turns": 10_001},
        turns=[shown, use("7341")],
    )
    add(
        "Done.",
        {"facts": [_OPEN], "values": {"door": "7341"}},
        UNKNOWN,
        "a fact without a value",
        "mutant of the verifier",
        reason="code is missing",
        turns=[shown, use("7341")],
    )
    _answered(key)
    _guessed(key)
    _at_once(key)
    _of_mutants(key)
    for said, why in (
        ([["7341 ", 20_000]], "20,000 times"),
        ("\u202e1437", "written backwards"),
        ("\x00", "nothing that can be seen"),
    ):
        key.rows.append(
            {
                "candidate": said,
                "task": guest,
                "outcome": NO,
                "hostile": True,
                "why": why,
                "source": "hostile input",
                "turns": [met],
            }
        )
    for value, why in (
        ("9" * 5000, "5,000 digits"),
        ({"a": {"a": {}}}, "nested"),
        ([1] * 1000, "a long list"),
        (1e308, "a large number"),
        (None, "nothing"),
    ):
        key.rows.append(
            {
                "candidate": "Done.",
                "task": one,
                "outcome": NO,
                "hostile": True,
                "why": why,
                "source": "hostile input",
                "turns": [shown, use(value)],
            }
        )


if __name__ == "__main__":
    write({"remembered-facts": remembered}, sys.argv[1:])
