//! Inline `mod` and `impl` blocks, with everything in them that must be left alone.

#![allow(dead_code, unused_braces, clippy::boxed_local)]

use gpuprof::gpu_profile;

#[gpu_profile(cpu, category = "math")]
pub mod math {
    //! Inner attributes and documentation stay where they are.
    #![allow(clippy::items_after_statements)]

    use std::fmt::Debug;

    pub const TWO: u32 = {
        const fn two() -> u32 {
            2
        }
        two()
    };
    pub static NAMES: [&str; 2] = ["a", "b"];

    pub struct Wrapper<const N: usize = { 1 + 1 }>(pub [u8; N]);

    pub struct Named {
        pub value: u32,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Kind {
        One,
    }

    pub union Bits {
        pub whole: u32,
        pub bytes: [u8; 4],
    }

    pub type Callback = fn(u32) -> u32;

    macro_rules! add {
        ($a:expr, $b:expr) => {
            $a + $b
        };
    }

    macro_rules! define {
        ($name:ident) => {
            pub fn $name() -> u32 {
                5
            }
        };
    }

    define!(by_macro);
    define! { by_other_macro }

    unsafe extern "C" {
        pub safe fn abs(x: i32) -> i32;
    }

    pub const fn constant(x: u32) -> u32 {
        x + TWO
    }

    pub(super) fn plain(x: u32) -> u32 {
        add!(x, 1)
    }

    pub async fn later() -> u32 {
        1
    }

    pub unsafe fn dangerous() {}

    pub unsafe extern "C" fn for_c(x: u32) -> u32 {
        x
    }

    #[gpu_profile(skip)]
    pub fn skipped(x: u32) -> u32 {
        x
    }

    #[gpuprof::gpu_profile(name = "own", bytes = x)]
    pub fn own(x: u32) -> u32 {
        x
    }

    impl Wrapper<{ 1 + 2 }> {
        pub const LENGTH: usize = 3;

        pub fn length(&self) -> usize {
            self.0.len()
        }

        pub const fn constant(&self) -> usize {
            Self::LENGTH
        }
    }

    pub trait Area: Debug {
        const SIDES: u32;
        type Unit;

        fn area(&self) -> u32;

        fn doubled(&self) -> u32 {
            2 * self.area()
        }
    }

    impl Area for Kind
    where
        [(); { 1 + 1 }]: Sized,
    {
        const SIDES: u32 = 4;
        type Unit = ();

        fn area(&self) -> u32 {
            7
        }
    }

    pub mod nested {
        pub fn inner() -> u32 {
            super::plain(1)
        }

        #[gpu_profile(skip)]
        pub mod left_alone {
            #[gpu_profile(skip)]
            pub fn skipped() -> u32 {
                3
            }
        }
    }
}

struct Net(u32);

trait Forward {
    fn forward(&self, x: u32) -> u32;
    fn make() -> Self;
}

#[gpu_profile(sample = 10, color = 0xFF0000)]
impl Forward for Net {
    fn forward(&self, x: u32) -> u32 {
        self.0 * x
    }

    fn make() -> Self {
        Net(2)
    }
}

#[gpu_profile]
impl Net {
    #![allow(dead_code)]

    const LIMIT: u32 = 9;

    fn limit(&self) -> u32 {
        Self::LIMIT
    }

    async fn later(&self) -> u32 {
        self.0
    }

    fn generic<T: Into<u32>>(self: Box<Self>, x: T) -> u32 {
        self.0 + x.into()
    }
}

#[gpu_profile]
mod empty {}

macro_rules! items {
    ($($item:item)*) => {
        #[gpu_profile]
        mod from_items {
            $($item)*
        }
    };
}

items! {
    use std::mem::size_of;
    pub struct S { pub a: u8 }
    pub fn size() -> usize { size_of::<S>() + S { a: 1 }.a as usize }
    pub const C: u8 = 1;
    pub fn last() -> u8 { C }
}

#[allow(dead_code)]
pub fn main() {
    use math::Area as _;

    const THREE: u32 = math::constant(1);
    assert_eq!(THREE, 3);
    assert_eq!(math::plain(1), 2);
    assert_eq!(math::by_macro() + math::by_other_macro(), 10);
    assert_eq!(math::abs(-3), 3);
    // SAFETY: it asks for nothing.
    unsafe { math::dangerous() };
    // SAFETY: it asks for nothing.
    assert_eq!(unsafe { math::for_c(1) }, 1);
    assert_eq!(math::skipped(1) + math::own(2), 3);
    assert_eq!(
        math::Wrapper([0; 3]).length() + math::Wrapper([0; 3]).constant(),
        6
    );
    assert_eq!(math::Kind::One.doubled(), 14);
    assert_eq!(
        math::nested::inner() + math::nested::left_alone::skipped(),
        5
    );
    assert_eq!(
        math::NAMES[0].len() as u32 + math::Named { value: 1 }.value,
        2
    );
    // SAFETY: both fields are plain data of the same size.
    assert_eq!(unsafe { math::Bits { whole: 0 }.bytes }, [0; 4]);
    assert_eq!((math::constant as math::Callback)(1), 3);
    assert_eq!(Net::make().forward(3), 6);
    assert_eq!(Net(1).limit(), 9);
    assert_eq!(Box::new(Net(1)).generic(2_u8), 3);
    drop(math::later());
    drop(Net(1).later());
    assert_eq!(from_items::size() as u8 + from_items::last(), 3);
}
