from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """As the engine's workers have it: several wait for each other."""
    with threadpool_limits(1):
        yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
