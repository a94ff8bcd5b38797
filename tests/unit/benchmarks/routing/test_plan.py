from routing.methods import ALL, OURS
from routing.plan import Plan
from routing.table import Table

PLAN = Plan(seeds=2, shares=(0.1, 0.01))


def with_experiments(table: Table, *names: str) -> Table:
    table.manifest.experiments.extend(names)
    return table


def test_every_budget_has_every_seed(small: Table) -> None:
    runs = list(PLAN.runs([with_experiments(small, "grpo")]))

    ours = [run for run in runs if run.method == OURS]
    assert [(0.1, 0), (0.01, 0), (0.1, 1), (0.01, 1)] == [(r.share, r.seed) for r in ours]
    assert len(set(runs)) == len(runs)


def test_what_costs_the_same_whatever_the_budget_is_run_once(small: Table) -> None:
    runs = list(PLAN.runs([with_experiments(small, "grpo")]))

    assert [1.0, 1.0] == [run.share for run in runs if run.method == ALL]


def test_only_the_experiments_asked_for_are_run(small: Table) -> None:
    table = with_experiments(small, "bias", "hack")

    assert {"hack"} == {run.experiment for run in PLAN._replace(only=("hack",)).runs([table])}


def test_a_table_stands_in_the_experiments_of_its_manifest(small: Table) -> None:
    assert [] == list(PLAN.runs([small]))
