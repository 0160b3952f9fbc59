//! What a benchmark adds to the function that stands for it.

use crate::figures::figures;

figures! {
    /// A benchmark in one mode. Its function has the name of both, and the samples as calls.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Benchmark {
        /// Index into `functions`.
        pub function: u32;
        /// Its name without parameters.
        pub name: String;
        /// The parameters of this run of it; a generic function's type is the parameter `type`.
        pub parameters: Vec<Parameter>;
        /// How calls were made: `cold`, `hot` or `graph`.
        pub mode: String;
        /// CUDA ordinal of the device.
        pub device: u32;
        /// Bytes that a call moves, as stated.
        pub bytes: Option<u64>;
        /// Floating-point operations of a call, as stated.
        pub flops: Option<u64>;
        /// Calls of a sample; the times of the function are those of one call.
        pub calls_per_sample: u32;
        /// Median of the samples, ns.
        #[cfg_attr(test, schemars(range(min = 0)))]
        pub median_ns: f64;
        /// Lower end of the median's 95 % confidence interval, ns; `None` with fewer than 6
        /// samples.
        #[cfg_attr(test, schemars(range(min = 0)))]
        pub median_low_ns: Option<f64>;
        /// Upper end, ns.
        #[cfg_attr(test, schemars(range(min = 0)))]
        pub median_high_ns: Option<f64>;
        /// Standard deviation over median, from the median absolute deviation.
        #[cfg_attr(test, schemars(range(min = 0)))]
        pub noise: f64;
        /// Median of event pairs with nothing between them, ns.
        #[cfg_attr(test, schemars(range(min = 0)))]
        pub event_overhead_ns: f64;
        /// Samples that were dropped because the device was throttled.
        pub throttled_samples: u64;
        /// Whether the median became known as well as it was to be, before a limit ended it.
        pub converged: bool;
        /// The clock of the SMs at the end, MHz; `None` without NVML.
        pub sm_clock_mhz: Option<u32>;
        /// What a reader must know of these times.
        pub notes: Vec<String>;
    }
}

figures! {
    /// A parameter of a benchmark, with its value in one run.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub struct Parameter {
        /// For example `n`.
        pub name: String;
        /// As its name in the table has it.
        pub value: String;
    }
}

impl Parameter {
    /// A parameter with this value.
    #[must_use]
    pub fn new(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }
}
