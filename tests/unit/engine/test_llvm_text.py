"""The builder of LLVM text: phis stand where they were opened, with the edges that were added to them later; and what text is
refused."""

import pytest

from adreno_sim.engine.emit.segment_flow import complete_phis
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.llvm.text import Phi, Text, check_order


def loop():
    """A loop that counts to ten, whose head gets a second phi when its body is written."""
    t = Text()
    t.jump("head")
    t.block("head")
    number, room = t.open_phi("i64"), t.make_room_for_phis()
    mark = t.mark()
    following = t.op(f"add i64 {number.name}, 1")
    late = Phi(t.take_name(), "i1")
    room.append(late)
    more = t.op(f"icmp ult i64 {following}, 10")
    t.branch(more, "head", "out")
    late.add(("false", "entry"), (more, "head"))
    number.add((0, "entry"), (following, "head"))
    return t, mark


def test_phis_are_written_where_they_were_opened():
    t, _ = loop()
    assert t.lines == [
        "  br label %head",
        "head:",
        "  %t0 = phi i64 [ 0, %entry ], [ %t1, %head ]",
        "  %t2 = phi i1 [ false, %entry ], [ %t3, %head ]",
        "  %t1 = add i64 %t0, 1",
        "  %t3 = icmp ult i64 %t1, 10",
        "  br i1 %t3, label %head, label %out",
    ]


def test_lines_from_a_mark_are_those_written_since():
    t, mark = loop()
    assert t.lines_from(mark) == t.lines[-3:]
    assert t.lines_from(t.mark()) == []


def test_a_phi_of_a_cold_block_may_be_completed_after_it_was_put_aside():
    t = Text()
    cold = t.aside()
    cold.block("cold")
    phi = cold.open_phi("i32")
    t.put_aside(cold)
    phi.add((7, "entry"))
    assert t.cold == ["cold:", "  %t0 = phi i32 [ 7, %entry ]"]
    assert t.lines == []


def test_parts_of_a_phi_are_completed_from_edges_of_all_parts():
    t = Text()
    phis = [t.open_phi("ptr"), t.open_phi("i64")]
    complete_phis(phis, [("a", ["%p", "1"]), ("b", ["null", "2"])])
    assert t.lines == ["  %t0 = phi ptr [ %p, %a ], [ null, %b ]", "  %t1 = phi i64 [ 1, %a ], [ 2, %b ]"]


def test_a_value_is_used_only_where_it_is_defined():
    prologue = Text()
    opening, body = Text(prologue.names), Text(prologue.names)
    base = prologue.op("load i64, ptr %args")
    own = opening.op(f"add i64 {base}, %lx")
    opening.do(f"store i64 {own}, ptr %mem")
    check_order(prologue, opening)
    later = body.op(f"add i64 {own}, 1")
    opening.op(f"mul i64 {later}, 4")
    with pytest.raises(ValueError, match=rf"{later} is used before it is defined: %t3 = mul i64 {later}, 4"):
        check_order(prologue, opening)


def test_text_that_llvms_verifier_refuses_is_not_compiled():
    text = "define i64 @f(i64 %n) {{\nentry:\n  %a = add i64 {}, 1\n  %b = add i64 %n, 2\n  ret i64 %a\n}}"
    assert objects.machine().compile(text.format("%n"))
    with pytest.raises(RuntimeError, match="does not dominate"):
        objects.machine().compile(text.format("%b"))
