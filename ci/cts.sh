#!/usr/bin/env bash
# The Khronos conformance suite (OpenCL-CTS) on the simulated device, through `adreno-sim run`. Prints a table, a row for each
# suite, and names each test that failed.
#   bash ci/cts.sh CHECKOUT FOLDER [SUITE...]    CHECKOUT, or "" and ADRENO_SIM_CTS: holds OpenCL-CTS, OpenCL-Headers and
#                                                SPIRV-Headers of KhronosGroup; FOLDER keeps the build, logs and results
#   ADRENO_SIM_CTS_CHECKS=bounds ADRENO_SIM_CTS_DEVICE=sim:adreno-650 ADRENO_SIM_CTS_JOBS=2 ADRENO_SIM_CTS_SECONDS=600 (a suite)
#   ADRENO_SIM_CTS_TEST_SECONDS=900 (a test)
# Needs cmake, ninja, a C++ compiler, and adreno-sim. Exit code 1 where a test fails, crashes or hangs.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -ge 2 ] || { echo "usage: bash ci/cts.sh CHECKOUT FOLDER [SUITE...]" >&2; exit 2; }
checkout=${1:-${ADRENO_SIM_CTS:-}}
for part in OpenCL-CTS/CMakeLists.txt OpenCL-Headers/CL/cl.h SPIRV-Headers/include/spirv/unified1/spirv.hpp; do
    [ -e "$checkout/$part" ] || { echo "error: $checkout/$part: no such file; clone it from github.com/KhronosGroup" >&2; exit 2; }
done
checkout=$(cd "$checkout" && pwd)
mkdir -p "$2" && folder=$(cd "$2" && pwd) || exit 2
shift 2
mapfile -t targets < <(python "$ROOT/ci/cts/run.py" --targets "$@")
[ "${#targets[@]}" -gt 0 ] || exit 2

# SPIR-V of the compiler suite is not assembled: the device takes none, and these tests skip themselves.
mkdir -p "$folder/no-spirv"
for tool in spirv-as spirv-val; do
    printf '#!/bin/sh\nexit 0\n' >"$folder/no-spirv/$tool" && chmod +x "$folder/no-spirv/$tool"
done
libraries=$(python -c 'from adreno_sim.icd.build import build_libraries; print(build_libraries().loader)') || exit 2
{
    cmake -S "$checkout/OpenCL-CTS" -B "$folder/build" -G Ninja -DCL_INCLUDE_DIR="$checkout/OpenCL-Headers" \
        -DCL_LIB_DIR="$libraries" -DOPENCL_LIBRARIES=OpenCL -DSPIRV_INCLUDE_DIR="$checkout/SPIRV-Headers" \
        -DSPIRV_TOOLS_DIR="$folder/no-spirv" -DCMAKE_CXX_FLAGS="-O1 -w" --compile-no-warning-as-error \
        && nice ninja -C "$folder/build" -j "${ADRENO_SIM_CTS_JOBS:-2}" "${targets[@]}"
} >"$folder/build.log" 2>&1 || { echo "error: the build failed; $folder/build.log ends:" >&2; tail -5 "$folder/build.log" >&2; exit 2; }
exec python "$ROOT/ci/cts/run.py" "$folder" "$@"
