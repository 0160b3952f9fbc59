//! Every pattern that a parameter can be.

#![allow(clippy::toplevel_ref_arg)]

use gpuprof::gpu_profile;

struct Point {
    x: u32,
    y: u32,
}

struct Pair(u32, #[allow(dead_code)] u32);

struct Unit;

enum Either {
    Left(u32),
    Right(u32),
}

#[gpu_profile]
fn mutable(mut x: u32) -> u32 {
    x += 1;
    x
}

#[gpu_profile]
fn wild(_: &mut Vec<u8>, _unused: String) -> u32 {
    1
}

#[gpu_profile]
fn by_reference(ref x: String, ref mut y: String) -> usize {
    y.push('!');
    x.len() + y.len()
}

#[gpu_profile]
fn tuple((a, mut b): (u32, u32), (): ()) -> u32 {
    b += 1;
    a + b
}

#[gpu_profile]
fn structs(Point { x, y: ref renamed }: Point, Pair(p, ..): Pair, Unit: Unit) -> u32 {
    x + renamed + p
}

#[gpu_profile]
fn slices([first, .., last]: [u32; 4], &[a, b]: &[u32; 2]) -> u32 {
    first + last + a + b
}

#[gpu_profile]
fn at(whole @ Point { .. }: Point, n @ (1..=u32::MAX | 0): u32) -> u32 {
    whole.x + whole.y + n
}

#[gpu_profile]
fn alternatives((Either::Left(x) | Either::Right(x)): Either, y: u32) -> u32 {
    x + y
}

#[gpu_profile]
fn raw((r#fn, r#loop): (u32, u32)) -> u32 {
    r#fn + r#loop
}

#[allow(dead_code)]
pub fn main() {
    assert_eq!(mutable(1), 2);
    assert_eq!(wild(&mut vec![], String::new()), 1);
    assert_eq!(by_reference("ab".to_owned(), "c".to_owned()), 4);
    assert_eq!(tuple((1, 2), ()), 4);
    assert_eq!(structs(Point { x: 1, y: 2 }, Pair(3, 4), Unit), 6);
    assert_eq!(slices([1, 0, 0, 2], &[3, 4]), 10);
    assert_eq!(at(Point { x: 1, y: 2 }, 3), 6);
    assert_eq!(alternatives(Either::Left(1), 1), 2);
    assert_eq!(alternatives(Either::Right(2), 1), 3);
    assert_eq!(raw((1, 2)), 3);
}
