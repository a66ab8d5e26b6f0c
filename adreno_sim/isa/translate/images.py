"""Images: reads, writes, and what can be asked of one. Textures (images that are only read) and written ones are counted
apart."""

from __future__ import annotations

from ...ir import ir
from .arithmetic import cast
from .translation import ImageHandle, Translation, Values, lane_type, leaves_of, refuse

_TYPES = {"f": "float32", "h": "float16", "i": "int32", "ui": "uint32"}
"""By the end of the built-in's name."""

_ADDRESSING, _CLAMP = 0xE, 4
"""The bits of a sampler that say what lies outside, and zeros there."""


def _find_image(translation: Translation, value: ir.Value, instr: ir.Instr) -> ImageHandle:
    found = translation.images.get(id(value))
    if found is None:
        raise refuse("an image that is not a parameter", instr)
    return found


def _fetches_texel(sampler: ir.Value) -> bool:
    """Whether integer coordinates and this sampler give what a fetch of a texel does: zeros outside the image (CLK_ADDRESS_CLAMP,
    which most samplers of this kind have). For others the hardware takes real coordinates, as Mesa's OpenCL driver does."""
    if not isinstance(sampler, ir.Instr) or not sampler.operands:
        return False
    bits = sampler.operands[0]
    return isinstance(bits, ir.Const) and isinstance(bits.value, int) and bits.value & _ADDRESSING == _CLAMP


def _middle(translation: Translation, places: Values, layers: int) -> Values:
    """The middle of the texel at integer coordinates; the last `layers` of them count layers, which have none."""
    program, real = translation.program, [translation.program.op("i2f32", place) for place in places]
    half = program.real(0.5, 32)
    count = len(real) - layers
    return (*(program.op("fadd", one, half) for one in real[:count]), *real[count:])


def read_image(translation: Translation, instr: ir.Instr) -> Values:
    """Translates read_image: coordinates that are integers fetch a texel, others sample."""
    assert instr.callee is not None
    image, program = _find_image(translation, instr.operands[0], instr), translation.program
    if len(instr.operands) > 3:
        raise refuse(f"{instr.callee.name} with {len(instr.operands)} arguments", instr)
    coordinate = instr.operands[-1]
    real = isinstance(lane_type(ir.type_of(coordinate)), ir.Float)
    shape = image.shape
    places = translation.value(coordinate)[: shape.coordinates]
    type = _TYPES[instr.callee.name.removeprefix("read_image")]
    if not image.is_texture:
        four = program.vector([*places, *(program.undefined(32) for _ in range(4 - len(places)))])
        where = [program.constant(image.number, 32), four, program.undefined(32), program.constant(0, 32)]
        bits = 16 if type == "float16" else 32
        whole = program.intrinsic(
            "image_load",
            where,
            4,
            bits,
            4,
            IMAGE_DIM=f"dim_{shape.dimension}",
            IMAGE_ARRAY=int(shape.array),
            DEST_TYPE=f"type_{type}",
        )
    else:
        sampler = instr.operands[1] if len(instr.operands) == 3 else None
        if not real and sampler is not None and not _fetches_texel(sampler):
            places, real = _middle(translation, places, int(shape.array)), True
        given = [("coord", program.vector(places))]
        if real:
            given.append(("lod", program.real(0.0, 32)))
        elif shape.dimension != "BUF":
            given.append(("lod", program.constant(0, 32)))
        number = 0 if sampler is None else translation.samplers[id(sampler)]
        whole = program.texture("txl" if real else "txf", image.number, shape, given, type, sampler=number)
    return program.parts(whole, 4)[: len(leaves_of(instr.type))]


def write_image(translation: Translation, instr: ir.Instr) -> None:
    """Translates write_image."""
    assert instr.callee is not None
    image, program = _find_image(translation, instr.operands[0], instr), translation.program
    if image.is_texture or len(instr.operands) > 3:
        raise refuse(f"{instr.callee.name} with {len(instr.operands)} arguments", instr)
    shape = image.shape
    places = translation.value(instr.operands[1])[: shape.coordinates]
    four = program.vector([*places, *(program.undefined(32) for _ in range(4 - len(places)))])
    color = program.vector(translation.value(instr.operands[-1]))
    type = _TYPES[instr.callee.name.removeprefix("write_image")]
    operands = [program.constant(image.number, 32), four, program.undefined(32), color, program.constant(0, 32)]
    program.intrinsic(
        "image_store", operands, width=4,
        IMAGE_DIM=f"dim_{shape.dimension}", IMAGE_ARRAY=int(shape.array), SRC_TYPE=f"type_{type}",
    )  # fmt: skip


def ask_image(translation: Translation, instr: ir.Instr) -> Values:
    """Translates get_image_width and similar functions. Channel order and type are parameters, which a driver hands over."""
    assert instr.callee is not None
    name, program = instr.callee.name, translation.program
    image = _find_image(translation, instr.operands[0], instr)
    if "channel" in name:
        return (translation.load_uniform(translation.reserve_uniform(f"{name} of image {image.number}", 4, 4), 32),)
    if "mip" in name or "samples" in name:
        raise refuse(name, instr)
    shape = image.shape
    if image.is_texture:
        given = [] if shape.dimension == "BUF" else [("lod", program.constant(0, 32))]
        whole = program.texture("txs", image.number, shape, given, "int32", shape.coordinates)
    else:
        where = [program.constant(image.number, 32), program.constant(0, 32)]
        whole = program.intrinsic(
            "image_size", where, shape.coordinates, 32, shape.coordinates,
            IMAGE_DIM=f"dim_{shape.dimension}", IMAGE_ARRAY=int(shape.array),
        )  # fmt: skip
    sizes = program.parts(whole, shape.coordinates)
    if name == "get_image_dim":
        rest = len(leaves_of(instr.type)) - len(sizes)
        return sizes[: len(leaves_of(instr.type))] + tuple(program.constant(0, 32) for _ in range(rest))
    if name == "get_image_array_size":
        return (cast(translation, "zext", sizes[-1], instr.type),)
    return (sizes[("get_image_width", "get_image_height", "get_image_depth").index(name)],)


def make_sampler(translation: Translation, instr: ir.Instr) -> Values:
    """A sampler that the kernel makes itself."""
    translation.samplers[id(instr)] = translation.program.samplers
    translation.program.samplers += 1
    return ()
