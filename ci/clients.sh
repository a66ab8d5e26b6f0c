#!/usr/bin/env bash
# Programs that know nothing of this project, on the simulated device: tinygrad, OpenCV, CLBlast, clFFT, llama.cpp, darktable. Prints a
# Markdown table.
#   bash ci/clients.sh FOLDER [PATTERN]     FOLDER keeps packages and logs; PATTERN: a part of a row's name
#   ADRENO_SIM_CLIENT_CHECKS=full ADRENO_SIM_CLIENT_CASES=300     the level of checks; how many of llama.cpp's tests
# Needs pip, Debian's apt-get (all but tinygrad and OpenCV), g++ (samples, llama.cpp), cmake and ninja (llama.cpp), and adreno-sim
# with pyopencl. Exit code 1 where a program fails; findings do not.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -ge 1 ] || { echo "usage: bash ci/clients.sh FOLDER [PATTERN]" >&2; exit 2; }
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
exec python "$ROOT/ci/clients/run.py" "$folder" "${2:-}"
