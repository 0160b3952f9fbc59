//! What outlives single windows: plain data, which only the files of `session` read and change.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::settings::Settings;
use gpuprof_report::live::Look;
use gpuprof_report::profile::Profile;

#[derive(Default)]
pub(crate) struct ProcessState {
    pub(crate) sessions: Mutex<Sessions>,
    /// Changed under the lock of `sessions`, which is held while a session starts; read without.
    pub(crate) is_session_open: AtomicBool,
    pub(crate) checkpoints: Checkpoints,
    /// Of a program in standby.
    pub(crate) standby: OnceLock<Standby>,
    /// What viewers look for, by the number of the look.
    pub(crate) looks: Mutex<Vec<(u64, Look)>>,
    /// CPU time of the answers to viewers, ns.
    pub(crate) answers_ns: AtomicU64,
}

pub(crate) struct Standby {
    pub(crate) settings: Arc<Settings>,
    /// Starts CUPTI, and what samples by it, for a look.
    pub(crate) start_cupti: fn(&Settings),
}

#[derive(Default)]
pub(crate) struct Sessions {
    /// What the environment's window had measured when the first session began; reported at exit.
    pub(crate) environment: Option<(Arc<Settings>, Profile)>,
}

#[derive(Default)]
pub(crate) struct Checkpoints {
    /// Held while files are rewritten, and from the end of the process on: a checkpoint must not
    /// replace the final report.
    pub(crate) writing: Mutex<()>,
    /// A file was rewritten: the end of the process must replace it, even by an empty report.
    pub(crate) has_written: AtomicBool,
}
