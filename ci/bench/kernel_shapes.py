"""Kernels generated in many shapes and any size: what a compiler meets when code was written by a program.

Each is `kernel void k(global int *a, global float *f, int n)`, with about as many lines as asked for. All are defined for work-
items 0 to 63 and buffers of 64 elements, whatever `n` is.
"""

from __future__ import annotations

from collections.abc import Callable

Shape = Callable[[int], str]

WORK_ITEMS = 64


def _kernel(lines: list[str], before: str = "") -> str:
    head = "kernel void k(global int *a, global float *f, int n) {\nint i = get_global_id(0), x = a[i]; float y = f[i];\n"
    return before + head + "\n".join(lines) + "\na[i] = x; f[i] = y;\n}\n"


def _parts(count: int, most: int) -> list[range]:
    """`count` things in parts of `most`, and what is left of them."""
    return [range(min(most, count - start)) for start in range(0, count, most)]


def _chain(n: int) -> str:
    return _kernel(["x = x * 3 + (int)sin((float)x);"] * n)


def _reuse(n: int) -> str:
    """Each value is used by many later ones."""
    lines = [f"int v{j} = v{max(j - 1, 0)} * 3 + v{j // 2} - v{max(j - 7, 0)};" for j in range(1, n)]
    return _kernel(["int v0 = x;", *lines, f"x = v{n - 1};"])


def _doubling(n: int) -> str:
    """Written out as a tree, the value has 2 ** n leaves."""
    return _kernel(["x = x + x;"] * n)


def _ifs(n: int) -> str:
    return _kernel([f"if (a[i] > {j}) x += {j}; else y += 1.0f;" for j in range(n)])


def _guards(n: int) -> str:
    return _kernel([f"if (x + {j} < n) a[(i + {j}) & 63] = x;" for j in range(n)])


def _nested_ifs(n: int) -> str:
    lines = []
    for part in _parts(n // 2, 200):  # clang's own limit of brackets is 256
        lines += [*(f"if (n > {j}) {{ x += {j};" for j in part), *("}" for _ in part)]
    return _kernel(lines)


def _else_ifs(n: int) -> str:
    return _kernel([f"{'else ' * (j > 0)}if (x == {j}) x += {j};" for part in _parts(n, 200) for j in part])


def _nested_loops(n: int) -> str:
    lines = []
    for part in _parts(n // 2, 200):
        lines += [*(f"for (int l{j} = 0; l{j} < 1; ++l{j}) {{ x += l{j};" for j in part), *("}" for _ in part)]
    return _kernel(lines)


def _nested_while(n: int) -> str:
    lines = []
    for part in _parts(n // 2, 200):
        lines += [*(f"{{ int l{j} = n & 1; while (l{j} > 0) {{ --l{j}; x += {j};" for j in part), *("}}" for _ in part)]
    return _kernel(lines)


def _loops(n: int) -> str:
    return _kernel([f"for (int j = 0; j < {j % 7 + 2}; ++j) x += a[(i + j) & 63];" for j in range(n)])


def _open_loops(n: int) -> str:
    return _kernel([f"for (int j = 0; j < (n & 7); ++j) x += a[(i * {j + 1} + j) & 63];" for j in range(n)])


def _arrays(n: int) -> str:
    return _kernel([f"int p{j}[4]; p{j}[i & 3] = x; x += p{j}[{j & 3} & i];" for j in range(n)])


def _locals(n: int) -> str:
    names = [f"local int p{j}[8];" for j in range(min(n // 2, 500))]
    uses = [f"p{j % len(names)}[get_local_id(0) & 7] = x; x += n;" for j in range(n - len(names))]
    return _kernel([*names, *uses])


def _switch(n: int) -> str:
    return _kernel(["switch (x) {", *(f"case {j}: x += {3 * j}; break;" for j in range(n)), "}"])


def _fall_through(n: int) -> str:
    return _kernel(["switch (x) {", *(f"case {j}: x += {3 * j};" for j in range(n)), "}"])


def _barriers(n: int) -> str:
    lines = [f"t[get_local_id(0)] = x; barrier(CLK_LOCAL_MEM_FENCE); x += t[(i + {j}) & 63];" for j in range(n // 2)]
    return _kernel(["local int t[64];", *(line + " barrier(CLK_LOCAL_MEM_FENCE);" for line in lines)])


def _deep_helpers(n: int) -> str:
    calls = [f"int f{j}(int x) {{ return f{j - 1}(x) + {j}; }}" for j in range(1, n)]
    return _kernel([f"x = f{n - 1}(x);"], "\n".join(["int f0(int x) { return x * 3; }", *calls, ""]))


def _wide_helpers(n: int) -> str:
    helpers = [f"int f{j}(int x) {{ if (x > {j}) return x * {j}; return x - {j}; }}" for j in range(n)]
    return _kernel([f"x = f{j}(x);" for j in range(n)], "\n".join([*helpers, ""]))


def _doubling_helpers(n: int) -> str:
    """Inlined, the last has 2 ** n calls of the first."""
    calls = [f"int f{j}(int x) {{ return f{j - 1}(x) + f{j - 1}(x + {j}); }}" for j in range(1, n)]
    return _kernel([f"x = f{n - 1}(x);"], "\n".join(["int f0(int x) { return x * 3; }", *calls, ""]))


def _kernels(n: int) -> str:
    others = [f"kernel void k{j}(global int *a) {{ a[get_global_id(0) & 63] = {j}; }}" for j in range(n)]
    return _kernel(["x += 1;"], "\n".join([*others, ""]))


def _selects(n: int) -> str:
    return _kernel([f"x = y > {j}.0f ? x + {j} : x - n;" for j in range(n)])


def _phis(n: int) -> str:
    """Many values that live through many joins."""
    many = max(n // 10, 1)
    values = [f"int v{j} = x + {j};" for j in range(many)]
    ifs = [f"if (n > {j}) {{ v{j % many} += x; v{(7 * j) % many} ^= n; }}" for j in range(n - many)]
    return _kernel([*values, *ifs, *(f"x += v{j};" for j in range(many))])


def _carried(n: int) -> str:
    """Many values that a loop carries."""
    values = [f"int v{j} = x + {j};" for j in range(n // 2)]
    steps = [f"v{j} += v{(j + 1) % len(values)};" for j in range(len(values))]
    return _kernel([*values, "for (int l = 0; l < n; ++l) {", *steps, "}", *(f"x ^= v{j};" for j in range(len(values)))])


def _wide_vectors(n: int) -> str:
    return _kernel(["float16 v = y;", *(f"v = v * v.s{j % 16:x} + v.s1032547698badcfe;" for j in range(n)), "y = v.s0 + v.sf;"])


def _big_arrays(n: int) -> str:
    return _kernel([f"int p[{n}];", *(f"p[{j}] = x + {j};" for j in range(n)), f"x = p[(x & 7) % {n}];"])


def _conditions(n: int) -> str:
    lines = []
    for part in _parts(n, 200):
        terms = [f"(x > {j}) {'&&' if j % 3 else '||'} (n != {j})" for j in part]
        lines.append(f"if ({' && '.join(terms)}) x += 1;")
    return _kernel(lines)


def _booleans(n: int) -> str:
    lines = ["bool t = c && e; e = e && t; c = t;"] * n
    return _kernel(["bool c = i < n, e = i < 40;", *[f"{{ {line} }}" for line in lines], "if (c) x = a[i];"])


def _xors(n: int) -> str:
    lines = ["{ bool t = c ^ e; e = e | t; c = t & e; }"] * n
    return _kernel(["bool c = i < n, e = i < 40;", *lines, "if (c) x = a[i];"])


def _casts(n: int) -> str:
    lines = [f"x += ((global char *)(a + (i & {j % 60})))[1] + as_int(*(global float *)(a + {j % 60}));" for j in range(n)]
    return _kernel(lines)


def _pointers(n: int) -> str:
    lines = [f"p = n > {j} ? p + 1 : q; q = p;" for j in range(n)]
    return _kernel(["global int *p = a, *q = a;", *lines, "if (p >= a && p < a + 64) x = *p;"])


def _stores(n: int) -> str:
    return _kernel([f"if (i == {j % 64}) a[{j % 64}] = x; x += n;" for j in range(n)])


def _accesses(n: int) -> str:
    return _kernel([f"y += f[(i + {j}) % 64] * f[(i * {j + 1} + n) & 63];" for j in range(n)])


def _strided(n: int) -> str:
    return _kernel([f"a[i * 4 / 4 + {j % 2}  - {j % 2}] = x + {j};" for j in range(n)])


def _divisions(n: int) -> str:
    return _kernel([f"x = x / {j + 3} + (i * 7 + x % {j + 5}) / 3;" for j in range(n)])


def _shifted(n: int) -> str:
    return _kernel([f"x += ((int)get_local_id(0) << {j % 32}) < {j + 16};" for j in range(n)])


def _returns(n: int) -> str:
    return _kernel([f"if (x == {j}) return;" for j in range(n)])


def _gotos(n: int) -> str:
    lines = [f"l{j}: x += {j}; if (x == {7 * j}) goto l{min(j + 5, n)};" for j in range(n)]
    return _kernel([*lines, f"l{n}: x += 1;"])


def _atomics(n: int) -> str:
    return _kernel([f"atomic_add(a + {j % 64}, n);" for j in range(n)])


def _prints(n: int) -> str:
    return _kernel([f'if (x == {j} && n < -5) printf("%d {j}\\n", x);' for j in range(n)])


def _loop_body(n: int) -> str:
    return _kernel(["for (int l = 0; l < n; ++l) {", *[f"x = x * 3 + a[(i + {j}) & 63];" for j in range(n)], "}"])


def _breaks(n: int) -> str:
    return _kernel(["for (int l = 0; l < n; ++l) {", *[f"if (x == {j}) break; x += 3;" for j in range(n)], "}"])


SHAPES: dict[str, Shape] = {
    shape.__name__[1:]: shape
    for shape in (
        _accesses, _arrays, _atomics, _barriers, _big_arrays, _booleans, _breaks, _carried, _casts, _chain, _conditions,
        _deep_helpers, _divisions, _doubling, _doubling_helpers, _else_ifs, _fall_through, _gotos, _guards, _ifs, _kernels,
        _locals, _loop_body, _loops, _nested_ifs, _nested_loops, _nested_while, _open_loops, _phis, _pointers, _prints, _returns,
        _reuse, _selects, _shifted, _stores, _strided, _switch, _wide_helpers, _wide_vectors, _xors,
    )
}  # fmt: skip
"""The shapes by name."""
