from pathlib import Path

import pytest
from routing.manifest import read_manifest
from routing.runner import MANIFESTS

from verifier_ladder.errors import ConfigError

GOOD = """
name = "t"
file = "t.csv"
row = ["id"]
[[tiers]]
tier = "fast"
score = "a"
[[tiers]]
tier = "world"
score = "b"
cost = "minutes"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "t.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_manifest_is_read(tmp_path: Path) -> None:
    manifest = read_manifest(written(tmp_path, GOOD))

    assert ["a", "b"] == [tier.score for tier in manifest.tiers]
    assert 1.0 == manifest.sign


def test_a_target_that_is_minimised_has_the_sign_minus_one(tmp_path: Path) -> None:
    assert -1.0 == read_manifest(written(tmp_path, 'direction = "minimise"\n' + GOOD)).sign


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "not TOML"),
        (GOOD.replace('name = "t"\n', ""), "name: Field required"),
        ("colour = 1\n" + GOOD, "colour: Extra inputs"),
        (GOOD.replace('tier = "fast"', 'tier = "quick"'), "unknown tier"),
        (GOOD.replace('tier = "fast"', 'tier = "world"'), "cheap to dear"),
        (GOOD.partition("[[tiers]]")[0], "tiers: Field required"),
        ('scale = "odd"\n' + GOOD, "scale"),
    ],
)
def test_a_bad_manifest_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_manifest(written(tmp_path, text))


def test_a_manifest_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        read_manifest(tmp_path / "none.toml")


@pytest.mark.parametrize("path", sorted(MANIFESTS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_manifests_of_the_benchmark_are_good(path: Path) -> None:
    assert path.stem == read_manifest(path).name
