r"""Make the answer keys of `exact-match`, `choice`, `f1` and `numeric`.

Run: `python tools/short_answer_keys.py [NAME…]`; it writes the same bytes each time.
"""
# ruff: noqa: E501, RUF001  # Tables of cases are read by row; letters that look alike are meant.

from __future__ import annotations

import random
import sys
import unicodedata
from collections import Counter
from fractions import Fraction
from itertools import cycle, product
from typing import Any

from keywriter import NO, YES, Key, Row, write

# ---- exact-match


def exact_match(key: Key) -> None:
    """Text as it is, and what is declared not to matter."""
    task: Row
    frames = cycle((
        "%s", "<answer>%s</answer>", "I look it up.\nThe answer is: %s", "\\boxed{%s}", "#### %s",
        "Paris was my first thought.\n\n%s",
    ))  # fmt: skip
    how = "generator: the other form is made by Unicode's own tables"
    plain: list[tuple[str, str, str]] = [
        ("Ulan Bator", "Ulan-Bator", "a space"), ("x86_64", "x86-64", "a character"),
        ("Gödel", "Godel", "an accent"), ("naïve", "naive", "a diaeresis"),
        ("3.0", "3", "text is no number"), ("Yes", "yes", "capitals"),
        ("0x1F", "0x1f", "capitals"), ("don't", "dont", "an apostrophe"),
        ("H2O", "H20", "a zero for a letter"), ("a b", "a  c", "another letter"),
    ]  # fmt: skip
    for right, wrong, why in plain:
        task = {"answer": right}
        key.pair(next(frames) % right, next(frames) % wrong, task, why, "convention")
    for text in ("é", "Å", "ñandú", "ö", "한글"):
        other = unicodedata.normalize("NFD", text)
        key.add(other, {"answer": text}, YES, "the same text, composed otherwise", how)
        bare = "".join(c for c in other if not unicodedata.combining(c))
        wrong = bare if bare != other else other[:-1]
        key.add(wrong, {"answer": text}, NO, "the same text without its accents", how)
    for text in ("ﬁle", "Ⅻ", "ｆｕｌｌ", "x²"):
        folded = unicodedata.normalize("NFKC", text)
        key.add(folded, {"answer": text, "normalise": ["unicode"]}, YES, "compatible forms", how)
        key.add(folded, {"answer": text}, NO, "compatible forms are not declared alike", how)
    for text in ("Straße", "İstanbul", "ΣΊΣΥΦΟΣ", "Weiß"):
        folded = text.casefold()
        key.add(folded, {"answer": text, "normalise": ["case"]}, YES, "capitals", how)
        key.add(folded + "s", {"answer": text, "normalise": ["case"]}, NO, "a letter more", how)
    for latin, alike in (("paypal", "p\u0430ypal"), ("Cop", "\u0421op"), ("oil", "\u03bfil")):
        task = {"answer": latin, "normalise": ["unicode", "case", "space"]}
        key.pair(latin, alike, task, "a letter of another alphabet", how)
    key.pair("the  cat", "the cats", {"answer": "the cat", "normalise": ["space"]}, "spaces",
             "convention")  # fmt: skip
    key.pair("the cat.", "then cat", {"answer": "The cat!", "normalise": ["case", "punctuation"]},
             "punctuation", "convention")  # fmt: skip
    key.pair("a cat", "an act", {"answer": "The cat", "normalise": ["case", "articles"]},
             "articles", "convention")  # fmt: skip
    key.pair("colour", "colr", {"answer": ["color", "colour"]}, "several right answers",
             "convention")  # fmt: skip
    key.pair("**Rome**", "**Romo**", {"answer": "Rome"}, "bold type", "convention")
    key.pair("`a.b`", "`a.c`", {"answer": "a.b"}, "a code's type", "convention")
    hedges = [
        "<answer>Rome</answer> or <answer>Oslo</answer>", "<answer>Rome or Oslo</answer>",
        "\\boxed{Rome}\n\\boxed{Oslo}", "The answer is Rome or Oslo", "Rome, Oslo", "not Rome",
        "Rome\nOslo", "<answer>Rome</answer>, or maybe Oslo", "Rome?", "", "<answer></answer>",
        "<think>Rome</think>", "<think>Rome", "Answer: Rome\nAnswer: Oslo", "R\u200bome",
        "<answer>Rome</answer>\nThe answer is Oslo",
    ]  # fmt: skip
    for text in hedges:
        key.add(text, {"answer": "Rome"}, NO, "a hedge, or no answer", "known hack")
    key.add("<answer>Rome</answer>\nSo the answer is Rome", {"answer": "Rome"}, YES,
            "the same answer twice", "convention")  # fmt: skip
    key.broken("Rome", [
        ({}, "no answer", "no answer"), ({"answer": None}, "no answer", "nothing"),
        ({"answer": []}, "the task's answer", "no right answers"),
        ({"answer": {"a": 1}}, "the task's answer", "an object"),
        ({"answer": ["a", 3]}, "the task's answer", "a number among texts"),
        ({"answer": "   "}, "the task's answer", "only spaces"),
        ({"answer": "...", "normalise": ["punctuation"]}, "the task's answer", "nothing is left"),
        ({"answer": "a", "normalise": ["stem"]}, "the task's normalise", "an unknown rule"),
    ])  # fmt: skip
    _hostile_text(key, {"answer": "Rome", "normalise": ["unicode", "case", "space", "articles"]})
    _marks(key, "Ulan Bator", "Ulan Batur", {"answer": "Ulan Bator"})
    _normal_forms(key)


def _normal_forms(key: Key) -> None:
    """Texts whose normal forms follow from a rule of Unicode: sums of code points, no table."""
    how = "Unicode NormalizationTest, by its rules"
    frames = cycle(("%s", "<answer>%s</answer>", "I look it up.\nThe answer is: %s", "#### %s"))

    def pair(right: str, wrong: str, answer: str, why: str, *rules: str) -> None:
        frame = next(frames)
        task = {"answer": answer, **({"normalise": list(rules)} if rules else {})}
        key.pair(frame % right, frame % wrong, task, why, how)

    rng = random.Random(15)  # noqa: S311
    for _ in range(4):  # A syllable of Hangul has the place (first * 21 + vowel) * 28 + last.
        first, vowel, last = rng.randrange(19), rng.randrange(21), rng.randrange(1, 27)
        parts = chr(0x1100 + first) + chr(0x1161 + vowel)
        whole = chr(0xAC00 + (first * 21 + vowel) * 28 + last)
        right, wrong = (parts + chr(0x11A7 + n) for n in (last, last + 1))
        pair(right, wrong, whole, "a syllable of Hangul and its letters")
        pair(whole, chr(ord(whole) + 1), right, "letters of Hangul and their syllable")
    above, acute, below, cedilla = "\u0307", "\u0301", "\u0323", "\u0327"
    for letter in "qx":
        for one, other in ((below, acute), (cedilla, above), (cedilla, acute)):
            pair(letter + other + one, letter + other, letter + one + other,
                 "marks below and above, in either order")  # fmt: skip
        right, wrong = letter + above + acute, letter + acute + above
        pair(right, wrong, right, "two marks above, whose order counts")
    for said, answer, alike in (
        ("\u212a", "K", "\u041a"), ("\u2126", "\u03a9", "\u0298"), ("\u212b", "\u00c5", "\u0226"),
        ("\u1fef", "`", "\u00b4"), ("\u037e", ";", ":"), ("\u0915\u093c", "\u0958", "\u0915"),
    ):  # fmt: skip
        pair(f"1 {said} 2", f"1 {alike} 2", f"1 {answer} 2", "a sign that is another's double")
    for start, count, letters in (
        (0x2460, 9, "123456789"), (0xFF21, 26, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        (0x1D41A, 26, "abcdefghijklmnopqrstuvwxyz"), (0x1D7D8, 10, "0123456789"),
    ):  # fmt: skip
        n = rng.randrange(count - 1)
        plain, right, wrong = (f"x{c}" for c in (letters[n], chr(start + n), chr(start + n + 1)))
        pair(right, wrong, plain, "another form of a letter or a digit", "unicode")
        pair(plain, right, plain, "another form, which is not declared alike")


def _hostile_text(key: Key, task: Row) -> None:
    """What breaks readers of short answers."""
    for parts, why in [
        ([["x", 10_000_000]], "ten million characters"), ([["[", 100_000]], "brackets"),
        ([["\\boxed{", 100_000]], "boxes that never end"), ([["<answer>", 100_000]], "marks"),
        ([["9", 1_000_000]], "a million digits"), ([["\u0301", 100_000]], "accents alone"),
        ([["\ufdfa", 50_000]], "a character that grows eighteenfold"),
        ([["\0", 1000]], "NUL"), ([["\u202e", 100]], "marks of direction"),
        ([["answer is ", 100_000]], "phrases"), ([["\n", 1_000_000]], "empty lines"),
        ([["#### ", 100_000]], "hashes"), ([["```", 100_000]], "fences"),
        ([["**", 400_000]], "stars"), ([["<think>", 100_000]], "thoughts"),
        ([["\\boxed{{", 300], ["}", 300]], "braces that don't match"),
        ([[" ", 900_000], ["x", 1]], "spaces"), ([["or ", 300_000]], "nothing but hedges"),
    ]:  # fmt: skip
        key.hostile(parts, task, why)


def _marks(key: Key, right: str, wrong: str, task: Row) -> None:
    """Where a short answer may stand."""
    how = "generator: every mark with the right and another answer"
    for form in (
        "<answer>%s</answer>", "<answer>\n%s\n</answer> That is all.", "\\boxed{%s}",
        "So $\\boxed{%s}$ it is.", "\\boxed{\\text{%s}}", "I look.\n#### %s", "Answer:\n%s",
        "The answer is **%s**", "I look.\n\n**%s**\n", "<answer>\\boxed{%s}</answer> Done.",
        "<answer>%s</answer>\nSo the answer is {right}".replace("{right}", right),
        "#### Steps\nI look.\nThe answer is %s", "So it is \\boxed{%s",
    ):  # fmt: skip
        key.pair(form % right, form % wrong, task, "a mark", how)
    for form, why in [
        ("<think>I guess\n%s", "a thought that never ends"),
        ("<answer>%s</answer> or another", "an answer that goes on"),
        ("\\boxed{%s} and another", "an answer that goes on"),
        ("The answer is %s\nor another", "an answer that goes on"),
        ("<answer>%s</answer>\nThe answer is another", "two answers that differ"),
        ("\\boxed{%s} \\boxed{another}", "two answers that differ"),
        ("<answer></answer>\n%s", "an empty mark"), ("%s\nanother", "a line before the last"),
    ]:  # fmt: skip
        key.add(form % right, task, NO, why, "known hack")


# ---- choice


def choice(key: Key) -> None:
    """One letter or label, however it is dressed."""
    task: Row
    how = "generator: every form with the right and another letter"
    cities = {"A": "Oslo", "B": "Rome", "C": "Lima", "D": "Bonn"}
    forms = [
        "%(l)s", "(%(l)s)", "%(l)s.", "%(l)s)", "**%(l)s**", "<answer>%(l)s</answer>",
        "\\boxed{%(l)s}", "\\boxed{\\text{%(l)s}}", "The answer is %(l)s.", "Answer: (%(l)s)",
        "%(l)s. %(t)s", "**%(l)s) %(t)s**", "The answer is **%(l)s: %(t)s**", "%(t)s",
        "I weigh A against C.\n\nAnswer: %(l)s", "<think>A? C? D?</think>%(l)s",
        "The correct answer is (%(l)s) %(t)s.", "<answer>%(t)s</answer>", "#### %(l)s",
        "The answer is %(l)s, because it was said so.", "[%(l)s]", "Option %(l)s",
        "The answer is **(%(l)s) %(t)s**.", "The answer is **%(l)s**, for it was said so.",
    ]  # fmt: skip
    for number, form in enumerate(forms):
        right = "ABCD"[number % 4]
        wrong = "ABCD"[(number + 1) % 4]
        task = {"answer": right, "choices": cities}
        yes, no = (form % {"l": letter, "t": cities[letter]} for letter in (right, wrong))
        key.pair(yes, no, task, "a form of the answer", how)
    task = {"answer": "B", "choices": cities}
    for text, why in [
        ("A or B", "a hedge"), ("A, B", "two answers"), ("B and C", "two answers"),
        ("A B C D", "all of them"), ("either B or C", "a hedge"), ("not B", "a denial"),
        ("The answer is not B", "a denial"), ("B?", "a question"), ("B/C", "two answers"),
        ("<answer>B</answer> or <answer>C</answer>", "two marks"),
        ("\\boxed{B} or maybe C", "a hedge behind the mark"),
        ("\\boxed{B}\nThe answer is C.", "a mark and a phrase that differ"),
        ("The answer is B.\nNo, the answer is C.", "two phrases"),
        ("B. Lima", "a letter and another's text"), ("\u0412", "a letter that looks alike"),
        ("\uff22", "a wide letter"), ("\U0001d401", "a mathematical letter"),
        ("\u0392", "a Greek letter"), ("8", "a digit that looks alike"), ("BB", "twice"),
        ("b or c", "a hedge in small letters"), ("all of the above", "all of them"),
        ("none of them", "none"), ("", "nothing"), ("E", "no such choice"),
        ("2", "a number for a letter"), ("Rome or Lima", "two texts"),
        ("The answer is B, unless it is C", "a condition"), ("B\u200b", "a mark that can't be seen"),
        ("Bonn is B", "a sentence"), ("Probably B", "a guess"), ("B (or C)", "a hedge"),
        ("The answer is B. Or C.", "a hedge in another sentence"),
        ("<think>B", "a thought that never ends"), ("A. Rome", "a text and another's letter"),
    ]:  # fmt: skip
        key.add(text, task, NO, why, "known hack")
    for labels, right, wrong in (
        (["yes", "no"], "no", "yes"), (["true", "false"], "true", "false"),
        (["entailment", "neutral", "contradiction"], "neutral", "entailment"),
        (["1", "2", "10"], "1", "10"), (["<", ">"], "<", ">"),
        (["not sure", "sure"], "not sure", "sure"),
    ):  # fmt: skip
        key.pair(f"Answer: {right}", f"Answer: {wrong}", {"answer": right, "choices": labels},
                 "labels that are words", how)  # fmt: skip
    key.pair("b", "c", {"answer": "B"}, "small letters, choices not told", "convention")
    key.pair("Yes", "Y", {"answer": "yes", "choices": ["yes", "no"]}, "capitals", "convention")
    key.broken("B", [
        ({}, "no answer", "no answer"), ({"answer": 2}, "the task's answer", "a number"),
        ({"answer": ["A", "B"]}, "the task's answer", "several letters"),
        ({"answer": "E", "choices": cities}, "the task's answer", "a letter without a choice"),
        ({"answer": "A", "choices": []}, "the task's choices", "no choices"),
        ({"answer": "A", "choices": ["A", "A"]}, "the task's choices", "a label twice"),
        ({"answer": "A", "choices": ["A", "a"]}, "the task's choices", "a label twice"),
        ({"answer": "A", "choices": {"A": "x", "B": "x"}}, "the task's choices", "a text twice"),
        ({"answer": "A", "choices": "AB"}, "the task's choices", "text for a list"),
        ({"answer": "Paris"}, "the task's answer", "a word, and choices are not told"),
    ])  # fmt: skip
    _hostile_text(key, task)
    for text, why in [
        ("B, if it rains", "a condition"), ("B. It is in A", "a remark with another letter"),
        ("B, as Lima is no city of Italy", "a remark with another text"), ("(B Rome", "a bracket"),
        ("(A) is wrong", "a denial of another"), ("B C", "two letters"), ("Banana", "a word"),
    ]:  # fmt: skip
        key.add(text, task, NO, why, "known hack")
    for text in ("B. A simple reason is that I know it", "B - Rome", "(B)Rome", "**B**."):
        key.add(text, task, YES, "a remark that names no other", "convention")
    words = {"answer": "sure", "choices": ["not sure", "sure", "unsure"]}
    key.pair("sure, I know it", "sure, nearly unsure", words, "labels that are words", how)
    small = {"answer": "b", "choices": ["a", "b", "c"]}
    key.pair("b. It is a city", "b, see c", small, "labels in small letters", how)
    _typed(key)


def _typed(key: Key) -> None:
    """Choices in the types of LaTeX; words of one letter; what takes a choice back."""
    how = "generator: every form with the right and another letter"
    values = {"A": "40", "B": "42", "C": "\\frac{1}{2}", "D": "x = 10", "E": "10"}
    forms = (
        "\\boxed{\\textbf{(%(l)s) } %(t)s}", "\\boxed{\\text{(%(l)s)}\\ %(t)s}", "(%(l)s) $%(t)s$",
        "\\boxed{\\textbf{%(l)s}}", "**%(l)s.** $%(t)s$", "\\boxed{\\mathrm{(%(l)s)}~%(t)s}",
    )  # fmt: skip
    for form, right in product(forms, "BCD"):
        yes, no = (form % {"l": letter, "t": values[letter]} for letter in (right, "A"))
        key.pair(yes, no, {"answer": right, "choices": values}, "a choice as LaTeX types it", how)
        mixed = form.replace("%(t)s", values["A"])
        if mixed != form:
            key.add(
                mixed % {"l": right},
                {"answer": right, "choices": values},
                NO,
                "another's value",
                how,
            )
    nouns = {"A": "a cat", "B": "a dog", "C": "no animal"}
    for text in (
        "The answer is a city", "a big dog", "a prime number", "The answer is a bit unclear.", "i think so",
        "A is wrong", "A is incorrect.", "A isn't right", "A was clearly wrong", "A. This is false",
    ):  # fmt: skip
        key.add(
            text, {"answer": "A", "choices": nouns}, NO, "an article, or a denial", "known hack"
        )
    for text in ("a", "a because I know it", "A is right", "a cat", "A. a cat"):
        key.add(
            text, {"answer": "A", "choices": nouns}, YES, "a label and no article", "convention"
        )
    numbers = {"answer": "1", "choices": ["1", "2", "10"]}
    for text in ("1.5", "1,000", "1:30", "1/2"):
        key.add(text, numbers, NO, "a label that begins another number", "known hack")
    for text in ("1.", "1, as I know", "1: it is so"):
        key.add(text, numbers, YES, "a label that is a number", "convention")


# ---- f1


def _tokens(text: str) -> list[str]:
    """Tokens of a text without capitals, punctuation or articles: written as SQuAD defines them."""
    plain = "".join(c for c in text.lower() if c not in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    return [word for word in plain.split() if word not in {"a", "an", "the"}]


def _overlap(said: str, answer: str) -> Fraction:
    left, right = _tokens(said), _tokens(answer)
    if not left or not right:
        return Fraction(left == right)
    same = sum((Counter(left) & Counter(right)).values())
    return Fraction(2 * same, len(left) + len(right))


def f1(key: Key) -> None:
    """Scores in closed form, and the threshold."""
    rng = random.Random(20)  # noqa: S311
    words = [
        "north",
        "river",
        "stone",
        "seven",
        "glass",
        "winter",
        "harbour",
        "clock",
        "copper",
        "meadow",
    ]
    how = "generator: 2·same / (said + wanted), exactly"
    for number in range(34):
        want = rng.sample(words, rng.randint(2, 5))
        keep = rng.randint(max(1, len(want) - 1), len(want)) if number % 2 == 0 else 1
        others = [w for w in words if w not in want]
        extra = rng.sample(others, rng.randint(0, 1) if number % 2 == 0 else rng.randint(1, 4))
        said = " ".join(want[:keep] + extra)
        score = _overlap(said, " ".join(want))
        outcome = YES if score >= Fraction(3, 5) else NO
        near = [float(score) - 1e-9, float(score) + 1e-9]
        key.add(said, {"answer": " ".join(want)}, outcome, "words in common", how, score=near)
    for text, answer, why in [
        ("The Beatles", "Beatles", "articles"), ("U.S.", "US", "punctuation"),
        ("PARIS!", "paris", "capitals"), ("<answer>the blue whale</answer>", "Blue whale", "a mark"),
        ("I think aloud.\nThe answer is: seven seas", "seven seas", "a phrase"),
        ("**Marie Curie**", "Marie Curie", "bold type"), ("new  york\tcity", "New York City", "space"),
        ("<think>rome</think>\nOslo", "Oslo", "thought"), ("well-known", "wellknown", "hyphens go"),
    ]:  # fmt: skip
        key.add(text, {"answer": answer}, YES, why, "convention", score=[1.0, 1.0])
    key.add("Oslo", {"answer": ["Rome", "Oslo city", "Oslo"]}, YES, "the best of several answers",
            how, score=[1.0, 1.0])  # fmt: skip
    key.add("blue blue blue whale", {"answer": "blue whale"}, YES, "words repeated", how,
            score=[0.66, 0.67])  # fmt: skip
    for text, answer, why in [
        ("blue blue blue blue", "blue whale", "one word repeated"),
        ("paris london rome berlin", "paris", "a list of everything"),
        ("whale", "blue whale shark", "a third of the words"),
        ("p\u0430ris", "paris", "a letter that looks alike"),
        ("", "paris", "nothing"), ("the", "paris", "an article alone"), ("...", "paris", "points"),
        ("<answer>paris</answer> or <answer>rome</answer>", "paris", "a hedge"),
        ("<think>paris", "paris", "a thought that never ends"), ("pari", "paris", "a letter less"),
        ("\\boxed{paris}\nThe answer is rome", "paris", "two answers that differ"),
    ]:  # fmt: skip
        key.add(text, {"answer": answer}, NO, why, "known hack")
    key.broken("paris", [
        ({}, "no answer", "no answer"), ({"answer": None}, "no answer", "nothing"),
        ({"answer": []}, "the task's answer", "no right answers"),
        ({"answer": 3}, "the task's answer", "a number"),
        ({"answer": "the"}, "the task's answer", "nothing is left of it"),
        ({"answer": ["paris", "!"]}, "the task's answer", "nothing is left of one"),
    ])  # fmt: skip
    _hostile_text(key, {"answer": "blue whale"})
    _marks(key, "blue whale", "red fox", {"answer": "blue whale"})


# ---- numeric


def numeric(key: Key) -> None:
    """Exact decimals, tolerances on their edge, units, and what is no number."""
    task: Row
    rng = random.Random(14)  # noqa: S311
    frames = cycle((
        "%s", "<answer>%s</answer>", "\\boxed{%s}", "I add both.\n#### %s", "The answer is %s.",
        "Step 1: 17 + 4\n\n**%s**", "$%s$", "Answer: %s",
    ))  # fmt: skip
    how = "generator: fractions"
    for _ in range(8):
        value = Fraction(rng.randint(-(10**9), 10**9), 10 ** rng.randint(0, 6))
        text = _decimal(value)
        task = {"answer": text}
        wrong = text[:-1] + str((int(text[-1]) + 1) % 10)
        key.pair(next(frames) % text, next(frames) % wrong, task, "a decimal, exactly", how)
    for n in (1234, 98765432, 5000000):
        key.pair(f"{n:,}", f"{n:,}"[:-1] + "9", {"answer": n}, "thousands", how)
    for answer, edge, beyond in (
        ("1.0", "1.1", "1.1000000000000000001"), ("0.3", "0.4", "0.4000001"),
        ("100", "99.9", "99.89999999999999999"), ("-2", "-2.1", "-2.11"),
    ):  # fmt: skip
        task = {"answer": answer, "tolerance": 0.1}
        key.pair(edge, beyond, task, "the edge of a tolerance, exactly", how)
    for answer, edge, beyond in (
        ("200", "202", "202.0000001"), ("-50", "-49.5", "-49.4999"), ("1e30", "1.01e30", "1.02e30"),
        ("1e-30", "9.9e-31", "9.8e-31"), ("3", "2.97", "2.96"),
    ):  # fmt: skip
        task = {"answer": answer, "relative": 0.01}
        key.pair(edge, beyond, task, "the edge of a share, exactly", how)
    key.pair("0", "1e-300", {"answer": 0, "relative": 0.5}, "a share of nothing is nothing", how)
    key.pair("2", "3.0001", {"answer": 1, "tolerance": 1, "relative": 2}, "both tolerances", how)
    exact: list[tuple[str, str, Any, str]] = [
        ("0.1", "0.1000000000000000055", "0.1", "a double is not the decimal"),
        ("0.30", "0.30000000000000004", "0.3", "zeros behind"), ("1e3", "1e4", "1000", "powers"),
        ("6.02e23", "6.02e22", "602000000000000000000000", "large powers"),
        ("1e400", "1e399", "1e400", "beyond doubles"), ("-0", "-1", "0", "minus nothing"),
        ("9007199254740993", "9007199254740992", "9007199254740993", "beyond doubles' integers"),
        ("\u22125", "5", "-5", "a minus sign"), ("+5", "-5", 5, "a plus sign"), (".5", ".05", 0.5, "no zero"),
        ("5.", "6.", 5, "a point"), ("1.5 \\times 10^{3}", "1.5 \\times 10^{2}", 1500, "powers in LaTeX"),
        ("2.50", "2.5 0", 2.5, "a space"), ("0.1", "0.2", 0.1, "a number in the task"),
    ]  # fmt: skip
    for said, wrong, answer, why in exact:
        key.pair(next(frames) % said, next(frames) % wrong, {"answer": answer}, why, how)
    for said, wrong, task, why in [
        ("5 km", "5", {"answer": 5, "unit": "km"}, "a unit that is asked for"),
        ("5 km", "5 m", {"answer": 5, "unit": "km"}, "another unit"),
        ("5km", "6km", {"answer": 5, "unit": ["km", "kilometres"]}, "a unit without a space"),
        ("12%", "12", {"answer": 12, "unit": "%"}, "percent that is asked for"),
        ("$12", "12", {"answer": 12, "unit": "$"}, "a currency in front"),
        ("20 \u00b5m", "20 mm", {"answer": 20, "unit": "\u03bcm"}, "two ways to write micro"),
        ("3.5 m/s", "3.5 m/h", {"answer": 3.5, "unit": "m/s"}, "a compound unit"),
    ]:  # fmt: skip
        key.pair(said, wrong, task, why, "convention")
    for text, why in [
        ("5 km", "a unit that is not asked for"), ("50%", "percent that is not asked for"),
        ("$5", "a currency that is not asked for"), ("NaN", "no number"), ("inf", "infinity"),
        ("-inf", "infinity"), ("1e400", "beyond doubles"), ("5 or 6", "a hedge"),
        ("about 5", "a hedge"), ("~5", "a hedge"), ("5 \u00b1 1", "a range"), ("4-6", "a range"),
        ("5, 6", "two numbers"), ("not 5", "a denial"), ("five", "a word"), ("5!", "a factorial"),
        ("10/2", "a fraction that is not worked out"), ("5_0", "an underscore"), ("0x5", "base 16"),
        ("\u0665", "digits of another script"), ("\uff15", "a wide digit"), ("\u2075", "a small digit"),
        ("5,0", "a decimal comma"), ("5\u200b", "a mark that can't be seen"), ("", "nothing"),
        ("5 5", "twice"), ("5?", "a question"), ("x = 5", "an equation"), ("True", "a truth value"),
        ("<answer>5</answer> or <answer>6</answer>", "two marks"), ("\\boxed{5}, or 6", "a hedge"),
        ("\\boxed{5} million", "a numeral behind the mark"), ("$\\boxed{5}$ %", "percent behind it"),
        ("<answer>5</answer> percent", "percent behind it"), ("\\(\\boxed{5}\\) dozen", "a numeral"),
        ("\\boxed{5}\nThe answer is 6", "two answers that differ"), ("<think>5", "never ends"),
        ("I get 5 here", "a sentence"), ("4\n6", "other numbers"), ("--5", "two signs"),
        ("5e", "half a power"), ("1,2345", "thousands in the wrong place"), ("5e0.5", "a power"),
    ]:  # fmt: skip
        key.add(text, {"answer": 5}, NO, why, "known hack")
    key.add("\\boxed{5}\nThe answer is 5.0", {"answer": 5}, YES, "the same number twice", how)
    _as_latex(key)
    key.broken("5", [
        ({}, "no answer", "no answer"), ({"answer": None}, "no answer", "nothing"),
        ({"answer": True}, "the task's answer", "a truth value"),
        ({"answer": "five"}, "the task's answer", "a word"),
        ({"answer": "NaN"}, "the task's answer", "no number"),
        ({"answer": [5]}, "the task's answer", "a list"),
        ({"answer": 5, "tolerance": -1}, "the task's tolerance", "a tolerance below zero"),
        ({"answer": 5, "tolerance": "x"}, "the task's tolerance", "a tolerance that is a word"),
        ({"answer": 5, "relative": True}, "the task's relative", "a truth value"),
        ({"answer": 5, "unit": ""}, "the task's unit", "a unit without a name"),
        ({"answer": 5, "unit": []}, "the task's unit", "no unit"),
        ({"answer": "1e999999"}, "the task's answer", "beyond bounds"),
    ])  # fmt: skip
    _hostile_text(key, {"answer": 5, "tolerance": 0.5})
    for parts, why in [
        ([["1e999999999", 1]], "an exponent without end"), ([["1e-999999999", 1]], "the same, down"),
        ([["0.", 1], ["0", 1_000_000], ["1", 1]], "a fraction of a million digits"),
        ([["9^9^9^9", 1]], "a tower of powers"), ([["-", 100_000]], "signs"),
        ([["1,", 100_000]], "commas"), ([["1.", 100_000]], "points"), ([["1e", 100_000]], "powers"),
        ([["__import__('os')._exit(1)", 1]], "code"),
    ]:  # fmt: skip
        key.hostile(parts, {"answer": 5, "tolerance": 0.5}, why)
    _marks(key, "-1,234.5", "-1,234.6", {"answer": "-1234.5"})
    for digits, outcome in ((998, YES), (1001, NO)):
        key.add("9" * digits, {"answer": "9" * 998}, outcome, "a number near the bound", how)
    _around_boxes(key)
    _in_formulas(key)


def _as_latex(key: Key) -> None:
    why, how = "a number as LaTeX writes it", "generator: fractions"
    for said in ("\\boxed{%s{,}200}", "$%s\\,200$", "\\boxed{%s.2 \\cdot 10^{3}}"):
        key.pair(said % 4, said % 5, {"answer": 4200}, why, how)


def _in_formulas(key: Key) -> None:
    """Numbers and units as LaTeX and typography write them."""
    how, why = "generator: frames of a formula", "a number in a formula or type"
    for n in (7, 12.5, -40):
        for frame in (
            "The answer is $%s$.", "The answer is **%s**.", "\\(%s\\)", "$$%s$$", "\\[%s\\]",
            "The answer is \\(%s\\).", "\\boxed{\\,%s}", "<answer>$%s$</answer>",
        ):  # fmt: skip
            key.pair(frame % f"{n:g}", frame % f"{n + 1:g}", {"answer": n}, why, how)
    why = "a power of ten"
    for said, wrong in (
        ("2.5 × 10^3", "2.5 × 10^4"), ("2.5×10³", "2.5×10⁴"), ("2.5 \\times 10^3", "2.5 \\times 10^2"),
        ("2.5 * 10^3", "2.5 * 10^33"),
    ):  # fmt: skip
        key.pair(said, wrong, {"answer": 2500}, why, "generator: fractions")
    key.pair("4 × 10^-3", "4 × 10^3", {"answer": "0.004"}, why, "generator: fractions")
    why = "a unit as LaTeX writes it"
    for n, (unit, said, other) in product((5, 12), (
        ("%", "\\boxed{%d\\%%}", "\\boxed{%d}"),
        ("km", "\\boxed{%d \\text{ km}}", "\\boxed{%d \\text{ m}}"), ("km", "\\boxed{%d\\,\\mathrm{km}}", "\\boxed{%d\\,\\mathrm{mm}}"),
        ("km", "$%d$ km", "$%d$ m"), ("$", "\\boxed{\\$%d}", "\\boxed{%d}"), ("m/s^2", "\\boxed{%d \\text{ m/s}^2}", "\\boxed{%d \\text{ m/s}}"),
        ("°", "\\boxed{%d^\\circ}", "\\boxed{%d}"), ("°C", "\\boxed{%d^{\\circ}\\text{C}}", "\\boxed{%d^{\\circ}\\text{F}}"),
    )):  # fmt: skip
        key.pair(said % n, other % n, {"answer": n, "unit": unit}, why, "generator: units")
    for text in (
        "\\boxed{5} × 10^3", "<answer>5</answer> \\times 10", "\\boxed{5} ± 1", "\\boxed{5\\ 000}", "{5}5",
        "5\\text{ km}", "5\\%", "\\$5", "5^\\circ", "\\boxed{5} \\pm 0.1",
    ):  # fmt: skip
        key.add(text, {"answer": 5}, NO, "a number that is changed, or has a unit", "known hack")
    key.add("5³ km", {"answer": 53, "unit": "km"}, NO, "a power is no digit", "known hack")


def _around_boxes(key: Key) -> None:
    """A sign before a box belongs to the number, and so does all that makes it another one."""
    how = "generator: signs and factors around a box"
    for value in (5, -12, Fraction(3, 4)):
        text = _decimal(abs(Fraction(value)))
        for sign, formula in (
            ("-", "$-\\boxed{%s}$"), ("", "$x = \\boxed{%s}$"), ("-", "so \\(x=-\\boxed{%s}\\)"),
            ("-", "-\\boxed{%s}"), ("", "$$+\\boxed{%s}$$"),
        ):  # fmt: skip
            other = "" if sign else "-"
            key.add(formula % text, {"answer": sign + text}, YES, "a sign before a box", how)
            key.add(formula % text, {"answer": other + text}, NO, "a sign before a box", how)
        for formula in (
            "$2\\boxed{%s}$", "$\\boxed{%s}^2$", "$\\boxed{%s}\\%%$", "$\\boxed{%s} + 1$",
            "$\\boxed{%s}\\text{ km}$", "10\\boxed{%s}",
        ):  # fmt: skip
            key.add(formula % text, {"answer": text}, NO, "more than the box", how)


def _decimal(value: Fraction) -> str:
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    whole = abs(int(value * 10**digits))
    text = str(whole).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{text[:-digits]}.{text[-digits:]}" if digits else text)


if __name__ == "__main__":
    write(
        {"exact-match": exact_match, "choice": choice, "f1": f1, "numeric": numeric}, sys.argv[1:]
    )
