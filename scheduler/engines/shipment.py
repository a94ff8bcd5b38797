"""Shipments: verifiers as bytes that a worker can read."""

from __future__ import annotations

import itertools
import sys
from collections import OrderedDict
from threading import Lock
from typing import Any

import cloudpickle

from verifier_ladder.errors import ConfigError

_KEPT = 256


class Shipments:
    """The code of verifiers and canonicalisers, pickled once and named by a token.

    Classes and functions travel by reference where a worker can import them, and by value
    otherwise: those of `__main__` and of notebooks always, those of a module that only this
    process can import after a worker has said so.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lock = Lock()
        self._numbers = itertools.count()
        # The object is kept, so that its id can't be given to another one.
        self._known: OrderedDict[int, tuple[int, Any]] = OrderedDict()
        self._code: dict[int, bytes] = {}
        self._by_value: dict[int, set[str]] = {}

    def token(self, thing: Any) -> int:
        """The number that stands for this object in every worker."""
        with self._lock:
            if id(thing) not in self._known:
                self._known[id(thing)] = (next(self._numbers), thing)
                if len(self._known) > _KEPT:
                    _, (old, _) = self._known.popitem(last=False)
                    self._code.pop(old, None)
                    self._by_value.pop(old, None)
            self._known.move_to_end(id(thing))
            return self._known[id(thing)][0]

    def code(self, thing: Any) -> bytes:
        """The object as bytes.

        Raises:
            ConfigError: If it can't be pickled.
        """
        token = self.token(thing)
        with self._lock:
            if token not in self._code:
                self._code[token] = _dump(thing, self._by_value.get(token, set()))
            return self._code[token]

    def send_by_value(self, thing: Any, missing: str, sent: bytes | None) -> bool:
        """Pickle the code of a module by value from now on; False if `sent` was that already.

        Args:
            thing: What a worker could not read.
            missing: Name of the module that it could not import, if it knows.
            sent: What it was sent; another worker may have said the same meanwhile.
        """
        wanted = {missing, *_homes(thing)} if missing else _homes(thing)
        token = self.token(thing)
        with self._lock:
            modules = self._by_value.setdefault(token, set())
            new = {name for name in wanted if name in sys.modules} - modules
            modules |= new
            if new:
                self._code.pop(token, None)
            return self._code.get(token) != sent


def _homes(thing: Any) -> set[str]:
    """Modules of the object's class and of the function it wraps."""
    parts = (type(thing), getattr(thing, "function", None))
    names = {getattr(part, "__module__", None) or "" for part in parts}
    return {name for name in names if name and not name.startswith("verifier_ladder.")}


def _dump(thing: Any, by_value: set[str]) -> bytes:
    registered = [sys.modules[name] for name in sorted(by_value)]
    for module in registered:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(thing))
    except Exception as error:
        raise ConfigError(
            f"{thing!r} can't be sent to a worker process: {error}; open files, locks and "
            "connections in setup() instead of keeping them in the verifier or in a closure, "
            'or declare isolation="inline" if it can be trusted'
        ) from error
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)
