//! What the records say, exact to the nanosecond under the virtual clock.

mod common;

use common::*;

/// A launch of 12.5 µs that costs its caller 700 ns: the kernel starts when the call has queued it, the call is at its own times.
#[test]
fn a_launch_is_an_external_id_a_kernel_and_a_call() {
    let mut world = world();
    world.enable(&[CONCURRENT_KERNEL, EXTERNAL], &[LAUNCH]);
    world.sim.set_call_ns("cuLaunchKernel", 700);
    let before = world.sim.now();
    world.push(41);
    world.push(42);
    world.launch(12_500);
    assert_eq!(world.pop(), Ok(42));
    world.launch(2_000);
    assert_eq!(world.pop(), Ok(41));
    world.sim.set_call_ns("cuLaunchKernel", 0);
    world.pass(20_000);
    let buffers = world.flush(0);
    let [buffer] = &buffers[..] else {
        panic!("{buffers:?}");
    };
    assert_eq!(letters(buffer), "EKAEKA");
    let id = |id, correlation| {
        Record::External(External {
            kind: CUSTOM0,
            id,
            correlation,
        })
    };
    let first = buffer[0].correlation();
    let second = buffer[3].correlation();
    assert!(second > first);
    assert_eq!((&buffer[0], &buffer[3]), (&id(42, first), &id(41, second)));
    let kernel = |start, end, correlation| Kernel {
        name: "saxpy".into(),
        start,
        end,
        device: 0,
        context: 1,
        stream: world_stream(buffer),
        grid: [2, 1, 1],
        block: [128, 1, 1],
        registers: 32,
        static_shared: 0,
        dynamic_shared: 512,
        correlation,
        node: 0,
        graph: 0,
    };
    assert_eq!(
        kernels(&buffers),
        [
            kernel(before + 700, before + 13_200, first),
            kernel(before + 13_200, before + 15_200, second)
        ]
    );
    let call = |start, correlation| Call {
        kind: DRIVER,
        cbid: LAUNCH,
        start,
        end: start + 700,
        process: std::process::id(),
        // SAFETY: it has no preconditions.
        thread: unsafe { libc::pthread_self() } as u32,
        correlation,
        result: 0,
    };
    assert_eq!(
        calls(&buffers),
        [call(before, first), call(before + 700, second)]
    );
    assert_eq!(world.dropped(), 0);
}

fn world_stream(buffer: &[Record]) -> u32 {
    match &buffer[1] {
        Record::Kernel(kernel) => kernel.stream,
        other => panic!("{other:?}"),
    }
}
