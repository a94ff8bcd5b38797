"""Sessions last as long as they are used, and no longer than the token that opened them."""

from pathlib import Path

import pytest

from verifier_ladder.server.sessions import _MOST, IDLE, Sessions
from verifier_ladder.server.tokens import TokenFile


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(tokens: TokenFile, clock: Clock) -> Sessions:
    return Sessions(tokens, clock)


def test_a_session_ends_after_an_hour_in_which_nobody_uses_it(
    tokens: TokenFile, sessions: Sessions, clock: Clock
) -> None:
    cookie = sessions.begin(tokens.add("ada", ["answer"]))
    assert cookie is not None
    for _ in range(3):
        clock.now += 0.9 * IDLE
        assert sessions.token(cookie) is not None
    clock.now += 0.9 * IDLE
    assert sessions.token(cookie, is_used=False) is not None  # A page that looks for news.
    clock.now += 0.2 * IDLE

    assert sessions.token(cookie) is None
    assert sessions.token(cookie) is None


def test_a_session_ends_with_its_token(tokens: TokenFile, sessions: Sessions) -> None:
    cookie, other = (sessions.begin(tokens.add(name, ["read"])) for name in ("ada", "bob"))
    assert cookie is not None
    assert other is not None
    tokens.revoke("ada")

    assert sessions.token(cookie) is None
    assert sessions.token(other) is not None


def test_a_session_is_of_a_token_and_of_no_namesake(tokens: TokenFile, sessions: Sessions) -> None:
    cookie = sessions.begin(tokens.add("ada", ["read"]))
    assert cookie is not None
    text = tokens.path.read_text()
    digest = tokens.tokens()[0].digest
    tokens.path.write_text(text.replace(digest, "0" * len(digest)))
    tokens._looked = float("-inf")

    assert sessions.token(cookie) is None


def test_one_token_has_so_many_sessions_and_ends_its_own_oldest(
    tokens: TokenFile, sessions: Sessions
) -> None:
    secret = tokens.add("ada", ["read"])
    other = sessions.begin(tokens.add("bob", ["read"]))
    cookies = [sessions.begin(secret) for _ in range(_MOST + 2)]

    alive = [cookie is not None and sessions.token(cookie) is not None for cookie in cookies]
    assert [False] * 2 + [True] * _MOST == alive
    assert other is not None
    assert sessions.token(other) is not None


def test_a_form_is_of_one_cookie_and_one_server(tokens: TokenFile, sessions: Sessions) -> None:
    shown = sessions.form_token("a")

    assert sessions.is_form_token("a", shown)
    for cookie, text in (("b", shown), ("a", ""), ("a", shown[:-1]), ("a", "é\ud800")):
        assert not sessions.is_form_token(cookie, text)
    assert not sessions.is_form_token("", sessions.form_token(""))
    assert not Sessions(tokens).is_form_token("a", shown)


def test_what_is_no_token_begins_no_session(tokens: TokenFile, sessions: Sessions) -> None:
    tokens.add("ada", ["read"])

    assert sessions.begin("vladder_00000000_nothing") is None
    assert Sessions(None).begin("anything") is None
    assert sessions.token("anything") is None
