#!/usr/bin/env bash
# Fuzz what reads foreign bytes, led by coverage: readers of data (Atheris), and, under sanitizers, the shim and the C runtime
# (libFuzzer). For any bytes a reader returns, or raises an error of one line.
#   [JOBS=N] bash ci/fuzz.sh [SECONDS [HARNESS...]]   each harness for SECONDS (60), N of them at a time (1). By hand: 3600 and more
# Harnesses: those of ci/fuzz/readers.py, shim and runtime. The two need a clang with libFuzzer, which CC names (Debian: clang-16 and
# libclang-rt-16-dev), or their programs in ADRENO_FUZZ_PROGRAMS, made by `python ci/fuzz/native.py FOLDER`; else they are left out.
# ADRENO_FUZZ_FOLDER keeps what was found between runs (default: a new one, whose path is printed). Exit code 1: inputs lie in failures/.
# Python 3.11 or newer; PYTHON=... with adreno-sim and atheris is used as it is, else an environment is made.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
seconds=${1:-60} jobs=${JOBS:-1}
[[ $seconds =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ ]] || { echo "usage: [JOBS=N] bash ci/fuzz.sh [SECONDS [HARNESS...]]" >&2; exit 2; }
shift
python=${PYTHON:-}
if [ -z "$python" ] || ! "$python" -c 'import atheris, adreno_sim' 2>/dev/null; then
    venv=${ADRENO_SIM_VENV:-$ROOT/.venv-fuzz}
    make_venv "$venv" fuzz || exit 2
    python=$venv/bin/python
fi
folder=${ADRENO_FUZZ_FOLDER:-$(mktemp -d)}
mkdir -p "$folder/failures"
rm -f "$folder/failed"
mapfile -t readers < <("$python" -c "import sys; sys.path.insert(0, '$ROOT/ci/fuzz'); import readers; print('\n'.join(readers.READERS))")
[ ${#readers[@]} -gt 0 ] || exit 2
names=("$@")
[ $# -gt 0 ] || names=("${readers[@]}" shim runtime)
programs=${ADRENO_FUZZ_PROGRAMS:-$folder/programs}
if [[ " ${names[*]} " == *" shim "* || " ${names[*]} " == *" runtime "* ]] && [ -z "${ADRENO_FUZZ_PROGRAMS:-}" ]; then
    if ! "$python" "$ROOT/ci/fuzz/native.py" "$programs" && [ $# -gt 0 ]; then exit 2; fi
fi

fuzz() { # NAME: one harness, and a line on it
    local name=$1 log=$folder/$1.log code
    local -a words=("$python" "$ROOT/ci/fuzz/harness.py" "$name" "$folder")
    if [ "$name" = shim ] || [ "$name" = runtime ]; then
        [ -x "$programs/$name" ] || { echo "$name: left out, no program"; return; }
        mkdir -p "$folder/$name"
        words=("$programs/$name" -max_len=4096 -timeout=10 "-artifact_prefix=$folder/failures/$name-" "$folder/$name")
    fi
    "${words[@]}" -max_total_time="$seconds" -print_final_stats=1 >"$log" 2>&1
    code=$?
    [ $code -eq 0 ] || echo "$name" >>"$folder/failed"
    cases=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    echo "$name: ${cases:-?} cases in $seconds s, ${edges:-?} edges$([ $code -eq 0 ] || echo ", FAILED: $log")"
}

for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    fuzz "$name" &
done
wait
echo "found: $folder"
[ ! -e "$folder/failed" ]
