/* A server from the process that `adreno-sim run` has begun beside its command. A copy of that compares what it would inherit of this
 * process with what it is (start/alike.py), and turns this process away where that differs. */
#define _GNU_SOURCE
#include "../core/link.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 60 /* it may still import */

extern char **environ;

/* Whether this process may look at the server's. One that has restricted itself by Landlock may not, and nothing else tells that: its
 * server, which would be restricted too, is one that it starts. */
static bool reaches(int socket) {
    struct ucred peer;
    socklen_t room = sizeof peer;
    char path[64], unused[PATH_MAX];
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &room) || peer.uid != geteuid()) return false;
    snprintf(path, sizeof path, "/proc/%ld/ns/mnt", (long)peer.pid);
    return readlink(path, unused, sizeof unused) > 0;
}

static int connect_to(const char *path) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof name.sun_path) return -1;
    strcpy(name.sun_path, path);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) return -1;
    bool is_stream = made <= STDERR_FILENO; /* one is closed, and this number would be sent as the stream */
    if (!is_stream && !connect(made, (struct sockaddr *)&name, sizeof name) && reaches(made)) return made;
    close(made);
    return -1;
}

/* Sends `data` and, beside its first byte, the standard streams to which the server writes. */
static bool send_with_streams(int socket, const void *data, size_t size) {
    const int streams[2] = {1, 2};
    struct iovec part = {(void *)data, size};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof streams)];
    } beside;
    memset(&beside, 0, sizeof beside);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = beside.room, .msg_controllen = sizeof beside.room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof streams);
    memcpy(CMSG_DATA(header), streams, sizeof streams);
    ssize_t sent;
    while ((sent = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {}
    return sent == (ssize_t)size; /* a closed stream: EBADF */
}

static bool send_rest(int socket, const char *at, size_t size) {
    while (size) {
        ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Says what the server would inherit that other processes do not see of this one: the thread that asks, and its environment. */
static bool introduce(int socket) {
    size_t size = 0;
    for (char **each = environ; each && *each; each++) size += strlen(*each) + 1;
    if (size > ADRENO_JOIN_MOST) return false;
    uint32_t head[2] = {(uint32_t)syscall(SYS_gettid), (uint32_t)size};
    _Static_assert(sizeof head == ADRENO_SIZE_JOIN, "JOIN");
    char *block = malloc(size + 1), *at = block;
    if (!block) return false;
    for (char **each = environ; each && *each && at + strlen(*each) < block + size; each++) at = stpcpy(at, *each) + 1;
    bool sent = at == block + size && send_with_streams(socket, head, sizeof head) && send_rest(socket, block, size);
    free(block);
    return sent;
}

static bool is_taken(int socket) {
    struct pollfd watched = {.fd = socket, .events = POLLIN};
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + WAIT_SECONDS;
    for (;;) {
        char answer = 0;
        int found = poll(&watched, 1, 1000);
        if (found > 0) return recv(socket, &answer, 1, 0) == 1 && answer == 1;
        if (found < 0 && errno != EINTR) return false;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec >= end) return false;
    }
}

int join_server(void) {
    const char *path = getenv(ADRENO_STANDBY);
    if (!path || !*path) return -1;
    int made = connect_to(path);
    if (made >= 0 && introduce(made) && is_taken(made)) return made;
    if (made >= 0) close(made);
    return -1;
}
