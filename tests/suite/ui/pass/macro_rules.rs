//! Functions and arguments with expressions that macro_rules passes on as `$value`: operators bind
//! as they do without the attribute.

use gpuprof::gpu_profile;

macro_rules! functions {
    ($value:expr, $type:ty, $block:block) => {
        #[gpu_profile(
            cpu,
            label = assert_label(2 * $value),
            args(2 * $value, $value, &$value)
        )]
        fn plain() -> $type {
            2 * $value
        }

        #[gpu_profile]
        fn with_inner_attribute() -> $type {
            #![allow(unused_mut)]
            2 * $value
        }

        #[gpu_profile]
        async fn asynchronous() -> $type {
            2 * $value
        }

        #[gpu_profile]
        fn returns_future() -> impl Future<Output = $type> {
            let value = 2 * $value;
            async move { value }
        }

        #[gpu_profile]
        fn with_block() -> $type $block

        struct Constants;

        #[gpu_profile]
        impl Constants {
            const VALUE: $type = 2 * $value;

            fn method() -> $type {
                2 * $value
            }
        }
    };
}
functions!(1 + 2, u32, { 1 + 5 });

fn assert_label(label: u32) -> u32 {
    assert_eq!(label, 6);
    label
}

fn poll<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

fn main() {
    assert_eq!(plain(), 6);
    assert_eq!(with_inner_attribute(), 6);
    assert_eq!(poll(asynchronous()), 6);
    assert_eq!(poll(returns_future()), 6);
    assert_eq!(with_block(), 6);
    assert_eq!(Constants::VALUE, 6);
    assert_eq!(Constants::method(), 6);
}
