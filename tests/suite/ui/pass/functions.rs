//! Every form of free function that the attribute takes, called and checked.

use gpuprof::gpu_profile;
use std::fmt::Display;

#[gpu_profile]
fn nothing() {}

#[gpu_profile]
pub(crate) fn sum(a: u32, b: u32) -> u32 {
    a + b
}

/// Documented, with attributes of its own, and an inner attribute that must stay first.
#[gpu_profile]
#[inline(never)]
#[must_use]
fn with_attributes(x: u32) -> u32 {
    #![allow(unused_variables)]
    let unused = 1;
    x
}

#[gpu_profile]
unsafe fn dangerous(x: *const u32) -> u32 {
    // SAFETY: the caller passes a pointer to a live value.
    unsafe { *x }
}

#[gpu_profile]
extern "C" fn for_c(x: i32) -> i32 {
    x * 2
}

#[gpu_profile]
unsafe extern "C" fn dangerous_for_c() -> i32 {
    7
}

#[gpu_profile]
fn const_generic<const N: usize>(values: [u8; N]) -> usize {
    values.len() + N
}

#[gpu_profile]
fn longest<'a, 'b: 'a>(a: &'a str, b: &'b str) -> &'a str {
    if a.len() > b.len() { a } else { b }
}

#[gpu_profile]
fn generic<T, U>(x: T, y: &U) -> String
where
    T: Display,
    U: Display + ?Sized,
{
    format!("{x}{y}")
}

#[gpu_profile]
fn takes_impl(x: impl Display, mut each: impl FnMut(char)) {
    x.to_string().chars().for_each(&mut each);
}

#[gpu_profile]
fn returns_impl<'a>(x: &'a [u32], add: u32) -> impl Iterator<Item = u32> + use<'a> {
    x.iter().map(move |v| v + add)
}

#[gpu_profile]
fn never(x: &str) -> ! {
    panic!("{x}")
}

#[gpu_profile]
fn fallible(x: &str) -> Result<i32, Box<dyn std::error::Error>> {
    let value: i32 = x.parse()?;
    if value < 0 {
        return Err("negative".into());
    }
    Ok(value)
}

#[gpu_profile]
fn optional(x: &[i32]) -> Option<i32> {
    let first = x.first()?;
    Some(*first)
}

#[gpu_profile]
fn recursive(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        recursive(n - 1) + recursive(n - 2)
    }
}

#[gpu_profile]
fn r#match(r#type: u32) -> u32 {
    r#type
}

struct Owner(Vec<u8>);

#[gpu_profile]
fn moved(owner: Owner, text: String) -> (Vec<u8>, String) {
    let Owner(inner) = owner;
    (inner, text)
}

#[gpu_profile]
fn borrowed_mutably(x: &mut Vec<u8>, mut by_value: Vec<u8>) -> usize {
    by_value.push(1);
    x.append(&mut by_value);
    x.len()
}

#[gpu_profile]
fn unsized_arguments(a: &dyn Display, b: &[u8], c: &str, d: Box<dyn Fn() -> usize>) -> usize {
    a.to_string().len() + b.len() + c.len() + d()
}

#[gpu_profile]
fn function_pointers(f: fn(u32) -> u32, g: &dyn Fn(u32) -> u32) -> u32 {
    f(g(1))
}

#[gpu_profile]
fn items_inside() -> u32 {
    use std::cmp::max;
    const A: u32 = 3;
    fn inner(x: u32) -> u32 {
        x
    }
    max(A, inner(2))
}

/// The tail borrows a local: the span must not change when temporaries are dropped.
#[gpu_profile]
fn tail_borrows(x: &std::cell::RefCell<Vec<u8>>) -> usize {
    let local = x;
    local.borrow().len()
}

#[gpu_profile]
fn with_cfg(
    #[cfg(any())] gone: Missing,
    #[cfg(not(any()))] here: u32,
    #[allow(unused)] quiet: u32,
) -> u32 {
    here
}

macro_rules! define {
    ($(#[$attr:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $out:ty $body:block) => {
        $(#[$attr])*
        $vis fn $name($($arg: $ty),*) -> $out $body
    };
}

define! {
    #[gpu_profile(name = "made/by macro")]
    pub fn from_macro(a: u32, b: u32) -> u32 { a * b }
}

macro_rules! pass_item {
    ($item:item, $name:literal) => {
        #[gpu_profile(name = $name, bytes = 1 + 2)]
        $item
    };
}

pass_item!(
    fn whole_item() -> u8 {
        9
    },
    "whole"
);

#[allow(dead_code)]
pub fn main() {
    nothing();
    assert_eq!(sum(1, 2), 3);
    assert_eq!(with_attributes(4), 4);
    // SAFETY: the pointer is that of a live value.
    assert_eq!(unsafe { dangerous(&5) }, 5);
    assert_eq!(for_c(4), 8);
    // SAFETY: it asks for nothing.
    assert_eq!(unsafe { dangerous_for_c() }, 7);
    assert_eq!(const_generic([0; 4]), 8);
    assert_eq!(longest("ab", "abc"), "abc");
    assert_eq!(generic(1, "x"), "1x");
    let mut seen = String::new();
    takes_impl(12, |c| seen.push(c));
    assert_eq!(seen, "12");
    assert_eq!(returns_impl(&[1, 2], 1).sum::<u32>(), 5);
    // Without a word: in a log of all tests a panic should be a failure.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    assert!(std::panic::catch_unwind(|| never("wanted")).is_err());
    std::panic::set_hook(hook);
    assert_eq!(fallible("3").ok(), Some(3));
    assert!(fallible("-3").is_err());
    assert!(fallible("x").is_err());
    assert_eq!(optional(&[]), None);
    assert_eq!(optional(&[6]), Some(6));
    assert_eq!(recursive(10), 55);
    assert_eq!(r#match(1), 1);
    assert_eq!(
        moved(Owner(vec![1]), "a".to_owned()),
        (vec![1], "a".to_owned())
    );
    assert_eq!(borrowed_mutably(&mut vec![0], vec![]), 2);
    assert_eq!(unsized_arguments(&1, &[2], "c", Box::new(|| 1)), 4);
    assert_eq!(function_pointers(|x| x + 1, &|x| x * 3), 4);
    assert_eq!(items_inside(), 3);
    assert_eq!(tail_borrows(&std::cell::RefCell::new(vec![1, 2])), 2);
    assert_eq!(with_cfg(3, 4), 3);
    assert_eq!(from_macro(2, 3), 6);
    assert_eq!(whole_item(), 9);
}
