//! The functions and lines of a stack, by the symbols and the debug information of the program and
//! its libraries.

use gpuprof_report::profile::LaunchLine;

use super::frame::{self, Frame};
use crate::cupti::collect::lifecycle;
use crate::os::modules;

/// The line of a stack, whose innermost frame comes first.
pub(super) fn launch_line(addresses: &[usize]) -> Option<LaunchLine> {
    let mut frames: Vec<Frame> = Vec::new();
    let system = system_library();
    for address in below_the_driver(addresses) {
        // It starts threads, and its debug information may be installed.
        if system.is_some() && modules::base_of(*address) == system {
            continue;
        }
        for_each_function(*address, |frame| frames.push(frame));
        if frame::are_enough(&frames) {
            break;
        }
    }
    frame::launch_line(&frames)
}

/// Passes the functions at an address, the inlined ones first.
#[cfg(feature = "cupti")]
fn for_each_function(address: usize, mut on_frame: impl FnMut(Frame)) {
    backtrace::resolve(address as *mut std::ffi::c_void, |symbol| {
        let name = symbol.name();
        let file = symbol.filename();
        on_frame(Frame {
            // Without the hash.
            function: name.map_or_else(String::new, |name| format!("{name:#}")),
            file: file.map(|file| file.to_string_lossy().into_owned()),
            line: symbol.lineno(),
        });
    });
}

/// Without the feature `cupti` there are no stacks.
#[cfg(not(feature = "cupti"))]
fn for_each_function(_: usize, _: impl FnMut(Frame)) {}

/// Where the C library begins, unless it is linked into the program.
fn system_library() -> Option<usize> {
    let own = modules::base_of(system_library as *const () as usize);
    let system = modules::base_of(libc::getpid as *const () as usize);
    system.filter(|_| system != own)
}

/// The frames outside of those that report a call: gpuprof's callback, libcupti, and the driver,
/// which calls libcupti. Their symbols are many, and none is the program's.
fn below_the_driver(addresses: &[usize]) -> &[usize] {
    let base = |index: usize| modules::base_of(*addresses.get(index)?);
    let bases: Vec<Option<usize>> = (0..addresses.len()).map(base).collect();
    let cupti = lifecycle::subscription().and_then(|of| modules::base_of(of.library.address()?));
    let end_of = |library: Option<usize>, start: usize| {
        let mut rest = bases.iter().skip(start);
        rest.position(|base| *base != library)
            .map_or(addresses.len(), |count| start + count)
    };
    let Some(first) = bases
        .iter()
        .position(|base| *base == cupti && base.is_some())
    else {
        return addresses;
    };
    let driver = end_of(cupti, first);
    let start = end_of(bases.get(driver).copied().flatten(), driver);
    addresses.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::launch_line;

    #[test]
    fn the_c_library_and_addresses_of_nothing_have_no_line() {
        let inside = |function: *const ()| function as usize + 1;
        let addresses = [inside(libc::getpid as *const ()), 1, usize::MAX];
        assert_eq!(launch_line(&addresses), None);
        assert_eq!(launch_line(&[]), None);
    }
}
