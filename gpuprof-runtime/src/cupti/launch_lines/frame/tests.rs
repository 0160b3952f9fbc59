use std::path::Path;

use super::{CallFrame, PythonLocation, are_enough, is_path_of, launch_line, shown_function};

const REGISTRY: &str = "/home/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";

fn frame(function: &str, file: Option<&str>) -> CallFrame {
    let is_app = &mut |krate: &str| krate == "app";
    let line = file.map(|_| 42);
    CallFrame::new(function.to_owned(), file.map(str::to_owned), line, is_app)
}

/// The line of a stack as text, and whether it is that of a framework.
fn line(frames: &[CallFrame]) -> Option<(String, bool)> {
    let line = launch_line(frames)?;
    Some((line.to_string(), line.in_framework))
}

#[test]
fn the_line_is_the_innermost_one_of_the_program() {
    let cudarc = format!("{REGISTRY}/cudarc-0.19.4/src/driver/safe/launch.rs");
    let candle = format!("{REGISTRY}/candle-core-0.9.1/src/tensor.rs");
    let std = "/rustc/59807616e1f4/library/core/src/ops/function.rs";
    let mut frames = vec![
        frame("cuLaunchKernel", None),
        frame(
            "cudarc::driver::safe::launch::LaunchArgs::launch",
            Some(&cudarc),
        ),
        frame("candle_core::tensor::Tensor::matmul", Some(&candle)),
        frame("core::ops::function::FnOnce::call_once", Some(std)),
        frame(
            "<app::Model as candle_core::Module>::forward",
            Some("/home/me/app/src/model.rs"),
        ),
        frame("app::main", Some("/home/me/app/src/main.rs")),
        frame("main", None),
    ];
    let model = "<app::Model as candle_core::Module>::forward at app/src/model.rs:42 ← \
                 app::main at app/src/main.rs:42";
    assert_eq!(line(&frames), Some((model.to_owned(), false)));
    // A thread of the framework.
    frames.drain(4..);
    let tensor = "candle_core::tensor::Tensor::matmul at candle-core-0.9.1/src/tensor.rs:42";
    assert_eq!(line(&frames), Some((tensor.to_owned(), true)));
    frames.remove(2);
    assert_eq!(line(&frames), None);
}

#[test]
fn without_debug_information_functions_are_told_apart_by_their_crates() {
    let frames = [
        frame("cudarc::driver::result::launch_kernel", None),
        frame("candle_nn::linear::Linear::forward", None),
        frame("app::train::{{closure}}", None),
    ];
    assert_eq!(line(&frames), Some(("app::train".to_owned(), false)));
    let named = launch_line(&frames).expect("a function");
    assert_eq!((named.file, named.line), (None, None));
}

#[test]
fn line_tables_alone_name_a_closure_by_the_next_function_of_its_file() {
    let (file, other) = (Some("/app/src/model.rs"), Some("/app/src/main.rs"));
    let std = Some("/rustc/59807616e1f4/library/core/src/array/mod.rs");
    let frames = [
        frame("{closure#1}", file),
        frame("map<i32, 2>", std),
        frame("{closure#0}", file),
        frame("run", other),
        frame("forward", file),
        frame("main", other),
    ];
    let expected = "forward at app/src/model.rs:42 ← run at app/src/main.rs:42".to_owned();
    assert_eq!(line(&frames), Some((expected, false)));
    assert!(!are_enough(&frames[..4]) && are_enough(&frames[..5]));
    let alone = ("{closure#1} at app/src/model.rs:42".to_owned(), false);
    assert_eq!(line(&frames[..4]), Some(alone));
}

#[test]
fn an_async_function_without_a_path_has_its_own_place() {
    let (file, other) = (Some("/app/src/model.rs"), Some("/app/src/main.rs"));
    let at = |line, frame| CallFrame {
        line: Some(line),
        ..frame
    };
    let frames = [
        frame("{closure#0}", file),
        at(7, frame("{async_fn#0}", file)),
        at(8, frame("{async_fn#0}", file)),
        frame("poll_all", file),
        frame("main", other),
    ];
    let expected = |text: &str| Some((text.to_owned(), false));
    // A closure is part of the next function, as far as anybody knows.
    assert_eq!(
        line(&frames),
        expected("{async_fn#0} at app/src/model.rs:42 ← {async_fn#0} at app/src/model.rs:8")
    );
    assert_eq!(
        line(&frames[2..]),
        expected("{async_fn#0} at app/src/model.rs:8 ← poll_all at app/src/model.rs:42")
    );
}

#[test]
fn a_dependency_is_shown_only_without_a_frame_of_the_program() {
    let registry = |file: &str| format!("{REGISTRY}/{file}");
    let (mistral, rayon) = (
        registry("mistralrs-core-0.6.0/src/pipeline.rs"),
        registry("rayon-core-1.13.0/src/join/mod.rs"),
    );
    let mut frames = vec![
        frame("mistralrs_core::pipeline::step", Some(&mistral)),
        frame("rayon_core::join", Some(&rayon)),
        frame("app::run", Some("/app/src/main.rs")),
    ];
    let of_program = ("app::run at app/src/main.rs:42".to_owned(), false);
    assert_eq!(line(&frames), Some(of_program));
    frames.pop();
    let shown = "mistralrs_core::pipeline::step at mistralrs-core-0.6.0/src/pipeline.rs:42";
    assert_eq!(line(&frames), Some((shown.to_owned(), true)));
}

#[test]
fn closures_and_generic_arguments_are_left_out() {
    for (path, shown) in [
        ("app::run::{{closure}}::{{closure}}", "app::run"),
        ("app::run::<f32>::{closure#1}", "app::run"),
        ("app::run::{async_fn#0}::{closure#2}", "app::run"),
        ("launch<app::{impl#1}::run::{closure_env#4}>", "launch"),
        ("app::run::<fn(u8) -> u8>", "app::run::<fn(u8) -> u8>"),
        ("<app::A<u8> as app::B>::run", "<app::A<u8> as app::B>::run"),
        ("<app::A>", "<app::A>"),
        ("{{closure}}", "{{closure}}"),
    ] {
        assert_eq!(shown_function(path), shown);
    }
}

#[test]
fn paths_of_the_symbol_table_are_those_of_names_without_one() {
    for (path, name) in [
        ("app::gpu::launch", "launch"),
        ("app::gpu::launch", "launch<app::Kernel>"),
        ("<app::Gpu as app::Launch>::launch", "launch"),
        ("app::run::{{closure}}", "{closure#3}"),
        ("app::run::{closure#3}", "{async_fn#0}"),
    ] {
        assert!(is_path_of(path, name), "{path} {name}");
    }
    // Functions with the same code may share it.
    for (path, name) in [
        ("app::gpu::launch", "copy"),
        ("launch", "launch"),
        ("app::run", "{closure#3}"),
        ("app::run::{{closure}}", "run"),
    ] {
        assert!(!is_path_of(path, name), "{path} {name}");
    }
}

#[test]
fn the_caller_is_the_next_other_function_of_the_program() {
    let (file, std) = (
        Some("/app/src/gpu.rs"),
        Some("/rustc/59807616e1f4/library/core/src/iter/range.rs"),
    );
    let frames = [
        frame("app::gpu::launch", file),
        frame("core::iter::Iterator::for_each", std),
        // A part of the same function, and a recursion.
        frame("app::gpu::launch::{{closure}}", file),
        frame("launch", file),
        frame("app::product", file),
        frame("app::main", file),
    ];
    let line = launch_line(&frames).expect("a line");
    assert_eq!(line.function, "app::gpu::launch");
    assert_eq!(
        line.caller.as_deref(),
        Some("app::product at app/src/gpu.rs:42")
    );
    assert!(are_enough(&frames[..5]) && !are_enough(&frames[..4]));
    assert_eq!(launch_line(&frames[..4]).expect("a line").caller, None);
}

#[test]
fn native_code_of_a_package_of_python_is_a_frameworks() {
    let torch = Path::new("/v/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so");
    let path = || Some("at::native::gpu_kernel<…>".to_owned());
    let kernel = frame("_ZN2at6native10gpu_kernelIfEEvv", None);
    let call = frame("cudaLaunchKernel", None).in_library(Some(torch), None);
    let frames = [call, kernel.clone().in_library(Some(torch), path())];
    let native = "at::native::gpu_kernel".to_owned();
    assert_eq!(line(&frames), Some((native, true)));
    // Without lines, code of other libraries may be anything.
    assert_eq!(line(&[kernel.in_library(None, path())]), None);
}

#[test]
fn a_function_of_python_has_its_name_and_its_caller() {
    let python = |function: &str, file: &str, line| {
        CallFrame::of_python(&PythonLocation {
            file: file.to_owned(),
            function: function.to_owned(),
            line: Some(line),
        })
    };
    let linear = "/v/lib/python3.12/site-packages/torch/nn/modules/linear.py";
    let mut frames = vec![
        python("Linear.forward", linear, 7),
        python("train.<locals>.<lambda>", "/home/me/train.py", 8),
        python("recursion", "/home/me/train.py", 9),
        python("recursion", "/home/me/train.py", 10),
    ];
    let lambda =
        "train.<locals>.<lambda> at /home/me/train.py:8 ← recursion at /home/me/train.py:9";
    assert_eq!(line(&frames), Some((lambda.to_owned(), false)));
    frames.remove(1);
    let recursion = "recursion at /home/me/train.py:9".to_owned();
    assert_eq!(line(&frames), Some((recursion, false)));
    frames.truncate(1);
    let linear = "Linear.forward at torch/nn/modules/linear.py:7".to_owned();
    assert_eq!(line(&frames), Some((linear, true)));
}
