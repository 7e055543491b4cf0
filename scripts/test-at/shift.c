/* Shifts the wall clock of a process by SHIFT_SECONDS, and the times of files with it. Timers and the monotonic
   clock do not change. libfaketime also delays PostgreSQL's own timeouts, so tests of these hang. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift_seconds(void) {
  static long value;
  static int is_known;
  if (!is_known) {
    const char *text = getenv("SHIFT_SECONDS");
    value = text ? atol(text) : 0;
    is_known = 1;
  }
  return value;
}

/* The real function, because this file replaces the usual one. */
static long kernel(long number, long a, long b, long c, long d, long e, long f) {
  static long (*real)(long, ...);
  if (!real) real = dlsym(RTLD_NEXT, "syscall");
  return real(number, a, b, c, d, e, f);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(clock, time);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += shift_seconds();
  return failed;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  if (time) {
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
  }
  return 0;
}

time_t time(time_t *time) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (time) *time = now.tv_sec;
  return now.tv_sec;
}

static void shift_file(struct statx *file) {
  file->stx_atime.tv_sec += shift_seconds();
  file->stx_mtime.tv_sec += shift_seconds();
  file->stx_ctime.tv_sec += shift_seconds();
  file->stx_btime.tv_sec += shift_seconds();
}

int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict file) {
  long failed = kernel(SYS_statx, folder, (long)path, flags, mask, (long)file, 0);
  if (!failed) shift_file(file);
  return (int)failed;
}

/* Node reads the times of files through this function. */
long syscall(long number, ...) {
  long given[6];
  va_list list;
  va_start(list, number);
  for (int n = 0; n < 6; n += 1) given[n] = va_arg(list, long);
  va_end(list);
  long answer = kernel(number, given[0], given[1], given[2], given[3], given[4], given[5]);
  if (number == SYS_statx && answer == 0) shift_file((struct statx *)given[4]);
  return answer;
}

static const struct timespec *shift_back(const struct timespec times[2], struct timespec real[2]) {
  if (!times) return NULL;
  for (int n = 0; n < 2; n += 1) {
    real[n] = times[n];
    if (times[n].tv_nsec != UTIME_NOW && times[n].tv_nsec != UTIME_OMIT)
      real[n].tv_sec -= shift_seconds();
  }
  return real;
}

int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
  struct timespec real[2];
  return (int)kernel(SYS_utimensat, folder, (long)path, (long)shift_back(times, real), flags, 0, 0);
}

int futimens(int file, const struct timespec times[2]) {
  struct timespec real[2];
  return (int)kernel(SYS_utimensat, file, 0, (long)shift_back(times, real), 0, 0, 0);
}
