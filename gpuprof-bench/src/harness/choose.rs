//! The benchmarks that the arguments choose.

use super::options::HarnessOptions;
use crate::registry::Case;

/// The chosen benchmarks. If there are none, a line on standard error says why: it is no failure,
/// as cargo passes the same arguments to every target of a package.
///
/// # Errors
/// A value that a parameter never takes.
pub(super) fn choose(options: &HarnessOptions) -> Result<Vec<Case>, String> {
    let every = Case::all(&[]);
    for (name, wanted) in &options.axis {
        let known = values(&every, name);
        if known.is_empty() {
            eprintln!("gpuprof bench: --axis: no benchmark here has a parameter `{name}`");
            return Ok(Vec::new());
        }
        if let Some(unknown) = wanted.iter().find(|value| !known.contains(value)) {
            let known = known.join(", ");
            return Err(format!(
                "--axis: `{name}` is never {unknown}; there are {known}"
            ));
        }
    }
    let matches = |case: &Case, text: &String| {
        if options.exact {
            case.name == *text
        } else {
            case.name.contains(text.as_str())
        }
    };
    let mut cases = Case::all(&options.axis);
    cases.retain(|case| {
        let is_wanted = options.filters.is_empty()
            || options.filters.iter().any(|filter| matches(case, filter));
        is_wanted && !options.ignored && !options.skip.iter().any(|text| matches(case, text))
    });
    if cases.is_empty() && !options.filters.is_empty() {
        eprintln!("gpuprof bench: no benchmark here has such a name; --list shows all");
    }
    Ok(cases)
}

/// The values of a parameter, numbers in their order.
fn values(cases: &[Case], name: &str) -> Vec<String> {
    let all = cases.iter().flat_map(|case| &case.parameters);
    let of_it = all.filter(|parameter| parameter.name == name);
    let mut values: Vec<String> = of_it.map(|parameter| parameter.value.clone()).collect();
    let number = |value: &String| value.parse::<f64>().unwrap_or(f64::INFINITY);
    values.sort_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
    values.dedup();
    values
}
