//! Command lines of Nsight Compute and Nsight Systems for a closer look at what a profile shows.
//!
//! Sources: Nsight Compute CLI, "NVTX Filtering" (`domain@range/` is a range that was pushed,
//! `domain@range` one that was started; `@ , [ ] / * +` in a name take a backslash) and "Command
//! Line Options".

use super::profile_index::ProfileIndex;
use crate::profile::{Function, KernelStats, Profile, ToolCommand};
use crate::sanitize;

/// Maximum length of an NVTX range name; must equal the limit in the runtime's `nvtx`.
const MAX_RANGE_CHARS: usize = 1_000;

/// Characters with a special meaning in an NVTX filter.
const FILTER_CHARACTERS: [char; 7] = ['@', ',', '[', ']', '/', '*', '+'];

/// The `ncu` command line for the kernel with the longest total time, and the `nsys` command line
/// for the whole program. Empty if CUPTI recorded no kernel.
///
/// Both set `GPUPROF=nvtx`. Only one tool can use CUPTI at a time; in NVTX mode gpuprof leaves
/// CUPTI to ncu and nsys and emits only ranges.
///
/// `has_ranges` says whether the program emits NVTX ranges. Without ranges, a filter by range would
/// match nothing, so it is omitted.
#[must_use]
pub fn commands(profile: &Profile, has_ranges: bool) -> Vec<ToolCommand> {
    let hottest = profile
        .kernels
        .iter()
        .max_by_key(|kernel| kernel.times.total_ns);
    let Some(kernel) = hottest.filter(|_| profile.cupti.is_some()) else {
        return Vec::new();
    };
    let simulated = profile.devices.iter().any(|device| device.simulated);
    let place = if simulated {
        "on a machine with a GPU, "
    } else {
        ""
    };
    let home = ProfileIndex::new(profile)
        .main_function(kernel)
        .and_then(|at| profile.functions.get(at));
    let inside = match home {
        Some(function) => format!(", in {}", sanitize::name(&function.name)),
        None => String::new(),
    };
    let program = quoted(&sanitize::name(&profile.program));
    let kernel_name = sanitize::name(&kernel.name);
    vec![
        ToolCommand {
            what: format!(
                "{place}inside the hottest kernel ({kernel_name}{inside}; add the program's path \
                 and arguments)"
            ),
            line: ncu(kernel, home.filter(|_| has_ranges), &program),
        },
        ToolCommand {
            what: format!("{place}the time line of the program"),
            line: format!("GPUPROF=nvtx nsys profile -t cuda,nvtx -o report {program}"),
        },
    ]
}

fn ncu(kernel: &KernelStats, home: Option<&Function>, program: &str) -> String {
    let mut line = "GPUPROF=nvtx ncu".to_owned();
    if let Some(range) = home.and_then(range) {
        line.push_str(" --nvtx --nvtx-include ");
        line.push_str(&quoted(&range));
    }
    // ncu's default for `--kernel-name-base` is the name without template arguments and
    // parameters, which several kernels can share.
    if kernel.symbol.starts_with("_Z") {
        line.push_str(" --kernel-name-base mangled");
    }
    line.push_str(" --kernel-name ");
    line.push_str(&quoted(&kernel.symbol));
    line.push_str(" --launch-count 1 --set full ");
    line.push_str(program);
    line
}

/// The NVTX filter for a function's ranges. `None` if the name cannot be written as a filter, as
/// with a backslash before a special character.
fn range(function: &Function) -> Option<String> {
    let name = sanitize::short(&function.name, MAX_RANGE_CHARS);
    let mut filter = String::from("gpuprof@");
    let mut after_backslash = false;
    for c in name.chars() {
        let is_special = FILTER_CHARACTERS.contains(&c);
        if is_special && after_backslash {
            return None;
        }
        if is_special || c == '\\' {
            filter.push('\\');
        }
        filter.push(c);
        after_backslash = c == '\\';
    }
    // The range of an async function is started on one thread and may end on another.
    if !function.is_async {
        if after_backslash {
            return None;
        }
        filter.push('/');
    }
    Some(filter)
}

/// One word for a POSIX shell. NUL is omitted, as no argument can hold it.
fn quoted(text: &str) -> String {
    let text = text.replace('\0', "");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-./:@_".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
