"""The cache on disk: bounded, trimmed by last use, shared by processes, and off when asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adreno_sim.base import disk_cache
from adreno_sim.base.errors import AdrenoSimError


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    return tmp_path


def put(kind: str, name: str, nbytes: int, used: float) -> None:
    place = disk_cache.folder(kind) / name
    disk_cache.store(place, bytes(nbytes))
    os.utime(place, (used, used))


def names(base) -> set[str]:
    return {path.name for path in base.glob("*/*")}


def test_trimming_removes_what_was_not_used_for_longest(base):
    for number in range(10):
        put("abc"[number % 3], f"e{number}", 1000, used=1000.0 + number)
    assert disk_cache.load(disk_cache.folder("a") / "e0") == bytes(1000)  # now the youngest
    disk_cache.trim(base, 6000)
    assert names(base) == {"e0", "e7", "e8", "e9"}  # 1065 bytes each, 4800 are left room for


def test_a_folder_within_its_limit_is_left_alone(base):
    put("a", "old", 1000, used=1.0)
    disk_cache.trim(base, 2000)
    assert names(base) == {"old"}


def test_storing_keeps_the_folder_within_the_limit(base, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_MB", "1")
    for number in range(40):
        put("a", f"e{number}", 100_000, used=1000.0 + number)
    total = sum(size for _, size in disk_cache.usage().values())
    assert total <= 1 << 20
    assert "e39" in names(base)


def test_storing_reads_no_folder_while_there_is_room(base, monkeypatch):
    put("a", "first", 1000, used=1.0)
    walks = []
    monkeypatch.setattr(disk_cache, "_entries", lambda base: walks.append(base) or iter(()))
    for number in range(20):
        put("a", f"e{number}", 1000, used=1.0)
    assert not walks
    assert (base / ".size").stat().st_size in range(20, 25)


def test_a_count_that_is_wrong_or_gone_is_made_again(base, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_MB", "1")
    put("a", "old", (1 << 20) - disk_cache.PAGE - 100, used=1.0)
    (base / ".size").unlink()
    put("a", "new", 1000, used=time.time())
    assert names(base) == {"new"}
    os.truncate(base / ".size", 1 << 30)
    put("a", "newer", 1000, used=time.time())
    assert names(base) == {"new", "newer"}
    assert (base / ".size").stat().st_size == 3


def test_temporary_files_of_dead_processes_go_and_those_of_living_ones_stay(base):
    put("a", "entry", 10, used=1000.0)
    for name, used in ((".tmp-dead", 1000.0), (".tmp-living", None)):
        path = base / "a" / name
        path.write_bytes(b"half")
        if used:
            os.utime(path, (used, used))
    disk_cache.trim(base, 1 << 20)
    assert names(base) == {"entry", ".tmp-living"}


def test_usage_and_clear(base):
    put("a", "x", 10, used=1.0)
    put("b", "y", 20, used=1.0)
    found = disk_cache.usage()
    assert {kind: count for kind, (count, _) in found.items()} == {"a": 1, "b": 1}
    assert found["b"][1] - found["a"][1] == 10
    assert disk_cache.clear(["a"]) == found["a"][1]
    assert list(disk_cache.usage()) == ["b"]


def test_off_reads_and_writes_nothing(base, monkeypatch):
    put("a", "x", 10, used=1.0)
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")
    disk_cache.store(disk_cache.folder("a") / "y", b"y")
    assert disk_cache.load(disk_cache.folder("a") / "x") is None
    assert names(base) == {"x"}


def test_a_limit_that_is_no_number_is_refused_by_name(base, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_MB", "lots")
    with pytest.raises(AdrenoSimError, match="ADRENO_SIM_CACHE_MB=lots: expected a number"):
        disk_cache.limit()


def test_a_folder_that_vanishes_under_many_writers_costs_nothing(base):
    def use(number: int) -> None:
        place = disk_cache.folder("a") / str(number % 7)
        disk_cache.store(place, bytes([number % 7]) * 5000)
        assert disk_cache.load(place) in (None, bytes([number % 7]) * 5000)
        if number % 5 == 0:
            disk_cache.trim(base, 12_000)
        if number % 17 == 0:
            disk_cache.clear(["a"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(200)))


CHILD = """
import sys
from adreno_sim.base import disk_cache
for number in range(150):
    place = disk_cache.folder("a") / str(number % 11)
    disk_cache.store(place, str(number % 11).encode() * 3000)
    assert disk_cache.load(place) in (None, str(number % 11).encode() * 3000)
    disk_cache.trim(disk_cache.root(), 15_000)
"""


def test_two_processes_share_a_folder(base):
    children = [subprocess.Popen([sys.executable, "-c", CHILD], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [child.communicate(timeout=60)[1] for child in children]
    assert [child.returncode for child in children] == [0, 0], errors
    assert not [name for name in names(base) if name.startswith(".tmp")]


def test_an_entry_is_what_lies_under_its_own_name(base):
    """A file that was moved or copied is whole, and the machine code of another kernel."""
    one, two, other = disk_cache.folder("a") / "one", disk_cache.folder("a") / "two", disk_cache.folder("b") / "one"
    disk_cache.store(one, b"1")
    disk_cache.store(two, b"2")
    for target in (two, other):
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(one.read_bytes())
        assert disk_cache.load(target) is None
    assert disk_cache.load(one) == b"1"
    disk_cache.store(two, b"2")
    assert disk_cache.load(two) == b"2"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_counts_as_absent(base, make):
    place = disk_cache.folder("a") / "x"
    place.parent.mkdir()
    make(place)
    assert disk_cache.load(place) is None
    disk_cache.store(place, b"x")
    assert disk_cache.load(place) == (None if place.is_dir() else b"x")


def test_entries_that_a_wheel_brings_along_are_used_where_the_cache_has_none(base, monkeypatch):
    put("runtime", "brought", 8, used=1.0)
    shutil.move(base / "runtime", base / "wheel" / "runtime")
    monkeypatch.setattr(disk_cache, "PREBUILT", base / "wheel")
    place = disk_cache.folder("runtime") / "brought"
    assert disk_cache.load(place) == bytes(8)
    assert not place.exists()
    disk_cache.store(place, b"own")
    assert disk_cache.load(place) == b"own"
    place.unlink()
    assert disk_cache.load(disk_cache.folder("runtime") / "other") is None
    assert disk_cache.load(base.parent / "elsewhere") is None
    (base / "wheel" / "runtime" / "brought").write_bytes(b"damaged")
    assert disk_cache.load(place) is None


@pytest.mark.parametrize(("size", "is_read"), [((disk_cache.DEFAULT_LIMIT << 20) + 1, False), (1 << 20, True)])
def test_what_is_larger_than_all_may_be_is_not_read(base, monkeypatch, size, is_read):
    """A file of nothing but holes has any size."""
    read = []
    monkeypatch.setattr(disk_cache, "_digest", lambda path, *data: read.append(sum(map(len, data))) or b"")
    path = base / "objects" / "x"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
        file.truncate(size)
    assert disk_cache.load(path) is None
    assert disk_cache.map_pages(path) is None
    assert any(read) == is_read


@pytest.mark.parametrize("more", [-1, 0, 1, 5000])
def test_the_data_of_a_large_entry_are_where_the_file_is_mapped(base, more):
    """Arrays in it are aligned, and writing to them changes no file."""
    path, data = disk_cache.folder("golden") / "x", os.urandom(disk_cache.LARGE + more)
    disk_cache.store(path, data[:100], data[100:])
    assert disk_cache.load(path) == data
    found = disk_cache.load_buffer(path)
    mapping = disk_cache.map_pages(path)
    assert (mapping is not None) is (more >= 0)
    if mapping is not None:
        assert mapping[disk_cache.PAGE :] == data
        assert np.frombuffer(found, np.uint8).ctypes.data % disk_cache.PAGE == 0
    found[0] ^= 1
    assert disk_cache.load(path) == data


@pytest.mark.parametrize("place", [3, disk_cache.PAGE, -1])
def test_a_large_entry_that_is_damaged_is_absent(base, place):
    path = disk_cache.folder("golden") / "x"
    disk_cache.store(path, bytes(disk_cache.LARGE))
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert disk_cache.load_buffer(path) is None
    disk_cache.store(path, bytes(disk_cache.LARGE))
    os.truncate(path, len(content) - 1)
    assert disk_cache.load_buffer(path) is None


def test_a_large_entry_whose_data_begin_behind_the_digest_is_absent(base):
    """Versions before this one wrote them so."""
    path, data = disk_cache.folder("golden") / "x", bytes(2 * disk_cache.LARGE)
    disk_cache.store(path, data)
    path.write_bytes(disk_cache._digest(path, data) + b"\n" + data)
    assert disk_cache.load_buffer(path) is None
