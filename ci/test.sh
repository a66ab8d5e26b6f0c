#!/usr/bin/env bash
# Install everything into a virtual environment and run the tests. Arguments go to pytest.
#   ADRENO_SIM_VENV=folder   where the environment lies (default .venv in the repository; reused while it is current)
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT" || exit 2
venv=${ADRENO_SIM_VENV:-$ROOT/.venv}
make_venv "$venv" all || exit 2

keep_bytecode "$venv"

status=0
"$venv/bin/ruff" check . || status=1
"$venv/bin/ruff" format --check --quiet . || { echo "ruff format would change files"; status=1; }
"$venv/bin/mypy" || status=1
"$venv/bin/lint-imports" || status=1
"$venv/bin/python" -m pytest -q -n 2 --dist loadfile "$@"
tests=$?
[ "$tests" -eq 0 ] && exit "$status"
exit "$tests"
