"""Machine code is loaded whole also where free memory lies in small pieces, gigabytes apart, as in a process beside PyTorch."""

import subprocess
import sys

from processors import OLDEST

LOAD = """
import ctypes, mmap, sys
from adreno_sim.engine.llvm.objects import Machine

MODULE = '''
@table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@kept = internal global i32 7
declare ptr @memmove(ptr, ptr, i64)
define double @f(i32 %i, ptr %to) {
  %at = getelementptr [4 x i32], ptr @table, i32 0, i32 %i
  %from = call ptr @memmove(ptr %to, ptr %at, i64 4)
  %value = load i32, ptr %to
  %kept = load i32, ptr @kept
  store i32 %value, ptr @kept
  %sum = add i32 %value, %kept
  %float = sitofp i32 %sum to double
  %half = fptrunc double %float to half
  %more = fadd half %half, 2.5
  %result = fpext half %more to double
  ret double %result
}
'''
PAGE, APART, LIMIT = mmap.PAGESIZE, 4 << 30, 1 << 47
MAP_NORESERVE, MAP_FIXED_NOREPLACE = 0x4000, 0x100000

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def reserve(start, size):
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE
    assert libc.mmap(start, size, 0, flags, -1, 0) == start


def leave_small_holes(pages, count=100):
    edges = [[int(end, 16) for end in line.split()[0].split("-")] for line in open("/proc/self/maps")]
    edges = [pair for pair in edges if pair[1] < LIMIT]
    gaps = [(end, start) for (_, end), (start, _) in zip(edges, edges[1:]) if start > end]
    largest = max(gaps, key=lambda gap: gap[1] - gap[0])
    for start, end in gaps:
        if (start, end) != largest:
            reserve(start, end - start)
    start = largest[1] - count * APART
    reserve(start, count * APART)
    for number in range(count):
        libc.munmap(start + number * APART + APART // 2, pages * PAGE)


pages = int(sys.argv[1])
machines = [(machine, machine.compile(MODULE)) for machine in (Machine(), Machine(*sys.argv[2:]))]  # which may call soft float
room = ctypes.create_string_buffer(64)
for machine, code in machines:
    machine.load(code, "f")  # the linker itself is made before memory is short
leave_small_holes(pages)
loaded = [machine.load(code, "f") for machine, code in machines for _ in range(3)]
call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.c_void_p)
print(*(call(one.address)(2, room) for one in loaded))
"""


def run_with_holes(pages: int) -> str:
    done = subprocess.run([sys.executable, "-c", LOAD, str(pages), *OLDEST], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"holes of {pages} pages: ended {done.returncode}: {done.stderr}"
    return done.stdout.strip()


def test_sections_of_an_object_lie_together():
    assert {run_with_holes(pages) for pages in (1, 2, 3, 4, 8)} == {"12.5 " * 5 + "12.5"}
