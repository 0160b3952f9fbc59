/* A CUDA program of the driver API. Its first argument says what it does besides its work: five
   launches of 10 us, a copy of 1 MiB each way, and the exit status 7. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long pointer;

#define FUNCTIONS(X)                                                                             \
    X(cuInit, (unsigned))                                                                        \
    X(cuDeviceGet, (int *, int))                                                                 \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                                  \
    X(cuCtxSetCurrent, (void *))                                                                 \
    X(cuCtxSynchronize, (void))                                                                  \
    X(cuModuleLoadData, (void **, const void *))                                                 \
    X(cuModuleGetFunction, (void **, void *, const char *))                                      \
    X(cuMemAlloc_v2, (pointer *, size_t))                                                        \
    X(cuMemFree_v2, (pointer))                                                                   \
    X(cuMemcpyHtoDAsync_v2, (pointer, const void *, size_t, void *))                             \
    X(cuMemcpyDtoHAsync_v2, (void *, pointer, size_t, void *))                                   \
    X(cuProfilerStart, (void))                                                                   \
    X(cuProfilerStop, (void))                                                                    \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
                       unsigned, void *, void **, void **))

#define DECLARE(name, parameters) static int(*name) parameters;
FUNCTIONS(DECLARE)

#define CHECK(call)                                                                              \
    do {                                                                                         \
        int status = call;                                                                       \
        if (status) {                                                                            \
            printf("%s: %d\n", #call, status);                                                   \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

static void *driver;
static void *context;
static void *kernel;
static char host[1 << 20];

static void load(void) {
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        puts(dlerror());
        exit(1);
    }
#define LOAD(name, parameters) name = (int(*) parameters)dlsym(driver, #name);
    FUNCTIONS(LOAD)
}

static void start(void) {
    int device;
    void *module;
    load();
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ".version 7.0\n.target sm_50\n.address_size 64\n"
                                    ".visible .entry scale(.param .u64 values) { ret; }\n"));
    CHECK(cuModuleGetFunction(&kernel, module, "scale"));
}

static void *work(void *unused) {
    pointer values;
    void *arguments[] = {&values};
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc_v2(&values, sizeof host));
    CHECK(cuMemcpyHtoDAsync_v2(values, host, sizeof host, NULL));
    for (int at = 0; at < 5; at++)
        CHECK(cuLaunchKernel(kernel, 4096, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoHAsync_v2(host, values, sizeof host, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree_v2(values));
    return unused;
}

/* Works once for each file go1, go2, ... that appears, and makes done1, done2, ..., until there is a
   file end. */
static void serve(void) {
    char go[16], done[16];
    for (int at = 1;; at++) {
        snprintf(go, sizeof go, "go%d", at);
        snprintf(done, sizeof done, "done%d", at);
        while (access(go, F_OK)) {
            if (!access("end", F_OK))
                return;
            usleep(1000);
        }
        work(NULL);
        fclose(fopen(done, "w"));
    }
}

int main(int count, char **arguments) {
    const char *scenario = count > 1 ? arguments[1] : "";
    if (!strcmp(scenario, "no cuda"))
        return 3;
    if (!strcmp(scenario, "fork before")) {
        pid_t child = fork();
        start();
        work(NULL);
        if (child)
            wait(NULL);
        return 7;
    }
    start();
    if (!strcmp(scenario, "fork after")) {
        /* CUDA does not work in such a child, which uses none. */
        if (!fork())
            exit(4);
        wait(NULL);
    } else if (!strcmp(scenario, "two threads")) {
        pthread_t other;
        pthread_create(&other, NULL, work, NULL);
        pthread_join(other, NULL);
    } else if (!strcmp(scenario, "exec")) {
        execl(arguments[0], arguments[0], "as usual", (char *)NULL);
    } else if (!strcmp(scenario, "failing calls")) {
        pointer none;
        printf("%d %d\n", cuMemAlloc_v2(&none, (size_t)1 << 60), cuInit(9));
    } else if (!strcmp(scenario, "library")) {
        void *library = dlopen(arguments[2], RTLD_NOW);
        void (*call)(void) = library ? (void (*)(void))dlsym(library, "call_annotated") : NULL;
        if (!call) {
            puts(dlerror());
            return 1;
        }
        for (int at = 0; at < 3; at++)
            call();
    } else if (!strcmp(scenario, "profiler")) {
        /* Its work before, twice in a part, between and in a second part. */
        work(NULL);
        CHECK(cuProfilerStart());
        work(NULL);
        CHECK(cuProfilerStart());
        work(NULL);
        CHECK(cuProfilerStop());
        CHECK(cuProfilerStop());
        work(NULL);
        CHECK(cuProfilerStart());
        work(NULL);
        CHECK(cuProfilerStop());
    } else if (!strcmp(scenario, "serve")) {
        serve();
    } else if (!strcmp(scenario, "chdir")) {
        if (chdir("/"))
            return 1;
    }
    work(NULL);
    /* For the first checkpoints, less than their interval of 1 s, and for counters to start. */
    if (!strcmp(scenario, "_exit") || !strcmp(scenario, "slow"))
        usleep(600000);
    if (!strcmp(scenario, "_exit"))
        _exit(5);
    if (!strcmp(scenario, "dlclose"))
        dlclose(driver);
    puts("done");
    return 7;
}
