use super::{MAX_CHARS, short_names};

fn assert_names<const N: usize>(expected: [(&str, &str); N]) {
    let full = expected.map(|(full, _)| full);
    let names = expected.map(|(_, name)| name);
    assert_eq!(short_names(&full), names);
    // In any order.
    let (mut full, mut names) = (full, names);
    full.reverse();
    names.reverse();
    assert_eq!(short_names(&full), names);
}

#[test]
fn kernels_of_different_short_names_have_these() {
    assert_names([
        ("void gemm<float, 128>(float const*)", "gemm<…>"),
        ("void cub::gemm<float, 128>(float const*)", "cub::gemm<…>"),
        ("saxpy(int, float*)", "saxpy"),
        (
            "cutlass_80_tensorop_s1688gemm_128x256",
            "cutlass_80_tensorop_s1688gemm_128x256",
        ),
        ("(other kernels)", "(other kernels)"),
    ]);
    assert_eq!(short_names(&[]), Vec::<String>::new());
}

#[test]
fn the_first_arguments_that_differ_are_kept() {
    assert_names([
        (
            "void gemm<float, 128, 4>(float const*)",
            "gemm<float, 128, …>",
        ),
        (
            "void gemm<float, 64, 4>(float const*)",
            "gemm<float, 64, …>",
        ),
        ("void gemm<__half, 64, 4>(__half const*)", "gemm<__half, …>"),
    ]);
    assert_names([
        ("void A<int>::run<1>(int)", "A<int>::run<…>"),
        ("void A<float>::run<1>(int)", "A<float>::run<1>"),
        ("void A<float>::run<2>(int)", "A<float>::run<2>"),
    ]);
    // A pack may have any length.
    assert_names([
        ("void f<int>()", "f<…>"),
        ("void f<int, float>()", "f<…, float>"),
    ]);
}

#[test]
fn an_argument_is_shown_without_its_namespaces_and_arguments() {
    assert_names([
        (
            "void at::native::elementwise<4, at::native::AddFunctor<float>>(int)",
            "at::native::elementwise<…, AddFunctor<…>>",
        ),
        (
            "void at::native::elementwise<4, at::native::MulFunctor<float>>(int)",
            "at::native::elementwise<…, MulFunctor<…>>",
        ),
    ]);
    assert_names([
        ("void f<a::Op<int>, 1>()", "f<a::Op<…>, …>"),
        ("void f<b::Op<int>, 1>()", "f<b::Op<…>, …>"),
    ]);
}

#[test]
fn a_difference_is_looked_for_inside_of_an_argument() {
    assert_names([
        (
            "void run<a::Kernel<a::Shape<1, 2>, int>>()",
            "run<Kernel<Shape<…, 2>, …>>",
        ),
        (
            "void run<a::Kernel<a::Shape<1, 3>, int>>()",
            "run<Kernel<Shape<…, 3>, …>>",
        ),
    ]);
    let kernel = |tile: u32, stages: u32| {
        format!(
            "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, \
             int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::\
             MainloopSm90TmaGmmaWarpSpecialized<{stages}, cute::tuple<cute::C<1>, cute::C<1> > >, \
             cute::tuple<cute::C<{tile}>, cute::C<128> > >, void> >(Params)"
        )
    };
    let kernels = [kernel(64, 4), kernel(128, 4), kernel(64, 7)];
    let expected = [
        "cutlass::device_kernel<GemmUniversal<…4…64…>>",
        "cutlass::device_kernel<GemmUniversal<…4…128…>>",
        "cutlass::device_kernel<GemmUniversal<…7…>>",
    ];
    assert_eq!(
        short_names(&kernels.each_ref().map(String::as_str)),
        expected
    );
}

#[test]
fn what_no_argument_tells_apart_has_a_number() {
    assert_names([
        ("scale(float*)", "scale #2"),
        ("scale(double*)", "scale"),
        ("scale(int*)", "scale #3"),
    ]);
    let long = |name: &str| format!("void run<{}{name}>()", "x".repeat(80));
    let kernels = [long("b"), long("a")];
    let names = short_names(&kernels.each_ref().map(String::as_str));
    assert_eq!(names, ["run<…> #2", "run<…>"]);
    // Two symbols of one name.
    assert_eq!(short_names(&["f<1>()", "f<1>()"]), ["f<…>", "f<…> #2"]);
}

#[test]
fn names_are_distinct_and_short_whatever_the_kernels_are() {
    let mut random = fastrand::Rng::with_seed(7);
    let parts = [
        "f", "<", ">", "(", ")", ", ", "::", " ", "int", "operator", "->", "…", "#2", "<…>",
    ];
    for _ in 0..2_000 {
        let kernels: Vec<String> = (0..random.usize(0..12))
            .map(|_| {
                (0..random.usize(0..12))
                    .map(|_| parts[random.usize(0..parts.len())])
                    .collect()
            })
            .collect();
        let full: Vec<&str> = kernels.iter().map(String::as_str).collect();
        let names = short_names(&full);
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), kernels.len(), "{kernels:?}: {names:?}");
        for (name, full) in names.iter().zip(&full) {
            assert!(name.chars().count() <= MAX_CHARS.max(full.chars().count()) + 4);
        }
    }
}

#[test]
fn a_list_that_nests_deeper_than_is_looked_into_ends() {
    let kernel =
        |depth: usize, value: u32| format!("f{}{value}{}()", "<a".repeat(depth), ">".repeat(depth));
    let kernels = [kernel(2_000, 1), kernel(2_000, 2)];
    let names = short_names(&kernels.each_ref().map(String::as_str));
    assert_eq!(names, ["f<…>", "f<…> #2"]);
}
