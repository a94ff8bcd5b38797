"""Citations: quotations that stand in the sources that they name."""

import json
import re
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import AnswerKey, Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast import quotation
from verifier_ladder.tiers.fast.citations import Citation, Citations, citations_in
from verifier_ladder.tiers.fast.quotation import plain, quoted_in
from verifier_ladder.verdict import Outcome, Verdict

SOURCE = "It did not rain in May. The river fell by 2.5 m, and 31 boats lay dry at Oban."
QUOTED = re.compile(r'"([^"]*)"')
TEXTS = st.text(alphabet="ab 1.,-\u0301'\"", min_size=1, max_size=60)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _quotes(text: str) -> list[str]:
    return [quote for quote in QUOTED.findall(text) if " " in quote]


class TestCitations(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "every quotation is in some source": Twin(
            lambda text, task: bool(_quotes(text))
            and all(any(q in s for s in task["sources"].values()) for q in _quotes(text))
        ),
        "the same without capitals and marks": Twin(
            lambda text, task: bool(_quotes(text))
            and all(
                any(_words(q) in _words(s) for s in task["sources"].values())
                for q in _quotes(text)
            )
        ),
        "it names a source": Twin(lambda text, task: any(n in text for n in task["sources"])),
    }  # fmt: skip
    mutated = (
        "verifier_ladder.tiers.fast.citations", "verifier_ladder.tiers.fast.quotation",
        "verifier_ladder.tiers.fast.markup",
    )  # fmt: skip
    mutants: Mapping[str, Any] = {"equivalent": [
        # A folder is a setting, and has tests of its own below.
        "given or self._files -> given and self._files",
        "given is None and (not self._files) -> given is None or not self._files",
        ("digest(self._files).hex() if self._files else None -> digest(self._files).hex() if not "
        "self._files else None"),
        ("if not found: raise ConfigError(f'folder={str(folder)!r} holds no file that ends with "
        ".txt or .md') -> if not found: pass"),
        "path.suffix.lower() in _TEXTS -> path.suffix.lower() not in _TEXTS",
        ("path.suffix.lower() in _TEXTS and path.is_file() -> path.suffix.lower() in _TEXTS or "
        "path.is_file()"),
        # How many faults are told.
        "len(told) - _TOLD -> len(told) + _TOLD", "len(told) > _TOLD -> len(told) <= _TOLD",
        # No part begins at the last character; an empty line stands for the entry before it.
        "len(source) + 1 -> len(source) - 1", "line.strip() and entry -> line.strip() or entry",
    ]}  # fmt: skip

    @pytest.fixture
    def verifier(self) -> Citations:
        return Citations()


def judged(text: str, **task: Any) -> Verdict:
    candidate = Candidate("text", text, task={"sources": {"a": SOURCE}, **task})
    return Citations().judge([candidate])[0]


def test_the_key_is_the_one_that_was_frozen() -> None:
    digest = "26a731c980f499c2af57024d34158ad868aff3616f95bdcbab6a948adb173dce"

    assert AnswerKey.named("citations").frozen(194) == digest


def test_each_citation_has_a_score_and_advice_if_it_fails() -> None:
    said = judged('"It did not rain in May" [1], "31 boats sank at Oban" [1], wet [2].\n[1] a')

    assert said.outcome is Outcome.REJECT
    assert said.score == pytest.approx(1 / 3)
    assert {"citation_1": 1.0, "citation_2": 0.0, "citation_3": 0.0}.items() <= said.scores.items()
    assert '[1]: "31 boats sank at Oban" does not stand there.' in said.feedback
    assert "[2]: it names none of the sources." in said.feedback
    assert SOURCE[:20] not in said.feedback


def test_coverage_counts_sentences_with_a_citation() -> None:
    said = judged('"It did not rain in May" [1]. So what? "31 boats lay dry" [1].\n\n[1] a')

    assert said.scores["coverage"] == pytest.approx(2 / 3)
    assert said.scores["supported"] == 1.0


def test_what_an_answer_says_is_made_harmless_in_feedback() -> None:
    said = judged('"\x1b[2J It did rain in May" [1]\n[1] a')

    assert "\x1b" not in said.feedback + said.reason


def test_all_forms_are_read() -> None:
    quote = "31 boats lay dry"
    assert [Citation(quote, "a", "a")] == citations_in(f'"{quote}" ([b](a))')[0]
    assert [Citation(quote, "a", "a")] == citations_in(f'["{quote}"](a)')[0]
    address = "https://example.org/a_(b)"
    assert [Citation(quote, address, address)] == citations_in(f'"{quote}" ([x]({address}))')[0]
    bare = "https://example.org/a"
    assert [Citation(quote, bare, bare)] == citations_in(f'"{quote}" ({bare}).')[0]
    listed = json.dumps([{"quote": quote, "source": "a"}])
    assert [Citation(quote, "a", "citation 1")] == citations_in(listed)[0]


def test_files_of_a_folder_are_sources_and_part_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "rain.txt").write_text(SOURCE, "utf-8")
    (tmp_path / "other.md").write_text("Nothing is told here.", "utf-8")
    verifier = Citations(folder=tmp_path)
    said = '"It did not rain in May" [1]\n[1] deep/rain.txt'

    tasks: list[dict[str, Any]] = [
        {}, {"sources": ["deep/rain.txt"]}, {"sources": ["other.md"]}, {"sources": ["none.md"]},
    ]  # fmt: skip
    found = [
        verdict.outcome.value
        for verdict in verifier.judge([Candidate("text", said, task=task) for task in tasks])
    ]

    assert found == ["accept", "accept", "reject", "abstain"]
    before = verifier.digest
    (tmp_path / "other.md").write_text("Something is told here.", "utf-8")
    assert Citations(folder=tmp_path).digest != before


def test_a_folder_without_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no file that ends with \.txt or \.md"):
        Citations(folder=tmp_path)
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match="can't be read as UTF-8"):
        Citations(folder=tmp_path)


def test_the_example_earns_what_it_should(tmp_path: Path) -> None:
    place = Path(__file__).parents[4] / "examples" / "citations" / "citations"

    result = vl.score_file(
        place.with_suffix(".jsonl"), ladder=place.with_suffix(".toml"), ledger=tmp_path / "l.db"
    )

    assert [1, 1, 0, 0, 0] == [reward.value for reward in result.rewards]


@given(TEXTS)
def test_what_is_made_alike_stays_as_it_is(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@given(st.integers(0, len(SOURCE)), st.integers(0, len(SOURCE)))
def test_whole_words_stand_there_and_cut_ones_do_not(start: int, end: int) -> None:
    quote = SOURCE[start:end]
    before, after = SOURCE[start - 1 : start] if start else " ", SOURCE[end : end + 1]
    is_cut = (before + quote[:1]).isalnum() or (bool(after) and (quote[-1:] + after).isalnum())
    if is_cut:
        assert not quoted_in(quote, SOURCE)
    assert quoted_in(quote, SOURCE) <= (plain(quote).rstrip(".,") in plain(SOURCE))


@given(st.integers(0, len(SOURCE) - 1), st.sampled_from("xX7\u0430"))
def test_another_letter_never_passes(place: int, letter: str) -> None:
    if SOURCE[place].isalnum() and SOURCE[place] != letter:
        assert not quoted_in(SOURCE[:place] + letter + SOURCE[place + 1 :], SOURCE)


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("raise the risk of stroke", "It did not raise the risk of stroke."),
        ("harmful to children", "It isn\u2019t harmful to children."),
        ("evidence of an effect", "There is no evidence of an effect."),
        ("Das Mittel wirkt", "Das Mittel wirkt nicht."),
        ("1.5 million were sold", "$1.5 million were sold."),
        ("The sales rose to 1.5", "The sales rose to 1.5 million."),
        ("A share of about 48", "A share of about 48 percent."),
        ("They said that we can", "They said that we can\u2019t go on."),
        ("The lemonade is sugar", "The lemonade is sugar\u2010free."),
        ("toxic for children", "It is non-toxic for children."),
    ],
)
def test_a_quotation_keeps_what_turns_it_round(quote: str, source: str) -> None:
    assert not quoted_in(quote, source)
    assert quoted_in(source, source)


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- {} -->", "<p hidden>{}</p>", "<div style='display:none'>{}</div>",
        "<script>{}</script>", "[//]: # ({})", "<span style='visibility: hidden'>{}",
    ],
)  # fmt: skip
def test_a_citation_that_nobody_sees_is_none(hidden: str) -> None:
    cited = f'"{SOURCE[:40].rpartition(" ")[0]}" [1]'

    assert Outcome.ACCEPT is judged(f"{cited}\n\n[1] a").outcome
    assert "no citation" in judged(f"All is well.\n\n{hidden.format(cited)}\n\n[1] a").reason
    source = {"a": f"{hidden.format(SOURCE)}\n</span>\nAll is well and was."}
    assert Outcome.REJECT is judged(f"{cited}\n\n[1] a", sources=source).outcome
    assert Outcome.ACCEPT is judged('"All is well and was" [1]\n\n[1] a', sources=source).outcome


@pytest.mark.parametrize(
    "labelled",
    [
        "[a note]: {}", "[a]: so, {}", "[a]: b {}", "[a]:\n\n{}", "    [a]: {}", "[ ]: b '{}'",
        "[]: b '{}'", "-[a]: b '{}'",
    ],
)  # fmt: skip
def test_a_source_may_have_a_label_before_its_words(labelled: str) -> None:
    cited, source = f'"{SOURCE[:40].rpartition(" ")[0]}" [1]', labelled.format(SOURCE)

    assert Outcome.ACCEPT is judged(f"{cited}\n\n[1] a", sources={"a": source}).outcome


@pytest.mark.parametrize(
    "definition",
    [
        '[a]: b "{}"', "   [a]:\n  <b c> '{}'", "[a]: <>\n({})", '[a]: b "so\n{}\nis it" ',
        '[a]: b "\\"{}"', "[{}]: b", "[a]: <b\\>c> '{}'", "> - 1.\t[a]: b '{}'", "\r[a]: b '{}'\r",
    ],
)  # fmt: skip
def test_the_words_of_a_link_reference_definition_are_not_seen(definition: str) -> None:
    words = SOURCE[:40].rpartition(" ")[0]
    source = {"a": f"All is well.\n\n{definition.format(words)}\n\nAll was well and is."}

    assert Outcome.REJECT is judged(f'"{words}" [1]\n\n[1] a', sources=source).outcome
    assert Outcome.ACCEPT is judged('"All was well and is" [1]\n\n[1] a', sources=source).outcome


@pytest.mark.parametrize(
    "unseen",
    [
        '![{}](b "a picture")', "![{}](b)", "![so [{}] it is](<b c>)", "[so](b '{}')",
        "[so](b ({}))", "![{}][b]", "![{}]", "![so][b] [so][{}]", '<i title="{}">so</i>',
        "<img alt='a > b {}' src=b>",
    ],
)  # fmt: skip
def test_images_and_titles_are_not_seen_and_what_stands_beside_them_is(unseen: str) -> None:
    words = SOURCE[:40].rpartition(" ")[0]
    defined = f"\n\n[b]: c\n[{words}]: c"
    source = {"a": f"All is well. {unseen.format(words)} All was well and is.{defined}"}

    assert Outcome.REJECT is judged(f'"{words}" [1]\n\n[1] a', sources=source).outcome
    assert Outcome.ACCEPT is judged('"All was well and is" [1]\n\n[1] a', sources=source).outcome


@pytest.mark.parametrize(
    "unseen",
    [
        '![so](b "{}")', "![{}](b)", "![so [{}] it is](<b c>)", "[so](b '{}')", "![{}][b]",
        '<i title="{}">so</i>',
    ],
)  # fmt: skip
def test_an_image_or_a_title_holds_no_citation(unseen: str) -> None:
    cited = unseen.format(f"«{SOURCE[:40].rpartition(' ')[0]}» [1]")

    assert Outcome.REJECT is judged(f"All is well. {cited}\n\n[b]: c\n\n[1] a").outcome


@pytest.mark.parametrize(
    "shown",
    [
        "So it is.\n[a]: b '{}'", "So it is: [a]: b '{}'", "![{}]", "[{}](b)", "So ! [{}]",
        "a <b and {}> c", '"{}" (b "title")',
    ],
)  # fmt: skip
def test_what_commonmark_shows_is_seen(shown: str) -> None:
    words = SOURCE[:40].rpartition(" ")[0]

    said = judged(f'"{words}" [1]\n\n[1] a', sources={"a": f"{shown.format(words)}\n\nAll."})

    assert Outcome.ACCEPT is said.outcome, said.feedback


@pytest.mark.parametrize(
    ("outcome", "cited"),
    [
        (Outcome.ACCEPT, "&ldquo;Rain fell on 12&#46;5 days&rdquo; &#91;1]"),
        (Outcome.ACCEPT, '"All of it fell at Oban" [1]'),
        (Outcome.REJECT, "&ldquo;Rain fell on 99 days&rdquo; &#91;1]"),
        (Outcome.REJECT, '"Rain fell on 99 days" [1&#X5d;'),
        (Outcome.ACCEPT, '"Rain fell on 99 days" &amp;#91;1]'),
    ],
)
def test_an_entity_is_the_character_that_it_stands_for(outcome: Outcome, cited: str) -> None:
    source = "Rain fell on 12.5 days. All of&nbsp;it fell at Oban."

    said = judged(f'"Rain fell on 12.5 days." [1] {cited}.\n\n[1] a', sources={"a": source})

    assert outcome is said.outcome, said.feedback


def test_a_link_with_a_title_is_a_citation() -> None:
    quote = "31 boats lay dry"

    assert [Citation(quote, "a", "a")] == citations_in(f'"{quote}" ([b](a "Rain"))')[0]
    assert [] == citations_in(f'"{quote}" ![b](a)')[0]


@pytest.mark.parametrize(
    "begins", ["[", '[a]: b "', "[a]: b\n(", "![", "![a](b '", '[a](b "', "[a](b (", "<i a='"]
)
def test_what_has_no_end_takes_no_memory_for_each_of_its_characters(begins: str) -> None:
    text = f"{SOURCE}\n\n{begins}" + "words of a line\n" * 6_000
    tracemalloc.start()
    try:
        judged('"It did not rain in May" [1]\n\n[1] a', sources={"a": text})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 60 * len(text)


@pytest.mark.parametrize(
    "claims", ["- One\n- Two\n-", "# One\n| Two\n|", "One is so.Two is so.", "\0One.\0 Two.\0"]
)
def test_a_claim_is_a_sentence_however_it_ends(claims: str) -> None:
    cited = f'"{SOURCE[:40].rpartition(" ")[0]}" [1].'

    verdict = judged(f"{claims} {cited}\n\n[1] a")

    assert verdict.scores["coverage"] == pytest.approx(1 / 3)


def test_what_is_kept_of_sources_is_no_more_than_one_task_may_bring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quotation, "LARGEST", 10_000)
    kept: dict[str, str] = {}
    monkeypatch.setattr(quotation, "_kept", kept)

    for number in range(50):
        source = f"The harbour at {number} is fourteen metres deep. " * 20
        assert quoted_in(f"harbour at {number} is fourteen", source)

    assert 5_000 < sum(map(len, kept)) <= 10_000
