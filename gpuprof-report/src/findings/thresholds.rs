//! The limits of all rules, each with its reason and source. A test compares them with
//! docs/findings.md.

use super::rule_limit::Threshold;
pub(super) use super::thresholds_of_kernels::*;

// All rules.

/// Gain of any finding in the wall time. What saves less is not worth a line of the report
/// (measured: 03_streams on an H200, where overlap can save 0.5 % of the wall, and must be found).
pub(super) const MIN_GAIN: Threshold = Threshold(0.002);

/// Gain of a nested function in that of an enclosing one, from which the nested one is named. If
/// nearly all of the time is the nested function's, that is the place to look; otherwise several
/// parts contribute (measured: 04_train_digits, where step is named and not train or product).
pub(super) const NESTED_SHARE: Threshold = Threshold(0.7);

/// Gain of a cause in the largest gain of any cause of the same idle time, from which it is near.
/// The model of a gain is no more precise than that (chosen).
pub(super) const NEAR_SHARE: Threshold = Threshold(0.7);

/// Dropped and unfinished records in all records, at most, for a rule about idle time. A kernel
/// whose record is missing looks like idle time (chosen).
pub(super) const MAX_MISSING_RECORDS: Threshold = Threshold(0.01);

// Whole run.

/// Busy share of the time between the first and the last activity, at most. Below it the GPU waits
/// more than it works (Nsight Systems User Guide, expert system rule "GPU Time Utilization").
pub(super) const MAX_GPU_USE: Threshold = Threshold(0.5);

/// Idle time between two activities that no finding about a function covers, in the wall time.
/// Otherwise the findings about functions say it more precisely (chosen).
pub(super) const UNCOVERED_IDLE: Threshold = Threshold(0.2);

/// Idle time before the first and after the last activity. Starting CUDA, loading modules and
/// checking results take some hundred ms in every program (measured: docs/measurements/h200.md,
/// whose programs take 0.1 to 0.4 s in all).
pub(super) const MIN_ENDS: Threshold = Threshold(1_000_000_000.0);

/// Share of that time in the wall time. Otherwise most of the run is what the GPU works for
/// (definition of most).
pub(super) const ENDS_SHARE: Threshold = Threshold(0.5);

/// Time in which only copies ran, from which it is shown beside the idle time. A smaller share is
/// no reason for a GPU that is mostly idle (chosen).
pub(super) const MIN_COPY_ONLY: Threshold = Threshold(0.05);

/// Host time of a function without GPU work in the time that the GPU waited for the host, from
/// which the function is named. With less than half, other host code is the reason (chosen).
pub(super) const MIN_HOST_PART: Threshold = Threshold(0.5);

/// Unattributed activities in the GPU time. Setting up a program usually takes less (measured:
/// docs/measurements/h200.md).
pub(super) const UNATTRIBUTED_SHARE: Threshold = Threshold(0.1);

/// Unattributed kernels, copies and memsets. A few belong to the set-up: weights, a first memset
/// (measured: docs/measurements/h200.md).
pub(super) const UNATTRIBUTED_COUNT: Threshold = Threshold(10.0);

/// Share of the maximum SM clock that was missing, over the sampled time. Boost clocks vary by a
/// few percent all the time (chosen).
pub(super) const MISSING_CLOCK_SHARE: Threshold = Threshold(0.05);

/// 99th percentile of the GPU time over the median. Clocks, caches and other programs double a
/// time; five times is another kind of call (chosen).
pub(super) const SPREAD_RATIO: Threshold = Threshold(5.0);

/// Timed calls. With fewer calls, the 99th percentile is the longest call (definition of the
/// percentile).
pub(super) const SPREAD_CALLS: Threshold = Threshold(100.0);

/// Median over the event overhead. Below it part of the time is event overhead, which the table
/// marks with ! (docs/reading-the-table.md).
pub(super) const SPREAD_OVER_EVENT_OVERHEAD: Threshold = Threshold(10.0);

/// The calls' time beyond the median in the wall time. A smaller share is not worth a change
/// (chosen).
pub(super) const SPREAD_SHARE: Threshold = Threshold(0.05);

/// Idle share of the GPU spans, less than. Otherwise it is the host that varies (chosen).
pub(super) const SPREAD_IDLE: Threshold = Threshold(0.5);

// Ranks.

/// Mean wait of the other ranks in the wall time. A smaller share is not worth a change, and a rank
/// that is late by chance has as much (chosen).
pub(super) const LATE_SHARE: Threshold = Threshold(0.05);

/// Collectives of each rank. Among fewer, one slow start decides which rank is late (chosen).
pub(super) const LATE_CALLS: Threshold = Threshold(20.0);

/// Wait in the steps of the finding about a part of the run, in the wait for ranks that it names.
/// With less, the ranks are late elsewhere too; otherwise one finding is enough (chosen).
pub(super) const LATE_IN_STEPS: Threshold = Threshold(0.5);

/// Other GPU work of the late rank beyond that of the others in that wait, from which the work is
/// named as the cause. With less, something else makes it late (chosen).
pub(super) const LATE_WORK_SHARE: Threshold = Threshold(0.1);

/// Time by which a rank is late in a window of steps, in what ranks differ by in the median: in
/// this window, and in all. Chance makes no rank that late three times in a row: 5.4 standard
/// deviations of normal noise (chosen).
pub(super) const LATE_NOISE: Threshold = Threshold(8.0);

/// Consecutive windows in which a rank is late. A rank that is late once is not worth a line,
/// unless that costs the share of the wall time above (chosen).
pub(super) const LATE_WINDOWS: Threshold = Threshold(3.0);

/// Steps of these windows. In a short run a window is one step, whose time varies (chosen).
pub(super) const LATE_STEPS: Threshold = Threshold(10.0);

/// Time by which the rank is late in a step of the other windows, in that of these windows, at
/// most. A rank that is late in all steps is named once (chosen).
pub(super) const LATE_PART: Threshold = Threshold(0.5);

// Host.

/// Gain of a finding about host calls in the wall time. A smaller share is not worth a change
/// (chosen).
pub(super) const HOST_SHARE: Threshold = Threshold(0.05);

/// Calls that wait for the GPU. Every program waits somewhere for its result; a wait inside a loop
/// is what starves the GPU (CUDA C++ Best Practices Guide, "Asynchronous and Overlapping Transfers
/// with Computation").
pub(super) const WAITING_CALLS: Threshold = Threshold(10.0);

/// Calls that wait for the GPU, outside of every function. Threads of their own may wait for
/// results, which holds nothing up: 05_async has 28 such waits (measured: 05_async on the simulated
/// device).
pub(super) const WAITING_CALLS_OUTSIDE: Threshold = Threshold(100.0);

/// Idle share of the GPU spans. With less idle time, the kernels themselves are the better place to
/// look (measured: docs/measurements/h200.md, where step of 04_train_digits is idle for 83 % and
/// saxpy for 5 %).
pub(super) const SPAN_IDLE_SHARE: Threshold = Threshold(0.3);

/// Share of the cause in the idle time. A smaller part is not the cause of most of it (definition
/// of most).
pub(super) const MAIN_CAUSE_SHARE: Threshold = Threshold(0.5);

/// Kernels of the function. With fewer kernels the host's time is set-up (chosen).
pub(super) const HOST_BOUND_LAUNCHES: Threshold = Threshold(20.0);

/// Kernels per call. Replaying a call as a graph pays off for many launches: 19 per step of
/// 04_train_digits, 2 per request of 05_async and per step of 07_graph (measured:
/// docs/measurements/h200.md).
pub(super) const KERNELS_PER_CALL: Threshold = Threshold(8.0);

/// Median kernel time, at most. A launch takes 2 to 10 µs of CPU time, which longer kernels hide
/// (measured: docs/cupti.md, cuLaunchKernel 5 µs).
pub(super) const MAX_MEDIAN_KERNEL: Threshold = Threshold(20_000.0);

/// Outermost calls. The first calls load modules and fill caches; among twenty they no longer
/// matter (chosen).
pub(super) const LAUNCH_BOUND_CALLS: Threshold = Threshold(20.0);

/// Launches of kernels. A few short kernels belong to the set-up (chosen).
pub(super) const SHORT_KERNEL_LAUNCHES: Threshold = Threshold(100.0);

/// Allocations and frees. Setting up a program takes some dozens (chosen).
pub(super) const ALLOCATIONS: Threshold = Threshold(100.0);

/// Loads of a module per call of the function. A module that is loaded once and kept is not loaded
/// by half of the calls (definition of per call).
pub(super) const LOADS_PER_CALL: Threshold = Threshold(0.5);

/// Loads of a module in the function. Fewer can be so many modules (chosen).
pub(super) const LOADS: Threshold = Threshold(10.0);

/// Loads of a module outside of every function. A program has some dozens of modules at most
/// (chosen).
pub(super) const LOADS_OUTSIDE: Threshold = Threshold(100.0);

/// CPU time of the first call over the median. Cold caches and page faults make a first call two or
/// three times as slow; loading modules and compiling far more (chosen).
pub(super) const FIRST_CALL_RATIO: Threshold = Threshold(10.0);

/// The first call's time beyond the median in the wall time. A smaller share is not worth a change
/// (chosen).
pub(super) const FIRST_CALL_SHARE: Threshold = Threshold(0.02);

/// Time of the first call beyond the median. A shorter start is noise (chosen).
pub(super) const FIRST_CALL_EXCESS: Threshold = Threshold(1_000_000.0);

/// Calls. The median of fewer calls does not represent the others (chosen).
pub(super) const FIRST_CALL_CALLS: Threshold = Threshold(10.0);

// Copies and memsets.

/// The function's copies between host and device in the GPU time. A smaller share is not worth a
/// change (chosen).
pub(super) const COPY_SHARE: Threshold = Threshold(0.1);

/// Pageable or blocking copies in these copies. Only these become faster by another way of copying
/// (CUDA C++ Best Practices Guide, "Pinned Memory").
pub(super) const PAGEABLE_OR_BLOCKING_SHARE: Threshold = Threshold(0.5);

/// Share from which copies of page-locked memory are reported as well. 03_streams copies as it
/// should, and does for 17 % of the time per direction (measured: docs/measurements/h200.md).
pub(super) const PAGE_LOCKED_COPY_SHARE: Threshold = Threshold(0.5);

/// Mean size of a copy: smaller ones are small copies, others are judged by their GPU time. A
/// smaller copy costs its call and its start more than its bytes: PCIe at 25 GB/s moves 64 KiB in
/// 2.6 µs (CUDA C++ Best Practices Guide, "Data Transfer Between Host and Device").
pub(super) const SMALL_COPY: Threshold = Threshold(65_536.0);

/// Small copies. A few belong to the set-up (chosen).
pub(super) const SMALL_COPIES: Threshold = Threshold(100.0);

/// Copies between host and device per call, and kernels per call. One copy in, some kernels and one
/// copy out leave nothing to overlap with (CUDA C++ Best Practices Guide, "Asynchronous and
/// Overlapping Transfers with Computation").
pub(super) const PIECES_PER_CALL: Threshold = Threshold(4.0);

/// Mean time of these copies. A shorter copy mostly costs its start, which another stream does not
/// hide (measured: docs/measurements/h200.md).
pub(super) const MEAN_PIECE_TIME: Threshold = Threshold(10_000.0);

/// Exposed share of these copies' time. Copies that already overlap with kernels leave little to
/// save. Not half: a nested function that is also called from elsewhere, as in 03_streams, overlaps
/// there (measured: docs/measurements/h200.md).
pub(super) const EXPOSED_SHARE: Threshold = Threshold(0.3);

/// The smaller of exposed and kernel time in the GPU time. Overlapping cannot save more (chosen).
pub(super) const OVERLAP_SHARE: Threshold = Threshold(0.05);

/// Time of the function's own memsets over that of its own and nested kernels. A memset that is
/// needed takes far less than what computes the result (measured: docs/cupti.md, 56 % in product of
/// 04_train_digits, whose memsets take 36 % of its GPU time).
pub(super) const MEMSET_SHARE: Threshold = Threshold(0.25);

/// Memsets of the function. A few belong to the set-up (chosen).
pub(super) const MEMSETS: Threshold = Threshold(20.0);
