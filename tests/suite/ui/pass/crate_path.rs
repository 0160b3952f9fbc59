//! `crate = path`, for programs that import gpuprof under another name.

extern crate gpuprof as renamed;

mod wrapper {
    pub(crate) use gpuprof as profiler;
}

mod gpuprof_is_not_here {
    use renamed::gpu_profile;

    #[gpu_profile(crate = crate::wrapper::profiler)]
    pub fn plain() -> u32 {
        1
    }

    #[gpu_profile(crate = crate::wrapper::profiler, cpu)]
    pub mod block {
        use renamed::gpu_profile;

        pub fn inside() -> u32 {
            2
        }

        #[gpu_profile]
        pub fn own() -> u32 {
            3
        }

        #[gpu_profile(name = "own")]
        pub fn own_with_arguments() -> u32 {
            4
        }

        #[gpu_profile(crate = ::renamed_again)]
        #[cfg(any())]
        pub fn own_crate() {}
    }
}

#[allow(dead_code)]
pub fn main() {
    use gpuprof_is_not_here::{block, plain};
    assert_eq!(
        plain() + block::inside() + block::own() + block::own_with_arguments(),
        10
    );
}
