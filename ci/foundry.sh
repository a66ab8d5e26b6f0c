#!/usr/bin/env bash
# Kernels with one planted defect each, and their clean twins, on the simulator: a table of what is missed and what is reported wrongly.
# Needs adreno-sim; with --scheduler also its extra [sweep].
#   bash ci/foundry.sh [--count N] [--seed N] [--jobs N] [--scheduler ADDRESS] [--json FILE] [--page docs/judging.md]
#   bash ci/foundry.sh --case SEED/NUMBER --shrink      one case again, cut down
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
exec python "$ROOT/tests/kernels/foundry/run.py" "$@"
