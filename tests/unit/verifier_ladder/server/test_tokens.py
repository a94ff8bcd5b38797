"""Tokens are kept as hashes, end when they are told to, and are never taken for one another."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.server.tokens import SCOPES, TokenFile, TokensUnreadableError


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "deep" / "tokens")


def test_a_token_opens_what_it_was_given(tokens: TokenFile) -> None:
    token = tokens.find(tokens.add("trainer", ["score", "read"]))

    assert token is not None
    assert [True, True, False, False] == [token.allows(scope) for scope in SCOPES]


@pytest.mark.parametrize("name", ["", "  ", "a\x1b[31mb", "two\nlines", "x" * 201])
def test_a_name_that_cannot_be_shown_as_it_is_is_refused(tokens: TokenFile, name: str) -> None:
    with pytest.raises(vl.ConfigError, match="can't be called"):
        tokens.add(name, ["score"])

    assert not tokens.tokens()


def test_the_file_holds_no_token_and_only_its_owner_reads_it(tokens: TokenFile) -> None:
    secret = tokens.add("trainer", ["score"])

    assert secret.split("_", 2)[2] not in tokens.path.read_text()
    assert 0o600 == stat.S_IMODE(tokens.path.stat().st_mode)


def test_another_process_sees_tokens_come_and_go(tokens: TokenFile) -> None:
    other = TokenFile(tokens.path)
    secret = tokens.add("trainer", ["score"])
    later(other)
    assert other.find(secret) is not None

    tokens.revoke("trainer")
    later(other)
    assert other.find(secret) is None
    assert other.is_required


def test_a_file_that_comes_back_is_read_again(tokens: TokenFile) -> None:
    secret, kept = tokens.add("trainer", ["score"]), tokens.path.read_bytes()
    tokens.path.unlink()
    later(tokens)
    with pytest.raises(vl.LadderError) as told:
        tokens.find(secret)
    tokens.path.write_bytes(kept)
    later(tokens)

    assert str(tokens.path.parent) not in str(told.value)
    assert tokens.find(secret) is not None


def test_tokens_of_an_older_version_are_read(tokens: TokenFile) -> None:
    secret = tokens.add("trainer", ["score"])
    (row,) = json.loads(tokens.path.read_bytes())["tokens"]
    names = ("id", "name", "digest", "scopes", "made_at", "ends_at", "revoked_at")
    old = {name: row[name] for name in names}
    tokens.path.write_text(json.dumps({"tokens": [old]}))

    assert TokenFile(tokens.path).find(secret) is not None


def test_a_token_ends_by_itself(tokens: TokenFile) -> None:
    assert tokens.find(tokens.add("old", ["read"], lifetime=0.0)) is None
    assert tokens.find(tokens.add("new", ["read"], lifetime=60.0)) is not None


def test_a_name_is_free_again_when_its_token_is_over(tokens: TokenFile) -> None:
    first = tokens.add("trainer", ["score"])
    with pytest.raises(vl.ConfigError, match="taken"):
        tokens.add("trainer", ["score"])
    tokens.revoke("trainer")
    second = tokens.add("trainer", ["score"])

    assert [None, "trainer"] == [
        found and found.name for found in (tokens.find(first), tokens.find(second))
    ]
    assert 2 == len(tokens.tokens())


def test_a_token_may_be_for_some_runs(tokens: TokenFile) -> None:
    found = tokens.find(tokens.add("blue", ["score"], runs=["blue/", "blue-"]))

    assert found is not None
    assert [True, True, True, False, False] == [
        found.opens(run) for run in ("blue/1", "blue-1/eval", "blue/", "blue", "green/blue/")
    ]


@pytest.mark.parametrize(
    ("scopes", "run", "said"),
    [
        (["score", "answer"], "blue/", "answer can't be bound"),
        (["admin"], "blue/", "admin can't be bound"),
        (["score"], "", "can't be called"), (["score"], "a\nb", "can't be called"),
    ],
)  # fmt: skip
def test_what_can_not_be_bound_to_runs_is_refused(
    tokens: TokenFile, scopes: list[str], run: str, said: str
) -> None:
    with pytest.raises(vl.ConfigError, match=said):
        tokens.add("blue", scopes, runs=[run])

    assert not tokens.tokens()


@pytest.mark.parametrize("scopes", [[], ["write"]])
def test_scopes_that_there_are_not_are_refused(tokens: TokenFile, scopes: list[str]) -> None:
    with pytest.raises(vl.ConfigError, match="score, read, answer, admin"):
        tokens.add("x", scopes)


def test_what_is_no_token_can_not_be_revoked(tokens: TokenFile) -> None:
    with pytest.raises(vl.ConfigError, match="valid are: none"):
        tokens.revoke("nobody")


@pytest.mark.parametrize("text", ["", "{}", '{"tokens": [{}]}', '{"tokens": 1}', "\0" * 99])
def test_a_damaged_file_is_an_error_and_not_an_open_door(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text)

    with pytest.raises(vl.ConfigError, match="can't be read as a file of tokens"):
        TokenFile(tmp_path / "tokens")


def test_a_pipe_in_place_of_the_file_is_refused_and_not_waited_for(tokens: TokenFile) -> None:
    secret, kept = tokens.add("trainer", ["score"]), tokens.path.read_bytes()
    tokens.path.unlink()
    os.mkfifo(tokens.path)
    later(tokens)
    with ThreadPoolExecutor(1) as pool:
        # Who waits for the pipe finds the tokens in it, so that this ends whatever is done.
        written = pool.submit(write_to_pipe, tokens.path, kept)
        try:
            with pytest.raises(TokensUnreadableError):
                tokens.find(secret)
        finally:
            while not written.done():
                os.close(os.open(tokens.path, os.O_RDONLY | os.O_NONBLOCK))
    assert tokens.is_required
    tokens.path.unlink()
    tokens.path.write_bytes(kept)
    later(tokens)

    assert tokens.find(secret) is not None


def write_to_pipe(path: Path, content: bytes) -> None:
    with suppress(BrokenPipeError):
        path.write_bytes(content)


def test_a_file_that_is_too_large_is_refused(tokens: TokenFile) -> None:
    secret = tokens.add("trainer", ["score"])
    with tokens.path.open("ab") as file:
        file.write(b" " * 2**23)
    later(tokens)

    with pytest.raises(TokensUnreadableError):
        tokens.find(secret)


def test_no_token_is_made_that_would_make_the_file_too_large(
    tokens: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tokens.add("trainer", ["score"])
    size = tokens.path.stat().st_size
    monkeypatch.setattr("verifier_ladder.server.tokens._LARGEST", size)
    with pytest.raises(vl.ConfigError, match=f"more than {size} bytes"):
        tokens.add("other", ["score"])

    assert tokens.find(secret) is not None


@given(st.text())
def test_no_other_text_is_a_token(text: str) -> None:
    tokens = _shared()

    assert tokens.find(text) is None
    assert tokens.find(f"vladder_{tokens.tokens()[0].id}_{text}") is None


_made: list[TokenFile] = []


def _shared() -> TokenFile:
    if not _made:
        import tempfile

        _made.append(TokenFile(Path(tempfile.mkdtemp()) / "tokens"))
        _made[0].add("trainer", ["score"])
    return _made[0]


def later(tokens: TokenFile) -> None:
    """As if a second had gone by."""
    tokens._looked = float("-inf")
    if tokens.path.exists():
        state = tokens.path.stat()
        os.utime(tokens.path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))


def test_tokens_that_can_not_be_written_leave_no_file(
    tokens: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)

    with pytest.raises(vl.ConfigError, match="can't be written"):
        tokens.add("trainer", ["score"])

    assert [] == list(tokens.path.parent.iterdir())
