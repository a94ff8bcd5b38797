"""A row selects a verifier that is held; it makes none, but with settings that are data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

import verifier_ladder as vl
from verifier_ladder.recorded import Recorded
from verifier_ladder.registry import REGISTRY, Registry

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
NAMES = ["command", "name", "version", "url", "function", "steps", "__class__", "settings"]


class Fixed(vl.Verifier):
    """Counts how often it is made."""

    name, version, kind = "recorded-fixed", "1", "text"
    made = 0

    def __init__(self, **settings: Any) -> None:
        type(self).made += 1
        super().__init__(**settings)

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[float]:
        return [1.0 for _ in candidates]


class Steps(BaseModel):
    steps: Annotated[int, Field(ge=1, le=100)]


class Open(Fixed):
    """Lets a row choose a number."""

    name = "recorded-open"
    made = 0
    data_settings = Steps

    def __init__(self, *, steps: int = 10) -> None:
        super().__init__(steps=steps)


def row(verifier: vl.Verifier, **changes: Any) -> dict[str, Any]:
    """What a campaign's row says of a verifier."""
    return {**json.loads(json.dumps(verifier.as_json())), **changes}


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    made.hold([Fixed(), Fixed(path="/a"), Fixed(path="/b"), Open()])
    return made


def test_each_of_several_settings_is_found_by_its_digest(registry: Registry) -> None:
    for settings in ({}, {"path": "/a"}, {"path": "/b"}):
        found = Recorded.read(row(Fixed(**settings))).among(registry)
        assert settings == found.settings


def test_of_several_with_one_digest_the_one_that_the_row_describes_is_taken() -> None:
    class InPoints(Fixed):
        unit = "points"

    class InVolts(Fixed):
        unit, deviation = "volts", 3.0

    held = [InPoints(), InVolts(), Fixed()]
    registry = Registry()
    for verifier in held:
        registry.add(verifier)

    assert 1 == len({verifier.digest for verifier in held})
    assert held == [Recorded.read(row(verifier)).among(registry) for verifier in held]


def test_settings_that_nobody_holds_are_not_made(registry: Registry) -> None:
    wanted = row(Fixed(path="/etc/passwd"))
    before = Fixed.made

    with pytest.raises(vl.ConfigError, match="is another one here: its settings"):
        Recorded.read(wanted).among(registry)
    assert before == Fixed.made


def test_functions_commands_and_services_with_settings_are_found() -> None:
    registry = Registry()
    kinds = {"version": "1", "kind": "text", "tier": "simulation"}
    options: dict[str, Any] = {**kinds, "settings": {"level": 3}}
    made = [
        vl.verifier(name="recorded-function", **options)(lambda _: 1.0),
        vl.CommandVerifier(name="recorded-command", command=["/bin/true"], **options),
        vl.EndpointVerifier(name="recorded-service", url="http://127.0.0.1:9/", **options),
    ]
    registry.hold(made)

    for verifier in made:
        assert Recorded.read(row(verifier)).among(registry) is verifier


def test_data_settings_are_made_once_and_only_as_the_row_has_them(registry: Registry) -> None:
    wanted = Recorded.read(row(Open(steps=50)))

    found = wanted.among(registry)

    assert {"steps": 50} == found.settings
    assert wanted.among(registry) is found


@pytest.mark.parametrize(
    "settings",
    [
        {"steps": 101}, {"steps": 0}, {"steps": "50"}, {"steps": 50.5}, {"steps": True}, {},
        {"steps": 50, "path": "/"}, {"steps": None}, {"__class__": 1},
    ],
    ids=str,
)  # fmt: skip
def test_settings_outside_of_the_declaration_are_refused(
    registry: Registry, settings: dict[str, Any]
) -> None:
    before = Open.made

    with pytest.raises(vl.ConfigError, match="may not choose its settings"):
        Recorded.read(row(Open(steps=50), settings=settings)).among(registry)
    assert 1 == Open.made - before  # The one of this test itself.


def test_a_digest_of_other_settings_is_not_taken_for_these(registry: Registry) -> None:
    with pytest.raises(vl.ConfigError, match="is another one here"):
        Recorded.read(row(Open(steps=50), settings={"steps": 51})).among(registry)


def test_nothing_is_imported_for_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    monkeypatch.setattr("verifier_ladder.registry.load", lambda point: pytest.fail(point.name))

    for name in registry.names():
        with pytest.raises(vl.ConfigError, match="no verifier is called"):
            Recorded.read(row(Fixed(), name=name)).among(registry)


@given(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["recorded-fixed", "recorded-open"]) | st.text(),
         "version": st.just("1") | JSON,
         "digest": st.just(Open(steps=7).digest.hex()) | st.text("0123456789abcdef") | JSON,
         "settings": st.dictionaries(st.sampled_from(NAMES), JSON) | JSON}
    ) | JSON
)  # fmt: skip
def test_whatever_a_row_says_only_what_is_declared_is_made(said: Any) -> None:
    registry = Registry()
    registry.hold([Fixed(), Open()])
    try:
        found = Recorded.read(said).among(registry)
    except vl.ConfigError:
        return
    assert found.digest.hex() == said["digest"]
    assert found.settings in ({}, {"steps": 10}, {"steps": 7})


def test_every_installed_verifier_is_held_with_the_settings_that_it_declares() -> None:
    assert [] == REGISTRY.load()
    for name in (
        "xtb-hydration", "xtb-properties", "dft-hydration", "dft-properties", "dft-cell",
        "molecule-gate",
        "molecule-properties", "expert-case", "crystal-gate", "ase-energy", "ase-relax",
        "ase-equation-of-state", "ase-dynamics", "openmm-stability", "sequence-gate",
        "structure-prediction",
    ):  # fmt: skip
        verifier = REGISTRY.get(name)
        model = verifier.data_settings
        assert model is not None
        said = model.model_validate(row(verifier)["settings"], strict=True)
        assert type(verifier)(**said.model_dump()).digest == verifier.digest


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("measured-hydration", {"table": "/etc/passwd"}),
        ("dft-hydration", {"level": "pbe//etc/passwd"}),
        ("dft-hydration", {"level": "pbe/../secret"}),
        ("dft-hydration", {"conformers": 10**9}),
        ("dft-properties", {"level": "pbe//etc/passwd"}),
        ("dft-cell", {"level": "pbe/../secret"}),
        ("dft-cell", {"density": 1e9}),
        ("dft-properties", {"geometry": "/etc/passwd"}),
        ("dft-properties", {"solvent": "../secret"}),
        ("dft-properties", {"grid_level": 99}),
        ("dft-properties", {"dispersion": "/etc/passwd"}),
        ("dft-properties", {"device": "/dev/sda"}),
        ("xtb-hydration", {"solvent": "/etc/passwd"}),
        ("xtb-hydration", {"method": "IPEA1-xTB"}),
        ("xtb-properties", {"solvent": "../secret"}),
        ("xtb-properties", {"criteria": {"/etc/passwd": {"most": 1.0}}}),
        ("molecule-properties", {"score": "/etc/passwd"}),
        ("molecule-gate", {"elements": ["C", "../x"]}),
        ("crystal-gate", {"elements": ["C", "../x"]}),
        ("ase-energy", {"calculator": {"name": "/etc/passwd"}}),
        ("ase-energy", {"calculator": {"name": "emt", "command": "id"}}),
        ("ase-relax", {"optimiser": "/etc/passwd"}),
        ("openmm-stability", {"force_field": "/etc/passwd"}),
        ("openmm-stability", {"duration": 10**9}),
        ("openmm-stability", {"replicates": 10**9}),
        ("ase-equation-of-state", {"points": 10**9}),
        ("ase-dynamics", {"duration": 1e9}),
        ("sequence-gate", {"motifs": ["A"] * 1000}),
        ("structure-prediction", {"predictors": ["/bin/sh"]}),
        ("structure-prediction", {"send_sequences": True}),
        ("structure-prediction", {"accept_terms": ["alphafold3"]}),
    ],
)
def test_no_file_can_be_named_in_an_installed_verifiers_settings(
    name: str, changes: dict[str, Any]
) -> None:
    REGISTRY.load()
    verifier = REGISTRY.get(name)
    settings = {**verifier.settings, **changes}

    with pytest.raises(vl.ConfigError, match="may not choose its settings"):
        Recorded.read(row(verifier, settings=settings, digest="00" * 32)).among(REGISTRY)
