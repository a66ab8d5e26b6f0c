"""Advice about a plan: who makes and reads what is at the peak, and savings that a plan of the changed tensors has."""

import handmade

from adreno_sim.compiler.artifact.memory_plan import MemoryPlan, PlannedStorage, PlannedTensor
from adreno_sim.compiler.plan.advice.advice import advise
from adreno_sim.compiler.plan.extract import extract_plan, summarise
from adreno_sim.compiler.plan.replan import with_rules
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.profiles.profile import load

RULES = DeviceRules.of_profile(load("adreno-740"))
KB = (256,)
"""The shape of 1024 bytes of float32."""


def tensor(key, first, written, reads, *, shape=KB, scope="global", reader="", dtype="float32"):
    last = max([written, *reads])
    kind = shape, dtype, scope, 0, 0, first, last
    return PlannedTensor(key, key, 0, *kind, written=written, reads=tuple(reads), producer=f"Conv {key}", reader=reader)


def advice(*tensors):
    storages = tuple(PlannedStorage(t.id, t.scope, 1 << 20, 0, t.first, t.last) for t in tensors)
    plan = MemoryPlan("main", "", storages, tensors, summarise(storages, tensors, 0), accesses_known=True)
    return advise(with_rules(plan, RULES), RULES)


def savings(found, key):
    (peak,) = (t for t in found.tensors if t.id == key)
    return {change.kind: change.saves for change in peak.changes}


def test_fusing_and_reusing_in_place_and_halving():
    found = advice(tensor("a", 0, 1, [3], reader="Conv b"), tensor("b", 2, 3, [5], reader="the result"))
    assert (found.base, found.left_out, [t.producer for t in found.tensors]) == (2048, 0, ["Conv a", "Conv b"])
    assert savings(found, "a") == {"fuse": 1024, "half": 512}
    assert savings(found, "b") == {"in place": 1024, "half": 512}  # a result is fused into nothing
    assert found.tensors[0].changes[0].text == "fuse Conv a into Conv b"


def test_in_place_takes_an_input_of_the_same_type_that_ends():
    used_later = advice(tensor("a", 0, 1, [3, 7]), tensor("b", 2, 3, [5], reader="the result"))
    other_shape = advice(tensor("a", 0, 1, [3], shape=(512,)), tensor("b", 2, 3, [5], reader="the result"))
    assert "in place" not in savings(used_later, "b")
    assert "in place" not in savings(other_shape, "b")


def test_what_a_fused_producer_read_lives_on():
    """b is made of a, of twice its size: without b, a lives until c is made."""
    chain = tensor("a", 0, 1, [3], shape=(512,)), tensor("b", 2, 3, [7], reader="Conv c"), tensor("c", 6, 7, [9])
    wide = tensor("w", 4, 5, [7], shape=(768,))
    assert savings(advice(*chain, wide), "b")["fuse"] == 5120 - 6144


def test_a_tensor_is_computed_again_behind_the_peak():
    kept = tensor("kept", 0, 1, [3, 9])
    found = advice(kept, tensor("m", 4, 5, [7], shape=(768,)), tensor("n", 6, 7, [8], shape=(768,)), tensor("o", 8, 9, [11]))
    assert found.base == 1024 + 2 * 3072
    assert savings(found, "kept")["recompute"] == 1024
    assert "recompute" not in savings(found, "m")  # it is read at the peak


def test_a_change_saves_nothing_where_the_peak_is_as_high_elsewhere():
    one = tensor("a0", 0, 1, [5]), tensor("b0", 2, 3, [5])
    other = tensor("a1", 10, 11, [15]), tensor("b1", 12, 13, [15])
    found = advice(*one, *other)
    assert savings(found, "a0") == {"fuse": 0, "half": 0}
    assert found.tensors[0].best is None


def test_a_buffer_has_no_rows_to_pad():
    found = advice(tensor("t", 0, 1, [3], shape=(2, 3, 5, 4), scope="global.texture"))
    assert found.base == 768
    assert savings(found, "t")["other scope"] == 768 - 512
    assert "other scope" not in savings(advice(tensor("t", 0, 1, [3])), "t")


def test_a_compiled_model_says_who_reads_and_writes():
    model = handmade.texture()
    tensors = {t.id: t for t in extract_plan(model).tensors}
    assert (tensors["xt"].producer, tensors["xt"].reader) == ("copy to global.texture", "twice after copy to global.texture")
    assert (tensors["t1"].reads, tensors["t1"].written) == ((12,), 8)
    assert tensors["out"].reader == "the result"


def test_no_tensors_no_advice():
    found = advice()
    assert (found.base, found.tensors) == (0, ())
