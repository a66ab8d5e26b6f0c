"""Values on disk come back as they were, and nothing else is made of them, whatever the bytes hold."""

from __future__ import annotations

import enum
import json
import math
import pickle
import pprint
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Union

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adreno_sim.base import disk_cache
from adreno_sim.base.stored import parts, values
from adreno_sim.base.stored.forms import form_of
from adreno_sim.base.stored.scalars import NotStorable


class Colour(enum.Enum):
    RED = ("red", 1)
    BLUE = ("blue", 2)


@dataclass(frozen=True, slots=True)
class Leaf:
    name: str
    size: int = 0


@dataclass(frozen=True)
class Tree:
    left: Tree | Leaf
    right: Tree | Leaf | None = None


@dataclass(frozen=True, kw_only=True)
class Named:
    kind: Literal["a", "b"]
    colour: Colour
    label: Annotated[str, "of a register"] = ""
    made: int = field(default=7, init=False)


@dataclass(frozen=True)
class Checked:
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise KeyError("a class's own complaint")


def again(kind: Any, value: Any) -> Any:
    return values.read_value(kind, memoryview(bytearray(b"".join(values.write_value(kind, value)))))


def text_of(value: Any) -> str:
    """What tells 1 from True and 0.0 from -0.0: ``repr`` with the members of a set in order, as its own order is chance."""
    return pprint.pformat(value, sort_dicts=False)


CASES = [
    (int, 1 << 200),
    (float, -0.0),
    (float, math.inf),
    (str, "short"),
    (str, "long \ud800 é " * 100),
    (str, "\udc80\x00\n"),
    (bytes, b"\x00\xff"),
    (bool, True),
    (type(None), None),
    (list[int], [1, 2]),
    (tuple[int, ...], ()),
    (tuple[int, str], (1, "1")),
    (frozenset[tuple[str, object]], frozenset({("param", 1), ("local", "a")})),
    (set[int], {3}),
    (dict[int, tuple[int, int]], {2: (1, 2), 1: (0, 0)}),
    (Mapping[str, Sequence[int]], {"a": (1, 2)}),
    (Union[int, str, float, bool, None], 1),
    (Union[int, str, float, bool, None], True),
    (Union[int, str, float, bool, None], 1.0),
    (Union[int, str, float, bool, None], "x" * 1000),
    (Union[int, tuple[int, int, int], bytes, None], (1, 2, 3)),
    (Union[int, tuple[int, int, int], bytes, None], b"12"),
    (Tree, Tree(Tree(Leaf("a")), Leaf("b", 3))),
    (list[Union[Tree, Leaf]], [Leaf("a"), Tree(Leaf("b"))]),
    (Named, Named(kind="b", colour=Colour.BLUE, label="x")),
    (Any, {"a": [1, (2.5, None)], ("local", 1): {1}, "s": frozenset({"x"}), "b": b"b"}),
    (dict[str, Hashable], {"x" * 500: "y" * 500}),
]


@pytest.mark.parametrize(("kind", "value"), CASES, ids=[f"{kind} {number}" for number, (kind, _) in enumerate(CASES)])
def test_a_value_comes_back(kind, value):
    found = again(kind, value)
    assert found == value
    assert type(found) is type(value)
    assert text_of(found) == text_of(value)


ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.arange(6, dtype=np.int8).reshape(2, 3).T,
    np.array(3.5),
    np.zeros((0, 4), np.uint16),
    np.array([True, False]),
    np.arange(4, dtype=ml_dtypes.bfloat16),
    np.arange(3, dtype=">i4"),
    np.array([1 + 2j]),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype} {array.shape}")
def test_an_array_comes_back_and_may_be_written(array):
    found = again(np.ndarray, array)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()
    found[...] = 1
    assert again(np.dtype, array.dtype) == array.dtype


class Text(str):
    """A library's own kind of text."""


def test_numbers_and_texts_of_libraries_become_pythons():
    for kind, value, plain in (
        (int, np.int64(3), 3),
        (float, np.float32(0.5), 0.5),
        (str, Text("a"), "a"),
        (bool, np.True_, True),
    ):
        assert again(kind, value) == plain
        assert type(again(kind, value)) is kind


def test_unions_in_another_order_are_the_same():
    written = b"".join(values.write_value(Union[Leaf, Tree], Leaf("a")))
    assert values.read_value(Union[Tree, Leaf], memoryview(written)) == Leaf("a")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, "1"), (str, 1), (Leaf, Tree(Leaf("a"))), (Union[Leaf, int], "a"), (np.ndarray, [1]), (tuple[int, int], (1,)),
        (Any, Leaf("a")), (Any, object()), (np.ndarray, np.array([{}], object)), (Literal["a"], "b"), (Colour, "RED"),
        (list[int], "12"), (dict[str, int], [1]), (bytes, "b"), (type(None), 0), (float, "1"), (bool, 1),
        (np.dtype, np.dtype("O")),
    ],
    ids=lambda part: re.sub(r" at 0x\w+", "", str(part)),
)  # fmt: skip
def test_a_value_of_another_type_is_not_stored(kind, value, tmp_path, monkeypatch):
    with pytest.raises(NotStorable):
        values.write_value(kind, value)
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(values.STRICT, raising=False)
    values.store(disk_cache.folder("golden") / "x", kind, value)
    assert not disk_cache.usage()


def test_a_type_without_a_form_is_named():
    with pytest.raises(NotStorable, match="no type that is stored"):
        form_of(type(object))


class Bomb:
    """What pickle would run."""

    def __reduce__(self):
        return pytest.fail, ("code from a file ran",)


TREES: list[Any] = [
    None, 1, "a", [], [1, 2], {}, {"text": 0}, {"text": 9}, {"text": -1}, {"text": True}, {"bytes": 0, "text": 0}, [["a", 1, 2]],
    ["a", "1"], [0, [["a", 1]]], [9, ["a", 1]], [-1, ["a", 1]], [True, ["a", 1]], ["<f4", [2], {"array": 0}],
    ["O", [1], {"array": 0}], ["<f4", [-1], {"array": 0}], ["<f4", [1 << 62, 4], {"array": 0}], ["finfo", [1], {"array": 0}],
    ["__name__", [1], {"array": 0}], ["bytes", {"bytes": 1}], ["list", 1], ["eval", ["1"]], ["dict", [[1]]],
    ["dict", [[["list", []], 1]]], ["b", "GREEN", "", 1], ["c", "RED", ""], [-1],
]  # fmt: skip
KINDS = [Tree, Leaf, Named, Checked, np.ndarray, list[Leaf], Union[Leaf, Tree, None], Any, bytes, str, dict[str, int], Colour]


@pytest.mark.parametrize("tree", TREES, ids=range(len(TREES)))
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_trees_that_do_not_fit_are_no_values(kind, tree):
    data = memoryview(bytearray(b"".join(parts.join(tree, [b"1234"]))))
    try:
        found = values.read_value(kind, data)
    except ValueError:
        return
    assert again(kind, found) == found or found is None


def with_length(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


NO_VALUES = [
    b"", b"12345678", pickle.dumps(Bomb()), b"\xff" * 40, with_length(b"[]"), with_length(b"[1,["), with_length(b"[1,[100]]"),
    with_length(b"[" * 200001), with_length(b"[1,[]]") + b"behind",
]  # fmt: skip


@pytest.mark.parametrize("data", NO_VALUES, ids=range(len(NO_VALUES)))
@pytest.mark.parametrize("kind", [Any, Tree, list[int]], ids=str)
def test_bytes_that_are_no_value_are_refused(kind, data):
    with pytest.raises(ValueError):
        values.read_value(kind, memoryview(data))


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_changed_bytes_give_a_value_of_the_type_or_none(data):
    whole = bytearray(b"".join(values.write_value(list[Tree], [Tree(Leaf("a", 3), Leaf("b" * 500))])))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = values.read_value(list[Tree], memoryview(whole))
    except ValueError:
        return
    assert all(type(item) is Tree and type(item.left) in (Tree, Leaf) for item in found)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=20),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(PLAIN)
@settings(max_examples=100, deadline=None)
def test_whatever_python_has_comes_back(value):
    found = again(Any, value)
    assert found == value
    assert repr(found) == repr(value)


def test_arrays_lie_at_places_that_vectors_like():
    arrays = [np.arange(n, dtype=np.float64) for n in (1, 3, 1000)]
    data = b"".join(values.write_value(list[np.ndarray], arrays))
    tree, given = parts.split(memoryview(data))
    starts = [data.index(array.tobytes()) % parts.ALIGNMENT for array in arrays[1:]]
    assert len(given) == 3
    assert starts == [0, 0]
    assert json.dumps(tree)


def stored_types() -> list[Any]:
    """All types that this package stores."""
    from adreno_sim.compiler.check.cache import entry
    from adreno_sim.engine.abi.proven_launch import ProvenLaunch
    from adreno_sim.engine.coarsen.decision import Decision
    from adreno_sim.engine.emit.tables.module_text import ModuleText
    from adreno_sim.engine.runtime.functions import CModule
    from adreno_sim.frontend.program_cache import _Stored
    from adreno_sim.golden.truth.run import Truth

    return [entry._Entry, entry._Weights, ModuleText, Decision, ProvenLaunch, CModule, _Stored, list[Truth]]


@pytest.mark.tvm
def test_every_type_that_is_stored_has_a_form_in_all_its_parts():
    import typing
    from dataclasses import fields, is_dataclass

    waiting, seen = stored_types(), set()
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        form_of(kind)
        waiting += [arg for arg in typing.get_args(kind) if arg is not Ellipsis and not isinstance(arg, (str, int))]
        if is_dataclass(kind):
            hints = typing.get_type_hints(kind)
            waiting += [hints[item.name] for item in fields(kind) if item.init]
    assert len([kind for kind in seen if is_dataclass(kind)]) > 60


def test_nothing_of_the_package_reads_pickles_from_disk():
    from adreno_sim.base.code_digest import PACKAGE

    users = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if "import pickle" in path.read_text()}
    assert users == {"base/processes/beside.py"}  # from a child by fork, through memory that only these two have
