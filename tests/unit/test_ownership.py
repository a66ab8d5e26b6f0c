"""What another user could have written is not read back: entries, folders, and the libraries that programs load."""

from __future__ import annotations

import os
import warnings

import pytest

from adreno_sim.base import disk_cache
from adreno_sim.base.stored.libraries import may_load, note_digest
from adreno_sim.base.stored.ownership import find_intruder
from adreno_sim.cli.main import main

OTHER = 4711
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    monkeypatch.setattr(disk_cache, "_told", set())
    warn = disk_cache.CacheWarning
    monkeypatch.setattr(disk_cache, "tell", lambda text: warnings.warn(text, warn, stacklevel=3))  # commands print it
    found = disk_cache.folder("objects") / "entry"
    disk_cache.store(found, b"own")
    return found


def load_and_tell(place):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return disk_cache.load(place), [str(warning.message) for warning in told]


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o000])
def test_a_library_is_loaded_again_whatever_the_umask_is(tmp_path, umask):
    library = tmp_path / "library.so"
    before = os.umask(umask)
    try:
        library.write_bytes(b"code")
        library.chmod(0o700)
        note_digest(library)
    finally:
        os.umask(before)
    assert may_load(library)


def test_what_is_ones_own_is_read(place):
    assert load_and_tell(place) == (b"own", [])
    assert [oct(path.stat().st_mode & 0o777) for path in (place, place.parent, place.parents[1])] == ["0o600", "0o700", "0o700"]


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_an_entry_that_others_may_write_is_made_again(place, mode):
    place.chmod(mode)
    found, told = load_and_tell(place)
    assert found is None
    assert len(told) == 1
    assert f"{place} is not read: others may write there" in told[0]
    assert load_and_tell(place) == (None, [])  # said once
    disk_cache.store(place, b"new")
    assert load_and_tell(place) == (b"new", [])


@needs_root
def test_an_entry_of_another_user_is_not_read(place):
    os.chown(place, OTHER, -1)
    found, told = load_and_tell(place)
    assert found is None
    assert "belongs to user 4711" in told[0]


@needs_root
def test_a_link_to_an_entry_of_another_user_is_not_followed_to_it(place, tmp_path):
    whole = place.rename(tmp_path / "elsewhere")
    os.chown(whole, OTHER, -1)
    place.symlink_to(whole)
    assert load_and_tell(place)[0] is None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_may_write_is_left_alone(place, mode):
    place.parents[1].chmod(mode)
    found, told = load_and_tell(place)
    assert found is None
    assert len(told) == 1
    assert "nothing is kept between runs" in told[0]
    assert "chmod go-w" in told[0]
    disk_cache.store(place.with_name("another"), b"x")
    assert not place.with_name("another").exists()
    assert not disk_cache.is_enabled()
    place.parents[1].chmod(0o700)
    assert load_and_tell(place) == (b"own", [])


@needs_root
def test_a_folder_of_another_user_is_left_alone(place):
    os.chown(place.parents[1], OTHER, -1)
    assert load_and_tell(place)[0] is None
    assert not disk_cache.is_enabled()


@needs_root
@pytest.mark.parametrize(("owner", "mode", "refused"), [
    (OTHER, 0o755, True), (0, 0o777, True), (0, 0o1777, False), (0, 0o755, False), (65534, 0o755, False),
])  # fmt: skip
def test_nobody_can_put_another_folder_in_its_place(place, tmp_path, owner, mode, refused):
    tmp_path.chmod(mode)
    os.chown(tmp_path, owner, -1)
    place.parents[1].chmod(0o711)  # a new time of change, by which the answer is kept
    assert bool(find_intruder(place.parents[1])) is refused
    os.chown(tmp_path, 0, -1)


def test_the_command_line_says_it_in_a_line_and_goes_on(place, tmp_path, capsys):
    (tmp_path / "k.cl").write_text("kernel void k(global float *x) { x[get_global_id(0)] = 1; }")
    argument = '[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = 8\n'
    (tmp_path / "k.toml").write_text(f'source = "k.cl"\nglobal_size = [8]\n{argument}')
    place.parents[1].chmod(0o777)
    assert main(["kernel", "--launch", str(tmp_path / "k.toml")]) == 0
    said = capsys.readouterr().err
    assert said.count("warning: nothing is kept between runs") == 1
    assert "Traceback" not in said
    assert sorted(path.name for path in place.parents[1].iterdir()) == [".size", "objects"]
    assert main(["cache"]) == 0
    assert "(off: " in capsys.readouterr().out


HARM = {
    "changed": lambda path: path.write_bytes(b"other code"),
    "writable": lambda path: path.chmod(0o777),
    "gone": lambda path: path.unlink(),
    "no digest": lambda path: path.with_name(path.name + ".sha256").unlink(),
    "open digest": lambda path: path.with_name(path.name + ".sha256").chmod(0o666),
    "open folder": lambda path: path.parent.chmod(0o777),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_library_is_loaded_as_it_was_made_or_not_at_all(tmp_path, harm):
    library = tmp_path / "own" / "libOpenCL.so"
    library.parent.mkdir(mode=0o700)
    library.write_bytes(b"code")
    library.chmod(0o700)
    assert not may_load(library)
    note_digest(library)
    assert may_load(library)
    HARM[harm](library)
    assert not may_load(library)
