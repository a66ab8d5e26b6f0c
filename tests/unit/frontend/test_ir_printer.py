"""Kernel IR as text: golden text of small kernels, names, constants, and that nothing in the corpus goes unprinted."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_ir import kernel, module

from adreno_sim.ir import ir
from adreno_sim.ir.printer import ValueNames, constant_text, place_text, print_function, print_instruction

LOOP = """kernel void k(global float *y, global const float *x, int n) {
  int i = get_global_id(0);
  float sum = 0.5f;
  for (int j = 0; j < n; ++j)
    sum += x[i * n + j];
  y[i] = sum;
}
"""
LOOP_TEXT = """\
kernel void @k(ptr addrspace(1) %y, ptr addrspace(1) %x, i32 %n) {
entry:
  %call = call i64 @get_global_id(uint 0)                         ; 2:11
  %i = trunc i64 %call to i32                                     ; 2:11
  br label %for.cond                                              ; 4:8

for.cond:                                                         ; preds = entry, for.body
  %j = phi i32 [ 0, %entry ], [ %j.1, %for.body ]
  %sum = phi float [ 0.5, %entry ], [ %sum.1, %for.body ]
  %cmp = icmp slt i32 %j, %n                                      ; 4:21
  condbr i1 %cmp, label %for.body, label %for.end                 ; 4:3

for.body:                                                         ; preds = for.cond
  %mul = mul i32 %i, %n                                           ; 5:16
  %add = add i32 %mul, %j                                         ; 5:20
  %idxprom = sext i32 %add to i64                                 ; 5:12
  %arrayidx = gep float, ptr addrspace(1) %x, i64 %idxprom        ; 5:12
  %0 = load float, ptr addrspace(1) %arrayidx, align 4            ; 5:12
  %sum.1 = fadd float %sum, %0                                    ; 5:9
  %j.1 = add i32 %j, 1                                            ; 4:26
  br label %for.cond                                              ; 4:3

for.end:                                                          ; preds = for.cond
  %idxprom3 = sext i32 %i to i64                                  ; 6:3
  %arrayidx4 = gep float, ptr addrspace(1) %y, i64 %idxprom3      ; 6:3
  store float %sum, ptr addrspace(1) %arrayidx4, align 4          ; 6:8
  ret void                                                        ; 7:1
}
"""

MEMORY = """constant int table[3] = {1, -2, 3};
int pick(local int *t, int i) { return t[i] + table[i]; }
kernel __attribute__((reqd_work_group_size(8, 1, 1))) void k(global int *y, int n) {
  local int t[8];
  int l = get_local_id(0);
  t[l] = n > 0 ? l : -1;
  barrier(CLK_LOCAL_MEM_FENCE);
  switch (n) {
    case 3: y[l] = pick(t, 2); break;
    default: atomic_add(y, 1);
  }
}
"""
MEMORY_TEXT = """\
@k.t = local [8 x i32], align 4
@table = constant [3 x i32] [1, -2, 3], align 4

kernel void @k(ptr addrspace(1) %y, i32 %n) reqd_work_group_size(8, 1, 1) {
entry:
  %call = call i64 @get_local_id(uint 0)                          ; 5:11
  %l = trunc i64 %call to i32                                     ; 5:11
  %cmp = icmp sgt i32 %n, 0                                       ; 6:12
  condbr i1 %cmp, label %cond.true, label %cond.false             ; 6:10

cond.true:                                                        ; preds = entry
  br label %cond.end                                              ; 6:10

cond.false:                                                       ; preds = entry
  br label %cond.end                                              ; 6:10

cond.end:                                                         ; preds = cond.true, cond.false
  %cond = phi i32 [ %l, %cond.true ], [ -1, %cond.false ]         ; 6:10
  %idxprom = sext i32 %l to i64                                   ; 6:3
  %arrayidx = gep [8 x i32], ptr addrspace(3) @k.t, i64 0, i64 %idxprom  ; 6:3
  store i32 %cond, ptr addrspace(3) %arrayidx, align 4            ; 6:8
  call void @barrier(uint 1)                                      ; 7:3
  switch i32 %n, label %sw.default [ 3: label %sw.bb ]            ; 8:3

sw.bb:                                                            ; preds = cond.end
  %idxprom.1 = sext i32 2 to i64                                  ; 2:40, called from 9
  %arrayidx.1 = gep i32, ptr addrspace(3) @k.t, i64 %idxprom.1    ; 2:40, called from 9
  %0 = load i32, ptr addrspace(3) %arrayidx.1, align 4            ; 2:40, called from 9
  %arrayidx2 = gep [3 x i32], ptr addrspace(2) @table, i64 0, i64 %idxprom.1  ; 2:47, called from 9
  %1 = load i32, ptr addrspace(2) %arrayidx2, align 4             ; 2:47, called from 9
  %add = add i32 %0, %1                                           ; 2:45, called from 9
  %idxprom3 = sext i32 %l to i64                                  ; 9:13
  %arrayidx4 = gep i32, ptr addrspace(1) %y, i64 %idxprom3        ; 9:13
  store i32 %add, ptr addrspace(1) %arrayidx4, align 4            ; 9:18
  br label %sw.epilog                                             ; 9:32

sw.default:                                                       ; preds = cond.end
  %call5 = call i32 @atomic_add(__global volatile int* %y, int 1)  ; 10:14
  br label %sw.epilog                                             ; 11:3

sw.epilog:                                                        ; preds = sw.bb, sw.default
  ret void                                                        ; 12:1
}
"""


@pytest.mark.parametrize(("source", "text"), [(LOOP, LOOP_TEXT), (MEMORY, MEMORY_TEXT)], ids=["loop", "memory"])
def test_golden_text(source, text):
    assert print_function(kernel(source)) == text


def test_names_are_unique_and_a_value_has_the_same_at_its_definition_and_its_uses():
    function = kernel(LOOP)
    names = ValueNames(function)
    made = [names.of(i) for b in function.blocks for i in b.instrs if not isinstance(i.type, ir.Void)]
    assert len(made) == len(set(made))
    assert {"i", "sum", "sum.1", "j", "j.1"} <= set(made)


@pytest.mark.parametrize(
    ("type", "value", "text"),
    [
        (ir.Int(32), 0xFFFFFFFF, "-1"),
        (ir.Int(1), 1, "true"),
        (ir.Int(8), 0x7F, "127"),
        (ir.Float(32), 0x3DCCCCCD, "0.1"),
        (ir.Float(32), 0x3F800000, "1.0"),
        (ir.Float(32), 0x80000000, "-0.0"),
        (ir.Float(32), 0x7F800000, "0x7f800000"),
        (ir.Float(16), 0x7E01, "0x7e01"),
        (ir.Float(16), 0x2E66, "0.1"),
        (ir.Float(64), 0x7FEFFFFFFFFFFFFF, "1.7976931348623157e+308"),
        (ir.Pointer(ir.GLOBAL), None, "null"),
        (ir.Vector(ir.Int(32), 2), None, "zeroinitializer"),
        (ir.Int(32), ir.UNDEF, "undef"),
        (ir.Vector(ir.Int(8), 2), (ir.Const(ir.Int(8), 255), ir.Const(ir.Int(8), 2)), "<-1, 2>"),
    ],
)
def test_constants(type, value, text):
    assert constant_text(ir.Const(type, value)) == text


def test_places():
    assert place_text(ir.SourceLoc(3, 4)) == "3:4"
    assert place_text(ir.SourceLoc(3, 4, "util.h", (9, 12))) == "util.h:3:4, called from 9, 12"
    assert place_text(ir.UNKNOWN_LOC) == ""


def test_every_operation_of_the_corpus_has_a_form():
    """Each instruction is one line with its operation, and no operand is without a name."""
    sources = sorted((Path(__file__).parents[2] / "kernels" / "corpus" / "private-memory").glob("*.cl"))
    assert sources
    for path in sources:
        for function in module(path.read_text()).kernels.values():
            names = ValueNames(function)
            for instr in (i for block in function.blocks for i in block.instrs):
                line = print_instruction(instr, names)
                assert instr.op in line
                assert "?" not in line
                assert "\n" not in line
