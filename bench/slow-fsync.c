/*
 * Preloaded library that makes every fsync and fdatasync take at least SLOW_FSYNC_US microseconds (a compile-time
 * constant), to measure on a fast disk what a slower one would do. The real call is made first: nothing is skipped.
 * Built by bench/slow-fsync.ts:  gcc -shared -fPIC -O2 -DSLOW_FSYNC_US=2000 -o slow-fsync.so slow-fsync.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

typedef int (*sync_call)(int);

static long since_us(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start->tv_sec) * 1000000L + (now.tv_nsec - start->tv_nsec) / 1000L;
}

static int slowly(sync_call call, int file)
{
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    int result = call(file);
    int error = errno;
    long left = SLOW_FSYNC_US - since_us(&start);
    if (left > 0) {
        struct timespec wait = { left / 1000000L, (left % 1000000L) * 1000L };
        nanosleep(&wait, NULL);
    }
    errno = error;
    return result;
}

int fsync(int file)
{
    static sync_call real;
    if (!real) real = (sync_call)dlsym(RTLD_NEXT, "fsync");
    return slowly(real, file);
}

int fdatasync(int file)
{
    static sync_call real;
    if (!real) real = (sync_call)dlsym(RTLD_NEXT, "fdatasync");
    return slowly(real, file);
}
