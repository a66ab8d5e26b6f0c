#!/usr/bin/env bash
# Install everything into a virtual environment, run the linters, and the tests of the fast set: about five minutes on two cores
# besides the installation. Arguments go to pytest.
#   --complete               every test function, of large families a part: about 14 minutes on two cores
#   --shard I/N              the I-th of N parts that take the same time, for N machines
#   ADRENO_SIM_VENV=folder   where the environment lies (default .venv in the repository; reused while it is current)
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT" || exit 2
venv=${ADRENO_SIM_VENV:-$ROOT/.venv}
make_venv "$venv" all || exit 2

keep_bytecode "$venv"

run_linters() {
    local status=0
    "$venv/bin/ruff" check . || status=1
    "$venv/bin/ruff" format --check --quiet . || { echo "ruff format would change files"; status=1; }
    "$venv/bin/mypy" || status=1
    "$venv/bin/lint-imports" || status=1
    return "$status"
}

# Beside the tests: alone they leave processors idle. What they complain of comes behind.
said=$(mktemp) || exit 2
trap 'rm -f "$said"' EXIT
run_linters >"$said" 2>&1 &
linters=$!
"$venv/bin/python" -m pytest -q -n "${ADRENO_SIM_TEST_PROCESSES:-2}" --dist loadfile --no-loadscope-reorder "$@"
tests=$?
wait "$linters"
status=$?
[ "$status" -eq 0 ] || cat "$said"
[ "$tests" -eq 0 ] && exit "$status"
exit "$tests"
