// Keeps one thread busy for `ns` nanoseconds of the device's global timer: work of a known length.
//
// The duration of a computing kernel differs between GPUs; checks of waiting, queues and span durations
// need a fixed one. The timer's step is 32 ns to 1 µs, by device, so the duration is off by at most one step.
// Geometry: one thread.

extern "C" __global__ void spin(unsigned long long ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}
