"""Messages between a worker and a service: plain data and arrays of numbers, never objects.

A candidate may have spoiled the worker that asks, and a service answers for all of them.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.msgpack import Decoder, Encoder, Ext

from verifier_ladder.errors import ConfigError
from verifier_ladder.text import mended

LARGEST = 1 << 30
"""Bytes of a call or an answer."""
_ARRAY = 1
_KINDS = "biufc"
"""Kinds of numpy arrays that may cross: truth values and numbers."""
_SIZE = 8


def _as_plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        head = _ENCODER.encode((value.dtype.str, value.shape))
        return Ext(_ARRAY, len(head).to_bytes(4, "big") + head + value.tobytes())
    raise TypeError(type(value).__name__)


def _extension(code: int, data: memoryview) -> Any:
    if code != _ARRAY:
        raise ValueError("it holds what is no array")
    end = 4 + int.from_bytes(data[:4], "big")
    kind, shape = Decoder(tuple[str, tuple[int, ...]]).decode(data[4:end])
    dtype = np.dtype(kind)
    if dtype.kind not in _KINDS:
        raise ValueError("it holds an array of no numbers")
    return np.frombuffer(data[end:], dtype).reshape(shape).copy()


_ENCODER, _DECODER = Encoder(enc_hook=_as_plain), Decoder(ext_hook=_extension)


def pack(message: Any, what: str) -> bytes:
    """A message as bytes.

    Args:
        message: Plain data; tuples become lists, and halves of characters U+FFFD.
        what: What it is called where it can't be one.

    Raises:
        ConfigError: If it holds anything else, or is too large.

    Example:
        >>> unpack(pack({"x": np.array([1.5, 2.5])}, "the answer"))
        {'x': array([1.5, 2.5])}
    """
    try:
        made = _encoded(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ConfigError(
            f"{what} can't be sent ({error}): give numbers, texts, bytes, lists, tables and numpy "
            "arrays of numbers"
        ) from None
    if len(made) > LARGEST:
        raise ConfigError(f"{what} has {len(made):,} bytes, and {LARGEST:,} is the most")
    return made


def _encoded(message: Any) -> bytes:
    try:
        return _ENCODER.encode(message)
    except UnicodeEncodeError:  # A tokenizer can emit half of a character.
        return _ENCODER.encode(_whole(message))


def _whole(value: Any) -> Any:
    """Plain data whose texts can be written as UTF-8."""
    if isinstance(value, Mapping):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(_whole, value))
    return mended(value) if isinstance(value, str) else value


def unpack(message: bytes) -> Any:
    """The message that `pack` made bytes of.

    Raises:
        ValueError: If they are none.
    """
    return _DECODER.decode(message)


def send(connection: socket.socket, message: bytes) -> None:
    """Send a packed message.

    Raises:
        OSError: If the other side has gone.
    """
    connection.sendall(len(message).to_bytes(_SIZE, "big") + message)


def receive(connection: socket.socket) -> Any:
    """Wait for a message.

    Raises:
        EOFError: If the other side has hung up.
        OSError: If the connection broke.
        ValueError: If it can't be read.
    """
    size = int.from_bytes(_exactly(connection, _SIZE), "big")
    if size > LARGEST:
        raise ValueError(f"a message of {size} bytes")
    return unpack(_exactly(connection, size))


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
