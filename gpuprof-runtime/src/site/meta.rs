//! What is known of a function before it is called.

use gpuprof_report::profile::Precision;

/// What the attribute states about a function, all of it known at compile time.
#[derive(Debug)]
pub struct Meta {
    /// Returns the type name of an item nested in the annotated function, which contains the
    /// function's path.
    pub path: fn() -> &'static str,
    /// `name = "…"`.
    pub name: Option<&'static str>,
    /// `module_path!()` at the function.
    pub module: &'static str,
    /// `file!()` at the function.
    pub file: &'static str,
    /// `line!()` at the function.
    pub line: u32,
    /// `cpu`: no GPU timing.
    pub cpu: bool,
    /// Whether it is an async function.
    pub is_async: bool,
    /// Whether a parameter is written as one of cudarc's types that have a stream, and is searched.
    pub names_stream: bool,
    /// `precision = …`.
    pub precision: Option<Precision>,
    /// `sample = N`; 0 when not given.
    pub sample: u32,
    /// `color = 0xRRGGBB`.
    pub color: Option<u32>,
    /// `category = "…"`.
    pub category: Option<&'static str>,
}

impl Meta {
    /// A function of this name, about which nothing else is stated.
    #[must_use]
    pub const fn named(
        name: &'static str,
        module: &'static str,
        file: &'static str,
        line: u32,
    ) -> Self {
        Self {
            path: || "",
            name: Some(name),
            module,
            file,
            line,
            cpu: false,
            is_async: false,
            names_stream: false,
            precision: None,
            sample: 0,
            color: None,
            category: None,
        }
    }
}
