// Keeps one thread busy for `ns` nanoseconds of the device's global timer: work of a known length.
//
// A kernel that computes takes a different time on every GPU; what is said about waiting, queues and the length of spans
// needs one that does not. The timer's step is 32 ns to 1 µs, by device, so it runs at most one step longer or shorter.
// Geometry: one thread.

extern "C" __global__ void spin(unsigned long long ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}
