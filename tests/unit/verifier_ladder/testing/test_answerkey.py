"""Keys are read strictly, compared by the rules, and must not be too easy."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from verifier_ladder.candidate import Candidate, ToolCall, Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.testing.answerkey import CONSTANT_TWINS, AnswerKey, Case, Constant, Twin
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

ACCEPT, REJECT = Verdict.accept(1.0), Verdict.reject("no", feedback="Try again.")
BROKEN = Verdict.abstain("ValueError", failed_at="verifier")


def case(outcome: str = "accept", **more: Any) -> Case:
    reason = {"reason": "no task"} if outcome == "abstain" else {}
    fields = {"candidate": "4", "outcome": outcome, "why": "w", "source": "s", **reason, **more}
    return Case.model_validate(fields)


def key(*cases: Case) -> AnswerKey:
    return AnswerKey("tried", cases)


def complaints(of: AnswerKey, *verdicts: Verdict) -> list[str]:
    return of.check(Constant(ACCEPT), judge=lambda _: list(verdicts)).complaints


def even(content: str, _task: Any) -> bool:
    return int(content) % 2 == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 1: the line: Invalid JSON"),
        ('{"candidate": "4"}', "line 1: outcome: Field required"),
        (case().model_dump_json()[:-1] + ', "typo": 1}', "line 1: typo: Extra inputs"),
        (case().model_dump_json().replace("accept", "maybe"), "line 1: outcome"),
        (case().model_dump_json().replace('"reason":""', '"reason":"why"'), "has a reason"),
        (case().model_dump_json().replace('"score":null', '"score":[2,1]'), "least, most"),
        (case().model_dump_json().replace('"score":null', '"score":[0,NaN]'), "line 1"),
        (case().model_dump_json().replace('"4"', '{"base64":"!"}'), "line 1: candidate"),
        (case().model_dump_json().replace('"4"', '[["4",-1]]'), "line 1: candidate"),
        ("\n\n", "it holds no case"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "odd.jsonl").write_text(line)

    with pytest.raises(ConfigError, match="answer key odd: ") as raised:
        AnswerKey.load(tmp_path / "odd.jsonl")

    assert words in str(raised.value)


def test_a_missing_file_and_an_unknown_name_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        AnswerKey.load(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match=r"no answer key '\.\./x'"):
        AnswerKey.named("../x")


def test_contents_may_be_text_repeated_parts_or_bytes() -> None:
    parts = case(candidate=[["ab", 2], ["c", 1]])
    data = case(candidate={"base64": "AP8="})

    assert ("4", "ababc", b"\x00\xff") == (case().content, parts.content, data.content)


def test_a_candidate_has_the_turns_and_the_task_of_its_case() -> None:
    made = case(turns=[["look", "a door"]], task={"answer": 4}).as_candidate("text")

    assert ("look", {"answer": 4}) == (made.turns[0].action, dict(made.task or {}))


def test_a_turn_of_a_case_may_be_a_call_that_failed() -> None:
    turn = Turn(ToolCall("look", {"at": "door"}), "It is dark.", failed=True)

    assert (turn,) == case(turns=[turn.as_json()]).as_candidate("text").turns


@pytest.mark.parametrize("turns", [[["look"]], [[{"arguments": {}}, ""]], [["look", 3]]])
def test_what_is_no_turn_is_refused(turns: Any) -> None:
    with pytest.raises(ValidationError, match="turns"):
        case(turns=turns)


def test_the_digest_of_the_first_lines_stays_when_lines_are_added(tmp_path: Path) -> None:
    line = case().model_dump_json() + "\n"
    path = tmp_path / "grown.jsonl"
    path.write_text(line * 2)
    before = AnswerKey.load(path)
    path.write_text(line * 3)
    after = AnswerKey.load(path)

    assert before.sha256 == before.frozen(2) == after.frozen(2) != after.sha256


@pytest.mark.parametrize(
    ("expected", "said", "words"),
    [
        (case(), ACCEPT, ""),
        (case(), REJECT, "right answers are not accepted"),
        (case("reject"), REJECT, ""),
        (case("reject"), ACCEPT, "wrong answers are accepted"),
        (case("reject"), Verdict.abstain("?"), "wrong answers are not rejected"),
        (case("abstain"), Verdict.abstain("no task here"), ""),
        (case("abstain"), Verdict.abstain("no task here", failed_at="tool"), ""),
        (case("abstain"), Verdict.abstain("no task", failed_at="verifier"), "lack their reason"),
        (case("abstain"), Verdict.abstain("tired"), "lack their reason"),
        (case(score=(1, 2)), ACCEPT, ""),
        (case(score=(2, 3)), ACCEPT, "score 1.0 is not within"),
        (case("reject", hostile=True), BROKEN, "hostile input makes it fail"),
        (case("reject", hostile=True), Verdict.abstain("?"), "hostile input is left unjudged"),
        (case("reject", hostile=True), Verdict.abstain("-", failed_at="sandbox"), ""),
        (case("reject", hostile=True), ACCEPT, "wrong answers are accepted"),
        (case("accept", hostile=True), REJECT, "hostile input is misjudged"),
    ],
)
def test_each_rule_has_its_complaint(expected: Case, said: Verdict, words: str) -> None:
    found = complaints(key(expected), said)

    assert bool(words) == bool(found)
    assert words in "; ".join(found)


@pytest.mark.parametrize(
    ("right", "lost", "is_fine"), [(99, 1, False), (100, 1, True), (100, 2, False)]
)
def test_one_right_answer_in_a_hundred_may_be_lost(
    right: int, lost: int, *, is_fine: bool
) -> None:
    of = key(*[case()] * right)

    found = complaints(of, *[REJECT] * lost, *[ACCEPT] * (right - lost))

    assert is_fine is not bool(found)


def test_the_wrong_number_of_verdicts_is_an_error() -> None:
    with pytest.raises(ConfigError, match="0 verdicts for 1 cases"):
        complaints(key(case()))


def test_a_reject_without_feedback_and_a_told_value_are_flaws() -> None:
    wrong = case("reject", task={"answer": "12.5 kg"}, candidate="4 kg")
    of = key(wrong, wrong, wrong, wrong)
    said = [
        Verdict.reject("no"),
        Verdict.reject("no", feedback="It is 12.5 kg."),
        Verdict.reject("no", feedback="Check the unit.", evidence={"wanted": "12.5 kg"}),
        REJECT,
    ]

    flaws = of.check(Constant(ACCEPT), judge=lambda _: said).flaws

    assert ["no feedback", "hidden value", "hidden value"] == [
        next(words for words in ("no feedback", "hidden value") if words in flaw)
        for flaw in flaws
    ]  # fmt: skip


def test_what_the_candidate_wrote_itself_is_no_leak() -> None:
    said = Verdict.reject("'12.5 kg or 13 kg' is a hedge", feedback="Decide.")

    assert not case("reject", task={"answer": "12.5 kg"}, candidate="12.5 kg or 13 kg").flaw(said)


def test_a_verifier_is_judged_with_candidates_of_its_kind() -> None:
    def looked(candidate: Candidate) -> bool:
        return candidate.kind == "poem"

    verifier = FunctionVerifier(looked, name="looked", version="1", kind="poem")

    assert not key(case()).check(verifier).complaints


class AtLeast(Verifier):
    name, version, kind = "at-least", "1", "number"

    def __init__(self, *, least: int = 3) -> None:
        if least < 0:
            raise ConfigError("least is below 0")
        super().__init__(least=least)

    def verify(self, candidates: Sequence[Candidate]) -> list[bool]:
        return [int(each.content) >= self.settings["least"] for each in candidates]


def test_a_case_may_have_settings_of_its_own() -> None:
    cases = [
        case(), case("reject", settings={"least": 5}), case("accept", settings={"least": 4}),
        case("abstain", reason="below 0", settings={"least": -1}), case("reject", candidate="2"),
    ]  # fmt: skip
    report = key(*cases).check(AtLeast())

    assert not report.complaints
    assert 0.75 == key(*cases).check(Twin(lambda text, _: text == "4")).balanced_accuracy
    with pytest.raises(ValueError, match="not hostile"):
        case(settings={"least": 5}, hostile=True)


def test_a_key_with_too_few_cases_or_twins_is_too_easy() -> None:
    found = "; ".join(key(case()).weaknesses({}))

    for words in ("1 right answers", "0 wrong answers", "0 abstentions", "3 naive twins"):
        assert words in found


def test_a_twin_that_does_as_well_as_a_verifier_is_named() -> None:
    right = [case(candidate=str(2 * n)) for n in range(20)]
    wrong = [case("reject", candidate=str(2 * n + 1)) for n in range(20)]
    unknown = [case("abstain")] * 5
    of = key(*right, *wrong, *unknown)

    found = of.weaknesses({"even": Twin(even), "four": Twin(lambda text, _: text == "4")})

    assert 1 == len(found)
    assert "'even' reaches a balanced accuracy of 1.000" in found[0]


def test_an_error_of_a_twin_is_a_no() -> None:
    assert "reject" == Twin(even).judge([Candidate("text", "x")])[0].outcome


def test_constant_twins_are_right_half_of_the_time_at_most() -> None:
    of = key(case(), case("reject"))

    assert {"accepts all": 0.5, "rejects all": 0.5, "abstains from all": 0.0} == {
        name: of.check(twin).balanced_accuracy for name, twin in CONSTANT_TWINS.items()
    }


@pytest.mark.parametrize("name", AnswerKey.known())
def test_a_key_that_comes_along_is_frozen(name: str) -> None:
    root = Path(__file__).parents[4]
    pages = [root / "CHANGELOG.md", *root.joinpath("changelog.d").glob("*.md")]
    told = "\n".join(page.read_text("utf-8") for page in pages if page.exists())
    of = AnswerKey.named(name)

    digests = [n for n in range(1, len(of.lines) + 1) if f"`{of.frozen(n)}`" in told]

    assert digests, f"write into the changelog: {json.dumps({len(of.lines): of.sha256})}"


# ---- Cases of groups


def longest(members: Sequence[Candidate]) -> list[float | None]:
    """The share of the others that each is longer than; nothing where there are none."""
    lengths = [len(str(member.content)) for member in members]
    others = len(lengths) - 1
    return [sum(one > two for two in lengths) / others if others else None for one in lengths]


class Longest(Verifier):
    """The same as a verifier of groups, or for a list that is one."""

    name, version, kind, scope = "longest", "1", "text", "group"

    def verify(self, candidates: Sequence[Candidate]) -> list[float | None]:
        return longest(candidates)


class NaivelyLongest:
    """The same as a twin."""

    def judge(self, candidates: Sequence[Candidate], /) -> list[Verdict]:
        return [
            Verdict.abstain("no task") if each is None else Verdict.accept(each)
            for each in longest(candidates)
        ]


GROUPS = key(
    case(candidate="aaa", among=["a", "aa"], score=[1, 1]),
    case(candidate="aa", among=["a", "aaa"], score=[0.5, 0.5]),
    case("reject", candidate="a", among=["aa", "aaa"], score=[0, 0]),
    case("reject", candidate="a", among=[[["a", 9]], {"base64": "AAAA"}]),
)


@pytest.mark.parametrize("checker", [Longest(), NaivelyLongest()])
def test_a_member_is_right_where_it_is_as_good_as_half_of_the_others(checker: Any) -> None:
    assert not GROUPS.check(checker).complaints
    alone = key(case("abstain", among=[]))
    assert alone.check(checker).graded[0].verdict.outcome == "abstain"


def test_a_checker_that_ranks_the_other_way_round_is_caught() -> None:
    found = GROUPS.check(Constant(Verdict.accept(0.0))).complaints

    assert [text[:29] for text in found] == ["right answers are not accepte"]


def test_a_pool_is_given_each_group_as_one_candidate() -> None:
    given: list[Candidate] = []

    def judge(candidates: Sequence[Candidate]) -> list[Verdict]:
        given.extend(candidates)
        return Longest().judge(candidates)

    assert not GROUPS.check(Longest(), judge=judge).complaints
    assert [each.kind for each in given] == ["group of text"] * len(GROUPS.cases)


def test_a_verifier_of_groups_is_not_asked_about_none() -> None:
    class Best(Longest):
        def __init__(self, best: float = 1.0) -> None:
            super().__init__(best=best)

        def verify(self, candidates: Sequence[Candidate]) -> list[float | None]:
            assert candidates
            return longest(candidates)

    asked = key(case(candidate="aa", among=["a"], settings={"best": 2.0}))
    assert not asked.check(Best()).complaints


def test_a_member_of_a_group_has_no_turns() -> None:
    with pytest.raises(ValidationError, match="no turns"):
        case(among=["5"], turns=[["look", "a door"]])
