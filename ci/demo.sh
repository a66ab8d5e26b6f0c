#!/usr/bin/env bash
# From a bare machine to a verdict: install, compile squeezenet for an Adreno 740 with TVM, run every kernel on the
# simulated device, compare; then once more without a fix of TVM's, which ends with a finding. Needs Linux on x86-64, Python
# 3.10-3.14 and a package index.
#   ADRENO_SIM_VENV=folder   where the environment lies (default .venv-demo in the repository; reused while it is current)
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
venv=${ADRENO_SIM_VENV:-$ROOT/.venv-demo}
make_venv "$venv" tvm || exit 2

model=$("$venv/bin/python" -c '
import pathlib, onnx
print(pathlib.Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx")') || exit 2
# run_check EXPECTED OPTIONS...: a check that ends so; `status` keeps the first code that is another
status=0
run_check() {
    local expected=$1 result
    shift
    echo "\$ adreno-sim check $(basename "$model") --device sim:adreno-740 $*"
    "$venv/bin/adreno-sim" check "$model" --device sim:adreno-740 "$@"
    result=$?
    [ "$result" -eq "$expected" ] || [ "$status" -ne 0 ] || status=$((result == 0 ? 1 : result))
}

run_check 0 --target texture "$@"
run_check 0 --target buffer "$@"
echo
echo "Without one of the fixes of TVM's defects, a kernel stores four values into one texel; exit code 1 says that it was found:"
run_check 1 --target texture --without-fix texture-store --html "$venv/finding.html" "$@"
echo "look closer: $venv/finding.html in a browser; what else there is: README.md, and adreno-sim --help in $venv/bin"
exit "$status"
