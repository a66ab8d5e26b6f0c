"""Digests of files: of what they hold, and read again only where a size or a time says so."""

from __future__ import annotations

import os
import time

import pytest

from adreno_sim.base import disk_cache, file_digests
from adreno_sim.base.file_digests import FileSet, digest_file, find_files

KIND = "models"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with three files that nobody has touched for long, as far as its reader knows."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    monkeypatch.setattr(file_digests, "SETTLED", -(10**12))
    root = tmp_path / "package"
    (root / "inner" / "__pycache__").mkdir(parents=True)
    (root / "a.py").write_text("a = 1")
    (root / "inner" / "b.so").write_bytes(b"machine code")
    (root / "inner" / "__pycache__" / "a.pyc").write_bytes(b"compiled")
    return root


@pytest.fixture
def reads(monkeypatch):
    """The files that were read since."""
    found = []
    add = file_digests._add_content
    monkeypatch.setattr(file_digests, "_add_content", lambda sum, path: found.append(os.path.basename(path)) or add(sum, path))
    return found


def digest(folder):
    return FileSet({path[len(str(folder)) :]: path for path in find_files(str(folder))}).digest(KIND)


def test_files_that_nobody_touched_are_read_once(folder, reads):
    first = digest(folder)
    assert sorted(reads) == ["a.py", "b.so"]
    assert digest(folder) == first
    assert len(reads) == 2


def test_a_touched_file_is_read_and_found_to_be_the_same(folder, reads):
    first = digest(folder)
    os.utime(folder / "a.py", ns=(1, 1))
    assert digest(folder) == first
    assert len(reads) == 4


def test_an_edit_is_noticed_whatever_its_size_and_time(folder):
    first = digest(folder)
    before = (folder / "a.py").stat()
    (folder / "a.py").write_text("a = 2")
    os.utime(folder / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digest(folder) != first
    (folder / "a.py").write_text("a = 1")
    assert digest(folder) == first


def test_names_count_and_compiled_files_do_not(folder):
    first = digest(folder)
    (folder / "inner" / "__pycache__" / "a.pyc").write_bytes(b"other")
    assert digest(folder) == first
    (folder / "a.py").rename(folder / "c.py")
    assert digest(folder) != first


def test_a_file_that_was_touched_just_now_is_not_trusted_again(folder, reads, monkeypatch):
    monkeypatch.setattr(file_digests, "SETTLED", 10**12)
    first = digest(folder)
    assert digest(folder) == first
    assert len(reads) == 4
    assert not disk_cache.usage()


def test_files_that_changed_since_they_were_listed_have_no_digest(folder):
    found = FileSet({"a": str(folder / "a.py")})
    os.utime(folder / "a.py", ns=(1, 1))
    assert found.digest(KIND) == ""
    assert not disk_cache.usage()


def test_files_that_change_while_they_are_read_have_no_digest(folder, monkeypatch):
    add = file_digests._add_content

    def change(sum, path):
        add(sum, path)
        os.utime(path, ns=(5, time.time_ns()))

    monkeypatch.setattr(file_digests, "_add_content", change)
    assert digest(folder) == ""
    assert not disk_cache.usage()


def test_folders_that_link_to_each_other_are_walked_once(folder):
    (folder / "inner" / "up").symlink_to(folder)
    (folder / "linked").symlink_to(folder / "inner")
    assert sorted(map(os.path.basename, find_files(str(folder)))) == ["a.py", "b.so"]


def test_a_digest_is_of_the_content(folder, tmp_path):
    (tmp_path / "copy").write_text("a = 1")
    assert digest_file(folder / "a.py") == digest_file(tmp_path / "copy") != digest_file(folder / "inner" / "b.so")
    with pytest.raises(OSError):
        digest_file(tmp_path / "none")
