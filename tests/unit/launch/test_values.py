"""[values] of launch files: where expressions may stand, what the command line sets, and the line that each mistake gives."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from validators import validator

from adreno_sim import AdrenoSimError
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EVERYWHERE = """
global_size = ["n/4", "(m+7)//8*8", 1]
local_size = [4, "m"]
options = "-DN={n} -DM={m*2}"
[values]
n = 16
m = "n//2"
[storage.pool]
nbytes = "n*16"
[[argument]]
kind = "buffer"
dtype = "int32"
count = "n"
storage = "pool"
offset = "m*8"
data = {fill = "arange", start = "m", step = "-m+9"}
[[argument]]
kind = "image2d_array"
width = "n"
height = "m"
layers = "n-m"
[[argument]]
kind = "scalar"
type = "int4"
value = ["n", 2, "m", "n*m"]
[[argument]]
kind = "scalar"
value = "min(n, m)"
[[argument]]
kind = "local"
nbytes = "4*n"
"""
BUFFER = 'global_size = [1]\n{}\n[[argument]]\nkind = "buffer"\nname = "x"\ndtype = "float32"\ncount = {}\n'


@pytest.fixture
def launch(tmp_path):
    """Write a launch file and read it."""

    def read(text, variant="", **settings):
        path = tmp_path / "launch.toml"
        path.write_text(text)
        return read_launch(path, variant, settings)

    return read


def complaint(launch, text, **settings):
    with pytest.raises(AdrenoSimError) as error:
        launch(text, **settings)
    message = str(error.value)
    assert "\n" not in message
    assert error.value.exit_code == 2
    return message.partition("launch.toml: ")[2] or message


def test_sizes_are_expressions(launch):
    validator("launch").validate(tomllib.loads(EVERYWHERE))
    spec = launch(EVERYWHERE)
    assert spec.values == {"n": 16, "m": 8}
    assert spec.global_size == (4, 8, 1)
    assert spec.local_size == (4, 8)
    assert spec.options == "-DN=16 -DM=16"
    assert spec.storages == {"pool": 256}
    buffer, image, vector, scalar, local = spec.arguments
    assert (buffer.count, buffer.place.offset, buffer.data.parameters) == (16, 64, {"start": 8, "step": 1})
    assert (image.spec.width, image.spec.height, image.spec.depth_or_layers) == (16, 8, 8)
    assert vector.value == [16, 2, 8, 128]
    assert scalar.value == 8
    assert local.nbytes == 64


def test_the_command_line_sets_values(launch):
    assert launch(EVERYWHERE, n=32).values == {"n": 32, "m": 16}
    assert launch(EVERYWHERE, m="n-1").values == {"n": 16, "m": 15}
    assert launch(EVERYWHERE, n="2**6", m="8").global_size == (16, 8, 1)


def test_a_variant_may_bring_values(launch):
    text = EVERYWHERE + "[variant.large]\nvalues = {n = 64, m = 4}\n"
    assert launch(text).values["n"] == 16
    assert launch(text, "large").global_size == (16, 8, 1)


def test_braces_are_left_alone_where_there_are_no_values(launch):
    assert launch('global_size = [1]\noptions = "-DX={1,2}"\n').options == "-DX={1,2}"


@pytest.mark.parametrize(
    "values, count, message",
    [
        ("[values]\nn = 4", '"n*k"', "[[argument]] 1 (x): count: 'n*k': no value is named k; [values] has n"),
        ("", '"n"', "[[argument]] 1 (x): count: 'n': no value is named n; [values] has none"),
        ("[values]\nn = 4", '"n-5"', "[[argument]] 1 (x): count: expected a whole number of 1 or more, got 'n-5', which is -1"),
        ("[values]\nn = 4", '"n/3"', "[[argument]] 1 (x): count: 'n/3': 4 / 3 is not a whole number"),
        ("[values]\nn = 4", '"4 apples"', "[[argument]] 1 (x): count: '4 apples': not an expression: expected integers"),
        ("[values]\nm = 'n'\nn = 4", '"m"', "[values]: m: 'n': no value is named n; [values] has none"),
        ("[values]\nn = 0.5", '"n"', "[values]: n: expected a whole number, or an expression of the values above it, got 0.5"),
        ("[values]\nn = true", '"n"', "[values]: n: expected a whole number, or an expression of the values above it, got True"),
        ("[values]\nmin = 3", '"n"', "[values]: min: min is a function of expressions"),
        ("[values]\n'a b' = 3", '"n"', "[values]: a b: expected a name of letters"),
        ("values = 3", '"n"', "values: expected a table, got 3"),
        ('options = "-DN={k}"\n[values]\nn = 3', '"n"', "options: {k}: no value is named k; [values] has n"),
    ],
)
def test_a_mistake_names_the_key_and_the_name(launch, values, count, message):
    assert complaint(launch, BUFFER.format(values, count)).startswith(message)


def test_settings_that_do_not_fit(launch):
    text = BUFFER.format("[values]\nn = 4", '"n"')
    assert complaint(launch, text, m="3").endswith("has no value of this name; its [values] are n")
    assert complaint(launch, text, n="3.5") == "set: n=3.5: not an expression of sizes: expected " + (
        "integers, names, + - * / // % **, parentheses, min, max and ceildiv"
    )


def test_a_scalar_by_name_is_refused_where_the_type_is_a_float_of_text(launch):
    text = 'global_size = [1]\n[[argument]]\nkind = "scalar"\nvalue = "one"\n'
    assert complaint(launch, text).startswith("[[argument]] 1: value: 'one': no value is named one")


def test_arrays_of_an_npz(launch, tmp_path):
    np.savez(tmp_path / "in.npz", a=np.arange(4, dtype=np.float32).reshape(2, 2), b=np.zeros(3))
    np.save(tmp_path / "one.npy", np.zeros(4, np.float32))
    text = BUFFER.format("", "4") + "data = {}\n"
    spec = launch(text.format('{file = "in.npz", array = "a"}'))
    assert spec.arguments[0].data.array("float32", 4).tolist() == [0, 1, 2, 3]
    assert spec.arguments[0].data.count == 4
    assert tmp_path / "in.npz" in spec.files
    assert "data: array: missing: expected text" in complaint(launch, text.format('{file = "in.npz"}'))
    assert "only a .npz file has several arrays" in complaint(launch, text.format('{file = "one.npy", array = "a"}'))
    for name, message in (("c", "no array 'c'; its arrays are a, b"), ("b", "expected 4 elements of float32, got 3 of float64")):
        data = launch(text.format(f'{{file = "in.npz", array = "{name}"}}')).arguments[0].data
        with pytest.raises(AdrenoSimError, match=r"in\.npz: ") as error:
            data.array("float32", 4)
        assert message in str(error.value)
    (tmp_path / "in.npz").write_bytes(b"PK\3\4 and no more")
    with pytest.raises(AdrenoSimError, match=r"not a \.npz file of numbers"):
        launch(text.format('{file = "in.npz", array = "a"}')).arguments[0].data.array("float32", 4)


def test_another_size_is_another_launch(launch, tmp_path):
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(global float *x) { x[get_global_id(0)] = N; }\n")
    text = BUFFER.format('options = "-DN={n}"\n[values]\nn = 4', '"n"').replace("[1]", '["n"]')
    text += '[[output]]\nargument = 0\ndata = {fill = "constant", value = "n"}\n'
    for settings in ({}, {"n": "100"}):
        report = run_launch(launch(text, **settings), source)
        assert report.ok
        assert report.outputs[0].elements == report.values["n"] == int(settings.get("n", 4))
