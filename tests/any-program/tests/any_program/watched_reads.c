/* Takes the place of process_vm_readv: counts its calls, which it prints at exit, and has them fail
   or read what is not there, as GPUPROF_TEST_READS says. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned long reads;
static unsigned long state = 88172645463325252UL;

__attribute__((destructor)) static void print(void) { fprintf(stdout, "reads: %lu\n", reads); }

static unsigned long next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags) {
    const char *mode = getenv("GPUPROF_TEST_READS");
    unsigned long number = ++reads;
    if (mode && !strcmp(mode, "forbid")) {
        errno = EPERM;
        return -1;
    }
    if (mode && !strcmp(mode, "fail some") && next() % 8 == 0) {
        errno = EFAULT;
        return -1;
    }
    ssize_t read = syscall(SYS_process_vm_readv, pid, local, locals, remote, remotes, flags);
    if (mode && !strcmp(mode, "spoil some") && read > 0 && next() % 4 == 0)
        ((unsigned char *)local->iov_base)[next() % read] ^= 1 << next() % 8;
    if (mode && !strcmp(mode, "spoil first") && number == 1 && read > 0)
        memset(local->iov_base, 0xff, read);
    /* Code objects are more than a frame's field and less than a block of frames: their types. */
    if (mode && !strcmp(mode, "spoil types") && remote->iov_len > 100 && remote->iov_len < 400)
        for (ssize_t at = 8; at + 8 <= read; at += remote->iov_len)
            memset((char *)local->iov_base + at, 1, 8);
    return read;
}
