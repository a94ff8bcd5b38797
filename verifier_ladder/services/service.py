"""The service: what a verifier declares to have one process hold a model for all workers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import canonical_json, digest
from verifier_ladder.sourcecode import PREFIX, SourceVersion

if TYPE_CHECKING:
    from verifier_ladder.services.connection import Connection
    from verifier_ladder.verifiers import Verifier

_NOT_CODE = {"settings", "digest", "version", "gpu_memory", "threads", "grace", "_connection"}


class Service:
    """Base class of a service: one process of a machine that loads something for all workers.

    A subclass sets the class attributes, takes its settings in `__init__` and passes those that
    affect results to `super().__init__(**settings)`. `setup` runs once, in the service's process;
    so do its other public methods, when a verifier asks `call`.

    **Guarantees to the author.** Methods are called from the main thread, one after the other, in
    a process that has neither the limits nor the secrets of the worker that started it.

    **Life.** The process starts with the first worker that needs it. It ends when no process has
    been connected for `grace` seconds, also when all were killed, and at once when others wait for
    its GPU memory while nobody works with it.

    **Turns.** What a check waits for calls of others is no part of its `timeout`. One without end
    is ended with the check that made it, after `grace`, and those behind it go on.

    **Crashes** are never held against a candidate: the call is made again, in a new process. So a
    call may be made twice.

    Example:
        >>> class Doubler(Service):
        ...     name, version = "doubler", "1"
        ...     def double(self, number):
        ...         return 2 * number
        >>> Doubler().as_json()
        {'name': 'doubler', 'version': '1'}
    """

    name: str = ""
    version: str = cast("str", SourceVersion())
    """As of a verifier: a digest of the source code if none is given."""
    tools: Mapping[str, str] = {}
    """Versions of the tools that affect results."""
    gpu_memory: int | None = None
    """Bytes of GPU memory that its process takes; None if it uses no GPU. Where they are not free,
    checks of its verifiers wait in the queue. The process sees one GPU, in
    `CUDA_VISIBLE_DEVICES`."""
    threads: int = 1
    """How many threads numerical libraries may start, as `OMP_NUM_THREADS` and its like say."""
    grace: float = 10.0
    """Seconds for which the process stays when nobody is connected any more."""

    def __init__(self, **settings: Any) -> None:
        """Keep the settings that affect results.

        Args:
            settings: JSON values; they are part of the check key of every verifier that has it.

        Raises:
            ConfigError: If it lacks a name, or an attribute makes no sense.
        """
        identity: tuple[object, ...] = (self.name, vars(type(self)).get("version", PREFIX))
        if not all(isinstance(part, str | SourceVersion) and part for part in identity):
            raise ConfigError(
                f"service {type(self).__name__} needs a name and a version, as text; both are "
                "part of what verdicts are filed under"
            )
        _check_numbers(self)
        self.settings: dict[str, Any] = settings
        canonical_json({"settings": settings, "tools": dict(self.tools)})
        self._connection: Connection | None = None

    @cached_property
    def digest(self) -> bytes:
        """Digest of all that affects its results: name, version, settings, tools."""
        return digest({
            "name": self.name, "version": self.version, "settings": self.settings,
            "tools": dict(self.tools),
        })  # fmt: skip

    def _depends_on(self) -> object:
        """What its results depend on beside its settings."""
        return [type(self), {k: v for k, v in vars(self).items() if k not in _NOT_CODE}]

    def __getstate__(self) -> dict[str, Any]:
        """Travel with the version that it has here, and without the connection."""
        return {**vars(self), "version": self.version, "_connection": None}

    def setup(self) -> None:
        """Load the model; runs once in the service's process, before the first call."""

    def start(self) -> None:
        """Connect to the process, started if there is none, and wait until it is set up.

        Raises:
            ServiceError: If it can't be started, or its `setup` fails.
        """
        self._connected().open()

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Have one of its methods called in its process, and wait for what it returns.

        Args:
            method: Its name.
            arguments: Plain data: numbers, texts, bytes, lists, tables, numpy arrays of numbers.
                So are what it returns; tuples become lists.
            options: The same, by name.

        Raises:
            CandidateError: If the method raises it. What programs raise about values that they did
                not expect, such as `ValueError`, is raised again as itself.
            VerifierError: If the method raises anything else.
            ServiceError: If the process can't be started, or dies at each try.
            ConfigError: If there is no such method, or an argument can't be sent.
        """
        self.check_method(method)
        return self._connected().call(method, arguments, options)

    def check_method(self, method: str) -> None:
        """Refuse what is no method that may be called.

        Raises:
            ConfigError: If it is none.
        """
        own = [name for name in dir(type(self)) if name not in _OURS and name[0] != "_"]
        if method not in own or not callable(getattr(type(self), method)):
            raise ConfigError(
                f"service {self.name} has no method {method!r:.100}; it has {', '.join(own)}"
            )

    def hang_up(self) -> None:
        """Close this process's connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()

    @property
    def busy(self) -> float:
        """Seconds that its process was at calls of this object, by the wall.

        A verifier whose service works on a GPU may tell them as `Cost(gpu_seconds=…)`; cpu time
        is charged by itself.
        """
        return 0.0 if self._connection is None else self._connection.busy

    def as_json(self) -> dict[str, Any]:
        """What the ledger records of it."""
        rest: dict[str, Any] = {
            "settings": self.settings, "tools": dict(self.tools), "gpu_memory": self.gpu_memory,
        }  # fmt: skip
        told = {name: value for name, value in rest.items() if value}
        return {"name": self.name, "version": self.version, **told}

    def __repr__(self) -> str:
        """Show what identifies it."""
        return f"<service {self.name}>"

    def _connected(self) -> Connection:
        if self._connection is None:
            from verifier_ladder.services.connection import Connection

            self._connection = Connection(self)
        return self._connection


def digests_of(services: Mapping[str, Service]) -> dict[str, Any]:
    """What a verifier's own digest is made of beside others, where it has services."""
    digests = {name: service.digest.hex() for name, service in services.items()}
    return {"services": digests} if digests else {}


def _check_numbers(service: Service) -> None:
    wanted: tuple[tuple[str, Any, Any], ...] = (
        ("gpu_memory", service.gpu_memory or 1, int), ("threads", service.threads, int),
        ("grace", service.grace, (int, float)),
    )  # fmt: skip
    for what, value, kind in wanted:
        if not isinstance(value, kind) or isinstance(value, bool) or value <= 0:
            raise ConfigError(
                f"{what}={value!r} of service {service.name}: give a positive number"
            )


_OURS = frozenset(dir(Service))
"""Names that are no methods of a service itself."""


def checked_services(verifier: Verifier) -> dict[str, Service]:
    """The services that a verifier declares, by the names that it gives them.

    Raises:
        ConfigError: If that is not what it declares.
    """
    declared: Any = verifier.services
    is_table = isinstance(declared, Mapping)
    if not is_table or not all(isinstance(one, Service) for one in declared.values()):
        raise ConfigError(
            f"services={declared!r:.200} of verifier {verifier.name}: give services by name, such "
            'as services={"model": MyModel()}, each of a subclass of vl.Service'
        )
    if declared and verifier.isolation == "inline":
        raise ConfigError(
            f"verifier {verifier.name} has a service, which answers worker processes; leave out "
            'isolation="inline"'
        )
    return dict(declared)
