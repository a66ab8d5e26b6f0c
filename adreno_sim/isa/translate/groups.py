"""What work-items do together, and what they ask of their place: ids, barriers, sub-groups."""

from __future__ import annotations

import re

from ...ir import ir
from ..program import NirProgram, Value
from .translation import Translation, Values, bits_of, constant_index, is_unsigned, lane_type, refuse

_OF_DIMENSION = (
    "get_local_id", "get_group_id", "get_global_id", "get_local_size", "get_enqueued_local_size", "get_num_groups",
    "get_global_size", "get_global_offset",
)  # fmt: skip
_OF_SUB_GROUPS = {
    "get_sub_group_size": "load_subgroup_size", "get_max_sub_group_size": "load_subgroup_size",
    "get_sub_group_local_id": "load_subgroup_invocation", "get_sub_group_id": "load_subgroup_id",
    "qcom_get_physical_sub_group_id": "load_subgroup_id", "get_num_sub_groups": "load_num_subgroups",
    "get_enqueued_num_sub_groups": "load_num_subgroups",
}  # fmt: skip
QUERIES = frozenset((*_OF_DIMENSION, *_OF_SUB_GROUPS, "get_work_dim", "get_local_linear_id", "get_global_linear_id"))


def ask_place(translation: Translation, instr: ir.Instr) -> Values:
    """Translates a question for ids and sizes. Launches are taken to have no global offset."""
    assert instr.callee is not None
    name, program = instr.callee.name, translation.program
    if name in _OF_SUB_GROUPS:
        return (program.intrinsic(_OF_SUB_GROUPS[name], (), 1),)
    if name == "get_work_dim":
        return (program.intrinsic("load_work_dim", (), 1),)
    if name == "get_local_linear_id":
        return (_as_size(translation, find_local_linear_id(translation), instr.type),)
    if name == "get_global_linear_id":
        return (_global_linear_id(translation, bits_of(instr.type)),)
    dimension = constant_index(instr.operands[0])
    if dimension is None:
        raise refuse(f"{name} of a dimension that is computed", instr)
    if not 0 <= dimension < 3:
        found = program.constant(0 if "id" in name or "offset" in name else 1, 32)
    else:
        found = _ask_dimension(translation, name, dimension, bits_of(instr.type))
    return (_as_size(translation, found, instr.type),)


def _as_size(translation: Translation, value: Value, type: ir.Type) -> Value:
    return translation.resize(value, bits_of(type))


def _ask_dimension(translation: Translation, name: str, dimension: int, bits: int = 32) -> Value:
    """bits: of the sums and products for what is asked. A size_t has 64, and a compiler does not know how large a launch is; what
    a kernel makes an int of it is computed in 32 bits in the end."""
    program, required = translation.program, translation.function.required_work_group_size

    def load(intrinsic: str) -> Value:
        return program.part(program.intrinsic(intrinsic, (), 3), dimension)

    if name == "get_local_id":
        alone = required is not None and required[dimension] == 1
        return program.constant(0, 32) if alone else load("load_local_invocation_id")
    if name == "get_group_id":
        return load("load_workgroup_id")
    if name == "get_num_groups":
        return load("load_num_workgroups")
    if name == "get_global_offset":
        return program.constant(0, 32)
    size = translation.resize(_local_size(translation, dimension), bits)
    if name in ("get_local_size", "get_enqueued_local_size"):
        return size
    if name == "get_global_size":
        return program.op("imul", translation.resize(load("load_num_workgroups"), bits), size)
    first = program.op("imul", translation.resize(load("load_workgroup_id"), bits), size)
    return program.op("iadd", first, translation.resize(_ask_dimension(translation, "get_local_id", dimension), bits))


def _local_size(translation: Translation, dimension: int) -> Value:
    """A size that the kernel requires is a constant of its code; any other is a parameter that the driver hands over."""
    required = translation.function.required_work_group_size
    if required is not None:
        return translation.program.constant(required[dimension], 32)
    return translation.load_uniform(translation.find_local_size() + 4 * dimension, 32)


def find_local_linear_id(translation: Translation) -> Value:
    """Returns the number of a work-item in its group. NIR has an intrinsic for it that ir3 does not take."""
    op = translation.program.op
    x, y, z = (_ask_dimension(translation, "get_local_id", dimension) for dimension in range(3))
    width, height = (_local_size(translation, dimension) for dimension in range(2))
    return op("iadd", op("imul", op("iadd", op("imul", z, height), y), width), x)


def _global_linear_id(translation: Translation, bits: int) -> Value:
    op = translation.program.op
    x, y, z = (_ask_dimension(translation, "get_global_id", dimension, bits) for dimension in range(3))
    width, height = (_ask_dimension(translation, "get_global_size", dimension, bits) for dimension in range(2))
    return op("iadd", op("imul", op("iadd", op("imul", z, height), y), width), x)


# Barriers and fences


def add_barrier(program: NirProgram, scope: str = "workgroup", waits: bool = True) -> None:
    """Adds a barrier, or a fence where nobody waits."""
    program.intrinsic(
        "barrier", EXECUTION_SCOPE=f"scope_{scope if waits else 'none'}", MEMORY_SCOPE=f"scope_{scope}",
        MEMORY_SEMANTICS="acquire_release", MEMORY_MODES="shared_and_global",
    )  # fmt: skip


# Sub-groups

_FOLD = re.compile(r"sub_group_(reduce|scan_inclusive|scan_exclusive)_(add|min|max)")
_FOLDS = {"reduce": "reduce", "scan_inclusive": "inclusive_scan", "scan_exclusive": "exclusive_scan"}
_MOVE = re.compile(r"(?:qcom_)?sub_group_(broadcast|broadcast_first|shuffle|shuffle_xor|shuffle_up|shuffle_down)")
_MOVES = {"broadcast": "read_invocation", "broadcast_first": "read_first_invocation"}


def call_sub_group(translation: Translation, instr: ir.Instr) -> Values | None:
    """Translates a built-in of sub-groups."""
    assert instr.callee is not None
    name, program = instr.callee.name, translation.program
    if name == "sub_group_barrier":
        add_barrier(program, "subgroup")
        return None
    if name == "sub_group_elect":
        return (program.op("b2i32", program.intrinsic("elect", (), 1, 1)),)
    if name in ("sub_group_any", "sub_group_all"):
        vote = program.intrinsic(f"vote_{name[-3:]}", [_truth(translation, instr)], 1, 1)
        return (program.op("b2i32", vote),)
    if name == "sub_group_ballot":
        return program.parts(program.intrinsic("ballot", [_truth(translation, instr)], 4, 32, 4), 4)
    if match := _FOLD.fullmatch(name):
        operation = _fold_operation(instr, match[2])
        cluster = {"CLUSTER_SIZE": 0} if match[1] == "reduce" else {}
        return tuple(
            program.intrinsic(_FOLDS[match[1]], [value], 1, program.bits(value), 1, REDUCTION_OP=f"op_{operation}", **cluster)
            for value in translation.value(instr.operands[0])
        )
    if match := _MOVE.fullmatch(name):
        lane = [] if match[1] == "broadcast_first" else [translation.resize(translation.scalar(instr.operands[1]), 32)]
        if name.startswith("qcom_") and (constant_index(instr.operands[2]) != 0):
            translation.omitted.add(f"{name}: the width of the shuffle, and what lanes outside it get")
        return tuple(
            program.intrinsic(_MOVES.get(match[1], match[1]), [value, *lane], 1, program.bits(value), 1)
            for value in translation.value(instr.operands[0])
        )
    raise refuse(name, instr)


def _truth(translation: Translation, instr: ir.Instr) -> Value:
    return translation.program.op("ine", translation.scalar(instr.operands[0]), translation.program.constant(0, 32))


def _fold_operation(instr: ir.Instr, what: str) -> str:
    assert instr.callee is not None
    real = isinstance(lane_type(instr.type), ir.Float)
    if what == "add":
        return "fadd" if real else "iadd"
    return f"{'f' if real else 'u' if instr.callee.args and is_unsigned(instr.callee.args[0]) else 'i'}{what}"
