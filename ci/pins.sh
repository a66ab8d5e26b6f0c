#!/usr/bin/env bash
# Pins with hashes: writes adreno_sim/pins/*.txt, what users' CI installs, and ci/pins/*.txt, what makes and tries a release.
#   bash ci/pins.sh     after a change of dependencies in pyproject.toml, or to take newer versions of what they need
# It asks PyPI, for Linux and every supported Python. tests/unit/test_pins.py holds the files against pyproject.toml, without it.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
tools=$(mktemp -d) || exit 2
trap 'rm -rf "$tools"' EXIT
"$(find_python)" -m venv "$tools" && "$tools/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.9 || exit 2

# pin FILE EXTRA...: versions and hashes of the dependencies and of what the extras name.
pin() {
    local file=$1 extra
    local -a extras=()
    for extra in "${@:2}"; do extras+=(--extra "$extra"); done
    (cd "$ROOT" && "$tools/bin/uv" pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.10 --generate-hashes \
        --no-config --default-index https://pypi.org/simple --annotation-style line --custom-compile-command "bash ci/pins.sh" \
        "${extras[@]}" --output-file "$tools/pins.txt" >/dev/null) || exit 1
    mkdir -p "$(dirname "$ROOT/$file")" && mv "$tools/pins.txt" "$ROOT/$file" || exit 2
    echo "$file: $(grep -c == "$ROOT/$file") packages"
}

pin adreno_sim/pins/tvm.txt tvm
pin adreno_sim/pins/tvm26.txt tvm26
pin adreno_sim/pins/tvm25.txt tvm25
pin ci/pins/release.txt release
pin ci/pins/trial.txt tvm opencl oracle test
