"""Statements that fill the elements of an object, and that read them."""

from __future__ import annotations

from ..builder import Builder
from ..layout import Array, Element, Struct
from ..tree import Assign, Declare, Expr, Load, Name, Num, Place, Stmt, Store
from .forms import Body, Wrap, as_is, every_index, perhaps_if, some_index, written_out


def fill(b: Builder, array: Array, count: int, base: Expr | None = None, stride: int = 1) -> Body:
    """Writes `count` outermost elements from `base` on, each of them whole, `stride` apart."""
    if _may_be_loaded_in_vectors(b, array, count, stride):
        return _fill_in_vectors(b, array, count, base)

    def one(index: Expr) -> Body:
        at = index * stride if stride > 1 else index
        whole = at if base is None else base + at
        return _inside(b, array, whole, index)

    return written_out(b, count, one)


def _inside(b: Builder, array: Array, whole: Expr, index: Expr) -> Body:
    """Writes all that lies in one outermost element."""
    if isinstance(array.element, Struct):
        found: Body = ()
        for name, _, count in array.element.fields:
            if not count:
                place = b.place(array, (whole,), writes=True, field=name)
                found += _store(b, place, b.value(index), whole)
                continue
            wrap, inner = every_index(b, count)
            place = b.place(array, (whole,), writes=True, field=name, inner=inner)
            found += wrap(_store(b, place, b.value(index, inner), whole))
        return found
    if len(array.dims) == 1:
        return _store(b, b.place(array, (whole,), writes=True), b.value(index), whole)
    wrap, inner = every_index(b, array.dims[1])
    place = b.place(array, (whole, inner), writes=True)
    return wrap(_store(b, place, b.value(index, inner), whole))


def _store(b: Builder, place: Place, value: Expr, whole: Expr) -> Body:
    inner = place.indices[1:] if place.inner is None else (place.inner,)
    return (b.slot((Store(place, value),), "fill", place.array.space, writes=True, object=place.array, index=(whole, *inner)),)


def _may_be_loaded_in_vectors(b: Builder, array: Array, count: int, stride: int) -> bool:
    plain = isinstance(array.element, Element) and array.element.lanes == 1 and len(array.dims) == 1
    return plain and stride == 1 and count >= 2 and count % 2 == 0 and b.chance(0.3)


def _width(b: Builder, count: int) -> int:
    return b.random.choice([n for n in (2, 4, 8, 16) if count % n == 0])


def _fill_in_vectors(b: Builder, array: Array, count: int, base: Expr | None) -> Body:
    many = _width(b, count)

    def one(index: Expr) -> Body:
        place = _vector_place(b, array, count, base, many, index, writes=True)
        return _store(b, place, b.value(index), index if base is None else base + index)

    return written_out(b, count // many, one)


def _vector_place(
    b: Builder, array: Array, count: int, base: Expr | None, many: int, index: Expr, writes: bool, filled: int = 0
) -> Place:
    """As vloadn and vstoren reach `many` elements at a time: an index, from a pointer that is moved."""
    total = array.dims[0]
    if base is None and b.chance(0.5):
        extent = total // many
        return Place(array, (b.hole(index, "index", array.space, writes=writes, extent=extent, object=array),), many=many)
    reach = total - count + 1
    reach_filled = max(0, filled - count + 1)
    shift = b.hole(
        Num(0) if base is None else base, "index", array.space, writes=writes, extent=reach, filled=reach_filled, object=array
    )
    return Place(array, (index,), many=many, shift=shift)


def read(b: Builder, array: Array, count: int, base: Expr | None = None, filled: int = 0, stride: int = 1) -> Body:
    """Reads some of the `count` outermost elements from `base` on. filled: how many outermost elements are written."""
    if _may_be_loaded_in_vectors(b, array, count, stride):
        many = _width(b, count)
        wrap, index = some_index(b, count // many)
        place = _vector_place(b, array, count, base, many, index, writes=False, filled=filled)
        return perhaps_if(b, wrap(take(b, Load(place))))
    wrap, index = some_index(b, count)
    at = index * stride if stride > 1 else index
    whole = at if base is None else base + at
    if base is None and b.chance(0.2):
        return _read_moved(b, array, wrap, whole, filled)
    name, inner_wrap, inner = _inner(b, array)
    if len(array.dims) > 1:
        place = b.place(array, (whole, inner or Num(0)), writes=False, filled=filled)
    else:
        place = b.place(array, (whole,), writes=False, filled=filled, field=name, inner=inner)
    return perhaps_if(b, wrap(inner_wrap(take(b, Load(place)))))


def _inner(b: Builder, array: Array) -> tuple[str, Wrap, Expr | None]:
    """A field, and loops and an index inside the outermost element; None where it has no elements."""
    if isinstance(array.element, Struct):
        name, _, count = b.random.choice([f for f in array.element.fields if f[2]] + list(array.element.fields))
        if not count:
            return name, as_is, None
        return (name, *some_index(b, count))
    if len(array.dims) > 1:
        return ("", *some_index(b, array.dims[1]))
    return "", as_is, None


def _read_moved(b: Builder, array: Array, wrap: Wrap, whole: Expr, filled: int) -> Body:
    """Through a pointer k elements further, at an index k less."""
    k = b.random.randint(0, min(3, array.dims[0]))
    index = b.hole(whole - k, "index", array.space, extent=array.dims[0] - k, filled=max(0, filled - k), object=array)
    name, inner_wrap, inner = _inner(b, array)
    rest = (inner or Num(0),) if len(array.dims) > 1 else ()
    place = Place(array, (index, *rest), name, None if rest else inner, shift=Num(k))
    return perhaps_if(b, wrap(inner_wrap(take(b, Load(place)))))


def take(b: Builder, value: Expr) -> Body:
    """Uses a value."""
    if b.chance(0.7):
        return (Assign("s", b.random.choice(["+=", "+=", "^="]), value),)
    name = b.name("v")
    used: Stmt = Assign("s", "+=", Name(name) * b.random.randint(1, 3))
    return (Declare(name, value), used)
