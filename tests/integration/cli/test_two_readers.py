"""Two people read each case, at terminals and in files, and neither sees the other's answer."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger import Ledger
from verifier_ladder.measurement import READERS
from verifier_ladder.registry import REGISTRY
from verifier_ladder.reviews import Reviews
from verifier_ladder.tiers.world.expert import ExpertCase
from verifier_ladder.verdict import Verdict

Run = Callable[..., Any]


class Taste(ExpertCase):
    """Asks two people who taste."""

    name, version, isolation = "taste", "1", "inline"


def ladder(**settings: Any) -> vl.Ladder:
    guess = vl.verifier(name="guess-taste", version="1", isolation="inline", kind="text")(
        lambda candidate: float(len(candidate.content))
    )
    taste = Taste(kind="text", readers=2, tolerance=1.0, **settings)
    REGISTRY.add(taste)
    return vl.Ladder("tastes", [guess, taste], budget={"world": "unlimited"}, policy="all_tiers")


def campaign(place: Path, **settings: Any) -> vl.Campaign:
    return vl.Campaign.open("tastes", ladder=ladder(**settings), ledger=place, workers=1)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger whose campaign has one open case, which two are to read."""
    place = tmp_path_factory.mktemp("asked") / "ledger.db"
    with campaign(place) as opened:
        opened.score(["soup"])
        assert opened.drain(300)
    return place


@pytest.fixture
def place(asked: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(asked, tmp_path))


@pytest.fixture
def vladder(place: Path) -> Run:
    runner = CliRunner()

    def call(*words: object, typed: str | None = None) -> Any:
        return runner.invoke(app, [*map(str, words), "--ledger", str(place)], input=typed)

    return call


@pytest.fixture
def key(place: Path) -> str:
    with vl.open_ledger(place) as ledger:
        (check,) = ledger.checks(verifier="taste")
        return check.check_key.hex()


def verdict(place: Path, key: str) -> Verdict:
    with vl.open_ledger(place) as ledger:
        return ledger.verdicts([bytes.fromhex(key)])[bytes.fromhex(key)]


def read(vladder: Run, who: str, value: object) -> list[Any]:
    """What the answer of a reader has revised."""
    done = vladder("review", "next", "--by", who, "--answer", value, "--json")
    assert 0 == done.exit_code, done.output
    return [r["reward"]["value"] for r in json.loads(done.stdout)["case"]["revisions"]]


def test_a_case_is_answered_once_both_readers_agree(vladder: Run, place: Path, key: str) -> None:
    assert [] == read(vladder, "ada", 3)
    assert 1 == vladder("review", "next", "--by", "ada").exit_code

    assert [3.5] == read(vladder, "bob", 4)

    said = verdict(place, key)
    assert ["ada", "bob"] == [each["reader"] for each in said.evidence[READERS]]
    with vl.open_ledger(place) as ledger:
        (entry,) = ledger.entries(kind="review")
        assert "ada and bob" == ledger.read(entry).facts["source"]


def test_what_one_says_alone_is_refused_at_other_doors(place: Path) -> None:
    with campaign(place) as opened:
        (case,) = opened.cases()

        with pytest.raises(vl.ConfigError, match="wants two readers, and this is what ada says"):
            opened.answer(case, 3, source="ada")

        assert [case] == opened.cases()


def test_the_second_reader_sees_nothing_of_the_first(vladder: Run) -> None:
    fresh = vladder("review", "next", "--by", "bob", "--json").stdout
    read(vladder, "ada", 3.25)

    assert fresh == vladder("review", "next", "--by", "bob", "--json").stdout
    shown = vladder("review", "next", "--by", "bob", typed="\n").output
    assert "soup" in shown
    assert "ada" not in shown
    assert "3.25" not in shown


@pytest.mark.parametrize(("third", "reward"), [(8, 8.0), (5, 4.0)])
def test_a_third_reader_decides_or_the_reward_stays_what_is_believed(
    vladder: Run, third: float, reward: float
) -> None:
    assert [] == read(vladder, "ada", 2)
    assert [] == read(vladder, "bob", 8)

    (value,) = read(vladder, "cy", third)

    assert reward == pytest.approx(value)
    assert 1 == vladder("review", "next", "--by", "dee").exit_code


def test_what_one_has_said_is_undone_while_the_other_is_asked(vladder: Run, key: str) -> None:
    read(vladder, "ada", 9)

    done = vladder("review", "undo", key[:12], "--by", "ada", "--json")

    assert {"case": key, "withdrawn": True, "revisions": []} == json.loads(done.stdout)
    assert [] == read(vladder, "ada", 3)
    assert [3.0] == read(vladder, "bob", 3)


def test_an_answer_that_stands_is_undone_by_another_one(
    vladder: Run, place: Path, key: str
) -> None:
    read(vladder, "ada", 9)
    read(vladder, "bob", 9)

    done = vladder(
        "review", "undo", key[:12], "--answer", 2, "--by", "cy", "--why", "it was salt", "--json"
    )

    (revision,) = json.loads(done.stdout)["revisions"]
    assert (9.0, 2.0) == (revision["previous"], revision["reward"]["value"])
    assert 2.0 == verdict(place, key).score
    with vl.open_ledger(place) as ledger:
        *_, entry = ledger.entries(kind="review")
        facts = ledger.read(entry).facts
    assert ("cy", "it was salt") == (facts["source"], facts["why"])


def test_an_undo_that_can_not_be_is_told(vladder: Run, key: str) -> None:
    for words, why in (
        (["987654"], "no case's key begins"),
        ([key, "--answer", "3"], "is not answered yet"),
        ([key, "--by", "ada"], "ada has said nothing of it"),
    ):
        done = vladder("review", "undo", *words)
        assert (2, True) == (done.exit_code, why in done.stderr), done.stderr
    read(vladder, "ada", 9)
    read(vladder, "bob", 9)

    for words, why in (
        ([key], "say with --answer what is right"),
        ([key, "--answer", "11"], "between 0 and 10"),
    ):
        done = vladder("review", "undo", *words)
        assert (2, True) == (done.exit_code, why in done.stderr), done.stderr


def test_an_answer_under_a_lost_claim_is_refused_and_nothing_is_lost(
    vladder: Run, place: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(*_: object, **__: object) -> str:
        with vl.open_ledger(place) as ledger:
            assert Reviews(ledger, "tastes", ladder()).claim(ledger.checks(), "ada")
        return "3"

    monkeypatch.setattr(typer, "prompt", elsewhere)

    done = vladder("review", "next", "--by", "ada")

    assert 2 == done.exit_code
    assert "nothing was recorded: ada has claimed it anew since" in done.stderr
    assert f"vladder review next --case {key[:16]}" in done.stderr
    assert [] == read(vladder, "ada", 3)


def test_what_readers_said_is_handed_in_by_the_next_if_they_were_kept_from_it(
    vladder: Run, place: Path, key: str
) -> None:
    def said(ledger: Ledger, who: str) -> None:  # All that a killed process had done.
        reviews = Reviews(ledger, "tastes", ladder())
        found = reviews.claim(ledger.checks(), who)
        assert found is not None
        reviews.answer(found[1], Verdict.accept(6.0))

    with vl.open_ledger(place) as ledger:
        said(ledger, "ada")
        said(ledger, "bob")

    done = vladder("review", "next", "--by", "cy")

    assert 1 == done.exit_code
    assert "recorded as answered by ada and bob; 1 reward revised" in done.stderr
    assert 6.0 == verdict(place, key).score


def test_a_skipped_case_is_passed_on(vladder: Run, key: str) -> None:
    done = vladder("review", "next", "--by", "ada", typed="skip\n")

    assert "you are not asked again" in done.stderr
    assert 1 == vladder("review", "next", "--by", "ada").exit_code
    for words in (["--by", "bob"], ["--by", "ada", "--case", key[:12]]):
        assert key == json.loads(vladder("review", "next", *words, "--json").stdout)["case"]["key"]


def test_agreement_is_told(vladder: Run) -> None:
    read(vladder, "ada", 2)
    read(vladder, "bob", 8)
    read(vladder, "cy", 8)

    told = json.loads(vladder("review", "agreement", "--json").stdout)

    assert {"cases": 1, "agreed": 0, "outcomes": None, "scores": 0.0} == told["taste"]
    assert "0 of 1 case agreed" in vladder("review", "agreement").stderr


def filled(order: Path, value: str) -> str:
    """Fill a work order in; gives what it held before."""
    text = order.read_text(encoding="utf-8")
    with order.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    with order.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows([{**row, "value": value} for row in rows])
    return text


def test_two_read_in_files(vladder: Run, tmp_path: Path) -> None:
    orders = {who: tmp_path / f"{who}.csv" for who in ("ada", "bob")}
    assert 0 == vladder("case", "approve", "--rows", 2, "--by", "the head").exit_code
    asked = []
    for who, order in orders.items():
        assert 0 == vladder("case", "out", "--out", order, "--by", who).exit_code
        asked.append(filled(order, "3" if who == "ada" else "4"))
    unclaimed = vladder("case", "out", "--out", tmp_path / "none.csv", "--lease", 3)
    assert (2, True) == (unclaimed.exit_code, "give --by NAME, too" in unclaimed.output)
    refused = vladder("case", "in", orders["ada"], "--by", "cy", "--json")
    first, again, second, once_more = (
        json.loads(vladder("case", "in", orders[who], "--by", who, "--json").stdout)
        for who in ("ada", "ada", "bob", "ada")
    )

    assert asked[0] == asked[1]
    assert "others are reading it" in json.loads(refused.stdout)["bad_rows"][0]["reason"]
    assert (1, 0, 0) == (first["taken"], first["known"], first["revised"])
    assert (0, 1, 0) == (again["taken"], again["known"], again["revised"])
    assert (1, 0, 1) == (second["taken"], second["known"], second["revised"])
    assert (0, 1, 0) == (once_more["taken"], once_more["known"], once_more["revised"])
    assert 1 == vladder("case", "out", "--out", tmp_path / "none.csv", "--by", "ada").exit_code


def test_comments_are_kept_and_so_is_who_asked_what_other_tiers_said(
    vladder: Run, place: Path, key: str
) -> None:
    typed = "others\nsoon # too salty\n3 # salty\n"
    done = vladder("review", "next", "--by", "ada", typed=typed)
    assert "claimed for you until" in done.stderr
    assert "guess-taste accept 4" in done.output
    assert "is no answer" in done.stderr
    vladder("review", "next", "--by", "bob", "--answer", 3, "--comment", "warm")

    readers = verdict(place, key).evidence[READERS]
    assert [("ada", "salty"), ("bob", "warm")] == [(r["reader"], r["note"]) for r in readers]
    with vl.open_ledger(place) as ledger:
        acts = [
            (told["by"], act["act"])
            for entry in ledger.entries(kind="reading")
            for told in [ledger.read(entry).facts] for act in told["acts"]
        ]  # fmt: skip
    assert [("ada", "claim"), ("ada", "unblind"), ("ada", "answer")] == acts[:3]
