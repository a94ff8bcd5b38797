"""Keys: what makes two pieces of work the same.

Every key is a SHA-256 digest of 32 bytes over length-delimited parts, so no two different
inputs can be read as the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from math import isfinite
from typing import Any

import orjson

from verifier_ladder.errors import ConfigError

NO_TASK = bytes(32)
"""Task digest of a check that reads no task field."""
_CHECK = b"vl:check:1\0"
_GROUP = b"vl:group:1\0"
_LARGEST_INTEGER = 2**53
_SIMPLE = {str, int, bool, type(None)}
_AT_ONCE = 2**16
"""Characters of a content that are hashed together."""
_FEW, _SHORT = 16, 2048
"""Fields of a task that is remembered, and characters of their texts."""


def canonical_json(value: Any) -> bytes:
    r"""Write a value as the one canonical JSON text that stands for it (RFC 8785).

    The profile: text, booleans, null, integers below 2⁵³, lists and objects with ASCII names.
    Floats, whose JSON forms differ between writers, and bytes and text with lone surrogates,
    which no JSON can hold, become objects of one field: their shortest decimal text, a digest, or
    their bytes. Its name is not ASCII, so that nothing else is written alike.

    Raises:
        ConfigError: If the value leaves the profile, NaN and infinity included, or nests deeper
            than JSON writers allow.

    Example:
        >>> canonical_json({"b": 1, "a": 0.5})
        b'{"a":{"\xc2\xabfloat\xc2\xbb":"0.5"},"b":1}'
    """
    try:
        return orjson.dumps(_profile(value), option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONEncodeError, RecursionError):
        raise ConfigError("a value that nests so deeply can't be part of a key") from None


def _profile(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, Mapping):
        return {_name(key): _profile(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_profile(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return {"«sha256»": hashlib.sha256(value).hexdigest()}
    raise ConfigError(
        f"a {type(value).__name__} can't be part of a key; give text, numbers, lists or objects"
    )


def _number(value: float) -> int | dict[str, str]:
    if isinstance(value, int):
        if abs(value) >= _LARGEST_INTEGER:
            size = f"an integer of {value.bit_length()} bits"
            raise ConfigError(f"{size} is too large for a key; give it as text")
        return int(value)
    if not isfinite(value):
        raise ConfigError(f"{value!r} can't be part of a key; leave it out or give text")
    return {"«float»": repr(float(value))}


def _name(key: object) -> str:
    if not (isinstance(key, str) and key.isascii()):
        raise ConfigError(f"the name {key!r} can't be part of a key; use ASCII text")
    return str(key)


def _text(value: str) -> Any:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"«surrogatepass»": value.encode("utf-8", "surrogatepass").hex()}
    return str.__str__(value)  # An enumeration's value, as it is stored, not its name.


@lru_cache(maxsize=256)
def _head(purpose: bytes, kind: str) -> bytes:
    name = kind.encode("utf-8", "surrogatepass")
    return b"vl:%s:1\0%d\0%s\0" % (purpose, len(name), name)


def _of_kind(purpose: bytes, kind: str, content: str | bytes) -> bytes:
    """Key of a content: text and its bytes differ, for a verifier is given one or the other."""
    if not isinstance(content, str):
        purpose += b"-bytes"
    sha = hashlib.sha256(_head(purpose, kind))
    for start in range(0, len(content), _AT_ONCE):  # A second copy of a long one may be too much.
        part = content[start : start + _AT_ONCE]
        # A language model's tokenizer can emit lone surrogates.
        sha.update(part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part)
    return sha.digest()


def digest(value: Any) -> bytes:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value)).digest()


def task_digest(task: Mapping[str, Any]) -> bytes:
    """`digest` of a task's fields; `NO_TASK` if there are none.

    The candidates of a group have equal tasks, most often of a few texts and whole numbers;
    those are digested once.
    """
    if not task:
        return NO_TASK
    types = (*map(type, task), *map(type, task.values()))
    is_short = len(task) <= _FEW and _SIMPLE.issuperset(types)
    if is_short and sum([len(text) for text in task.values() if type(text) is str]) <= _SHORT:
        return _digest_of(tuple(task.items()), types)
    return digest(dict(task))


@lru_cache(maxsize=8192)
def _digest_of(items: tuple[tuple[str, Any], ...], _types: tuple[type, ...]) -> bytes:
    # With the types, for 1 and True are equal.
    return digest(dict(items))


def raw_key(kind: str, content: str | bytes) -> bytes:
    """Key of a candidate's bytes exactly as they were given."""
    return _of_kind(b"raw", kind, content)


def content_key(kind: str, canonical: str | bytes) -> bytes:
    """Key of a candidate's canonical form: the same for every spelling of one thing."""
    return _of_kind(b"content", kind, canonical)


def check_key(
    verifier: bytes,
    content: bytes,
    task: bytes = NO_TASK,
    turns: bytes = NO_TASK,
    replicate: int = 0,
) -> bytes:
    """Key of one check: the same work has the same key on every machine.

    The first four are digests of 32 bytes, so their boundaries can't be mistaken.

    Args:
        verifier: `Verifier.digest`: name, version, settings, tools.
        content: The content key, or the raw key for a verifier that reads raw text.
        task: Digest of the task fields that the verifier reads.
        turns: Digest of the trajectory, if the verifier reads it.
        replicate: Number of the repetition, from 0, of a stochastic verifier.
    """
    return hashlib.sha256(_CHECK + verifier + _rest(content, task, turns, replicate)).digest()


def _rest(content: bytes, task: bytes, turns: bytes, replicate: int) -> bytes:
    """What follows the verifier's digest in what a check key is made of."""
    return content + task + turns + replicate.to_bytes(4, "big")


def in_namespace(verifier: bytes, namespace: str) -> bytes:
    """The digest that stands for a verifier in the check keys of a cache namespace.

    In the default namespace, "", it is the verifier's own: those keys are the same everywhere.

    Example:
        >>> in_namespace(b"v" * 32, "") == b"v" * 32, len(in_namespace(b"v" * 32, "eval"))
        (True, 32)
    """
    if not namespace:
        return verifier
    return hashlib.sha256(_head(b"namespace", namespace) + verifier).digest()


def group_key(verifier: bytes, members: Iterable[bytes]) -> bytes:
    """Key of one check of a whole group: whichever order its members come in, it is the same.

    Args:
        verifier: `Verifier.key_digest`.
        members: The check key that each member would have by itself; equal ones are repeated.

    Example:
        >>> a, b = bytes(32), bytes([1] * 32)
        >>> group_key(a, [a, b]) == group_key(a, [b, a]) != group_key(a, [a, b, b])
        True
    """
    return hashlib.sha256(_GROUP + verifier + b"".join(sorted(members))).digest()


def member_key(group: bytes, member: bytes) -> bytes:
    """Key of what a group's check says of one member.

    Args:
        group: `group_key` of all of them.
        member: The check key that the member would have by itself.
    """
    return hashlib.sha256(_GROUP + group + member).digest()


def raw_keys(kind: str, contents: Iterable[str | bytes]) -> list[bytes]:
    """`raw_key` of many contents, in half the time."""
    return _all_of_kind(b"raw", kind, contents)


def content_keys(kind: str, canonical: Iterable[str | bytes]) -> list[bytes]:
    """`content_key` of many contents, in half the time."""
    return _all_of_kind(b"content", kind, canonical)


def _all_of_kind(purpose: bytes, kind: str, contents: Iterable[str | bytes]) -> list[bytes]:
    contents = list(contents)
    try:  # Nearly always all are text that UTF-8 can write.
        return _digests(_head(purpose, kind), map(str.encode, contents))  # type: ignore[arg-type]
    except (TypeError, UnicodeEncodeError):
        return [_of_kind(purpose, kind, content) for content in contents]


def _digests(head: bytes, rests: Iterable[bytes]) -> list[bytes]:
    """SHA-256 of many texts that begin alike: a copy of what has read the head is quicker."""
    copy = hashlib.sha256(head).copy
    found = []
    for rest in rests:
        sha = copy()
        sha.update(rest)
        found.append(sha.digest())
    return found


def check_keys(
    verifier: bytes,
    contents: Iterable[bytes],
    replicate: int = 0,
    *,
    tasks: Iterable[bytes] | None = None,
    turns: Iterable[bytes] | None = None,
) -> list[bytes]:
    """`check_key` of many contents; without tasks and turns, of a verifier that reads none."""
    if tasks is None and turns is None:
        tail = NO_TASK + NO_TASK + replicate.to_bytes(4, "big")
        return _digests(_CHECK + verifier, [content + tail for content in contents])
    rows = zip(contents, tasks or repeat(NO_TASK), turns or repeat(NO_TASK), strict=False)
    return _digests(_CHECK + verifier, [_rest(*row, replicate) for row in rows])


def seed(key: bytes) -> int:
    """Random seed of a check, derived from its key: 63 bits, so every library takes it."""
    return int.from_bytes(key[:8], "big") >> 1


def alike(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same: 1 is 1.0, and neither is true.

    Example:
        >>> alike({"a": [1]}, {"a": [1.0]}), alike({"a": [1]}, {"a": [True]})
        (True, False)
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[n], other[n]) for n in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)
