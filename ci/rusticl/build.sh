#!/usr/bin/env bash
# Mesa's own OpenCL driver for Adreno (rusticl with freedreno), for Arm, in qemu: it compiles kernels, and no GPU is needed, as a library
# of Mesa's answers for the kernel's driver. Debian's packages in a folder (1 GB, some ten minutes). Needs Debian on x86-64, root, and
#   apt-get install qemu-user-static debootstrap
#   bash ci/rusticl/build.sh FOLDER
#   python tests/kernels/corpora/rusticl.py CORPORA FOLDER      # its machine code beside the simulator's: docs/machine-code.md
set -eu
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
[ $# -eq 1 ] || { echo "usage: bash ci/rusticl/build.sh FOLDER" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "error: expected root, which chroot needs" >&2; exit 2; }
for tool in qemu-aarch64-static debootstrap dpkg curl; do
    command -v "$tool" >/dev/null || { echo "error: no $tool; next: apt-get install qemu-user-static debootstrap dpkg curl" >&2; exit 2; }
done
mkdir -p "$1" && folder=$(cd "$1" && pwd)
root=$folder/root mesa=$folder/mesa-25.0.7 pool=http://deb.debian.org/debian
python=$(find_python)
export ZIG_GLOBAL_CACHE_DIR=$folder/zig ZIG_LOCAL_CACHE_DIR=$folder/zig

if [ ! -d "$root" ]; then
    debootstrap --arch=arm64 --foreign --include=mesa-opencl-icd,ocl-icd-libopencl1,libdrm-dev trixie "$root.part" $pool
    for package in "$root.part"/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$root.part"; done
    cp "$(command -v qemu-aarch64-static)" "$root.part/"
    mv "$root.part" "$root"
fi

if [ ! -d "$mesa" ]; then
    curl -fsS -o "$folder/mesa.tar.xz" $pool/pool/main/m/mesa/mesa_25.0.7.orig.tar.xz
    echo "592272df3cf01e85e7db300c449df5061092574d099da275d19e97ef0510f8a6  $folder/mesa.tar.xz" | sha256sum -c --quiet
    tar -x -f "$folder/mesa.tar.xz" -C "$folder" mesa-25.0.7/{include,src/c11,src/drm-shim,src/freedreno/drm-shim,src/util}
    # zig's headers of the C library have a type once_flag of their own, and its initial value
    sed -i -e '/^typedef pthread_once_t *once_flag;/d' -e '/define ONCE_FLAG_INIT PTHREAD_ONCE_INIT/d' "$mesa/src/c11/threads.h"
    sed -i 's/pthread_once(flag, func)/pthread_once((pthread_once_t *)flag, func)/' "$mesa/src/c11/impl/threads_posix.c"
fi

cc() { "$python" -m ziglang cc -target aarch64-linux-gnu.2.36 -O1 -Wno-everything "$@"; }
(
    cd "$mesa"
    has=(PTHREAD STRUCT_TIMESPEC TIMESPEC_GET SECURE_GETENV MEMFD_CREATE ENDIAN_H FUNC_ATTRIBUTE_PACKED)
    builtins=(FFS FFSLL CLZ CLZLL CTZ POPCOUNT POPCOUNTLL UNREACHABLE EXPECT)
    util=(hash_table set ralloc u_debug anon_file simple_mtx os_misc log u_printf u_call_once strtod u_process vma os_file blob rb_tree)
    cc -fPIC -shared -fvisibility=hidden -D_GNU_SOURCE "${has[@]/#/-DHAVE_}" "${builtins[@]/#/-DHAVE___BUILTIN_}" \
        -DUTIL_ARCH_LITTLE_ENDIAN=1 -DUTIL_ARCH_BIG_ENDIAN=0 -DPACKAGE_VERSION='"25.0.7"' \
        -Iinclude -Isrc -I"$root/usr/include" -I"$root/usr/include/libdrm" \
        src/drm-shim/device.c src/drm-shim/drm_shim.c src/freedreno/drm-shim/freedreno_noop.c src/c11/impl/threads_posix.c \
        $(printf 'src/util/%s.c ' "${util[@]}") -o "$root/usr/lib/libshim.so" -ldl -lpthread -lm -Wl,-z,defs
)
cc "$ROOT/ci/rusticl/client.c" -o "$root/client" "$root/usr/lib/aarch64-linux-gnu/libOpenCL.so.1"
mkdir -p "$root/kernels" "$root/tmp"
echo "$folder is there"
