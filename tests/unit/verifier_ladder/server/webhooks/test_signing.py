"""Messages are signed as Standard Webhooks says, and nothing else passes."""

import hmac
from base64 import b64decode, b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.server.webhooks.signing import (
    SignatureError,
    announced,
    check,
    key_of,
    new_secret,
    signed,
)

NOW = 1_700_000_000.0
KEY = b"k" * 32


def test_the_signature_is_an_hmac_over_id_time_and_body() -> None:
    secret = "whsec_" + b64encode(KEY).decode()
    headers = signed(key_of(secret), "msg_1", int(NOW), b'{"a": 1}')
    wanted = hmac.new(KEY, b'msg_1.1700000000.{"a": 1}', "sha256").digest()

    assert {"webhook-id": "msg_1", "webhook-timestamp": "1700000000"}.items() <= headers.items()
    assert wanted == b64decode(headers["webhook-signature"].removeprefix("v1,"))


@given(st.binary(max_size=200), st.text("abc_1", min_size=1, max_size=20))
def test_what_was_signed_passes_under_either_of_two_keys(body: bytes, identity: str) -> None:
    old, new = b"o" * 32, b"n" * 32

    for key in (old, new):
        headers = signed(key, identity, int(NOW), body)
        assert identity == check([old, new], headers, body, NOW)


@given(st.binary(max_size=50), st.data())
def test_no_other_message_passes(body: bytes, data: st.DataObject) -> None:
    headers = signed(KEY, "msg_1", int(NOW), body)
    other = data.draw(st.binary(max_size=50).filter(lambda it: it != body))
    changes = {
        "webhook-id": st.text(max_size=5).filter(lambda it: it != "msg_1"),
        "webhook-timestamp": st.just(str(int(NOW) + 1)),
        "webhook-signature": st.text(max_size=60),
    }
    name = data.draw(st.sampled_from(sorted(changes)))

    with pytest.raises(SignatureError):
        check([KEY], headers, other, NOW)
    with pytest.raises(SignatureError):
        check([KEY], headers | {name: data.draw(changes[name])}, body, NOW)
    with pytest.raises(SignatureError):
        check([b"x" * 32], headers, body, NOW)


@pytest.mark.parametrize("late", [-301, 301, 1e9])
def test_old_messages_are_refused(late: float) -> None:
    with pytest.raises(SignatureError, match="clock"):
        check([KEY], signed(KEY, "m", int(NOW), b""), b"", NOW + late)


@pytest.mark.parametrize("moment", ["x", "-1", "1.5", "9" * 400, "9" * 4301])
def test_a_time_that_is_none_is_refused(moment: str) -> None:
    headers = {"webhook-id": "m", "webhook-timestamp": moment, "webhook-signature": "v1,AA=="}

    with pytest.raises(SignatureError, match="webhook-timestamp"):
        announced(headers, NOW)


@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_every_header_is_needed(missing: str) -> None:
    headers = {k: v for k, v in signed(KEY, "m", int(NOW), b"").items() if k != missing}

    with pytest.raises(SignatureError, match=missing):
        check([KEY], headers, b"", NOW)


def test_a_new_secret_is_one() -> None:
    assert 32 == len(key_of(new_secret()))
    assert new_secret() != new_secret()


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_c2hvcnQ=", "password", "whsec_!!!!"])
def test_short_secrets_are_refused(secret: str) -> None:
    with pytest.raises(vl.ConfigError, match="vladder token secret"):
        key_of(secret)
