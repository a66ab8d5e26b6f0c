#!/usr/bin/env bash
# The simulator on Arm, in qemu's emulation of single programs: Debian's arm64 Python in a folder, wheels for aarch64, some tests,
# and random kernels and the corpus bit by bit against this machine. Needs Debian on x86-64, root, and
#   apt-get install qemu-user-static debootstrap
#   bash ci/arm.sh FOLDER              # makes FOLDER (2.3 GB, some ten minutes) where it is not there, then tests
#   bash ci/arm.sh FOLDER COMMAND...   # one command in it; FEATURES=-fullfp16 for a processor without halves
# clang there is the one of x86-64: what it compiles is for the processor that it is given, and its speed is the machine's.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -ge 1 ] || { echo "usage: bash ci/arm.sh FOLDER [COMMAND...]" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "error: expected root, which chroot and mount need" >&2; exit 2; }
for tool in qemu-aarch64-static debootstrap; do
    command -v "$tool" >/dev/null || { echo "error: no $tool; next: apt-get install qemu-user-static debootstrap" >&2; exit 2; }
done
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
shift

# The kernel starts programs for aarch64 with qemu, opened here (F), so that the folder needs none.
register() {
    local formats=/proc/sys/fs/binfmt_misc magic mask
    [ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats || exit 2
    grep -qs "^interpreter .*aarch64" $formats/* && return
    magic='\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf '%s' ":aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):OCF" >$formats/register || exit 2
}

install() {
    local python target=$folder/opt/site
    python=$(find_python) || exit 2
    debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,libgcc-s1,libstdc++6,libatomic1 bookworm "$folder" || exit 2
    chroot "$folder" /debootstrap/debootstrap --second-stage || exit 2
    "$python" "$ROOT/ci/arm/wheels.py" | while read -r words; do
        # shellcheck disable=SC2086 # several words
        "$python" -m pip install --quiet --disable-pip-version-check --target "$target" $words || exit 2
    done || exit 2
    touch "$folder/.complete"
}

place() { mountpoint -q "$folder$2" || { mkdir -p "$folder$2" && mount $3 "$1" "$folder$2"; } || exit 2; }

enter() {
    chroot "$folder" env -i PATH=/usr/bin:/bin HOME=/root PYTHONPATH="/opt/site:$ROOT" PYTHONDONTWRITEBYTECODE=1 \
        ADRENO_SIM_CACHE_DIR=/var/cache/adreno-sim ADRENO_SIM_CPU_FEATURES="${FEATURES:-}" "$@"
}

register
[ -e "$folder/.complete" ] || install
place proc /proc "-t proc"
place /dev /dev --bind
place "$ROOT" "$ROOT" "--bind -o ro"
mountpoint -q "$folder/proc/cpuinfo" || mount --bind "$ROOT/ci/arm/cpuinfo" "$folder/proc/cpuinfo" || exit 2
if [ $# -gt 0 ]; then
    enter "$@"
    exit
fi
tests="tests/kernels/language/test_least_normal.py tests/unit/engine/test_processors.py tests/unit/engine/test_far_sections.py
    tests/unit/engine/test_flush_after_rounding.py tests/unit/engine/threads/test_worker_pool.py tests/unit/runtime/test_symbols.py"
status=0
# shellcheck disable=SC2086 # several words
enter sh -c "cd '$ROOT' && python3 -m pytest -q -p no:cacheprovider $(echo $tests)" || status=1
python=$(find_python) && "$python" "$ROOT/ci/arm/compare.py" "$folder" || status=1
exit $status
