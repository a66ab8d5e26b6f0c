"""Environments whose packages are links, as `uv pip install --link-mode symlink` makes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adreno_sim.base.wall.linked import find_linked
from adreno_sim.frontend import visible_files


def link_package(store: Path, modules: Path, files: tuple[str, ...]) -> None:
    """Write the files into a store, and links of the same names into a folder of modules."""
    for file in files:
        for folder in (store, modules):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (store / file).write_text("")
        os.symlink(store / file, modules / file)


def test_a_package_of_links_is_the_folder_that_they_lead_to(tmp_path):
    modules = tmp_path / "site-packages"
    link_package(tmp_path / "a", modules, ("numpy/__init__.py", "numpy/core/more.py"))
    link_package(tmp_path / "b", modules, ("space/one/__init__.py",))
    link_package(tmp_path / "c", modules, ("space/two/__init__.py", "six.py"))
    (modules / "numpy" / "INSTALLER").write_text("uv")
    found = set(find_linked([str(modules)]))
    assert found == {tmp_path / "a/numpy", tmp_path / "b/space/one", tmp_path / "c/space/two", tmp_path / "c/six.py"}


def test_a_link_to_a_folder_is_that_folder(tmp_path):
    (tmp_path / "store" / "numpy").mkdir(parents=True)
    (tmp_path / "store" / "numpy" / "__init__.py").write_text("")
    (tmp_path / "modules").mkdir()
    os.symlink(tmp_path / "store" / "numpy", tmp_path / "modules" / "numpy")
    assert list(find_linked([str(tmp_path / "modules")])) == [tmp_path / "store" / "numpy"]


def test_a_link_of_another_name_opens_no_folder(tmp_path):
    modules = tmp_path / "site-packages"
    link_package(tmp_path / "a", modules, ("numpy/__init__.py",))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "data.bin").write_text("")
    os.symlink(tmp_path / "home" / "data.bin", modules / "numpy" / "data.bin")
    assert set(find_linked([str(modules)])) == {tmp_path / "a/numpy", tmp_path / "home/data.bin"}


def test_an_ordinary_environment_is_not_searched(tmp_path, monkeypatch):
    modules = tmp_path / "site-packages"
    (modules / "numpy").mkdir(parents=True)
    (modules / "numpy" / "__init__.py").write_text("")
    os.symlink(tmp_path, modules / "elsewhere")
    monkeypatch.setattr(os, "scandir", lambda folder: pytest.fail("searched"))
    assert list(find_linked([str(modules), str(tmp_path / "missing")])) == []


@pytest.mark.parametrize("own", [True, False])
def test_links_among_this_projects_headers_are_followed_and_no_others(tmp_path, monkeypatch, own):
    link_package(tmp_path / "store", tmp_path / "frontend", ("include/a.h",))
    monkeypatch.setattr(visible_files, "_OWN", os.path.realpath(tmp_path / "frontend") if own else "/nowhere")
    found = visible_files.find_visible_files([str(tmp_path / "frontend" / "include")])
    assert (str(tmp_path / "store/include/a.h") in found.overlay.decode()) == own
    assert bool(found.left_out) != own
