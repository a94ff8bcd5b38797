"""Keys: what makes two pieces of work the same.

Every key is a SHA-256 digest of 32 bytes over length-delimited parts, so no two different
inputs can be read as the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import orjson

from verifier_ladder.errors import ConfigError

NO_TASK = bytes(32)
"""Task digest of a check that reads no task field."""
_LARGEST_INTEGER = 2**53


def canonical_json(value: Any) -> bytes:
    """Write a value as the one canonical JSON text that stands for it (RFC 8785).

    The profile: text, booleans, null, integers below 2⁵³, lists and objects with ASCII keys.
    Floats become their shortest decimal text, because their JSON forms differ between writers.

    Raises:
        ConfigError: If the value leaves the profile, NaN and infinity included.

    Example:
        >>> canonical_json({"b": 1, "a": 0.5})
        b'{"a":"0.5","b":1}'
    """
    return orjson.dumps(_profile(value), option=orjson.OPT_SORT_KEYS)


def _profile(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        if abs(value) >= _LARGEST_INTEGER:
            raise ConfigError(f"{value} is too large for a key; give it as text")
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise ConfigError(f"{value!r} can't be part of a key; leave it out or give text")
        return repr(float(value))
    if isinstance(value, Mapping):
        for key in value:
            if not (isinstance(key, str) and key.isascii()):
                raise ConfigError(f"the name {key!r} can't be part of a key; use ASCII text")
        return {str(key): _profile(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_profile(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return {"sha256": hashlib.sha256(value).hexdigest()}
    raise ConfigError(
        f"a {type(value).__name__} can't be part of a key; give text, numbers, lists or objects"
    )


def digest(value: Any) -> bytes:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value)).digest()


def raw_key(kind: str, content: str | bytes) -> bytes:
    """Key of a candidate's bytes exactly as they were given.

    Lone surrogates, which a language model's tokenizer can emit, are kept apart from each other.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(b"vl:raw:1\0%s\0%s" % (kind.encode(), data)).digest()


def content_key(kind: str, canonical: str | bytes) -> bytes:
    """Key of a candidate's canonical form: the same for every spelling of one thing."""
    data = canonical.encode("utf-8", "surrogatepass") if isinstance(canonical, str) else canonical
    return hashlib.sha256(b"vl:content:1\0%s\0%s" % (kind.encode(), data)).digest()


def check_key(
    verifier: bytes, content: bytes, task: bytes = NO_TASK, turns: bytes = NO_TASK, replicate: int = 0
) -> bytes:
    """Key of one check: the same work has the same key on every machine.

    Args:
        verifier: `Verifier.digest`: name, version, settings, tools, cache namespace.
        content: The content key, or the raw key for a verifier that reads raw text.
        task: Digest of the task fields that the verifier reads.
        turns: Digest of the trajectory, if the verifier reads it.
        replicate: Number of the repetition, from 0, of a stochastic verifier.
    """
    parts = b"vl:check:1\0" + verifier + content + task + turns + replicate.to_bytes(4, "big")
    return hashlib.sha256(parts).digest()


def seed(key: bytes) -> int:
    """Random seed of a check, derived from its key: 63 bits, so every library takes it."""
    return int.from_bytes(key[:8], "big") >> 1
