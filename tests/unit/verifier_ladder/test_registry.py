"""The registry, with entry points of packages that don't exist and one that does."""

import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.canonicaliser import Canonicaliser, Identity
from verifier_ladder.errors import ConfigError, PluginError
from verifier_ladder.registry import CANONICALISER_GROUP, VERIFIER_GROUP, Registry
from verifier_ladder.verifiers import Verifier


class Length(Verifier):
    """Counts, up to a limit."""

    name, version = "length", "1"

    def __init__(self, *, limit: int = 10, unit: str = "", of: int = 1) -> None:
        if limit < 0:
            raise ValueError("limit must not be negative")
        self.unit = unit.strip()
        super().__init__(limit=limit // of)

    def verify(self, candidates: Sequence[Candidate]) -> Sequence[float]:
        return [float(len(c.content)) for c in candidates]


class Newer(Length):
    """The next version."""

    version = "2"


class Lower(Canonicaliser):
    """Lower case."""

    kind, name = "word", "lower"


class Raises(Length):
    """Can't be made."""

    def __init__(self) -> None:
        raise RuntimeError("no licence")


@pytest.fixture
def registry() -> Registry:
    """A registry that knows no installed package."""
    made = Registry()
    made._found = {VERIFIER_GROUP: {}, CANONICALISER_GROUP: {}}
    return made


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> str:
    """An importable module with plugins in it."""
    module = ModuleType("plugins_of_a_test")
    for thing in (Length, Lower, Raises):
        setattr(module, thing.__name__, thing)
    vars(module)["number"] = 3
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.__name__


def offer(registry: Registry, name: str, value: str, group: str = VERIFIER_GROUP) -> None:
    assert registry._found is not None
    registry._found[group][name] = EntryPoint(name, value, group)


def test_a_verifier_is_found_by_its_name(registry: Registry) -> None:
    registry.add(made := Length())

    assert registry.get("length") is made
    assert ["length"] == registry.names()


def test_without_a_version_the_last_one_registered_is_found(registry: Registry) -> None:
    for made in (Length(), Newer(), last := Length()):
        registry.add(made)

    assert registry.get("length") is last
    assert "2" == registry.get("length", "2").version


def test_the_same_version_again_replaces_it(registry: Registry) -> None:
    registry.add(Length())
    registry.add(again := Length(limit=3))

    assert registry.get("length", "1") is again


def test_an_unknown_name_gets_the_nearest_ones(registry: Registry) -> None:
    registry.add(Length())

    with pytest.raises(ConfigError, match=r"'lenght'; did you mean length\?"):
        registry.get("lenght")


def test_an_unknown_version_gets_the_known_ones(registry: Registry) -> None:
    registry.add(Length())
    registry.add(Newer())

    with pytest.raises(ConfigError, match="no version '3'; there is 1, 2"):
        registry.get("length", "3")


def test_settings_make_another_verifier(registry: Registry) -> None:
    registry.add(made := Length())

    assert {"limit": 3} == registry.create("length", {"limit": 3}).settings
    assert registry.create("length") is made
    assert {"limit": 10} == made.settings


def test_settings_are_those_of_the_version_asked_for(registry: Registry) -> None:
    registry.add(Length())
    registry.add(Newer())

    assert "1" == registry.create("length", {"limit": 3}, "1").version


@pytest.mark.parametrize(
    "settings", [{"limt": 3}, {"limit": -1}, {"limit": "many"}, {"unit": 3}, {"limit": 3, "of": 0}]
)
def test_settings_that_do_not_fit_are_named(registry: Registry, settings: dict[str, Any]) -> None:
    registry.add(Length())

    with pytest.raises(ConfigError, match=next(iter(settings))):
        registry.create("length", settings)


# ---- Entry points


def test_names_are_listed_without_importing_anything(registry: Registry) -> None:
    offer(registry, "far", "package_that_is_not_there:Far")

    assert ["far"] == registry.names()


def test_a_plugin_is_imported_when_it_is_asked_for(registry: Registry, package: str) -> None:
    offer(registry, "length", f"{package}:Length")

    assert isinstance(registry.get("length"), Length)
    assert registry.get("length") is registry.get("length")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("far", "package_that_is_not_there:Far", "ModuleNotFoundError"),
        ("length", "plugins_of_a_test:Lengthy", "AttributeError"),
        ("length", "plugins_of_a_test:Raises", "no licence"),
        ("number", "plugins_of_a_test:number", "not a verifier"),
        ("size", "plugins_of_a_test:Length", "called length"),
    ],
)
@pytest.mark.usefixtures("package")
def test_a_broken_plugin_is_named_and_harms_nobody_else(
    registry: Registry, name: str, value: str, why: str
) -> None:
    registry.add(Newer())
    offer(registry, f"{name}", value)
    registry._verifiers.pop(name, None)

    with pytest.raises(PluginError, match=why):
        registry.get(name)

    (problem,) = registry.problems()
    assert (name, "unknown") == (problem.name, problem.package)
    assert why in problem.error


def test_sound_plugins_are_no_problem(registry: Registry, package: str) -> None:
    offer(registry, "length", f"{package}:Length")
    offer(registry, "word", f"{package}:Lower", CANONICALISER_GROUP)

    assert not registry.problems()


# ---- Canonicalisers


def test_a_kind_without_a_canonicaliser_is_taken_as_it_is(registry: Registry) -> None:
    found = registry.canonicaliser("poem")

    assert isinstance(found, Identity)
    assert "poem" == found.kind
    assert registry.canonicaliser("poem") is found


def test_a_canonicaliser_comes_from_its_package(registry: Registry, package: str) -> None:
    offer(registry, "word", f"{package}:Lower", CANONICALISER_GROUP)

    assert isinstance(registry.canonicaliser("word"), Lower)


def test_a_registered_canonicaliser_comes_first(registry: Registry) -> None:
    registry.add_canonicaliser(mine := Lower())

    assert registry.canonicaliser("word") is mine
