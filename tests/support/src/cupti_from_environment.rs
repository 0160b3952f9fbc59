//! Configures the simulated libcupti by an environment variable, for programs under test: CUPTI
//! starts once in a process.

use simcupti::{Cupti, Options, Order, Version};

/// The configuration: `WORD VALUE…` separated by semicolons; see [`install`].
pub const CUPTI_CONFIGURATION: &str = "GPUPROF_TEST_CUPTI";

/// A libcupti that has the calls of a subscriber.
pub const SUBSCRIBER_CALLS: &str = "cuda 13.3";

/// What gpuprof calls in place of the function of the process in a test that has the configuration
/// of this one.
pub fn in_use(function: &str) -> String {
    match std::env::var(CUPTI_CONFIGURATION).as_deref() {
        Ok(SUBSCRIBER_CALLS) => format!("{function}_v2"),
        _ => function.to_owned(),
    }
}

/// Loads libcupti and configures it.
pub fn install() -> Cupti {
    let text = std::env::var(CUPTI_CONFIGURATION).unwrap_or_default();
    let settings: Vec<Vec<&str>> = text
        .split(';')
        .map(|setting| setting.split_whitespace().collect())
        .collect();
    let mut options = Options::default();
    for setting in &settings {
        match setting[..] {
            ["hide", symbol] => options.hide.push(symbol.to_owned()),
            ["cuda", "12.0"] => options.version = Version::Cuda12_0,
            ["cuda", "13.3"] => options.version = Version::Cuda13_3,
            _ => {}
        }
    }
    let cupti = simcupti::install_with(&options).expect("the simulated libcupti is built");
    for setting in &settings {
        match setting[..] {
            [] | ["hide" | "cuda", _] => {}
            ["number", number] => cupti.set_version_reporting(options.version, parsed(number)),
            ["split", records] => cupti.split(parsed(records)),
            ["reversed"] => cupti.set_order(Order::Reversed),
            ["fail", symbol, nth, times, code] => {
                cupti.fail(symbol, parsed(nth), parsed(times), parsed(code));
            }
            _ => panic!("unknown setting {setting:?}"),
        }
    }
    cupti
}

fn parsed<T: std::str::FromStr>(text: &str) -> T {
    text.parse()
        .unwrap_or_else(|_| panic!("{text} is not a number"))
}
