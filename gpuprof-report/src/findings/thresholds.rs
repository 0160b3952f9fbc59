//! The limits of all rules, each with its reason and source.
//!
//! The texts are for docs/findings.md and are not compiled into a user's program.

pub(super) use super::kernel_thresholds::*;
use super::threshold::thresholds;

thresholds! {
    // All rules.

    MIN_GAIN = Share 0.002,
    "gain of any finding in the wall time",
    "what saves less is not worth a line of the report",
    "measured: 03_streams on an H200, where overlap can save 0.5 % of the wall, and must be found";

    NESTED_SHARE = Share 0.7,
    "gain of a nested function in that of an enclosing one, from which the nested one \
     is named",
    "if nearly all of the time is the nested function's, that is the place to look; \
     otherwise several parts contribute",
    "measured: 04_train_digits, where step is named and not train or product";

    NEAR_SHARE = Share 0.7,
    "gain of a cause in the largest gain of any cause of the same idle time, from which it is near",
    "the model of a gain is no more precise than that",
    "chosen";

    MAX_MISSING_RECORDS = Share 0.01,
    "dropped and unfinished records in all records, at most, for a rule about idle \
     time",
    "a kernel whose record is missing looks like idle time",
    "chosen";

    // Whole run.

    MAX_GPU_USE = Share 0.5,
    "busy share of the time between the first and the last activity, at most",
    "below it the GPU waits more than it works",
    "Nsight Systems User Guide, expert system rule \"GPU Time Utilization\"";

    UNCOVERED_IDLE = Share 0.2,
    "idle time between two activities that no finding about a function covers, in the wall time",
    "otherwise the findings about functions say it more precisely",
    "chosen";

    MIN_ENDS = Ns 1_000_000_000.0,
    "idle time before the first and after the last activity",
    "starting CUDA, loading modules and checking results take some hundred ms in every program",
    "measured: docs/measurements/h200.md, whose programs take 0.2 to 0.4 s in all";

    ENDS_SHARE = Share 0.5,
    "share of that time in the wall time",
    "otherwise most of the run is what the GPU works for",
    "definition of most";

    MIN_COPY_ONLY = Share 0.05,
    "time in which only copies ran, from which it is shown beside the idle time",
    "a smaller share is no reason for a GPU that is mostly idle",
    "chosen";

    MIN_HOST_PART = Share 0.5,
    "host time of a function without GPU work in the time that the GPU waited for the host, from \
     which the function is named",
    "with less than half, other host code is the reason",
    "chosen";

    UNATTRIBUTED_SHARE = Share 0.1,
    "unattributed activities in the GPU time",
    "setting up a program usually takes less",
    "measured: docs/measurements/h200.md";

    UNATTRIBUTED_COUNT = Count 10.0,
    "unattributed kernels, copies and memsets",
    "a few belong to the set-up: weights, a first memset",
    "measured: docs/measurements/h200.md";

    MISSING_CLOCK_SHARE = Share 0.05,
    "share of the maximum SM clock that was missing, over the sampled time",
    "boost clocks vary by a few percent all the time",
    "chosen";

    SPREAD_RATIO = Times 5.0,
    "99th percentile of the GPU time over the median",
    "clocks, caches and other programs double a time; five times is another kind of \
     call",
    "chosen";

    SPREAD_CALLS = Count 100.0,
    "timed calls",
    "with fewer calls, the 99th percentile is the longest call",
    "definition of the percentile";

    SPREAD_OVER_EVENT_OVERHEAD = Times 10.0,
    "median over the event overhead",
    "below it part of the time is event overhead, which the table marks with !",
    "docs/reading-the-table.md";

    SPREAD_SHARE = Share 0.05,
    "the calls' time beyond the median in the wall time",
    "a smaller share is not worth a change",
    "chosen";

    SPREAD_IDLE = Share 0.5,
    "idle share of the GPU spans, less than",
    "otherwise it is the host that varies",
    "chosen";

    // Ranks.

    LATE_SHARE = Share 0.05,
    "mean wait of the other ranks in the wall time",
    "a smaller share is not worth a change, and a rank that is late by chance has as much",
    "chosen";

    LATE_CALLS = Count 20.0,
    "collectives of each rank",
    "among fewer, one slow start decides which rank is late",
    "chosen";

    LATE_WORK_SHARE = Share 0.1,
    "other GPU work of the late rank beyond that of the others in that wait, from which the work \
     is named as the cause",
    "with less, something else makes it late",
    "chosen";

    // Host.

    HOST_SHARE = Share 0.05,
    "gain of a finding about host calls in the wall time",
    "a smaller share is not worth a change",
    "chosen";

    WAITING_CALLS = Count 10.0,
    "calls that wait for the GPU",
    "every program waits somewhere for its result; a wait inside a loop is what \
     starves the GPU",
    "CUDA C++ Best Practices Guide, \"Asynchronous and Overlapping Transfers with \
     Computation\"";

    WAITING_CALLS_OUTSIDE = Count 100.0,
    "calls that wait for the GPU, outside of every function",
    "threads of their own may wait for results, which holds nothing up: 05_async has 28 such waits",
    "measured: 05_async on the simulated device";

    SPAN_IDLE_SHARE = Share 0.3,
    "idle share of the GPU spans",
    "with less idle time, the kernels themselves are the better place to look",
    "measured: docs/measurements/h200.md, where step of 04_train_digits is idle for 81 % and saxpy \
     for 3 %";

    MAIN_CAUSE_SHARE = Share 0.5,
    "share of the cause in the idle time",
    "a smaller part is not the cause of most of it",
    "definition of most";

    HOST_BOUND_LAUNCHES = Count 20.0,
    "kernels of the function",
    "with fewer kernels the host's time is set-up",
    "chosen";

    KERNELS_PER_CALL = Count 8.0,
    "kernels per call",
    "replaying a call as a graph pays off for many launches: 19 per step of \
     04_train_digits, 2 per request of 05_async and per step of 07_graph",
    "measured: docs/streams-and-graphs.md";

    MAX_MEDIAN_KERNEL = Ns 20_000.0,
    "median kernel time, at most",
    "a launch takes 2 to 10 µs of CPU time, which longer kernels hide",
    "measured: docs/measurements/h200.md, cuLaunchKernel 5 µs";

    LAUNCH_BOUND_CALLS = Count 20.0,
    "outermost calls",
    "the first calls load modules and fill caches; among twenty they no longer matter",
    "chosen";

    SHORT_KERNEL_LAUNCHES = Count 100.0,
    "launches of kernels",
    "a few short kernels belong to the set-up",
    "chosen";

    ALLOCATIONS = Count 100.0,
    "allocations and frees",
    "setting up a program takes some dozens",
    "chosen";

    LOADS_PER_CALL = Share 0.5,
    "loads of a module per call of the function",
    "a module that is loaded once and kept is not loaded by half of the calls",
    "definition of per call";

    LOADS = Count 10.0,
    "loads of a module in the function",
    "fewer can be so many modules",
    "chosen";

    LOADS_OUTSIDE = Count 100.0,
    "loads of a module outside of every function",
    "a program has some dozens of modules at most",
    "chosen";

    FIRST_CALL_RATIO = Times 10.0,
    "CPU time of the first call over the median",
    "cold caches and page faults make a first call two or three times as slow; \
     loading modules and compiling far more",
    "measured: docs/measurements/h200.md";

    FIRST_CALL_SHARE = Share 0.02,
    "the first call's time beyond the median in the wall time",
    "a smaller share is not worth a change",
    "chosen";

    FIRST_CALL_EXCESS = Ns 1_000_000.0,
    "time of the first call beyond the median",
    "a shorter start is noise",
    "chosen";

    FIRST_CALL_CALLS = Count 10.0,
    "calls",
    "the median of fewer calls does not represent the others",
    "chosen";

    // Copies and memsets.

    COPY_SHARE = Share 0.1,
    "the function's copies between host and device in the GPU time",
    "a smaller share is not worth a change",
    "chosen";

    PAGEABLE_OR_BLOCKING_SHARE = Share 0.5,
    "pageable or blocking copies in these copies",
    "only these become faster by another way of copying",
    "CUDA C++ Best Practices Guide, \"Pinned Memory\"";

    PAGE_LOCKED_COPY_SHARE = Share 0.5,
    "share from which copies of page-locked memory are reported as well",
    "03_streams copies as it should, and does for 15 % of the time per direction on \
     an H200 and for 31 % on the simulated device",
    "measured: docs/measurements/h200.md";

    SMALL_COPY = Bytes 65_536.0,
    "mean size of a copy: smaller ones are small copies, others are judged by their \
     GPU time",
    "a smaller copy costs its call and its start more than its bytes: PCIe at 25 GB/s \
     moves 64 KiB in 2.6 µs",
    "CUDA C++ Best Practices Guide, \"Data Transfer Between Host and Device\"";

    SMALL_COPIES = Count 100.0,
    "small copies",
    "a few belong to the set-up",
    "chosen";

    PIECES_PER_CALL = Count 4.0,
    "copies between host and device per call, and kernels per call",
    "one copy in, some kernels and one copy out leave nothing to overlap with",
    "CUDA C++ Best Practices Guide, \"Asynchronous and Overlapping Transfers with \
     Computation\"";

    MEAN_PIECE_TIME = Ns 10_000.0,
    "mean time of these copies",
    "a shorter copy mostly costs its start, which another stream does not hide",
    "measured: docs/measurements/h200.md";

    EXPOSED_SHARE = Share 0.3,
    "exposed share of these copies' time",
    "copies that already overlap with kernels leave little to save. Not half: a \
     nested function that is also called from elsewhere, as in 03_streams, overlaps \
     there",
    "measured: docs/measurements/h200.md";

    OVERLAP_SHARE = Share 0.05,
    "the smaller of exposed and kernel time in the GPU time",
    "overlapping cannot save more",
    "chosen";

    MEMSET_SHARE = Share 0.25,
    "time of the function's own memsets over that of its own and nested kernels",
    "a memset that is needed takes far less than what computes the result",
    "measured: docs/measurements/h200.md, 56 % in product of 04_train_digits";

    MEMSETS = Count 20.0,
    "memsets of the function",
    "a few belong to the set-up",
    "chosen";
}
