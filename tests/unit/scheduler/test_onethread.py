"""One thread: linear algebra stays on the core that asks for it."""

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from verifier_ladder.scheduler.onethread import one_thread


def threads() -> set[Any]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_gets_its_threads_back_when_the_last_stretch_has_ended() -> None:
    np.linalg.inv(np.eye(3))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        if before != {2}:
            pytest.skip(f"this BLAS can't be told how many threads to use: {before}")
        with one_thread:
            with one_thread:
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == {2}
