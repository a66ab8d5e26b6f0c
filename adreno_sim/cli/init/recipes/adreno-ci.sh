#!/usr/bin/env bash
# Checks the models of a repository on simulated Adreno GPUs. This file lies in the repository (as ci/adreno-ci.sh, say); every
# CI system, and a developer, calls it the same way, in the repository's root:
#
#   bash adreno-ci.sh install            an environment with adreno-sim and TVM
#   bash adreno-ci.sh check              every model, profile and target; exit code 0 ok, 1 findings, 2 bad input, 3 unsupported
#   bash adreno-ci.sh footprint [BASE]   memory plans, beside those of the models in the git revision BASE
#
# Settings, by environment variables:
#   ADRENO_CI_MODELS     paths or patterns, separated by spaces         (default: models/*.onnx)
#   ADRENO_CI_PROFILES   simulated GPUs, patterns too                    (default: adreno-740)
#   ADRENO_CI_TARGETS    texture, buffer                                 (default: texture)
#   ADRENO_CI_TVM        0.27, 0.26 or 0.25                              (default: 0.27)
#   ADRENO_CI_PACKAGE    what pip installs: git+https://HOST/OWNER/adreno-sim@COMMIT with all 40 digits of the commit, or a folder.
#                        No name: on PyPI, adreno-sim is not this project's, and whoever takes it would run in your CI
#   ADRENO_CI_OPTIONS    more options of `adreno-sim sweep`, as --strict or --pipeline stock
#   ADRENO_CI_PLANNERS   planners of the footprint                       (default: tvm,tvm-fixed,arena)
#   ADRENO_CI_BUDGET     bytes of device memory that a run of each model may take at one time, as compiled, with weights, as 64MB
#   ADRENO_CI_OUT        folder of results                               (default: adreno-ci)
#   ADRENO_CI_VENV       folder of the environment                       (default: .adreno-venv)
#   ADRENO_CI_COMMAND    how to call adreno-sim where it is installed already; `install` is not needed then
#   PYTHON               interpreter to make the environment with        (default: python3)
#   ADRENO_SIM_CACHE_DIR compiled kernels: keep this folder between runs, best outside the checkout; it holds machine code, so one
#                        that has files in the repository is refused (default on GitHub Actions: $RUNNER_TEMP/adreno-cache)
#
# Results: sweep.json, sweep.md, findings.sarif, code-quality.json (GitLab), cases/ with a report for each case, footprint.md.
# On GitHub Actions findings become annotations and the tables go to the job's summary.
set -u
set -f # patterns of ADRENO_CI_PROFILES are not for the shell

OUT=${ADRENO_CI_OUT:-adreno-ci}
VENV=${ADRENO_CI_VENV:-.adreno-venv}
PROFILES=${ADRENO_CI_PROFILES:-adreno-740}
TARGETS=${ADRENO_CI_TARGETS:-}

[ -n "${RUNNER_TEMP:-}" ] && export ADRENO_SIM_CACHE_DIR="${ADRENO_SIM_CACHE_DIR:-$RUNNER_TEMP/adreno-cache}"

die() {
    echo "error: $*" >&2
    exit 2
}

adreno_sim() {
    if [ -n "${ADRENO_CI_COMMAND:-}" ]; then
        $ADRENO_CI_COMMAND "$@" # words
        return
    fi
    [ -x "$VENV/bin/adreno-sim" ] \
        || die "$VENV/bin/adreno-sim does not exist: run 'bash $0 install' first, or set ADRENO_CI_COMMAND to an installed adreno-sim"
    "$VENV/bin/adreno-sim" "$@"
}

# The models, one a line; an error where there is none.
models() {
    local found
    set +f
    # shellcheck disable=SC2086 # patterns are meant to expand
    found=$(for path in ${ADRENO_CI_MODELS:-models/*.onnx}; do [ -f "$path" ] && echo "$path"; done)
    set -f
    [ -n "$found" ] || die "no model: ADRENO_CI_MODELS is '${ADRENO_CI_MODELS:-models/*.onnx}'"
    echo "$found"
}

# A cache that was committed would run as machine code whatever its author likes.
refuse_committed_cache() {
    local folder=${ADRENO_SIM_CACHE_DIR:-}
    if [ -n "$folder" ] && [ -d "$folder" ] && [ -n "$(git ls-files -- "$folder" 2>/dev/null | head -n 1)" ]; then
        die "ADRENO_SIM_CACHE_DIR is '$folder', which has files in the repository: expected a folder of this CI system's alone"
    fi
}

install() {
    local package=${ADRENO_CI_PACKAGE:-} extra pins
    case ${ADRENO_CI_TVM:-0.27} in
        0.27) extra=tvm ;;
        0.26) extra=tvm26 ;;
        0.25) extra=tvm25 ;;
        *) die "ADRENO_CI_TVM is '$ADRENO_CI_TVM': expected 0.27, 0.26 or 0.25" ;;
    esac
    if [[ $package =~ ^git\+[a-z]+://.+@[0-9a-f]{40}$ ]]; then
        package="adreno-sim @ $package"
    elif [[ $package != */* || ! -f $package/pyproject.toml ]]; then
        die "ADRENO_CI_PACKAGE is '$package': expected git+https://HOST/OWNER/adreno-sim@COMMIT with all 40 digits, or the path" \
            "of a folder of adreno-sim; a name from an index is not taken, as adreno-sim is not this project's there"
    fi
    "${PYTHON:-python3}" -m venv "$VENV" || exit 2
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$package" || exit 2
    # What it needs is pinned by its commit: versions and hashes, so that nothing else is installed.
    # -I: not a folder of that name in the repository
    pins=$("$VENV/bin/python" -I -c 'import importlib.util as u; print(u.find_spec("adreno_sim").submodule_search_locations[0])') || exit 2
    pins=$pins/pins/$extra.txt
    [ -f "$pins" ] || die "this commit of adreno-sim has no pins for TVM ${ADRENO_CI_TVM:-0.27}: name a newer one in ADRENO_CI_PACKAGE"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$pins" || exit 2
    adreno_sim --version
}

check() {
    local status annotations=
    local -a files
    models >/dev/null
    mapfile -t files < <(models)
    [ -n "${GITHUB_ACTIONS:-}" ] && annotations=--annotations
    mkdir -p "$OUT" || exit 2
    # shellcheck disable=SC2086 # lists of words
    adreno_sim sweep "${files[@]}" --profiles $PROFILES ${TARGETS:+--targets $TARGETS} --results "$OUT/cases" --json "$OUT/sweep.json" \
        --markdown "$OUT/sweep.md" --sarif "$OUT/findings.sarif" --code-quality "$OUT/code-quality.json" \
        $annotations ${ADRENO_CI_OPTIONS:-}
    status=$?
    summary "$OUT/sweep.md"
    return $status
}

# The commit that a revision means, fetched where the clone is shallow.
commit_of() {
    git rev-parse --verify --quiet "$1^{commit}" && return
    git fetch --quiet --depth=1 origin "${1#origin/}" >&2 && git rev-parse FETCH_HEAD && return
    die "git revision '$1' is not known here"
}

footprint() {
    local base=${1:-} commit tree="" status=0 result name
    local -a files old
    models >/dev/null
    mapfile -t files < <(models)
    mkdir -p "$OUT/footprint" || exit 2
    if [ -n "$base" ]; then
        commit=$(commit_of "$base") || exit 2
        tree=$(mktemp -d) || exit 2
        git worktree add --quiet --detach "$tree/base" "$commit" || exit 2
        # shellcheck disable=SC2064 # the folder is known now
        trap "git worktree remove --force '$tree/base'; rmdir '$tree'" EXIT
    fi
    echo "### Memory plans${base:+, beside those of $base}" >"$OUT/footprint.md"
    for path in "${files[@]}"; do
        name=${path//\//_}
        old=()
        if [ -n "$tree" ] && [ -f "$tree/base/$path" ]; then
            plan "$tree/base/$path" --json "$OUT/footprint/$name.base.json" >/dev/null
            [ -f "$OUT/footprint/$name.base.json" ] && old=(--compare "$OUT/footprint/$name.base.json")
        fi
        plan "$path" --json "$OUT/footprint/$name.json" --markdown "$OUT/footprint/$name.md" "${old[@]}" \
            ${ADRENO_CI_BUDGET:+--budget "$ADRENO_CI_BUDGET"}
        result=$?
        [ $status -eq 0 ] && status=$result
        { echo; [ -f "$OUT/footprint/$name.md" ] && cat "$OUT/footprint/$name.md"; } >>"$OUT/footprint.md"
    done
    summary "$OUT/footprint.md"
    return $status
}

# The plan of a model on the first profile, for the first target.
plan() {
    local target=${TARGETS%% *}
    case $1 in *.asim) target= ;; esac # a bundle has its own
    adreno_sim footprint "$1" --device "${PROFILES%% *}" ${target:+--target "$target"} \
        --planners "${ADRENO_CI_PLANNERS:-tvm,tvm-fixed,arena}" "${@:2}"
}

summary() {
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$1" ]; then
        cat "$1" >>"$GITHUB_STEP_SUMMARY"
    fi
}

refuse_committed_cache
case ${1:-} in
    install) install ;;
    check) check ;;
    footprint) footprint "${2:-}" ;;
    *) die "expected install, check or footprint [BASE]; settings are listed at the top of $0" ;;
esac
