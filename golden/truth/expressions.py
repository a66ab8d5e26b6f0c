"""TVM expressions as C text that computes them without rounding, with the variance of a device's roundings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from ...base.integers.interval import Interval
from ...compiler.tvm_bridge import read
from ...records import dataclass
from . import functions, operations
from .choices import Choices
from .operations import called_name, spell_float
from .ranges import bits, combine_ranges, range_of_type
from .tensor import Tensor
from .value import (
    DIGITS,
    FLOATS,
    HALVES,
    Unmodelled,
    Value,
    c_type,
    constant_of,
    fixed,
    is_denormal,
    literal,
    product_variance,
    round_native,
    unit,
)

MOST_LINES = 200_000
"""Lines of C that one function may take."""


@dataclass
class Writer:
    """Lines of C as they are written.

    native: values are also computed as halves give them. reducing: the value that is being written is one of many steps, whose
    order is up to the device. terms: how many, in C; stored: the key of the tensor that takes them. taken: where a value is
    evaluated that may not be chosen, the C condition that it is; else "". choices: where the value is written once for every
    choice of whole numbers. moved: rounding moves a place that it reads. open_to_nan: something is taken for exact that OpenCL
    leaves open if a tensor holds NaN; open_to_denormals: or may be computed of zero for a denormal number.
    """

    tensors: dict[int, Tensor] = field(default_factory=dict)
    names: dict[int, Value] = field(default_factory=dict)
    native: bool = False
    reducing: bool = False
    terms: str = "1.0"
    stored: int = 0
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    taken: str = ""
    choices: Choices | None = None
    moved: bool = False
    open_to_nan: bool = False
    open_to_denormals: bool = False
    _count: int = 0

    def line(self, text: str) -> None:
        if len(self.lines) >= MOST_LINES:
            raise Unmodelled(f"more than {MOST_LINES} operations")
        self.lines.append("  " * self.depth + text)

    def open(self, text: str) -> None:
        self.line(text + " {")
        self.depth += 1

    def close(self, text: str = "}") -> None:
        self.depth -= 1
        self.line(text)
        if self.choices is not None:
            self.choices.leave(self.depth)

    def fresh(self, prefix: str = "t") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def let(self, type: str, text: str) -> str:
        name = self.fresh()
        self.line(f"{type} {name} = {text};")
        return name

    def keep(self, value: Value) -> Value:
        """The same value in variables."""
        q = None if value.q is None else self.let("double", value.q)
        native = None if value.native is None else self.let("double", value.native)
        return replace(value, text=self.let(c_type(value.dtype), value.text), q=q, native=native)

    # --- expressions --------------------------------------------------------------------------------------

    def value(self, node: Any) -> Value:
        """The value of an expression, computed by the lines written so far. Raises Unmodelled."""
        kind = read.kind(node)
        method: Callable[[Any], Value] | None = getattr(self, f"visit_{kind}", None)
        if method is not None:
            return method(node)
        if kind in operations.ARITHMETIC:
            a, b = self.value(node.a), self.value(node.b)
            return self.float_operation(kind, a, b) if a.is_float else self.int_operation(kind, a, b)
        if kind in operations.COMPARE:
            return self.compare(operations.COMPARE[kind], self.value(node.a), self.value(node.b))
        if kind in operations.BIT_NODES:
            return self.int_operation(operations.BIT_NODES[kind], self.value(node.a), self.value(node.b))
        raise Unmodelled(f"{kind} expressions")

    def visit_Var(self, node: Any) -> Value:
        found = self.names.get(read.key(node))
        if found is None:
            raise Unmodelled(f"the unbound variable {read.var_name(node)}")
        return found

    def visit_IntImm(self, node: Any) -> Value:
        dtype, value = read.dtype_of(node), int(node.value)
        suffix = "ULL" if dtype.startswith("u") else "LL"
        text = "(-9223372036854775807LL - 1)" if value == -(2**63) else f"{value}{suffix}"
        return Value(f"(({c_type(dtype)}){text})", dtype, range=Interval.exactly(value))

    def visit_FloatImm(self, node: Any) -> Value:
        dtype = read.dtype_of(node)
        if dtype not in FLOATS:
            raise Unmodelled(f"values of type {dtype}")
        value = constant_of(float(node.value), dtype)
        return self._flushed(value) if is_denormal(float(node.value), dtype) else value

    def visit_TensorLoad(self, node: Any) -> Value:
        tensor, index = self.place(read.loaded_buffer(node), node.indices)
        q = None if tensor.exact else self.let("double", tensor.element(index.text, "_q"))
        if index.q is not None:
            self.moved = True
            q = self.let("double", f"{index.q} != 0 ? INF : {q or '0.0'}")
        native = None if tensor.exact or not self.native else self.let("double", tensor.element(index.text, "_n"))
        text = self.let(c_type(tensor.dtype), tensor.element(index.text))
        stored = self.reducing and read.buffer_key(read.loaded_buffer(node)) == self.stored
        if q is not None and self.reducing and not stored and tensor.dtype in FLOATS:
            q = self.let("double", f"loaded_in_sum({text}, {q}, {self._share(tensor.dtype)}, {unit(tensor.dtype)})")
        return Value(text, tensor.dtype, q, native, loaded=True, stored=stored)

    visit_BufferLoad = visit_TensorLoad

    def visit_Let(self, node: Any) -> Value:
        self.names[read.key(node.var)] = self.keep(self.value(node.value))
        return self.value(node.body)

    def visit_Cast(self, node: Any) -> Value:
        dtype = read.dtype_of(node)
        cut = self.choices is not None and read.dtype_of(node.value) in FLOATS and dtype not in (*FLOATS, "bool")
        if self.choices is not None and cut and called_name(node.value) not in functions.STEPS:
            return self.cast(self.choices.step("trunc", node.value, self.depth, self.value), dtype)
        return self.cast(self.value(node.value), dtype)

    def visit_Not(self, node: Any) -> Value:
        a = self.value(node.a)
        return Value(self.let("bool_t", f"!{a.text}"), "bool", a.q, loaded=a.loaded)

    def visit_And(self, node: Any) -> Value:
        return self._connect(node, "")

    def visit_Or(self, node: Any) -> Value:
        return self._connect(node, "!")

    def visit_BitwiseNot(self, node: Any) -> Value:
        return self._complement(self.value(node.a))

    def _complement(self, a: Value) -> Value:
        text = self.let(c_type(a.dtype), f"({c_type(a.dtype)})~{a.text}")
        q = None if a.q is None else self.let("double", f"{a.q} != 0 ? INF : 0.0")
        return Value(text, a.dtype, q, loaded=a.loaded)

    def _connect(self, node: Any, sign: str) -> Value:
        """The second operand is evaluated only where the first does not decide: it may be a load that the first guards."""
        a = self.value(node.a)
        result, q = self.let("bool_t", a.text), self.let("double", a.variance)
        self.open(f"if ({sign}{a.text}{f' || {a.q} != 0' if a.q else ''})")
        b = self.value(node.b)
        self.line(f"{result} = {a.text} {'||' if sign else '&&'} {b.text};")
        if b.q:
            self.line(f"{q} = {q} > {b.q} ? {q} : {b.q};")
        self.close()
        return Value(result, "bool", q if a.q or b.q else None, loaded=a.loaded or b.loaded)

    def visit_Select(self, node: Any) -> Value:
        return self.choose(node.condition, node.true_value, node.false_value)

    def choose(self, condition: Any, chosen: Any, other: Any) -> Value:
        """One of two values, which alone is evaluated: the condition may guard a load. Where rounding may decide, both count."""
        asked = self.value(condition)
        a, b = self._arm(asked, "", chosen), self._arm(asked, "!", other)
        result = self.let(c_type(a.dtype), f"{asked.text} ? {a.text} : {b.text}")
        loaded = asked.loaded or asked.q is not None or a.loaded or b.loaded
        if asked.q is None and a.q is None and b.q is None:
            return Value(result, a.dtype, loaded=loaded)
        q = f"{asked.text} ? {a.variance} : {b.variance}"
        if asked.q is not None:
            lost = f" + ({asked.q} < INF ? 0 : INF)" if self.reducing else ""
            q = f"{asked.q} != 0 ? either({a.text}, {a.variance}, {b.text}, {b.variance}){lost} : {q}"
        native = self.let("double", f"{asked.text} ? {a.as_native} : {b.as_native}") if self.native else None
        return Value(result, a.dtype, self.let("double", q), native, loaded)

    def _arm(self, asked: Value, sign: str, node: Any) -> Value:
        """One of the values that a condition chooses from; 0 where it is surely the other one."""
        dtype, taken = read.dtype_of(node), f"{sign}({asked.text})"
        result, q, native = self.let(c_type(dtype), "0"), self.let("double", "0"), self.let("double", "0")
        self.open(f"if ({taken})" if asked.q is None else f"if ({taken} || {asked.q} != 0)")
        outer, self.taken = self.taken, " && ".join(filter(None, (self.taken, asked.q and taken)))
        value = self.value(node)
        self.taken = outer
        for variable, text in ((result, value.text), (q, value.q), (native, value.as_native if self.native else None)):
            if text is not None:
                self.line(f"{variable} = {text};")
        self.close()
        return Value(result, dtype, None if value.q is None else q, native if self.native else None, value.loaded)

    def compare(self, operator: str, a: Value, b: Value) -> Value:
        a, b, loaded = self._flush(a), self._flush(b), a.loaded or b.loaded
        result = self.let("bool_t", f"{a.text} {operator} {b.text}")
        steps = self.reducing and a.is_float
        if a.q is None and b.q is None:
            self.open_to_nan |= steps and loaded
            return Value(result, "bool", loaded=loaded)
        decision = "step_order_q" if steps else "decision_q"
        q = self.let("double", f"{decision}({a.text}, {b.text}, {a.variance} + {b.variance})")
        return Value(result, "bool", q, loaded=loaded)

    def float_operation(self, kind: str, a: Value, b: Value) -> Value:
        """An operation on two floats, rounded to their type on a device."""
        if kind in operations.FLOAT:
            a, b = self._flush(a), self._flush(b)
        x, y, qx, qy = a.text, b.text, a.variance, b.variance
        exact, loaded, stored = a.q is None and b.q is None, a.loaded or b.loaded, a.stored or b.stored
        if kind in ("Max", "Min"):
            choice = f"{x} {'>' if kind == 'Max' else '<'} {y}{'' if exact else f' || {x} != {x}'}"
            self.open_to_nan |= exact and loaded
            v = self.let("double", f"{choice} ? {x} : {y}")
            q = None if exact else self.let("double", f"{kind.lower()}_q({x}, {qx}, {y}, {qy})")
            native = self.let("double", f"{choice} ? {a.as_native} : {b.as_native}") if self.native and not exact else None
            return Value(v, a.dtype, q, native, loaded)
        if kind in operations.REMAINDER:
            return self._remainder(operations.REMAINDER[kind], self._flush(a), self._flush(b))
        if kind not in operations.FLOAT:
            raise Unmodelled(f"{kind} of floats")
        v, scale = self.let("double", spell_float(kind, x, y, in_term=self.reducing and not stored)), "1.0"
        if kind == "Mul":
            q = product_variance(a, b)
        elif kind == "Div":
            scale = functions.scale_of(*functions.DIVISION_ULPS, unit(a.dtype))
            q = "0.0" if exact else f"div_q({x}, {qx}, {y}, {qy})"
        else:
            q = " + ".join(filter(None, (a.q, b.q))) or "0.0"
        return replace(self.rounded(v, a.dtype, q, scale, loaded, spell_float(kind, a.as_native, b.as_native)), stored=stored)

    def _remainder(self, function: str, a: Value, b: Value) -> Value:
        v = self.let("double", f"{function}({a.text}, {b.text})")
        q = self.let("double", f"mod_q({a.text}, {a.variance}, {b.text}, {b.variance}, {unit(a.dtype)})")
        native = self.let("double", round_native(f"{function}({a.as_native}, {b.as_native})", a.dtype)) if self.native else None
        return Value(v, a.dtype, q, native, a.loaded or b.loaded)

    def _flush(self, a: Value) -> Value:
        """An operand of arithmetic: of a half that memory holds, a device may take zero where it is denormal.

        A program for arguments of wider types that hold denormal numbers takes these as not exact (`given.py`).
        """
        if a.q is not None or not a.is_float or not a.loaded:
            return a
        if a.dtype != "float16":
            self.open_to_denormals = True
            return a
        return self._flushed(a)

    def _flushed(self, a: Value) -> Value:
        """A value that a device may take for zero if it is denormal, as it may a constant of this kind."""
        q = self.let("double", " + ".join(filter(None, (a.q, f"flushed_q({a.text}, {unit(a.dtype)})"))))
        return replace(a, q=q, native=self.let("double", f"flushed({a.text}, {unit(a.dtype)})") if self.native else None)

    def _share(self, dtype: str) -> str:
        """As of `rounded_in_sum`: 8 sigma of all terms reach their sum. Halves are also computed as they are flushed."""
        return "1.0 / 16" if dtype in HALVES else f"({self.terms} < 4 ? 1.0 / 16 : {self.terms} / 64)"

    def rounded(self, v: str, dtype: str, q: str, scale: str, loaded: bool, native: str) -> Value:
        """v after a rounding to `dtype`. q: its variance before; native: its value before, computed as halves give it."""
        before = self.let("double", q)
        after = f"rounded({v}, {before}, {scale}, {unit(dtype)})"
        if self.reducing:
            after = f"rounded_in_sum({v}, {before}, {scale}, 1 / ({self.terms}), {self._share(dtype)}, {unit(dtype)})"
        if not loaded and scale == "1.0" and dtype in operations.IS_EXACT:  # of coordinates it decides which element is meant
            after = f"({before} == 0) & {operations.IS_EXACT[dtype]}({v}) ? 0 : {after}"
        variance = self.let("double", after)
        if dtype in HALVES and not self.reducing:
            self.line(f"overflow(&{v}, {before}, &{variance}, {unit(dtype)});")
        return Value(v, dtype, variance, self.let("double", round_native(native, dtype)) if self.native else None, loaded)

    def int_operation(self, kind: str, a: Value, b: Value) -> Value:
        type, loaded = c_type(a.dtype), a.loaded or b.loaded
        x, y = a.text, fixed(b.text) if kind in operations.DIVIDE else b.text  # a division by a variable takes long
        unsigned = a.dtype.startswith("u")
        if kind in operations.PLAIN:
            text = f"({type})({x} {operations.PLAIN[kind]} {y})"
        elif kind in ("Max", "Min"):
            text = f"{x} {'>' if kind == 'Max' else '<'} {y} ? {x} : {y}"
        elif unsigned or (a.range is not None and b.range is not None and a.range.low >= 0 and b.range.low > 0):
            text = f"({type})unsigned_{'div' if kind in ('Div', 'FloorDiv') else 'mod'}({x}, {y})"
        else:
            text = f"({type}){operations.DIVIDE[kind]}({x}, {y})"
        q = None
        if a.q is not None or b.q is not None:
            q = self.let("double", self._int_variance(kind, a, b))
        return Value(self.let(type, text), a.dtype, q, None, loaded, combine_ranges(kind, a, b))

    def _int_variance(self, kind: str, a: Value, b: Value) -> str:
        if kind in ("Add", "Sub"):
            return f"{a.variance} + {b.variance}"
        if kind == "Mul":
            return product_variance(a, b)
        if kind in ("Max", "Min"):
            return f"{kind.lower()}_q({a.text}, {a.variance}, {b.text}, {b.variance})"
        return f"{a.variance} + {b.variance} != 0 ? INF : 0.0"

    def cast(self, a: Value, dtype: str) -> Value:
        if dtype == a.dtype:
            return a
        if a.is_float and dtype in FLOATS:
            narrower = FLOATS.index(dtype) < FLOATS.index(a.dtype) or "bfloat16" in (dtype, a.dtype)
            a = self._flush(a)
            if narrower:
                return self.rounded(self.let("double", a.text), dtype, a.variance, "1.0", a.loaded, a.as_native)
            return replace(a, dtype=dtype)
        if a.is_float:
            return self._to_int(a, dtype)
        if dtype in FLOATS:
            v = self.let("double", fixed(a.text))
            small = a.range is not None and max(map(abs, a.range)) <= 2 ** DIGITS[dtype]
            exact = small or a.dtype == "bool" or bits(a.dtype) <= DIGITS[dtype]
            return Value(v, dtype, a.q, loaded=a.loaded) if exact else self._from_int(v, a, dtype)
        if dtype == "bool":
            return self.compare("!=", a, Value("0", a.dtype))
        fits = a.range is not None and range_of_type(dtype).holds(a.range)
        text = self.let(c_type(dtype), f"({c_type(dtype)}){a.text}")
        return Value(text, dtype, a.q, None, a.loaded, a.range if fits else None)

    def _from_int(self, v: str, a: Value, dtype: str) -> Value:
        """Small integers are exact; a larger one is rounded."""
        wide = f"rounded({v}, {a.variance}, 1.0, {unit(dtype)})"
        q = self.let("double", f"fabs({v}) <= {2.0 ** DIGITS[dtype]} ? {a.variance} : {wide}")
        return Value(v, dtype, q, self.let("double", round_native(v, dtype)) if self.native else None, a.loaded)

    def _to_int(self, a: Value, dtype: str) -> Value:
        if dtype == "bool":
            return self.compare("!=", a, Value("0.0", a.dtype))
        limits = np.iinfo(dtype)
        low, high = literal(float(limits.min)), literal(float(limits.max))
        text = f"whole_unsigned({a.text}, {high})" if limits.min == 0 else f"whole({a.text}, {low}, {high})"
        q = self.let("double", f"whole_q({a.text}, {a.variance}, {low}, {high})")
        self.open_to_nan |= a.q is None and a.loaded
        return Value(self.let(c_type(dtype), f"({c_type(dtype)}){text}"), dtype, q if a.q else None, loaded=a.loaded)

    # --- calls --------------------------------------------------------------------------------------------

    def visit_Call(self, node: Any) -> Value:
        name = called_name(node)
        if name == "if_then_else":
            return self.choose(*node.args)
        if name == "likely":
            return self.value(node.args[0])
        if name in operations.BITS:
            return self.int_operation(operations.BITS[name], self.value(node.args[0]), self.value(node.args[1]))
        if name == "bitwise_not":
            return self._complement(self.value(node.args[0]))
        if name == "reinterpret":
            return self._reinterpret(self.value(node.args[0]), read.dtype_of(node))
        if name == "fmod":
            return self.float_operation("Mod", *map(self.value, node.args))
        if name == "pow":
            return self._power(*map(self.value, node.args))
        if name in ("fabs", "abs"):
            a = self.value(node.args[0])
            text = f"fabs({a.text})" if a.is_float else f"{a.text} < 0 ? -{a.text} : {a.text}"
            native = f"fabs({a.native})" if a.native else None
            return Value(self.let(c_type(a.dtype), text), a.dtype, a.q, native, a.loaded)
        if name in ("isnan", "isinf", "isfinite"):
            return self._classify(name, self.value(node.args[0]))
        if name in functions.STEPS:
            step, edge = functions.STEPS[name]
            if self.choices is not None:
                return self.choices.step(step, node.args[0], self.depth, self.value)
            a = self._flush(self.value(node.args[0]))
            q = None if a.q is None else self.let("double", f"step_q({a.text}, {a.q}, {edge})")
            native = f"{step}({a.native})" if a.native else None
            return Value(self.let("double", f"{step}({a.text})"), a.dtype, q, native, a.loaded)
        if name in functions.FUNCTIONS:
            return self._function(functions.FUNCTIONS[name], self.value(node.args[0]))
        raise Unmodelled(f"calls of {name or read.kind(node.op)}")

    def _function(self, known: functions.Function, a: Value) -> Value:
        a = self._flush(a)
        x = self.let("double", f"at_edge({a.text}, {a.q})" if known.edge and a.q else a.text)
        v = self.let("double", functions.substitute(known.value, x))
        slope = functions.substitute(known.slope, x, v)
        q = "0.0" if a.q is None else f"edge_q({x}, {a.q}, {slope})" if known.edge else f"slope_q({slope}, {a.q})"
        if known.vanishes and a.q is not None:
            q = f"{x} < -({unit(a.dtype)})->half_largest ? 0 : {q}"
        native = functions.substitute(known.value, f"({a.as_native})")
        scale = functions.scale_of(known.ulps, known.half_ulps, unit(a.dtype))
        return self.rounded(v, a.dtype, q, scale, a.loaded, native)

    def _power(self, a: Value, b: Value) -> Value:
        a, b = self._flush(a), self._flush(b)
        v = self.let("double", f"pow({a.text}, {b.text})")
        q = f"pow_q({a.text}, {a.variance}, {b.text}, {b.variance}, {v})"
        q = "0.0" if a.q is None and b.q is None else q
        native = f"pow({a.as_native}, {b.as_native})"
        scale = functions.scale_of(*functions.POWER_ULPS, unit(a.dtype))
        return self.rounded(v, a.dtype, q, scale, a.loaded or b.loaded, native)

    def _classify(self, name: str, a: Value) -> Value:
        test = {"isnan": "{0} != {0}", "isinf": "fabs({0}) == INF", "isfinite": "fabs({0}) < INF"}[name]
        q = None if a.q is None else self.let("double", f"!({a.q} < INF) ? 1.0 : 0.0")
        return Value(self.let("bool_t", test.format(a.text)), "bool", q, loaded=a.loaded)

    def _reinterpret(self, a: Value, dtype: str) -> Value:
        if a.is_float or dtype in FLOATS or bits(a.dtype) != bits(dtype):
            raise Unmodelled(f"the bits of {a.dtype} taken for {dtype}")
        return Value(self.let(c_type(dtype), f"({c_type(dtype)}){a.text}"), dtype, a.q, loaded=a.loaded)

    # --- places -------------------------------------------------------------------------------------------

    def place(self, buffer: Any, indices: Sequence[Any]) -> tuple[Tensor, Value]:
        """A tensor and the position of an element, after a check that it is inside. q: not None if rounding moves it."""
        tensor = self.tensors.get(read.buffer_key(buffer))
        if tensor is None:
            raise Unmodelled(f"the buffer {read.buffer_info(buffer).name}, which is neither a parameter nor allocated")
        found = [self.value(index) for index in indices]
        if len(found) != len(tensor.dims):
            raise Unmodelled(f"{len(found)} indices of a tensor of {len(tensor.dims)} dimensions")
        places = []
        for number, (index, dim) in enumerate(zip(found, tensor.dims, strict=True)):
            extent, text = tensor.extents[number], index.text
            if index.range is None or extent is None or index.range.low < 0 or index.range.high >= extent:
                bad = tensor.number if index.loaded else -tensor.number - 1
                if self.taken:  # nobody reads there where the choice is the other one
                    text = self.let("int64_t", f"!({self.taken}) && (uint64_t)(int64_t){text} >= (uint64_t){dim} ? 0 : {text}")
                self.line(f"if (UNLIKELY((uint64_t)(int64_t){text} >= (uint64_t){dim})) {{ bad = {bad}; goto end; }}")
            places.append(text)
        at = self.let("int64_t", tensor.position(places))
        moved = " + ".join(index.q for index in found if index.q is not None)
        return tensor, Value(at, "int64", f"({moved})" if moved else None, loaded=any(index.loaded for index in found))
