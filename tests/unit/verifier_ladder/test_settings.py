"""Settings come from the environment, and a wrong one is named."""

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.settings import Settings, load_settings, unknown_variables


def test_without_variables_the_defaults_hold() -> None:
    assert load_settings() == Settings(ledger="ledger.db", workers=None, worker_memory=None)


def test_a_variable_sets_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_LEDGER", "/data/mine.db")

    assert "/data/mine.db" == load_settings().ledger


def test_memory_is_given_with_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_WORKER_MEMORY", "2GiB")

    assert 2 * 2**30 == load_settings().worker_memory


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_WORKERS", "")

    assert load_settings().workers is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("VLADDER_WORKERS", "many"),
        ("VLADDER_WORKERS", "0"),
        ("VLADDER_WORKER_MEMORY", "1KiB"),
        ("VLADDER_CACHE_MEMORY", "31MiB"),
        ("VLADDER_LOG_LEVEL", "loud"),
    ],
)
def test_a_value_that_makes_no_sense_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(ConfigError, match=f"{variable}='{value}'"):
        load_settings()


def test_too_little_memory_says_how_much_there_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_CACHE_MEMORY", "16MiB")

    with pytest.raises(ConfigError, match=r"don't fit into 16\.0MiB; give at least 32MiB"):
        load_settings()


def test_a_misspelt_variable_is_found() -> None:
    found = unknown_variables({"VLADDER_LEGDER": "x", "VLADDER_WORKERS": "2", "PATH": "/bin"})

    assert ["VLADDER_LEGDER (did you mean VLADDER_LEDGER?)"] == found


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())
