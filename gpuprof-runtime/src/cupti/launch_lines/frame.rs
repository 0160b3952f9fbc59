//! Which frame of a stack is the program's, and how its source file is shown.

mod origin;
mod python;
mod source_file;

use std::path::Path;

use crate::cupti::collect::python::locations::PythonLocation;
use gpuprof_report::profile::LaunchLine;

use origin::{Origin, origin};
use python::{origin_of_file, origin_of_library};
use source_file::shown_file;

/// A function of a stack. A function that was inlined is one of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallFrame {
    /// Its path without the hash: `<app::Model as candle_core::Module>::forward`.
    function: String,
    /// As the debug information has it.
    file: Option<String>,
    line: Option<u32>,
    origin: Origin,
    /// Its name is as it is shown.
    is_python: bool,
}

/// The line of a stack, whose innermost frame comes first: of the innermost frame of the program
/// or, without one, of a dependency.
pub(super) fn launch_line(frames: &[CallFrame]) -> Option<LaunchLine> {
    let innermost = |of| frames.iter().find(|frame| frame.origin == of);
    let frame = innermost(Origin::Program).or_else(|| innermost(Origin::Dependency))?;
    let mut line = LaunchLine::default();
    line.function = enclosing(frames, frame).unwrap_or(frame).shown_function();
    line.file = frame.file.as_deref().map(shown_file);
    line.line = frame.line.filter(|_| line.file.is_some());
    line.in_framework = frame.origin == Origin::Dependency;
    line.caller = caller(frames).map(|caller| {
        let mut of_caller = LaunchLine::default();
        of_caller.function = caller.shown_function();
        of_caller.file = caller.file.as_deref().map(shown_file);
        of_caller.line = caller.line.filter(|_| of_caller.file.is_some());
        of_caller.to_string()
    });
    Some(line)
}

/// Whether these frames, innermost first, are enough for the line of their stack.
pub(super) fn are_enough(frames: &[CallFrame]) -> bool {
    caller(frames).is_some()
}

/// Whether a library is Python's or of one of its packages, and not the program's.
pub(super) fn is_installed_for_python(library: &Path) -> bool {
    origin_of_library(library).is_some()
}

/// The function that a frame is a part of.
fn enclosing<'a>(frames: &'a [CallFrame], frame: &CallFrame) -> Option<&'a CallFrame> {
    frames.iter().find(|outer| outer.encloses(frame))
}

/// The frame of the program that calls the function of the innermost one, closures of that function
/// left out.
fn caller(frames: &[CallFrame]) -> Option<&CallFrame> {
    let mut of_program = frames
        .iter()
        .filter(|frame| frame.origin == Origin::Program);
    let callee = enclosing(frames, of_program.next()?)?;
    let function = callee.shown_function();
    of_program.find(|frame| {
        // Asynchronous functions without a path all have one name.
        let is_other = frame.is_bare_async() && *frame != callee
            || !is_same_function(&frame.shown_function(), &function);
        !frame.is_bare_closure() && is_other
    })
}

/// Whether a path is that of a function that the debug information names without its path.
pub(super) fn is_path_of(path: &str, name: &str) -> bool {
    let end = path.rsplit("::").next().unwrap_or_default();
    if name.starts_with('{') {
        end.starts_with('{') && path.contains("::")
    } else {
        path.contains("::") && without_arguments(name).unwrap_or(name) == end
    }
}

/// Whether two names may be of one function, of which one lacks its path.
fn is_same_function(one: &str, other: &str) -> bool {
    let last = |path: &str| path.rsplit("::").next().map(str::to_owned);
    if one.contains("::") && other.contains("::") {
        one == other
    } else {
        last(one) == last(other)
    }
}

impl CallFrame {
    /// `is_main_crate` says whether a crate has the program's `main`.
    pub(super) fn new(
        function: String,
        file: Option<String>,
        line: Option<u32>,
        is_main_crate: &mut dyn FnMut(&str) -> bool,
    ) -> Self {
        Self {
            origin: origin(&function, file.as_deref(), is_main_crate),
            function,
            file,
            line,
            is_python: false,
        }
    }

    /// A function of Python.
    pub(super) fn of_python(location: &PythonLocation) -> Self {
        Self {
            function: location.function.clone(),
            file: Some(location.file.clone()),
            line: location.line,
            origin: origin_of_file(&location.file),
            is_python: true,
        }
    }

    /// As a frame of this library, which may be installed for Python. `cpp_path` is its path if it
    /// is a function of C++.
    pub(super) fn in_library(mut self, library: Option<&Path>, cpp_path: Option<String>) -> Self {
        let is_named = self.origin == Origin::Program || cpp_path.is_some();
        let of_library = library.and_then(origin_of_library);
        self.origin = of_library.filter(|_| is_named).unwrap_or(self.origin);
        self.function = cpp_path.unwrap_or(self.function);
        self
    }

    /// Whether it has a line of source code.
    pub(super) fn has_line(&self) -> bool {
        self.line.is_some()
    }

    /// Its name without closures and generic arguments at the end.
    fn shown_function(&self) -> String {
        if self.is_python {
            self.function.clone()
        } else {
            shown_function(&self.function)
        }
    }

    /// Whether this frame is the function that contains `inner`. A frame contains itself, except
    /// for a closure without a path, which is all that line tables give. Then it is the nearest
    /// function in the same file, which mostly has the closure.
    fn encloses(&self, inner: &Self) -> bool {
        if inner.is_bare_closure() {
            self.file == inner.file && !self.is_bare_closure() && self.origin == Origin::Program
        } else {
            self == inner
        }
    }

    fn is_bare_closure(&self) -> bool {
        self.function.starts_with('{') && !self.is_bare_async()
    }

    /// An `async` function or block without a path. What polls it is around it, not what it is
    /// written in, so it is shown by its own place.
    fn is_bare_async(&self) -> bool {
        self.function.starts_with("{async_")
    }
}

/// A path without closures, which have no names, and without the generic arguments at its end.
fn shown_function(path: &str) -> String {
    let mut shown = path;
    loop {
        let cut = without_closure(shown).or_else(|| without_arguments(shown));
        match cut {
            Some(shorter) if !shorter.is_empty() => shown = shorter,
            _ => return shown.to_owned(),
        }
    }
}

/// `app::run` of `app::run::{closure#1}`, `app::run::{async_fn#0}` and `app::run::{{closure}}`.
fn without_closure(path: &str) -> Option<&str> {
    let (before, closure) = path.rsplit_once("::")?;
    let is_closure = closure.starts_with('{') && closure.ends_with('}');
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
