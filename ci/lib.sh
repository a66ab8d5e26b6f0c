# shellcheck shell=bash
# Shared by the scripts here: choose a Python, make a virtual environment, keep it while it is current.
# Sourced, not run. Every path is relative to the repository, so the caller's folder does not matter.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The first interpreter of a supported version that can make virtual environments; PYTHON=... goes before all.
find_python() {
    local probe='import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 15))'
    local name
    for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3.14 python3.10 python3 python; do
        if command -v "$name" >/dev/null 2>&1 && "$name" -c "$probe" >/dev/null 2>&1; then
            echo "$name"
            return 0
        fi
    done
    echo "error: no Python 3.10-3.14 with the venv module found; set PYTHON=/path/to/python" >&2
    return 2
}

# make_venv FOLDER EXTRAS [PINS]: install the project in editable mode, and what it needs by versions and hashes of the file PINS;
# leave FOLDER alone if what it was made from is the same. An environment that someone else made (a developer's .venv) is never
# cleared: the packages are installed into it.
make_venv() {
    local folder=$1 extras=$2 pins=${3:-} python stamp
    python=$(find_python) || return 2
    stamp="$extras $ROOT $("$python" -VV | tr '\n' ' ') $(cat "$ROOT/pyproject.toml" ${pins:+"$pins"} | cksum)"
    if [ -x "$folder/bin/python" ] && [ "$(cat "$folder/.adreno-sim" 2>/dev/null)" = "$stamp" ] \
        && "$folder/bin/python" -c 'import adreno_sim' 2>/dev/null; then
        return 0
    fi
    if [ -x "$folder/bin/python" ] && { [ ! -e "$folder/.adreno-sim" ] || [ -e "$folder/.adreno-sim-kept" ]; }; then
        echo "installing adreno-sim[$extras] into $folder, which exists with $("$folder/bin/python" -V); its other packages are kept"
        touch "$folder/.adreno-sim-kept" || return 2
    else
        echo "making $folder with $("$python" -V) and adreno-sim[$extras]"
        "$python" -m venv --clear "$folder" && touch "$folder/.adreno-sim" || return 2
    fi
    local -a install=("$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
    if [ -n "$pins" ]; then
        "${install[@]}" --require-hashes -r "$pins" && "${install[@]}" --no-deps --no-build-isolation -e "$ROOT" || return 2
    else
        install_with_uv "$folder" "$extras" || "${install[@]}" -e "${ROOT}[$extras]" || return 2
    fi
    echo "$stamp" >"$folder/.adreno-sim"
}

# install_with_uv FOLDER EXTRAS: install the project into an environment that is ours, in a fifth of pip's time. It fails, and says
# nothing, where pip's settings have no counterpart, uv cannot be had, or it cannot install: pip tries then, and says what is wrong.
install_with_uv() {
    local folder=$1 extras=$2 options
    [ ! -e "$folder/.adreno-sim-kept" ] || return 1
    options=$("$folder/bin/python" "$ROOT/ci/uv_options.py") || return 1
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile uv >/dev/null 2>&1 || return 1
    # shellcheck disable=SC2086  # a word for each option; a place with a blank in its path is not found, and pip is used
    "$folder/bin/uv" pip install --quiet --no-config --python "$folder/bin/python" $options -e "${ROOT}[$extras]" >/dev/null 2>&1
}

# keep_bytecode FOLDER: many tests start Python again, which without its bytecode compiles every module again each time.
# It lies in the virtual environment FOLDER, not in the repository.
keep_bytecode() {
    unset PYTHONDONTWRITEBYTECODE
    export PYTHONPYCACHEPREFIX=$1/bytecode
}
