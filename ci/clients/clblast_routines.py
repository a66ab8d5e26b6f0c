"""CLBlast's routines against NumPy. Argument: its library. Exit code 1 where a result is off."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import pyopencl as cl

ROW_MAJOR, NO, YES = 101, 111, 112
LOWER, LEFT, NON_UNIT = 122, 141, 131
SINGLE, HALF = np.float32, np.float16

library = ctypes.CDLL(sys.argv[1])
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
rng = np.random.default_rng(0)


def on_device(array: np.ndarray) -> cl.Buffer:
    return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ascontiguousarray(array))


def call(routine: str, *arguments: Any) -> None:
    """Numbers are size_t, floats the routine's type, buffers (handle, offset)."""
    real = routine[0]
    words: list[Any] = []
    for value in arguments:
        if isinstance(value, cl.Buffer):
            words += [ctypes.c_void_p(value.int_ptr), ctypes.c_size_t(0)]
        elif isinstance(value, float):
            words.append(ctypes.c_float(value) if real == "S" else ctypes.c_ushort(int(HALF(value).view(np.uint16))))
        elif value in (ROW_MAJOR, NO, YES, LOWER, LEFT, NON_UNIT) and isinstance(value, np.int32):
            words.append(ctypes.c_int(int(value)))
        else:
            words.append(ctypes.c_size_t(int(value)))
    handle = ctypes.c_void_p(queue.int_ptr)
    status = getattr(library, f"CLBlast{routine}")(*words, ctypes.byref(handle), None)
    if status:
        raise SystemExit(f"{routine}: status {status}")


def enum(value: int) -> np.int32:
    return np.int32(value)


def judge(name: str, buffer: cl.Buffer, expected: np.ndarray, dtype: type) -> bool:
    got = np.empty(expected.shape, dtype)
    cl.enqueue_copy(queue, got, buffer)
    error = np.abs(got.astype(np.float64) - expected).max()
    allowed = (1e-4 if dtype is SINGLE else 1e-2) * np.abs(expected).max()
    print(f"{name}: largest error {error:.3g}, allowed {allowed:.3g}: {'ok' if error <= allowed else 'DIFFERS'}")
    return bool(error <= allowed)


def gemm(letter: str, dtype: type, m: int, n: int, k: int) -> bool:
    a, b, c = (rng.normal(size=shape).astype(dtype) for shape in ((m, k), (k, n), (m, n)))
    out = on_device(c)
    kinds = enum(ROW_MAJOR), enum(NO), enum(NO)
    call(f"{letter}gemm", *kinds, m, n, k, 1.5, on_device(a), k, on_device(b), n, 0.5, out, n)
    wide = [x.astype(np.float64) for x in (a, b, c)]
    return judge(f"{letter}gemm {m} x {n} x {k}", out, 1.5 * wide[0] @ wide[1] + 0.5 * wide[2], dtype)


def gemv(m: int, n: int, transposed: bool) -> bool:
    a, x, y = (rng.normal(size=shape).astype(SINGLE) for shape in ((m, n), m if transposed else n, n if transposed else m))
    out = on_device(y)
    call("Sgemv", enum(ROW_MAJOR), enum(YES if transposed else NO), m, n, 2.0, on_device(a), n, on_device(x), 1, 0.0, out, 1)
    wide = a.astype(np.float64)
    return judge(f"Sgemv {m} x {n}{', transposed' * transposed}", out, 2 * ((wide.T if transposed else wide) @ x), SINGLE)


def vectors(n: int) -> bool:
    x, y = (rng.normal(size=n).astype(SINGLE) for _ in range(2))
    on_x, on_y, dot = on_device(x), on_device(y), on_device(np.zeros(1, SINGLE))
    call("Sdot", n, dot, on_x, 1, on_y, 1)
    right = judge(f"Sdot {n}", dot, np.array([x.astype(np.float64) @ y]), SINGLE)
    call("Saxpy", n, 3.0, on_x, 1, on_y, 1)
    return judge(f"Saxpy {n}", on_y, 3 * x.astype(np.float64) + y, SINGLE) and right


def solve(n: int, columns: int) -> bool:
    a = np.tril(rng.normal(size=(n, n)) * 0.1 + 2 * np.eye(n)).astype(SINGLE)
    b = rng.normal(size=(n, columns)).astype(SINGLE)
    out = on_device(b)
    kinds = enum(ROW_MAJOR), enum(LEFT), enum(LOWER), enum(NO), enum(NON_UNIT)
    call("Strsm", *kinds, n, columns, 1.0, on_device(a), n, out, columns)
    return judge(f"Strsm {n} x {columns}", out, np.linalg.solve(a.astype(np.float64), b), SINGLE)


RESULTS = [
    gemm("S", SINGLE, 64, 64, 64),
    gemm("S", SINGLE, 33, 47, 61),
    gemm("S", SINGLE, 256, 200, 300),
    gemm("H", HALF, 64, 64, 64),
    gemm("H", HALF, 33, 47, 61),
    gemv(70, 90, False),
    gemv(70, 90, True),
    vectors(1000),
    solve(40, 24),
]
sys.exit(0 if all(RESULTS) else 1)
