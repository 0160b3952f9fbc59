/* The work of program.c three times: before, while and after the program profiles itself through
   CUPTI. The first argument names the function by which it subscribes, the second says when: in
   "the middle", "first" of all, or in "a child". */
#define main program_main
#include "program.c"
#undef main

#define CUPTI(X)                                                                                 \
    X(cuptiSubscribe, (void **, void *, void *))                                                 \
    X(cuptiSubscribe_v2, (void **, void *, void *, void *))                                      \
    X(cuptiUnsubscribe, (void *))                                                                \
    X(cuptiActivityRegisterCallbacks, (void *, void *))                                          \
    X(cuptiActivityEnable, (unsigned))                                                           \
    X(cuptiActivityDisable, (unsigned))                                                          \
    X(cuptiActivityFlushAll, (unsigned))                                                         \
    X(cuptiActivityGetNextRecord, (unsigned char *, size_t, void **))

CUPTI(DECLARE)

enum { CONCURRENT_KERNEL = 10, BYTES = 1 << 20 };

static int kernels;

static void callback(void *user, unsigned domain, unsigned id, const void *data) {}

/* Buffers that are not zeroed, as CUPTI takes them unless it is told otherwise. */
static void requested(unsigned char **buffer, size_t *size, size_t *records) {
    *buffer = aligned_alloc(8, BYTES);
    memset(*buffer, 0xff, BYTES);
    *size = BYTES;
    *records = 0;
}

static void completed(void *context, unsigned stream, unsigned char *buffer, size_t size,
                      size_t valid) {
    void *record = NULL;
    while (!cuptiActivityGetNextRecord(buffer, valid, &record))
        kernels += *(int *)record == CONCURRENT_KERNEL;
    free(buffer);
}

static void *begin(const char *function) {
    void *subscriber = NULL;
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
    if (!cupti) {
        puts(dlerror());
        exit(1);
    }
#define LOAD_CUPTI(name, parameters) name = (int(*) parameters)dlsym(cupti, #name);
    CUPTI(LOAD_CUPTI)
    int status = strcmp(function, "cuptiSubscribe")
                     ? cuptiSubscribe_v2(&subscriber, callback, NULL, NULL)
                     : cuptiSubscribe(&subscriber, callback, NULL);
    printf("%s: %d\n", function, status);
    fflush(stdout);
    if (!status) {
        CHECK(cuptiActivityRegisterCallbacks(requested, completed));
        CHECK(cuptiActivityEnable(CONCURRENT_KERNEL));
    }
    return subscriber;
}

static void end(void *subscriber) {
    if (!subscriber)
        return;
    CHECK(cuptiActivityDisable(CONCURRENT_KERNEL));
    CHECK(cuptiActivityFlushAll(1));
    CHECK(cuptiUnsubscribe(subscriber));
    printf("kernels: %d\n", kernels);
}

int main(int count, char **arguments) {
    const char *when = count > 2 ? arguments[2] : "";
    void *subscriber = NULL;
    load();
    if (!strcmp(when, "first"))
        subscriber = begin(arguments[1]);
    start();
    work(NULL);
    if (!strcmp(when, "a child")) {
        pid_t child = fork();
        if (!child) {
            begin(arguments[1]);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (!strcmp(when, "the middle")) {
        subscriber = begin(arguments[1]);
        work(NULL);
    }
    end(subscriber);
    /* Again: from now on it is as if there were no other profiler. */
    if (!strcmp(when, "the middle")) {
        subscriber = begin(arguments[1]);
        work(NULL);
        end(subscriber);
    }
    work(NULL);
    usleep(500000);
    puts("done");
    return 7;
}
