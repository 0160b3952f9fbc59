//! What the library that `gpuprof run` injects into programs is made of.

use crate::collector::collector;
use crate::cupti;
use crate::os::user;
use crate::session::{elf_note, start_once};
use crate::settings::{self, CuptiMode};

pub use crate::nvtx_ranges::{
    Domain, RangeSite, end, in_own_work, measures, pop, push, start as start_range,
};

/// Whether this gpuprof measures the program or may: neither the program nor a library that it had
/// loaded contains another one, and its user may have it measured.
#[must_use]
pub fn is_alone() -> bool {
    elf_note::is_noted_as_injected() || !user::has_foreign_rights() && !elf_note::other_copies().any
}

/// Measures a program that does not use gpuprof, from inside its `cuInit`: nothing here may call
/// the driver. Does nothing unless this gpuprof [`is_alone`].
pub fn start() {
    if !is_alone() {
        if !elf_note::is_noted_as_injected()
            && !user::has_foreign_rights()
            && let Some(prepare) = elf_note::other_copies().prepare
        {
            prepare();
        }
        return;
    }
    let mut hands_cupti_over = false;
    start_once(|| {
        let (mut settings, problems) = settings::from_env(std::env::vars_os());
        hands_cupti_over = settings.cupti.is_none();
        settings.hands_cupti_over = hands_cupti_over;
        // All that can be known of such a program.
        settings.cupti.get_or_insert(CuptiMode::Full);
        settings.is_injected = true;
        if settings.may_measure() {
            elf_note::note_injected();
        }
        (settings, problems)
    });
    if hands_cupti_over {
        cupti::offer_handover(|| collector().end_measuring());
    }
    elf_note::note_started();
}
