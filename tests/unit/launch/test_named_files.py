"""Files that a launch file names lie below its own folder, however it is named itself and wherever the command runs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.launch_spec.read import read_launch

ARGUMENT = '[[argument]]\nkind = "buffer"\nname = "x"\ndtype = "float32"\ncount = 2\n'
ENTRIES = {
    "source": 'source = "NAME"\nglobal_size = [2]\n' + ARGUMENT,
    "data": "global_size = [2]\n" + ARGUMENT + 'data = {file = "NAME"}\n',
    "expected": 'global_size = [2]\nexpected = "NAME:f"\n' + ARGUMENT,
    "options": 'global_size = [2]\noptions = "-I NAME"\n' + ARGUMENT,
}


@pytest.fixture
def place(tmp_path):
    """A launch file's folder, `a/own`, with files and folders, and the same ones outside, to which links lead."""
    own, outside = tmp_path / "a" / "own", tmp_path / "a" / "outside"
    for folder in (own, outside):
        (folder / "deep").mkdir(parents=True)
        (folder / "k.cl").write_text("kernel void k(global float *x) { x[get_global_id(0)] = 1; }\n")
        np.save(folder / "d.npy", np.ones(2, np.float32))
        (folder / "r.py").write_text("def f(x):\n    return x\n")
    (own / "links").symlink_to(outside)
    for name in ("k.cl", "d.npy", "r.py", "deep"):
        (own / f"link-{name}").symlink_to(f"../outside/{name}")
    return tmp_path


NAMES = {"source": "k.cl", "data": "d.npy", "expected": "r.py", "options": "deep"}
WAYS = {"plain": "{0}", "link": "link-{0}", "folder": "links/{0}", "up": "../outside/{0}", "far": "deep/../../outside/{0}"}
FROM = {
    "root": ("", "a/own/l.toml"),
    "above": ("a", "own/l.toml"),
    "inside": ("a/own", "l.toml"),
    "beside": ("a/outside", "../own/l.toml"),
}


@pytest.mark.parametrize("where", FROM)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_what_leads_out_is_refused(place, monkeypatch, entry, way, where):
    folder, launch = FROM[where]
    (place / "a/own/l.toml").write_text(ENTRIES[entry].replace("NAME", WAYS[way].format(NAMES[entry])))
    monkeypatch.chdir(place / folder)
    for path in (Path(launch), Path(os.path.abspath(launch))):
        if way == "plain":
            assert read_launch(path).arguments
            continue
        with pytest.raises(AdrenoSimError, match=r"below|outside"):
            read_launch(path)
