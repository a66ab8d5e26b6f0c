"""The table of built-in functions: what each does to memory, where it synchronises, and in what its result differs.

Analyses, checks and emitters ask this table instead of comparing names. A call of a name that has no row may do anything:
it reads and writes what its pointers point to, and its result differs between work-items.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from ..records import dataclass
from . import ir

Effect = Literal["none", "read", "write", "read_write"]
"""What a function does to the memory behind a pointer operand. "none": to none that is ever written."""

Uniformity = Literal["group", "operands", "memory", "work_item"]
"""In what a result differs: "group": it is the same for all work-items of a group; "operands": if its operands are; "memory": if
they are and nobody writes in between; "work_item": it may differ however equal they are."""

Scope = Literal["group", "wave"]


ASYNC_COPIES = ("async_work_group_copy", "async_work_group_strided_copy")
"""Functions that copy while the work-items go on, until wait_group_events."""


@dataclass(frozen=True)
class VectorAccess:
    """vload, vstore and similar functions: the index counts whole vectors (OpenCL C 6.15.7).

    half: memory holds halves. aligned: three elements lie four apart (vloada_half3).
    """

    stores: bool
    half: bool = False
    aligned: bool = False


@dataclass(frozen=True)
class Builtin:
    """One function.

    effects: of its pointer operands in order; the last one holds for all that follow. vector, image, atomic: the kind of
    access it makes ("read" or "write" for an image). one_element: an atomic that accesses one element at its first operand.
    compares: one that stores its third operand where it finds its second; expects_behind: the value that its second points to.
    orders: an atomic that orders other accesses: "always", or as the operand of type memory_order says.
    sync: the scope in which work-items meet at it. has_result: it gives what they met for. handed_over: the positions of
    operands; the result is such an operand of some work-item, unchanged. fence_flags: its first operand says which memory it
    orders. elementwise: of each lane of its operands alone. tells_truth: it gives 1 for a scalar that is so, -1 for each lane of
    a vector. plain_conversion: it converts to an integer, neither saturating nor with a rounding of its own. reinterprets: it
    takes the bits of its operand for another type. query: it asks for what never changes while a work-item runs. picks_lanes:
    each lane of its result is one of its operands but the last, as the low bits of that lane of the last say. multiplies_24_bits:
    it multiplies 24 bits of its first two operands, which are integers. in_vectors: vector code may hold it.
    """

    effects: tuple[Effect, ...] = ()
    vector: VectorAccess | None = None
    image: Literal["", "read", "write"] = ""
    atomic: bool = False
    one_element: bool = False
    compares: bool = False
    expects_behind: bool = False
    orders: Literal["", "always", "as_given"] = ""
    sync: Scope | None = None
    has_result: bool = True
    handed_over: tuple[int, ...] = ()
    fence_flags: bool = False
    uniformity: Uniformity = "work_item"
    elementwise: bool = False
    tells_truth: bool = False
    plain_conversion: bool = False
    reinterprets: bool = False
    query: bool = False
    picks_lanes: bool = False
    multiplies_24_bits: bool = False
    in_vectors: bool = True

    def effect(self, number: int) -> Effect:
        """What it does through its pointer operand `number`, counted from 0 among the pointers."""
        if not self.effects:
            return "read_write"
        return self.effects[min(number, len(self.effects) - 1)]


UNKNOWN = Builtin()
"""Of a name without a row."""

_FUNCTION = Builtin(uniformity="operands", elementwise=True)
_PLAIN_CONVERSION = replace(_FUNCTION, plain_conversion=True)
_REINTERPRETING = replace(_FUNCTION, reinterprets=True)
_REDUCING = Builtin(uniformity="operands")
_WIDTHS = ("2", "3", "4", "8", "16")
_ROUNDINGS = ("", "_rte", "_rtz", "_rtp", "_rtn")
_FLOATS = ("half", "float", "double")
_SCALARS = tuple(sign + name for name in ("char", "short", "int", "long") for sign in ("", "u")) + _FLOATS


def _names(text: str) -> list[str]:
    return text.split()


_ELEMENTWISE = _names("""
bit_reverse bitfield_extract_signed bitfield_extract_unsigned bitfield_insert
abs abs_diff add_sat sub_sat clz ctz popcount rotate mul_hi mad_hi mad_sat hadd rhadd upsample
fma mad floor ceil trunc rint sqrt round half_sqrt native_sqrt fabs copysign fmin fmax min max clamp
bitselect select
acos acospi asin asinpi atan atan2 atan2pi atanpi degrees fdim maxmag minmag mix radians sign smoothstep step erf erfc
exp exp10 exp2 expm1 half_exp half_exp10 half_exp2 native_exp native_exp10 native_exp2 ilogb ldexp logb nan nextafter
lgamma tgamma acosh asinh atanh cosh sinh tanh half_log half_log10 half_log2 log log10 log1p log2 native_log native_log10
native_log2 half_powr native_powr pow pown powr rootn fmod remainder cbrt half_divide half_recip half_rsqrt hypot native_divide
native_recip native_rsqrt rsqrt cos cospi half_cos half_sin half_tan native_cos native_sin native_tan sin sinpi tan tanpi
""")

_TRUTHS = _names("""
isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isordered isunordered
isnan isinf isfinite isnormal signbit
""")

_ACROSS_LANES = _names("""
any all dot dot_acc_sat qcom_dot8_acc qcom_udot8_acc cross distance fast_distance fast_length fast_normalize
length normalize
dot_4x8packed_uu_uint dot_4x8packed_ss_int dot_4x8packed_us_int dot_4x8packed_su_int
dot_acc_sat_4x8packed_uu_uint dot_acc_sat_4x8packed_ss_int dot_acc_sat_4x8packed_us_int dot_acc_sat_4x8packed_su_int
""")

_SECOND_RESULT = _names("fract modf frexp lgamma_r remquo sincos")
"""Functions with a result through a pointer."""

_GROUP_QUERIES = _names("""
get_group_id get_global_size get_local_size get_num_groups get_enqueued_local_size get_global_offset get_work_dim
get_max_sub_group_size get_num_sub_groups get_enqueued_num_sub_groups
get_image_width get_image_height get_image_depth get_image_array_size get_image_dim get_image_channel_data_type
get_image_channel_order get_image_num_mip_levels get_image_num_samples __translate_sampler_initializer
""")

_ITEM_QUERIES = _names("get_global_id get_local_id get_local_linear_id get_global_linear_id")
_WAVE_QUERIES = _names("get_sub_group_size get_sub_group_id get_sub_group_local_id")

_OF_BALLOTS = [
    "sub_group_inverse_ballot",
    *(f"sub_group_ballot_{what}" for what in _names("bit_extract bit_count inclusive_scan exclusive_scan find_lsb find_msb")),
]
_FETCHES = _names("add sub or xor and min max")
_FOLDS = [f"{how}_{what}" for how in ("reduce", "scan_inclusive", "scan_exclusive") for what in ("add", "min", "max")]
_SHUFFLES = _names("shuffle shuffle_xor shuffle_up shuffle_down")


def _atomics() -> Iterator[tuple[str, Builtin]]:
    atomic = Builtin(("read_write",), atomic=True, in_vectors=False)
    of_one = replace(atomic, one_element=True)
    for operation in _names("add sub xchg inc dec min max and or xor cmpxchg"):
        row = replace(of_one, compares=operation == "cmpxchg")
        yield f"atomic_{operation}", row
        yield f"atom_{operation}", row
    yield "atomic_init", of_one
    yield from _ordered_atomics("", replace(atomic, orders="always"))
    yield from _ordered_atomics("_explicit", replace(atomic, orders="as_given"))


def _ordered_atomics(end: str, row: Builtin) -> Iterator[tuple[str, Builtin]]:
    of_one = replace(row, one_element=True)
    for operation in [*(f"fetch_{name}" for name in _FETCHES), "exchange", "load", "store"]:
        yield f"atomic_{operation}{end}", of_one
    for operation in _names("compare_exchange_strong compare_exchange_weak"):
        yield f"atomic_{operation}{end}", replace(row, expects_behind=True)
    for operation in _names("flag_test_and_set flag_clear"):
        yield f"atomic_{operation}{end}", row


def _rows() -> Iterator[tuple[str, Builtin]]:
    yield from ((name, _FUNCTION) for name in _ELEMENTWISE)
    yield from ((name, replace(_FUNCTION, multiplies_24_bits=True)) for name in ("mul24", "mad24"))
    truth = replace(_FUNCTION, tells_truth=True)
    yield from ((name, truth) for name in _TRUTHS)
    yield from ((name, _REDUCING) for name in _ACROSS_LANES)
    yield from ((name, replace(_REDUCING, picks_lanes=True)) for name in ("shuffle", "shuffle2"))
    yield from ((name, Builtin(uniformity="operands")) for name in _SECOND_RESULT)
    for scalar in _SCALARS:
        for width in ("", *_WIDTHS):
            yield f"as_{scalar}{width}", _REINTERPRETING
            for end in (saturated + rounding for saturated in ("", "_sat") for rounding in _ROUNDINGS):
                plain = not end and scalar not in _FLOATS
                yield f"convert_{scalar}{width}{end}", _PLAIN_CONVERSION if plain else _FUNCTION
    yield from ((name, Builtin(uniformity="group", query=True)) for name in _GROUP_QUERIES)
    yield from ((name, Builtin(query=True)) for name in _ITEM_QUERIES)
    yield from ((name, Builtin(query=True, in_vectors=False)) for name in _WAVE_QUERIES)
    masks = Builtin(query=True, in_vectors=False)
    yield from ((f"get_sub_group_{which}_mask", masks) for which in _names("eq ge gt le lt"))
    yield from ((name, Builtin(in_vectors=False)) for name in _OF_BALLOTS)
    yield from _memory_rows()
    yield from _sync_rows()


def _memory_rows() -> Iterator[tuple[str, Builtin]]:
    load = Builtin(("read",), VectorAccess(stores=False), uniformity="memory")
    store = Builtin(("write",), VectorAccess(stores=True))
    for width in _WIDTHS:
        yield f"vload{width}", load
        yield f"vstore{width}", store
    for aligned in ("", "a"):
        load_half = replace(load, vector=VectorAccess(stores=False, half=True, aligned=bool(aligned)))
        store_half = replace(store, vector=VectorAccess(stores=True, half=True, aligned=bool(aligned)))
        for width in ("", *_WIDTHS):
            yield f"vload{aligned}_half{width}", load_half
            yield from ((f"vstore{aligned}_half{width}{rounding}", store_half) for rounding in _ROUNDINGS)
    read_image, write_image = Builtin(image="read", uniformity="memory"), Builtin(image="write")
    for type in _names("f h i ui"):
        yield f"read_image{type}", read_image
        yield f"write_image{type}", write_image
    yield from _atomics()
    for name in ASYNC_COPIES:
        yield name, Builtin(("write", "read"), in_vectors=False)
    yield from ((name, Builtin(("none",), in_vectors=False)) for name in _names("prefetch printf"))
    for name in _names("mem_fence read_mem_fence write_mem_fence atomic_work_item_fence"):
        yield name, Builtin(fence_flags=True, in_vectors=False)


def _sync_rows() -> Iterator[tuple[str, Builtin]]:
    meet = Builtin(sync="group", has_result=False)
    barrier = replace(meet, fence_flags=True)
    yield from ((name, barrier) for name in _names("barrier work_group_barrier"))
    yield "wait_group_events", meet
    yield "sub_group_barrier", replace(barrier, sync="wave", in_vectors=False)
    combine = Builtin(sync="group", in_vectors=False)
    yield from ((f"work_group_{what}", combine) for what in ["all", "any", *_FOLDS])
    yield "work_group_broadcast", replace(combine, handed_over=(0,))
    combine = replace(combine, sync="wave")
    yield from ((f"sub_group_{what}", combine) for what in ["all", "any", "elect", "ballot", *_FOLDS])
    hand_over = replace(combine, handed_over=(0,))
    handing = [*_names("broadcast broadcast_first non_uniform_broadcast"), *_SHUFFLES]
    yield from ((f"sub_group_{what}", hand_over) for what in handing)
    hand_over = replace(combine, handed_over=(0, 3))
    yield from ((f"qcom_sub_group_shuffle_{what}", hand_over) for what in _names("up down xor"))


BUILTINS: dict[str, Builtin] = dict(_rows())
"""By name."""


@functools.cache
def find_builtin(name: str) -> Builtin:
    """The row of a function; UNKNOWN without one. LLVM's intrinsics are functions of their operands."""
    return BUILTINS.get(name) or (_FUNCTION if name.startswith("llvm.") else UNKNOWN)


def is_intrinsic(instr: ir.Instr) -> bool:
    """Whether an instruction calls an intrinsic of LLVM's."""
    return instr.callee is not None and instr.callee.name.startswith("llvm.")


NOT_A_CALL = Builtin(("none",), uniformity="work_item")
"""Of an instruction that calls nothing."""


def is_printf(instr: ir.Instr) -> bool:
    """Whether an instruction calls printf."""
    return instr.callee is not None and instr.callee.name == "printf"


def builtin_of(instr: ir.Value) -> Builtin:
    """The row of what an instruction calls; NOT_A_CALL where it calls nothing."""
    callee = instr.callee if isinstance(instr, ir.Instr) else None
    return NOT_A_CALL if callee is None else find_builtin(callee.name)
