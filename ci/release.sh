#!/usr/bin/env bash
# Build the distributions of the commit that is checked out, and check each in an environment of its own. Uploads nothing.
# Everything that it installs is pinned by version and hash (ci/pins, made by ci/pins.sh).
#   bash ci/release.sh FOLDER           FOLDER gets the source distribution, a wheel for any platform, one for Linux on x86-64, notes
#                                       from the changelog, a bill of materials, and the files' hashes
#   bash ci/release.sh FOLDER --tag     and the commit gets the tag vVERSION
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -eq 1 ] || [ "$#/${2:-}" = 2/--tag ] || { echo "usage: bash ci/release.sh FOLDER [--tag]" >&2; exit 2; }
folder=$(realpath -m "$1")
[ ! -e "$folder" ] || { echo "error: $folder is there: expected a folder that this can make" >&2; exit 2; }
git -C "$ROOT" diff --quiet HEAD -- || { echo "error: uncommitted changes: a release is of a commit" >&2; exit 2; }

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$ROOT/pyproject.toml")
grep -q "\"$version\"" "$ROOT/adreno_sim/base/version.py" || { echo "error: base/version.py has another version than $version" >&2; exit 2; }
[ -z "${2:-}" ] || ! git -C "$ROOT" rev-parse -q --verify "refs/tags/v$version" >/dev/null || { echo "error: the tag v$version is there" >&2; exit 2; }
grep -q "^## \[$version\]" "$ROOT/CHANGELOG.md" || { echo "error: CHANGELOG.md has no section [$version]" >&2; exit 2; }
# the notes of a release are its section alone
[ -z "${2:-}" ] || awk '/^## / { inside = /\[Unreleased\]/ } inside && /^- / { exit 1 }' "$ROOT/CHANGELOG.md" \
    || { echo "error: CHANGELOG.md: changes in [Unreleased] would be in the files and not in the notes: give them a version" >&2; exit 2; }

venv=${ADRENO_SIM_VENV:-$ROOT/.venv-release}
make_venv "$venv" release "$ROOT/ci/pins/release.txt" || exit 2
unset PYTHONPATH
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
git -C "$ROOT" archive --prefix=source/ HEAD | tar -x -C "$tree" || exit 2
"$venv/bin/python" -m build --no-isolation --outdir "$folder" "$tree/source" >"$tree/build.log" 2>&1 || { tail -20 "$tree/build.log" >&2; exit 1; }

"$venv/bin/python" "$tree/source/ci/release/prebuild.py" "$tree/source" || exit 1
"$venv/bin/python" -m build --no-isolation --wheel --outdir "$tree/platform" "$tree/source" >"$tree/build.log" 2>&1 || { tail -20 "$tree/build.log" >&2; exit 1; }
"$venv/bin/wheel" tags --remove --platform-tag manylinux_2_17_x86_64 "$tree"/platform/*.whl >/dev/null || exit 1
"$venv/bin/python" "$tree/source/ci/release/platform_wheel.py" "$tree"/platform/*.whl || exit 1
cp "$tree"/platform/*.whl "$folder" || exit 1
"$venv/bin/twine" check --strict "$folder"/* || exit 1

mkdir "$tree/tests" && tar -x -C "$tree/tests" --strip-components=1 -f "$folder/adreno_sim-$version.tar.gz" || exit 1
rm -rf "$tree/tests/adreno_sim"   # what is tested is what is installed
for file in "$folder"/*.whl "$folder"/*.tar.gz; do
    echo "== $(basename "$file")"
    "$(find_python)" -m venv --clear "$tree/venv" || exit 2
    "$tree/venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$ROOT/ci/pins/trial.txt" || exit 1
    "$tree/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$file" || exit 1
    (cd "$tree/tests" && ADRENO_SIM_CACHE_DIR="$tree/cache" "$tree/venv/bin/python" -m pytest -q -n 2 --dist loadfile tests/device tests/unit/test_public_api.py tests/e2e/test_check_command.py) || exit 1
    rm -rf "$tree/cache"
done
"$venv/bin/python" "$tree/source/ci/release/papers.py" "$version" "$folder" || exit 1
"$venv/bin/python" "$tree/source/ci/release/dry_run.py" "$folder" "$version" || exit 1
[ -z "${2:-}" ] || git -C "$ROOT" tag --annotate "v$version" --file "$folder/NOTES.md" --cleanup=verbatim || exit 1
echo "not signed, not uploaded: $(ls "$folder" | tr '\n' ' ')"
