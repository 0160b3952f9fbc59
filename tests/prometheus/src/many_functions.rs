//! 500 functions with a GPU time each: as many as have series of their own.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use support::Gpu;

macro_rules! functions {
    ($($name:ident)*) => {
        $(
            #[gpu_profile]
            fn $name(gpu: &Gpu, stream: &Arc<CudaStream>) {
                gpu.kernel_on(stream, 1_000);
            }
        )*
        pub(super) const ALL: [fn(&Gpu, &Arc<CudaStream>); 20] = [$($name),*];
    };
}

/// Modules of 20 functions each.
macro_rules! modules {
    ($($module:ident)*) => {
        $(
            mod $module {
                use super::*;
                use gpuprof::gpu_profile;
                functions!(f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20);
            }
        )*
        const ALL: [[fn(&Gpu, &Arc<CudaStream>); 20]; 25] = [$($module::ALL),*];
    };
}

modules!(a b c d e f g h i j k l m n o p q r s t u v w x y);

/// Calls each of them once.
pub(super) fn call_all(gpu: &Gpu) {
    let all = ALL.iter().flatten();
    all.for_each(|function| function(gpu, &gpu.stream));
}
