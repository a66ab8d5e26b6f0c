"""The audit of memory plans: each kind of defect made by hand, and what must not be found."""

from dataclasses import replace

import handmade
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.compiler.plan.audit import audit
from adreno_sim.compiler.plan.extract import extract_plan
from adreno_sim.compiler.plan.rules import DeviceRules
from adreno_sim.profiles.profile import load

RULES = DeviceRules.of_profile(load("adreno-740"))
PIXELS, LAYERS = (DeviceRules.of_profile(load("adreno-740"), rule) for rule in ("pixels", "hardware"))


def plan():
    """Textures of 768 bytes: xt; t0 and t2 in s0, t1 in s1, each of 1024; out, a buffer of 480. Times: test_plan_extract."""
    return extract_plan(handmade.texture())


def with_tensor(name, **changes):
    found = plan()
    return replace(found, tensors=tuple(replace(t, **changes) if t.id == name else t for t in found.tensors))


def with_storage(name, **changes):
    found = plan()
    return replace(found, storages=tuple(replace(s, **changes) if s.id == name else s for s in found.storages))


def kinds(result):
    return [(finding.kind.label, finding.tensor) for finding in result.findings]


def test_a_sound_plan():
    assert kinds(audit(plan(), RULES)) == []
    assert kinds(audit(extract_plan(handmade.branch()), RULES)) == []


def test_a_storage_that_another_branch_allocates():
    assert kinds(audit(extract_plan(handmade.branch_storages(shared=False)), RULES)) == []
    found = audit(extract_plan(handmade.branch_storages(shared=True)), RULES).findings
    unallocated = [finding for finding in found if finding.kind.label == "storage-used-unallocated"]
    assert [finding.tensor for finding in unallocated] == ["u", "z"]
    assert "puts u of add_one (float32 2x4, global) into storage s, which is allocated in a branch that" in unallocated[0].message


def test_a_view_beyond_its_storage():
    result = audit(plan(), LAYERS)  # layers of 4096 bytes: 2 of them where 1024 bytes were planned
    assert kinds(result) == [("view-larger-than-storage", name) for name in ("t0", "t1", "t2")]  # a copy takes what it needs
    assert "t0 of twice (float32 2x3x5x4, global.texture) ends at byte 8,192 of storage s0, which has 1,024" in (
        result.findings[0].message
    )


def test_rows_that_the_device_refuses():
    """Of 5 texels, for which TVM's runtime passes 128 bytes; of 64, for which it passes what the device wants."""
    (finding,) = audit(plan(), PIXELS).findings
    assert (finding.kind.label, finding.tensor, finding.count) == ("wrong-argument", "xt", 4)
    assert "refuses the image that TVM's runtime makes, row pitch 128: expected a multiple of 1,024 bytes" in finding.message
    wide = replace(plan(), tensors=tuple(replace(t, shape=(2, 3, 64, 4)) for t in plan().tensors if t.id == "t1"))
    assert "wrong-argument" not in [kind for kind, _ in kinds(audit(wide, PIXELS))]


def test_a_view_that_only_the_page_holds():
    assert kinds(audit(with_storage("s1", planned_bytes=512), RULES)) == [("pitch-differs", "t1")]
    assert kinds(audit(with_tensor("t1", offset=3328 + 128), RULES)) == [("view-larger-than-storage", "t1")]


def test_live_tensors_in_the_same_bytes():
    result = audit(with_tensor("t1", storage="s0"), RULES)
    assert kinds(result) == [("storage-reused-while-live", "t1"), ("storage-reused-while-live", "t2")]
    assert "live over instructions 2 to 8 and 6 to 12" in result.findings[0].message
    assert kinds(audit(with_tensor("t2", first=8), RULES)) == [("storage-reused-while-live", "t2")]


def test_side_by_side_is_no_overlap():
    moved = with_tensor("t1", storage="s0", offset=768)
    moved = replace(moved, storages=tuple(replace(s, planned_bytes=1536) if s.id == "s0" else s for s in moved.storages))
    assert kinds(audit(moved, RULES)) == []


def test_dtypes_that_the_planner_keeps_apart():
    mixed = with_tensor("t2", dtype="float16")
    assert kinds(audit(mixed, RULES)) == [("reuse-rule-broken", "t2")]
    assert kinds(audit(mixed, RULES, "tvm-fixed")) == [("reuse-rule-broken", "t2")]
    assert kinds(audit(mixed, RULES, "arena")) == []
    scoped = with_tensor("t2", scope="global.texture-nhwc")
    assert kinds(audit(scoped, RULES)) == []
    assert kinds(audit(scoped, RULES, "relay-1d2d")) == [("reuse-rule-broken", "t2")]


def test_a_device_without_images_over_buffers():
    result = audit(plan(), DeviceRules.of_profile(load("adreno-650")))
    assert kinds(result) == [("no-image-from-buffer", "xt")]
    assert result.findings[0].count == 4
    assert kinds(audit(extract_plan(handmade.branch()), DeviceRules.of_profile(load("adreno-650")))) == []


def test_offsets_no_view_starts_at():
    storage = {"s1": 2048}
    moved = with_tensor("t1", offset=64)
    moved = replace(moved, storages=tuple(replace(s, planned_bytes=storage.get(s.id, s.planned_bytes)) for s in moved.storages))
    result = audit(moved, RULES)
    assert kinds(result) == [("misaligned-view", "t1")]
    assert "at offset 64: adreno-740 needs a multiple of 128" in (result.findings[0].message)


@pytest.mark.parametrize(
    ("limit", "value", "found"),
    [
        ("IMAGE2D_MAX_WIDTH", 4, [("limit-exceeded", name) for name in ("xt", "t0", "t1", "t2")]),
        ("IMAGE_MAX_ARRAY_SIZE", 1, [("limit-exceeded", name) for name in ("xt", "t0", "t1", "t2")]),
        ("MAX_MEM_ALLOC_SIZE", 1000, [("limit-exceeded", ""), ("limit-exceeded", "")]),
        ("GLOBAL_MEM_SIZE", 1000, [("limit-exceeded", "")]),
    ],
)
def test_limits_of_the_device(limit, value, found):
    assert kinds(audit(plan(), DeviceRules.of_profile(load("adreno-740").with_values({limit: value})))) == found


def test_reads_before_writes():
    assert kinds(audit(with_tensor("t1", read=8, written=12), RULES)) == [("uninitialized-read", "t1")]
    unwritten = audit(with_tensor("t1", written=None), RULES)
    assert kinds(unwritten) == [("uninitialized-read", "t1")]
    assert "but nothing writes it" in unwritten.findings[0].message
    unknown = replace(with_tensor("t1", written=None), accesses_known=False)
    assert kinds(audit(unknown, RULES)) == []


def test_bytes_by_cause():
    # two textures live together: 480 dense, 288 of pitch, 1024 - 768 too many each; then a copy in a storage of its own
    expected = {"dense": 960, "padding": 576, "slots": 768, "item_size": 512, "pages": 13088, "unplanned": 768, "workspace": 0}
    assert audit(plan(), RULES).causes == expected


spans = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 6), st.integers(1, 4)), max_size=9)


@given(spans)
def test_overlaps_are_found_as_by_comparing_all_pairs(spans):
    base = plan()
    tensors = tuple(
        replace(base.tensors[0], id=str(n), storage="s", offset=128 * at, shape=(32 * size,), scope="global",
                first=min(a, b), last=max(a, b), read=None)
        for n, (a, b, at, size) in enumerate(spans)
    )  # fmt: skip
    storage = replace(base.storages[1], id="s", planned_bytes=10**6, planned=True)
    found = audit(replace(base, storages=(storage,), tensors=tensors), RULES).findings
    meet = any(
        max(a.first, b.first) <= min(a.last, b.last)
        and max(a.offset, b.offset) < min(a.offset + 4 * a.shape[0], b.offset + 4 * b.shape[0])
        for i, a in enumerate(tensors)
        for b in tensors[:i]
    )
    assert bool(found) == meet
    assert {finding.kind.label for finding in found} <= {"storage-reused-while-live"}
