"""Training sets of every kind."""

import json
from pathlib import Path
from typing import Any

import pytest
from recordedruns import CHEAP, TRUE, RecordedRun, Told, ladder_spec

from verifier_ladder.candidate import Turn
from verifier_ladder.cli.training import Form, export
from verifier_ladder.datasets import KINDS, Selection, TrainingSet, training_set
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.transcript import Transcript
from verifier_ladder.verdict import TurnVerdict, Verdict

PROMPTS = {"sum": "2 + 2 =", "product": "2 · 3 ="}


def rows(told: list[Told], kind: str, **options: Any) -> TrainingSet:
    book = RecordedRun(open_ledger(":memory:"))
    book.score(told)
    selection = Selection(**options)
    return training_set(book.ledger, kind, selection=selection, prompts=PROMPTS)


def column(made: TrainingSet, name: str) -> list[Any]:
    return [row[name] for row in made.splits["train"]]


def sure(content: str, value: float, uncertainty: float, group: str = "sum") -> Told:
    return Told(content, Reward(value, uncertainty), group)


# -- what is left out ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"turns"}))
def test_what_is_not_known_is_left_out_and_counted(kind: str) -> None:
    told = [
        Told("4", 1.0, "sum", {CHEAP: Verdict.accept(1.0, feedback="right")}),
        Told("5", Reward(0.0), "sum", {CHEAP: Verdict.reject("wrong")}),
        Told("6", None, "sum"),
        Told("7", Reward(None, failed_at="tool"), "sum"),
        Told("8", Reward(0.5, failed_at="budget"), "sum"),
        Told("9", 1.0, "nobody knows"),
    ]

    made = rows(told, kind)

    counted = {
        "unknown: nobody has judged it": 1, "unknown: failed at tool": 1,
        "a tier failed at budget": 1, "its prompt is not known": 1,
    }  # fmt: skip
    assert counted.items() <= made.left_out.items()
    text = json.dumps(made.splits)
    assert not any(f'"{content}"' in text for content in "6789")


def test_a_run_without_any_prompt_is_an_error_that_says_what_to_do() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    book.score([Told("4", 1.0, "sum")])

    with pytest.raises(ConfigError, match=r"holds no prompt .* --prompts .* Campaign\.keep"):
        training_set(book.ledger, "sft")


def test_of_one_candidate_the_sample_that_was_judged_highest_counts() -> None:
    """A draw may have reached only one of two samples of a candidate."""
    told = [
        Told("4", Reward(0.9, tier=Tier.FAST), "sum"),
        Told("4", Reward(0.2, tier=Tier.WORLD), "sum"),
        Told("4", Reward(0.9, tier=Tier.FAST), "sum"),
    ]

    made = rows(told, "distillation")

    assert [0.2] == column(made, "reward")
    assert 2 == made.left_out["the same candidate again"]


def test_two_trajectories_may_end_in_the_same_words() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    for position, action in enumerate(["count", "guess", "count"]):
        turns = [Turn(action), Turn("4")]
        book.keep(Transcript(0, position, "sum", "2 + 2 =", turns=turns))
    book.score([Told("4", 1.0, "sum")] * 3)

    made = training_set(book.ledger, "distillation")

    assert 2 == len(made)
    assert {"the same candidate again": 1} == made.left_out


def test_only_what_a_tier_has_judged() -> None:
    told = [
        Told("4", Reward(1.0, tier=Tier.WORLD), "sum"),
        Told("5", Reward(1.0, tier=Tier.FAST), "sum"),
    ]

    made = rows(told, "sft", tier="world")

    assert ["4"] == column(made, "completion")
    assert 1 == made.left_out["not judged by world yet"]


def test_terms_that_no_verdict_comes_under_are_refused_by_those_that_one_does() -> None:
    under = Verdict.accept(1.0, evidence={"terms": ["alphafold3"]})
    told = [Told("4", 1.0, "sum", {CHEAP: under}), Told("5", 1.0, "sum")]

    with pytest.raises(ConfigError, match="called 'alphafold-3'; there are alphafold3"):
        rows(told, "sft", without_terms=["alphafold3", "alphafold-3"])
    made = rows(told, "sft", without_terms=["alphafold3"])

    assert ["5"] == column(made, "completion")
    assert ["alphafold3"] == made.as_json()["terms"]


def test_a_run_without_terms_says_that_nothing_is_left_out_by_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "ledger.db")
    with open_ledger(place) as ledger:
        book = RecordedRun(ledger)
        book.keep(Transcript(0, 0, "sum", "2 + 2 =", "4"))
        book.score([Told("4", 1.0, "sum")])

    export(out=tmp_path / "set", ledger=place, without_terms=["alphafold3"], form=Form.JSONL)

    assert "no verdict of this run comes under terms" in "".join(capsys.readouterr())
    assert [] == json.loads((tmp_path / "set" / "export.json").read_text())["terms"]


# -- kinds ---------------------------------------------------------------------------------------


def test_sft_takes_what_passes_for_sure() -> None:
    told = [
        sure("a", 0.9, 0.1),
        sure("b", 0.55, 0.1),
        sure("c", 0.4, 0.0),
        Told("d", 1.0, "sum", {CHEAP: Verdict.reject("no")}),
    ]

    made = rows(told, "sft")

    assert [("2 + 2 =", "a")] == [
        (row["prompt"], row["completion"]) for row in made.splits["train"]
    ]
    assert {
        "not sure to pass": 1,
        "below the reward that passes": 1,
        "rejected": 1,
    } == made.left_out
    assert ["a", "b"] == column(rows(told, "sft", sure=0.0), "completion")


def believed(content: str, value: float, tier: Tier = Tier.FAST) -> Told:
    """A sample whose reward tells of no uncertainty."""
    return Told(content, Reward(value, None, tier), "sum")


def test_a_belief_that_nobody_has_compared_with_the_truth_passes_for_sure_nowhere() -> None:
    told = [believed("a", 1.0), believed("b", 0.9, Tier.WORLD), believed("c", 0.1)]

    made = rows(told, "sft")

    assert ["b"] == column(made, "completion")
    assert {
        "how sure its reward is is not known yet": 1, "below the reward that passes": 1
    } == made.left_out  # fmt: skip
    assert ["a", "b"] == column(rows(told, "sft", sure=0.0), "completion")


def test_a_belief_that_nobody_has_compared_with_the_truth_makes_no_pair() -> None:
    told = [believed("a", 1.0), believed("b", 0.9, Tier.WORLD), believed("c", 0.1, Tier.WORLD)]

    made = rows(told, "preferences")

    assert [("b", "c")] == [(row["chosen"], row["rejected"]) for row in made.splits["train"]]
    assert {"how sure its reward is is not known yet": 1} == made.left_out
    assert ["a"] == column(rows(told, "preferences", sure=0.0), "chosen")


def test_the_only_tier_is_sure_of_what_it_says() -> None:
    book = RecordedRun(open_ledger(":memory:"), ladder=only_fast())
    book.score([believed("a", 1.0)])

    assert ["a"] == column(training_set(book.ledger, "sft", prompts=PROMPTS), "completion")


def only_fast() -> dict[str, Any]:
    spec = ladder_spec()
    return {**spec, "verifiers": spec["verifiers"][:1]}


def test_sft_takes_the_best_of_each_task() -> None:
    told = [sure("a", 3.0, 0.0), sure("b", 5.0, 0.0), sure("c", 4.0, 0.0, "product")]

    assert ["b", "c"] == column(rows(told, "sft", best=1), "completion")
    with pytest.raises(ConfigError, match="--pass-at REWARD or --best N"):
        rows(told, "sft")


def test_preferences_pair_the_best_with_the_worst() -> None:
    told = [
        sure(text, value, 0.0) for text, value in [("a", 0.1), ("b", 0.9), ("c", 0.5), ("d", 0.6)]
    ]

    made = rows(told, "preferences")

    assert [("b", "a"), ("d", "c")] == [
        (row["chosen"], row["rejected"]) for row in made.splits["train"]
    ]
    assert [0.8, 0.1] == pytest.approx(column(made, "margin"))


def test_preferences_differ_by_more_than_their_uncertainty() -> None:
    told = [sure("a", 0.9, 0.3), sure("b", 0.5, 0.4), sure("c", 0.9, 0.1, "product"),
            sure("d", 0.5, 0.1, "product")]  # fmt: skip

    assert ["c"] == column(rows(told, "preferences"), "chosen")  # 0.4 < √(0.3² + 0.4²)
    assert ["a", "c"] == column(rows(told, "preferences", sure=0.5), "chosen")
    assert [] == column(rows(told, "preferences", margin=0.5), "chosen")


def test_equal_rewards_and_other_tasks_make_no_pair() -> None:
    told = [sure("a", 1.0, 0.0), sure("b", 1.0, 0.0), sure("c", 0.0, 0.0, "product")]

    made = rows(told, "preferences")

    assert 0 == len(made)
    assert {"no pair of its task differs enough": 3} == made.left_out


def test_a_rejected_candidate_is_never_chosen() -> None:
    told = [Told("a", 1.0, "sum", {CHEAP: Verdict.reject("cheats")}), sure("b", 0.0, 0.0)]

    assert 0 == len(rows(told, "preferences"))


def test_a_task_gives_so_many_pairs() -> None:
    told = [sure(str(i), i / 10, 0.0) for i in range(10)]

    made = rows(told, "preferences", pairs=2)

    assert [("9", "0"), ("8", "1")] == [(r["chosen"], r["rejected"]) for r in made.splits["train"]]
    assert 6 == made.left_out["its task has more pairs than asked for"]


def test_hints_are_feedback_else_the_reason_of_a_reject() -> None:
    said = [
        {CHEAP: Verdict.accept(0.5, feedback="shorter")},
        {CHEAP: Verdict.reject("too long"), TRUE: Verdict.accept(0.1, feedback="and wrong")},
        {CHEAP: Verdict.accept(0.5, feedback="shorter")},
        {CHEAP: Verdict.accept(0.5)},
    ]
    told = [Told(str(i), 0.5, "sum", verdicts) for i, verdicts in enumerate(said)]

    made = rows(told, "hints")

    assert ["shorter", "too long\nand wrong"] == column(made, "privileged_context")
    assert {"demonstration": "shorter"} == made.splits["train"][0]["info"]
    assert {"the same hint again": 1, "no verifier gave it feedback": 1} == made.left_out


def test_steps_of_a_text_are_turns_where_a_verdict_says_where_they_stand() -> None:
    text = "1 + 1 = 2\n\n2 + 2 = 5"
    spans = [(0, 9), (11, 20)]
    steps = tuple(TurnVerdict(n, float(not n), "", span) for n, span in enumerate(spans))
    told = [
        Told(text, 0.5, "sum", {CHEAP: Verdict.accept(0.5, turns=steps)}),
        Told("no step", 0.5, "sum", {CHEAP: Verdict.accept(0.5, turns=(TurnVerdict(0, 1.0),))}),
        Told("a gap", 0.5, "sum", {CHEAP: Verdict.accept(0.5, turns=steps[1:])}),
    ]

    made = rows(told, "turns")

    assert [["1 + 1 = 2", "2 + 2 = 5"]] == column(made, "completions")
    assert [[1.0, 0.0]] == column(made, "rewards")
    assert 2 == made.left_out["its turns were not kept"]


def test_turns_are_given_as_far_as_each_was_judged() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    turns = [Turn("look", "a door"), Turn("open it", "a room"), Turn("enter")]
    judged = [TurnVerdict(0, 1.0), TurnVerdict(1, 0.2), TurnVerdict(2)]
    again = [TurnVerdict(1, 0.8, "well done")]
    said = {
        CHEAP: Verdict.accept(0.5, turns=tuple(judged)),
        TRUE: Verdict.accept(0.5, turns=tuple(again)),
    }
    book.keep(
        Transcript(0, 0, "room", prompt="You stand outside.", turns=turns),
        Transcript(0, 1, "room", turns=turns),
    )
    book.score([Told("in", 0.5, "room", said), Told("out", 0.5, "room"), Told("x", 0.5, "room")])

    made = training_set(book.ledger, "turns")

    (row,) = made.splits["train"]
    assert (["look", "open it"], [1.0, 0.8], [True, True]) == (
        row["completions"], row["rewards"], row["labels"]
    )  # fmt: skip
    assert ["a door", "a room"] == row["observations"]
    assert not row["is_whole"]
    assert {"its first turn has no score": 1, "its turns were not kept": 1} == made.left_out


def test_distillation_hands_over_tokens_hints_and_teachers() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    tokens = Transcript(0, 0, "sum", "2 + 2 =", token_ids=[7, 8], logprobs=[-0.1, -2.0])
    book.keep(tokens)
    book.score([Told("4", 1.0, "sum", {CHEAP: Verdict.accept(1.0, feedback="right")}),
                Told("5", 0.0, "sum")])  # fmt: skip

    made = training_set(book.ledger, "distillation", selection=Selection(teachers=["large"]))

    first, second = made.splits["train"]
    assert ("right", ["large"], [7, 8], [-0.1, -2.0]) == tuple(
        first[name] for name in ("hint", "teachers", "token_ids", "logprobs")
    )
    assert (None, None) == (second["hint"], second["logprobs"])


# -- transcripts ---------------------------------------------------------------------------------


def test_the_completion_is_what_the_learner_wrote() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    book.keep(Transcript(0, 0, "sum", "2 + 2 =", completion="It is 4."))
    book.score([Told("4", 1.0, "sum")])

    assert ["It is 4."] == column(training_set(book.ledger, "sft"), "completion")


def test_one_chat_makes_all_rows_chats() -> None:
    book = RecordedRun(open_ledger(":memory:"))
    chat = [{"role": "user", "content": "2 · 3 ="}]
    book.keep(Transcript(group="sum", prompt="2 + 2 ="), Transcript(group="product", prompt=chat))
    book.score([Told("4", 1.0, "sum"), Told("6", 1.0, "product")])

    made = training_set(book.ledger, "sft")

    table = made.table().to_pylist()
    assert [[{"role": "user", "content": "2 + 2 ="}], chat] == [row["prompt"] for row in table]
    assert [{"role": "assistant", "content": "6"}] == table[1]["completion"]


# -- files ---------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = open_ledger(tmp_path / "ledger.db")
    book = RecordedRun(ledger)
    said = {CHEAP: Verdict.reject("no", turns=(TurnVerdict(0, 0.0),))}
    for i in range(12):
        group = f"{i} \ud800"  # A lone surrogate, which tokenizers emit.
        book.keep(Transcript(book.step, 1, group, prompt=f"prompt {i}", turns=[Turn("t")]))
        book.score([Told(f"good {i}", 1.0, group), Told(f"bad {i} \ud800", 0.0, group, said)])
    return ledger


@pytest.mark.parametrize(
    ("kind", "form"), [*((kind, "parquet") for kind in KINDS), ("preferences", "jsonl")]
)
def test_datasets_reads_the_splits(
    kind: str, form: str, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    made = training_set(ledger, kind, splits={"train": 0.7, "test": 0.3})

    made.write(tmp_path / "set", form)
    found = datasets.load_dataset(str(tmp_path / "set"), cache_dir=str(tmp_path / "cache"))

    assert {name: len(rows) for name, rows in made.splits.items()} == {
        name: len(found[name]) for name in found
    }
    assert list(KINDS[kind].columns) == found["train"].column_names
    tasks = [{str(row) for row in found[name]["prompt"]} for name in ("train", "test")]
    assert all(tasks)
    assert tasks[0].isdisjoint(tasks[1])


def test_an_export_names_its_checkpoint_and_can_be_made_again(
    ledger: Ledger, tmp_path: Path
) -> None:
    made = training_set(ledger, "preferences", splits={"train": 0.7, "test": 0.3})
    made.write(tmp_path / "set", "jsonl")
    card = json.loads((tmp_path / "set" / "export.json").read_text())
    RecordedRun(ledger).score([Told("later", 1.0, "0 \ud800")])

    again = training_set(
        ledger, "preferences", at=card["checkpoint"]["size"], splits=card["shares"],
        selection=Selection(**card["selection"]),
    )  # fmt: skip

    assert made.splits == again.splits
    assert made.moment.root == again.moment.root == card["checkpoint"]["root"]
    assert card["splits"] == {"train": len(made.splits["train"]), "test": len(made.splits["test"])}


def test_splits_of_an_earlier_export_do_not_stay(ledger: Ledger, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    training_set(ledger, "sft", splits={"old": 0.5, "test": 0.5}).write(folder, "jsonl")
    (folder / "mine.jsonl").write_text("{}\n")
    training_set(ledger, "sft").write(folder)

    assert {"export.json", "mine.jsonl", "train.parquet"} == {p.name for p in folder.iterdir()}


def test_nothing_to_train_on_is_an_error_that_says_why(tmp_path: Path) -> None:
    made = rows([Told("4", None, "sum")], "sft")

    with pytest.raises(ConfigError, match="no sample for sft: 1 unknown: nobody has judged it"):
        made.write(tmp_path / "set")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sure": -1.0}, "sure=-1.0"),
        ({"margin": float("nan")}, "margin=nan"),
        ({"best": 0}, "best=0"),
        ({"pairs": 0}, "pairs=0"),
        ({"tier": "moon"}, "moon"),
    ],
)
def test_a_selection_of_nothing_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Selection(**wrong)


def test_an_unknown_kind_lists_those_there_are(ledger: Ledger) -> None:
    with pytest.raises(ConfigError, match="'dpo'; write sft, preferences, hints"):
        training_set(ledger, "dpo")
