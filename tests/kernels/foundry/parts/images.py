"""Parts of kernels that read and write images."""

from __future__ import annotations

from ..builder import Builder
from ..layout import CHANNELS, Image
from ..tree import GROUP, IN_GROUP, ITEM, Expr, Num, ReadTexel, WriteTexel
from .elements import take
from .forms import Body, perhaps_if, some_index

KINDS = ("image1d", "image1d_buffer", "image1d_array", "image2d", "image2d", "image2d_array", "image3d")


def add_image(b: Builder) -> None:
    """An image that is read, written, or both with a barrier between."""
    b.random.choice([_add_read, _add_read, _add_written, _add_shared])(b)


def _image(b: Builder, access: str, texels: int) -> Image:
    """An image of at least so many texels, in rows of a few."""
    kind = b.random.choice(KINDS)
    width, height, depth = texels, 1, 1
    if kind in ("image2d", "image2d_array", "image3d"):
        width = b.random.choice([w for w in (1, 2, 5, 8, 16, 33, 64) if w <= texels])
        height = -(-texels // width)
    if kind in ("image2d_array", "image3d"):
        depth = b.random.choice([1, 2, 3])
        height = -(-height // depth)
    if kind == "image1d_array":
        depth = b.random.choice([1, 2, 4])
        width = -(-texels // depth)
    order = b.random.choice(["R", "R", "RG", "RGBA", "RGBA"])
    return Image(b.name("m"), kind, access, order, b.random.choice(list(CHANNELS)), (width, height, depth))


def _add(b: Builder, image: Image, unset: tuple[tuple[int, int], ...] = ()) -> None:
    b.parameters.append(image)
    memory = b.memory(image.nbytes, image.dtype, unset)
    b.launch.values[image.name] = memory


def _coordinates(b: Builder, image: Image, texel: Expr, writes: bool) -> tuple[Expr, ...]:
    """Of the texel with a number, counted along rows."""
    width, height, _ = image.size
    if image.dimensions == 1:
        parts: list[Expr] = [texel]
    elif image.dimensions == 2:
        parts = [texel % width, texel // width]
    else:
        parts = [texel % width, texel // width % height, texel // (width * height)]
    return tuple(
        b.hole(part, "coordinate", "image", writes=writes, extent=extent, object=image)
        for part, extent in zip(parts, image.extents, strict=True)
    )


def _sampler(b: Builder) -> str:
    if b.chance(0.5):
        return ""
    return _named_sampler(b)


def _named_sampler(b: Builder) -> str:
    if not b.samplers:
        b.samplers["nearest"] = "NONE"
    return "nearest"


def _add_read(b: Builder) -> None:
    """Each work-item reads a texel of its own, or several of a row."""
    items = b.launch.items
    image = _image(b, "read_only", items)
    _add(b, image)
    sampler = _sampler(b) if image.kind != "image1d_buffer" else ""
    if b.chance(0.5) or image.dimensions == 1:
        coordinates = _coordinates(b, image, ITEM, False)
        b.body += perhaps_if(b, take(b, ReadTexel(image, coordinates, sampler)))
        return
    wrap, x = some_index(b, image.extents[0])
    others = [(ITEM * b.random.choice([1, 3]) + b.random.randint(0, 5)) % extent for extent in image.extents[1:]]
    holes = [
        b.hole(part, "coordinate", "image", extent=extent, object=image)
        for part, extent in zip([x, *others], image.extents, strict=True)
    ]
    b.body += perhaps_if(b, wrap(take(b, ReadTexel(image, tuple(holes), sampler))))


def _write(b: Builder, image: Image) -> Body:
    texel = ITEM
    write = WriteTexel(image, _coordinates(b, image, texel, True), b.value())
    return (b.slot((write,), "fill", "image", writes=True, object=image, index=(texel,)),)


def _add_written(b: Builder) -> None:
    """Each work-item writes a texel of its own."""
    image = _image(b, "write_only", b.launch.items)
    _add(b, image, ((0, image.nbytes),) if b.chance(0.5) else ())
    b.body += perhaps_if(b, _write(b, image))
    b.body.append(b.slot((), "extra", "image", writes=True, object=image, index=(ITEM,)))


def _add_shared(b: Builder) -> None:
    """The work-items of a group hand over in an image that is read and written."""
    size = b.launch.group_items
    image = _image(b, "read_write", b.launch.items)
    _add(b, image, ((0, image.nbytes),) if b.chance(0.5) else ())
    own = GROUP * size + IN_GROUP
    write = WriteTexel(image, _coordinates(b, image, own, True), b.value())
    b.body.append(b.slot((write,), "fill", "image", writes=True, object=image, index=(own,)))
    b.body.append(b.slot((), "extra", "image", writes=True, object=image, index=(own,)))
    b.body.append(b.barrier("image", space="image"))
    r = b.random.randint(1, max(1, size - 1))
    of: Expr = b.random.choice([(IN_GROUP + r) % size, Num(size - 1) - IN_GROUP, IN_GROUP])
    read = ReadTexel(image, _coordinates(b, image, GROUP * size + of, False))
    b.body += perhaps_if(b, take(b, read))
