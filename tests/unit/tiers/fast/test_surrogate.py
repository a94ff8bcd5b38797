"""The surrogate as a verifier: what it says, and never says, of a candidate."""

import io
import pickle
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wordsurrogates import Letters, model, surrogate

import verifier_ladder as vl
from verifier_ladder.errors import ConfigError, PluginError
from verifier_ladder.tiers.fast import descriptors
from verifier_ladder.tiers.fast.descriptors import MoleculeDescriptors
from verifier_ladder.tiers.fast.surrogate import (
    Description,
    Model,
    Surrogate,
    trained_bytes,
    training_data,
    worth,
)


def said(by: Surrogate, text: str) -> vl.Verdict:
    return by.judge([vl.Candidate("text", text)])[0]


def test_a_version_that_speaks_says_a_score_with_the_ensembles_spread() -> None:
    verdict = said(surrogate().at(model(noise=0.5), None), "aab")

    assert (verdict.score, verdict.uncertainty) == (2.0, 0.5)
    assert verdict.evidence == {"version": "abababababab", "labels": 64, "spread": 0.0}


def test_a_version_in_shadow_is_told_and_does_not_speak() -> None:
    verdict = said(surrogate().at(None, model(2.0)), "aa")

    assert (verdict.outcome, verdict.score) == (vl.Outcome.ABSTAIN, None)
    assert verdict.is_answer
    assert verdict.evidence["shadow"]["score"] == 4.0


def test_nothing_is_said_of_what_a_version_was_trained_on() -> None:
    keys = [vl.keys.content_key("text", "aa")]
    made = Model.read("cd" * 32, model().written(), trained_bytes(keys))
    by = surrogate().at(made, None)

    assert said(by, "aa").score is None
    assert said(by, "aab").score == 2.0


def test_what_is_far_from_all_that_was_learnt_changes_no_more() -> None:
    by = surrogate().at(model(), None)

    assert said(by, "a" * 3).score == said(by, "a" * 1000).score == 3.0


def test_each_version_is_filed_by_itself_and_recorded_alike() -> None:
    first, other = surrogate(), surrogate().at(model(), None)
    third = surrogate().at(model(name="ef" * 32), None, [other, first])

    assert len({first.digest, other.digest, third.digest}) == 3
    assert first.as_json() == other.as_json() == third.as_json()
    assert third.earlier == (other.key_digest, first.key_digest)


@given(st.binary(max_size=400))
def test_bytes_that_are_no_weights_are_refused(data: bytes) -> None:
    with pytest.raises((ValueError, OverflowError, EOFError)):
        Model.read("x", data, trained_bytes([]))


def test_neither_an_archive_nor_a_header_that_claims_too_much_is_opened() -> None:
    archive, claim = io.BytesIO(), io.BytesIO()
    np.savez(archive, weights=np.zeros(3, dtype=np.float32))
    told = {"descr": "<f4", "fortran_order": False, "shape": (10**13,)}
    np.lib.format.write_array_header_1_0(claim, told)

    for data in (archive.getvalue(), claim.getvalue() + bytes(64)):
        with pytest.raises(ValueError, match="plain array"):
            Model.read("x", data, trained_bytes([]))


def test_pickled_weights_are_never_unpickled() -> None:
    with pytest.raises(ValueError, match="pickle"):
        Model.read("x", pickle.dumps({"weights": 1}), trained_bytes([]))


@given(st.lists(st.text("ab", max_size=6), max_size=40), st.floats(0.1, 0.5))
def test_near_duplicates_are_always_on_the_same_side(texts: list[str], share: float) -> None:
    by = surrogate(held_out=share)
    sides: dict[str, bool] = {}
    for text in texts:
        verdict = Description(by).judge([vl.Candidate("text", text)])[0]
        told = Description.read(verdict)
        assert told is not None
        is_held = by.is_held_out(told[1])
        assert sides.setdefault(Letters().family(text), is_held) == is_held


def test_stereoisomers_tautomers_and_ions_are_near_duplicates() -> None:
    family = MoleculeDescriptors().family

    assert family("C[C@H](N)O") == family("C[C@@H](N)O")
    assert family("Oc1ccccn1") == family("O=c1cccc[nH]1")
    assert family("CC(=O)O") == family("CC(=O)[O-]")
    assert family("CCO") != family("CCN")


def test_it_is_trained_at_doublings() -> None:
    by = surrogate(first=32)

    assert [by.due(n, 0) for n in (31, 32, 63, 64, 500)] == [0, 32, 32, 64, 256]
    assert (by.due(127, 64), by.due(128, 64)) == (0, 128)


@pytest.mark.parametrize("settings", [{"first": 31}, {"held_out": 0.0}, {"held_out": 0.6}])
def test_settings_that_leave_too_few_labels_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="at least 32 labels"):
        Surrogate(**settings)  # type: ignore[arg-type]


def test_a_package_may_offer_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    def offered(group: str) -> list[EntryPoint]:
        names = {"text": "wordsurrogates:Letters", "broken": "wordsurrogates:Missing"}
        return [EntryPoint(name, value, group) for name, value in names.items()]

    monkeypatch.setattr(descriptors, "entry_points", offered)

    assert isinstance(Surrogate(kind="text").descriptors, Letters)
    with pytest.raises(PluginError, match="broken"):
        Surrogate(kind="text", descriptors="broken")


def test_descriptors_of_another_kind_are_refused() -> None:
    with pytest.raises(ConfigError, match="don't describe candidates of kind 'molecule'"):
        Surrogate(descriptors=Letters())


def test_a_descriptor_counts_whichever_way_it_matters_and_noise_hardly() -> None:
    rows = np.random.default_rng(0).normal(size=(64, 12))
    truth = rows[:, 0] - 2.0 * np.abs(rows[:, 1])
    rows[:, 2] = 0.1  # A constant, but for rounding.
    found = worth(rows - rows.mean(axis=0), (truth - truth.mean()) / truth.std())

    assert sorted(np.argsort(found)[-2:].tolist()) == [0, 1]
    assert found[2] == 0.0
    assert found[3:].sum() < min(found[0], found[1])


@pytest.mark.slow
def test_a_training_learns_and_repeats_itself() -> None:
    from verifier_ladder.tiers.fast.surrogate import Training

    chance = np.random.default_rng(0)
    inputs = chance.normal(size=(96, 12))
    targets = inputs[:, 0] - 2.0 * np.abs(inputs[:, 1])
    data = vl.Candidate("surrogate-data", training_data(inputs[:64], targets[:64]))
    files = [Training(surrogate()).judge([data])[0].files["weights.npy"] for _ in range(2)]
    made = Model.read("x", files[0].data or b"", trained_bytes([]))

    assert files[0].digest == files[1].digest
    assert np.corrcoef(made.predict(inputs[64:])[0], targets[64:])[0, 1] > 0.7
