"""Calibrations that are fitted to the latest labels: deep ensembles and Gaussian processes."""

import json
import sys
from collections.abc import Iterator
from math import nan
from typing import Any

import numpy as np
import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.beliefs.calibrated import CalibratedBelief
from verifier_ladder.scheduler.beliefs.declaration import Declaration
from verifier_ladder.scheduler.beliefs.ensemble import Ensemble
from verifier_ladder.scheduler.beliefs.gaussianprocess import GaussianProcess
from verifier_ladder.scheduler.beliefs.model import Seen

FITS = {"torch": Ensemble, "botorch": GaussianProcess}
pytestmark = pytest.mark.filterwarnings("ignore")  # BoTorch's own dependencies warn on import.


@pytest.fixture(params=FITS)
def fit(request: pytest.FixtureRequest) -> Iterator[Any]:
    pytest.importorskip(request.param, reason=f"{request.param} comes with an extra")
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # So small that threads only wait for each other.
    yield FITS[request.param]
    torch.set_num_threads(threads)


def model(fit: Any) -> CalibratedBelief:
    return CalibratedBelief([Declaration("cheap"), Declaration("top")], fit=fit)


def teach(one: CalibratedBelief, scores: Any, truth: Any) -> CalibratedBelief:
    table = np.column_stack([scores, truth])
    seen = Seen(table, np.full(table.shape, nan), np.empty((len(table), 0)))
    one.learn(seen, truth, np.ones(len(truth), bool))
    return one


def predict(one: CalibratedBelief, *scores: float) -> Any:
    table = np.column_stack([scores, np.full(len(scores), nan)])
    return one.predict(Seen(table, np.full(table.shape, nan), np.empty((len(table), 0))))


def labels(count: int, noise: float = 0.1) -> Any:
    random = np.random.default_rng(0)
    scores = random.uniform(-3, 3, count)
    return scores, np.sin(scores) + noise * random.normal(size=count)


def test_a_curve_and_its_noise_are_learnt(fit: Any) -> None:
    beliefs = predict(teach(model(fit), *labels(128)), -2.0, 0.0, 2.0)

    assert beliefs.mean == pytest.approx(np.sin([-2.0, 0.0, 2.0]), abs=0.25)
    assert ((beliefs.deviation > 0.05) & (beliefs.deviation < 0.3)).all()


def test_a_snapshot_and_the_labels_since_bring_everything_back(fit: Any) -> None:
    scores, truth = labels(32)
    one, again = teach(model(fit), scores[:20], truth[:20]), model(fit)

    again.restore(json.loads(json.dumps(one.snapshot(), allow_nan=False)))
    for each in (one, again):
        teach(each, scores[20:], truth[20:])

    was, now = predict(one, -1.0, 1.0), predict(again, -1.0, 1.0)
    np.testing.assert_allclose(was.mean, now.mean, rtol=1e-9)
    np.testing.assert_allclose(was.deviation, now.deviation, rtol=1e-9)


def test_few_labels_are_enough_to_say_something(fit: Any) -> None:
    beliefs = predict(teach(model(fit), *labels(3)), 0.0)

    assert np.isfinite(beliefs.mean).all()
    assert (beliefs.deviation > 0).all()


def test_an_absurd_answer_leaves_the_others_believable(fit: Any) -> None:
    scores, truth = labels(64)
    truth[30] = 1e300

    assert abs(predict(teach(model(fit), scores, truth), 0.0).mean[0]) < 5.0


@pytest.mark.parametrize("package", FITS)
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ConfigError, match="pip install"):
        teach(model(FITS[package]), *labels(3))
