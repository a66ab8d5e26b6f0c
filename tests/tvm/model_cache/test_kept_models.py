"""A model that is checked again as it was: the same verdict in every bit, without TVM; and compiled again for any change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import adreno_sim
from adreno_sim.base import disk_cache
from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.base.stored import values
from adreno_sim.compiler.check.cache import entry
from adreno_sim.compiler.tvm_bridge import foreign_code, installed_files
from adreno_sim.compiler.tvm_bridge.versions import tvm_series

pytestmark = pytest.mark.tvm

STOCK = pytest.param(
    "small", False, {"pipeline": "stock", "keep_going": True}, 1, id="defect",
    marks=pytest.mark.skipif(tvm_series() == "0.25", reason="its own pipeline does not get this far"),
)  # fmt: skip
CASES = [
    pytest.param("small", False, {}, 0, id="ok", marks=pytest.mark.slow),
    STOCK,
    pytest.param("small", False, {"dtype": "float16"}, 0, id="halves", marks=pytest.mark.slow),
    pytest.param("branches", True, {}, 0, id="branches", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("model", "given", "options", "code"), CASES)
def test_a_kept_model_gets_the_same_verdict_in_every_bit(model, given, options, code, models, condition, compiled, judged):
    inputs = condition if given else None
    lowered = bool(code)  # the stage that made a kernel wrong is found by lowering the model once more
    first = judged(models[model], inputs, **options)
    assert first["exit_code"] == code
    assert len(compiled) == 1 + lowered
    assert disk_cache.usage()["models"][0] >= 2
    assert judged(models[model], inputs, **options) == first
    assert len(compiled) == 1 + 2 * lowered
    with disk_cache.cache_off():
        assert judged(models[model], inputs, **options) == first
        assert len(compiled) == 2 + 3 * lowered


def test_what_judges_a_wrong_output_is_made_from_the_file_alone(models, prepared):
    first, second = prepared(models["tiny"]), prepared(models["tiny"])
    assert first.truth is not None
    assert second.truth is not None
    assert second.compiled == first.compiled
    for mine, other in zip(first.truth()["TVM llvm"], second.truth()["TVM llvm"], strict=True):
        np.testing.assert_array_equal(mine.array, other.array)
        np.testing.assert_array_equal(mine.allowed, other.allowed)


@pytest.mark.slow
def test_references_that_were_lost_are_made_again(models, compiled, judged):
    first = judged(models["small"])
    disk_cache.clear(["golden"])
    assert judged(models["small"]) == first
    assert len(compiled) == 1


@pytest.mark.slow
def test_a_bundle_with_golden_results_is_made_of_what_is_kept(models, compiled, adreno, tmp_path):
    from adreno_sim.compiler.check.bundle import make_bundle

    for name in ("first", "second"):
        make_bundle(models["small"], tmp_path / f"{name}.asim", golden=True, device=adreno)
    assert len(compiled) == 1
    assert (tmp_path / "first.asim").read_bytes() == (tmp_path / "second.asim").read_bytes()


WARM = """
import sys
from adreno_sim.cli.main import main
code = main(["check", sys.argv[1]])
print(code, *sorted(set(sys.argv[2:]) & set(sys.modules)))
"""
OWN = (
    "compiler.passes.registry", "compiler.lower.pipeline", "mlops.engine", "golden.truth.program", "golden.truth.operators.run",
    "compiler.memory_scopes.scoping_passes", "compiler.plan.apply", "compiler.run.kv_cache.config", "timing.model",
    "profiles.clinfo",
)  # fmt: skip
UNUSED = ("tvm", "onnx", "numba", "rich", *(f"adreno_sim.{name}" for name in OWN))
"""Modules that compile, that run what this model does not have, or that do what is not asked for."""


def test_a_process_that_finds_a_kept_model_imports_no_tvm_and_no_passes(models, judged):
    judged(models["tiny"])
    environment = {**os.environ, "PYTHONPATH": str(Path(adreno_sim.__file__).parents[1])}
    command = [sys.executable, "-c", WARM, str(models["tiny"]), *UNUSED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "0", done.stdout + done.stderr


def change_model(models):
    model = onnx.load(models["tiny"])
    weight = onnx.numpy_helper.to_array(model.graph.initializer[0]) + np.float32(1)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weight, model.graph.initializer[0].name))
    onnx.save(model, models["tiny"])


OTHERS = [
    pytest.param({"seed": 1}, id="seed"),
    pytest.param({"without_fix": ("texture-store",)}, id="fixes"),
    pytest.param({"target": "buffer"}, id="target"),
    pytest.param({"inputs": {"x": np.ones((1, 4, 2, 2), np.float32)}}, id="inputs"),
    pytest.param({"device": "sim:adreno-540"}, id="device"),
]


def requested(path, **options):
    """The key of a check."""
    from adreno_sim.backends.open import open_device
    from adreno_sim.compiler.check.cache.key import find_request
    from adreno_sim.compiler.check.prepare import CheckOptions

    device, inputs = open_device(options.pop("device", "sim:adreno-740")), options.pop("inputs", None)
    own = options.pop("references", {})
    request = find_request(path, inputs, CheckOptions(**options), device.info, own)
    return "" if request is None else request.key()


@pytest.mark.parametrize("options", OTHERS)
def test_whatever_decides_what_is_made_is_in_the_key(options, models):
    assert requested(models["tiny"]) == requested(models["tiny"]) != requested(models["tiny"], **options) != ""
    assert requested(models["tiny"], **options) == requested(models["tiny"], **options)


def test_how_a_run_is_judged_is_not_in_the_key(models):
    same = requested(models["tiny"], strict=True, keep_going=True, plan="arena", device="sim:adreno-740,checks=full")
    assert same == requested(models["tiny"]) != ""


def test_the_content_and_the_name_of_a_model_are_in_the_key(models, tmp_path):
    first = requested(models["tiny"])
    copied = tmp_path / "other" / "tiny.onnx"
    copied.parent.mkdir()
    copied.write_bytes(models["tiny"].read_bytes())
    assert requested(copied) == first
    assert requested(copied.rename(tmp_path / "another.onnx")) not in ("", first)
    change_model(models)
    assert requested(models["tiny"]) not in ("", first)


def test_files_beside_a_model_are_part_of_it(models, compiled, prepared):
    path = models["tiny"]
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    first = prepared(path)
    assert prepared(path).compiled == first.compiled
    assert len(compiled) == 1
    weights = path.with_name("weights.bin")
    weights.write_bytes(np.frombuffer(weights.read_bytes(), np.float32)[::-1].tobytes())
    prepared(path)
    assert len(compiled) == 2
    weights.unlink()
    with pytest.raises(AdrenoSimError, match="not a readable ONNX model"):
        prepared(path)


def test_a_model_whose_weights_are_no_file_is_not_waited_for(models):
    path = models["tiny"]
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert requested(path) != ""
    path.with_name("weights.bin").unlink()
    os.mkfifo(path.with_name("weights.bin"))
    assert requested(path) == ""
    path.write_bytes(b"no model, whose location is unknown")
    assert requested(path) == ""


KEPT_NEVER = [
    pytest.param({"pipeline": lambda module: module}, id="passes of the caller's"),
    pytest.param({"references": {"f": lambda *args: None}}, id="references of the caller's"),
    pytest.param({"inputs": {"x": [[1.0]]}}, id="inputs that are no arrays"),
]


@pytest.mark.parametrize("options", KEPT_NEVER)
def test_what_is_more_than_data_is_not_kept(options, models):
    assert requested(models["tiny"], **options) == ""


def test_python_files_modules_and_missing_files_are_not_kept(models, tmp_path):
    (tmp_path / "model.py").write_text("")
    assert requested(tmp_path / "model.py") == requested(onnx.load(models["tiny"])) == requested(tmp_path / "none.onnx") == ""


@pytest.mark.parametrize("name", ["TVM_LIBRARY_PATH", "TVM_BACKTRACE"])
def test_a_tvm_that_its_environment_steers_is_asked_every_time(name, models, monkeypatch):
    monkeypatch.setenv(name, "0")
    assert requested(models["tiny"]) == ""


def test_a_tvm_with_backends_of_others_is_asked_every_time(models, monkeypatch):
    from importlib.metadata import EntryPoint

    found = [EntryPoint("theirs", "their.module:load", "tvm.backends")]
    monkeypatch.setattr(installed_files.metadata, "entry_points", lambda group: found)
    assert requested(models["tiny"]) == ""


def test_a_process_whose_tvm_others_may_have_changed_is_not_trusted(models, monkeypatch):
    from adreno_sim.compiler.check.cache import key

    monkeypatch.setattr(key, "may_be_changed", foreign_code.may_be_changed)  # this file names TVM
    assert requested(models["tiny"]) == ""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """The installed TVM as a checkout would have it: its Python files in one folder, its libraries in another."""
    (real,) = installed_files._locations("tvm")
    package, build = tmp_path / "checkout" / "python" / "tvm", tmp_path / "checkout" / "build" / "lib"
    package.mkdir(parents=True)
    build.mkdir(parents=True)
    for part in Path(real).iterdir():
        if part.name not in ("lib", "libinfo.py"):
            (package / part.name).symlink_to(part)
    (package / "libinfo.py").write_text("")
    (build / "libtvm_compiler.so").write_bytes(b"library")
    locations = installed_files._locations
    monkeypatch.setattr(installed_files, "DISTRIBUTIONS", ())
    monkeypatch.setattr(installed_files, "_locations", lambda name: [str(package)] if name == "tvm" else locations(name))
    return package


@pytest.mark.slow
def test_an_edit_of_tvm_is_compiled_with(checkout, models, compiled, prepared):
    prepared(models["tiny"])
    prepared(models["tiny"])
    assert len(compiled) == 1
    (checkout / "libinfo.py").write_text("# another")
    prepared(models["tiny"])
    assert len(compiled) == 2


@pytest.mark.parametrize("file", ["libinfo.py", "../../build/lib/libtvm_compiler.so", "new_pass.py"])
def test_every_file_of_a_checkout_is_in_the_key(file, checkout, models):
    first = requested(models["tiny"])
    before = (checkout / file).read_bytes() if (checkout / file).exists() else None
    (checkout / file).write_bytes(b"another")
    assert requested(models["tiny"]) not in ("", first)
    if before is None:
        (checkout / file).unlink()
    else:
        (checkout / file).write_bytes(before)
    assert requested(models["tiny"]) == first


def test_a_tvm_whose_libraries_are_not_found_is_asked_every_time(checkout, models):
    assert requested(models["tiny"]) != ""
    (checkout.parents[1] / "build" / "lib" / "libtvm_compiler.so").unlink()
    assert requested(models["tiny"]) == ""


HURT = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "changed": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"),
    "empty": lambda path: path.write_bytes(b""),
    "no value": lambda path: disk_cache.store(path, b"whole, but no entry"),
    "no entry": lambda path: values.store(path, list[int], [1]),
    "gone": lambda path: path.unlink(),
}


def test_a_damaged_entry_is_no_entry_and_is_made_again(models, compiled, prepared):
    from adreno_sim.compiler.check.cache.entry import load_prepared

    first, key = prepared(models["tiny"]), requested(models["tiny"])
    places = [path for path in disk_cache.folder("models").iterdir() if not path.name.startswith("files-")]
    assert len(places) == 2
    assert load_prepared(key) is not None
    for place in places:
        for hurt in HURT.values():
            whole = place.read_bytes()
            hurt(place)
            assert load_prepared(key) is None
            place.write_bytes(whole)
        HURT["cut"](place)
    assert prepared(models["tiny"]).compiled == first.compiled
    assert len(compiled) == 2
    assert prepared(models["tiny"]).compiled == first.compiled
    assert len(compiled) == 2


def test_a_model_that_would_fill_the_cache_is_not_kept(models, compiled, prepared, monkeypatch):
    monkeypatch.setattr(entry, "most_bytes", lambda: 20)
    prepared(models["tiny"])
    prepared(models["tiny"])
    assert len(compiled) == 2
    assert set(disk_cache.usage()["models"])
    assert disk_cache.usage()["models"][0] == 1


def test_checks_with_the_same_weights_share_them(models, prepared):
    for seed in (1, 2):
        prepared(models["tiny"], seed=seed)
    names = [path.name.partition("-")[0] for path in disk_cache.folder("models").iterdir()]
    assert names.count("weights") == 1
    assert names.count("files") == 1
    assert len(names) == 4


def test_a_model_that_changes_while_it_is_compiled_is_not_kept(models, prepared, monkeypatch):
    from adreno_sim.compiler.check import prepare

    extract = prepare.extract_model
    monkeypatch.setattr(prepare, "extract_model", lambda *args: change_model(models) or extract(*args))
    prepared(models["tiny"])
    assert not [path for path in disk_cache.folder("models").iterdir() if path.name.startswith("weights-")]
