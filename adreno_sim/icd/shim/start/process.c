/* The server's process: no child of the host's program, in a session of its own, so that neither Ctrl-C nor wait() sees it. */
#define _GNU_SOURCE
#include "../core/link.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef __WALL
#define __WALL 0x40000000
#endif

/* Python before 3.11 knows no PYTHONSAFEPATH, and looks into the host's folder first, which may hold a file of any name. */
#define SERVE "import sys; sys.path[:] = [path for path in sys.path if path]; from adreno_sim.icd.__main__ import main; main()"

extern char **environ;

/* Forks without the handlers of pthread_atfork, and without a signal when the child ends. Only system calls may follow in it.
 * qemu's emulation of single programs has no fork without that signal. */
static pid_t fork_quietly(void) {
    pid_t child = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
    return child < 0 && errno == EINVAL ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : child;
}

static bool find_program(const char *name, char *path, size_t room) {
    if (strchr(name, '/')) {
        snprintf(path, room, "%s", name);
        return access(path, X_OK) == 0;
    }
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        snprintf(path, room, "%.*s/%s", (int)length, at, name);
        if (length && access(path, X_OK) == 0) return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* The server's environment: the host's, without what is loaded into the host, and without the working folder on Python's path. */
static char **server_environment(void) {
    static char safe[] = "PYTHONSAFEPATH=1";
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **made = malloc((count + 2) * sizeof *made);
    if (!made) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "PYTHONSAFEPATH=", 15)) made[kept++] = environ[i];
    made[kept++] = safe;
    made[kept] = NULL;
    return made;
}

/* Closes what the host's program has open, for it would not end for others while the server has it. */
static void close_behind(int last_kept) {
    if (syscall(SYS_close_range, (unsigned)last_kept + 1, ~0u, 0u) == 0) return;
    struct rlimit most;
    long end = getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < 65536 ? (long)most.rlim_cur : 65536;
    for (long file = last_kept + 1; file < end; file++) close((int)file);
}

static void become_server(const char *path, char *const *words, char *const *environment, int socket, int told) {
    sigset_t none;
    setsid();
    pid_t second = fork_quietly();
    if (second != 0) _exit(second < 0);
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) dup2(nothing, 0);
    dup2(socket, 3); /* behind the standard streams there are the socket and the pipe that tells why exec failed */
    dup2(told, 4);
    fcntl(3, F_SETFD, 0);
    fcntl(4, F_SETFD, FD_CLOEXEC);
    close_behind(4);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(path, words, environment);
    int why = errno;
    if (write(4, &why, sizeof why) < 0) _exit(126);
    _exit(127);
}

bool start_server(int socket, char *why, size_t room) {
    char path[PATH_MAX];
    const char *python = getenv("ADRENO_SIM_PYTHON");
    if (!python || !*python) python = "python3";
    if (!find_program(python, path, sizeof path)) {
        snprintf(why, room, "%s is not a program; ADRENO_SIM_PYTHON names the Python that adreno-sim is installed in", python);
        return false;
    }
    char *words[] = {path, "-c", SERVE, "3", NULL};
    char **environment = server_environment();
    int pipes[2];
    if (!environment || pipe2(pipes, O_CLOEXEC)) {
        snprintf(why, room, "no memory or files left");
        free(environment);
        return false;
    }
    /* Above 4, so that neither lies where the other is to be copied. */
    int end = fcntl(socket, F_DUPFD_CLOEXEC, 10), told = fcntl(pipes[1], F_DUPFD_CLOEXEC, 10);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t first = end < 0 || told < 0 ? -1 : fork_quietly();
    if (first == 0) become_server(path, words, environment, end, told);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pipes[1]);
    close(told);
    close(end);
    int failed = errno, status = 0;
    if (first > 0) {
        while (waitpid(first, &status, __WALL) < 0 && errno == EINTR) {}
        ssize_t got;
        while ((got = read(pipes[0], &failed, sizeof failed)) < 0 && errno == EINTR) {}
        if (got <= 0) failed = 0;
    }
    close(pipes[0]);
    free(environment);
    if (first > 0 && failed == 0) return true;
    snprintf(why, room, "%s did not start: %s", path, strerror(failed));
    return false;
}
