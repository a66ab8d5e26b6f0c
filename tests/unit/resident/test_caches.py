"""What a function creates as a KV cache: numbers that it is given, numbers of the module, and those it computes."""

import numpy as np
import pytest

from adreno_sim import AdrenoSimError, UnsupportedError
from adreno_sim.compiler.artifact.interface import PackedInfo, ScalarInfo, ShapeInfo, StateInfo, TensorInfo, TupleInfo
from adreno_sim.compiler.artifact.model import CompiledModel
from adreno_sim.compiler.artifact.vm_function import (
    AllocHeap,
    CallBuiltin,
    ConstRef,
    FunctionRef,
    MakeShape,
    MatchShape,
    Reg,
    Return,
    ScalarLiteral,
    ShapeEntry,
    ShapeLiteral,
    VMFunction,
)
from adreno_sim.compiler.run.kv_cache import CREATE
from adreno_sim.compiler.run.kv_cache.config import ARGUMENTS
from adreno_sim.compiler.session_footprint.cache import creators, describe_cache, find_caches
from adreno_sim.compiler.session_footprint.entry_model import entry_model
from adreno_sim.compiler.session_footprint.lengths import Lengths


def model(sizes, kinds=(0, 0), entries=None):
    """A module whose function `create` takes five shapes of one number, of which `sizes` name slots, or are numbers."""
    entry = [ShapeEntry("slot", int(size[1:])) if isinstance(size, str) else ShapeEntry("const", size) for size in sizes]
    numbers = [8, 4, 16, 16]
    args = [Reg("sizes"), ShapeLiteral((0, 2)), *map(ScalarLiteral, numbers), ShapeLiteral(kinds), ScalarLiteral(False)]
    args += [ScalarLiteral(1), ScalarLiteral(1), ScalarLiteral(10000), ScalarLiteral(0), ConstRef("zero", "global")]
    args += [FunctionRef("append")] * (ARGUMENTS - len(args))
    names = ("batch", "total", "chunk", "page", "sliding")
    body = [AllocHeap("heap", 5)]
    body += [MatchShape(Reg(name), "heap", (ShapeEntry("store", i),), name) for i, name in enumerate(names)]
    body += [MakeShape("sizes", "heap", tuple(entry)), CallBuiltin("cache", CREATE, tuple(args)), Return(Reg("cache"))]
    params = {"create": tuple(ShapeInfo(name, 1) for name in names)} | (entries or {})
    functions = {"create": VMFunction("create", names, tuple(body))}
    return CompiledModel(
        "m",
        "buffer",
        "0.27",
        "fixed",
        (),
        (),
        TupleInfo(()),
        {},
        {},
        functions,
        {"zero": np.zeros((), "float16")},
        entries=params,
    )


OPEN = ("@0", "@1", "@2", "@3", "@4")


def test_a_number_that_the_function_is_given_follows_from_the_lengths():
    found = model(OPEN)
    assert creators(found) == ["create"]
    (cache,) = find_caches(found, Lengths(100, batch=2, chunk=32, page_size=8), None)
    assert (cache.sequences, cache.chunk, cache.page_size, cache.sliding) == (2, 32, 8, False)
    assert cache.pages == 26
    assert cache.layers == range(2)
    assert cache.dtype == "float16"
    with pytest.raises(AdrenoSimError, match=r"create gets the number of positions of its KV cache as .*: give --context"):
        find_caches(found, Lengths(), None)


def test_a_number_of_the_module_stays():
    found = model((1, 64, 16, 16, 0))
    (cache,) = find_caches(found, Lengths(), None)
    assert (cache.pages, cache.chunk) == (5, 16)
    with pytest.raises(AdrenoSimError, match="create makes room for 64 positions in all: expected 128, as context 128 of 1"):
        find_caches(found, Lengths(128), None)


def test_the_arguments_may_come_in_any_order():
    (cache,) = find_caches(model(("@1", "@0", "@3", "@2", 0)), Lengths(100, batch=2, chunk=32, page_size=8), None)
    assert (cache.sequences, cache.pages, cache.chunk, cache.page_size) == (2, 26, 32, 8)


def test_what_is_not_simulated_is_refused():
    with pytest.raises(UnsupportedError, match=r"multi-head latent attention \(MLA\)"):
        find_caches(model(OPEN, (1, 1)), Lengths(100), None)


def test_a_cache_must_come_from_one_place():
    taker = {"decode": (StateInfo("cache"),)}
    described = describe_cache("layers=2,heads=8,kv-heads=4,dim=16", Lengths(100))
    without = model(OPEN, entries=taker)
    del without.entries["create"]
    without.functions["decode"] = VMFunction("decode", ("cache",), (Return(Reg("cache")),))
    with pytest.raises(AdrenoSimError, match="decode takes a KV cache, and no function of the module creates one"):
        find_caches(without, Lengths(100), None)
    assert find_caches(without, Lengths(100), described) == (described,)
    with pytest.raises(AdrenoSimError, match="--kv-cache: create of the module says itself"):
        find_caches(model(OPEN), Lengths(100), described)


def test_an_entry_alone_has_the_tensors_of_its_tuples_as_inputs():
    tensors = tuple(TensorInfo(f"w_{n}", (4,), "float16") for n in range(2))
    params = (TensorInfo("x", ("n", 4), "float16"), PackedInfo("w", tensors), StateInfo("cache"), ScalarInfo("top", "int64"))
    function = VMFunction("decode", ("x", "w", "cache", "top"), (Return(Reg("x")),))
    base = model(OPEN)
    base.functions["decode"], base.entries["decode"] = function, params
    alone = entry_model(base, "decode")
    assert [info.name for info in alone.inputs] == ["x", "w_0", "w_1"]
    assert alone.functions["main"].params == ("x", "w.0", "w.1")
    assert not alone.entries
    with pytest.raises(AdrenoSimError, match="create takes the shape 'batch': its plan needs to know the numbers in it"):
        entry_model(base, "create")
