"""What a service declares, what may cross to it, and what GPUs are there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.services.gpumemory import (
    GpusNotKnownError,
    Room,
    devices,
    problem,
    rooms_for,
)
from verifier_ladder.services.messages import pack, unpack


class Energy(vl.Service):
    name, version = "energy", "1"

    def __init__(self, level: int = 1) -> None:
        super().__init__(level=level)

    def energy(self, atoms: int) -> float:
        return float(atoms)


def judged(service: vl.Service, **attributes: Any) -> vl.Verifier:
    body = {"name": "judge", "version": "1", "services": {"model": service}, **attributes}
    return type("Judge", (vl.Verifier,), body)()  # type: ignore[no-any-return]


def test_a_services_settings_and_version_are_part_of_the_verifiers_key() -> None:
    newer = type("Energy", (Energy,), {"version": "2"})
    digests = {judged(one).digest for one in (Energy(1), Energy(2), newer(1))}

    assert 3 == len(digests)
    assert judged(Energy(1)).digest in digests


def test_without_a_version_the_source_code_is_it() -> None:
    class Sourced(vl.Service):
        name = "sourced"

    assert Sourced().version.startswith("source-")


def test_what_a_verifier_is_told_of_shows_its_services() -> None:
    told = judged(Energy(3)).as_json()["services"]

    assert {"model": {"name": "energy", "version": "1", "settings": {"level": 3}}} == told


def test_a_function_is_given_the_services_that_it_declares() -> None:
    service = Energy()

    @vl.verifier(kind="text", version="1", services={"model": service})
    def asks(candidate: vl.Candidate, services: Any) -> bool:
        return candidate.content == "x" and services["model"] is service

    assert vl.Outcome.ACCEPT is asks.judge([vl.Candidate("text", "x")])[0].outcome


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: judged(Energy(), isolation="inline"), 'leave out isolation="inline"'),
        (lambda: judged(Energy(), services=[Energy()]), "give services by name"),
        (lambda: judged(Energy(), services={"model": Energy}), "give services by name"),
        (type("Bare", (vl.Service,), {"version": "1"}), "needs a name and a version"),
        (type("Odd", (Energy,), {"gpu_memory": -1}), "gpu_memory=-1 of service energy"),
        (type("Odd", (Energy,), {"threads": 1.5}), "threads=1.5 of service energy"),
        (lambda: Energy().call("setup"), "has no method 'setup'; it has energy"),
        (lambda: Energy().call("_connected"), "has no method '_connected'"),
    ],
)
def test_what_can_not_be_is_refused_with_what_to_do(make: Any, why: str) -> None:
    with pytest.raises(vl.ConfigError, match=why):
        make()


PLAIN = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.integers(-(2**63), 2**63 - 1),
    lambda some: st.lists(some) | st.dictionaries(st.text(), some),
)  # fmt: skip


@given(PLAIN)
def test_plain_data_crosses_as_it_is(value: Any) -> None:
    assert value == unpack(pack(value, "it"))


@pytest.mark.parametrize("kind", ["bool", "int8", ">u4", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_arrays_of_numbers_cross_as_they_are(kind: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, kind)
    found = unpack(pack([array], "it"))[0]

    assert (array.dtype, array.shape) == (found.dtype, found.shape)
    assert np.array_equal(array, found)
    assert found.flags.writeable


@pytest.mark.parametrize("value", [object(), np.array([object()]), np.array(["a"]), 2**64])
def test_objects_do_not_cross(value: Any) -> None:
    with pytest.raises(vl.ConfigError, match="the answer can't be sent"):
        pack({"told": value}, "the answer")


def test_halves_of_characters_cross_as_decoders_write_them() -> None:
    halves = {"a\ud800": ("\udfff", b"\xff", [1.5, np.ones(1)])}

    assert {"a\ufffd": ["\ufffd", b"\xff", [1.5, 1.0]]} == unpack(pack(halves, "it"))


def test_an_array_of_objects_that_was_forged_is_refused() -> None:
    forged = pack(np.ones(1), "it").replace(b"<f8", b"|O8")

    with pytest.raises(ValueError, match="no numbers"):
        unpack(forged)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("VLADDER_GPU_MEMORY", "10GiB,16GiB")
    return monkeypatch


def large(name: str, gib: int) -> vl.Service:
    return type("Large", (Energy,), {"name": name, "gpu_memory": gib * 2**30})()  # type: ignore[no-any-return]


class Rooms:
    """Keeps rooms for services, until the test is over."""

    def __init__(self) -> None:
        self.kept: list[list[Room]] = []

    def __call__(self, *services: vl.Service) -> list[str] | None:
        """Take rooms; on which GPUs they are."""
        rooms = rooms_for(services)
        self.kept.append(rooms or [])
        return None if rooms is None else [room.device for room in rooms]

    def release(self, place: int) -> None:
        for room in self.kept.pop(place):
            room.release()


@pytest.fixture
def keep(machine: pytest.MonkeyPatch) -> Iterator[Rooms]:
    del machine
    rooms = Rooms()
    yield rooms
    while rooms.kept:
        rooms.release(0)


def test_a_service_gets_the_gpu_with_most_memory_left(keep: Rooms) -> None:
    assert ["1"] == keep(large("a", 8))
    assert ["0"] == keep(large("b", 9))
    assert keep(large("c", 9)) is None
    keep.release(0)
    assert ["1"] == keep(large("c", 9))


def test_who_keeps_the_same_service_shares_its_room(keep: Rooms) -> None:
    assert [["1"]] * 3 == [keep(large("a", 16)) for _ in range(3)]


def test_of_two_services_of_a_verifier_none_is_kept_without_the_other(keep: Rooms) -> None:
    assert keep(large("a", 16), large("b", 11)) is None
    assert ["1"] == keep(large("b", 11))


def test_the_gpus_are_those_that_this_process_may_use(machine: pytest.MonkeyPatch) -> None:
    assert [("0", 10 * 2**30), ("1", 16 * 2**30)] == devices()
    machine.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    assert ["5", "7"] == [device.name for device in devices()]


def test_a_setting_that_is_no_memory_is_refused(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("VLADDER_GPU_MEMORY", "much")

    with pytest.raises(vl.ConfigError, match="VLADDER_GPU_MEMORY='much': give the memory"):
        devices()


def test_where_it_is_not_known_which_gpus_there_are_services_wait(
    machine: pytest.MonkeyPatch,
) -> None:
    machine.delenv("VLADDER_GPU_MEMORY")

    def silent(_: object) -> NoReturn:
        raise GpusNotKnownError

    machine.setattr("verifier_ladder.services.gpumemory._asked", silent)

    assert "" == problem([large("a", 17)])
    assert rooms_for([large("a", 17)]) is None


def test_what_never_fits_is_told(machine: pytest.MonkeyPatch) -> None:
    del machine
    assert "" == problem([Energy(), large("a", 16)])
    assert "takes 17 GiB of GPU memory, and the largest GPU here has 16 GiB" in problem(
        [large("a", 17)]
    )
    assert "its services together take more" in problem([large("a", 16), large("b", 16)])
