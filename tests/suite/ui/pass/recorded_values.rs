//! Every form of `args(…)`, on functions that own, borrow and change what it mentions.

#![deny(warnings)]

use gpuprof::gpu_profile;
use std::fmt::Debug;

#[gpu_profile(args(x, x.len(), first = x[0], *x, &x[1..],))]
fn borrowed(x: &[u32]) -> u32 {
    x.iter().sum()
}

#[gpu_profile(args(x, len = x.len()))]
fn owned(x: Vec<u32>) -> Vec<u32> {
    x
}

#[gpu_profile(args(x, x.len()))]
fn changed(x: &mut Vec<u32>) {
    x.push(1);
}

#[gpu_profile(args(x == y, x <= y, type = x, r#fn = y, self_ = (x, y)))]
fn named_by_keywords(x: u32, y: u32) -> u32 {
    x + y
}

#[gpu_profile(args(a, b.len(), rest))]
fn pattern((a, b): (u32, String), [_, rest @ ..]: [u32; 3]) -> u32 {
    a + b.len() as u32 + rest[0]
}

#[gpu_profile(args(x, N, std::mem::size_of::<T>(), y.as_ref().len()))]
fn generic<T: Debug + ?Sized + Clone, const N: usize>(x: &T, y: impl AsRef<str>) -> (T, usize) {
    (x.clone(), N + y.as_ref().len())
}

#[gpu_profile(args(x.iter().map(|&x| u64::from(x)).sum::<u64>(), if x.is_empty() { 0 } else { 1 }))]
fn computed(x: &[u32]) -> usize {
    x.len()
}

#[gpu_profile(
    name = "all",
    bytes = n,
    flops = n,
    items = n,
    label = n,
    args(n),
    payload = n,
    color = 1,
    category = "c",
    sample = 2
)]
fn with_every_argument(n: u32) -> u32 {
    n
}

#[gpu_profile(cpu, args(n))]
fn on_the_cpu(n: u32) -> u32 {
    n
}

#[gpu_profile(args(n))]
unsafe extern "C" fn dangerous(n: u32) -> u32 {
    n
}

#[derive(Debug)]
struct Layer {
    index: u32,
}

#[gpu_profile(cpu)]
impl Layer {
    #[gpu_profile(args(self.index, self))]
    fn into_index(self) -> u32 {
        self.index
    }

    #[gpu_profile(args(self.index, x))]
    async fn add(&mut self, x: String, _unused: &str) -> u32 {
        self.index += x.len() as u32;
        self.index
    }
}

#[gpu_profile(args(x))]
fn boxed<'a>(x: &'a [u32]) -> std::pin::Pin<Box<dyn Future<Output = usize> + Send + 'a>> {
    Box::pin(async move { x.len() })
}

macro_rules! function {
    ($name:ident, $($value:expr),+) => {
        #[gpu_profile(args($($value),+, named = $($value)|+))]
        fn $name() -> u32 {
            1
        }
    };
}
function!(by_macro, 1 + 2, u32::BITS);

fn is_send<T: Send>(value: T) -> T {
    value
}

fn main() {
    assert_eq!(borrowed(&[1, 2]), 3);
    let mut x = owned(vec![1]);
    changed(&mut x);
    assert_eq!(x, [1, 1]);
    assert_eq!(named_by_keywords(1, 2), 3);
    assert_eq!(pattern((1, "ab".to_owned()), [0, 3, 0]), 6);
    assert_eq!(generic::<_, 2>(&1, "a"), (1, 3));
    assert_eq!(computed(&[1]), 1);
    assert_eq!(with_every_argument(3), on_the_cpu(3));
    // SAFETY: it only returns its parameter.
    assert_eq!(unsafe { dangerous(4) }, 4);
    let mut layer = Layer { index: 1 };
    drop(is_send(layer.add("x".to_owned(), "")));
    assert_eq!(layer.into_index(), 1);
    drop(is_send(boxed(&[1])));
    assert_eq!(by_macro(), 1);
}
