//! A simulated libcupti beside the simulated driver, steered by the environment: for the programs
//! of tests in which CUPTI is started once a process.

use simcupti::{Cupti, Options, Order, Stamps, Version};

/// What is to be different, as `WORD VALUE…` between semicolons; see [`install`].
pub const ORDERS: &str = "GPUPROF_TEST_CUPTI";

/// Loads it and does what the environment orders.
pub fn install() -> Cupti {
    let text = std::env::var(ORDERS).unwrap_or_default();
    let orders: Vec<Vec<&str>> = text
        .split(';')
        .map(|order| order.split_whitespace().collect())
        .collect();
    let mut options = Options::default();
    for order in &orders {
        match order[..] {
            ["hide", symbol] => options.hide.push(symbol.to_owned()),
            ["cuda", "12.0"] => options.version = Version::Cuda12_0,
            _ => {}
        }
    }
    let cupti = simcupti::install_with(&options).expect("the simulated libcupti is built");
    for order in &orders {
        match order[..] {
            [] | ["hide" | "cuda", _] => {}
            ["number", number] => cupti.set_version_number(options.version, parsed(number)),
            ["split", records] => cupti.split(parsed(records)),
            ["reversed"] => cupti.set_order(Order::Reversed),
            ["drop", kind, nth] => cupti.drop_record(parsed(kind), parsed(nth)),
            ["zero", nth] => cupti.corrupt_stamps(parsed(nth), Stamps::Zero),
            ["backward", nth] => cupti.corrupt_stamps(parsed(nth), Stamps::Reversed),
            ["fail", symbol, nth, times, code] => {
                cupti.fail(symbol, parsed(nth), parsed(times), parsed(code));
            }
            _ => panic!("no order {order:?}"),
        }
    }
    cupti
}

fn parsed<T: std::str::FromStr>(text: &str) -> T {
    text.parse()
        .unwrap_or_else(|_| panic!("{text} is no number"))
}
