//! The functions and lines of a stack, by the symbols and the debug information of the program and
//! its libraries.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use gpuprof_report::profile::{LaunchLine, REPLACED_FILE, UNKNOWN_FUNCTION};

use super::cpp_names;
use super::frame::{self, CallFrame};
use super::symbols::Symbols;
use crate::cupti::collect::lifecycle;
use crate::cupti::collect::python::locations::{self, LOCATIONS};
use crate::driver::Driver;
use crate::os::modules;

/// The functions at addresses, each looked up once in a process.
#[derive(Debug, Default)]
pub(super) struct FunctionsByAddress(FxHashMap<usize, Arc<[CallFrame]>>);

/// The look-ups of one report.
#[derive(Debug)]
pub(super) struct LookUps {
    /// The time that further ones may take.
    pub(super) left: Duration,
    libraries: Libraries,
    symbols: Symbols,
    /// Code whose file is not the one on the disk any more.
    replaced: Vec<Range<usize>>,
}

impl LookUps {
    /// They may take as long as `left`.
    pub(super) fn new(left: Duration) -> Self {
        Self {
            left,
            libraries: Libraries::find(),
            symbols: Symbols::default(),
            replaced: modules::replaced_code(),
        }
    }
}

impl FunctionsByAddress {
    /// The line of a stack, whose innermost frame comes first; `None` if the time is over.
    pub(super) fn launch_line(
        &mut self,
        addresses: &[usize],
        look_ups: &mut LookUps,
    ) -> Option<LaunchLine> {
        let mut frames: Vec<CallFrame> = Vec::new();
        let mut is_replaced = false;
        let (native, of_python) = locations::split(addresses);
        let native = look_ups.libraries.drop_library_frames(native);
        // Below Python's functions only the program's own code is of interest. To look up that of a
        // framework takes long.
        let is_program = |address: &usize| {
            let library = modules::file_of(*address);
            library.is_none_or(|library| !frame::is_installed_for_python(&library))
        };
        for address in native.filter(|address| of_python.is_empty() || is_program(address)) {
            if look_ups.replaced.iter().any(|code| code.contains(&address)) {
                is_replaced = true;
                continue;
            }
            let found = self.at(address, &look_ups.symbols, &mut look_ups.left)?;
            let has_line = |frame: &&CallFrame| of_python.is_empty() || frame.has_line();
            frames.extend(found.iter().filter(has_line).cloned());
            if frame::are_enough(&frames) {
                break;
            }
        }
        let of_python = of_python.iter().filter_map(|of| LOCATIONS.location(*of));
        frames.extend(of_python.map(|location| CallFrame::of_python(&location)));
        Some(frame::launch_line(&frames).unwrap_or_else(|| {
            let function = if is_replaced {
                REPLACED_FILE
            } else {
                UNKNOWN_FUNCTION
            };
            let mut line = LaunchLine::default();
            function.clone_into(&mut line.function);
            line
        }))
    }

    /// The functions at an address, the inlined ones first; `None` if the time is over.
    fn at(
        &mut self,
        address: usize,
        symbols: &Symbols,
        left: &mut Duration,
    ) -> Option<Arc<[CallFrame]>> {
        if let Some(known) = self.0.get(&address) {
            return Some(Arc::clone(known));
        }
        if left.is_zero() {
            return None;
        }
        let start = Instant::now();
        let frames: Arc<[CallFrame]> = functions(address, symbols).into();
        *left = left.saturating_sub(start.elapsed());
        self.0.insert(address, Arc::clone(&frames));
        Some(frames)
    }
}

/// The functions at an address, the inlined ones first.
fn functions(address: usize, symbols: &Symbols) -> Vec<CallFrame> {
    let mut found = debug_information(address);
    // The last one is not inlined, so the symbol table has it.
    if let Some((name, ..)) = found.last_mut().filter(|(name, ..)| !name.contains("::")) {
        let mut paths = symbols.paths(address).into_iter();
        if let Some(path) = paths.find(|path| frame::is_path_of(path, name)) {
            *name = path;
        }
    }
    let library = modules::file_of(address);
    let frames = found.into_iter().map(|(name, file, line)| {
        let cpp_path = cpp_names::path(&name);
        let frame = CallFrame::new(name, file, line, &mut |krate| symbols.has_main(krate));
        frame.in_library(library.as_deref(), cpp_path)
    });
    frames.collect()
}

/// A function's name, file and line.
type DebugInformation = (String, Option<String>, Option<u32>);

#[cfg(feature = "cupti")]
fn debug_information(address: usize) -> Vec<DebugInformation> {
    let mut found = Vec::new();
    backtrace::resolve(address as *mut std::ffi::c_void, |symbol| {
        let name = symbol.name();
        // Without the hash.
        let name = name.map_or_else(String::new, |name| format!("{name:#}"));
        let file = symbol.filename();
        let file = file.map(|file| file.to_string_lossy().into_owned());
        found.push((name, file, symbol.lineno()));
    });
    found
}

/// Without the feature `cupti` there are no stacks.
#[cfg(not(feature = "cupti"))]
fn debug_information(_: usize) -> Vec<DebugInformation> {
    Vec::new()
}

/// Releases the debug information that look-ups have read.
pub(super) fn release_debug_information() {
    #[cfg(feature = "cupti")]
    backtrace::clear_symbol_cache();
}

/// Where libraries begin that never launch for themselves; `None` for one that is not loaded.
#[derive(Debug)]
struct Libraries {
    /// The program, or the library that gpuprof is a part of.
    own: Option<usize>,
    cupti: Option<usize>,
    driver: Option<usize>,
    /// It starts threads, and its debug information may be installed.
    system: Option<usize>,
}

impl Libraries {
    fn find() -> Self {
        let cupti = lifecycle::subscription().and_then(|of| of.library.address());
        let driver = Driver::loaded().and_then(Driver::address);
        Self {
            own: modules::base_of(Self::find as *const () as usize),
            cupti: cupti.and_then(modules::base_of),
            driver: driver.and_then(modules::base_of),
            system: modules::base_of(libc::getpid as *const () as usize),
        }
    }

    /// The frames of a stack outside of these libraries, and of gpuprof's callback, which libcupti
    /// calls.
    fn drop_library_frames(&self, addresses: &[usize]) -> impl Iterator<Item = usize> {
        let bases = addresses.iter().map(|address| modules::base_of(*address));
        let mut frames: Vec<_> = addresses.iter().copied().zip(bases).collect();
        let is_cupti = |base: &Option<usize>| base.is_some() && *base == self.cupti;
        let mut driver = self.driver;
        if let Some(first) = frames.iter().position(|(_, base)| is_cupti(base)) {
            frames.drain(..first);
            // gpuprof does not call the driver if no function has a stream. It calls libcupti.
            let caller = frames.iter().find(|(_, base)| !is_cupti(base));
            driver = driver.or_else(|| caller.and_then(|(_, base)| *base));
        }
        let skipped = [self.cupti, driver, self.system];
        let own = self.own;
        let is_kept =
            move |base: &Option<usize>| base.is_none() || *base == own || !skipped.contains(base);
        let kept = frames.into_iter().filter(move |(_, base)| is_kept(base));
        kept.map(|(address, _)| address)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{FunctionsByAddress, Libraries, LookUps, UNKNOWN_FUNCTION};
    use gpuprof_report::profile::REPLACED_FILE;

    fn inside(function: *const ()) -> usize {
        function as usize + 1
    }

    fn here() -> usize {
        inside(here as *const ())
    }

    /// The function of a stack's line.
    fn function(addresses: &[usize], look_ups: &mut LookUps) -> Option<String> {
        let line = FunctionsByAddress::default().launch_line(addresses, look_ups)?;
        Some(line.function)
    }

    fn look_ups() -> LookUps {
        LookUps::new(Duration::MAX)
    }

    #[test]
    fn the_c_library_and_addresses_of_nothing_have_no_line() {
        let addresses = [inside(libc::getpid as *const ()), 1, usize::MAX];
        let unknown = Some(UNKNOWN_FUNCTION.to_owned());
        assert_eq!(function(&addresses, &mut look_ups()), unknown);
        assert_eq!(function(&[], &mut look_ups()), unknown);
    }

    #[test]
    fn code_whose_file_was_replaced_is_not_looked_up() {
        let mut look_ups = look_ups();
        look_ups.replaced = std::iter::once(here() - 1..here() + 1).collect();
        let replaced = Some(REPLACED_FILE.to_owned());
        assert_eq!(function(&[here(), 1], &mut look_ups), replaced);
        assert_eq!(
            function(&[1], &mut look_ups).as_deref(),
            Some(UNKNOWN_FUNCTION)
        );
    }

    #[test]
    fn frames_of_libraries_are_left_out_and_never_those_of_the_program() {
        let (program, system) = (here(), inside(libc::getpid as *const ()));
        let base = |address| crate::os::modules::base_of(address);
        let mut libraries = Libraries {
            own: base(program),
            cupti: base(system),
            driver: None,
            system: None,
        };
        let without = |libraries: &Libraries, addresses: &[usize]| {
            let kept: Vec<usize> = libraries.drop_library_frames(addresses).collect();
            kept
        };
        // The callback, libcupti, and the program, which has the driver's or the runtime's code.
        let stack = [program, system, program + 1, 1];
        assert_eq!(without(&libraries, &stack), [program + 1, 1]);
        libraries.driver = base(program);
        assert_eq!(without(&libraries, &stack), [program + 1, 1]);
        // Without libcupti nothing is known about the first frames.
        assert_eq!(without(&libraries, &[program, 1]), [program, 1]);
        libraries.own = None;
        assert_eq!(without(&libraries, &stack), [1]);
    }

    #[test]
    fn an_address_is_looked_up_once_and_not_when_the_time_is_over() {
        let mut functions = FunctionsByAddress::default();
        let mut look_ups = LookUps::new(Duration::ZERO);
        assert_eq!(functions.launch_line(&[here()], &mut look_ups), None);
        look_ups.left = Duration::MAX;
        let line = functions.launch_line(&[here()], &mut look_ups);
        assert!(line.is_some() && look_ups.left < Duration::MAX);
        look_ups.left = Duration::ZERO;
        assert_eq!(functions.launch_line(&[here()], &mut look_ups), line);
    }
}
