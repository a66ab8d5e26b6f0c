"""Bundles: what is saved is loaded, and nothing else is."""

import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace

import handmade
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.compiler.artifact import host_function as h
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.artifact.serial import SchemaError, decode, encode
from adreno_sim.compiler.artifact.validate import validate
from adreno_sim.compiler.plan.extract import extract_plan

MODELS = {"symbolic": handmade.symbolic, "texture": handmade.texture, "branch": handmade.branch}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_equals_the_saved_one(name, tmp_path):
    model = MODELS[name]()
    model.save(tmp_path / "m.adsim")
    loaded = CompiledModel.load(tmp_path / "m.adsim")
    assert loaded == model
    assert {key: array.tolist() for key, array in loaded.constants.items()} == {k: a.tolist() for k, a in model.constants.items()}
    assert loaded.digest() == model.digest()


def test_equal_models_give_equal_files(tmp_path):
    for name in ("a", "b"):
        handmade.branch().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_plan_and_odd_constants_survive(tmp_path):
    model = handmade.texture()
    constants = {"file": np.array(3, np.float16), "empty": np.zeros((0, 4), np.int8), "flag": np.array([True, False])}
    model = replace(model, plan=extract_plan(model), constants=constants)
    model.save(tmp_path / "m.adsim")
    loaded = CompiledModel.load(tmp_path / "m.adsim")
    assert loaded.plan == model.plan
    for key, array in constants.items():
        assert (loaded.constants[key].dtype, loaded.constants[key].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(loaded.constants[key], array)


def test_kernels_lie_in_the_bundle_as_readable_sources(tmp_path):
    handmade.branch().save(tmp_path / "m.adsim")
    with zipfile.ZipFile(tmp_path / "m.adsim") as archive:
        assert archive.read("kernels/add_one.cl").decode() == handmade.ADD_ONE
        assert json.loads(archive.read("model.json"))["schema"] == "adreno-sim/bundle/1"


def test_a_failed_save_leaves_what_was_there(tmp_path):
    target = tmp_path / "m.adsim"
    target.write_text("old")
    broken = replace(handmade.branch(), constants={"k": np.array([object()])})
    with pytest.raises(ValueError):
        broken.save(target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["m.adsim"]
    with pytest.raises(AdrenoSimError, match=r"cannot write .*missing"):
        handmade.branch().save(tmp_path / "missing" / "m.adsim")


def rewritten(path, change):
    """The bundle at `path` with `change(members)` applied, digests untouched."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    path.write_bytes(packed.getvalue())


DAMAGES = {
    "kernel changed": lambda m: m.update({"kernels/add_one.cl": m["kernels/add_one.cl"].replace(b"1.0f", b"2.0f")}),
    "constant changed": lambda m: m.update({"constants.npz": m["constants.npz"][:-4] + b"abcd"}),
    "member lost": lambda m: m.pop("kernels/add_one.cl"),
    "member added": lambda m: m.update({"extra": b""}),
    "no digests": lambda m: m.pop("digests.json"),
    "no model": lambda m: m.pop("model.json"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed(damage, tmp_path):
    path = tmp_path / "m.adsim"
    handmade.branch().save(path)
    rewritten(path, DAMAGES[damage])
    with pytest.raises(AdrenoSimError, match=r"m\.adsim"):
        CompiledModel.load(path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_flipped_or_lost_byte_is_an_error_or_harmless(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("flip") / "m.adsim"
    model = handmade.branch()
    model.save(path)
    raw = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(0, len(raw) - 1))]
    else:
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(raw))
    try:
        loaded = CompiledModel.load(path)
    except AdrenoSimError:
        return
    assert loaded == model
    assert loaded.digest() == model.digest()


def signed(path, change):
    """Rewrite a member and the digests with it: a bundle made by another program."""
    from adreno_sim.compiler.artifact.model import _digests

    def both(members):
        change(members)
        members.pop("digests.json")
        members["digests.json"] = _digests(members)

    rewritten(path, both)


def edit_json(change):
    def apply(members):
        data = json.loads(members["model.json"])
        change(data)
        members["model.json"] = json.dumps(data).encode()

    return apply


FOREIGN = {
    "schema": (lambda d: d.update(schema="adreno-sim/bundle/9"), "expected schema 'adreno-sim/bundle/1'"),
    "not an object": (lambda d: d.clear(), "schema"),
    "field missing": (lambda d: d.pop("inputs"), "lacks field 'inputs'"),
    "field unknown": (lambda d: d.update(colour=1), "no field 'colour'"),
    "wrong type": (lambda d: d.update(name=3), r"name: expected str, found 3"),
    "unknown dtype": (lambda d: d["inputs"][1].update(dtype="float33"), "x: unknown dtype 'float33'"),
    "vector dtype": (
        lambda d: d["host_functions"]["add_one"]["params"][0].update(dtype="float32x4"),
        "unknown dtype 'float32x4'",
    ),
    "unknown op": (lambda d: d["functions"]["main"]["body"][0].update(op="Jump"), "unknown op 'Jump'"),
    "unknown kernel": (lambda d: d["kernels"].pop("add_one"), "unknown kernel 'add_one'"),
    "unknown function": (lambda d: d["host_functions"].pop("add_one"), "unknown host function 'add_one'"),
    "kernel without source": (lambda d: d["kernels"].update(other=d["kernels"]["add_one"]), "kernels/other.cl"),
    "no main": (lambda d: d["functions"].pop("main"), "no VM function 'main'"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_bundles_are_refused_with_the_place(case, tmp_path):
    change, message = FOREIGN[case]
    path = tmp_path / "m.adsim"
    handmade.branch().save(path)
    signed(path, edit_json(change))
    with pytest.raises(AdrenoSimError, match=message):
        CompiledModel.load(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a zip" * 100])
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "m.adsim").write_bytes(content)
    with pytest.raises(AdrenoSimError, match="not an adreno-sim bundle"):
        CompiledModel.load(tmp_path / "m.adsim")
    with pytest.raises(AdrenoSimError, match=r"cannot read .*absent"):
        CompiledModel.load(tmp_path / "absent")


def test_validate_counts_arguments():
    model = handmade.branch()
    launch = h.Launch("add_one", (), (handmade.ONE,) * 3, (handmade.ONE,) * 3)
    host = replace(handmade.ADD_ONE_HOST, body=(launch,))
    with pytest.raises(AdrenoSimError, match="add_one takes 3, given 0"):
        validate(replace(model, host_functions={"add_one": host}))
    with pytest.raises(AdrenoSimError, match="unknown constant 'k'"):
        validate(replace(model, constants={}))


def test_a_bundle_loads_without_tvm(tmp_path):
    handmade.symbolic().save(tmp_path / "m.adsim")
    code = f"""
import sys
sys.modules["tvm"] = None
from adreno_sim.compiler.run import vm
from adreno_sim.compiler.artifact.model import CompiledModel
print(CompiledModel.load({str(tmp_path / "m.adsim")!r}).name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "handmade", done.stderr


DTYPES = ["int32", "int64", "float32", "bool"]
leaves = st.one_of(
    st.builds(h.Const, st.integers(-(2**63), 2**63 - 1), st.just("int64")),
    st.builds(h.Const, st.floats(), st.just("float64")),
    st.builds(h.Const, st.booleans(), st.just("bool")),
    st.builds(h.Var, st.text(min_size=1, max_size=5)),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(h.Binary, st.sampled_from(["add", "and", "floordiv"]), inner, inner, st.sampled_from(DTYPES)),
        st.builds(h.Select, inner, inner, inner),
        st.builds(h.Load, st.just("H"), inner),
        st.builds(h.Cast, inner, st.sampled_from(DTYPES)),
    ),
    max_leaves=8,
)


@given(expressions)
def test_expressions_survive_json(expression):
    text = json.dumps(encode(expression), allow_nan=False)
    assert repr(decode(h.Expr, json.loads(text))) == repr(expression)  # repr: nan equals itself


@pytest.mark.parametrize("data", [3, [], {"op": "Const"}, {"op": "Const", "value": "x", "dtype": "int64"}, {"value": 1}])
def test_json_that_is_no_expression_is_refused(data):
    with pytest.raises(SchemaError):
        decode(h.Expr, data)
