//! Random numbers of gpuprof's own. fastrand's global functions, `Rng::new` and `Rng::default` draw
//! from the thread's generator, which is the program's: `clippy.toml` and a test of the sources,
//! `xtask/tests/source`, forbid them.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fastrand::Rng;

/// Another generator: its seed is a hash of its number, keyed by the process's seed.
pub(crate) fn generator() -> Rng {
    // std's keys come from the system and are random in every program, so that nothing can depend
    // on how many were drawn. No crate is needed for them.
    static PROCESS_SEED: OnceLock<RandomState> = OnceLock::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    #[cfg(gpuprof_test_hooks)]
    if let Some(seed) = TEST_SEED.get() {
        return Rng::with_seed(seed);
    }
    let number = NUMBER.fetch_add(1, Relaxed);
    Rng::with_seed(PROCESS_SEED.get_or_init(RandomState::new).hash_one(number))
}

#[cfg(gpuprof_test_hooks)]
thread_local! {
    static TEST_SEED: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Seeds the generators that this thread makes from now on.
#[cfg(gpuprof_test_hooks)]
pub fn set_seed(seed: u64) {
    TEST_SEED.set(Some(seed));
}
