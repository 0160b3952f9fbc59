//! Which frame of a stack is the program's, and how its source file is shown.

use gpuprof_report::profile::LaunchLine;

/// A function of a stack. A function that was inlined is one of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its path without the hash: `<app::Model as candle_core::Module>::forward`.
    pub(super) function: String,
    /// As the debug information has it.
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Program,
    Framework,
    /// The standard library, gpuprof, cudarc, and code without the name of a Rust function.
    Plumbing,
}

/// Crates that never are what somebody looks for.
const PLUMBING: [&str; 9] = [
    "alloc",
    "backtrace",
    "core",
    "cudarc",
    "gpuprof",
    "gpuprof_bench",
    "gpuprof_runtime",
    "libloading",
    "std",
];

/// Crates of frameworks, and the beginnings of the names of their parts.
const FRAMEWORKS: [(&str, &str); 4] = [
    ("burn", "burn_"),
    ("candle", "candle_"),
    ("cubecl", "cubecl_"),
    ("cubek", "cubek_"),
];

/// The line of a stack, whose innermost frame comes first: of the innermost frame of the program
/// or, without one, of a framework.
pub(super) fn launch_line(frames: &[Frame]) -> Option<LaunchLine> {
    let innermost = |origin| frames.iter().find(|frame| frame.origin() == origin);
    let frame = innermost(Origin::Program).or_else(|| innermost(Origin::Framework))?;
    let mut line = LaunchLine::default();
    line.function = shown_function(&enclosing(frames, frame).unwrap_or(frame).function);
    line.file = frame.file.as_deref().map(shown_file);
    line.line = frame.line.filter(|_| line.file.is_some());
    line.in_framework = frame.origin() == Origin::Framework;
    line.caller = caller(frames).map(|caller| {
        let mut of_caller = LaunchLine::default();
        of_caller.function = shown_function(&caller.function);
        of_caller.file = caller.file.as_deref().map(shown_file);
        of_caller.line = caller.line.filter(|_| of_caller.file.is_some());
        of_caller.to_string()
    });
    Some(line)
}

/// Whether these frames, innermost first, are enough for the line of their stack.
pub(super) fn are_enough(frames: &[Frame]) -> bool {
    caller(frames).is_some()
}

/// The function that a frame is a part of.
fn enclosing<'a>(frames: &'a [Frame], frame: &Frame) -> Option<&'a Frame> {
    frames.iter().find(|outer| outer.encloses(frame))
}

/// The frame of the program that calls the function of the innermost one, closures of that function
/// left out.
fn caller(frames: &[Frame]) -> Option<&Frame> {
    let mut of_program = frames
        .iter()
        .filter(|frame| frame.origin() == Origin::Program);
    let function = shown_function(&enclosing(frames, of_program.next()?)?.function);
    of_program.find(|frame| {
        !frame.is_bare_closure() && !is_same_function(&shown_function(&frame.function), &function)
    })
}

/// Whether two names may be of one function, of which one lacks its path.
fn is_same_function(one: &str, other: &str) -> bool {
    let last = |path: &str| path.rsplit("::").next().map(str::to_owned);
    match one.contains("::") && other.contains("::") {
        true => one == other,
        false => last(one) == last(other),
    }
}

impl Frame {
    /// Whether this is the function that a frame inside of it is a part of: itself, unless that is
    /// a closure without a path, as line tables alone have them. Then it is the nearest function
    /// in the same file, which mostly has the closure.
    fn encloses(&self, inner: &Self) -> bool {
        match inner.is_bare_closure() {
            true => {
                self.file == inner.file
                    && !self.is_bare_closure()
                    && self.origin() == Origin::Program
            }
            false => self == inner,
        }
    }

    fn is_bare_closure(&self) -> bool {
        self.function.starts_with('{')
    }

    fn origin(&self) -> Origin {
        let by_name = crate_of_function(&self.function);
        let dependency = self.file.as_deref().and_then(crate_of_file);
        let is_any =
            |is: fn(&str) -> bool| dependency.as_deref().is_some_and(is) || by_name.is_some_and(is);
        if is_any(is_plumbing) || (by_name.is_none() && self.file.is_none()) {
            return Origin::Plumbing;
        }
        // A framework's trait for a type of the program is in a file of the program.
        let is_framework = match &self.file {
            Some(_) => dependency.as_deref().is_some_and(is_framework),
            None => by_name.is_some_and(is_framework),
        };
        match is_framework {
            true => Origin::Framework,
            false => Origin::Program,
        }
    }
}

fn is_plumbing(name: &str) -> bool {
    PLUMBING.contains(&name)
}

fn is_framework(name: &str) -> bool {
    let mut families = FRAMEWORKS.iter();
    families.any(|(whole, start)| name == *whole || name.starts_with(start))
}

/// The crate of a path; of `<T as Trait>::function` that of the type. `None` if it has none, as C
/// functions.
fn crate_of_function(path: &str) -> Option<&str> {
    let path = path.trim_start_matches(['<', '&', '*', '[', '(']);
    let path = ["mut ", "const ", "dyn "]
        .iter()
        .fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    let (name, _) = path.split_once("::")?;
    // The hash of a crate in the newer form of symbols: `app[4f1c…]`.
    let (name, _) = name.split_once('[').unwrap_or((name, ""));
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.all(|letter| letter.is_alphanumeric() || letter == '_') && !name.is_empty()
    };
    is_name(name).then_some(name)
}

/// The crate of a source file outside the program, as Rust writes it: of
/// `…/registry/src/…/cudarc-0.19.4/src/lib.rs` it is `cudarc`. `None` for a file of the program.
fn crate_of_file(file: &str) -> Option<String> {
    let (before, _) = dependency_part(file)?.split_once("/src/")?;
    let folder = before.rsplit_once('/').map_or(before, |(_, folder)| folder);
    let is_version = |text: &str| text.starts_with(|digit: char| digit.is_ascii_digit());
    let mut starts = folder.match_indices('-');
    let version = starts.find(|(at, _)| folder.get(at + 1..).is_some_and(is_version));
    let name = version.and_then(|(at, _)| folder.get(..at));
    Some(name.unwrap_or(folder).replace('-', "_"))
}

/// A path of a dependency or of the standard library, from the folder of the crate on.
fn dependency_part(file: &str) -> Option<&str> {
    let after = |mark: &str, folders: usize| {
        let (_, mut rest) = file.split_once(mark)?;
        for _ in 0..folders {
            (_, rest) = rest.split_once('/')?;
        }
        Some(rest)
    };
    // The folder of the index; of a repository the names of its check-out and of the commit; the
    // hash of the compiler's commit.
    after("/registry/src/", 1)
        .or_else(|| after("/git/checkouts/", 2))
        .or_else(|| after("/rustc/", 1)?.strip_prefix("library/"))
        .or_else(|| after("/lib/rustlib/src/rust/library/", 0))
        .or_else(|| after("/vendor/", 0))
}

/// A path from the folder of its crate on, or the program's from `src/` on.
fn shown_file(file: &str) -> String {
    if let Some(part) = dependency_part(file) {
        return part.to_owned();
    }
    let from = |folder: &str| {
        let inner = format!("/{folder}/");
        let at = file.rfind(&inner).map(|at| at + 1);
        at.or_else(|| file.starts_with(&inner[1..]).then_some(0))
    };
    let start = from("src")
        .or_else(|| from("tests"))
        .or_else(|| from("examples"))
        .or_else(|| from("benches"));
    let part = start.and_then(|start| file.get(start..));
    part.unwrap_or(file).to_owned()
}

/// A path without closures, of which nobody knows the names, and without the generic arguments at
/// its end.
fn shown_function(path: &str) -> String {
    let mut shown = path;
    loop {
        let cut = shown
            .strip_suffix("::{{closure}}")
            .or_else(|| without_closure(shown))
            .or_else(|| without_arguments(shown));
        match cut {
            Some(shorter) if !shorter.is_empty() => shown = shorter,
            _ => return shown.to_owned(),
        }
    }
}

/// `app::run` of `app::run::{closure#1}`.
fn without_closure(path: &str) -> Option<&str> {
    let (before, closure) = path.rsplit_once("::")?;
    let is_closure = closure.starts_with("{closure#") && closure.ends_with('}');
    is_closure.then_some(before)
}

/// `app::run` of `app::run::<f32>`, and of `app::run<f32>`, as line tables have it.
fn without_arguments(path: &str) -> Option<&str> {
    path.ends_with('>').then_some(())?;
    let mut depth = 0;
    for (at, letter) in path.char_indices().rev() {
        match letter {
            '>' => depth += 1,
            '<' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let before = path.get(..at)?;
            return Some(before.strip_suffix("::").unwrap_or(before));
        }
    }
    None
}

#[cfg(test)]
mod tests;
