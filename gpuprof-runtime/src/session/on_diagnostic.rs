//! The program's callback for what gpuprof says about itself.

use super::api::start_from_environment;
use super::exit;
use crate::collector::collector;
use crate::os::fork;
use crate::os::own_work::OwnWork;
use gpuprof_report::diagnostic::Diagnostic;

/// Has `callback` receive what gpuprof says about itself, for the log of a service.
///
/// It receives each distinct line once: wrong settings, files that cannot be written, and the notes
/// of profiles (`diagnostics.notes`), such as why CUPTI is unavailable. These lines are then no
/// longer printed; the report at exit is.
///
/// ```
/// # use gpuprof_runtime as gpuprof;
/// gpuprof::on_diagnostic(|line| match line.severity {
///     gpuprof::Severity::Error => eprintln!("ERROR gpuprof: {line}"),
///     gpuprof::Severity::Warning => eprintln!("WARN gpuprof: {line}"),
///     _ => eprintln!("INFO gpuprof: {line}"),
/// });
/// ```
///
/// Call it first in `main`: lines before it were printed, and `callback` receives them all the
/// same. A note comes when a profile is made: by [`snapshot`](crate::snapshot) or
/// [`collect`](crate::collect), for a checkpoint, a viewer or a scrape of metrics, and at exit.
/// A process has at most 64 lines; further ones are printed, and further notes are in reports only.
///
/// `callback` is called on a thread of gpuprof's own that holds no lock, so that it may take its
/// time and call gpuprof, soon after the line came up; the end of the process waits for it, at most
/// 1 s. If it panics, the panic is caught, and the next line comes. It is not called in a forked
/// child.
///
/// Returns false, and drops `callback`, if there is one already, in a forked child, and if no
/// thread can be started.
pub fn on_diagnostic(callback: impl Fn(&Diagnostic) + Send + Sync + 'static) -> bool {
    let _own = OwnWork::begin();
    if fork::is_child() {
        return false;
    }
    exit::register_fork_handler();
    let diagnostics = &collector().diagnostics;
    let is_set = diagnostics.set_callback(callback).unwrap_or_else(|error| {
        diagnostics.warning(&format!("on_diagnostic: could not start a thread: {error}"));
        false
    });
    start_from_environment();
    is_set
}
