"""Reads and writes of images: programs of NIR, run by an interpreter, leave what the engine leaves."""

from __future__ import annotations

import json
from typing import Any

import nir_interpreter
import numpy as np
import pytest
from test_values import BYTES, GROUPS, SPACE

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec, Sampler
from adreno_sim.findings import Severity
from adreno_sim.ir import ir
from adreno_sim.isa.translate.kernel import translate_kernel

ITEMS = 128
SIZES = {
    "image1d": (16, 1, 1), "image1d_buffer": (16, 1, 1), "image1d_array": (16, 1, 5), "image2d": (16, 9, 1),
    "image2d_array": (16, 9, 3), "image3d": (16, 9, 4),
}  # fmt: skip
"""Width, height, and depth or layers by kind."""
DTYPES = {"FLOAT": np.float32, "HALF_FLOAT": np.float16, "SIGNED_INT32": np.int32, "UNSIGNED_INT32": np.uint32}
SAMPLERS = [Sampler(False, "clamp"), Sampler(True, "clamp"), Sampler(False, "clamp_to_edge"), Sampler(True, "clamp_to_edge")]
SPELLED = {
    "clamp": "CLK_ADDRESS_CLAMP", "clamp_to_edge": "CLK_ADDRESS_CLAMP_TO_EDGE", True: "CLK_NORMALIZED_COORDS_TRUE",
    False: "CLK_NORMALIZED_COORDS_FALSE",
}  # fmt: skip
PLACES = {"image1d": "x", "image1d_buffer": "x", "image1d_array": "(int2)(x, z)", "image2d": "(int2)(x, y)",
          "image2d_array": "(int4)(x, y, z, 0)", "image3d": "(int4)(x, y, z, 0)"}  # fmt: skip
HEAD = "int i = get_global_id(0), x = i % 16, y = i / 16 % 9, z = i / 16 % 3;"


def copying(kind: str, letter: str, type: str) -> str:
    """A kernel that reads texels by whole coordinates, and writes others of them."""
    sampler = "" if kind == "image1d_buffer" else "s, "
    place = PLACES[kind]
    return (
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        f"constant sampler_t s = CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
        f"kernel void k(read_only {kind}_t r, write_only {kind}_t w, global {type}4 *o) {{ {HEAD} "
        f"{type}4 v = read_image{letter}(r, {sampler}{place}); o[i] = v.yxwz; "
        f"write_image{letter}(w, {place}, v * ({type})3); }}"
    )


def sampling(kind: str, sampler: Sampler) -> str:
    """A kernel that reads by real coordinates, in the image and beside it."""
    scale = "(float4)(1 / 16.0f, 1 / 9.0f, 1 / 4.0f, 1)" if sampler.normalized else "(float4)(1)"
    layer = ".xyzw" if kind in ("image3d", "image2d_array") else ".xy" if kind in ("image2d", "image1d_array") else ".x"
    last = {"image1d_array": "c.y = z + 0.3f;", "image2d_array": "c.z = z + 0.3f;"}.get(kind, "")
    words = f"{SPELLED[sampler.addressing]} | {SPELLED[sampler.normalized]} | CLK_FILTER_NEAREST"
    return (
        f"constant sampler_t s = {words};\nkernel void k(read_only {kind}_t r, global float4 *o) {{ {HEAD} float4 c = "
        f"((float4)(x * 1.3f - 1.85f, y * 1.2f - 0.65f, z * 1.7f - 0.35f, 0)) * {scale}; {last} "
        f"o[i] = read_imagef(r, s, c{layer}); }}"
    )


def fetching(kind: str, sampler: Sampler) -> str:
    """A kernel that reads by integer coordinates, in the image and beside it."""
    place = PLACES[kind].replace("x", "x - 3", 1).replace(" y,", " y * 2 - 4,").replace("y)", "y * 2 - 4)")
    words = f"{SPELLED[sampler.addressing]} | {SPELLED[sampler.normalized]} | CLK_FILTER_NEAREST"
    return (
        f"constant sampler_t s = {words};\nkernel void k(read_only {kind}_t r, global float4 *o) {{ {HEAD} "
        f"o[i] = read_imagef(r, s, {place}); }}"
    )


CASES: dict[str, tuple[str, str, Sampler | None]] = {
    f"{kind} {letter}": (copying(kind, letter, type), channel, None)
    for kind in SIZES
    for letter, type, channel in (
        ("f", "float", "FLOAT"), ("i", "int", "SIGNED_INT32"), ("ui", "uint", "UNSIGNED_INT32"), ("h", "half", "HALF_FLOAT")
    )
    if kind in ("image2d", "image2d_array") or letter in "fi"
}  # fmt: skip
CASES |= {
    f"{kind} {sampler.addressing}{' normalized' * sampler.normalized}": (sampling(kind, sampler), "FLOAT", sampler)
    for kind in SIZES
    for sampler in SAMPLERS
    if kind != "image1d_buffer"
}
CASES |= {
    f"{kind} {sampler.addressing} by integers": (fetching(kind, sampler), "FLOAT", sampler)
    for kind in SIZES
    for sampler in SAMPLERS
    if kind != "image1d_buffer" and not sampler.normalized
}
CASES["sizes"] = (
    "kernel void k(read_only image2d_t a, read_only image3d_t b, read_only image2d_array_t c, write_only image2d_t w, "
    "global int *o) {"
    " o[0] = get_image_width(a); o[1] = get_image_height(a); o[2] = get_image_depth(b); o[3] = get_image_array_size(c);"
    " o[4] = get_image_width(w) * get_image_height(w); int4 d = get_image_dim(b); o[5] = d.x + 100 * d.y + 10000 * d.z; }",
    "FLOAT",
    None,
)
CASES["read and written"] = (
    f"kernel void k(read_write image2d_t w) {{ {HEAD} write_imagef(w, (int2)(x, y), read_imagef(w, (int2)(x, y)).wzyx * 2); }}",
    "FLOAT",
    None,
)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_and_the_engine_leave_the_same(name):
    source, channel, sampler = CASES[name]
    device = adreno_sim.open_device("sim:reference")
    program = device.build(source, "-cl-std=CL3.0")
    function = program.module.kernels["k"]
    pictures = {n: make_picture(p.type.kind, channel, n) for n, p in enumerate(function.params) if isinstance(p.type, ir.Image)}
    theirs = run_engine(device, program["k"], function, pictures, channel)
    ours = run_translation(function, pictures, sampler)
    assert set(ours) == set(theirs)
    assert any(np.any(found) for found in theirs.values())
    for number, expected in theirs.items():
        np.testing.assert_array_equal(
            np.asarray(ours[number]).reshape(-1), expected.reshape(-1), err_msg=f"{name}: argument {number}"
        )


def make_picture(kind: str, channel: str, seed: int) -> np.ndarray:
    width, height, depth = SIZES[kind]
    source = np.random.default_rng(seed)
    return source.integers(1, 100, (depth, height, width, 4)).astype(DTYPES[channel])


def run_engine(
    device: Any, kernel: Any, function: ir.Function, pictures: dict[int, np.ndarray], channel: str
) -> dict[int, np.ndarray]:
    arguments, written = [], {}
    for number, parameter in enumerate(function.params):
        if number in pictures:
            assert isinstance(parameter.type, ir.Image)
            spec = ImageSpec(parameter.type.kind, *SIZES[parameter.type.kind], channel_type=channel)
            view = device.view(device.allocate(device.view_nbytes(spec)), spec)
            device.write(view, pictures[number])
            if parameter.type.access != "read_only":
                written[number] = view
        else:
            view = written[number] = device.view(device.allocate(BYTES), BufferSpec(BYTES, "uint8"))
            device.write(view, np.zeros(BYTES, np.uint8))
        arguments.append(view)
    result = device.launch(kernel, [ITEMS], [ITEMS // GROUPS[0]], arguments)
    assert not [finding for finding in result.findings if finding.severity is Severity.ERROR]
    return {number: device.read(view) for number, view in written.items()}


def run_translation(function: ir.Function, pictures: dict[int, np.ndarray], sampler: Sampler | None) -> dict[int, np.ndarray]:
    program = json.loads(translate_kernel(function).program)
    uniforms, memory = bytearray(4096), bytearray(SPACE * (len(function.params) + 1))
    access = {n: p.type.access for n, p in enumerate(function.params) if isinstance(p.type, ir.Image)}
    buffers = {n: (n + 1) * SPACE for n in range(len(function.params)) if n not in pictures}
    for what, offset in program["parameters"]:
        if what == "local size":
            uniforms[offset : offset + 12] = np.array(program["group"], np.uint32).tobytes()
        else:
            uniforms[offset : offset + 8] = buffers[int(what.removeprefix("argument "))].to_bytes(8, "little")
    copies = {number: picture.copy() for number, picture in pictures.items()}
    textures = [copies[number] for number in pictures if access[number] == "read_only"]
    images = [copies[number] for number in pictures if access[number] != "read_only"]
    samplers = [(sampler.normalized, sampler.addressing) if sampler else (False, "clamp")]
    nir_interpreter.run(program, nir_interpreter.Machine(uniforms, memory, GROUPS, textures, images, samplers), 0)
    left = {number: np.frombuffer(memory, np.uint8, BYTES, at) for number, at in buffers.items()}
    return left | {number: copies[number] for number in pictures if access[number] != "read_only"}
