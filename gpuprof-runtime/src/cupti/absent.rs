//! What the rest of the runtime calls where gpuprof is built without its feature `cupti`: nothing is recorded.
//!
//! Must import nothing of gpuprof's but what is plain data.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::Counts;
use crate::gpu::LatePolicy;
use crate::stats::build_profile::CuptiActivity;
use gpuprof_report::profile::Profile;

pub(crate) fn start(_work: &'static Work, _look: fn()) {}

pub(crate) fn is_running() -> bool {
    false
}

/// Keeps nothing.
#[derive(Debug)]
pub(crate) struct Work;

impl Work {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn ended(&self, _ended: call_stack::Ended) {}

    pub(crate) fn note(&self) -> Option<String> {
        None
    }

    pub(crate) fn change(&self, _epoch: Option<u32>) {}

    pub(crate) fn next_window(&self, _epoch: u32, _late: LatePolicy) -> (Tables, Tables) {
        (Tables, Tables)
    }

    pub(crate) fn seen(&self, _limit: Duration) -> Option<Seen> {
        Some(Seen {
            now: Tables,
            late: Tables,
            symbols: Symbols,
        })
    }

    pub(crate) fn symbols(&self, _limit: Duration) -> Option<Symbols> {
        Some(Symbols)
    }
}

/// Nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables;

impl Tables {
    pub(crate) fn fold(&mut self, _other: &Self) {}
}

/// None.
pub(crate) struct Symbols;

pub(crate) struct Seen {
    pub(crate) now: Tables,
    pub(crate) late: Tables,
    pub(crate) symbols: Symbols,
}

pub(crate) fn by_site(_tables: &Tables, _symbols: &Symbols) -> FxHashMap<u32, CuptiActivity> {
    FxHashMap::default()
}

pub(crate) fn tell(_profile: &mut Profile, _tables: &Tables, _symbols: &Symbols) {}

/// Spans ask for none of this where no gate has the bit.
pub(crate) mod call_stack {
    use crate::site::Site;
    use crate::stats::call::GpuOutcome;

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Call;

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Ended;

    impl Ended {
        pub(crate) fn of(_call: Call, _fate: GpuOutcome, _cpu_ns: u64, _epoch: u32) -> Self {
            Self
        }
    }

    pub(crate) fn begin(_site: &Site) -> Option<Call> {
        None
    }

    pub(crate) fn enter(_call: Call, _deepest: u32) -> Option<u32> {
        None
    }

    pub(crate) fn leave(_depth: u32) -> Option<Call> {
        None
    }
}

pub(crate) fn drain(_limit: Duration) -> bool {
    true
}

pub(crate) fn drain_last(_limit: Duration) {}

pub(crate) fn counts() -> Option<Counts> {
    None
}

/// For a session that asks for it; whoever asked by the environment was told at once.
pub(crate) fn notes() -> Vec<String> {
    vec!["kernels are not recorded: gpuprof is built without its feature cupti".to_owned()]
}
