#!/usr/bin/env bash
# The tests that need TVM, with each TVM version the project knows; one virtual environment per version.
#   bash ci/tvm-matrix.sh [25] [26] [27]      (default: all three)
#   ADRENO_SIM_VENV=folder                    prefix of the environments (default .venv in the repository)
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT" || exit 2
[ $# -gt 0 ] || set -- 25 26 27
status=0
for version in "$@"; do
    case $version in
        25 | 26) extra=tvm$version ;;
        27) extra=tvm ;;
        *) echo "error: TVM version $version: expected 25, 26 or 27" >&2; exit 2 ;;
    esac
    venv=${ADRENO_SIM_VENV:-$ROOT/.venv}-tvm$version
    make_venv "$venv" "$extra,opencl,oracle,test" || exit 2
    keep_bytecode "$venv"
    echo "== TVM 0.$version: $("$venv/bin/python" -c 'import tvm; print(tvm.__version__)')"
    "$venv/bin/python" -m pytest -q -n 2 --dist loadfile tests/tvm || status=1
done
exit "$status"
