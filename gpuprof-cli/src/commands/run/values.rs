//! The values that the arguments take.

use clap::ValueEnum;
use gpuprof_report::setting_values::{Counters, MAX_LISTED, Output, Sampling};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CuptiFlag {
    /// Kernels, copies, memsets and the calls that cause them
    On,
    /// Also allocations, frees and look-ups of kernels
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    On,
    Off,
}

/// The output that is none.
pub(super) const NONE: &str = "none";

pub(super) fn report_items(text: &str) -> Result<String, String> {
    let accepted = |item: &str| Output::parse(item.trim()).is_some();
    if text == NONE || text.split(',').all(accepted) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "accepted are {NONE} alone, or table, table:full, json=PATH, csv=PATH, folded=PATH, \
         folded:cpu=PATH, pprof=PATH, html=PATH and trace=PATH, separated by commas"
    ))
}

pub(super) fn counters(text: &str) -> Result<String, String> {
    let accepted = format!(
        "accepted are on, or at most {MAX_LISTED} metrics of CUPTI such as lts__t_sectors.sum, \
         separated by commas"
    );
    match text.parse::<Counters>() {
        Ok(counters) if counters.is_on() => Ok(text.to_owned()),
        Ok(_) => Err(accepted),
        Err(error) => Err(format!("{error}; {accepted}")),
    }
}

pub(super) fn trace_path(text: &str) -> Result<String, String> {
    match text {
        "" => Err("a path is needed".to_owned()),
        text if text.contains(',') => Err("the path must have no comma".to_owned()),
        text => Ok(text.to_owned()),
    }
}

pub(super) fn duration(text: &str) -> Result<String, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if !duration.is_zero() => Ok(text.to_owned()),
        _ => Err("accepted is a duration such as 500ms or 2s".to_owned()),
    }
}

pub(super) fn sampling(text: &str) -> Result<String, String> {
    let accepted = "accepted are auto, auto:P% with a budget of P percent of the program's time, \
                    and a whole number N from 1, for 1 call in N";
    match Sampling::parse(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(accepted.to_owned()),
    }
}
