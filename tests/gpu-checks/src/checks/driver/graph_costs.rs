//! Host cost of graph launches, how many a stream takes before its caller waits, and whether
//! changing a graph's events waits for its launches.
//!
//! gpuprof gives each launch its own events while earlier launches are pending, and promises never
//! to wait: so this call must not wait. The rest is reported; on the simulated device the figures
//! describe the simulator.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaStream, DriverError};

use super::function_table::{CuResult, Driver, Handle, open};
use super::{BUSY, WAITED, handle};
use crate::check::{Row, RunMode};
use crate::device::{Gpu, failed_in};
use crate::statistics::time;

const RELAXED: c_int = 2;
/// `CU_EVENT_RECORD_EXTERNAL`: the record becomes a node of the graph.
const EXTERNAL: u32 = 1;
const NOT_READY: CuResult = CuResult(600);
/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which must be set.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`: the caller's reference becomes the graph's.
const MOVE: u32 = 1;
/// Launches averaged into one value, too few to fill a queue.
const BATCH: u32 = 10;

/// A chain of nodes: `k` is a kernel, `r` an event record. The graph may own a user object.
struct Shape {
    nodes: &'static str,
    owns: bool,
}

const fn shape(nodes: &'static str) -> Shape {
    Shape { nodes, owns: false }
}

const SHAPES: [Shape; 12] = [
    shape("k"),
    shape("kkk"),
    shape("kkkkkkkkkk"),
    shape("rkr"),
    shape("rkkkr"),
    shape("rkkkkkkkkkkr"),
    shape("rr"),
    shape("rkrrkrrkr"),
    shape("rrkrkrkrr"),
    Shape {
        nodes: "rrkrkrkrr",
        owns: true,
    },
    Shape {
        nodes: "rkr",
        owns: true,
    },
    Shape {
        nodes: "kkk",
        owns: true,
    },
];

impl Shape {
    fn records(&self) -> usize {
        self.nodes.matches('r').count()
    }

    fn name(&self) -> String {
        let owns = if self.owns { ", owning an object" } else { "" };
        format!("the graph {}{owns}", self.nodes)
    }
}

/// A graph of empty kernels, and two events for each of its records.
struct Replayed<'a> {
    driver: &'a Driver,
    graph: Handle,
    exec: Handle,
    nodes: Vec<Handle>,
    events: [Vec<Handle>; 2],
}

/// The result of filling a queue with launches.
#[derive(Default)]
struct Filled {
    launches: u32,
    /// The times of all launches, and of all changes before them, that did not wait, in ns.
    launching: u64,
    changing: u64,
    longest_change: u64,
    end: End,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum End {
    /// All requested launches were queued.
    #[default]
    Enough,
    LaunchWaited,
    ChangeWaited,
    /// The kernel in front had finished.
    Late,
}

/// The destructor of a user object without content.
extern "C" fn nothing(_: *mut c_void) {}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let driver = open()?;
    measure(run_mode, driver).map_err(failed_in("the driver"))
}

/// The number of launches of such a graph (see [`Shape`]) that a stream takes before one waits.
///
/// # Errors
/// A driver error, as text.
pub(in crate::checks) fn measure_queue_room(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    nodes: &'static str,
) -> Result<usize, String> {
    const ENOUGH: u32 = 2_500;
    let failed = failed_in("a graph of our own");
    let graph = Replayed::new(open()?, gpu, stream, &shape(nodes)).map_err(&failed)?;
    let filled = graph.fill(gpu, stream, ENOUGH, false).map_err(&failed)?;
    Ok(filled.launches as usize)
}

fn measure(run_mode: &RunMode, driver: &'static Driver) -> Result<Vec<Row>, DriverError> {
    let gpu = Gpu::new()?;
    let stream = &gpu.context.new_stream()?;
    let (rounds, enough) = if run_mode.short {
        (3, 1_500)
    } else {
        (60, 2_500)
    };
    let note = if run_mode.simulated {
        " (simulated device)"
    } else {
        ""
    };
    let mut rows = Vec::new();
    let mut longest = 0;
    for shape in &SHAPES {
        let graph = Replayed::new(driver, &gpu, stream, shape)?;
        let name = shape.name();
        let idle = graph.idle(stream, rounds, false)?;
        rows.push(Row::info(
            format!("cuGraphLaunch of {name}"),
            format!("{}{note}", time(idle.0)),
        ));
        let filled = graph.fill(&gpu, stream, enough, false)?;
        rows.push(Row::info(
            format!("launches of {name} before one waits"),
            format!("{}{note}", filled.describe()),
        ));
        if shape.records() == 0 {
            continue;
        }
        let changed = graph.idle(stream, rounds, true)?;
        rows.push(Row::info(
            format!("changing one event of {name}, and a launch after all are changed"),
            format!("{}, {}{note}", time(changed.1), time(changed.0)),
        ));
        let filled = graph.fill(&gpu, stream, enough, true)?;
        longest = longest.max(filled.longest_change);
        rows.push(Row::info(
            format!("the same with all events changed before each launch of {name}"),
            format!("{}{note}", filled.describe()),
        ));
    }
    rows.push(Row::judged(
        "longest cuGraphExecEventRecordNodeSetEvent while launches are pending",
        format!("{}{note}", time(longest as f64)),
        format!("less than {}", time(WAITED.as_nanos() as f64)),
        u128::from(longest) < WAITED.as_nanos(),
    ));
    Ok(rows)
}

impl<'a> Replayed<'a> {
    fn new(
        driver: &'a Driver,
        gpu: &Gpu,
        stream: &Arc<CudaStream>,
        shape: &Shape,
    ) -> Result<Replayed<'a>, DriverError> {
        let on = handle(stream);
        let records = shape.records();
        let events = [(); 2].map(|()| {
            (0..records)
                .map(|_| driver.new_event(0))
                .collect::<Vec<_>>()
        });
        driver.begin_capture(on, RELAXED);
        let mut unrecorded = events[0].iter();
        for node in shape.nodes.chars() {
            if node == 'k' {
                gpu.spin(stream, 0)?;
            } else if let Some(event) = unrecorded.next() {
                driver.event_record_with(*event, on, EXTERNAL);
            }
        }
        let (mut graph, mut exec) = (0, 0);
        driver.end_capture(on, &raw mut graph);
        if shape.owns {
            let mut object = 0;
            driver.object_create(
                &raw mut object,
                ptr::null_mut(),
                nothing,
                1,
                NO_DESTRUCTOR_SYNC,
            );
            driver.graph_retain_object(graph, object, 1, MOVE);
        }
        driver.graph_instantiate(&raw mut exec, graph, 0);
        let nodes = driver.recording_nodes(graph);
        assert_eq!(nodes.len(), records, "every record is a node");
        // The first launch uploads the graph.
        assert_eq!(driver.graph_launch(exec, on), CuResult::OK);
        stream.synchronize()?;
        Ok(Replayed {
            driver,
            graph,
            exec,
            nodes,
            events,
        })
    }

    /// Sets every record to the events of the other set. Returns the longest duration of one call.
    fn change(&self, turn: u32) -> Duration {
        let events = &self.events[turn as usize % 2];
        let took = self.nodes.iter().zip(events).map(|(node, event)| {
            let began = Instant::now();
            let set = self.driver.graph_exec_set_event(self.exec, *node, *event);
            assert_eq!(set, CuResult::OK);
            began.elapsed()
        });
        took.max().unwrap_or_default()
    }

    /// The mean times of a launch and of one change before it, in ns, on an idle stream: the
    /// medians of the rounds.
    fn idle(
        &self,
        stream: &Arc<CudaStream>,
        rounds: u32,
        changed: bool,
    ) -> Result<(f64, f64), DriverError> {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let (mut launching, mut changing) = (0, 0);
            for turn in 0..BATCH {
                let began = Instant::now();
                if changed {
                    self.change(turn);
                }
                let between = Instant::now();
                self.driver.graph_launch(self.exec, handle(stream));
                launching += between.elapsed().as_nanos();
                changing += (between - began).as_nanos();
            }
            stream.synchronize()?;
            times[0].push(launching as f64 / f64::from(BATCH));
            let calls = f64::from(BATCH) * self.nodes.len().max(1) as f64;
            times[1].push(changing as f64 / calls);
        }
        let [launching, changing] = times.map(super::median);
        Ok((launching, changing))
    }

    /// Launches behind a running kernel until a call waits for it; at most `enough` times.
    fn fill(
        &self,
        gpu: &Gpu,
        stream: &Arc<CudaStream>,
        enough: u32,
        changed: bool,
    ) -> Result<Filled, DriverError> {
        let on = handle(stream);
        let held = self.driver.new_event(0);
        gpu.spin(stream, BUSY.as_nanos() as u64)?;
        self.driver.event_record(held, on);
        let mut filled = Filled::default();
        while filled.launches < enough {
            let began = Instant::now();
            let longest = if changed {
                self.change(filled.launches)
            } else {
                Duration::ZERO
            };
            let between = Instant::now();
            filled.longest_change = filled.longest_change.max(longest.as_nanos() as u64);
            if longest > WAITED {
                filled.end = End::ChangeWaited;
                break;
            }
            self.driver.graph_launch(self.exec, on);
            let launching = between.elapsed();
            if launching > WAITED {
                filled.end = End::LaunchWaited;
                break;
            }
            if self.driver.event_query(held) != NOT_READY {
                filled.end = End::Late;
                break;
            }
            filled.launches += 1;
            filled.launching += launching.as_nanos() as u64;
            filled.changing += (between - began).as_nanos() as u64;
        }
        stream.synchronize()?;
        self.driver.event_destroy(held);
        Ok(filled)
    }
}

impl Drop for Replayed<'_> {
    fn drop(&mut self) {
        self.driver.graph_exec_destroy(self.exec);
        self.driver.graph_destroy(self.graph);
        for event in self.events.iter().flatten() {
            self.driver.event_destroy(*event);
        }
    }
}

impl Filled {
    fn describe(&self) -> String {
        let each = |all: u64| time(all as f64 / f64::from(self.launches.max(1)));
        let count = match self.end {
            End::Enough => format!("none of {} waited", self.launches),
            End::LaunchWaited => format!("{}", self.launches),
            End::ChangeWaited => format!("{}, then changing an event waited", self.launches),
            End::Late => format!("none of {} waited until the kernel was over", self.launches),
        };
        let launching = each(self.launching);
        if self.changing == 0 || self.longest_change == 0 {
            return format!("{count}; {launching} each");
        }
        format!(
            "{count}; {launching} each, {} for the changes before it, the longest {}",
            each(self.changing),
            time(self.longest_change as f64)
        )
    }
}
