//! Methods: inherent, in trait impls, default ones, and `self` in all its forms.

#![allow(clippy::boxed_local, clippy::needless_arbitrary_self_type)]

use gpuprof::gpu_profile;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

#[derive(Clone, Default)]
struct Net<T = u32> {
    layers: Vec<T>,
}

impl<T: Clone + PartialEq> Net<T> {
    #[gpu_profile]
    fn new() -> Self {
        Self { layers: Vec::new() }
    }

    #[gpu_profile(items = self.layers.len())]
    fn by_reference(&self) -> usize {
        self.layers.len()
    }

    #[gpu_profile]
    pub(crate) fn by_mut_reference(&mut self, x: T) -> &mut Self {
        self.layers.push(x);
        self
    }

    #[gpu_profile]
    fn with_lifetime<'a>(&'a self, other: &'a T) -> &'a T {
        self.layers.first().unwrap_or(other)
    }

    #[gpu_profile(items = self.layers.len())]
    fn by_value(self) -> Vec<T> {
        self.layers
    }

    #[gpu_profile]
    fn by_mut_value(mut self, x: T) -> Self {
        self.layers.push(x);
        self
    }

    #[gpu_profile]
    fn boxed(self: Box<Self>) -> Vec<T> {
        self.layers
    }

    #[gpu_profile]
    fn counted(self: Rc<Self>) -> usize {
        self.layers.len()
    }

    #[gpu_profile]
    fn shared(self: &Arc<Self>) -> usize {
        self.layers.len()
    }

    #[gpu_profile]
    fn pinned(self: Pin<&mut Self>) -> usize {
        self.layers.len()
    }

    #[gpu_profile]
    fn mut_boxed(mut self: Box<Self>, x: T) -> Box<Self> {
        self.layers.push(x);
        self
    }

    #[gpu_profile]
    fn compare(self: &Self, other: &Self) -> bool {
        self.layers == other.layers
    }
}

trait Layer {
    type Out;

    fn forward(&self, x: u32) -> Self::Out;

    #[gpu_profile]
    fn twice(&self, x: u32) -> (Self::Out, Self::Out) {
        (self.forward(x), self.forward(x))
    }

    #[gpu_profile]
    fn consume(self) -> u32
    where
        Self: Sized,
    {
        3
    }

    #[gpu_profile]
    fn name() -> &'static str {
        "layer"
    }
}

impl Layer for Net {
    type Out = u32;

    #[gpu_profile]
    fn forward(&self, x: u32) -> Self::Out {
        self.layers.iter().sum::<u32>() + x
    }
}

impl<const N: usize> Layer for [u32; N] {
    type Out = usize;

    #[gpu_profile(name = "array/forward")]
    fn forward(&self, _x: u32) -> usize {
        N
    }
}

impl Drop for Dropped<'_> {
    #[gpu_profile]
    fn drop(&mut self) {
        self.0.set(true);
    }
}

struct Dropped<'a>(&'a std::cell::Cell<bool>);

#[allow(dead_code)]
pub fn main() {
    let mut net = Net::<u32>::new();
    assert_eq!(net.by_mut_reference(2).by_reference(), 1);
    assert_eq!(*net.with_lifetime(&9), 2);
    assert_eq!(net.clone().by_value(), [2]);
    assert_eq!(net.clone().by_mut_value(3).layers, [2, 3]);
    assert_eq!(Box::new(net.clone()).boxed(), [2]);
    assert_eq!(Rc::new(net.clone()).counted(), 1);
    assert_eq!(Arc::new(net.clone()).shared(), 1);
    assert_eq!(Pin::new(&mut net).pinned(), 1);
    assert_eq!(Box::new(net.clone()).mut_boxed(1).layers, [2, 1]);
    assert!(net.compare(&net));
    assert_eq!(net.twice(1), (3, 3));
    assert_eq!([0_u32; 5].twice(0), (5, 5));
    assert_eq!(<Net as Layer>::name(), "layer");
    assert_eq!(net.consume(), 3);
    let seen = std::cell::Cell::new(false);
    drop(Dropped(&seen));
    assert!(seen.get());
}
