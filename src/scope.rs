//! [`scope!`](crate::scope!), the attribute's counterpart for a part of a function. It generates
//! the attribute's code and follows the same rules: absolute paths, hygienic locals, items in a
//! block.

/// Profiles the rest of the enclosing block under a name: `scope!("name")`, or
/// `scope!("name", stream)` if the work has its own stream. Without one it takes the stream of the
/// enclosing span, or of [`with_stream`](crate::with_stream).
///
/// `scope!("name", label = i)` and `scope!("name", stream, label = i)` tell the rounds of a loop
/// apart: each label has a row below that of the name, as with
/// [`gpu_profile`](macro@crate::gpu_profile#labels).
///
/// The name is a constant `&'static str`. The stream is anything that implements
/// [`HasStream`](crate::HasStream); the expression is evaluated only while gpuprof measures this
/// name. Scopes nest, and one block may have several.
///
/// A scope must not extend across an `.await`, because it belongs to the thread on which it began.
/// Move that part into a function instead. A scope that ends after the span whose stream it
/// inherits is not GPU-timed, because the stream may be gone.
///
/// ```
/// fn step() {
///     {
///         gpuprof::scope!("step/load");
///         // measured until here
///     }
///     gpuprof::scope!("step/compute");
///     // measured until the function returns
/// }
/// # step();
/// ```
#[macro_export]
macro_rules! scope {
    // For `let x = scope!(…)` the compiler says that it ignores the second line, and shows it.
    ($name:expr $(, label = $label:expr)? $(,)?) => {
        ();
        $crate::__scope!($name $(, label = $label)?); // A statement: `scope!("name");`.
    };
    ($name:expr, $stream:expr $(, label = $label:expr)? $(,)?) => {
        ();
        $crate::__scope!($name, $stream $(, label = $label)?); // A statement: `scope!("name", s);`.
    };
    ($($other:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "scope! takes a name, a stream if the work has its own, and a label: ",
            "`scope!(\"name\")`, `scope!(\"name\", stream)`, `scope!(\"name\", label = i)`"
        ));
    };
}

#[cfg(feature = "enable")]
#[doc(hidden)]
#[macro_export]
macro_rules! __scope {
    ($name:expr $(, label = $label:expr)?) => {
        let mut __gpuprof_scope = $crate::__private::Span::off();
        $crate::__scope_span!($name, site => __gpuprof_scope.enter(
            site,
            || $crate::__scope_label!(site $($label)?),
            || $crate::__private::Streams::Inherit,
            || $crate::__private::StatedWork::NONE,
            || $crate::__private::Payload::None,
            $crate::__private::CallArguments::default,
        ));
    };
    ($name:expr, $stream:expr $(, label = $label:expr)?) => {
        let mut __gpuprof_scope = $crate::__private::Span::off();
        // With `match`, a stream that an expression returns by value lives until the span has
        // begun.
        $crate::__scope_span!($name, site => match &$stream {
            stream => __gpuprof_scope.enter(
                site,
                || $crate::__scope_label!(site $($label)?),
                || {
                    let stream = $crate::__private::stream_of(stream, false);
                    $crate::__private::stated([stream])
                },
                || $crate::__private::StatedWork::NONE,
                || $crate::__private::Payload::None,
                $crate::__private::CallArguments::default,
            ),
        });
    };
}

#[cfg(feature = "enable")]
#[doc(hidden)]
#[macro_export]
macro_rules! __scope_label {
    ($site:ident) => {
        $crate::__private::LabelNumber::NONE
    };
    ($site:ident $label:expr) => {
        $site.label(&$label)
    };
}

#[cfg(feature = "enable")]
#[doc(hidden)]
#[macro_export]
macro_rules! __scope_span {
    ($name:expr, $site:ident => $enter:expr) => {{
        fn __gpuprof_path() -> &'static ::core::primitive::str {
            $crate::__private::type_name_of(__gpuprof_path)
        }
        static __GPUPROF_SITE: $crate::__private::Site =
            $crate::__private::Site::new($crate::__private::Meta {
                path: __gpuprof_path,
                name: ::core::option::Option::Some($crate::__scope_name(
                    $crate::__checked_scope_name!($name),
                )),
                module: ::core::module_path!(),
                file: ::core::file!(),
                line: ::core::line!(),
                cpu: false,
                is_async: false,
                names_stream: false,
                precision: ::core::option::Option::None,
                sample: 0,
                color: ::core::option::Option::None,
                category: ::core::option::Option::None,
            });
        $crate::__private::inventory::submit! { $crate::__private::SiteEntry(&__GPUPROF_SITE) }
        if __GPUPROF_SITE.active() {
            let $site = &__GPUPROF_SITE;
            $enter
        }
    }};
}

#[cfg(not(feature = "enable"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __scope {
    ($name:expr $(, label = $label:expr)?) => {
        $crate::__scope!(@ $name $(, $label)?);
    };
    ($name:expr, $stream:expr $(, label = $label:expr)?) => {
        $crate::__scope!(@ $name, $stream $(, $label)?);
    };
    (@ $name:expr $(, $value:expr)*) => {
        const _: &::core::primitive::str =
            $crate::__scope_name($crate::__checked_scope_name!($name));
        $(
            // Type-checked, never evaluated.
            if false {
                let _ = &$value;
            }
        )*
    };
}

/// The name, if NVTX can show it.
///
/// # Panics
/// If the name is empty or contains a NUL character. [`scope!`](crate::scope!) calls this in
/// constants only, where a panic is a compile error.
#[doc(hidden)]
#[must_use]
pub const fn __scope_name(name: &'static str) -> &'static str {
    assert!(!name.is_empty(), "the name of a scope must not be empty");
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        assert!(
            bytes[at] != 0,
            "the name of a scope must not contain a NUL character"
        );
        at += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::__scope_name;

    #[test]
    fn names_pass_through() {
        assert_eq!(__scope_name("step/load"), "step/load");
    }

    #[test]
    #[should_panic(expected = "must not be empty")]
    fn an_empty_name_is_refused() {
        let _ = __scope_name("");
    }

    #[test]
    #[should_panic(expected = "must not contain a NUL")]
    fn a_name_that_nvtx_would_cut_is_refused() {
        let _ = __scope_name("a\0b");
    }
}
