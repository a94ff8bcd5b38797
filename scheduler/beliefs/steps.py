"""Steps: how many labels are learnt at once."""

from __future__ import annotations

from collections.abc import Iterator

SETTLED = 64
"""Labels after which scales and knots are taken anew no more."""
_LARGEST = 256


def steps(count: int, size: int) -> Iterator[slice]:
    """Cut new labels into runs that are learnt at once, none of which changes much.

    A run is an eighth of what is known already, so that predictions can be checked against
    labels before these are learnt. No run passes a count at which scales are taken anew.

    Example:
        >>> [rows.stop - rows.start for rows in steps(13, 8)]
        [2, 1, 3, 2]
    """
    done = 0
    while done < size:
        known = count + done
        run = min(known // 8 + 1, _LARGEST, size - done)
        if known < SETTLED:
            run = min(run, (1 << known.bit_length()) - known)
        yield slice(done, done + run)
        done += run
