/* The link to the server: opened at the first look at platforms, given up when the server ends or after fork. */
#define _GNU_SOURCE
#include "misuse.h"
#include "places.h"
#include "schedule.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#define MFD_ALLOW_SEALING 2u
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif
#ifndef SYS_memfd_create
#define SYS_memfd_create 319
#endif

#define START_SECONDS 120
/* A reply that has begun goes on within so many seconds, and is no longer than the server's requests may be. When it begins only
   the work that was asked for says; meanwhile the server shows every second that it lives. One that has not for so long is given
   up: long enough for a machine that has better to do. */
#define REPLY_SECONDS 20
#define SILENT_SECONDS 120
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
/* What counts of the time between two looks: this process, or the whole machine, may have been stopped in between. */
#define LOOK_SECONDS 2
#define SECOND 1000000000ull
#define MOST_REPLY (256u << 20)
#define GONE "from now on OpenCL's functions return CL_DEVICE_NOT_AVAILABLE"

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct link *_Atomic current;
static bool told;

static void tell(const char *what) {
    if (!told) fprintf(stderr, "adreno-sim: %s\n", what);
    told = true;
}

struct link *link_current(void) { return atomic_load(&current); }

/* Whether the server has shown that it lives, as often as it was looked for. */
static bool shows_life(struct link *link) {
    uint64_t now = now_ns();
    uint32_t beats = atomic_load((_Atomic uint32_t *)(link->page + ADRENO_AT_ALIVE));
    pthread_mutex_lock(&link->looking);
    uint64_t past = now > link->looked ? now - link->looked : 0;
    if (beats != link->beats || !link->looked)
        link->silent = 0;
    else
        link->silent += past < LOOK_SECONDS * SECOND ? past : LOOK_SECONDS * SECOND;
    link->beats = beats;
    link->looked = now;
    bool lives = link->silent < SILENT_SECONDS * SECOND;
    pthread_mutex_unlock(&link->looking);
    return lives;
}

/* Waits until the socket takes or has data, for as long as the server lives. */
static bool await_socket(struct link *link, short events) {
    struct pollfd watched = {.fd = link->socket, .events = events};
    for (;;) {
        int found = poll(&watched, 1, 1000);
        if (found > 0) return (watched.revents & events) != 0;
        if ((found < 0 && errno != EINTR) || link_ended(link)) return false;
    }
}

/* Sends all of `data`, with the descriptors `files` beside its first byte. */
static bool send_all(struct link *link, const void *data, size_t size, const int *files, unsigned count) {
    const uint8_t *at = data;
    while (size) {
        struct iovec part = {(void *)at, size};
        union {
            struct cmsghdr header;
            char room[CMSG_SPACE(2 * sizeof(int))];
        } beside;
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (count) {
            message.msg_control = beside.room;
            message.msg_controllen = CMSG_SPACE(count * sizeof(int));
            memset(&beside, 0, sizeof beside);
            struct cmsghdr *header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(count * sizeof(int));
            memcpy(CMSG_DATA(header), files, count * sizeof(int));
        }
        ssize_t sent = sendmsg(link->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN && await_socket(link, POLLOUT)) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
        count = 0;
    }
    return true;
}

static bool wait_readable(int socket, int seconds) {
    struct pollfd watched = {.fd = socket, .events = POLLIN};
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    time_t end = now.tv_sec + seconds;
    for (;;) {
        int found = poll(&watched, 1, 1000);
        if (found > 0) return (watched.revents & POLLIN) != 0;
        if (found < 0 && errno != EINTR) return false;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec >= end) return false;
    }
}

/* Receives exactly `size` bytes, and a descriptor into `file` if one comes along. Closes any more. */
static bool receive_all(int socket, void *data, size_t size, int *file) {
    uint8_t *at = data, *start = data;
    while (size) {
        if (at != start && !wait_readable(socket, REPLY_SECONDS)) return false;
        struct iovec part = {at, size};
        union {
            struct cmsghdr header;
            char room[CMSG_SPACE(4 * sizeof(int))];
        } beside;
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = beside.room, .msg_controllen = sizeof beside};
        ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
            if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
            for (size_t i = 0; i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
                int found;
                memcpy(&found, CMSG_DATA(header) + i * sizeof found, sizeof found);
                if (file && *file < 0)
                    *file = found;
                else
                    close(found);
            }
        }
        at += got;
        size -= (size_t)got;
    }
    return true;
}

/* One request and its reply; `files` go along, a descriptor may come back in `file`. */
static cl_int exchange(struct link *link, uint32_t kind, struct bytes *body, struct bytes *reply, const int *files, int *file,
                       int seconds) {
    uint32_t head[3] = {(uint32_t)body->size, kind, kind == ADRENO_REQUEST_PLACE ? 0 : count_request()};
    _Static_assert(sizeof head == ADRENO_SIZE_REQUEST, "REQUEST");
    struct {
        uint32_t size;
        int32_t status;
    } answer;
    _Static_assert(sizeof answer == ADRENO_SIZE_REPLY, "REPLY");
    if (body->failed) return CL_OUT_OF_HOST_MEMORY;
    if (!send_all(link, head, sizeof head, files, files ? 2 : 0) || !send_all(link, body->data, body->size, NULL, 0) ||
        !(seconds ? wait_readable(link->socket, seconds) : await_socket(link, POLLIN)) ||
        !receive_all(link->socket, &answer, sizeof answer, file))
        return CL_DEVICE_NOT_AVAILABLE;
    uint8_t *data = answer.size > MOST_REPLY ? NULL : malloc((size_t)answer.size + 1);
    if (!data || (answer.size && !wait_readable(link->socket, REPLY_SECONDS)) ||
        !receive_all(link->socket, data, answer.size, file)) {
        free(data);
        return CL_DEVICE_NOT_AVAILABLE; /* the stream is out of step: the link is of no use any more */
    }
    data[answer.size] = 0;
    *reply = (struct bytes){.data = data, .size = answer.size};
    return answer.status;
}

cl_int link_request(struct link *link, uint32_t kind, struct bytes *body, struct bytes *reply) {
    struct bytes unused = {0};
    if (!reply) reply = &unused;
    *reply = (struct bytes){0};
    cl_int status = CL_DEVICE_NOT_AVAILABLE;
    pthread_mutex_lock(&link->talk);
    if (!link_lost(link)) status = exchange(link, kind, body, reply, NULL, NULL, 0);
    pthread_mutex_unlock(&link->talk);
    if (status == CL_DEVICE_NOT_AVAILABLE && !reply->data && !link_lost(link)) link_lose(link);
    free(body->data);
    free(unused.data);
    return status;
}

bool link_ended(struct link *link) {
    struct pollfd watched = {.fd = link->socket, .events = POLLRDHUP};
    if (poll(&watched, 1, 0) > 0 && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) return true;
    if (shows_life(link)) return false;
    if (link->owner == getpid()) tell("the simulator has shown no sign of life for " TEXT(SILENT_SECONDS) " s; " GONE);
    return true;
}

bool link_check(struct link *link) {
    if (link_lost(link)) return false;
    if (link_ended(link)) link_lose(link);
    return !link_lost(link);
}

void link_lose(struct link *link) {
    bool ours = link->owner == getpid();
    if (link_lost(link)) return;
    if (ours && atomic_exchange(&link->losing, true)) {
        while (!link_lost(link)) sched_yield();
        return;
    }
    /* First: whoever sees that the link is lost may end the program. */
    if (ours) tell("the simulator has ended; " GONE);
    if (atomic_exchange(&link->lost, true)) return;
    if (ours) shutdown(link->socket, SHUT_RDWR); /* whoever waits for a reply goes on */
    state_lock(link);
    schedule_abandon(link);
    state_unlock(link);
}

static uint8_t *share(size_t size, int *file) {
    *file = (int)syscall(SYS_memfd_create, "adreno-sim", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*file < 0 || ftruncate(*file, (off_t)size)) return NULL;
    fcntl(*file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *file, 0);
    return found == MAP_FAILED ? NULL : found;
}

/* Notes where the answers of a list [u32 query, s answer] lie. */
static const uint8_t *read_answers(struct reader *from, uint32_t *count) {
    uint32_t unused;
    *count = get_u32(from);
    const uint8_t *start = from->at;
    for (uint32_t i = 0; i < *count && !from->failed; i++) {
        get_u32(from);
        get_block(from, &unused);
    }
    return start;
}

const void *link_answer(const uint8_t *answers, uint32_t count, cl_uint query, uint32_t *size) {
    struct reader from = {answers, (const uint8_t *)UINTPTR_MAX, false}; /* its bounds were checked when it came */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name = get_u32(&from);
        const void *found = get_block(&from, size);
        if (name == query) return found;
    }
    return NULL;
}

static void read_version(struct link *link) {
    uint32_t size;
    const char *version = link_answer(link->device_answers, link->device_count, CL_DEVICE_VERSION, &size);
    unsigned major = 3, minor = 0;
    char text[16] = "";
    if (version) memcpy(text, version, size < sizeof text ? size : sizeof text - 1);
    if (sscanf(text, "OpenCL %u.%u", &major, &minor) != 2) major = 3, minor = 0;
    link->version = 100 * major + 10 * minor;
}

static const char *greet(struct link *link, int socket) {
    int files[2] = {-1, -1}, heap = -1;
    struct bytes body = {0};
    link->socket = socket;
    link->page = share(ADRENO_LINK_BYTES, &files[0]);
    link->staging = share(ADRENO_STAGING_BYTES, &files[1]);
    const char *wrong = link->page && link->staging ? NULL : "memory cannot be shared with the simulator";
    if (!wrong) {
        ring_open(link);
        put_u32(&body, ADRENO_VERSION);
        put_text(&body, program_invocation_short_name);
        cl_int status = exchange(link, ADRENO_REQUEST_HELLO, &body, &link->hello, files, &heap, START_SECONDS);
        if (status) wrong = link->hello.data ? (const char *)link->hello.data : "the simulator ended before it answered";
    }
    close(files[0]);
    close(files[1]);
    free(body.data);
    if (wrong) return wrong;
    struct reader from = {link->hello.data, link->hello.data + link->hello.size, false};
    link->heap_bytes = get_u64(&from);
    void *same = (void *)(uintptr_t)get_u64(&from);
    link->platform_answers = read_answers(&from, &link->platform_count);
    link->device_answers = read_answers(&from, &link->device_count);
    link->format_count = get_u32(&from);
    link->formats = get(&from, (size_t)link->format_count * 12);
    if (from.failed || heap < 0) return "the simulator's answer is cut short: is it of another version?";
    void *mapped = mmap(same, link->heap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, heap, 0);
    close(heap);
    if (mapped == MAP_FAILED) return "the device's memory cannot be mapped (is the address space limited?)";
    link->heap = mapped;
    link->shares_addresses = mapped == same;
    read_version(link);
    return NULL;
}

static void prepare_fork(void) {
    struct link *link = link_current();
    pthread_mutex_lock(&opening);
    if (link) pthread_mutex_lock(&link->state);
    objects_lock();
    misuses_lock();
}

static void after_fork_in_parent(void) {
    struct link *link = link_current();
    misuses_unlock();
    objects_unlock();
    if (link) pthread_mutex_unlock(&link->state);
    pthread_mutex_unlock(&opening);
}

static void after_fork_in_child(void) {
    struct link *link = link_current();
    objects_after_fork();
    misuses_after_fork();
    places_after_fork();
    pthread_mutex_init(&opening, NULL);
    if (!link) return;
    pthread_mutex_init(&link->state, NULL);
    pthread_mutex_init(&link->talk, NULL);
    pthread_mutex_init(&link->looking, NULL);
    pthread_cond_init(&link->changed, NULL);
    pthread_cond_init(&link->to_call, NULL);
    close(link->socket); /* or the server would not see the parent end */
    link->socket = -1;
    link->waiting = 0;
    link->caller_runs = true; /* none runs in the child, and none is wanted */
    link->first_callback = link->last_callback = NULL;
    atomic_store(&link->lost, true);
    schedule_abandon(link);
    atomic_store(&current, NULL);
    told = false;
}

static void give_up(struct link *link) {
    if (link->page) munmap(link->page, ADRENO_LINK_BYTES);
    if (link->staging) munmap(link->staging, ADRENO_STAGING_BYTES);
    if (link->socket >= 0) close(link->socket);
    free(link->hello.data);
    free(link);
}

struct link *link_open(void) {
    struct link *link = link_current();
    if (link) return link;
    pthread_mutex_lock(&opening);
    link = link_current();
    if (!link && (link = calloc(1, sizeof *link))) {
        static bool once;
        char why[4400] = "no socket can be made";
        int ends[2];
        link->owner = getpid();
        link->socket = -1;
        pthread_mutex_init(&link->talk, NULL);
        pthread_mutex_init(&link->looking, NULL);
        pthread_mutex_init(&link->state, NULL);
        pthread_cond_init(&link->changed, NULL);
        pthread_cond_init(&link->to_call, NULL);
        const char *wrong = why;
        int joined = join_server();
        if (joined >= 0)
            wrong = greet(link, joined);
        else if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
            bool started = start_server(ends[1], why, sizeof why);
            close(ends[1]);
            wrong = started ? greet(link, ends[0]) : why;
            if (!started) close(ends[0]);
        }
        if (wrong) {
            tell(wrong);
            give_up(link);
            link = NULL;
        } else {
            if (!once) pthread_atfork(prepare_fork, after_fork_in_parent, after_fork_in_child);
            once = true;
            atomic_store(&current, link);
        }
    }
    pthread_mutex_unlock(&opening);
    return link;
}

struct leaks {
    struct bytes list;
    uint32_t count;
};

static void add_leak(const struct object *object, enum kind kind, void *data) {
    struct leaks *leaks = data;
    char where[640], code[600];
    const char *frame = text_of_place(object->place);
    if (frame) snprintf(code, sizeof code, "%s", frame);
    else describe_address(code, sizeof code, object->made_at);
    snprintf(where, sizeof where, *code ? "call %u, from %s" : "call %u", object->call, code);
    put_text(&leaks->list, object_kind_name(kind));
    put_text(&leaks->list, where);
    leaks->count++;
}

/* Last words, when the host's program ends in order. The library stays loaded until then (-z nodelete). */
__attribute__((destructor)) static void close_link(void) {
    struct link *link = link_current();
    if (!link || link->owner != getpid() || link_lost(link)) return;
    if (has_misuses()) tell_misuses();
    if (pthread_mutex_trylock(&link->talk)) return; /* another thread is amid a request: the socket's end says enough */
    struct leaks leaks = {0};
    struct bytes body = {0}, reply = {0};
    objects_for_leaks(add_leak, &leaks);
    put_u32(&body, leaks.count);
    put(&body, leaks.list.data, leaks.list.size);
    if (!leaks.list.failed) exchange(link, ADRENO_REQUEST_CLOSE, &body, &reply, NULL, NULL, START_SECONDS);
    shutdown(link->socket, SHUT_RDWR);
    atomic_store(&link->lost, true);
    pthread_mutex_unlock(&link->talk);
    free(reply.data);
    free(body.data);
    free(leaks.list.data);
}
