//! What a name that the agent sent means.

use std::cmp::Reverse;
use std::collections::HashSet;

use gpuprof_report::profile::{Function, KernelStats, Profile};
use gpuprof_report::sanitize;
use strsim::normalized_damerau_levenshtein;

/// Names that an answer lists because the name did not say which.
const MAX_LISTED: usize = 20;

/// Characters of a name that the agent sent.
const MAX_NAME: usize = 200;

const NOTHING_RAN: &str = "no profiled function has run";

/// Normalized similarity from which a name is taken for a misspelled one; 1 is equal.
const SIMILAR: f64 = 0.6;

/// Something that has a name.
#[derive(Clone, Copy)]
struct Named<'a, T> {
    name: &'a str,
    /// GPU and CPU time, ns.
    time: (u64, u64),
    thing: T,
}

/// A function or a kernel.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    /// With its index.
    Function(usize, &'a Function),
    Kernel(&'a KernelStats),
}

/// The function of this name or, if there is none, the one whose name has this part; with its
/// index.
///
/// # Errors
/// If the name says none, or several.
pub(super) fn function<'a>(
    profile: &'a Profile,
    name: &str,
) -> Result<(usize, &'a Function), String> {
    let functions: Vec<_> = functions(profile, |at, function| (at, function)).collect();
    let found = named(&functions, ["function", "functions"], name)?;
    let mut found = found.into_iter();
    found.next().ok_or_else(|| NOTHING_RAN.to_owned())
}

/// The functions and kernels of this name or, if there is none, of the only name that has this
/// part.
///
/// # Errors
/// If the name says none, or several.
pub(super) fn functions_and_kernels<'a>(
    profile: &'a Profile,
    name: &str,
) -> Result<Vec<Subject<'a>>, String> {
    let kernels = profile.kernels.iter().map(|kernel| Named {
        name: &kernel.name,
        time: (kernel.times.total_ns, 0),
        thing: Subject::Kernel(kernel),
    });
    let both: Vec<_> = functions(profile, Subject::Function)
        .chain(kernels)
        .collect();
    named(&both, ["function or kernel", "functions and kernels"], name)
}

/// The functions that ran.
fn functions<'a, T>(
    profile: &'a Profile,
    thing: impl Fn(usize, &'a Function) -> T,
) -> impl Iterator<Item = Named<'a, T>> {
    let functions = profile.functions.iter().enumerate();
    let functions = functions.filter(|(_, function)| function.has_run());
    functions.map(move |(at, function)| {
        let gpu = function.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns);
        Named {
            name: &function.name,
            time: (gpu, function.cpu.total_ns),
            thing: thing(at, function),
        }
    })
}

/// Everything of one name. `what` they are is for one and for several.
fn named<T: Copy>(all: &[Named<'_, T>], what: [&str; 2], name: &str) -> Result<Vec<T>, String> {
    let of_name = |name: &str| -> Vec<T> {
        let of_name = all.iter().filter(|named| named.name == name);
        of_name.map(|named| named.thing).collect()
    };
    let exact = of_name(name);
    if !exact.is_empty() {
        return Ok(exact);
    }
    let matching = by_time(all.iter().filter(|named| named.name.contains(name)));
    let shown = sanitize::short(name, MAX_NAME);
    let [one, several] = what;
    match matching.as_slice() {
        [only] => Ok(of_name(only)),
        [] if all.is_empty() => Err(NOTHING_RAN.into()),
        [] => {
            let names = listed(&by_time(all.iter()));
            let hint = match nearest(all, &shown) {
                Some(near) => format!("did you mean {near}? There are: {names}"),
                None => format!("there are: {names}"),
            };
            Err(format!("{shown}: no {one} has this name; {hint}"))
        }
        matching => Err(format!(
            "{shown}: {} {several} have this in their name: {}",
            matching.len(),
            listed(matching)
        )),
    }
}

/// Each name once, longest GPU time first.
fn by_time<'a, T: 'a>(all: impl Iterator<Item = &'a Named<'a, T>>) -> Vec<&'a str> {
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|named| Reverse(named.time));
    let mut names: Vec<&str> = Vec::new();
    let mut known = HashSet::new();
    names.extend(
        all.into_iter()
            .map(|named| named.name)
            .filter(|name| known.insert(*name)),
    );
    names
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<&str> = names.iter().copied().take(MAX_LISTED).collect();
    let mut text = shown.join(", ");
    if let more @ 1.. = names.len().saturating_sub(MAX_LISTED) {
        text.push_str(&format!(", and {more} more"));
    }
    text
}

/// The most similar name, if one is: as a whole, or by what follows its path.
fn nearest<'a, T>(all: &[Named<'a, T>], name: &str) -> Option<&'a str> {
    let similarity = |known: &str| {
        let known = sanitize::longest_prefix(known, MAX_NAME);
        let last = known.rsplit("::").next().unwrap_or(known);
        let [whole, last] = [known, last].map(|of| normalized_damerau_levenshtein(of, name));
        whole.max(last)
    };
    let names = all.iter().map(|named| (similarity(named.name), named.name));
    let nearest = names.max_by(|(a, _), (b, _)| a.total_cmp(b));
    let (similarity, name) = nearest?;
    (similarity >= SIMILAR).then_some(name)
}
