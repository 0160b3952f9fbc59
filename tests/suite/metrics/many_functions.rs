//! More functions than have series of their own.

macro_rules! functions {
    ($($name:ident)*) => {
        $(
            #[gpu_profile(cpu)]
            fn $name() {}
        )*
        pub(super) const ALL: &[fn()] = &[$($name),*];
    };
}

/// Modules of 20 functions each.
macro_rules! modules {
    ($($module:ident)*) => {
        $(
            mod $module {
                use gpuprof::gpu_profile;
                functions!(f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20);
            }
        )*
        pub(in crate::many_functions) const ALL: &[&[fn()]] = &[$($module::ALL),*];
    };
}

/// These names are in each series: the text of a scrape exceeds what the sockets of a client hold.
mod in_modules_whose_names_make_every_one_of_the_series_as_long_as_a_label {
    pub(super) mod so_that_the_text_of_a_scrape_is_several_megabytes_in_all_because {
        pub(in super::super) mod each_of_these_functions_has_two_and_thirty_lines_with_its_name {
            modules!(a b c d e f g h i j k l m n o p q r s t u v w x y z);
        }
    }
}

use first::so_that_the_text_of_a_scrape_is_several_megabytes_in_all_because as second;
use in_modules_whose_names_make_every_one_of_the_series_as_long_as_a_label as first;
use second::each_of_these_functions_has_two_and_thirty_lines_with_its_name as modules;

/// 520 functions, sorted by name.
pub(crate) fn all() -> Vec<fn()> {
    modules::ALL.iter().copied().flatten().copied().collect()
}
