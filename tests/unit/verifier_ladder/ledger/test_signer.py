"""The key file: made once, private, read again, and never replaced."""

from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger.offline import (
    Checkpoint,
    Key,
    RejectedError,
    leaf_hash,
    open_checkpoint,
    read_checkpoint,
    time_text,
)
from verifier_ladder.ledger.signer import Signer, key_file, new_origin

CHECKPOINT = Checkpoint("example/log", 7, leaf_hash(b"root"), time_text(1772469000.5))
OF_THE_SPECIFICATION = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
"""A key from the documentation of Go's package `note`, which the specification follows."""


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return Signer.at(tmp_path / "key", "example/log")


def test_a_new_key_is_its_owners_alone(tmp_path: Path, signer: Signer) -> None:
    assert 0o600 == (tmp_path / "key").stat().st_mode & 0o777
    assert ["key"] == [path.name for path in tmp_path.iterdir()]
    assert "example/log" == signer.key.name


def test_a_key_is_read_again(tmp_path: Path, signer: Signer) -> None:
    assert signer.key == Signer.at(tmp_path / "key", "another name").key


def test_of_many_that_make_a_key_all_have_the_same(tmp_path: Path) -> None:
    keys: list[Key] = []
    threads = [
        Thread(target=lambda: keys.append(Signer.at(tmp_path / "key", "log").key))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (16, 1) == (len(keys), len(set(keys)))


@pytest.mark.parametrize(
    "text", ["", "nonsense", "PRIVATE+KEY+a+00000000+AAAA", "PRIVATE+KEY+log", "\xff"]
)
def test_what_is_no_key_is_not_used_and_not_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text, encoding="latin-1")

    with pytest.raises(LedgerError, match="key"):
        Signer.at(tmp_path / "key", "log")
    assert text == (tmp_path / "key").read_text(encoding="latin-1")


def test_a_place_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(LedgerError, match="VLADDER_KEY"):
        Signer.at(tmp_path / "file" / "key", "log")


def test_a_signed_checkpoint_is_read_back(signer: Signer) -> None:
    signed = signer.sign(CHECKPOINT)

    assert (CHECKPOINT, signer.key) == open_checkpoint(signed, [signer.key])
    assert signed.startswith("example/log\n7\n")
    assert CHECKPOINT == read_checkpoint(signed)


def test_a_checkpoint_without_a_time_is_one_of_an_older_version(signer: Signer) -> None:
    signed = signer.sign(CHECKPOINT._replace(time=""))

    assert 3 == signed.partition("\n\n")[0].count("\n") + 1
    assert CHECKPOINT._replace(time="") == open_checkpoint(signed, [signer.key])[0]


@pytest.mark.parametrize("time", [f"{CHECKPOINT.time}\ntime 2020-01-01T00:00:00+00:00", "\ntime "])
def test_a_checkpoint_that_tells_two_times_or_none_in_its_place_is_none(
    signer: Signer, time: str
) -> None:
    signed = signer.sign(CHECKPOINT._replace(time=time))

    assert "\ntime " in signed
    with pytest.raises(RejectedError, match="this is no checkpoint"):
        open_checkpoint(signed, [signer.key])


def test_keys_are_written_as_the_specification_says() -> None:
    key = Key.read(OF_THE_SPECIFICATION)

    assert ("PeterNeumann", "c74f20a3") == (key.name, key.hint.hex())
    assert OF_THE_SPECIFICATION == str(key)


def test_another_key_has_not_signed(tmp_path: Path, signer: Signer) -> None:
    other = Signer.at(tmp_path / "other", "example/log")

    with pytest.raises(RejectedError, match="not signed by"):
        open_checkpoint(signer.sign(CHECKPOINT), [other.key])


@given(data=st.data())
def test_no_changed_character_goes_unnoticed(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    signer = Signer.at(tmp_path_factory.getbasetemp() / "one key", "example/log")
    signed = signer.sign(CHECKPOINT)
    place = data.draw(st.integers(0, len(signed) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda c: c != signed[place]))
    changed = signed[:place] + other + signed[place + 1 :]

    try:
        found, _ = open_checkpoint(changed, [signer.key])
    except RejectedError:
        return
    assert CHECKPOINT == found  # Only the last line's end may go.


def test_a_name_is_the_ledgers_own() -> None:
    one, other = (new_origin("sqlite:///runs/my ledger.db") for _ in range(2))

    assert one.startswith("verifier-ladder/my-ledger.db/")
    assert one != other


def test_a_key_lies_beside_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLADDER_KEY", raising=False)

    assert Path("/runs/ledger.db.key") == key_file("sqlite:////runs/ledger.db")


def test_a_key_lies_where_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_KEY", "/keys/mine")

    assert Path("/keys/mine") == key_file("sqlite:////runs/ledger.db")


def test_no_password_of_a_database_is_in_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLADDER_KEY", raising=False)
    url = "postgresql://user:secret@host/runs?sslmode=require"

    assert "secret" not in new_origin(url) + str(key_file(url))
    assert key_file(url).name.startswith("runs-")
