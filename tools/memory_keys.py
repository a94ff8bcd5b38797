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


def look(seen: str, what: str = "note", **more: Any) -> list[Any]:
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
