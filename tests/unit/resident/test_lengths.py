"""What the symbols of a module's functions may be, which of their parameters are weights, and what a cache is like."""

import pytest

from adreno_sim import AdrenoSimError
from adreno_sim.compiler.artifact.interface import PackedInfo, StateInfo, TensorInfo
from adreno_sim.compiler.session_footprint.cache import describe_cache
from adreno_sim.compiler.session_footprint.lengths import Lengths, find_ranges
from adreno_sim.compiler.session_footprint.weights import EntryFacts, find_weights


def tensor(name, *shape, dtype="float16"):
    return TensorInfo(name, shape, dtype)


PREFILL = (tensor("x", 1, "n", 8), tensor("ends", "b", dtype="int32"), StateInfo("cache"), tensor("w", 8, 8))
DECODE = (tensor("x", "b", 1, 8), StateInfo("cache"), tensor("w", 8, 8))
EMBED = (tensor("tokens", "n", dtype="int32"), tensor("table", 96, 8))
ENTRIES = {"prefill": PREFILL, "decode": DECODE, "embed": EMBED}


def highs(entries, lengths, given=None, stated=None):
    return {name: found.high for name, found in find_ranges(entries, lengths, given or {}, stated or {}).items()}


def test_a_symbol_that_is_only_ever_the_first_extent_counts_sequences():
    """In functions that take the cache: `embed` alone would say that n does."""
    assert highs(ENTRIES, Lengths(4096, batch=3, chunk=512)) == {"n": 512, "b": 3}
    assert highs(ENTRIES, Lengths(4096)) == {"n": 4096, "b": 1}
    assert highs({"embed": EMBED}, Lengths(4096, batch=2)) == {"n": 2}


def test_what_the_user_says_goes_first_and_what_the_module_says_last():
    assert highs(ENTRIES, Lengths(4096), {"n": (1, 7)}, {"n": 99, "b": 99}) == {"n": 7, "b": 1}
    assert highs(ENTRIES, Lengths(), None, {"n": 99}) == {"n": 99, "b": 1}


def test_a_symbol_that_follows_from_nothing_is_named():
    sampler = {**ENTRIES, "sample": (tensor("logits", "b", "vocabulary"),)}
    with pytest.raises(AdrenoSimError, match=r"'vocabulary', an extent of logits \[b, vocabulary\] of sample: give --bound voc"):
        highs(sampler, Lengths(4096))
    assert highs(sampler, Lengths(4096), {"vocabulary": (1, 96)})["vocabulary"] == 96
    with pytest.raises(AdrenoSimError, match=r"'n', an extent of x .* of prefill: give --context, or give --bound n=LOW:HIGH"):
        highs(ENTRIES, Lengths())
    with pytest.raises(AdrenoSimError, match="bounds for 'm': the module's symbols are n, b"):
        highs(ENTRIES, Lengths(4096), {"m": (1, 2)})
    with pytest.raises(AdrenoSimError, match="bounds 0 to 2 for 'n'"):
        highs(ENTRIES, Lengths(4096), {"n": (0, 2)})


def test_lengths_that_cannot_be():
    with pytest.raises(AdrenoSimError, match="batch 0: expected 1"):
        Lengths(4096, batch=0)
    with pytest.raises(AdrenoSimError, match="chunk 9: expected at most the 8 positions"):
        Lengths(4, batch=2, chunk=9)
    assert Lengths(4, batch=2, chunk=8).tokens == 8


def names(entries, facts=None):
    return sorted(key[0] for key in find_weights(entries, facts or {}))


def test_weights_are_what_comes_behind_the_inputs():
    facts = {"prefill": EntryFacts(3), "decode": EntryFacts(2), "embed": EntryFacts(1)}
    assert names(ENTRIES, facts) == ["table", "w"]


def test_of_a_module_that_does_not_say_weights_are_what_functions_share():
    assert names(ENTRIES) == ["w"]
    packed = {"decode": (tensor("x", 1, 8), PackedInfo("params", (tensor("params_0", 8, 8), tensor("params_1", 4))))}
    assert names(packed) == ["params_0", "params_1"]
    other = {"a": (tensor("w", 8, 8),), "b": (tensor("w", 8, 9),)}
    assert names(other) == []


def test_a_cache_that_is_described():
    cache = describe_cache("layers=2,heads=8,kv-heads=4,dim=16", Lengths(100, batch=2, chunk=32))
    assert (cache.pages, cache.layer_shape) == (14, (14, 2, 4, 16, 16))
    assert cache.workspaces()["q"].nbytes == 32 * 8 * 16 * 2
    assert cache.forward_arrays()["positions"].shape == (32,)
    for text, said in [
        ("layers=2", "no heads: expected layers=N"),
        ("layers=2,heads=8,kv-heads=4,dim=x", "'dim=x': expected"),
        ("layers=2,heads=8,kv-heads=4,dim=16,dtype=int4", "'dtype=int4'"),
        ("depth=2", "'depth=2'"),
    ]:
        with pytest.raises(AdrenoSimError, match=said):
            describe_cache(text, Lengths(100))
    with pytest.raises(AdrenoSimError, match="give --context"):
        describe_cache("layers=2,heads=8,kv-heads=4,dim=16", Lengths())
