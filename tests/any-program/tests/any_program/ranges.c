/* The work of program.c in NVTX ranges. Built without LIBRARY it is a program, which loads the
   libraries that its further arguments name; with LIBRARY it is such a library, with an NVTX of
   its own. */
#include <nvtx3/nvToolsExt.h>

#ifdef LIBRARY

/* Each module asks for the domain by its name. */
void call_in_range(void (*call)(void)) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("shared");
    nvtxEventAttributes_t attributes = {0};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, "part");
    nvtxDomainRangePushEx(domain, &attributes);
    call();
    nvtxDomainRangePop(domain);
}

#else

#define main program_main
#include "program.c"
#undef main

static void work_once(void) { work(NULL); }

static void push_in(nvtxDomainHandle_t domain, const char *name) {
    nvtxEventAttributes_t attributes = {0};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(domain, &attributes);
}

static void nested(void) {
    nvtxRangePushA("epoch");
    for (int step = 0; step < 3; step++) {
        nvtxRangePushW(L"step");
        work(NULL);
        nvtxRangePop();
    }
    nvtxRangePop();
    work(NULL);
}

static void wrong(void) {
    nvtxDomainHandle_t other = nvtxDomainCreateA("other");
    nvtxRangePop();
    nvtxRangePushA("outer");
    push_in(other, "crossing");
    nvtxRangePop();
    nvtxDomainRangePop(other);
    nvtxDomainRangePop(other);
    nvtxRangePushA("never popped");
    nvtxRangePushA("inner");
    work(NULL);
    nvtxRangePop();
}

static void *wrong_elsewhere(void *unused) {
    wrong();
    return unused;
}

static void names(void) {
    char name[64];
    for (int step = 0; step < 100; step++) {
        snprintf(name, sizeof name, "step %d", step);
        nvtxRangePushA(name);
        nvtxRangePop();
        snprintf(name, sizeof name, "aten::mm, seq = %d, op_id = %d, sizes = [[2, 2]]", step, step);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    nvtxDomainHandle_t nccl = nvtxDomainCreateA("NCCL");
    push_in(nccl, "ncclAllReduce");
    nvtxDomainRangePop(nccl);
}

/* 5,000 names that do not differ in numbers. */
static void many_names(void) {
    char name[] = "aaaaa";
    for (int at = 0; at < 5000; at++) {
        for (int letter = 0, rest = at; letter < 5; letter++, rest /= 10)
            name[letter] = 'a' + rest % 10;
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    nvtxRangeEnd(nvtxRangeStartA("started"));
    work(NULL);
}

static nvtxRangeId_t started[2];

static void *end_both(void *unused) {
    nvtxRangeEnd(started[0]);
    nvtxRangeEnd(started[1]);
    nvtxRangeEnd(12345);
    return unused;
}

static void overlapping(void) {
    pthread_t other;
    started[0] = nvtxRangeStartA("request");
    started[1] = nvtxRangeStartA("request");
    nvtxRangeStartA("never ended");
    work(NULL);
    pthread_create(&other, NULL, end_both, NULL);
    pthread_join(other, NULL);
}

/* Each range but "within" begins or ends outside the part that is measured. */
static void push_in_parts(void) {
    nvtxRangePushA("into");
    nvtxRangeId_t before = nvtxRangeStartA("started before");
    CHECK(cuProfilerStart());
    nvtxRangePushA("within");
    work(NULL);
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeEnd(before);
    nvtxRangePushA("out of");
    nvtxRangeId_t within = nvtxRangeStartA("started within");
    CHECK(cuProfilerStop());
    work(NULL);
    nvtxRangePop();
    nvtxRangeEnd(within);
    nvtxRangePushA("after");
    nvtxRangePop();
}

int main(int count, char **arguments) {
    const char *scenario = arguments[1];
    nvtxRangePushA("before CUDA");
    start();
    nvtxRangePop();
    if (!strcmp(scenario, "nested"))
        nested();
    else if (!strcmp(scenario, "wrong"))
        wrong();
    else if (!strcmp(scenario, "wrong elsewhere")) {
        /* A thread that has done nothing before. */
        pthread_t other;
        pthread_create(&other, NULL, wrong_elsewhere, NULL);
        pthread_join(other, NULL);
    } else if (!strcmp(scenario, "fork")) {
        nvtxRangePushA("forked");
        if (!fork()) {
            nvtxRangePop();
            nvtxRangePushA("in the child");
            nvtxDomainCreateA("of the child");
            exit(0);
        }
        wait(NULL);
        nvtxRangePop();
    } else if (!strcmp(scenario, "deep")) {
        for (int at = 0; at < 2000; at++)
            nvtxRangePushA("deep");
        for (int at = 0; at < 2000; at++)
            nvtxRangePop();
    } else if (!strcmp(scenario, "names"))
        names();
    else if (!strcmp(scenario, "many names"))
        many_names();
    else if (!strcmp(scenario, "overlapping"))
        overlapping();
    else if (!strcmp(scenario, "profiler")) {
        push_in_parts();
    } else if (!strcmp(scenario, "results"))
        printf("%d %d %d\n", nvtxRangePushA("a"), nvtxRangePop(), nvtxRangePop());
    for (int at = 2; at < count; at++) {
        void *library = dlopen(arguments[at], RTLD_NOW);
        void (*call_in_range)(void (*)(void)) =
            library ? (void (*)(void (*)(void)))dlsym(library, "call_in_range") : NULL;
        if (!call_in_range) {
            puts(dlerror());
            return 1;
        }
        call_in_range(work_once);
    }
    return 7;
}

#endif
