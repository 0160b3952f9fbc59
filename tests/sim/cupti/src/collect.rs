//! From an API call of the driver to its records, in CUPTI's order: the external ids pushed on the thread, what the device does for
//! the call, the call itself. Must never call the client while the state is locked; how records become buffers is `buffers`'.

use simbase::cbid;
use simbase::watch::{Activity, Call, What};

use crate::callbacks::{Caller, DRIVER_API, RUNTIME_API};
use crate::kinds::{self, Enabled};
use crate::record::{Api, Cause, Record};
use crate::state::{self, State, Wishes, thread};
use crate::{buffers, driver};

/// The launch, which programs that use the runtime make by its own function.
const LAUNCH: u32 = cbid::driver("cuLaunchKernel");

/// A call as the client sees it.
struct Made {
    kind: u32,
    cbid: u32,
    correlation: u32,
}

/// Told by the driver of every call once anything is enabled.
pub(crate) extern "C" fn seen(call: &Call<'_>) {
    // A panic must not unwind into the driver; the call's records are lost then, and the tests that miss them fail.
    let _ = std::panic::catch_unwind(|| {
        let (caller, records) = {
            let mut state = state::lock();
            state.correlation += 1;
            let made = state.made(call);
            (state.caller(&made), state.records(call, &made))
        };
        if let Some(caller) = caller {
            caller.call_back(call);
        }
        buffers::store(records);
        if let Ok(now) = driver::now() {
            buffers::flush_if_due(now);
        }
    });
}

impl State {
    /// What the client sees `call` as.
    fn made(&self, call: &Call<'_>) -> Made {
        let (kind, cbid) = match call.cbid {
            LAUNCH if self.wishes.runtime_launches => (kinds::RUNTIME, cbid::CUDA_LAUNCH_KERNEL),
            cbid => (kinds::DRIVER, cbid),
        };
        Made {
            kind,
            cbid,
            correlation: self.correlation,
        }
    }

    /// Whom to call back of it, if anybody.
    fn caller(&self, made: &Made) -> Option<Caller> {
        let domain = match made.kind {
            kinds::RUNTIME => RUNTIME_API,
            _ => DRIVER_API,
        };
        let (callback, user) = self.callback?;
        self.enabled.listens(domain, made.cbid).then_some(Caller {
            callback,
            user,
            domain,
            cbid: made.cbid,
            correlation: made.correlation,
        })
    }

    /// The records of `call`, less those that are dropped by order.
    fn records(&mut self, call: &Call<'_>, made: &Made) -> Vec<Record> {
        let Made {
            kind,
            cbid,
            correlation,
        } = *made;
        let recorded = self.enabled.has_call(kind, cbid);
        let mut records = Vec::new();
        if recorded && self.enabled.has(kinds::EXTERNAL_CORRELATION) {
            self.external_ids(correlation, &mut records);
        }
        let cause = Cause {
            correlation,
            asynchronous: call.asynchronous,
        };
        for activity in call.activities() {
            if let Some(kind) = kind_of(activity, &self.enabled) {
                let mut record = Record::activity(self.version, kind, activity, cause);
                self.wishes.spoil(&mut record);
                records.push(record);
            }
        }
        if recorded {
            let api = Api {
                kind,
                cbid,
                start: call.start,
                end: call.end,
                result: call.result,
                correlation,
            };
            records.push(Record::api(self.version, &api));
        }
        let all = records.len();
        records.retain(|record| !self.wishes.drops(record.kind));
        self.dropped += (all - records.len()) as u64;
        records
    }

    /// One record for each kind of external id, with the innermost.
    fn external_ids(&self, correlation: u32, records: &mut Vec<Record>) {
        let here = (thread(), 0)..=(thread(), u32::MAX);
        for ((_, kind), ids) in self.pushed.range(here) {
            let record = |id: &u64| Record::external(self.version, *kind, *id, correlation);
            records.extend(ids.last().map(record));
        }
    }
}

impl Wishes {
    /// Gives a kernel wrong stamps where it is its turn.
    fn spoil(&mut self, record: &mut Record) {
        if !matches!(record.kind, kinds::KERNEL | kinds::CONCURRENT_KERNEL) {
            return;
        }
        self.stamps.retain_mut(|(before, stamps)| {
            if *before == 0 {
                record.spoil(*stamps);
                return false;
            }
            *before -= 1;
            true
        });
    }

    /// Whether a record of `kind` is to be dropped: each order counts it, and one whose turn it is is done with.
    fn drops(&mut self, kind: u32) -> bool {
        let mut dropped = false;
        self.drops.retain_mut(|(of, before)| {
            if *of != 0 && *of != kind {
                return true;
            }
            if *before == 0 && !dropped {
                dropped = true;
                return false;
            }
            *before = before.saturating_sub(1);
            true
        });
        dropped
    }
}

/// The kind of record that `activity` becomes; none where it is not enabled.
fn kind_of(activity: &Activity, enabled: &Enabled) -> Option<u32> {
    let kind = match activity.what {
        What::Kernel { .. } => return enabled.kernels(),
        What::Copy { from, to, .. } if from.device != to.device => kinds::MEMCPY2,
        What::Copy { .. } => kinds::MEMCPY,
        What::Set { .. } => kinds::MEMSET,
        What::Memory { .. } => kinds::MEMORY2,
        What::Wait { .. } => kinds::SYNCHRONIZATION,
    };
    enabled.has(kind).then_some(kind)
}
