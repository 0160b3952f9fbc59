/* Native code that launches for a Python program, or calls it. The comments say which line launches
   which kernel. */
#include <pthread.h>
#include <stddef.h>

typedef int (*launch_kernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, void *, void **, void **);

void call(void (*function)(void)) { function(); }

/* Its symbol is that of app::launch in Rust. */
int launch(launch_kernel function, void *kernel) __asm__("_ZN3app6launch17h0123456789abcdefE");
int launch(launch_kernel function, void *kernel) {
    int status = function(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL); /* launches native */
    return status;
}

struct work {
    launch_kernel launch;
    int (*set_context)(void *);
    void *context, *kernel;
};

static void *on_thread(void *argument) {
    struct work *work = argument;
    work->set_context(work->context);
    work->launch(work->kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL); /* launches native_thread */
    return NULL;
}

/* On a thread that Python does not know. */
void launch_on_thread(launch_kernel function, int (*set_context)(void *), void *context,
                      void *kernel) {
    struct work work = {function, set_context, context, kernel};
    pthread_t thread;
    pthread_create(&thread, NULL, on_thread, &work);
    pthread_join(thread, NULL);
}
