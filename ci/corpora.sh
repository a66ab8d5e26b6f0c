#!/usr/bin/env bash
# Build, compile and launch the OpenCL kernels of other projects, whose sources are fetched from package registries. Needs
# adreno-sim with its extra [test]; with [oracle] a real compiler judges what is refused.
#   bash ci/corpora.sh FOLDER [--only PART] [--launches N] [--seed N] [--jobs N]   FOLDER keeps archives and summary.json
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -ge 1 ] || { echo "usage: bash ci/corpora.sh FOLDER [--only PART] [--launches N] [--seed N] [--jobs N]" >&2; exit 2; }
exec python "$ROOT/tests/kernels/corpora/run.py" "$@"
