"""Parts of kernels, each with an object in one space of memory, which it fills and reads as OpenCL allows."""

from __future__ import annotations

from math import prod

from .. import tree
from ..builder import Builder
from ..launches import Memory
from ..layout import Array, Element, Struct
from ..tree import GROUP, IN_GROUP, ITEM, Assign, DeclareArray, Expr, Load, Name, Num, Store
from .elements import fill, read, take
from .forms import Body, perhaps_if, some_index


def add_private(b: Builder) -> None:
    """A private array, of which each work-item fills its own."""
    extra = 0 if b.plain and b.chance(0.8) else b.random.choice([0, 0, 1, 2])
    element, dims = _shape(b, most=24)
    array = Array(b.name("a"), "private", element, (dims[0] + extra, *dims[1:]))
    if isinstance(element, Element) and len(dims) == 1 and not extra and b.chance(0.15):
        b.body.append(DeclareArray(array, tuple(b.random.randint(0, 63) for _ in range(dims[0]))))
    else:
        b.body.append(DeclareArray(array))
        b.body += fill(b, array, dims[0])
    if b.chance(0.2):
        b.body.append(b.barrier("local"))
    for _ in range(b.random.randint(1, 2)):
        b.body += read(b, array, dims[0], filled=dims[0])


def _shape(b: Builder, most: int) -> tuple[Element | Struct, tuple[int, ...]]:
    """An element, and how many of them along one axis or two."""
    what = b.random.choice(["flat", "flat", "flat", "rows", "rows", "structs", "structs", "one struct"])
    if what == "one struct":
        return b.struct(), (1,)
    if what == "structs":
        return b.struct(), (b.random.randint(2, 5),)
    if what == "rows":
        return b.element(), (b.random.randint(2, 4), b.random.randint(2, 6))
    return b.element(), (b.random.choice([n for n in (1, 2, 3, 4, 4, 5, 6, 8, 8, 9, 12, 16, 24) if n <= most]),)


def add_constant(b: Builder) -> None:
    """A table of the program, or a constant argument."""
    if b.chance(0.4):
        element = b.element()
        dims = _shape(b, most=24)[1]
        array = Array(b.name("t"), "constant", element, dims, "program")
        if len(dims) > 1:
            array = Array(array.name, "constant", element, (prod(dims),), "program")
        b.tables.append((array, tuple(b.random.randint(0, 63) for _ in range(array.dims[0]))))
        b.body += read(b, array, array.dims[0], filled=array.dims[0])
        return
    _add_input(b, "constant")


def add_input(b: Builder) -> None:
    """A buffer that is read alone."""
    _add_input(b, "global")


def _add_input(b: Builder, space: str) -> None:
    """Each work-item reads a part of its own, a part that overlaps with its neighbours', or one part for all."""
    element: Element | Struct = b.struct() if b.chance(0.3) else b.element()
    count, items = b.random.choice([1, 1, 2, 3, 4]), b.launch.items
    way = b.random.choice(["own", "own", "halo", "all", "apart", "gathered" if space == "global" else "own"])
    total = {"own": items * count, "halo": items + count - 1, "all": b.random.choice([3, 8, 16, 33]), "apart": items * count}.get(
        way, b.random.choice([16, 64, 100])
    )
    extra = b.random.choice([0, 0, 0, 1])
    array = Array(b.name("b"), space, element, (total + extra,), "argument", const=space == "global" and b.chance(0.8))
    unset = ((total * element.nbytes, array.nbytes),) if extra else ()
    b.buffer(array, unset)
    i = ITEM
    if way == "gathered":
        _read_gathered(b, array, total)
    elif way == "all":
        b.body += read(b, array, total, filled=total)
    elif way == "apart":
        b.body += read(b, array, count, i, filled=total, stride=items)
    else:
        b.body += read(b, array, count, i * count if way == "own" and count > 1 else i, filled=total)


def _read_gathered(b: Builder, array: Array, total: int) -> None:
    """At indices that come from another buffer."""
    element = Element(b.random.choice(["int", "ushort", "uchar"]))
    numbers = Array(b.name("x"), "global", element, (b.launch.items,), "argument", True)
    b.buffer(numbers)
    b.indices.add(numbers.name)
    memory = b.launch.values[numbers.name]
    assert isinstance(memory, Memory)
    memory.contents.view(element.dtype)[:] = [b.random.randrange(total) for _ in range(b.launch.items)]
    place = b.place(numbers, (ITEM,), writes=False, filled=b.launch.items)
    name = b.name("at")
    found: Body = (tree.Declare(name, Load(place)),)
    if isinstance(array.element, Struct):
        field, _, count = b.random.choice(array.element.fields)
        wrap, inner = some_index(b, count) if count else (lambda body: body, None)
        at = b.place(array, (Name(name),), writes=False, filled=total, field=field, inner=inner)
        found += wrap(take(b, Load(at)))
    else:
        found += take(b, Load(b.place(array, (Name(name),), writes=False, filled=total)))
    b.body += perhaps_if(b, found)


def add_output(b: Builder) -> None:
    """A buffer of which each work-item writes its own part, and perhaps reads it."""
    element: Element | Struct = b.struct() if b.chance(0.3) else b.element()
    count, items, i = b.random.choice([1, 1, 2, 4]), b.launch.items, ITEM
    array = Array(b.name("o"), "global", element, (items * count,), "argument")
    whole = ((0, array.nbytes),) if b.chance(0.5) else ()
    b.buffer(array, whole)
    apart = count > 1 and b.chance(0.4)
    stride, base = (items, i) if apart else (1, i * count if count > 1 else i)
    filling = fill(b, array, count, base, stride)
    b.body += filling
    b.body.append(b.slot((), "extra", "global", writes=True, object=array, index=(base,)))
    if b.chance(0.5):
        b.body += read(b, array, count, base, stride=stride, filled=array.dims[0])


def add_local(b: Builder) -> None:
    """Local memory that the work-items of a group hand over."""
    size, count = b.launch.group_items, b.random.choice([1, 1, 2, 3])
    while size * count > 2048:
        count -= 1
    element: Element | Struct = b.struct() if size <= 256 and b.chance(0.25) else b.element()
    if b.chance(0.2) and size <= 256 and isinstance(element, Element):
        dims: tuple[int, ...] = (size * count, b.random.randint(2, 5))
    else:
        dims = (size * count,)
    extra = b.random.choice([0, 0, 0, 1])
    array = Array(b.name("w"), "local", element, (dims[0] + extra, *dims[1:]))
    if len(dims) == 1 and b.chance(0.35):
        array = Array(array.name, "local", element, array.dims, "argument")
        b.parameters.append(array)
        b.launch.values[array.name] = array.nbytes
    else:
        b.body.append(DeclareArray(array))
    _hand_over(b, array, count, IN_GROUP, size, "local", dims[0])
    if len(dims) == 1 and array.element == Element("int") and size & (size - 1) == 0 and size > 1 and b.chance(0.6):
        _add_tree(b, array, size)


def add_shared(b: Builder) -> None:
    """A buffer in which the work-items of a group hand over."""
    size, count = b.launch.group_items, b.random.choice([1, 1, 2])
    element: Element | Struct = b.struct() if b.chance(0.25) else b.element()
    array = Array(b.name("h"), "global", element, (b.launch.items * count,), "argument")
    b.buffer(array, ((0, array.nbytes),) if b.chance(0.5) else ())
    _hand_over(b, array, count, GROUP * size + IN_GROUP, size, "global", array.dims[0])


def _hand_over(b: Builder, array: Array, count: int, own: Expr, size: int, fence: str, filled: int) -> None:
    base = own * count if count > 1 else own
    b.body += fill(b, array, count, base)
    b.body.append(b.slot((), "extra", array.space, writes=True, object=array, index=(base,)))
    b.body.append(b.barrier(fence, space=array.space))
    first = (GROUP * size,) if fence == "global" else ()
    for _ in range(b.random.randint(1, 2)):
        r = b.random.randint(1, max(1, size - 1))
        of: Expr = b.random.choice([(IN_GROUP + r) % size, Num(size - 1) - IN_GROUP, Num(b.random.randrange(size)), IN_GROUP])
        other = first[0] + of if first else of
        b.body += read(b, array, count, other * count if count > 1 else other, filled=filled)


def _add_tree(b: Builder, array: Array, size: int) -> None:
    """A sum of one value of each work-item."""
    b.body.append(b.barrier("local", space="local"))
    half = Name(b.name("half"))
    own = b.place(array, (IN_GROUP,), writes=True)
    other = Load(b.place(array, (IN_GROUP + half,), writes=False, filled=array.dims[0]))
    total = Load(b.place(array, (IN_GROUP,), writes=False)) + other
    step: tree.Stmt = tree.If(IN_GROUP.is_("<", half), (Store(own, total & 63),))
    loop = tree.For(half.name, b.number(size // 2), ">", Num(0), "/2", (step, b.barrier("local", space="local")))
    b.body += [loop, Assign("s", "+=", Load(b.place(array, (Num(0),), writes=False)))]


SECTIONS = {
    "private": [add_private],
    "local": [add_local],
    "global": [add_input, add_output, add_shared],
    "constant": [add_constant],
}
