from pathlib import Path

import pytest
from routing.methods import ALL, OURS
from routing.plan import Run
from routing.report import lines, table_lines
from routing.results import Results, geometric, note


def results() -> Results:
    made = Results()
    for seed in range(3):
        for method, gain in ((ALL, 2.0), (OURS, 1.9), ("funnel", 1.5 + 0.1 * seed)):
            share = 1.0 if method == ALL else 0.1
            made.add(Run("grpo", "small", method, share, seed), {"gain": gain, "world": share})
        found = {"50%": 10.0, "80%": 20.0, "100%": float("inf"), "regret": 0.5}
        made.add(Run("discovery", "small", OURS, 0.25, seed), found)
    return made


def test_a_gain_is_compared_with_the_truth_for_the_same_seed() -> None:
    some = results().of("grpo")

    ratio = some.where(method=OURS).ratio("gain", some.where(method=ALL))

    assert 0.95 == pytest.approx(ratio.mean)


def test_runs_are_chosen_by_their_settings() -> None:
    some = results()

    assert 3 == len(some.where(method="funnel", share=0.1).numbers)
    assert 0 == len(some.where(table="other").numbers)
    assert ["grpo", "discovery"] == some.names("experiment")


def test_the_report_tells_every_experiment_that_was_run() -> None:
    text = "\n".join(lines(results()))

    assert "0.95" in text
    assert "inf" in text
    assert "hack" not in text


def test_columns_stand_under_each_other() -> None:
    made = list(table_lines(["a", "long head"], [["something", "1"]]))

    assert 1 == len({len(line) for line in made})
    assert 3 == len(made)


def test_runs_come_back_as_they_were_noted_but_for_a_line_that_was_cut(tmp_path: Path) -> None:
    path, made = tmp_path / "runs.jsonl", results()
    for run, numbers in made.numbers.items():
        note(path, run, numbers)
    path.write_text(path.read_text() + '{"experiment": "grpo", "ta')

    assert repr(Results.load(path)) == repr(made)
    assert not Results.load(tmp_path / "none.jsonl").numbers


def test_a_geometric_mean_of_nothing_is_unknown() -> None:
    assert 6.0 == pytest.approx(geometric([4.0, 9.0]))
    assert geometric([]) != geometric([])


def test_pictures_are_drawn_for_what_was_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from routing.pictures import draw

    made = draw(results(), tmp_path)

    assert ["grpo.svg", "discovery.svg"] == [path.name for path in made]
    assert all(path.read_text().lstrip().startswith("<?xml") for path in made)
