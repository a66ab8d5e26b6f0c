"""A buffer has a `dtype` of NumPy, a scalar a `type` of OpenCL C, an image a `channel_type`."""

from __future__ import annotations

from pathlib import Path

import pytest
from validators import validator

from adreno_sim.base.errors import AdrenoSimError
from adreno_sim.launch_spec.data import DTYPES
from adreno_sim.launch_spec.read import read_tables
from adreno_sim.launch_spec.scalars import SCALARS

BUFFER = {"kind": "buffer", "count": 8}
SCALAR = {"kind": "scalar", "value": 1}
IMAGE = {"kind": "image2d", "width": 4, "height": 4}
OF_BUFFER = "no such key; the elements of a buffer have a type by its name in NumPy: "
OF_SCALAR = "no such key; a scalar has a type of OpenCL C: "
OF_IMAGE = "no such key; the texels of an image have an `order`, and a type by its name in OpenCL: "


def launch(argument: dict[str, object]) -> dict[str, object]:
    return {"global_size": [4], "argument": [argument]}


def refusal(argument: dict[str, object]) -> str:
    with pytest.raises(AdrenoSimError) as error:
        read_tables(launch(argument), Path("k.toml"))
    return str(error.value).removeprefix("k.toml: [[argument]] 1: ")


@pytest.mark.parametrize(
    "argument, said",
    [
        ({**BUFFER, "type": "float"}, f'type: {OF_BUFFER}dtype = "float32"'),
        ({**BUFFER, "type": "uchar", "dtype": "uint8"}, f'type: {OF_BUFFER}dtype = "uint8"'),
        ({**BUFFER, "type": "int8"}, f"type: {OF_BUFFER}dtype"),
        ({**BUFFER, "type": "float32"}, f'type: {OF_BUFFER}dtype = "float32"'),
        ({**BUFFER, "type": "float3"}, f'type: {OF_BUFFER}dtype = "float32", with 4 of `count` for each float3'),
        ({**BUFFER, "type": "struct s"}, f"type: {OF_BUFFER}dtype"),
        ({**BUFFER, "type": 4}, f"type: {OF_BUFFER}dtype"),
        ({**BUFFER, "channel_type": "FLOAT"}, f"channel_type: {OF_BUFFER}dtype"),
        ({**SCALAR, "dtype": "int64"}, f'dtype: {OF_SCALAR}type = "long"'),
        ({**SCALAR, "dtype": "uint8"}, f'dtype: {OF_SCALAR}type = "uchar"'),
        ({**SCALAR, "dtype": "bool"}, f"dtype: {OF_SCALAR}type"),
        ({**SCALAR, "dtype": "float4"}, f'dtype: {OF_SCALAR}type = "float4"'),
        ({**IMAGE, "dtype": "float16"}, f'dtype: {OF_IMAGE}channel_type = "HALF_FLOAT"'),
        ({**IMAGE, "dtype": "uint8"}, f"dtype: {OF_IMAGE}channel_type"),
        ({**IMAGE, "type": "float"}, f'type: {OF_IMAGE}channel_type = "FLOAT"'),
    ],
)
def test_the_key_of_another_kind_of_argument(argument, said):
    assert refusal(argument) == said


@pytest.mark.parametrize(
    "argument, said",
    [
        ({**BUFFER, "dtype": "int"}, "(did you mean int32?), got 'int'"),
        ({**BUFFER, "dtype": "half"}, "(did you mean float16?), got 'half'"),
        ({**BUFFER, "dtype": "float4"}, "(did you mean float32, with 4 of `count` for each float4?), got 'float4'"),
        ({**BUFFER, "dtype": "flaot32"}, "(did you mean float32?), got 'flaot32'"),
        ({**SCALAR, "type": "uint64"}, "(did you mean ulong?), got 'uint64'"),
        ({**SCALAR, "type": "float32"}, "(did you mean float?), got 'float32'"),
        ({**IMAGE, "channel_type": "float"}, "(did you mean FLOAT?), got 'float'"),
        ({**IMAGE, "channel_type": "float16"}, "(did you mean HALF_FLOAT?), got 'float16'"),
        ({**IMAGE, "channel_type": "unorm_int8"}, "(did you mean UNORM_INT8?), got 'unorm_int8'"),
    ],
)
def test_a_name_of_another_language(argument, said):
    assert refusal(argument).endswith(said)


def test_right_names_are_taken_as_the_schema_has_them():
    schema = validator("launch")
    arguments = [{**BUFFER, "dtype": dtype} for dtype in DTYPES]
    arguments += [{**SCALAR, "type": name} for name in SCALARS]
    arguments += [{"kind": "scalar", "value": [1, 2], "type": "bytes"}, {**IMAGE, "channel_type": "UNORM_INT8"}, IMAGE, SCALAR]
    for argument in arguments:
        schema.validate(launch(argument))
        assert read_tables(launch(argument), Path("k.toml")).arguments


@pytest.mark.parametrize(
    "type, value, said",
    [
        ("uint8", 1, "expected 8 numbers for uint8, got 1 values (one number of NumPy's uint8 is uchar)"),
        ("float2", [1], "expected 2 numbers for float2, got 1 values"),
        ("uchar", 256, "expected uchar, got 256"),
        ("unsigned int", -1, "expected uint, got -1"),
        ("float2", [1, "a"], "value: 'a'"),
        ("int2", [1, 1.5], "expected int, got 1.5"),
        ("bytes", [1, 256], "expected bytes, numbers from 0 to 255, got 256"),
    ],
)
def test_a_wrong_value_is_told_in_the_words_of_its_type(type, value, said):
    assert said in refusal({"kind": "scalar", "type": type, "value": value})
