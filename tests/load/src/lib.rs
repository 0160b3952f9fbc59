//! Ten thousand annotated functions, in a hundred modules of a hundred. An unoptimized build has a
//! thousand, because all of them would take minutes and hundreds of megabytes to build and a debug
//! test has no time to call them.
//!
//! They are written out because a generic function is one call site, and are a library because they
//! take minutes to build and the scenarios do not.

/// An annotated function that runs the given closure.
pub type Function = fn(&mut dyn FnMut());

macro_rules! modules {
    ($($module:ident)+) => {
        $(mod $module {
            functions!{
                f00 f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20
                f21 f22 f23 f24 f25 f26 f27 f28 f29 f30 f31 f32 f33 f34 f35 f36 f37 f38 f39 f40 f41
                f42 f43 f44 f45 f46 f47 f48 f49 f50 f51 f52 f53 f54 f55 f56 f57 f58 f59 f60 f61 f62
                f63 f64 f65 f66 f67 f68 f69 f70 f71 f72 f73 f74 f75 f76 f77 f78 f79 f80 f81 f82 f83
                f84 f85 f86 f87 f88 f89 f90 f91 f92 f93 f94 f95 f96 f97 f98 f99
            }
        })+

        static ALL: &[[Function; 100]] = &[$($module::ALL),+];
    };
}

macro_rules! functions {
    ($($function:ident)+) => {
        $(#[gpuprof::gpu_profile(cpu)]
        fn $function(inside: &mut dyn FnMut()) {
            inside();
        })+

        pub(super) const ALL: [super::Function; 100] = [$($function),+];
    };
}

#[cfg(not(debug_assertions))]
modules! {
    m00 m01 m02 m03 m04 m05 m06 m07 m08 m09 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20 m21 m22 m23
    m24 m25 m26 m27 m28 m29 m30 m31 m32 m33 m34 m35 m36 m37 m38 m39 m40 m41 m42 m43 m44 m45 m46 m47
    m48 m49 m50 m51 m52 m53 m54 m55 m56 m57 m58 m59 m60 m61 m62 m63 m64 m65 m66 m67 m68 m69 m70 m71
    m72 m73 m74 m75 m76 m77 m78 m79 m80 m81 m82 m83 m84 m85 m86 m87 m88 m89 m90 m91 m92 m93 m94 m95
    m96 m97 m98 m99
}

#[cfg(debug_assertions)]
modules! {
    m00 m01 m02 m03 m04 m05 m06 m07 m08 m09
}

/// All functions, in order.
pub fn all() -> impl Iterator<Item = Function> {
    ALL.iter().flatten().copied()
}
