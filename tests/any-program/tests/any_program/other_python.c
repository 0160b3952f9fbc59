/* What gpuprof looks at of an interpreter, in a program without Python: of the version VERSION, if
   there is one, and free-threaded. */
#include <stdlib.h>

/* Only looked for. */
void *PyGILState_GetThisThreadState(void) { abort(); }

#ifdef VERSION
const unsigned long Py_Version = VERSION;

struct {
    char cookie[8];
    unsigned long version, is_free_threaded, offsets[100];
} _PyRuntime = {"xdebugpy", VERSION, 1, {0}};
#endif
