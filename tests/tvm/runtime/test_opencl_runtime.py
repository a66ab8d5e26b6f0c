"""TVM's own OpenCL runtime, built for the installed TVM from a checkout (ADRENO_SIM_TVM_SOURCE names one, for the slow test)."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("tvm")
import tvm

from adreno_sim.base import disk_cache
from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.base.stored.libraries import note_digest
from adreno_sim.compiler.tvm_bridge import opencl_runtime
from adreno_sim.compiler.tvm_bridge.opencl_runtime import RUNTIME, SOURCES, autoload, build_runtime

OURS = tvm.__version__.startswith(opencl_runtime.SERIES)
pytestmark = [pytest.mark.tvm]
needs_series = pytest.mark.skipif(not OURS, reason=f"TVM {opencl_runtime.SERIES} alone takes such a runtime")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a checkout, whose sources do not compile; a cache of its own."""
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "tvm"
    for name in SOURCES:
        (folder / RUNTIME / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / RUNTIME / name).write_text("#error not this version\n")
    (folder / "3rdparty/OpenCL-Headers/CL").mkdir(parents=True)
    (folder / "3rdparty/OpenCL-Headers/CL/cl.h").touch()
    return folder


@needs_series
def test_what_is_missing_is_said(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AdrenoSimError, match=r"opencl_device_api\.cc: no such file; expected a checkout of TVM 0\.27"):
        build_runtime(tmp_path / "elsewhere")
    with pytest.raises(AdrenoSimError, match=r"no CL/cl\.h in .*nowhere: git submodule update"):
        build_runtime(checkout, tmp_path / "nowhere")
    with pytest.raises(AdrenoSimError, match=r"does not compile for the installed TVM 0\.27.*not this version"):
        build_runtime(checkout)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(AdrenoSimError, match="no C\\+\\+ compiler: none of CXX=no-such-compiler is here"):
        build_runtime(checkout)
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")
    with pytest.raises(AdrenoSimError, match="ADRENO_SIM_CACHE=off: expected a cache"):
        build_runtime(checkout)
    assert not (tmp_path / "cache").exists()


def test_other_series_are_refused(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencl_runtime, "_version", lambda: "0.26.0")
    with pytest.raises(UnsupportedError, match=r"TVM 0\.26\.0: its compiler makes OpenCL's modules without asking"):
        build_runtime(checkout)


def test_headers_of_the_package_replace_those_of_the_checkout(checkout: Path, tmp_path: Path) -> None:
    """A class that is laid out otherwise in the checkout would be a crash."""
    package = tmp_path / "package"
    for origin, name, text in (
        (checkout, "include/tvm/runtime/device_api.h", "theirs"),
        (checkout, "include/tvm/support/io.h", "theirs"),
        (checkout, "src/support/env.h", "theirs"),
        (package, "include/tvm/runtime/device_api.h", "installed"),
        (package, "src/runtime/metadata.h", "installed"),
    ):
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        (origin / name).write_text(text)
    tree = opencl_runtime._overlay(checkout, package, tmp_path)
    found = {str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*.h")}
    assert found == {
        "include/tvm/runtime/device_api.h": "installed",
        "include/tvm/support/io.h": "theirs",
        "src/support/env.h": "theirs",
        "src/runtime/metadata.h": "installed",
    }


@needs_series
def test_a_library_that_does_not_load_is_a_warning(checkout: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        autoload()  # none was built
    place = opencl_runtime._place(opencl_runtime._package())
    disk_cache.make_folder(place.parent)
    place.write_bytes(b"not a library")
    place.chmod(0o600)
    with pytest.warns(UserWarning, match="is not loaded: it is damaged"):
        autoload()
    note_digest(place)
    with pytest.warns(UserWarning, match="TVM's OpenCL runtime of adreno-sim does not load"):
        autoload()


CLIENT = """
import numpy as np, tvm
from tvm import relax
from tvm.relax.frontend import nn

class Net(nn.Module):
    def __init__(self):
        self.dense = nn.Linear(16, 8)
    def forward(self, x):
        return nn.op.relu(self.dense(x))

mod, params = Net().export_tvm({"forward": {"x": nn.spec.Tensor((4, 16), "float32")}})
device = tvm.opencl()
assert device.exist and device.device_name == "QUALCOMM Adreno(TM)", device
target = tvm.target.Target({"kind": "opencl", "device": "adreno"}, host="llvm")
with target:
    machine = relax.VirtualMachine(tvm.compile(mod, target), device)
random = np.random.default_rng(0)
x, *given = (random.random(shape, dtype=np.float32) for shape in [(4, 16), *([int(n) for n in p.shape] for _, p in params)])
out = machine["forward"](*(tvm.runtime.tensor(value, device) for value in (x, *given))).numpy()
np.testing.assert_allclose(out, np.maximum(x @ given[0].T + given[1], 0), rtol=1e-5)
"""


@needs_series
@pytest.mark.slow
@pytest.mark.device
@pytest.mark.skipif(not os.environ.get("ADRENO_SIM_TVM_SOURCE"), reason="ADRENO_SIM_TVM_SOURCE names no checkout of TVM")
def test_tvm_runs_a_module_by_its_own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "client.py").write_text(CLIENT)
    adreno = [sys.executable, "-m", "adreno_sim"]
    headers = os.environ.get("ADRENO_SIM_CL_HEADERS")
    more = ["--headers", headers] if headers else []
    for words in (
        [*adreno, "tvm-runtime", "--source", os.environ["ADRENO_SIM_TVM_SOURCE"], *more],
        [*adreno, "run", "--checks", "full", "--", sys.executable, str(tmp_path / "client.py")],
    ):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "2 launches of 2 kernels" in done.stderr


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.skipif(not os.environ.get("ADRENO_SIM_TVM_BUILD"), reason="ADRENO_SIM_TVM_BUILD names no build of TVM with OpenCL")
def test_a_tvm_built_from_source_needs_nothing_more(tmp_path: Path) -> None:
    """ADRENO_SIM_TVM_BUILD holds the libraries of the checkout that ADRENO_SIM_TVM_SOURCE names."""
    (tmp_path / "client.py").write_text("import tvm; print(tvm.__file__)\n" + CLIENT)
    source = os.environ["ADRENO_SIM_TVM_SOURCE"]
    places = {"PYTHONPATH": f"{source}/python", "TVM_LIBRARY_PATH": os.environ["ADRENO_SIM_TVM_BUILD"]}
    words = [sys.executable, "-m", "adreno_sim", "run", "--checks", "full", "--", sys.executable, str(tmp_path / "client.py")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **places})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(source)
    assert "2 launches of 2 kernels" in done.stderr
