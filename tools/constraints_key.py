r"""Make the answer key of `instruction-constraints`.

Run: `python tools/constraints_key.py`; it writes the same bytes each time. Rules are of the kind
that IFEval and IFBench ask for, with texts and numbers of our own.
"""
# ruff: noqa: E501  # Tables of cases are read by row.

from __future__ import annotations

import sys
from typing import Any

from keywriter import NO, YES, Key, Row, write

KIND = "rules of the IFEval kind, texts of our own"
_ENGLISH = (
    "The river was calm this morning, and nobody on the bridge had noticed the small boat yet."
)
_GERMAN = (
    "Der Fluss war heute Morgen ruhig, und niemand auf der Brücke hatte das kleine Boot bemerkt."
)
_FRENCH = (
    "La rivière était calme ce matin, et personne sur le pont n'avait encore vu le petit bateau."
)
_PAIRS: list[tuple[Row, str, str, str]] = [
    ({"rule": "words", "least": 4}, "one two three four", "one two three", "fewest words"),
    ({"rule": "words", "most": 3}, "one two three", "one two three four", "most words"),
    ({"rule": "words", "least": 2, "most": 2}, "well-known don't", "well known don't", "hyphens and apostrophes join"),
    ({"rule": "words", "least": 3}, "a b c", "a b\n```\nc d e\n```", "code is no prose"),
    ({"rule": "words", "most": 3}, "a b c", "a b\n```\nc d e\n```", "code counts against the most"),
    ({"rule": "words", "least": 2}, "a b", "a <!-- b c -->", "a remark that nobody sees"),
    ({"rule": "words", "least": 2}, "a b", "a\u200bb", "a mark that can't be seen parts no words"),
    ({"rule": "sentences", "least": 2}, "It rains. We stay.", "It rains, we stay.", "sentences"),
    ({"rule": "sentences", "most": 2}, "It rains. We stay!", "It rains. We stay! So?", "most sentences"),
    ({"rule": "sentences", "least": 1, "most": 1}, "It took 3.5 hours.", "It took 3. 5 Hours.", "a point in a number"),
    ({"rule": "sentence-words", "most": 3}, "It rains now. We stay.", "It rains now again. We stay.", "words a sentence"),
    ({"rule": "paragraphs", "least": 2, "most": 2}, "one\n\ntwo", "one\ntwo", "paragraphs"),
    ({"rule": "paragraphs", "most": 2}, "one\n\n\n\ntwo", "one\n\ntwo\n\nthree", "empty lines are no paragraphs"),
    ({"rule": "lines", "least": 2, "most": 2}, "a\n\nb", "a\nb\nc", "lines that hold anything"),
    ({"rule": "characters", "most": 5}, "n\u0303o e\u0301", "no es\u0301t", "accents are part of their letter"),
    ({"rule": "characters", "least": 3}, "abc", "a\U0001f469\u200d\U0001f469\u200d\U0001f467", "a family is one character"),
    ({"rule": "keywords", "words": ["river", "boat"]}, "The boat is on the river.", "The boats are on the river.", "all keywords"),
    ({"rule": "keywords", "words": ["river"]}, "RIVER!", "r\u0456ver!", "a letter of another alphabet"),
    ({"rule": "keywords", "words": ["river"]}, "a river", "a lake\n```\nriver\n```", "a keyword that is hidden in code"),
    ({"rule": "keywords", "words": ["new york"]}, "In New  York.", "New lights of York.", "a keyword of two words"),
    ({"rule": "keyword-frequency", "word": "red", "least": 2}, "red and Red", "red and reddish", "how often"),
    ({"rule": "keyword-frequency", "word": "red", "most": 1}, "red reddish", "red red", "not too often"),
    ({"rule": "keyword-frequency", "word": "red", "most": 1}, "red", "red\n```\nred\n```", "code counts against the most"),
    ({"rule": "forbidden-words", "words": ["bad"]}, "badly told", "a bad one", "forbidden words"),
    ({"rule": "forbidden-words", "words": ["bad"]}, "a good one", "a b\u0430d one", "a forbidden word in another alphabet"),
    ({"rule": "forbidden-words", "words": ["bad"]}, "a good one", "a b\u200bad one", "a forbidden word with a hidden mark"),
    ({"rule": "forbidden-words", "words": ["bad"]}, "a good one", "fine\n```\nbad\n```", "a forbidden word in code"),
    ({"rule": "forbidden-words", "words": ["bad"]}, "a good one", "a \uff42\uff41\uff44 one", "a forbidden word in wide letters"),
    ({"rule": "letter-frequency", "letter": "e", "least": 3}, "Even here", "Ever", "a letter, in capitals too"),
    ({"rule": "letter-frequency", "letter": "e", "most": 1}, "a pen", "a hen sees", "a letter, not too often"),
    ({"rule": "letter-frequency", "letter": "e", "least": 2}, "see", "s\u0435e", "a letter that looks alike"),
    ({"rule": "sign-frequency", "sign": "!", "least": 2}, "Oh! Yes!", "Oh! Yes.", "a sign"),
    ({"rule": "without", "signs": ","}, "no comma here.", "no, comma.", "a sign that is forbidden"),
    ({"rule": "without", "signs": ","}, "no comma", "no\uff0c comma", "the wide form of a sign"),
    ({"rule": "numbers", "least": 2}, "3 of 4.5", "three of 4.5", "numbers in digits"),
    ({"rule": "language", "language": "en"}, _ENGLISH, _GERMAN, "English"),
    ({"rule": "language", "language": "de"}, _GERMAN, _FRENCH, "German"),
    ({"rule": "language", "language": "fr"}, _FRENCH, _ENGLISH, "French"),
    ({"rule": "language", "language": "en"}, f"{_ENGLISH}\n\n{_ENGLISH}", f"{_ENGLISH} {_ENGLISH}\n\n{_GERMAN} {_GERMAN}", "a paragraph in another language"),
    ({"rule": "upper-case"}, "ALL OF IT, 3 TIMES", "ALL OF It", "capitals"),
    ({"rule": "upper-case"}, "YES", "YES\n```\nno\n```", "capitals in code, too"),
    ({"rule": "lower-case"}, "all of it", "all of It", "small letters"),
    ({"rule": "capital-words", "least": 2}, "NASA and ESA flew", "NASA and Esa flew", "words in capitals"),
    ({"rule": "capital-words", "most": 1}, "only NASA flew", "ESA and NASA flew", "not too many words in capitals"),
    ({"rule": "title"}, "<<The River>>\nIt is calm.", "<The River>\nIt is calm.", "a title"),
    ({"rule": "title"}, "<<a>> b", "<< >> b", "an empty title"),
    ({"rule": "placeholders", "least": 2}, "Dear [name], from [sender]", "Dear [name], from []", "placeholders"),
    ({"rule": "bullets", "least": 2, "most": 2}, "* a\n* b", "* a\nb", "bullets"),
    ({"rule": "bullets", "least": 2, "most": 2}, "- a\n- b", "- a\n- b\n- c", "exactly so many bullets"),
    ({"rule": "bullets", "least": 1}, "- a", "```\n- a\n```", "bullets in code are none"),
    ({"rule": "numbered", "least": 2}, "1. a\n2. b", "1. a\n3. b", "numbers in order"),
    ({"rule": "headings", "least": 1}, "# One\ntext", "#One\ntext", "headings"),
    ({"rule": "headings", "least": 2, "most": 2}, "# One\n## Two", "# One\n## Two\n### Three", "exactly so many headings"),
    ({"rule": "highlights", "least": 2}, "*one* and **two**", "*one* and ** **", "highlighted parts"),
    ({"rule": "sections", "marker": "Part", "least": 2, "most": 2}, "Part 1\na\nPart 2\nb", "Part 1\na\nPart one\nb", "sections"),
    ({"rule": "table", "rows": 2}, "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", "| a | b |\n|---|---|\n| 1 | 2 |", "a table of Markdown"),
    ({"rule": "code", "language": "python"}, "```python\nx = 1\n```", "```\nx = 1\n```", "a block of code"),
    ({"rule": "json"}, '{"a": [1]}', '{"a": [1],}', "JSON"),
    ({"rule": "json"}, "```json\n[]\n```", "Here: []", "JSON and nothing else"),
    ({"rule": "json"}, '{"a": 1}', '{"a": NaN}', "JSON has no NaN"),
    ({"rule": "starts-with", "phrase": "My answer"}, "My answer is yes.", "Well, my answer is yes.", "the first words"),
    ({"rule": "ends-with", "phrase": "Any questions?"}, "Yes. Any questions?\n", "Any questions? Yes.", "the last words"),
    ({"rule": "ends-with", "phrase": "the end"}, "It was THE END", "It was the end of it", "the last words, in capitals"),
    ({"rule": "quoted"}, '"all of it"', '"all" of it', "quotation marks around all"),
    ({"rule": "quoted"}, '"a"', '"', "one mark is not two"),
    ({"rule": "repeat-prompt", "prompt": "Name a river."}, "Name a river.\nThe Elbe.", "Name a river!\nThe Elbe.", "the request repeated"),
    ({"rule": "repeat-prompt", "prompt": "Name a river."}, "Name a river. Elbe", "Name a river.", "an answer behind it"),
    ({"rule": "two-responses"}, "One.\n******\nTwo.", "One.\n******\nOne.", "two that differ"),
    ({"rule": "two-responses"}, "a\n******\nb", "a\n******\nb\n******\nc", "two and not three"),
    ({"rule": "postscript", "marker": "P.S."}, "Yes.\n\nP.S. Write soon.", "P.S. Write soon.\n\nYes.", "a postscript is last"),
    ({"rule": "postscript", "marker": "P.S."}, "Yes.\n\nP.S. Go", "Yes.\n\nP.S.", "an empty postscript"),
    ({"rule": "one-of", "options": ["Yes.", "No.", "Maybe."]}, "No.", "No. Maybe.", "one of some answers"),
    ({"rule": "paragraph-start", "paragraph": 2, "word": "Still"}, "One.\n\nStill, two.", "Still, one.\n\nTwo.", "the first word of a paragraph"),
    ({"rule": "distinct-words", "share": 0.75}, "a b c d d", "a a b c c d", "words that are not repeated"),
    ({"rule": "sentence-starts"}, "It rains. We stay.", "It rains. It snows.", "sentences begin with other words"),
]  # fmt: skip


def constraints(key: Key) -> None:
    """Every rule, several at once, and what hides from a rule."""
    for rule, right, wrong, why in _PAIRS:
        key.pair(right, wrong, {"constraints": [rule]}, why, KIND)
    many: list[Any] = [
        {"rule": "words", "least": 5, "most": 12},
        {"rule": "lower-case"},
        {"rule": "without", "signs": ","},
        {"rule": "keywords", "words": ["river", "boat"]},
    ]
    for text, outcome, score, why in [
        ("a small boat on the old river", YES, 1.0, "all of several"),
        ("a small boat on the old lake", NO, 0.75, "three of four"),
        ("A small boat, on the old lake", NO, 0.25, "one of four"),
        ("Boat, river", NO, 0.25, "keywords alone"),
    ]:
        key.add(text, {"constraints": many}, outcome, why, "generator: shares in closed form",
                score=[score - 1e-9, score + 1e-9])  # fmt: skip
    key.add("<think>Too long, I say, by far.</think>a small boat on the old river",
            {"constraints": many}, YES, "thought does not count", "convention")  # fmt: skip
    key.add("<think>a small boat on the old river", {"constraints": many}, NO,
            "thought that never ends", "convention")  # fmt: skip
    key.add(
        "", {"constraints": [{"rule": "words", "most": 9}]}, NO, "nothing at all", "convention"
    )
    for count in (17, 40, 99):
        task = {"constraints": [{"rule": "words", "least": count, "most": count}]}
        text = " ".join(["word"] * count)
        key.pair(text, f"{text} word", task, "so many words", "generator: counted when made")
        task = {"constraints": [{"rule": "characters", "least": count, "most": count}]}
        key.pair("e\u0301" * count, "e\u0301" * (count - 1), task, "so many characters",
                 "generator: counted when made")  # fmt: skip
        task = {"constraints": [{"rule": "letter-frequency", "letter": "q", "least": count}]}
        key.pair("q" * count, "q" * (count - 1), task, "so many letters",
                 "generator: counted when made")  # fmt: skip
    wrong = "the task's constraints"
    key.broken("a", [
        ({}, "no constraints", "no constraints"), ({"constraints": []}, wrong, "an empty list"),
        ({"constraints": "words"}, wrong, "a word"),
        ({"constraints": [{"rule": "rhymes"}]}, wrong, "an unknown rule"),
        ({"constraints": [{"rule": "words"}]}, wrong, "no number"),
        ({"constraints": [{"rule": "words", "least": 3, "most": 2}]}, wrong, "no number fits"),
        ({"constraints": [{"rule": "words", "least": "3"}]}, wrong, "text for a number"),
        ({"constraints": [{"rule": "words", "least": 3, "max": 4}]}, wrong, "an unknown parameter"),
        ({"constraints": [{"rule": "language", "language": "xx"}]}, wrong, "an unknown language"),
        ({"constraints": [{"rule": "keywords", "words": []}]}, wrong, "no keyword"),
        ({"constraints": [{"rule": "keywords", "words": [" "]}]}, wrong, "an empty keyword"),
        ({"constraints": [{"rule": "letter-frequency", "letter": "ab", "least": 1}]}, wrong, "two letters"),
    ])  # fmt: skip
    every = [rule for rule, _, _, _ in _PAIRS if rule["rule"] not in {"without", "upper-case"}]
    for parts, why in [
        ([["x", 10_000_000]], "ten million characters"), ([["x", 900_000]], "a word without end"),
        ([["[", 100_000]], "brackets"), ([["*", 400_000]], "stars"), ([["#", 400_000]], "hashes"),
        ([["```\n", 100_000]], "fences"), ([["<!--", 100_000]], "remarks that never end"),
        ([["\n", 500_000], ["a", 1]], "empty lines"), ([["\u0301", 200_000]], "accents alone"),
        ([["\u200d\U0001f469", 100_000]], "one character without end"), ([["\0", 1000]], "NUL"),
        ([["\u202e", 1000]], "marks of direction"), ([[". ", 300_000]], "points"),
        ([["a. ", 200_000]], "sentences"), ([["- ", 200_000]], "bullets"), ([["<<", 200_000]], "titles"),
        ([["| ", 200_000]], "tables"), ([["******", 100_000]], "separators"), ([['"', 500_000]], "quotes"),
        ([["9" , 900_000]], "digits"), ([["'", 400_000]], "apostrophes"), ([["a-", 300_000]], "hyphens"),
    ]:  # fmt: skip
        key.hostile(parts, {"constraints": every}, why)
    for parts, why in [  # Within the bound of characters.
        ([["[a", 60_000]], "brackets around nothing"),
        ([["[", 1], ["a", 190_000]], "a bracket that never ends"),
        ([["<<", 1], ["a", 190_000]], "a title that never ends"),
        ([["-", 190_000]], "dashes"),
        ([["|-", 90_000], ["x", 1]], "a table's line without end"),
        ([["*a", 90_000]], "stars around nothing"),
        ([["a. ", 60_000]], "sentences"),
        ([["1. a\n", 35_000]], "numbers"),
        ([["\ufdfa", 190_000]], "a character that grows eighteenfold"),
        ([[" ", 190_000], ["a", 1]], "spaces"),
        ([['."', 90_000]], "quotes behind points"),
        ([["`", 190_000]], "fences in a line"),
        ([["```a\n", 30_000]], "fences"),
        ([["a'", 90_000]], "apostrophes"),
        ([["A. B\n\n", 30_000]], "paragraphs"),
        ([["<!--", 40_000]], "remarks that never end"),
        ([["\u0430", 190_000]], "letters that look alike"),
        ([["{", 190_000]], "braces"),
        ([['"', 190_000]], "quotation marks"),
        ([["1,", 90_000]], "commas in numbers"),
    ]:
        key.hostile(parts, {"constraints": every}, why)


if __name__ == "__main__":
    write({"instruction-constraints": constraints}, sys.argv[1:])
