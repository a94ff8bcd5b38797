r"""Make the answer key of `citations`.

Run: `python tools/citations_key.py`; it writes the same bytes each time. The key is frozen: later
cases are added at the end of a maker, none is removed or edited.

Right quotations are cut out of their source here, and wrong ones are one edit away from them.
"""
# ruff: noqa: E501, RUF001  # Tables of cases are read by row; letters that look alike are meant.

from __future__ import annotations

import json
import random
import sys
import unicodedata
from itertools import cycle
from typing import Any

from keywriter import NO, UNKNOWN, YES, Key, write

CUT, BY_HAND, HACK = "generator: cut out of the source", "convention", "known hack"
TRIAL = "https://example.org/trial"
REPORT = "reports/2024-harbour.txt"
NOTE = "note-7"
SOURCES = {
    TRIAL: (
        "Methods. We treated 412 adults for 12 weeks. Results. The drug lowered blood pressure by "
        "7.5 mmHg on average, and it did not raise the risk of stroke. Mild headaches were seen "
        "in 31 patients (7.5%). Three of them left the trial early. We found no difference "
        "between men and women. The effect was larger in patients above 65 years of age. "
        "Funding had no role in the analysis. The sponsor was never shown the raw data."
    ),
    REPORT: (
        "The harbour was dredged to a depth of 14 m in 2019.\nSince then, ships of up to 366 m in "
        "length can enter at low tide.\n\nTraffic grew from 1,204 to 1,530 calls a year; noise "
        "complaints fell. The mayor said: “We expected more protest than we got.” The city’s "
        "council—after a long debate—approved a second quay. It isn’t funded yet. Costs are put "
        "at 48–52 million euros, without the dredging of the northern channel."
    ),
    NOTE: (
        "Der Stra\u00dfenbau beginnt im M\u00e4rz. Die Arbeiten dauern nicht l\u00e4nger als neun "
        "Monate. Le caf\u00e9 du port reste ouvert. \u6e2f\u306f\u4e8c\u5341\u4e8c\u6642\u307e\u3067\u958b\u3044\u3066\u3044\u307e\u3059\u3002"
        "\u5de5\u4e8b\u306f\u4e5d\u6708\u306b\u7d42\u308f\u308b\u4e88\u5b9a\u3067\u3059\u3002"
    ),
}  # fmt: skip
PAIRS: tuple[tuple[str, str, str, str], ...] = (
    (TRIAL, "lowered blood pressure by 7.5 mmHg on average", "lowered blood pressure by 7.6 mmHg on average", "a digit"),
    (TRIAL, "We treated 412 adults for 12 weeks", "We treated 421 adults for 12 weeks", "digits in another order"),
    (TRIAL, "it did not raise the risk of stroke", "it did raise the risk of stroke", "a not left out"),
    (TRIAL, "We found no difference between men and women", "We found a difference between men and women", "a no changed"),
    (TRIAL, "Mild headaches were seen in 31 patients", "Mild headaches were seen in 3 patients", "a digit less"),
    (TRIAL, "Three of them left the trial early", "Two of them left the trial early", "a number in words"),
    (TRIAL, "larger in patients above 65 years of age", "larger in patients below 65 years of age", "the opposite"),
    (TRIAL, "The sponsor was never shown the raw data", "The sponsor was shown the raw data", "a never left out"),
    (TRIAL, "Funding had no role in the analysis", "Funding had no role in this analysis", "a word"),
    (REPORT, "dredged to a depth of 14 m in 2019", "dredged to a depth of 14 m in 2018", "a year"),
    (REPORT, "ships of up to 366 m in length can enter", "ships of up to 366 m in length can't enter", "a not put in"),
    (REPORT, "grew from 1,204 to 1,530 calls a year", "grew from 1,204 to 1530 calls a year", "a comma in a number"),
    (REPORT, "noise complaints fell", "noise complaint fell", "a letter"),
    (REPORT, "approved a second quay", "approved the second quay", "an article"),
    (REPORT, "without the dredging of the northern channel", "with the dredging of the northern channel", "without and with"),
    (NOTE, "Die Arbeiten dauern nicht l\u00e4nger als neun Monate", "Die Arbeiten dauern l\u00e4nger als neun Monate", "a not left out, in German"),
    (NOTE, "Der Stra\u00dfenbau beginnt im M\u00e4rz", "Der Stra\u00dfenbau beginnt im Marz", "an accent"),
    (NOTE, "\u6e2f\u306f\u4e8c\u5341\u4e8c\u6642\u307e\u3067\u958b\u3044\u3066\u3044\u307e\u3059", "\u6e2f\u306f\u4e8c\u5341\u4e09\u6642\u307e\u3067\u958b\u3044\u3066\u3044\u307e\u3059", "a number in Japanese"),
)  # fmt: skip


def numbered(quote: str, source: str) -> str:
    """An answer with a reference list."""
    return f'It is written that "{quote}" [1].\n\nReferences:\n[1] {source}\n'


def linked(quote: str, source: str) -> str:
    """An answer with a link."""
    return f'As they put it, "{quote}" ([source]({source})).'


def listed(quote: str, source: str) -> str:
    """An answer in JSON."""
    made = {"answer": "See below.", "citations": [{"quote": quote, "source": source}]}
    return json.dumps(made, ensure_ascii=False)


FORMS = (numbered, linked, listed)


def task(**more: Any) -> dict[str, Any]:
    """The usual task."""
    return {"sources": SOURCES, **more}


def pairs(key: Key) -> None:
    """Each quotation, and another that is one edit away."""
    frames = cycle(FORMS)
    for source, right, wrong, why in PAIRS:
        if right not in " ".join(SOURCES[source].split()) or wrong in SOURCES[source]:
            raise ValueError(f"{right!r} does not stand in {source}, or {wrong!r} does")
        frame = next(frames)
        key.pair(frame(right, source), frame(wrong, source), task(), why, CUT)


def characters(key: Key) -> None:
    """What does not matter in writing, and what does."""
    for frame, (source, said, verdict, why) in zip(cycle(FORMS), (
        (REPORT, "in 2019. Since then, ships", YES, "a line break of the source"),
        (REPORT, "can enter   at\nlow tide", YES, "white space in the quotation"),
        (REPORT, "\u201cWe expected more protest than we got.\u201d", YES, "quotation marks inside"),
        (REPORT, "The city's council", YES, "a straight apostrophe"),
        (REPORT, "It isn't funded yet", YES, "a straight apostrophe in a not"),
        (REPORT, "It is funded yet", NO, "a short not left out"),
        (REPORT, "put at 48-52 million euros", YES, "a hyphen for a dash between numbers"),
        (REPORT, "put at 4852 million euros", NO, "a dash between numbers left out"),
        (REPORT, "put at 48\u201352\u00a0million euros", YES, "a space that does not break"),
        (NOTE, unicodedata.normalize("NFD", "Le caf\u00e9 du port reste ouvert"), YES, "the same letters, composed otherwise"),
        (NOTE, "Le cafe du port reste ouvert", NO, "an accent left out"),
        (NOTE, "Der Strassenbau beginnt im", NO, "another spelling"),
        (TRIAL, "Mild head\u00adaches were seen", YES, "a soft hyphen"),
        (TRIAL, "Mild head\u200baches were seen", YES, "a space without width changes no word"),
        (TRIAL, "mild headaches were seen in 31", NO, "a capital"),
        (TRIAL, "Mild headaches were seen in 31 patients (7.5%).", YES, "a full stop that stands there"),
        (TRIAL, "Three of them left the trial early,", YES, "a comma that belongs to the sentence around"),
        (TRIAL, "Three of them left the trial early?", NO, "a question made of it"),
        (TRIAL, "d\u00edd not raise the risk of stroke", NO, "an accent put in"),
    ), strict=False):  # fmt: skip
        key.add(frame(said, source), task(), verdict, why, BY_HAND)
    powers = {
        "a": "The area is 10\u00b2 metres, and x \u2260 y holds for all of them.",
        "b": "The of\ufb01ce is below \u22125 degrees in winter.",
    }
    for source, said, verdict, why in (
        ("a", "The area is 10\u00b2 metres", YES, "a power"),
        ("a", "The area is 102 metres", NO, "a power made a digit"),
        ("a", "and x = y holds for all of them", NO, "equal for not equal"),
        ("a", "and x =\u0338 y holds for all", YES, "not equal, composed otherwise"),
        ("b", "The office is below -5 degrees", YES, "a ligature, and a minus"),
        ("b", "The office is below 5 degrees", NO, "a minus left out"),
        ("b", "5 degrees in winter", NO, "cut behind a minus"),
    ):  # fmt: skip
        key.add(numbered(said, source), {"sources": powers}, verdict, why, BY_HAND)


def cuts(key: Key) -> None:
    """Where a quotation may begin and end."""
    figures = {
        "t": "Output grew by 11.5 percent, 0,25 points more than 3.75% of 2,040 firms expected; they were unable to pay interest of 12 % on 45 loans."
    }
    for said, verdict, why in (
        ("Output grew by 11.5 percent", YES, "a number whole"),
        ("Output grew by 11", NO, "cut inside a number, at the point"),
        ("1.5 percent, 0,25 points", NO, "cut inside a number, at its first digit"),
        (".5 percent, 0,25 points", NO, "cut before the point of a number"),
        ("25 points more than 3.75%", NO, "cut behind the comma of a number"),
        ("0,25 points more than 3.75%", YES, "a percent sign at the end"),
        ("0,25 points more than 3.75", NO, "cut before a percent sign"),
        ("040 firms expected; they were", NO, "cut behind a comma of thousands"),
        ("were able to pay interest", NO, "another word"),
        ("able to pay interest of 12 %", NO, "cut inside a word that it turns round"),
        ("unable to pay interest of 12 %", YES, "from the word's beginning"),
        ("they were un", NO, "cut inside a word at the end"),
        ("pay interest of 12 % on 45 loans.", YES, "to the end of the source"),
        ("unable to pay interest of 12", NO, "cut before a percent sign with a space"),
    ):
        key.add(linked(said, "t"), {"sources": figures}, verdict, why, CUT)


def ellipses(key: Key) -> None:
    """Words that are left out."""
    far = {
        "f": f"The bridge was closed to lorries. {'Nothing else happened that day in the old town. ' * 30}Cars may use it as before."
    }
    near = {
        "n": "The bridge was closed to lorries. It had been weak for years. Cars may use it as before."
    }
    gap = {
        "g": "The treatment is not safe for children. The panel, which met twice in spring, voted to go on with it."
    }
    for said, sources, verdict, why in (
        ("The bridge was closed ... Cars may use it as before", near, YES, "three points"),
        ("The bridge was closed \u2026 Cars may use it as before", near, YES, "one character"),
        ("The bridge was closed [...] Cars may use it as before", near, YES, "in brackets"),
        (
            "The bridge was closed (\u2026) It had been weak ... Cars may use it",
            near,
            YES,
            "two of them",
        ),
        ("Cars may use it ... The bridge was closed to lorries", near, NO, "in another order"),
        (
            "The bridge was closed ... Trains may use it as before",
            near,
            NO,
            "the second part is not there",
        ),
        (
            "The bridge was opened ... Cars may use it as before",
            near,
            NO,
            "the first part is not there",
        ),
        (
            "The bridge was closed ... Cars may use it as before",
            far,
            NO,
            "too far from each other",
        ),
        ("The treatment is ... safe for children", gap, NO, "a not is what is left out"),
        ("The treatment is not ... for children", gap, YES, "an adjective is left out"),
        ("The panel ... voted to go on with it", gap, YES, "a clause is left out"),
        ("The panel ... voted to go on without it", gap, NO, "a word after what is left out"),
        ("... The bridge was closed to lorries ...", near, YES, "at both ends"),
        ("The bridge ... The bridge was closed to lorries", near, NO, "the same words twice"),
        ("T... h... e", near, NO, "hardly anything but points"),
    ):
        key.add(listed(said, next(iter(sources))), {"sources": sources}, verdict, why, BY_HAND)


def places(key: Key) -> None:
    """Which source is named, and whether it is one of the task's."""
    quote = "Three of them left the trial early"
    for said, more, verdict, why in (
        (numbered(quote, REPORT), {}, NO, "the words of another source"),
        (numbered(quote, "https://example.org/trials"), {}, NO, "a source one letter away"),
        (numbered(quote, "https://ex\u0430mple.org/trial"), {}, NO, "a source with a letter of another alphabet"),
        (numbered(quote, f"{TRIAL}/"), {}, YES, "a slash at the end of the address"),
        (numbered(quote, f"<{TRIAL}>"), {}, YES, "an address in angle brackets"),
        (numbered(quote, f"Weber et al., A trial, 2021. {TRIAL}"), {}, YES, "a title before the address"),
        (numbered(quote, f"[A trial]({TRIAL})"), {}, YES, "a link in the list"),
        (numbered(quote, "Weber et al., A trial, 2021."), {}, NO, "a title and no source"),
        (numbered(quote, f"{TRIAL} {NOTE}"), {}, NO, "two sources in one entry"),
        (linked(quote, f"{TRIAL}?page=2"), {}, NO, "another page of the address"),
        (listed(quote, "Trial"), {}, NO, "a name that is none"),
        (f'"{quote}" [2].\n\nReferences:\n[1] {TRIAL}\n', {}, NO, "a number that is not in the list"),
        (f'"{quote}" [1].', {}, NO, "no list at all"),
        (f'"{quote}" [1].\n\n[1] {TRIAL}\n[1] {REPORT}\n', {}, NO, "a number twice in the list"),
        (f'"{quote}" [1].\n\n[1]: {TRIAL}', {}, YES, "a list without a heading"),
        (f'"{quote}" [1].\n\n## Sources\n\n[1] {TRIAL}\n\n[2] https://example.org/other\n', {}, NO, "an entry that nobody gave"),
        (f'"{quote}" [1].\n\n## Sources\n\n[1] {TRIAL}\n\n[2] {REPORT}\n', {}, YES, "an entry more, of the task's"),
        (f'"{quote}" [1][2].\n\n[1] {TRIAL}\n[2] {REPORT}\n', {}, NO, "two sources, of which one has it"),
        (f'"{quote}" [1] and "noise complaints fell" [2].\n\n[1] {TRIAL}\n[2] {REPORT}\n', {}, YES, "two quotations"),
        (f'"{quote}" [2] and "noise complaints fell" [1].\n\n[1] {TRIAL}\n[2] {REPORT}\n', {}, NO, "two quotations, exchanged"),
        (f'"{quote}" [1] and "noise complaints rose" [2].\n\n[1] {TRIAL}\n[2] {REPORT}\n', {}, NO, "the second is wrong"),
        (f"\u201c{quote}\u201d [1].\n\n[1] {TRIAL}\n", {}, YES, "curly quotation marks"),
        (f"\u00ab{quote}\u00bb [1].\n\n[1] {TRIAL}\n", {}, YES, "guillemets"),
        (f'["{quote}"]({TRIAL})', {}, YES, "a link around the quotation"),
        (f"[{quote}]({TRIAL})", {}, NO, "a link around words without quotation marks"),
        (f"Three people left the trial [1].\n\n[1] {TRIAL}\n", {}, NO, "a number without a quotation"),
        (f"Three people left the trial ([source]({TRIAL})).", {}, NO, "a link without a quotation"),
        (f"{linked(quote, TRIAL)} See also https://example.org/other.", {}, NO, "a bare address that nobody gave"),
        ("The trial went well.", {}, NO, "no citation"),
        ("The trial went well.", {"required": False}, YES, "no citation, where none is demanded"),
        (numbered("Two of them left the trial early", TRIAL), {"required": False}, NO, "a wrong one, where none is demanded"),
        (numbered("the trial", TRIAL), {}, NO, "too few words to mean anything"),
        (numbered("", TRIAL), {}, NO, "an empty quotation"),
        (f"<think>{numbered(quote, TRIAL)}</think>The trial went well.", {}, NO, "cited in thought only"),
        (f"<think>I think.</think>{numbered(quote, TRIAL)}", {}, YES, "cited after the thought"),
    ):  # fmt: skip
        key.add(said, task(**more), verdict, why, BY_HAND)


def forms(key: Key) -> None:
    """Forms that a task demands, and documents that are none."""
    quote = "Three of them left the trial early"
    for said, form, verdict, why in (
        (numbered(quote, TRIAL), "numbered", YES, "numbered, as demanded"),
        (numbered(quote, TRIAL), "links", NO, "numbered, where links are demanded"),
        (linked(quote, TRIAL), "links", YES, "links, as demanded"),
        (linked(quote, TRIAL), "numbered", NO, "links, where numbers are demanded"),
        (listed(quote, TRIAL), "json", YES, "JSON, as demanded"),
        (numbered(quote, TRIAL), "json", NO, "numbered, where JSON is demanded"),
        (f"Here it is:\n```json\n{listed(quote, TRIAL)}\n```\n", "json", YES, "JSON in a block"),
        (json.dumps([{"quote": quote, "source": TRIAL}]), "json", YES, "a list of citations"),
        (json.dumps([{"quote": quote}]), "json", NO, "a citation without a source"),
        (json.dumps([{"source": TRIAL}]), "json", NO, "a citation without a quotation"),
        (json.dumps([{"quote": [quote], "source": TRIAL}]), "json", NO, "a quotation that is no text"),
        (json.dumps({"citations": []}), "json", NO, "no citation in JSON"),
        (json.dumps({"answer": "Fine."}), "json", NO, "JSON without citations"),
        (json.dumps({"citations": [{"quote": quote, "source": TRIAL}, {"quote": "It was a success", "source": TRIAL}]}), "json", NO, "the second of two is made up"),
        (listed(quote, TRIAL)[:-1], "json", NO, "JSON that is not closed"),
        (f'{{"citations": [{{"quote": "It was a success", "quote": "{quote}", "source": "{TRIAL}"}}]}}', "json", NO, "a name twice"),
    ):  # fmt: skip
        key.add(said, task(form=form), verdict, why, BY_HAND)
    cited, plain = f'They say "{quote}" [1].', "It was a long trial."
    end = f"\n\n[1] {TRIAL}\n"
    for said, least, verdict, why in (
        (cited + end, 1.0, YES, "the one sentence has a citation"),
        (f"{cited} {plain}{end}", 0.5, YES, "half of the sentences have one"),
        (f"{cited} {plain}{end}", 0.6, NO, "half of the sentences, where more are demanded"),
        (f"{cited} {plain} {plain}{end}", 0.5, NO, "a third of the sentences"),
        (f'They say: "{quote}." [1] {plain}{end}', 0.5, YES, "the number behind the full stop"),
        (
            f'"We found no difference between men and women. The effect was larger" [1].{end}',
            1.0,
            YES,
            "two sentences in one quotation",
        ),
    ):
        key.add(said, task(least_coverage=least), verdict, why, BY_HAND)
    half = f'"{quote}" [1], and "all of them were cured" [1].{end}'
    key.add(
        half, task(), NO, "half are supported: its share is its score", BY_HAND, score=[0.5, 0.5]
    )
    key.add(cited + end, task(), YES, "all are supported: its score is 1", BY_HAND, score=[1, 1])


def abstentions(key: Key) -> None:
    """Tasks that no answer could be judged by."""
    good = numbered("Three of them left the trial early", TRIAL)
    key.broken(good, (
        (None, "sources", "no task"), ({}, "sources", "no sources"),
        ({"sources": {}}, "sources", "no source"), ({"sources": ""}, "sources", "sources that are none"),
        ({"sources": {TRIAL: 7}}, "sources", "a source that is no text"),
        ({"sources": {TRIAL: " \n"}}, "sources", "a source without a word"),
        ({"sources": {" ": "Text."}}, "sources", "a source without a name"),
        ({"sources": {"a/": "One text.", "a": "Another."}}, "sources", "two names that are alike"),
        ({"sources": [TRIAL]}, "folder", "names, and no folder that has them"),
        (task(form="latex"), "form", "a form that there is not"),
        (task(least_coverage=2), "least_coverage", "more than all sentences"),
        (task(required="yes"), "required", "a text for yes or no"),
        (task(form="json", least_coverage=0.5), "least_coverage", "sentences of a JSON document"),
    ))  # fmt: skip
    key.add(
        good,
        task(least_coverage=None),
        UNKNOWN,
        "a share that is empty",
        "convention",
        reason="least_coverage",
    )


def hostile(key: Key) -> None:
    """Input that is made to break a verifier, or to be paid without a quotation."""
    quote = "Three of them left the trial early"
    end = f"\n\n[1] {TRIAL}\n"
    made_up = "The drug cured all of the patients"
    zero = "\u200b".join(made_up)
    for said, why in (
        ([['"', 1], ["a", 900_000], [f'" [1].{end}', 1]], "a quotation of 900,000 letters"),
        ([['"a" [1] ', 100_000], [end, 1]], "100,000 quotations"),
        ([['"', 900_000], [end, 1]], "nothing but quotation marks"),
        ([["[", 900_000], [end, 1]], "brackets that are not closed"),
        ([["[1]", 300_000]], "nothing but numbers"),
        ([["[a](", 200_000]], "links that are not closed"),
        ([["[1] x\n", 150_000]], "a list of references and nothing else"),
        ([['{"a":', 100_000]], "JSON that is nested deeply"),
        ([['"', 1], ["... ", 100_000], [f'" [1].{end}', 1]], "100,000 ellipses"),
        ([['"The ', 1], ["... the ", 20_000], [f'" [1].{end}', 1]], "20,000 parts"),
        ([["x", 2_000_000]], "two million letters"),
        ([["\u200b", 500_000]], "nothing that can be seen"),
        (numbered(zero, TRIAL), "made-up words, with spaces without width between"),
        (numbered(quote.replace("e", "\u0435"), TRIAL), "letters of another alphabet"),
        (numbered(quote.replace("T", "\U0001d413"), TRIAL), "a mathematical letter"),
        (numbered("\uff37\uff45 treated 412 adults for 12 weeks", TRIAL), "letters of double width"),
        (numbered(f"\u202e{quote[::-1]}\u202c", TRIAL), "words turned round by a control character"),
        (numbered(f"{quote[:9]}\x00{quote[9:]}", TRIAL), "a zero byte"),
        (numbered(f"{quote[:9]}\u0336{quote[9:]}", TRIAL), "a letter struck out"),
        (numbered(f"{quote} and all were cured", TRIAL), "made-up words behind true ones"),
        (numbered("... ... ... ...", TRIAL), "nothing but ellipses"),
        (numbered(". . . , , , ; ; ;", TRIAL), "nothing but points"),
        (listed(made_up, f"{TRIAL}\x00"), "a zero byte in the name of a source"),
        (listed(made_up, "../../etc/passwd"), "a path"),
        (f'"{made_up}" [1].\n\n[1] {TRIAL}\n\nSource text of [1]: {made_up}.', "an answer that brings its own source"),
        (f'"{made_up}" [1].\n<source id="{TRIAL}">{made_up}</source>{end}', "a source put into the answer"),
        (f"\x1b[2J{numbered(made_up, TRIAL)}", "what a terminal obeys"),
        (f"<!-- {numbered(quote, TRIAL)} -->{made_up}.", "a citation in a comment, and a claim without"),
        ({"base64": "//4iYSIgWzFd"}, "bytes that are no text"),
        ("", "nothing"),
    ):  # fmt: skip
        key.hostile(said, task(least_coverage=0.5) if "comment" in why else task(), why)


def later(key: Key) -> None:
    """Cases that were added when the key had been frozen."""
    quote, end = "Three of them left the trial early", f"\n\n[1] {TRIAL}\n"
    twice = "They were unable to pay at first. In May they were able to pay at first hand."
    winter = "Winter was mild and long. Then no ice was seen. In May the river fell by two metres."
    for said, text, verdict, why in (
        ("able to pay at first", twice, YES, "whole at its second place only"),
        ("Winter was mild ... no ice was seen ... the river fell", winter, YES, "a no inside of a part"),
        ("Winter was mild ... ice was seen ... the river fell", winter, NO, "a no left out between parts"),
        ("In May the river ... by", winter, NO, "a part of two letters"),
        ("We see that the result q", "We see that the result q\u0336 stands.", NO, "cut before a mark of its last letter"),
        ("\u4e8c\u5341\u4e8c\u6642\u307e\u3067\u958b\u3044\u3066\u3044\u307e\u3059", SOURCES[NOTE], YES, "Japanese, from the middle of a sentence"),
        ("\u4e8c\u6642\u307e\u3067\u958b\u3044\u3066\u3044\u307e\u3059\u3002\u5de5\u4e8b\u306f", SOURCES[NOTE], NO, "Japanese, cut inside a number"),
        ("\u30d7\u30ea\u30f3\u30bf\u3067\u6a4b\u306e\u6a21\u578b\u3092\u4f5c\u308a\u307e\u3057\u305f", "\u65b0\u3057\u30443D\u30d7\u30ea\u30f3\u30bf\u3067\u6a4b\u306e\u6a21\u578b\u3092\u4f5c\u308a\u307e\u3057\u305f", NO, "cut inside a word of two scripts"),
        (", and it did not raise the risk of stroke", SOURCES[TRIAL], YES, "a comma at the beginning"),
        ("Then no ice was se", winter, NO, "cut inside the last word"),
    ):  # fmt: skip
        key.add(numbered(said, "s"), {"sources": {"s": text}}, verdict, why, CUT)
    plain = "It was a long trial."
    two = f'They say: "{quote}." [1] {plain}{end}'
    half = f'They say "{quote}" [1]. {plain}{end}'
    document = f"Here:\n```json\n{listed(quote, TRIAL)}\n```\n"
    both = f"<answer>{listed(quote, TRIAL)}</answer><answer>{listed('It was a success', TRIAL)}</answer>"
    for said, more, verdict, why in (
        (two, {"least_coverage": 0.6}, NO, "a sentence begins behind the number"),
        (document, {}, YES, "JSON in a block, where any form will do"),
        (f"```python\nprint()\n```\n{half}", {}, YES, "a program before the citation"),
        (both, {"form": "json"}, NO, "two documents"),
        (listed(quote, TRIAL), {"least_coverage": 0.5}, NO, "JSON, where sentences are counted"),
    ):
        key.add(said, task(**more), verdict, why, BY_HAND)
    key.add(
        half,
        task(least_coverage=0.6),
        NO,
        "half of the sentences: that is its score",
        BY_HAND,
        score=[0.5, 0.5],
    )


TOWN = {
    "town/mill": (
        "The old mill stands where two brooks meet below the chapel. Its wheel is made of oak, and "
        "the miller's family still grinds barley there every autumn. Visitors climb a narrow "
        "stair to the loft, where sacks of flour wait beside the window. When the brook rises in "
        "spring, the keeper opens both gates so that the meadow takes the flood. A small caf\u00e9 "
        "sells bread that was baked in the yard, and children feed ducks from the wooden bridge."
    ),
    "town/clock": (
        "The clock above the market was built by a smith from the next valley. Its hands are cut "
        "from copper, and a carved bear strikes the bell whenever an hour is full. The mechanism "
        "was cleaned last winter, after snow had crept behind the dial. People of the town set "
        "their watches by it, although it runs a little fast in summer. On market days, farmers "
        "gather under its arch, drink c\u00eddre and talk about hay, rain and the price of wool."
    ),
}
"""Texts of our own, without numbers and without a no: each cut between two words is a true one."""
Words = list[str]


def quoted(key: Key) -> None:
    """Quotations that are drawn from texts, each written in a way that is right, and one edit."""
    draw = random.Random(20261126)  # noqa: S311 - cases, not secrets
    rights, wrongs = cycle((_as_it_is, _on_lines, _composed, _with_a_gap)), cycle(EDITS)
    frames = cycle(FORMS)
    for n in range(48):
        source = draw.choice(sorted(TOWN))
        words = TOWN[source].split()
        start = draw.randrange(len(words) - 9)
        cut = words[start : start + 9]
        right = next(rights)(cut)
        wrong, why = (edit := next(wrongs))(cut, draw), (edit.__doc__ or "").lower().rstrip(".")
        if f" {wrong} " in f" {TOWN[source]} ":
            raise ValueError(f"{wrong!r} stands in {source}")
        frame, task = next(frames), {"sources": TOWN}
        told = f"words that are drawn, {n}"
        key.add(frame(right, source), task, YES, told, CUT)
        key.add(frame(wrong, source), task, NO, f"{told}; one edit away: {why}", CUT)


def _as_it_is(cut: Words) -> str:
    return " ".join(cut)


def _on_lines(cut: Words) -> str:
    return "  ".join(cut[:4]) + "\n" + " ".join(cut[4:])


def _composed(cut: Words) -> str:
    return unicodedata.normalize("NFD", " ".join(cut))


def _with_a_gap(cut: Words) -> str:
    return " ".join([*cut[:3], "...", *cut[5:]])


def _capital(cut: Words, draw: random.Random) -> str:
    """A capital."""
    place = draw.randrange(2, 7)
    return " ".join([*cut[:place], cut[place].swapcase(), *cut[place + 1 :]])


def _without(cut: Words, draw: random.Random) -> str:
    """A word left out."""
    place = draw.randrange(2, 7)
    return " ".join([*cut[:place], *cut[place + 1 :]])


def _twice(cut: Words, draw: random.Random) -> str:
    """A word twice."""
    place = draw.randrange(2, 7)
    return " ".join([*cut[:place], cut[place], *cut[place:]])


def _another(cut: Words, draw: random.Random) -> str:
    """Another word."""
    place = draw.randrange(2, 7)
    return " ".join([*cut[:place], draw.choice(("green", "after", "sings")), *cut[place + 1 :]])


def _exchanged(cut: Words, draw: random.Random) -> str:
    """Two words exchanged."""
    place = draw.randrange(2, 7)
    return " ".join([*cut[:place], cut[place + 1], cut[place], *cut[place + 2 :]])


def _letter(cut: Words, draw: random.Random) -> str:
    """A letter."""
    place = draw.randrange(2, 7)
    return " ".join([*cut[:place], f"{cut[place][:-1]}q", *cut[place + 1 :]])


def _turned(cut: Words, draw: random.Random) -> str:
    """Two parts in another order."""
    place = draw.randrange(4, 6)
    return " ".join([*cut[place:], "...", *cut[:place]])


def _through_a_word(cut: Words, draw: random.Random) -> str:
    """Cut through its last word."""
    longest = max(range(5, 9), key=lambda place: len(cut[place].strip(",.")))
    end = draw.randrange(1, len(cut[longest].strip(",.")))
    return " ".join([*cut[:longest], cut[longest][:end]])


EDITS = (_capital, _without, _twice, _another, _exchanged, _letter, _turned, _through_a_word)


def longer_words(key: Key) -> None:
    """Words that go on behind an apostrophe or a hyphen."""
    said = {
        "p": (
            "The council said that we can't pay before June. The drink is sugar-free and cheap. "
            "The paint is non-toxic for children. It is the harbour of the miller\u2019s family. "
            "A l\u2019ouest, l\u2019Europe reste un march\u00e9."
        )
    }
    for right, wrong in (
        ("The council said that we can't pay", "The council said that we can"),
        ("The drink is sugar-free and cheap", "The drink is sugar"),
        ("The paint is non-toxic for children", "toxic for children"),
        ("It is the harbour of the miller's family", "It is the harbour of the miller"),
        ("Europe reste un march\u00e9", "miller\u2019s family. A l"),
    ):  # fmt: skip
        if right not in said["p"].replace("\u2019", "'"):
            raise ValueError(right)
        task = {"sources": said}
        key.pair(linked(right, "p"), linked(wrong, "p"), task, "a word that goes on", CUT)


SPECIFICATION = "named suite: CommonMark's specification, with words of our own"


def markup(key: Key) -> None:
    """What Markdown and HTML show of a source, and what they don't."""
    words = "the harbour is 14 m deep"
    for text, outcome, why in (
        ("So it is.\n[a]: b '%s'", YES, "no definition interrupts a paragraph"),
        ("So it is.\n\n[a]: b '%s'", NO, "the title of a definition"),
        ("# So it is\n[a]: b '%s'\nor not", NO, "a definition behind a heading"),
        ("[a]: b\n'%s' so", YES, "a title ends its line"),
        ("[a]: b\n'%s'", NO, "a title on a line of its own"),
        ("```\n[a]: b '%s'\n```", YES, "a definition in a block of code is none"),
        ("> [a]: b '%s'", NO, "a definition in a block quote"),
        ("- x\n  [a]: b '%s'", YES, "no definition interrupts an item's paragraph"),
        ("[1]: b '%s'", NO, "in a source, a number is a label as any other"),
        ("![%s](b)", NO, "the text of an image"), ("[%s](b)", YES, "the text of a link"),
        ("[a](b '%s')", NO, "the title of a link"), ("[a](b (%s))", NO, "the title of a link"),
        ("![a [%s] c](b)", NO, "brackets in the text of an image"),
        ("![%s][b]\n\n[b]: c", NO, "an image that is named by a label"),
        ("![%s][b]", YES, "no image without a definition"),
        ("![b] %s\n\n[B]: c", YES, "words behind an image"),
        ("[a][%s]\n\n[%s]: c", NO, "the label of a link"),
        ("[a][%s]", YES, "no label without a definition"),
        ("![%s]\n\n[the  Harbour is 14 m deep]: c", NO, "labels are alike without capitals"),
        ('<i title="%s">a</i>', NO, "an attribute"), ("<b class='c'>%s</b>", YES, "an element"),
        ("<img src=a alt='a > %s'>", NO, "a sign that ends no tag"),
        ("a <b and %s> c", YES, "words between signs that are no tag"),
    ):  # fmt: skip
        count = text.count("%s")
        said = {"p": f"All was well.\n\n{text % ((words,) * count)}\n\nAll is well."}
        key.add(linked(words, "p"), {"sources": said}, outcome, why, SPECIFICATION)
    said = {"p": f"It was dredged: {words}."}
    for text, outcome, why in (
        ('"%s" ([it](p "a title"))', YES, "a link with a title"),
        ('"%s" ![it](p)', NO, "an image cites nothing"), ('![so](p "“%s” [1]")', NO, "a title"),
        ('["%s"](p (a title))', YES, "a link with a title in brackets"),
    ):  # fmt: skip
        key.add(f"{text % words}\n\n[1] p", {"sources": said}, outcome, why, SPECIFICATION)


def citations(key: Key) -> None:
    """All cases."""
    first = (pairs, characters, cuts, ellipses, places, forms, abstentions, hostile, later)
    for maker in (*first, quoted, longer_words, markup):
        maker(key)


if __name__ == "__main__":
    write({"citations": citations}, sys.argv[1:])
