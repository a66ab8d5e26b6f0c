"""Reads the text of an LLVM module: globals, function headers, and through `instructions` the bodies."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ...base.errors import UnsupportedError
from ...ir import ir
from ...ir.ir import Const, Function, Global, Instr, Param, Pointer
from .constants import TextReader
from .instructions import FunctionReader
from .metadata import Metadata
from .operands import ARGUMENT_WORDS
from .undefined_symbols import WRAPPER_PREFIX, find_undefined
from .words import SYMBOL, expect, find, match_lines, name_at, refusal, unquote

_STRUCT = re.compile(r'^(%(?:"[^"]*"|[-\w.$]+)) = type (.*)$', re.MULTILINE)
_GLOBAL = re.compile(rf"^({SYMBOL}) = (.*)$", re.MULTILINE)
_OTHER = re.compile(r"^(?!;|source_filename = |target |%|@|define |declare |attributes |[!} \n]|$).*$", re.MULTILINE)
"""Lines ahead of the functions that say what is not read here, as assembly of the module."""
_GLOBAL_BODY = re.compile(
    r"(?P<linkage>(?:(?:private|internal|external|available_externally|linkonce|linkonce_odr|weak|weak_odr|common|extern_weak"
    r"|dso_local|dso_preemptable|hidden|protected|default|unnamed_addr|local_unnamed_addr) )*)"
    r"(?:addrspace\((?P<space>\d+)\) )?(?:externally_initialized )?(?P<kind>global|constant) "
)
_GLOBAL_END = re.compile(r'(?:, section "[^"]*")?(?:, align (\d+))?(?:, !\w+(?:\.\w+)* !\d+)*(?: #\d+)?')
_METADATA_SECTION = re.compile(r'.*, section "llvm\.metadata"(?:, align \d+)?')
_DEFINE = re.compile(rf"define [^@]*?({SYMBOL})\(")
_ATTACHED = re.compile(r"!(\w+) !(\d+)")
_ANNOTATIONS = re.compile(r"^@llvm\.global\.annotations = (.*)$", re.MULTILINE)
_ANNOTATION = re.compile(rf"ptr ({SYMBOL})(?: to ptr addrspace\(1\)\))?, ptr(?: addrspace\(\d+\))? ({SYMBOL}), ")
_SUB_GROUP_SIZE = re.compile(r'^(@[-\w.$]+) = .* c"qcom_reqd_sub_group_size=(\w+)\\00"', re.MULTILINE)
_PARAMETER_NOTE = re.compile(r'^(@[-\w.$]+) = .* c"(sub_group_uniform|max_constant_size)\\00"', re.MULTILINE)
_NOTE_VALUE = re.compile(r'^(@[-\w.$]+) = .* \{ i\d+ \} \{ i\d+ (\d+) \}, section "llvm\.metadata"', re.MULTILINE)
_MARK = re.compile(
    r'@llvm\.var\.annotation[.\w]*\(ptr(?: addrspace\(\d+\))? (%(?:"[^"]*"|[-\w.$]+)), ptr(?: addrspace\(\d+\))? (@[-\w.$]+),'
    r"[^,\n]*, i32 \d+, ptr(?: addrspace\(\d+\))? (null|@[-\w.$]+)\)"
)
_TYPE_START = re.compile(r"void|i\d+|half|float|double|ptr\b|[<\[{%]|target\(")
_BYVAL = re.compile(r"\bbyval\(")
_SRET = re.compile(r"\bsret\(")


class ModuleReader:
    """The functions and variables of one printed module, each function read when asked for.

    What is read is clang's form: variables in memory, helper calls as `helper` instructions. Reading raises
    UnsupportedError, with line and column, for what kernel IR has no form for. `undefined` says what it uses and nobody
    defines, and where.
    """

    def __init__(self, text: str):
        start = 0 if text.startswith("define ") else text.find("\ndefine ")
        head = text[:start] if start >= 0 else text
        if other := _OTHER.search(head):
            raise refusal(other[0], 0, "variables, types and functions")
        self._types = TextReader(dict(_STRUCT.findall(head)))
        try:
            _read_globals(self._types, head)
        except RecursionError:
            raise UnsupportedError("unsupported: types or expressions nested too deeply (in data of program scope)") from None
        metadata = Metadata(text)
        self.undefined = find_undefined(text, metadata)
        headers = [_Header(match, text, metadata) for match in match_lines(_DEFINE, text, "define ")]
        self._headers = {header.name: header for header in headers}
        self._sub_group_sizes = _read_sub_group_sizes(head)
        self._parameter_notes = dict(_PARAMETER_NOTE.findall(head))
        self._note_values = dict(_NOTE_VALUE.findall(head)) if self._parameter_notes else {}
        self._defined: Collection[str] = self._headers.keys()

    @property
    def functions(self) -> list[str]:
        """Names of all functions that it defines."""
        return list(self._headers)

    @property
    def variables(self) -> dict[str, Global]:
        """Program-scope variables by symbol, as the text names them."""
        return dict(self._types.globals)

    def resolve(self, functions: Collection[str], variables: Mapping[str, Global]) -> None:
        """Name what other modules define: functions that calls reach, and variables that this one only declares."""
        self._defined = functions
        for symbol, variable in variables.items():
            self._types.globals.setdefault(symbol, variable)

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, in the order of the source."""
        return [name for name, header in self._headers.items() if header.is_kernel]

    @property
    def helpers(self) -> list[str]:
        """Names of the other functions of the source."""
        return [name for name, header in self._headers.items() if not header.is_kernel and not name.startswith(WRAPPER_PREFIX)]

    @property
    def globals(self) -> dict[str, Global]:
        """Program-scope variables by name."""
        return {variable.name: variable for variable in self._types.globals.values()}

    def read(self, name: str) -> Function:
        """A fresh Function. A kernel that calls its own body is given that body."""
        header = self._headers[name]
        body = self._headers.get(WRAPPER_PREFIX + name, header) if header.is_kernel else header
        function = _read_function(header, body, self._types, self._defined)
        function.required_sub_group_size = self._sub_group_sizes.get(name, "")
        if self._parameter_notes:
            marks = [(_variable(name), self._qualifier(note, value)) for name, note, value in _MARK.findall(body.body)]
            for param in function.params:
                param.qualifiers += tuple(word for name, word in marks if word and name == param.name)
        return function

    def _qualifier(self, note: str, value: str) -> str:
        """What an annotation of the vendor header says of a parameter, "" where it is another one."""
        number = self._note_values.get(value)
        return self._parameter_notes.get(note, "") + (f"({number})" if number else "")


def _variable(name: str) -> str:
    """The parameter that clang keeps in the variable `name`."""
    return unquote(name[1:]).removesuffix(".addr")


def _read_sub_group_sizes(text: str) -> dict[str, str]:
    """What the attribute qcom_reqd_sub_group_size asks for, by function: the vendor header makes it an annotation."""
    listed = _ANNOTATIONS.search(text)
    if not listed:
        return {}
    sizes = dict(_SUB_GROUP_SIZE.findall(text))
    return {unquote(function[1:]): sizes[note] for function, note in _ANNOTATION.findall(listed[1]) if note in sizes}


def _read_globals(types: TextReader, text: str) -> None:
    """Declare every variable first: initializers may refer to later ones."""
    initial: list[tuple[Global, str, int]] = []
    for name, body in _GLOBAL.findall(text):
        if _METADATA_SECTION.fullmatch(body):
            continue
        match = _GLOBAL_BODY.match(body)
        if not match:
            raise UnsupportedError(f"unsupported: program-scope symbol {name[1:]} = {body[:40]}")
        try:
            type, at = types.type_at(body, match.end())
        except UnsupportedError as error:
            raise UnsupportedError(f"{error}, in the type of {unquote(name[1:])}") from None
        variable = Global(unquote(name[1:]), type, int(match["space"] or 0), None, 0)
        types.globals[name] = variable
        if variable.space == ir.GLOBAL and match["kind"] == "global":
            types.changeable.add(name)
        if "external" in match["linkage"].split():
            variable.align = _read_end(variable, body, at)
        else:
            initial.append((variable, body, at))
    for variable, body, at in initial:
        value, at = _initial_value(types, variable, body, at)
        variable.align = _read_end(variable, body, at)
        if variable.space != ir.LOCAL:  # a __local array has no initial value
            variable.initializer = value if isinstance(value, Const) else Const(variable.type, ir.GlobalOffset(value, 0))  # type: ignore[arg-type]
    for name in [name for name, variable in types.globals.items() if variable.initializer is None and variable.space != ir.LOCAL]:
        del types.globals[name]


def _read_end(variable: Global, body: str, at: int) -> int:
    """The alignment behind the initial value, 0 where none is written."""
    found = _GLOBAL_END.fullmatch(body, at)
    if found is None:
        raise UnsupportedError(f"{refusal(body, at, 'the end of the variable')}, in {variable.name}")
    return int(found[1] or 0)


def _initial_value(types: TextReader, variable: Global, body: str, at: int) -> tuple[ir.Value, int]:
    try:
        return types.constant_at(body, expect(body, at, " "), variable.type)
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}, in the initial value of {variable.name}") from None


class _Header:
    """The first line of a definition: name, parameter texts, attached metadata, and the body below it."""

    def __init__(self, match: re.Match[str], text: str, metadata: Metadata):
        end_of_line = find(text, match.start(), "\n")
        line = text[match.start() : end_of_line]
        self.name = unquote(match[1][1:])
        self.is_kernel = " spir_kernel " in line[: match.end(1) - match.start()]
        self.result_text = line[len("define ") : match.start(1) - match.start()]
        closing = _find_closing(line, match.end() - match.start())
        self.params = _split(line[match.end() - match.start() : closing])
        self.attached = dict(_ATTACHED.findall(line[closing:]))
        self.body = text[end_of_line + 1 : find(text, end_of_line, "\n}")]
        self.metadata = metadata

    def argument_info(self, kind: str) -> list[str]:
        """`kernel_arg_<kind>` of every argument, [] where clang attached none."""
        number = self.attached.get(f"kernel_arg_{kind}")
        return self.metadata.items(number) if number else []


def _find_closing(line: str, start: int) -> int:
    """Position of the parenthesis that closes the one before `start`."""
    depth = 1
    for match in re.compile(r'"[^"]*"|[()]').finditer(line, start):
        if match[0][0] == '"':
            continue
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return match.start()
    raise UnsupportedError(f"unsupported: function header {line[:60]!r}")


def _split(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for match in re.finditer(r'"[^"]*"|[(<\[{]|[)>\]}]|, ', text):
        if match[0] == ", ":
            if not depth:
                parts.append(text[start : match.start()])
                start = match.end()
        elif match[0][0] != '"':
            depth += 1 if match[0] in "(<[{" else -1
    return [*parts, text[start:]] if text else []


def _read_function(header: _Header, body: _Header, types: TextReader, defined: Collection[str]) -> Function:
    """The function that `header` describes, with the parameters' local names and the instructions of `body`."""
    reader = FunctionReader(types, header.metadata, defined, header.name)
    reader.loc = reader.start = loc = header.metadata.subprogram_loc(header.attached.get("dbg", ""))
    try:
        params = _read_params(header, body.params, types, reader)
        result = _result_type(header, types)
    except UnsupportedError as error:
        raise reader.with_loc(error) from None
    blocks = reader.read_body(body.body)
    required = header.attached.get("reqd_work_group_size")
    sizes = tuple(int(word) & 0xFFFFFFFF for word in header.metadata.items(required)) if required else ()
    return Function(
        header.name, params, result, blocks, header.is_kernel, (sizes[0], sizes[1], sizes[2]) if len(sizes) == 3 else None, loc
    )  # fmt: skip


def _result_type(header: _Header, types: TextReader) -> ir.Type:
    words = header.result_text.rstrip()
    for at in range(len(words)):
        if (at == 0 or words[at - 1] == " ") and _TYPE_START.match(words, at):
            return types.type_at(words, at)[0]
    raise UnsupportedError(f"unsupported: result type of {header.name}")


def _read_params(header: _Header, texts: list[str], types: TextReader, reader: FunctionReader) -> list[Param]:
    names, spelled = header.argument_info("name"), header.argument_info("type")
    access, qualifiers = header.argument_info("access_qual"), header.argument_info("type_qual")
    params: list[Param] = []
    for index, text in enumerate(texts):
        if text == "...":
            raise UnsupportedError(f"unsupported: variable arguments of {header.name}")
        type, at = types.type_at(text, 0)
        words = ARGUMENT_WORDS.match(text, at)
        local_name, end = name_at(text, words.end() if words else at)
        if end != len(text):
            raise refusal(text, end, f"the end of parameter {unquote(local_name[1:])}")
        by_value = _BYVAL.search(text, at)
        if by_value:
            type, _ = types.type_at(text, by_value.end())
        param = Param(
            _get(names, index) or unquote(local_name[1:]), type, index, _get(spelled, index), _access(type, _get(access, index)),
            tuple(_get(qualifiers, index).split()),
        )  # fmt: skip
        params.append(param)
        if by_result := _SRET.search(text, at):
            reader.result = (param, types.type_at(text, by_result.end())[0])
        reader.values[local_name] = _make_byval_alloca(param, reader) if by_value else param
    return params


def _get(items: list[str], index: int) -> str:
    return items[index] if index < len(items) else ""


def _access(type: ir.Type, attached: str) -> str:
    return type.access if isinstance(type, ir.Image) else attached or "none"


def _make_byval_alloca(param: Param, reader: FunctionReader) -> Instr:
    """Memory that holds a struct passed by value: callers see a pointer to it."""
    memory = Instr("alloca", Pointer(ir.PRIVATE), elem=param.type, align=0, name=param.name)
    reader.prologue += [memory, Instr("store", ir.Void(), [param, memory])]
    return memory
