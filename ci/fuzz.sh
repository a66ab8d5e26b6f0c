#!/usr/bin/env bash
# Fuzz every reader of data, led by coverage (Atheris, libFuzzer): for any bytes a reader returns, or raises an error of one line.
#   bash ci/fuzz.sh [SECONDS [READER...]]     each reader for SECONDS (60); names are in ci/fuzz/readers.py. By hand: 3600 and more
# ADRENO_FUZZ_FOLDER keeps what was found between runs (default: a new one, which is told). Exit code 1: inputs lie in failures/.
# Python 3.11 or newer; PYTHON=... with adreno-sim and atheris is used as it is, else an environment is made.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "usage: bash ci/fuzz.sh [SECONDS [READER...]]" >&2; exit 2; }
shift
python=${PYTHON:-}
if [ -z "$python" ] || ! "$python" -c 'import atheris, adreno_sim' 2>/dev/null; then
    venv=${ADRENO_SIM_VENV:-$ROOT/.venv-fuzz}
    make_venv "$venv" fuzz || exit 2
    python=$venv/bin/python
fi
folder=${ADRENO_FUZZ_FOLDER:-$(mktemp -d)}
[ $# -gt 0 ] || mapfile -t names < <("$python" -c "import sys; sys.path.insert(0, '$ROOT/ci/fuzz'); import readers; print('\n'.join(readers.READERS))")
[ $# -eq 0 ] || names=("$@")
status=0
for name in "${names[@]}"; do
    mkdir -p "$folder"
    "$python" "$ROOT/ci/fuzz/harness.py" "$name" "$folder" -max_total_time="$seconds" -print_final_stats=1 >"$folder/$name.log" 2>&1
    code=$?
    [ $code -eq 0 ] || status=1
    cases=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$folder/$name.log" | tail -n 1)
    echo "$name: ${cases:-?} cases in $seconds s, ${edges:-?} edges$([ $code -eq 0 ] || echo ", FAILED: $folder/$name.log")"
done
echo "found: $folder"
exit $status
