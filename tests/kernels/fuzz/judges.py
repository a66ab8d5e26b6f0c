"""The implementations that judge the simulator, and what each is known to get wrong or to lack."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

import oracle

from adreno_sim.base.run_options import Checks

from .forms.float_forms import FLOAT_FORMS
from .value_types import INTEGERS

_MAD_SAT = "unoptimised, mad_sat(1, 1, x) saturates where it must not, or wraps"
_SHUFFLE = "unoptimised, shuffle(long4, ulong8) takes wrong lanes"
_BARRIERS = "its compiler dies of a loop with two entries in a kernel that has barriers"
_ALIGNED = "private structs that are aligned more than their members crash"
_PRODUCT = "mad_sat(-2^63, 2, x) saturates the product before it adds"
_THREE = "quotients and remainders of vectors of three are wrong"

_AVOID: dict[str, dict[str, str]] = {
    "pocl": {
        "statement/goto into a loop": _BARRIERS,
        "statement/switch into a loop": _BARRIERS,
        "integer/abs_diff of signed": "abs_diff(1, -2^31) is 2^31 - 1",
        "record/aligned(16)": _ALIGNED,
        "record/aligned(32)": _ALIGNED,
    },
    "intel": {
        **{f"integer/mad_sat:{kind}": _MAD_SAT for kind in ("int", "uint", "long", "ulong")},
        **{f"vector/shuffle:{kind}": _SHUFFLE for kind in ("long", "ulong")},
        "maths/dot:half": "a dot of two halves does not link",
    },
    "nvidia": {
        **{f"integer/mad_sat:{kind}": _PRODUCT for kind in ("long", "ulong")},
        "constant/array element:3": "of an array of vectors of three in constant memory another element than asked for is read",
        "statement/constant records": "a copy of a struct at program scope, in a branch, ends the context",
        "record/packed": "members of a packed struct are accessed as if they were aligned, which ends the context",
        "image/clamp:image1d_array": "a layer beside the array is not clamped where the sampler has a border",
    },
}
"""What each gets wrong, by construct, and how."""

_AVOID_OPTIMISED: dict[str, dict[str, str]] = {
    "pocl": {},
    "intel": {
        "statement/goto into a loop": "its compiler dies of a loop with two entries",
        "statement/switch into a loop": "its compiler dies of a loop with two entries",
        "float/negate": "kept across a barrier in a literal, in a group of two dimensions, it is the last work-item's",
    },
    "nvidia": {
        **{f"integer/{name}:{kind}3": _THREE for name in ("divide", "remainder") for kind in INTEGERS},
        **{f"integer/{name} by constant:{kind}3": _THREE for name in ("divide", "remainder") for kind in INTEGERS},
        "integer/abs:uint": "convert_float(abs(-2^31)) is -2^31",
        "statement/function of records": "what a function writes to a struct through a pointer is not seen",
    },
}
"""The same of programs that are optimised."""

_SINCE_2 = frozenset({"C11 atomics", "read_write images", "sub-groups", "work-group functions"})
_CAN = {
    "pocl": frozenset({"buffer images", "3D writes", "64-bit atomics", "infinite constants"}),
    "intel": frozenset({"buffer images", "3D writes", "64-bit atomics", "RG images", "infinite constants", *_SINCE_2}),
    "nvidia": frozenset({"3D writes", "64-bit atomics", "RG images"}),
}
"""What they have beyond OpenCL C 1.2; of 2.0 and later only where that is asked for. NVIDIA's INFINITY is no constant expression,
and its work_group_all is there without the feature that it belongs to, and gives another result."""

LICENCES = {"": "-cl-opt-disable", "mad": "-cl-mad-enable", "denorms": "-cl-denorms-are-zero", "relaxed": "-cl-fast-relaxed-math"}
"""Build options that permit other results (OpenCL API 3.0, section 5.8.6.4). Without one, nothing is optimised: the oracles
compile in half the time or less."""

_PRODUCTS = frozenset({"float/multiply", "float/multiply and add", "float/multiply and subtract", "float/with scalar"})
_BITS = frozenset({"as_type/float", "as_type/float to integer", "float/bitselect", "load/vload_half", "relation/signbit"})
_EXACT_IF_RELAXED = frozenset(
    {f"float/{name}" for name in ("negate", "conditional", "conditional by lane", "select", "fabs", "sign", "step")}
    | {f"float/{name}" for name in ("floor", "ceil", "trunc", "rint", "round", "clamp")}
    | {f"float/{name}" for name in ("fmax", "fmin", "fmax with scalar", "max", "min", "maxmag", "minmag")}
)

_LEFT_OPEN = {
    "": frozenset[str](),
    # a product and a sum may become one operation
    "mad": _PRODUCTS | {"statement/pointer walk"},
    # what comes near to denormals
    "denorms": _PRODUCTS
    | {f"float/{name}" for name in ("divide", "fma", "ldexp", "nextafter", "fmod", "remainder", "bitselect")}
    | {"as_type/float", "statement/pointer walk"},
    # every rounding, NaN, infinity, denormal and sign of zero; a half overflows soon
    "relaxed": frozenset(form.name for form in FLOAT_FORMS if form.name.startswith("float/")) - _EXACT_IF_RELAXED
    | _BITS
    | {"conversion/integer to float:half", "conversion/integer to float by cast:half", "conversion/half and float:half"}
    | {"statement/pointer walk", "statement/second result"},
}
"""What such an option leaves open, and kernels therefore do not have outside of results that are judged by a bound."""


@dataclass(frozen=True)
class Judge:
    """Who judges: `oracle` "pocl", "intel" or "nvidia", for the OpenCL C version `standard`, at the simulator's level `checks`.

    instead: who runs what was made for that oracle, where it is unfit; the kernels stay the same. licence: a key of LICENCES.
    """

    oracle: str
    standard: int
    checks: Checks = "bounds"
    instead: str = ""
    licence: str = ""

    @property
    def asked(self) -> str:
        """Who is asked."""
        return self.instead or self.oracle

    def can_judge(self, used: Container[str]) -> bool:
        """Whether the one who is asked gets right all that a kernel uses; kernels are made with that in mind for their oracle."""
        if not self.instead:
            return True
        wrong = {**_AVOID[self.instead], **(_AVOID_OPTIMISED[self.instead] if self.licence else {})}
        return not any(construct.partition(":")[0] in used for construct in wrong)

    @property
    def half(self) -> bool:
        return self.oracle == "intel"

    @property
    def avoid(self) -> frozenset[str]:
        optimised = _AVOID_OPTIMISED[self.oracle] if self.licence else {}
        return frozenset({*_AVOID[self.oracle], *optimised}) | _LEFT_OPEN[self.licence]

    @property
    def can(self) -> frozenset[str]:
        return _CAN[self.oracle] - (_SINCE_2 if self.standard < 200 else frozenset())

    @property
    def options(self) -> str:
        """Build options of both sides."""
        version = f"{self.standard // 100}.{self.standard // 10 % 10}"
        rounding = "" if self.licence == "relaxed" else "-cl-fp32-correctly-rounded-divide-sqrt "
        return f"-cl-std=CL{version} {rounding}{LICENCES[self.licence]}"


def _with_licences(share: float, judge: Judge) -> list[tuple[float, Judge]]:
    return [(share, replace(judge, licence=licence)) for licence in LICENCES if licence]


JUDGES = [
    (5, Judge("pocl", 120)), (4, Judge("intel", 200)), (1, Judge("intel", 120)), (1, Judge("intel", 300)),
    *_with_licences(0.3, Judge("pocl", 120)), *_with_licences(0.3, Judge("intel", 200)),
]  # fmt: skip
"""Shares of the kernels. PoCL's OpenCL C 2.0 finds no vloadn of a global pointer."""

ON_REQUEST = {"nvidia": [(5, Judge("nvidia", 120)), (1, Judge("nvidia", 300)), *_with_licences(0.5, Judge("nvidia", 120))]}
"""Those of machines with such a card."""


def judges_of(name: str = "") -> list[tuple[float, Judge]]:
    """Shares of one oracle's judges; "": of all that every machine has."""
    return ON_REQUEST.get(name) or [(share, judge) for share, judge in JUDGES if name in ("", judge.oracle)]


def fit_judge(judge: Judge) -> Judge:
    """The judge, or with whoever stands in for its oracle where that is missing or unfit. Raises OracleUnavailable."""
    for name in (judge.oracle, *oracle.NAMES):
        try:
            oracle.open_oracle(name)
        except oracle.OracleUnavailable as error:
            reason = error
        else:
            return judge if name == judge.oracle else replace(judge, instead=name)
    raise reason
