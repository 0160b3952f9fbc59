//! `async fn`, the boxed futures of `async_trait`, and functions that return a future made in their
//! last line.

use async_trait::async_trait;
use gpuprof::gpu_profile;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

#[gpu_profile]
async fn plain(x: u32) -> u32 {
    yield_once().await;
    x
}

#[gpu_profile]
async fn nothing() {
    #![allow(clippy::unused_async)]
}

#[gpu_profile(items = x.len())]
async fn borrows<'a>(x: &'a mut Vec<u32>, y: &str) -> &'a u32 {
    yield_once().await;
    x.push(y.len() as u32);
    &x[0]
}

#[gpu_profile]
async fn fallible(x: &str) -> Result<i32, Box<dyn std::error::Error + Send + Sync>> {
    let value: i32 = x.parse()?;
    yield_once().await;
    if value < 0 {
        return Err("negative".into());
    }
    Ok(value)
}

#[gpu_profile]
async fn inferred(x: &[u8]) -> Vec<u8> {
    x.iter().map(|x| x + 1).collect()
}

#[gpu_profile]
async fn returns_impl(
    x: &[u8],
) -> Result<impl Iterator<Item = u8> + '_, (impl Copy + use<'_>, u8)> {
    if x.is_empty() {
        Err((1_u8, 2))
    } else {
        Ok(x.iter().map(|x| x + 1))
    }
}

#[gpu_profile]
async fn generic<T: Clone, const N: usize>(x: T) -> [T; N] {
    std::array::from_fn(|_| x.clone())
}

#[gpu_profile]
async unsafe fn dangerous(x: *const u32) -> u32 {
    // SAFETY: the caller passes a pointer to a live value.
    unsafe { *x }
}

#[gpu_profile]
async fn never() -> ! {
    loop {
        yield_once().await;
    }
}

#[gpu_profile]
async fn never_by_inference() -> ! {
    std::future::pending().await
}

#[gpu_profile]
#[allow(clippy::toplevel_ref_arg)]
async fn by_reference(ref x: u8, (ref mut y, _): (Vec<u8>, u8), ref mut z: Vec<u8>) -> usize {
    y.push(*x);
    z.push(*x);
    y.len() + z.len()
}

#[gpu_profile]
async fn moved(owner: Vec<String>, (mut a, _): (u32, u32), _: String) -> (Vec<String>, u32) {
    a += 1;
    yield_once().await;
    (owner, a)
}

#[gpu_profile]
async fn recursive(n: u32) -> u32 {
    match n {
        0 => 0,
        _ => Box::pin(recursive(n - 1)).await + 1,
    }
}

/// A temporary of the last expression borrows the parameter.
#[gpu_profile]
async fn tail_borrows(x: std::cell::RefCell<Vec<u8>>) -> usize {
    x.borrow().len()
}

/// The lint behind `#[must_use]` reads the word `async`.
#[gpu_profile]
#[must_use]
async fn must_be_used(x: &str) -> usize {
    yield_once().await;
    x.len()
}

#[gpu_profile]
async fn only_here(x: std::rc::Rc<u32>) -> u32 {
    yield_once().await;
    *x
}

struct Net {
    weight: u32,
}

impl Net {
    #[gpu_profile]
    async fn forward(&self, x: u32) -> u32 {
        self.weight * x
    }

    #[gpu_profile]
    async fn update(&mut self) -> &mut Self {
        yield_once().await;
        self.weight += 1;
        self
    }

    #[gpu_profile]
    async fn consume(self) -> u32 {
        self.weight
    }

    #[gpu_profile]
    fn boxed<'a>(&'a self, x: &'a str) -> Pin<Box<dyn Future<Output = usize> + Send + 'a>> {
        let length = x.len();
        if length == 0 {
            return Box::pin(std::future::ready(0));
        }
        Box::pin(async move {
            yield_once().await;
            self.weight as usize + length
        })
    }

    #[gpu_profile(bytes = self.weight)]
    fn returns_future(&self) -> impl Future<Output = u32> + Send + use<> {
        let weight = self.weight;
        async move {
            yield_once().await;
            weight
        }
    }

    /// What is not `Send` stays outside of the future.
    #[gpu_profile]
    fn stays_send(not_send: std::rc::Rc<u32>) -> Pin<Box<dyn Future<Output = u32> + Send>> {
        let copy = *not_send;
        ::std::boxed::Box::pin(async move { copy })
    }
}

#[async_trait]
trait Layer {
    async fn forward(&self, x: &str) -> Result<usize, std::num::ParseIntError>;

    #[gpu_profile]
    async fn twice(&mut self, x: String) -> usize
    where
        Self: Send + Sync,
    {
        self.forward(&x).await.unwrap_or(0) + self.forward(&x).await.unwrap_or(0)
    }
}

#[async_trait]
impl Layer for Net {
    #[gpu_profile]
    async fn forward(&self, x: &str) -> Result<usize, std::num::ParseIntError> {
        yield_once().await;
        let x: usize = x.parse()?;
        Ok(self.weight as usize * x)
    }
}

struct Below;

// Above another attribute that reads the word `async`.
#[gpu_profile]
#[async_trait]
impl Layer for Below {
    async fn forward(&self, x: &str) -> Result<usize, std::num::ParseIntError> {
        yield_once().await;
        x.parse()
    }
}

trait NativeLayer {
    #[gpu_profile]
    async fn step(&self) -> u32 {
        yield_once().await;
        4
    }
}

impl NativeLayer for Net {}

async fn yield_once() {
    let mut first = true;
    std::future::poll_fn(|_| {
        if std::mem::take(&mut first) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[allow(dead_code)]
pub fn main() {
    assert_eq!(block_on(is_send(plain(1))), 1);
    block_on(nothing());
    assert_eq!(*block_on(is_send(borrows(&mut vec![], "abc"))), 3);
    assert_eq!(block_on(is_send(fallible("3"))).ok(), Some(3));
    assert!(block_on(fallible("-3")).is_err());
    assert!(block_on(fallible("x")).is_err());
    assert_eq!(block_on(inferred(&[1, 2])), [2, 3]);
    assert_eq!(
        block_on(returns_impl(&[1])).ok().map(Iterator::count),
        Some(1)
    );
    assert_eq!(block_on(generic::<_, 2>(1)), [1, 1]);
    // SAFETY: the pointer is that of a live value.
    assert_eq!(block_on(unsafe { dangerous(&3) }), 3);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Box::pin(never()).as_mut().poll(&mut context).is_pending());
    let mut inferred = Box::pin(never_by_inference());
    assert!(inferred.as_mut().poll(&mut context).is_pending());
    assert_eq!(block_on(by_reference(1, (vec![2], 3), vec![])), 3);
    assert_eq!(
        block_on(is_send(moved(vec![], (1, 2), String::new()))),
        (vec![], 2)
    );

    assert_eq!(block_on(recursive(3)), 3);
    assert_eq!(block_on(tail_borrows(vec![1].into())), 1);
    assert_eq!(block_on(is_send(must_be_used("ab"))), 2);
    assert_eq!(block_on(only_here(std::rc::Rc::new(5))), 5);

    let mut net = Net { weight: 2 };
    assert_eq!(block_on(is_send(net.forward(3))), 6);
    assert_eq!(block_on(net.update()).weight, 3);
    assert_eq!(block_on(net.boxed("ab")), 5);
    assert_eq!(block_on(net.boxed("")), 0);
    assert_eq!(block_on(is_send(net.returns_future())), 3);
    assert_eq!(block_on(Net::stays_send(std::rc::Rc::new(8))), 8);
    assert_eq!(block_on(Layer::forward(&net, "2")), Ok(6));
    assert_eq!(block_on(net.twice("2".to_owned())), 12);
    assert_eq!(block_on(Layer::forward(&Below, "2")), Ok(2));
    assert_eq!(block_on(net.step()), 4);
    assert_eq!(block_on(net.consume()), 3);
}
