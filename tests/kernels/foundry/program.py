"""A kernel with its parameters, and its text in OpenCL C, with the line of each statement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from . import tree
from .layout import Array, Element, Image, Struct

IDS = {
    1: ("get_global_id(0)", "get_local_id(0)", "get_group_id(0)"),
    2: (
        "get_global_id(1) * get_global_size(0) + get_global_id(0)",
        "get_local_id(1) * get_local_size(0) + get_local_id(0)",
        "get_group_id(1) * get_num_groups(0) + get_group_id(0)",
    ),
    3: ("get_global_linear_id()", "get_local_linear_id()",
        "(get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0)"),
}  # fmt: skip
"""`i`, `l` and `g` of a launch by its dimensions: linear ids."""


@dataclass(frozen=True)
class Scalar:
    """An int parameter."""

    name: str


Parameter = Array | Image | Scalar


@dataclass(frozen=True)
class Program:
    """tables: constants of the program with their values. samplers: name and addressing. dimensions: of the launch."""

    parameters: tuple[Parameter, ...]
    body: tuple[tree.Stmt, ...]
    tables: tuple[tuple[Array, tuple[int, ...]], ...] = ()
    samplers: tuple[tuple[str, str], ...] = ()
    dimensions: int = 1

    @property
    def text(self) -> str:
        return self._printed[0]

    @property
    def lines(self) -> dict[int, int]:
        """The line of each statement, by its `id`."""
        return self._printed[1]

    @cached_property
    def _printed(self) -> tuple[str, dict[int, int]]:
        printer = Printer()
        printer.print_program(self)
        return "\n".join(printer.lines) + "\n", printer.line_of


EXTENSIONS = {"half": "cl_khr_fp16", "double": "cl_khr_fp64"}
"""What a program enables to use a type."""


class Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.line_of: dict[int, int] = {}

    def print_program(self, program: Program) -> None:
        nodes = list(tree.walk(program.body))
        arrays = [n.array for n in nodes if isinstance(n, (tree.Place, tree.DeclareArray))]
        arrays += [p for p in program.parameters if isinstance(p, Array)] + [array for array, _ in program.tables]
        elements = [
            e for a in arrays for e in ([a.element] if isinstance(a.element, Element) else [f[1] for f in a.element.fields])
        ]
        used = {element.scalar for element in elements}
        self.lines += [f"#pragma OPENCL EXTENSION {name} : enable" for scalar, name in EXTENSIONS.items() if scalar in used]
        for struct in dict.fromkeys(a.element for a in arrays if isinstance(a.element, Struct)):
            self.lines.append(struct.text())
        self.lines += [f"int total{n}(int{n} v) {{ return {_total(n)}; }}" for n in sorted(_widths(nodes))]
        for name, addressing in program.samplers:
            flags = f"CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_{addressing} | CLK_FILTER_NEAREST"
            self.lines.append(f"constant sampler_t {name} = {flags};")
        for array, values in program.tables:
            self.lines.append(f"constant {_declared(array)} = {_initialiser(array, values)};")
        parameters = ", ".join(_parameter(p) for p in program.parameters)
        self.lines.append(f"kernel void k({parameters}) {{")
        for name, text in zip("ilg", IDS[program.dimensions], strict=True):
            self.lines.append(f"  int {name} = {text};")
        self.lines.append("  int s = 0;")
        self._print_block(program.body, "  ")
        self.lines.append("}")

    def _print_block(self, body: tuple[tree.Stmt, ...], indent: str) -> None:
        for statement in body:
            self._print_statement(statement, indent)

    def _print_statement(self, statement: tree.Stmt, indent: str) -> None:
        if isinstance(statement, tree.Slot):
            self._print_block(statement.body, indent)
            return
        if isinstance(statement, tree.For) and statement.hint:
            self.lines.append(indent + statement.hint)
        if isinstance(statement, tree.For) and statement.way == "while":
            self.lines.append(f"{indent}int {statement.name} = {text(statement.low)};")
        self.line_of[id(statement)] = len(self.lines) + 1
        if isinstance(statement, tree.For):
            self.lines.append(indent + _for_header(statement))
            self._print_block(statement.body, indent + "  ")
            if statement.way == "while":
                self.lines.append(f"{indent}  {_advance(statement)};")
            self.lines.append(indent + "}")
        elif isinstance(statement, tree.If):
            self.lines.append(f"{indent}if ({text(statement.condition)}) {{")
            self._print_block(statement.body, indent + "  ")
            if statement.otherwise:
                self.lines.append(indent + "} else {")
                self._print_block(statement.otherwise, indent + "  ")
            self.lines.append(indent + "}")
        else:
            self.lines.append(indent + _simple(statement))


def _for_header(loop: tree.For) -> str:
    condition = f"{loop.name} {loop.op} {text(loop.high)}"
    if loop.way == "while":
        return f"while ({condition}) {{"
    return f"for (int {loop.name} = {text(loop.low)}; {condition}; {_advance(loop)}) {{"


def _advance(loop: tree.For) -> str:
    if loop.step in (1, -1):
        return f"{'++' if loop.step == 1 else '--'}{loop.name}"
    return f"{loop.name} /= 2" if loop.step == "/2" else f"{loop.name} += {loop.step}"


def _simple(statement: tree.Stmt) -> str:
    if isinstance(statement, tree.Declare):
        return f"int {statement.name} = {text(statement.value)};"
    if isinstance(statement, tree.Assign):
        return f"{statement.name} {statement.op} {text(statement.value)};"
    if isinstance(statement, tree.DeclareArray):
        qualifier = "local " if statement.array.space == "local" else ""
        start = f" = {_initialiser(statement.array, statement.values)}" if statement.values else ""
        return f"{qualifier}{_declared(statement.array)}{start};"
    if isinstance(statement, tree.Store):
        return _store(statement)
    if isinstance(statement, tree.WriteTexel):
        kind = {"i": "int4", "ui": "uint4", "f": "float4"}[statement.image.suffix]
        value = _lanes_from(text(statement.value), 4, kind[:-1])
        return f"write_image{statement.image.suffix}({statement.image.name}, {_coordinate(statement)}, {value});"
    if isinstance(statement, tree.Barrier):
        flags = " | ".join(f"CLK_{fence.upper()}_MEM_FENCE" for fence in statement.fences)
        return f"{statement.function}({flags});"
    assert isinstance(statement, tree.Return)
    return "return;"


def _store(statement: tree.Store) -> str:
    place, value = statement.place, text(statement.value)
    element = element_of(place)
    lanes = place.many or element.lanes
    if lanes == 1:
        return f"{place_text(place)} = {value if statement.whole else f'({element.scalar})({value} & 63)'};"
    value = _lanes_from(value, lanes, element.scalar)
    if place.many:
        return f"vstore{lanes}({value}, {text(place.indices[0])}, {_pointer(place)});"
    return f"{place_text(place)} = {value};"


def _lanes_from(value: str, lanes: int, scalar: str) -> str:
    steps = ", ".join(map(str, range(lanes)))
    made = f"(((int{lanes})({value}) + (int{lanes})({steps})) & 63)"
    return made if scalar == "int" else f"convert_{scalar}{lanes}{made}"


def text(e: tree.Expr) -> str:
    """An expression in OpenCL C, in brackets where it has parts."""
    if isinstance(e, tree.Num):
        return str(e.value) if e.value >= 0 else f"({e.value})"
    if isinstance(e, tree.Name):
        return e.name
    if isinstance(e, tree.Hole):
        return text(e.inner)
    if isinstance(e, tree.Binary):
        return f"({text(e.left)} {e.op} {text(e.right)})"
    if isinstance(e, tree.Choose):
        return f"({text(e.condition)} ? {text(e.yes)} : {text(e.no)})"
    if isinstance(e, tree.ReadTexel):
        sampler = f"{e.sampler}, " if e.sampler else ""
        read = f"read_image{e.image.suffix}({e.image.name}, {sampler}{_coordinate(e)})"
        if e.image.channels == 1:
            return f"(int){read}.x"
        lanes = e.image.channels
        return f"total{lanes}(convert_int{lanes}({read}.{'xyzw'[:lanes]}))"
    assert isinstance(e, tree.Load)
    place, element = e.place, element_of(e.place)
    lanes = place.many or element.lanes
    loaded = f"vload{lanes}({text(place.indices[0])}, {_pointer(place)})" if place.many else place_text(place)
    if lanes == 1:
        return f"(int){loaded}"
    return f"total{lanes}(convert_int{lanes}({loaded}))"


def element_of(place: tree.Place) -> Element:
    """What lies at a place."""
    element = place.array.element
    return element.element_of(place.field)[0] if isinstance(element, Struct) else element


def place_text(place: tree.Place) -> str:
    base = place.array.name if place.shift is None else f"({place.array.name} + {text(place.shift)})"
    indices = "".join(f"[{text(index)}]" for index in place.indices)
    field = f".{place.field}" if place.field else ""
    return f"{base}{indices}{field}{'' if place.inner is None else f'[{text(place.inner)}]'}"


def _pointer(place: tree.Place) -> str:
    return place.array.name if place.shift is None else f"{place.array.name} + {text(place.shift)}"


def _coordinate(node: tree.ReadTexel | tree.WriteTexel) -> str:
    parts = [text(c) for c in node.coordinates]
    if len(parts) == 1:
        return parts[0]
    return f"(int{4 if len(parts) == 3 else 2})({', '.join(parts)}{', 0' if len(parts) == 3 else ''})"


def _widths(nodes: list[object]) -> Iterator[int]:
    """Vector widths whose lanes are added up."""
    found = {n.place.many or element_of(n.place).lanes for n in nodes if isinstance(n, tree.Load)}
    found |= {n.image.channels for n in nodes if isinstance(n, tree.ReadTexel)}
    return iter(found - {1})


def _total(lanes: int) -> str:
    return " + ".join(f"v.s{lane:x}" for lane in range(lanes))


def _declared(array: Array) -> str:
    return f"{array.type_text} {array.name}{''.join(f'[{extent}]' for extent in array.dims)}"


def _initialiser(array: Array, values: tuple[int, ...]) -> str:
    return "{" + ", ".join(_element_text(array, value) for value in values) + "}"


def _element_text(array: Array, value: int) -> str:
    element = array.element
    assert isinstance(element, Element)
    if element.lanes == 1:
        return str(value)
    return f"({element.text()})({', '.join(str((value + lane) & 63) for lane in range(element.lanes))})"


def _parameter(parameter: Parameter) -> str:
    if isinstance(parameter, Scalar):
        return f"int {parameter.name}"
    if isinstance(parameter, Image):
        return f"{parameter.access} {parameter.kind}_t {parameter.name}"
    const = "const " if parameter.const else ""
    return f"{parameter.space} {const}{parameter.type_text} *{parameter.name}"
