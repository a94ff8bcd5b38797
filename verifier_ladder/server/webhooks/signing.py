"""Signing: a message carries an HMAC over its id, its time and its exact bytes."""

from __future__ import annotations

import hmac
import secrets
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence

from verifier_ladder.arguments import whole_number
from verifier_ladder.errors import ConfigError, LadderError

ID, TIME, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
_MARK = "whsec_"
_WINDOW = 300.0
"""Seconds by which a message may be old, or ahead; older ones may be replayed."""
_SHORTEST = 16
_LONGEST_ID = 256


class SignatureError(LadderError):
    """A message was not signed by who it says, or not lately."""


def new_secret() -> str:
    """A secret to share with the other side.

    Example:
        >>> len(key_of(new_secret()))
        32
    """
    return _MARK + b64encode(secrets.token_bytes(32)).decode("ascii")


def key_of(secret: str) -> bytes:
    """The key that a secret stands for.

    Raises:
        ConfigError: If it is none, or too short to protect anything.
    """
    try:
        key = b64decode(secret.removeprefix(_MARK), validate=True)
    except (NotBase64, ValueError):
        key = b""
    if len(key) < _SHORTEST:
        raise ConfigError(
            f"a webhook's secret is {_MARK} and {_SHORTEST} bytes or more in base64; make one "
            "with `vladder token secret`"
        )
    return key


def signed(key: bytes, identity: str, moment: int, body: bytes) -> dict[str, str]:
    """The headers of a message.

    Example:
        >>> signed(b"k" * 32, "msg_1", 1700000000, b"{}")["webhook-id"]
        'msg_1'
    """
    return {
        ID: identity, TIME: str(moment),
        SIGNATURE: f"v1,{_signature(key, identity, str(moment), body)}",
    }  # fmt: skip


def check(keys: Sequence[bytes], headers: Mapping[str, str], body: bytes, now: float) -> str:
    """The id of a message that was signed with one of the keys.

    Args:
        keys: Those that are valid: two while a secret is being replaced.
        headers: Of the message, by lower-case name.
        body: Its exact bytes.
        now: Seconds since 1970.

    Raises:
        SignatureError: If it was not, or is too old.
    """
    identity, moment = announced(headers, now)
    given = [part[3:] for part in headers.get(SIGNATURE, "").split() if part.startswith("v1,")]
    wanted = [_signature(key, identity, moment, body) for key in keys]
    # Every pair is compared, so that the time says nothing.
    matches = [
        hmac.compare_digest(one.encode(), other.encode()) for one in given for other in wanted
    ]
    if not any(matches):
        raise SignatureError(f"{SIGNATURE} is not of this secret")
    return identity


def announced(headers: Mapping[str, str], now: float) -> tuple[str, str]:
    """A message's id and time, as its headers tell them before anybody has read its body.

    Args:
        headers: Of the message, by lower-case name.
        now: Seconds since 1970.

    Raises:
        SignatureError: If they can't be those of a message that was signed lately.
    """
    identity, moment = headers.get(ID, ""), headers.get(TIME, "")
    if not 0 < len(identity) <= _LONGEST_ID:
        raise SignatureError(f"{ID} is missing or too long")
    said = whole_number(moment)
    if said is None or abs(now - said) > _WINDOW:
        raise SignatureError(
            f"{TIME} is missing, or more than {_WINDOW:g} s off; look at the sender's clock"
        )
    if not any(part.startswith("v1,") for part in headers.get(SIGNATURE, "").split()):
        raise SignatureError(f"{SIGNATURE} is not of this secret")
    return identity, moment


def _signature(key: bytes, identity: str, moment: str, body: bytes) -> str:
    message = f"{identity}.{moment}.".encode() + body
    return b64encode(hmac.digest(key, message, "sha256")).decode("ascii")
