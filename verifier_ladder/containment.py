"""Containment: what a thread in the background needs to outlive anybody's code.

Much that is raised is no `Exception`: the panics of libraries written in Rust, `sys.exit`,
asyncio's cancellation. So a thread that runs others' code catches `BaseException`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any, Final

_MOST_ERRORS: Final = 20
"""Different errors that are logged."""


def ends_program(error: BaseException) -> bool:
    """Whether an error is meant to end the program, such as Ctrl-C, not raised by faulty code.

    Signals are heard in the main thread alone: elsewhere nobody asks for the end of the program.

    Example:
        >>> ends_program(KeyboardInterrupt()), ends_program(ValueError())
        (True, False)
    """
    is_wish = isinstance(error, (KeyboardInterrupt, SystemExit))
    return is_wish and current_thread() is main_thread()


def words_of(error: BaseException) -> str:
    """What an error says; one that can't say it costs nobody more than its text.

    Example:
        >>> words_of(ValueError("too long"))
        'too long'
    """
    try:
        return str(error)
    except BaseException as other:
        if ends_program(other):
            raise
        return f"(it can't be told: {type(other).__name__})"


def text_of(error: BaseException) -> str:
    """Type and words of an error.

    Example:
        >>> text_of(ValueError("too long"))
        'ValueError: too long'
    """
    return f"{type(error).__name__}: {words_of(error)}"


class ContainedLog(logging.LoggerAdapter[logging.Logger]):
    """A log whose handlers and filters cost a thread nothing when they raise.

    Example:
        >>> ContainedLog("verifier_ladder").debug("the engine goes on")
    """

    def __init__(self, name: str) -> None:
        """Log under this name."""
        super().__init__(logging.getLogger(name))

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log as usual; what a handler raises is lost."""
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
        try:
            super().log(level, msg, *args, **kwargs)
        except BaseException as error:
            if ends_program(error):
                raise


class Containment:
    """Runs others' code: what it raises is logged, once for each error, and costs nobody more.

    **Threads** may share it.

    Example:
        >>> contained = Containment(ContainedLog("verifier_ladder"), "the exporter failed")
        >>> with contained():
        ...     print("told")
        told
    """

    def __init__(self, log: ContainedLog, what: str) -> None:
        """Log there; `what` says what has failed, before the error's own words."""
        self._log, self._what = log, what
        self._errors: set[str] = set()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Around the code."""
        try:
            yield
        except BaseException as error:
            if ends_program(error):
                raise
            text = text_of(error)
            if text not in self._errors and len(self._errors) < _MOST_ERRORS:
                self._errors.add(text)
                self._log.warning("%s: %s", self._what, text)
