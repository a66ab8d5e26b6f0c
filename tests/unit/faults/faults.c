/* Makes one call that touches a file fail: the n-th after faults_start, of those on files below a folder. Loaded before libc's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <unistd.h>

static char below[PATH_MAX];
static long calls, fails_at;
static int fails_with, is_on;

/* From now on the call `at` fails with `error`; 0 cuts a write short instead. */
void faults_start(const char *folder, long at, int error) {
    snprintf(below, sizeof below, "%s", folder);
    calls = 0, fails_at = at, fails_with = error, is_on = 1;
}

/* Returns how many calls there were. */
long faults_stop(void) {
    is_on = 0;
    return calls;
}

static int fails(const char *path) {
    if (!is_on || !path || strncmp(path, below, strlen(below)) || ++calls != fails_at || !fails_with) return 0;
    errno = fails_with;
    return 1;
}

static const char *path_of(int file, char *room) {
    char link[64];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = is_on ? readlink(link, room, PATH_MAX - 1) : -1;
    errno = before;
    if (size < 0) return NULL;
    room[size] = 0;
    return room;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(mode, flags)                                           \
    mode_t mode = 0;                                                \
    if (flags & (O_CREAT | O_TMPFILE)) {                            \
        va_list more;                                               \
        va_start(more, flags), mode = va_arg(more, mode_t), va_end(more); \
    }

int open(const char *path, int flags, ...) {
    MODE(mode, flags)
    return fails(path) ? -1 : REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(mode, flags)
    return fails(path) ? -1 : REAL(open64)(path, flags, mode);
}
int rename(const char *from, const char *to) { return fails(to) ? -1 : REAL(rename)(from, to); }
int link(const char *from, const char *to) { return fails(to) ? -1 : REAL(link)(from, to); }
int linkat(int a, const char *from, int b, const char *to, int flags) { return fails(to) ? -1 : REAL(linkat)(a, from, b, to, flags); }
int mkdir(const char *path, mode_t mode) { return fails(path) ? -1 : REAL(mkdir)(path, mode); }
int unlink(const char *path) { return fails(path) ? -1 : REAL(unlink)(path); }
int fsync(int file) {
    char room[PATH_MAX];
    return fails(path_of(file, room)) ? -1 : REAL(fsync)(file);
}
int fchmod(int file, mode_t mode) {
    char room[PATH_MAX];
    return fails(path_of(file, room)) ? -1 : REAL(fchmod)(file, mode);
}
ssize_t write(int file, const void *data, size_t size) {
    char room[PATH_MAX];
    const char *path = path_of(file, room);
    if (fails(path)) return -1;
    int is_cut = is_on && path && !fails_with && calls == fails_at && !strncmp(path, below, strlen(below));
    return REAL(write)(file, data, is_cut && size > 1 ? size / 2 : size);
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t size) {
    char room[PATH_MAX];
    return fails(path_of(to, room)) ? -1 : REAL(sendfile64)(to, from, at, size);
}
ssize_t sendfile(int to, int from, off_t *at, size_t size) {
    char room[PATH_MAX];
    return fails(path_of(to, room)) ? -1 : REAL(sendfile)(to, from, at, size);
}
ssize_t read(int file, void *data, size_t size) {
    char room[PATH_MAX];
    return fails(path_of(file, room)) ? -1 : REAL(read)(file, data, size);
}
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    char room[PATH_MAX];
    if (file >= 0 && fails(path_of(file, room))) return MAP_FAILED;
    return REAL(mmap)(at, size, protection, flags, file, offset);
}
void *mmap64(void *at, size_t size, int protection, int flags, int file, off64_t offset) {
    char room[PATH_MAX];
    if (file >= 0 && fails(path_of(file, room))) return MAP_FAILED;
    return REAL(mmap64)(at, size, protection, flags, file, offset);
}
