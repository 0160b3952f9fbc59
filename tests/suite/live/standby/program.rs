//! A program that does what the tests of `standby.rs` and `standby_content.rs` say, one thing after
//! the other, under a virtual clock.

use std::fs;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cudarc::driver::{CudaGraph, CudaSlice, CudaStream};
use gpuprof::profile::Function;
use gpuprof::{CuptiMode, Sampling, Session, gpu_profile};
use kernels::SAXPY;
use simcupti::{Cupti, Profiler, StallModel};
use support::cupti_world::Tier;
use support::graph_capture;
use support::sampled_world::{INTERVAL_NS, with_counters};
use support::{World, cupti_from_environment, world};

use super::{DONE, GO, GONE};
use crate::files::in_program;

/// `CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL`.
const CONCURRENT_KERNEL: u32 = 10;

#[gpu_profile(stream = w.gpu.stream)]
fn step(w: &World, ns: u64) {
    w.cpu(1_000);
    w.gpu.kernel(ns);
}

/// Waits for the other side in the middle of the call.
#[gpu_profile(stream = w.gpu.stream)]
fn long_step(w: &World, begun: &Sender<()>, goes_on: &Receiver<()>) {
    w.gpu.kernel(1_000);
    begun.send(()).expect("the main thread waits");
    goes_on.recv().expect("the main thread says so");
    w.gpu.kernel(10_000);
}

#[gpu_profile]
fn replay(w: &World, stream: &Arc<CudaStream>, graph: &CudaGraph) {
    let _ = stream;
    graph_capture::launch(w, graph, 1_000);
}

#[gpu_profile(stream = w.gpu.stream)]
fn allocate(w: &World, bytes: usize) -> CudaSlice<u8> {
    // SAFETY: nothing reads the memory.
    unsafe { w.gpu.stream.alloc::<u8>(bytes) }.expect("an allocation")
}

/// A call in progress.
struct LongStep {
    goes_on: Sender<()>,
    thread: JoinHandle<()>,
}

struct Program {
    t: Arc<Tier>,
    long_step: Option<LongStep>,
    /// What ends them, and the threads that launch until then.
    launching: Option<(Arc<AtomicBool>, Vec<JoinHandle<()>>)>,
    graph: Option<CudaGraph>,
    allocated: Option<CudaSlice<u8>>,
    session: Option<Session>,
    profiler: Option<Profiler>,
}

pub(crate) fn run(scenario: &str) -> ExitCode {
    let w = world();
    if scenario == "without libcupti" {
        step(&w, 1_000);
        support::program::ready();
        crate::files::hear_from_test("end");
        return ExitCode::SUCCESS;
    }
    let cupti = cupti_from_environment::install();
    let t = with_counters(Tier { w, cupti });
    let stall = StallModel {
        offset: 0,
        reason: "long_scoreboard",
        samples: 45,
        not_issued: true,
    };
    t.cupti.set_stalls(SAXPY, &[stall]);
    let mut program = Program {
        t: Arc::new(t),
        long_step: None,
        launching: None,
        graph: None,
        allocated: None,
        session: None,
        profiler: None,
    };
    // Opens the socket.
    program.obey("step 1000");
    support::program::ready();
    for number in 1.. {
        let Some(command) = next(number) else {
            break;
        };
        let answer = program.obey(&command);
        fs::write(in_program(&format!("{DONE}{number}.new")), answer).expect("a file");
        let [new, file] = [".new", ""].map(|end| in_program(&format!("{DONE}{number}{end}")));
        fs::rename(new, file).expect("a file");
    }
    ExitCode::SUCCESS
}

/// The command of this number; `None` if there is no more.
fn next(number: u32) -> Option<String> {
    loop {
        if let Ok(command) = fs::read_to_string(in_program(&format!("{GO}{number}"))) {
            return Some(command);
        }
        if in_program(GONE).exists() {
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

impl Program {
    fn obey(&mut self, command: &str) -> String {
        let t = Arc::clone(&self.t);
        let t = &t;
        let is_number = |word: &str| word.starts_with(|of: char| of.is_ascii_digit());
        let last = command.rsplit_once(' ');
        let (word, number) = last
            .filter(|(_, number)| is_number(number))
            .unwrap_or((command, "0"));
        let number: u64 = number.parse().expect("a number");
        // Nothing happens at the moment at which a window begins or ends.
        t.cpu(500);
        match word {
            "step" => {
                step(t, number);
                t.synchronize();
            }
            "queue" => step(t, number),
            // Outside any function.
            "launch" => t.gpu.kernel(number),
            "wait" => t.synchronize(),
            "launch on" => self.launch_on(),
            "wait us" => t.cupti.set_wait_us(number),
            "fill" => t.cupti.fill_hardware_buffer(),
            "others" => t.cupti.set_other_samples(number),
            "launch no more" => {
                let (ends, threads) = self.launching.take().expect("they launch");
                ends.store(true, Ordering::Relaxed);
                for thread in threads {
                    thread.join().expect("it ends");
                }
                t.synchronize();
            }
            "begin" => self.begin_long_step(),
            "end" => {
                let LongStep { goes_on, thread } = self.long_step.take().expect("it began");
                goes_on.send(()).expect("it waits");
                thread.join().expect("it ends");
                t.synchronize();
            }
            "capture" => {
                let stream = &t.gpu.another_stream();
                let graph = graph_capture::capture(stream, || graph_capture::model(t, stream));
                self.graph = Some(graph);
            }
            "replay" => {
                let graph = self.graph.as_ref().expect("it was captured");
                replay(t, &t.gpu.stream, graph);
                t.synchronize();
            }
            "sample" => {
                t.synchronize();
                t.cpu(number * INTERVAL_NS);
            }
            "allocate" => self.allocated = Some(allocate(t, number as usize)),
            "free" => self.allocated = None,
            "reset" => gpuprof::reset(),
            "session" => {
                let session = Session::builder().cupti(CuptiMode::On);
                let session = session.sampling(Sampling::EveryCall).start();
                self.session = Some(session.expect("no other is open"));
            }
            "plain" => {
                let session = Session::builder().cupti(CuptiMode::Off).start();
                self.session = Some(session.expect("no other is open"));
            }
            "finish" => {
                let profile = self.session.take().expect("it is open").finish();
                let is_step = |of: &&Function| of.name.ends_with("standby::program::step");
                let step = profile.functions.iter().find(is_step);
                return format!("{:?}", step.map(|step| step.calls));
            }
            // Another profiler, which records kernels.
            "profile" => {
                let profiler = Profiler::subscribe("another", true).expect("a subscriber");
                profiler.enable(CONCURRENT_KERNEL).expect("a kind");
                self.profiler = Some(profiler);
            }
            "profiled" => {
                let profiler = self.profiler.as_ref().expect("it is subscribed");
                profiler.flush().expect("a flush");
                return profiler.records(CONCURRENT_KERNEL).to_string();
            }
            "fail" => t.sim.fail("cuEventRecord", 1, number, 2),
            "delay start" => t.cupti.delay("cuptiSubscribe_v2", number),
            "delay end" => t.cupti.delay("cuptiUnsubscribe", number),
            "refuse" => t.cupti.fail("cuptiSubscribe_v2", 1, number, 39),
            "refuse records" => {
                for symbol in ["cuptiActivityEnable", "cuptiActivityEnable_v2"] {
                    t.cupti.fail(symbol, 1, number, 2);
                }
            }
            "calls" => return calls(t.cupti, &["cuptiSubscribe_v2", "cuptiUnsubscribe"]),
            "all" => return format!("{:?}", t.cupti.calls_by_symbol()),
            "driver" => return format!("{:?}", t.sim.calls_by_symbol()),
            _ => panic!("no command {command}"),
        }
        t.cpu(500);
        String::new()
    }

    /// Launches on two threads at once, from now on.
    fn launch_on(&mut self) {
        let ends = Arc::new(AtomicBool::new(false));
        let launching = [(); 2].map(|()| {
            let (t, ends) = (Arc::clone(&self.t), Arc::clone(&ends));
            thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    t.gpu.kernel(1_000);
                    t.synchronize();
                    thread::sleep(Duration::from_micros(100));
                }
            })
        });
        self.launching = Some((ends, launching.into()));
    }

    fn begin_long_step(&mut self) {
        let (begun, has_begun) = channel();
        let (goes_on, waits) = channel();
        let t = Arc::clone(&self.t);
        let thread = thread::spawn(move || long_step(&t, &begun, &waits));
        has_begun.recv().expect("it begins");
        self.long_step = Some(LongStep { goes_on, thread });
    }
}

fn calls(cupti: Cupti, symbols: &[&str]) -> String {
    let counts = symbols.iter().map(|symbol| cupti.calls(symbol).to_string());
    counts.collect::<Vec<_>>().join(" ")
}
