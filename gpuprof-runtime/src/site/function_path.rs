//! The path of a function as the report shows it, from the name that the compiler gives an item
//! inside it.

/// Turns the type name of the nested item into the function's path without the crate's name:
/// `module::Type::function` or `<Type as Trait>::function`.
///
/// A type of another crate is known only by the path of its definition, which may be private; its
/// last part is what programs import.
pub(super) fn shown_path(item: &str, module: &str) -> String {
    let path = item
        .strip_suffix("::__gpuprof_path")
        .unwrap_or(item)
        .replace("::{{closure}}", "");
    let krate = module.split("::").next().unwrap_or_default();
    inherent_impl_as_type(&as_imported(&path, krate))
}

/// Removes every `krate::` that begins a path, and shortens the paths of other crates to the name
/// that is mostly imported: `alloc::sync::Arc` to `Arc`.
fn as_imported(path: &str, krate: &str) -> String {
    let prefix = format!("{krate}::");
    let mut shown = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(next) = rest.chars().next() {
        let end = rest
            .find(|c: char| !is_in_path(c))
            .unwrap_or(rest.len())
            .max(next.len_utf8());
        let (part, after) = rest.split_at(end);
        rest = after;
        let mut own = part;
        while let Some(stripped) = own.strip_prefix(&prefix) {
            own = stripped;
        }
        // `::function` after a type is no path of its own.
        let is_foreign = own.len() == part.len() && is_in_path(next) && next != ':';
        shown.push_str(if is_foreign {
            part.rsplit("::").next().unwrap_or(part)
        } else {
            own
        });
    }
    shown
}

fn is_in_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':' || c == '#'
}

/// Turns `module::<impl other::Type>::function`, the compiler's name of an inherent method outside
/// its type's module, into `other::Type::function`.
fn inherent_impl_as_type(path: &str) -> String {
    let Some((_, tail)) = path.split_once("<impl ") else {
        return path.to_owned();
    };
    let mut depth = 1_u32;
    let end = tail.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            // The arrow of a function type closes nothing.
            '>' if !tail.get(..at).is_some_and(|before| before.ends_with('-')) => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    });
    match end.and_then(|at| Some((tail.get(..at)?, tail.get(at + 1..)?))) {
        Some((target, rest)) if target.contains(" for ") => format!("<{target}>{rest}"),
        Some((target, rest)) => format!("{target}{rest}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown_path;

    #[test]
    fn names_are_paths_within_the_crate() {
        for (item, shown) in [
            ("app::saxpy::__gpuprof_path", "saxpy"),
            (
                "app::net::Conv<_>::forward::__gpuprof_path",
                "net::Conv<_>::forward",
            ),
            (
                "<app::net::Conv as app::Layer>::forward::__gpuprof_path",
                "<net::Conv as Layer>::forward",
            ),
            (
                "app::other::<impl app::net::Conv<u8>>::forward::__gpuprof_path",
                "net::Conv<u8>::forward",
            ),
            (
                "app::<impl app::F<fn() -> u8>>::go::__gpuprof_path",
                "F<fn() -> u8>::go",
            ),
            ("app::serve::{{closure}}::__gpuprof_path", "serve"),
            ("app::myapp::app::go::__gpuprof_path", "myapp::app::go"),
            (
                "<u32 as app::Layer>::forward::__gpuprof_path",
                "<u32 as Layer>::forward",
            ),
            (
                "<app::D as core::convert::From<alloc::sync::Arc<\
                 cudarc::driver::safe::core::CudaStream>>>::from::__gpuprof_path",
                "<D as From<Arc<CudaStream>>>::from",
            ),
            (
                "<app::net::Net<dyn core::ops::function::Fn(app::net::T) -> u8> as \
                 other::nn::Layer>::go::__gpuprof_path",
                "<net::Net<dyn Fn(net::T) -> u8> as Layer>::go",
            ),
        ] {
            assert_eq!(shown_path(item, "app::x"), shown);
        }
    }
}
