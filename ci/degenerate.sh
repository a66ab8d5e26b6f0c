#!/usr/bin/env bash
# Small models of degenerate sizes (extent 1, K = 1, one channel, one row, none) through TVM's pipeline with the fixes, against
# float64. Needs adreno-sim[tvm] and onnx.
#   bash ci/degenerate.sh [--count N] [--seed N] [--jobs N] [--seconds S] [--out FOLDER]     FOLDER: goes on where it ended
#   bash ci/degenerate.sh --case SEED/NUMBER                                                 one case again
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
exec python "$ROOT/tests/tvm/degenerate/run.py" "$@"
