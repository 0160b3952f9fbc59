//! Whether this user may read the GPU's performance counters.

use std::fs;

/// `CAP_SYS_ADMIN` in the masks of `/proc/self/status`.
const SYS_ADMIN: u32 = 21;

/// Who may read the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CounterAccess {
    /// The kernel's part of the driver is not loaded.
    NoDriver,
    /// Everyone.
    Everyone,
    /// Administrators, of which this process is one.
    AdministratorsHere,
    /// Administrators only.
    Administrators,
}

/// What the driver and the kernel say of this process.
pub(crate) fn counters() -> CounterAccess {
    let Ok(parameters) = fs::read_to_string("/proc/driver/nvidia/params") else {
        return CounterAccess::NoDriver;
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    counters_of(&parameters, &status)
}

fn counters_of(parameters: &str, status: &str) -> CounterAccess {
    let restricted = field(parameters, "RmProfilingAdminOnly").is_some_and(|value| value != "0");
    let capabilities = field(status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let may = capabilities.is_some_and(|mask| mask >> SYS_ADMIN & 1 == 1);
    match (restricted, may) {
        (false, _) => CounterAccess::Everyone,
        (true, true) => CounterAccess::AdministratorsHere,
        (true, false) => CounterAccess::Administrators,
    }
}

/// The value of a line `name: value`.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(field, _)| *field == name)
        .map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restriction_holds_for_those_who_are_no_administrators() {
        let root = "Name:\tgpuprof\nCapEff:\t000001ffffffffff\n";
        let user = "CapEff:\t0000000000000000\n";
        let container = "CapEff:\t00000000a80425fb\n";
        let restricted = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n";
        for (parameters, status, expected) in [
            (restricted, root, CounterAccess::AdministratorsHere),
            (restricted, user, CounterAccess::Administrators),
            (restricted, container, CounterAccess::Administrators),
            (restricted, "", CounterAccess::Administrators),
            ("RmProfilingAdminOnly: 0\n", user, CounterAccess::Everyone),
            ("", user, CounterAccess::Everyone),
        ] {
            assert_eq!(
                counters_of(parameters, status),
                expected,
                "{parameters}{status}"
            );
        }
    }
}
