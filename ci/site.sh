#!/usr/bin/env bash
# Build the site of the documentation: README, CONTRIBUTING, CHANGELOG and docs/ as pages. A dead link ends it.
#   bash ci/site.sh FOLDER     FOLDER gets the pages; open FOLDER/index.html
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -eq 1 ] || { echo "usage: bash ci/site.sh FOLDER" >&2; exit 2; }
folder=$(realpath -m "$1")
venv=${ADRENO_SIM_VENV:-$ROOT/.venv-site}
[ -x "$venv/bin/mkdocs" ] || make_venv "$venv" site || exit 2
NO_MKDOCS_2_WARNING=1 exec "$venv/bin/mkdocs" build --quiet --strict --config-file "$ROOT/ci/site/mkdocs.yml" --site-dir "$folder"
