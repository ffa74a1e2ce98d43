/* Preloaded into the command line by its tests: it writes down the calls that change files below
   the folder FILE_CALLS_IN, in their order, and makes some of them fail.

   FILE_CALLS_LOG   the file that takes a line for each call: its name and a path
   FILE_CALLS_FAIL  "fsync 2 5; linkat 0 1": the second fsync fails with error 5, every linkat with
   1

   Error -9 kills the process in the call; a pwrite has then written the first half of its bytes.

   open_unnamed is an open with O_TMPFILE, open_new one with O_CREAT, fsync_folder an fsync of a
   folder. A close that fails has closed its file, as Linux does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char* const names[] = {"open_unnamed", "open_new",  "write",  "pwrite",    "fsync",
                                    "fsync_folder", "linkat",    "rename", "renameat2", "close",
                                    "ftruncate",    "fallocate", "fchmod", "fchown",    "unlink"};
enum { calls = sizeof names / sizeof *names };
static atomic_int counts[calls];

static int is_below(const char* path) {
  const char* folder = getenv("FILE_CALLS_IN");
  if (folder == NULL) return 0;
  if (path[0] != '/') return 1; /* the tests start the program in the folder */
  return strncmp(path, folder, strlen(folder)) == 0;
}

static int path_of(int file, char* path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t n = readlink(link, path, size - 1);
  if (n < 0) return 0;
  path[n] = '\0';
  return path[0] == '/' && is_below(path);
}

/* The error with which this call has to fail, or 0. */
static int fault_of(int call) {
  const int number = atomic_fetch_add(&counts[call], 1) + 1;
  const char* faults = getenv("FILE_CALLS_FAIL");
  char name[32];
  int nth = 0, error = 0, used = 0;
  while (faults != NULL &&
         sscanf(faults, " %31[a-z0-9_] %d %d%n", name, &nth, &error, &used) == 3) {
    if (strcmp(name, names[call]) == 0 && (nth == 0 || nth == number)) return error;
    faults = strchr(faults + used, ';');
    if (faults != NULL) ++faults;
  }
  return 0;
}

/* Writes the call down; 1 when it has to fail, with errno. */
static int fails(const char* name, const char* path) {
  int call = 0;
  while (strcmp(names[call], name) != 0) ++call;
  const char* log = getenv("FILE_CALLS_LOG");
  if (log != NULL) {
    char line[5000];
    const int n = snprintf(line, sizeof line, "%s %s\n", name, path);
    const int file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    syscall(SYS_write, file, line, n);
    syscall(SYS_close, file);
  }
  const int error = fault_of(call);
  if (error == -9 && strcmp(name, "pwrite") != 0) raise(SIGKILL);
  if (error != 0) errno = error;
  return error != 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const int unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  if ((unnamed || (flags & O_CREAT) != 0) && is_below(path) &&
      fails(unnamed ? "open_unnamed" : "open_new", path)) {
    return -1;
  }
  return REAL(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));

#define ON_FILE(result, name, parameters, arguments)                       \
  result name parameters {                                                 \
    char path[4096];                                                       \
    if (path_of(file, path, sizeof path) && fails(#name, path)) return -1; \
    return REAL(name) arguments;                                           \
  }
ON_FILE(ssize_t, write, (int file, const void* data, size_t n), (file, data, n))
ON_FILE(int, ftruncate, (int file, off_t n), (file, n))
ON_FILE(int, fallocate, (int file, int mode, off_t at, off_t n), (file, mode, at, n))
ON_FILE(int, fchmod, (int file, mode_t mode), (file, mode))
ON_FILE(int, fchown, (int file, uid_t owner, gid_t group), (file, owner, group))

ssize_t pwrite(int file, const void* data, size_t n, off_t at) {
  char path[4096];
  if (!path_of(file, path, sizeof path) || !fails("pwrite", path))
    return REAL(pwrite)(file, data, n, at);
  if (errno != -9) return -1;
  REAL(pwrite)(file, data, n / 2, at);
  raise(SIGKILL);
  return -1;
}
ssize_t pwrite64(int, const void*, size_t, off_t) __attribute__((alias("pwrite")));

int fsync(int file) {
  char path[4096];
  struct stat status;
  const int folder = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  if (path_of(file, path, sizeof path) && fails(folder ? "fsync_folder" : "fsync", path)) return -1;
  return REAL(fsync)(file);
}

int close(int file) {
  char path[4096];
  const int flags = fcntl(file, F_GETFL);
  const int written = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
  const int failed = written && path_of(file, path, sizeof path) && fails("close", path);
  const int error = errno;
  const int result = REAL(close)(file);
  if (failed) errno = error;
  return failed ? -1 : result;
}

int linkat(int from_folder, const char* from, int folder, const char* path, int flags) {
  if (is_below(path) && fails("linkat", path)) return -1;
  return REAL(linkat)(from_folder, from, folder, path, flags);
}

int rename(const char* from, const char* to) {
  if (is_below(to) && fails("rename", to)) return -1;
  return REAL(rename)(from, to);
}

int renameat2(int from_folder, const char* from, int folder, const char* to, unsigned flags) {
  if (is_below(to) && fails("renameat2", to)) return -1;
  return REAL(renameat2)(from_folder, from, folder, to, flags);
}

int unlink(const char* path) {
  if (is_below(path) && fails("unlink", path)) return -1;
  return REAL(unlink)(path);
}
