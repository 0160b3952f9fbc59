//! Whose code a frame in a Python program is.

use std::path::Path;

use super::origin::Origin;
use super::source_file::{python_library_part, python_package_part};

/// The folder of the standard library's extensions.
const EXTENSIONS: &str = "/lib-dynload/";

/// Files of code that a framework makes: `torch.compile`'s, and that of `torch.fx`.
const GENERATED: [&str; 2] = ["/torchinductor_", "<eval_with_key>"];

/// Of a function of Python, by its file.
pub(super) fn origin_of_file(file: &str) -> Origin {
    let is_in_package = python_package_part(file).is_some();
    if is_in_package || GENERATED.iter().any(|mark| file.contains(mark)) {
        Origin::Dependency
    } else if python_library_part(file).is_some() || file.starts_with("<frozen ") {
        Origin::Plumbing
    } else {
        Origin::Program
    }
}

/// Of native code, by the library that has it, if that is Python's or one of its packages'.
pub(super) fn origin_of_library(library: &Path) -> Option<Origin> {
    let library = library.to_string_lossy();
    if library.contains(EXTENSIONS) {
        Some(Origin::Plumbing)
    } else {
        python_package_part(&library).map(|_| Origin::Dependency)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::source_file::shown_file;
    use super::{Origin, origin_of_file, origin_of_library};

    #[test]
    fn a_function_is_the_programs_unless_its_file_is_installed() {
        use Origin::{Dependency, Plumbing, Program};
        for (file, expected, shown) in [
            ("/home/me/train.py", Program, None),
            ("/home/me/python3.12/train.py", Program, None),
            ("train.py", Program, None),
            ("<stdin>", Program, None),
            ("/tmp/ipykernel_7/123.py", Program, None),
            (
                "/usr/lib/python3.12/threading.py",
                Plumbing,
                Some("threading.py"),
            ),
            (
                "/opt/lib64/python3.11/json/decoder.py",
                Plumbing,
                Some("json/decoder.py"),
            ),
            ("<frozen importlib._bootstrap>", Plumbing, None),
            (
                "/v/lib/python3.12/site-packages/torch/nn/modules/linear.py",
                Dependency,
                Some("torch/nn/modules/linear.py"),
            ),
            (
                "/usr/lib/python3/dist-packages/cupy/core.py",
                Dependency,
                Some("cupy/core.py"),
            ),
            ("/tmp/torchinductor_me/ab/cabc.py", Dependency, None),
            (
                "<eval_with_key>.3 from /home/me/train.py:7",
                Dependency,
                None,
            ),
        ] {
            assert_eq!(origin_of_file(file), expected, "{file}");
            assert_eq!(shown_file(file), shown.unwrap_or(file));
        }
    }

    #[test]
    fn native_code_of_python_and_of_packages_is_not_the_programs() {
        let origin = |library: &str| origin_of_library(Path::new(library));
        let torch = "/v/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
        assert_eq!(origin(torch), Some(Origin::Dependency));
        let ctypes = "/usr/lib/python3.12/lib-dynload/_ctypes.so";
        assert_eq!(origin(ctypes), Some(Origin::Plumbing));
        assert_eq!(origin("/home/me/build/kernels.so"), None);
        assert_eq!(origin("/usr/lib/libpython3.12.so.1.0"), None);
    }
}
