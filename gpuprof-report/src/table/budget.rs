//! The line about functions that cost more than the budget of automatic sampling.

use std::borrow::Cow;

use super::number;
use super::words::{DIM, NAMES, Paragraph, WARN, labelled};
use crate::profile::{Function, Profile};
use crate::sanitize;
use crate::setting_values::Sampling;
use crate::sorting::sort_by;

/// Of the budget: a function that costs the program less than that is not named.
const MATTERS: f64 = 0.1;

/// Functions whose calls are so short that counting them alone costs more than the budget. Only
/// those that matter for the whole program.
pub(super) fn too_short(profile: &Profile) -> Option<Paragraph> {
    let Sampling::Auto { budget_ppm } = profile.diagnostics.sampling else {
        return None;
    };
    let budget = f64::from(budget_ppm.get()) * 1e-6;
    let span_ns = profile.diagnostics.cpu_span_ns? as f64;
    let mut over: Vec<(f64, &Function)> = (profile.functions.iter())
        .map(|function| (span_ns * function.calls as f64, function))
        .filter(|(cost_ns, function)| {
            *cost_ns > budget * function.cpu.total_ns as f64
                && *cost_ns > MATTERS * budget * profile.wall_ns as f64
        })
        .collect();
    sort_by(&mut over, |(a, _), (b, _)| b.total_cmp(a));
    let names: Vec<_> = over
        .iter()
        .map(|(_, function)| {
            let name = sanitize::name(&function.name);
            let mean = number::duration(function.cpu.mean_ns).text();
            Cow::Owned(format!("{name} {mean}"))
        })
        .collect();
    (!names.is_empty()).then(|| {
        let percent = 100.0 * budget;
        let mut words = labelled(WARN, "too short for a budget", &format!("of {percent} %:"));
        words.add_list(names, NAMES).then(".");
        words.add(
            DIM,
            &format!(
                "To count a call takes {span_ns:.0} ns; annotate a caller that does more per call."
            ),
        );
        words
    })
}
