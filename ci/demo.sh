#!/usr/bin/env bash
# From a bare machine to a verdict: install, compile squeezenet for an Adreno 740 with TVM, run every kernel on the
# simulated device, compare. Needs Linux on x86-64, Python 3.10-3.14 and a package index.
#   ADRENO_SIM_VENV=folder   where the environment lies (default .venv-demo in the repository; reused while it is current)
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
venv=${ADRENO_SIM_VENV:-$ROOT/.venv-demo}
make_venv "$venv" tvm || exit 2

model=$("$venv/bin/python" -c '
import pathlib, onnx
print(pathlib.Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx")') || exit 2
status=0
for target in texture buffer; do
    echo "\$ adreno-sim check $(basename "$model") --device sim:adreno-740 --target $target"
    "$venv/bin/adreno-sim" check "$model" --device sim:adreno-740 --target "$target" "$@"
    result=$?
    [ "$status" -eq 0 ] && status=$result
done
exit "$status"
