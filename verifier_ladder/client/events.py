"""Events: the lines of a stream, put together again."""

from __future__ import annotations


class Events:
    """Puts the lines of a stream of server-sent events together.

    Example:
        >>> events = Events()
        >>> [events.add(line) for line in ("id: 7", "data: {}", "")]
        [None, None, b'{}']
        >>> events.last
        7
    """

    def __init__(self, last: int = 0) -> None:
        """Begin without any.

        Args:
            last: Cursor from which to go on as long as no event names another one.
        """
        self.last = last
        """Cursor from which to go on."""
        self._data: list[str] = []
        self._id: int | None = None

    def add(self, line: str) -> bytes | None:
        """Take one line; gives the data of an event that it ends."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and line:
            self._data.append(value)
        elif name == "id":
            self._id = int(value)
        elif not line:
            return self._end()
        return None

    def _end(self) -> bytes | None:
        """Take a cursor, which may come without an event, and give the event's data."""
        if self._id is not None:
            self.last, self._id = self._id, None
        data, self._data = self._data, []
        return "\n".join(data).encode() if data else None
