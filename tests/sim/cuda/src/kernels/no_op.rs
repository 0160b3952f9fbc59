//! No-ops for unknown kernels, in programs that do not install the simulator themselves.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::launch::{Kernel, Work};

/// The duration of a no-op in ns.
const NO_OP_NS: u64 = 10_000;

/// Unknown kernels that are named.
const MAX_NAMED: usize = 20;

/// The no-op for the kernel `name`, which its first use reports on standard error, unless there are
/// very many.
pub(crate) fn no_op(name: &str) -> &'static Kernel {
    static NO_OPS: Mutex<BTreeMap<String, &'static Kernel>> = Mutex::new(BTreeMap::new());
    let mut no_ops = NO_OPS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = no_ops.len();
    no_ops.entry(name.to_owned()).or_insert_with(|| {
        match known.cmp(&MAX_NAMED) {
            Ordering::Less => eprintln!(
                "simulated device: kernel `{name}` is unknown; a launch does nothing and takes \
                 10 µs"
            ),
            Ordering::Equal => eprintln!("simulated device: more kernels are unknown"),
            Ordering::Greater => {}
        }
        // Leaked once per name, because the known kernels are static.
        Box::leak(Box::new(Kernel {
            name: Box::leak(Box::from(name)),
            params: &[],
            run: |_, _| Ok(()),
            work: |_| Work {
                ns: Some(NO_OP_NS),
                ..Work::default()
            },
        }))
    })
}
