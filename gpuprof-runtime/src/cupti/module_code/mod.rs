//! The code of the modules that the program loads: from instructions to source lines, and which
//! instructions are of double precision.

mod cubin;
mod double_lines;
mod double_precision;
#[cfg(all(test, chips))]
mod nvdisasm;
mod stall_rows;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

pub(crate) use self::double_lines::write_to_profile as write_double_lines;
pub(crate) use self::stall_rows::write_to_profile as write_stalls;
use super::collect::library::CuptiLibrary;

/// Code that is kept at most, bytes.
const MAX_BYTES: usize = 128 << 20;

/// The note about modules beyond it.
const TOO_MUCH: &str = "modules with line information have over 128 MiB of code: kernels of those \
    loaded last have no source lines";

/// The code of modules that have source lines.
#[derive(Debug, Default)]
pub(crate) struct ModuleCode(Mutex<KeptModules>);

#[derive(Debug, Default)]
struct KeptModules {
    modules: Vec<Arc<Module>>,
    bytes: usize,
    is_full: bool,
}

/// A module's code, as the driver has loaded it.
#[derive(Debug)]
pub(crate) struct Module {
    cubin: Box<[u8]>,
    /// By which CUPTI names it.
    crc: OnceLock<Option<u64>>,
}

impl ModuleCode {
    /// The program loads a module.
    pub(crate) fn keep(&self, cubin: &[u8]) {
        if !cubin::has_lines(cubin) {
            return;
        }
        let mut kept = self.0.lock();
        let is_known = |module: &Arc<Module>| *module.cubin == *cubin;
        if kept.modules.iter().any(is_known) {
            return;
        }
        if kept.bytes + cubin.len() > MAX_BYTES {
            kept.is_full = true;
            return;
        }
        kept.bytes += cubin.len();
        kept.modules.push(Arc::new(Module {
            cubin: cubin.into(),
            crc: OnceLock::new(),
        }));
    }

    /// The modules, in the order in which they were loaded. Empty if the lock was not free within
    /// `limit`.
    fn modules(&self, limit: Duration) -> Vec<Arc<Module>> {
        let kept = self.0.try_lock_for(limit);
        kept.map_or_else(Vec::new, |kept| kept.modules.clone())
    }

    /// A note for the report if there was no room for a module.
    pub(crate) fn note(&self, limit: Duration) -> Option<String> {
        let kept = self.0.try_lock_for(limit)?;
        kept.is_full.then(|| TOO_MUCH.to_owned())
    }
}

impl Module {
    fn crc(&self, cupti: &CuptiLibrary) -> Option<u64> {
        let ask = || crate::cupti::collect::source_lines::crc(cupti, &self.cubin);
        *self.crc.get_or_init(ask)
    }
}
