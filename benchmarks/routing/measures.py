"""Measures: what one run of each experiment tells, as numbers by name."""

from __future__ import annotations

from collections.abc import Callable

from routing.bias import bias
from routing.coverage import coverage
from routing.discovery import SHARES, Search, by_funnel, traced
from routing.drift import drifting, watch
from routing.grpo import train
from routing.hack import hacked
from routing.methods import FIDELITY, SCORING, SEARCHES, TRAINING, Order, paced
from routing.onepass import agreement
from routing.pacing import pacing
from routing.plan import Plan, Run
from routing.table import Table

Numbers = dict[str, float]


def measure(run: Run, table: Table, plan: Plan) -> Numbers:
    """Carry out one run."""
    return MEASURES[run.experiment](run, table, plan)


def _grpo(run: Run, table: Table, plan: Plan) -> Numbers:
    course = plan.course
    order = Order(table, run.share, run.seed, course.samples)
    done = train(table, TRAINING[run.method](order), course, run.seed)
    return {"gain": done.gain, "world": done.world}


def _hack(run: Run, table: Table, plan: Plan) -> Numbers:
    course = plan.course
    more, marked = hacked(table, run.seed)
    order = Order(more, run.share, run.seed, course.samples)
    done = train(more, TRAINING[run.method](order), course, run.seed, marked=marked)
    return {"hacked": done.marked, "world": done.world}


def _bias(run: Run, table: Table, plan: Plan) -> Numbers:
    order = Order(table, run.share, run.seed, len(table) * plan.passes)
    found = bias(table, SCORING[run.method](order), run.seed, passes=plan.passes)
    return {
        "shift": found.shift, "bias": found.size, "noise": found.noise, "p": found.probability
    }  # fmt: skip


def _fidelity(run: Run, table: Table, plan: Plan) -> Numbers:
    del plan
    order = Order(table, run.share, run.seed, len(table))
    found = agreement(table, FIDELITY[run.method](order), run.seed)
    return {
        "correlation": found.correlation, "cosine": found.cosine, "cost": found.cost
    }  # fmt: skip


def _coverage(run: Run, table: Table, plan: Plan) -> Numbers:
    del plan
    order = Order(table, run.share, run.seed, len(table))
    found = coverage(table, TRAINING[run.method](order), run.seed)
    return {"inside": found.share, "crps": found.crps, "null": found.null}


def _discovery(run: Run, table: Table, plan: Plan) -> Numbers:
    del plan
    funnel = by_funnel(table, table.scores.shape[1] - 2)
    horizon = traced(table, funnel, 1.0).costs[-1]
    bill = SEARCHES[run.method](Order(table, run.share, run.seed, len(table)))
    return _numbers(traced(table, bill, horizon))


def _numbers(found: Search) -> Numbers:
    costs = {f"{share:.0%}": cost for share, cost in zip(SHARES, found.costs, strict=True)}
    return {**costs, "regret": found.regret}


def _pacing(run: Run, table: Table, plan: Plan) -> Numbers:
    order = Order(table, run.share, run.seed, len(table) * plan.passes)
    backend = FIDELITY[run.method](order)
    found = pacing(table, backend, run.seed, budget=order.world, passes=plan.passes)
    return {"spent": found.spent, "unevenness": found.unevenness}


def _drift(run: Run, table: Table, plan: Plan) -> Numbers:
    more = drifting(table)
    order = Order(more, run.share, run.seed, len(more) * plan.passes)
    found = watch(more, paced(order, "world"), run.seed, passes=plan.passes)
    return {"delay": found.delay, "false": found.false}


MEASURES: dict[str, Callable[[Run, Table, Plan], Numbers]] = {
    "grpo": _grpo, "hack": _hack, "bias": _bias, "fidelity": _fidelity,
    "coverage": _coverage, "pacing": _pacing,
    "drift": _drift, "discovery": _discovery,
}  # fmt: skip
