"""Five hundred hostile programs for `adreno-sim kernel`: the same each time for one seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from .case import Case
from .edges import DECLARATIONS, STATEMENTS, around
from .mutate import damage_bytes, damage_tokens, words

CORPUS = Path(__file__).resolve().parents[2] / "kernels" / "corpus"
PROGRAMS = 500

HEAD = "global_size = [4]\n"
BUFFER = '[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = 4\ndata = "arange"\n'
SCALAR = '[[argument]]\nkind = "scalar"\nvalue = 3\n'
LAUNCH = HEAD + BUFFER + SCALAR
GOOD = around("a[i & 3] = n;")
NEWER = 'options = "-cl-std=CL2.0"\n'

DEEP = {
    "brackets": lambda n: around("a[0] = " + "(" * n + "1" + ")" * n + ";"),
    "blocks": lambda n: around("{" * n + "}" * n),
    "loops": lambda n: around("".join(f"for (int i{k} = 0; i{k} < 1; i{k}++) " for k in range(n)) + "a[0] = n;"),
    "branches": lambda n: around("if (n) " * n + "a[0] = n;"),
    "else": lambda n: around("if (n == 0) ; " + "".join(f"else if (n == {k}) a[0] = {k};" for k in range(n))),
    "sums": lambda n: around("a[i] = n" + " + a[i]" * n + ";"),
    "conditions": lambda n: around("a[i] = " + "n ? 1 : " * n + "2;"),
    "signs": lambda n: around("a[i] = " + "- " * n + "n;"),
    "pointers": lambda n: f"kernel void k(global float {'*' * n}a) {{ }}",
    "macros": lambda n: (
        "".join(f"#define M{k} M{k + 1} M{k + 1}\n" for k in range(n)) + f"#define M{n} 1+\n" + around("a[0] = M0 1;")
    ),
    "calls": lambda n: (
        "float f0(float x) { return x; }\n"
        + "".join(f"float f{k}(float x) {{ return f{k - 1}(x + 1) * f{k - 1}(x); }}\n" for k in range(1, n))
        + around(f"a[i] = f{n - 1}(n);")
    ),
    "structs": lambda n: (
        "typedef struct { float x[2]; } S0;\n"
        + "".join(f"typedef struct {{ S{k - 1} x[2]; }} S{k};\n" for k in range(1, n))
        + around(f"S{n - 1} s; a[i] = sizeof(s);")
    ),
    "switch": lambda n: around("switch (n) {" + "".join(f"case {k * 7919}: a[i] = {k}; break;" for k in range(n)) + "}"),
    "parameters": lambda n: f"kernel void k({', '.join(f'int a{k}' for k in range(n))}) {{ }}",
    "arrays": lambda n: around(f"float t{'[2]' * n}; a[i] = sizeof(t);"),
    "includes": lambda n: '#include "k.cl"\n' * n + GOOD,
    "conditionals": lambda n: "#if 1\n" * n + GOOD + "#endif\n" * n,
    "a long line": lambda n: GOOD.rstrip() + " " * (n * 1000) + "x",
    "errors": lambda n: around("y = 1;" * n),
    "warnings": lambda n: around("1 == 1;" * n),
    "locals": lambda n: around("".join(f"local float l{k}[4]; l{k}[i & 3] = n; a[i] = l{k}[i & 3];" for k in range(n))),
}
DEPTHS = (1, 12, 40, 300, 3000)

ARRAYS = tuple(
    around(f"{space} {kind} t[{size}]; t[n] = n; a[i] = t[n & 1];")
    for space, kind, size in product(("", "local"), ("char", "float16"), ("1 << 16", "1 << 31", "0xffffffffffffffff", "1 << 20"))
) + ("constant float t[1 << 26] = {1}; " + around("a[i] = t[n];"), "constant char t[1L << 40]; " + around("a[i] = t[n];"))

ENDLESS = tuple(
    map(
        around,
        (
            "for (;;);",
            "while (1) a[i] = n;",
            "for (;;) barrier(CLK_LOCAL_MEM_FENCE);",
            "while (n) if (i) n = 1;",
            "l: goto l;",
            "for (;;) atomic_inc((global int *)a);",
            "while (!*(volatile global int *)a);",
            'for (;;) printf("%d\\n", n);',
            "for (int k = 0; k >= 0; k = k ? 0 : 1);",
            "if (i == 2) for (;;); barrier(CLK_LOCAL_MEM_FENCE); a[i] = 1;",
            "for (;;) { local int x; x = i; a[i] = x; }",
            'for (int k = 0; k < 1 << 20; k++) printf("storm %d %s\\n", k, "x");',
            'for (int k = 0; k < 5000; k++) printf("%5000d", k);',
            'printf("' + "x" * 60_000 + '");',
            'for (int k = 0; k < 100000; k++) printf("");',
            'for (int k = 0; k < 4000; k++) printf("\\n\\n\\n");',
            "for (long k = 0; k < 1L << 60; k++) a[k & 3] = k;",
            "for (int k = 0; k < 1000; k++) a[k] = a[-k];",
            "for (;;) a[n++] = 1;",
            "float x = n; do x = sin(x); while (x != 5); a[i] = x;",
        ),
    )
)

RECURSION = (
    "void f(); void g() { f(); } void f() { g(); } " + around("f();"),
    "float f(float x) { return x > 0 ? f(x - 1) : 0; } " + around("a[i] = f(n);"),
    "int f(int x) { return f(f(x)); } " + around("a[i] = f(n);"),
    "kernel void k(global float *a, int n) { if (n) k(a, n - 1); }",
    "#define f(x) f(f(x))\n" + around("a[i] = f(n);"),
)

OPTIONS = (
    "-cl-std=CL9.9",
    "-cl-std=",
    "-D",
    "-D 1",
    "-D=",
    '-DX=\\"',
    "-DX='",
    "-I",
    "-I /",
    "-I /dev",
    "-I ''",
    "-include /etc/passwd",
    "-o x",
    "-o x.bin",
    "-c",
    "-S",
    "-E",
    "-v",
    "-###",
    "--help",
    "-fplugin=x.so",
    "-load x.so",
    "-Xclang -load",
    "-mllvm -debug",
    "-MD",
    "-MF deps",
    "-save-temps",
    "-ftime-report",
    "-fsyntax-only",
    "-x c++",
    "-xcl",
    "@k.cl",
    "-",
    "--",
    "k.cl",
    "-w -Werror",
    "-Werror -Wall -Wextra",
    "-D" + "X" * 100_000,
    "-DX " * 3000,
    "-Dkernel=",
    "-Dfloat=int",
    "-Dint",
    "-U__OPENCL_VERSION__",
    "-D__OPENCL_C_VERSION__=1",
    "-O9",
    "-O0 -O3",
    "-g -s",
    "\\t",
    "\\n",
    "-D\\u0001=2",
    "-Dé=1",
    "-D X\\n#error=1",
    "-cl-std=CL1.0",
    "-cl-std=CL3.0 -cl-std=CL1.2",
    "-target x86_64",
    "--target=spir64",
    "-emit-llvm -o -",
    "-cl-kernel-arg-info -create-library",
    "-fsanitize=address",
    "-ferror-limit=0",
)

SIZES = (
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "nan",
    "inf",
    "1.5",
    '"4"',
    "[]",
    "true",
    "[4]",
    "1979-05-27",
    "1e3",
)
SIZED = (
    "global_size = [{}]",
    "global_size = {}",
    "global_size = [2, {}, 2]",
    "global_size = [4]\nlocal_size = [{}]",
    "global_size = [4]\nrun = {{timeout = {}}}",
    'global_size = [4]\nrun = {{threads = {}, checks = "full"}}',
    'global_size = [4]\nrun = {{seed = {}, checks = "full"}}',
    "global_size = [4]\nstorage = {{s = {{nbytes = {}}}}}",
)
ARGUMENTS = (
    '[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = {}\n',
    '[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = {}\ndata = "random"\n',
    '[[argument]]\nkind = "buffer"\ndtype = "float16"\ndata = [{}]\n',
    '[[argument]]\nkind = "local"\nnbytes = {}\n',
    '[[argument]]\nkind = "image2d"\nwidth = {}\nheight = 4\n',
    '[[argument]]\nkind = "buffer"\ndtype = "int8"\ncount = 4\ndata = {{fill = "arange", start = {}}}\n',
    "[[argument]]\nkind = {}\n",
)


def programs(seed: int) -> list[Case]:
    """The cases, each named by its kind and number."""
    dice = random.Random(f"programs {seed}")
    kinds = {
        "statement": _programs(map(around, STATEMENTS)),
        "declaration": _programs(DECLARATIONS),
        "deep": [_case(make(depth)) for make in DEEP.values() for depth in DEPTHS],
        "array": _programs(ARRAYS),
        "endless": _programs(ENDLESS),
        "recursion": _programs(RECURSION),
        "option": [_case(GOOD, f'options = "{_toml(option)}"\n' + LAUNCH) for option in OPTIONS],
        "size": [_case(GOOD, head.format(size) + "\n" + LAUNCH.partition("\n")[2]) for head, size in product(SIZED, SIZES)],
        "argument": [_case(GOOD, HEAD + text.format(size) + SCALAR) for text, size in product(ARGUMENTS, SIZES)],
    }
    chosen = {
        "statement": 90,
        "declaration": 55,
        "deep": 60,
        "array": 12,
        "endless": 14,
        "recursion": 5,
        "option": 40,
        "size": 24,
        "argument": 20,
    }
    cases = [
        Case(f"{kind} {number}", case.args, case.files)
        for kind, many in kinds.items()
        for number, case in sorted(dice.sample(list(enumerate(many)), chosen[kind]), key=lambda pair: pair[0])
    ]
    return cases + list(_mutated(dice, PROGRAMS - len(cases)))


def _programs(texts: Iterable[str]) -> list[Case]:
    """One case each, with arguments for the usual kernel, for one of a buffer, or for one of nothing; some in OpenCL C 2.0."""
    cases = []
    for number, text in enumerate(texts):
        launch = HEAD + BUFFER * ("(global float *a" in text) + SCALAR * ("int n)" in text)
        cases.append(_case(text, NEWER * (number % 3 == 2) + launch, number))
    return cases


def _case(source: str | bytes, launch: str | bytes = LAUNCH, number: int = 0) -> Case:
    """One program; every other one is checked at level full, and some show all that is known of the launch."""
    more = (("--checks", "full") if number % 2 else ()) + (("--explain", "--dump", "proofs") if number % 5 == 1 else ())
    files = {"k.cl": _bytes(source), "launch.toml": _bytes(launch)}
    return Case("", ("kernel", "k.cl", "--launch", "launch.toml", *more), files)


def _mutated(dice: random.Random, count: int) -> Iterator[Case]:
    """Kernels of the corpus cut short at a random byte, and with tokens or bytes damaged."""
    sources = sorted(CORPUS.glob("*/*.cl"))
    vocabulary = words(b"\n".join(path.read_bytes() for path in sources))
    for number in range(count):
        path = dice.choice(sources)
        data = path.read_bytes()
        kind = ("tokens", "tokens", "cut", "bytes")[number % 4]
        if kind == "tokens":
            data = damage_tokens(data, vocabulary, dice)
        elif kind == "cut":
            data = data[: dice.randrange(len(data))]
        else:
            data = damage_bytes(data, dice)
        case = _case(data, path.with_suffix(".toml").read_bytes(), number)
        yield Case(f"{kind} {number} of {path.parent.name}/{path.stem}", case.args, case.files)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _toml(option: str) -> str:
    return option.replace('\\"', "\\u0022")
