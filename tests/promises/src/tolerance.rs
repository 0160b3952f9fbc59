//! How far a measured time may be from that of its kernels.

use std::fmt;

/// The accepted difference of a time from the one expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// How much longer it may be, as a share of the expected time.
    pub longer: f64,
    /// What is accepted beside this share: two event records and a launch, ns.
    pub longer_ns: u64,
    /// How much shorter it may be: a step of the device's timer and the resolution of events, ns.
    pub shorter_ns: u64,
    /// How much shorter it may be for each timed call nested in it, ns: the event overhead of these
    /// is taken off, also where records beside running work take no time of the stream.
    pub nested_ns: u64,
    /// Resolution of `cuEventElapsedTime`, ns.
    pub resolution_ns: u64,
    /// How much longer than asked for the host may take, ns.
    pub of_host_ns: u64,
}

impl Tolerance {
    /// Under a virtual clock.
    pub const EXACT: Self = Self {
        longer: 0.0,
        longer_ns: 0,
        shorter_ns: 0,
        nested_ns: 0,
        resolution_ns: 0,
        of_host_ns: 0,
    };

    /// The longest accepted time if `ns` are expected.
    pub fn longest(&self, ns: u64) -> u64 {
        ns + (ns as f64 * self.longer) as u64 + self.longer_ns
    }

    /// Whether `measured` is accepted if `ns` are expected.
    pub fn accepts(&self, measured: u64, ns: u64) -> bool {
        (ns.saturating_sub(self.shorter_ns)..=self.longest(ns)).contains(&measured)
    }

    /// Whether `measured` is accepted of the host if `ns` or more are expected.
    pub fn accepts_of_host(&self, measured: u64, ns: u64) -> bool {
        (ns..=ns + self.of_host_ns).contains(&measured)
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::EXACT {
            return f.write_str("exactly");
        }
        write!(f, "within {} %", 100.0 * self.longer)?;
        if self.longer_ns > 0 {
            write!(f, " + {} µs", self.longer_ns as f64 / 1e3)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Tolerance = Tolerance {
        longer: 0.02,
        longer_ns: 20_000,
        shorter_ns: 2_000,
        nested_ns: 4_000,
        resolution_ns: 500,
        of_host_ns: 1_000_000_000,
    };

    #[test]
    fn a_span_may_be_a_little_longer_than_its_kernel() {
        for read in [998_000, 1_000_000, 1_040_000] {
            assert!(GPU.accepts(read, 1_000_000), "{read}");
        }
        for read in [0, 997_999, 1_040_001, 2_000_000] {
            assert!(!GPU.accepts(read, 1_000_000), "{read}");
        }
        assert_eq!(GPU.to_string(), "within 2 % + 20 µs");
    }

    #[test]
    fn a_virtual_clock_leaves_no_difference() {
        let accepts =
            [999_999, 1_000_000, 1_000_001].map(|ns| Tolerance::EXACT.accepts(ns, 1_000_000));
        assert_eq!(accepts, [false, true, false]);
    }
}
