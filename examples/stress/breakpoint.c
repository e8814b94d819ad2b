/*
 * Makes one file operation of a process go wrong. Preloaded into a process, it counts the calls that name, or write
 * to, something below BREAK_DIR, over all threads, and at call number BREAK_AT (from 1) does what BREAK_DO says:
 *
 *   kill    SIGKILL before the call
 *   late    SIGKILL after it; of a write, after half of its bytes
 *   stop    SIGSTOP before the call; whoever started the process continues it
 *   enospc, eio, eacces, edquot, erofs, eintr, estale
 *           the call fails so; a write writes half of its bytes first, which is as bad as a full disk gets (but with
 *           eintr nothing: no kernel says so after it wrote something)
 *
 * Counted are open, opendir, write, pwrite, writev, fsync, fdatasync, fchmod, close, link, unlink, mkdir, rmdir, chmod and
 * lchown, and where what is asked for can come of it also looks: reads (read, pread; for stop, eio, estale, eintr) and
 * attributes (stat, lstat, fstatat, statx; for stop, eio, estale, eacces). Who is killed before a look has changed no more
 * than who is killed after the call before it. Not counted: attributes of open files, the entries that a listing gives
 * after opendir, and paths relative to a descriptor.
 *
 * The name of the call and its path are then written to the file BREAK_NOTE. Without BREAK_DIR nothing is changed.
 * cc -shared -fPIC -O1 -o breakpoint.so breakpoint.c -ldl
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FDS 65536

static atomic_int count;
static atomic_uchar ours[MAX_FDS]; /* descriptors of files below the directory */
static const char *dir;
static size_t dir_length;
static int at;
static int error; /* 0: a signal */
static int late;
static int sig;
static int reads; /* whether these looks are counted */
static int attributes;
static int note = -1;

static ssize_t (*real_write)(int, const void *, size_t);

static void *next(const char *name) {
  void *f = dlsym(RTLD_NEXT, name);
  if (!f) abort();
  return f;
}

__attribute__((constructor)) static void start(void) {
  static const struct { const char *name; int number; } errors[] = {
      {"enospc", ENOSPC}, {"eio", EIO}, {"eacces", EACCES}, {"edquot", EDQUOT},
      {"erofs", EROFS}, {"eintr", EINTR}, {"estale", ESTALE}};
  real_write = next("write");
  const char *what = getenv("BREAK_DO"), *number = getenv("BREAK_AT"), *path = getenv("BREAK_NOTE");
  dir = getenv("BREAK_DIR");
  if (!dir || !what || !number) {
    dir = NULL;
    return;
  }
  dir_length = strlen(dir);
  at = atoi(number);
  sig = SIGKILL;
  if (!strcmp(what, "stop")) sig = SIGSTOP;
  if (!strcmp(what, "late")) late = 1;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (!strcmp(what, errors[i].name)) error = errors[i].number;
  int both = sig == SIGSTOP || error == EIO || error == ESTALE;
  reads = both || error == EINTR;
  attributes = both || error == EACCES;
  int (*real_open)(const char *, int, ...) = next("open");
  if (path) note = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static int below(const char *path) {
  return dir && path && !strncmp(path, dir, dir_length) && (path[dir_length] == '/' || !path[dir_length]);
}

static int is_ours(int fd) { return dir && fd >= 0 && fd < MAX_FDS && ours[fd]; }

static void tell(const char *call, const char *path) {
  char line[PATH_MAX + 64];
  int n = snprintf(line, sizeof line, "%s %s\n", call, path ? path : "");
  if (note >= 0 && n > 0 && real_write(note, line, (size_t)n) < 0) abort();
}

/* To this thread: one to the process may be taken by another, while this one goes on with its call. */
static void signal_here(int number) { syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number); }

enum { PASS, AFTER, FAIL };

/* What is to happen to this call: PASS, be killed AFTER it, or FAIL with errno set. */
static int meet(const char *call, const char *path) {
  if (atomic_fetch_add(&count, 1) + 1 != at) return PASS;
  tell(call, path);
  if (error) {
    errno = error;
    return FAIL;
  }
  if (late) return AFTER;
  signal_here(sig);
  while (sig == SIGKILL) pause();
  return PASS;
}

static void die(void) {
  signal_here(SIGKILL);
  for (;;) pause();
}

static const char *path_of(int fd, char *buffer, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, buffer, size - 1);
  buffer[n < 0 ? 0 : n] = 0;
  return buffer;
}

/* A call about a path: RESULT is what it gives, CALL the real one. */
#define ON_PATH(NAME, PATH, CALL)                \
  do {                                           \
    int fate_ = below(PATH) ? meet(NAME, PATH) : PASS; \
    if (fate_ == FAIL) return -1;                \
    int result_ = (CALL);                        \
    if (fate_ == AFTER) die();                   \
    return result_;                              \
  } while (0)

static int opened(int fd, const char *path) {
  if (fd >= 0 && fd < MAX_FDS) ours[fd] = (unsigned char)below(path);
  return fd;
}

#define OPEN(NAME)                                                        \
  int NAME(const char *path, int flags, ...) {                            \
    static int (*real)(const char *, int, ...);                           \
    if (!real) real = next(#NAME);                                        \
    va_list list;                                                         \
    va_start(list, flags);                                                \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; \
    va_end(list);                                                         \
    ON_PATH(flags & O_CREAT ? "create" : "open", path, opened(real(path, flags, mode), path)); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(NAME)                                                      \
  int NAME(int fd, const char *path, int flags, ...) {                    \
    static int (*real)(int, const char *, int, ...);                      \
    if (!real) real = next(#NAME);                                        \
    va_list list;                                                         \
    va_start(list, flags);                                                \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; \
    va_end(list);                                                         \
    ON_PATH(flags & O_CREAT ? "create" : "open", path, opened(real(fd, path, flags, mode), path)); \
  }
OPENAT(openat)
OPENAT(openat64)

DIR *opendir(const char *path) {
  static DIR *(*real)(const char *);
  if (!real) real = next("opendir");
  int fate = below(path) ? meet("list", path) : PASS;
  if (fate == FAIL) return NULL;
  DIR *result = real(path);
  if (fate == AFTER) die();
  return result;
}

/* Writes the first half of what there is. */
static ssize_t half_of_vector(ssize_t (*real)(int, const struct iovec *, int), int fd, const struct iovec *all, int n) {
  struct iovec part[n > 0 ? n : 1];
  size_t left = 0;
  for (int i = 0; i < n; i++) left += all[i].iov_len;
  left /= 2;
  int used = 0;
  for (; used < n && left > 0; used++) {
    part[used] = all[used];
    if (part[used].iov_len > left) part[used].iov_len = left;
    left -= part[used].iov_len;
  }
  return used ? real(fd, part, used) : 0;
}

#define WRITE(NAME, PARAMETERS, ALL, HALF)                                \
  ssize_t NAME PARAMETERS {                                               \
    static ssize_t (*real) PARAMETERS;                                    \
    if (!real) real = next(#NAME);                                        \
    if (!is_ours(fd)) return real ALL;                                    \
    char buffer[PATH_MAX];                                                \
    int fate = meet(#NAME, path_of(fd, buffer, sizeof buffer));           \
    if (fate == PASS) return real ALL;                                    \
    int failure = errno;                                                  \
    ssize_t unused = failure == EINTR ? 0 : HALF;                         \
    (void)unused;                                                         \
    if (fate == AFTER) die();                                             \
    errno = failure;                                                      \
    return -1;                                                            \
  }
WRITE(write, (int fd, const void *data, size_t n), (fd, data, n), real(fd, data, n / 2))
WRITE(pwrite, (int fd, const void *data, size_t n, off_t o), (fd, data, n, o), real(fd, data, n / 2, o))
WRITE(pwrite64, (int fd, const void *data, size_t n, off64_t o), (fd, data, n, o), real(fd, data, n / 2, o))
WRITE(writev, (int fd, const struct iovec *all, int n), (fd, all, n), half_of_vector(real, fd, all, n))

#define READ(NAME, PARAMETERS, ARGUMENTS)                                 \
  ssize_t NAME PARAMETERS {                                               \
    static ssize_t (*real) PARAMETERS;                                    \
    if (!real) real = next(#NAME);                                        \
    if (!reads || !is_ours(fd)) return real ARGUMENTS;                    \
    char buffer[PATH_MAX];                                                \
    if (meet(#NAME, path_of(fd, buffer, sizeof buffer)) == FAIL) return -1; \
    return real ARGUMENTS;                                                \
  }
READ(read, (int fd, void *data, size_t n), (fd, data, n))
READ(pread, (int fd, void *data, size_t n, off_t o), (fd, data, n, o))
READ(pread64, (int fd, void *data, size_t n, off64_t o), (fd, data, n, o))

#define ON_FILE(NAME, PARAMETERS, ARGUMENTS)                              \
  int NAME PARAMETERS {                                                   \
    static int (*real) PARAMETERS;                                        \
    if (!real) real = next(#NAME);                                        \
    if (!is_ours(fd)) return real ARGUMENTS;                              \
    char buffer[PATH_MAX];                                                \
    int fate = meet(#NAME, path_of(fd, buffer, sizeof buffer));           \
    if (fate == FAIL) return -1;                                          \
    int result = real ARGUMENTS;                                          \
    if (fate == AFTER) die();                                             \
    return result;                                                        \
  }
ON_FILE(fsync, (int fd), (fd))
ON_FILE(fdatasync, (int fd), (fd))
ON_FILE(fchmod, (int fd, mode_t mode), (fd, mode))

/* A close that fails has closed all the same, as on Linux. */
int close(int fd) {
  static int (*real)(int);
  if (!real) real = next("close");
  if (!is_ours(fd)) return real(fd);
  char buffer[PATH_MAX];
  int fate = meet("close", path_of(fd, buffer, sizeof buffer));
  int failure = errno;
  ours[fd] = 0;
  int result = real(fd);
  if (fate == AFTER) die();
  if (fate == FAIL) {
    errno = failure;
    return -1;
  }
  return result;
}

/* Not counted; the descriptor may become anybody's. */
int closedir(DIR *stream) {
  static int (*real)(DIR *);
  if (!real) real = next("closedir");
  int fd = dirfd(stream);
  if (fd >= 0 && fd < MAX_FDS) ours[fd] = 0;
  return real(stream);
}

#define PATH_CALL(NAME, PARAMETERS, ARGUMENTS, PATH)                      \
  int NAME PARAMETERS {                                                   \
    static int (*real) PARAMETERS;                                        \
    if (!real) real = next(#NAME);                                        \
    ON_PATH(#NAME, PATH, real ARGUMENTS);                                 \
  }
PATH_CALL(link, (const char *from, const char *to), (from, to), to)
PATH_CALL(linkat, (int a, const char *from, int b, const char *to, int f), (a, from, b, to, f), to)
PATH_CALL(unlink, (const char *path), (path), path)
PATH_CALL(unlinkat, (int fd, const char *path, int flags), (fd, path, flags), path)
PATH_CALL(mkdir, (const char *path, mode_t mode), (path, mode), path)
PATH_CALL(mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), path)
PATH_CALL(rmdir, (const char *path), (path), path)
PATH_CALL(chmod, (const char *path, mode_t mode), (path, mode), path)
PATH_CALL(fchmodat, (int fd, const char *path, mode_t mode, int flags), (fd, path, mode, flags), path)
PATH_CALL(lchown, (const char *path, uid_t uid, gid_t gid), (path, uid, gid), path)

#define LOOK(NAME, PARAMETERS, ARGUMENTS)                                 \
  int NAME PARAMETERS {                                                   \
    static int (*real) PARAMETERS;                                        \
    if (!real) real = next(#NAME);                                        \
    if (attributes && below(path) && meet(#NAME, path) == FAIL) return -1; \
    return real ARGUMENTS;                                                \
  }
LOOK(stat64, (const char *path, struct stat64 *to), (path, to))
LOOK(lstat64, (const char *path, struct stat64 *to), (path, to))
LOOK(fstatat64, (int fd, const char *path, struct stat64 *to, int flags), (fd, path, to, flags))
LOOK(statx, (int fd, const char *path, int flags, unsigned mask, struct statx *to), (fd, path, flags, mask, to))
