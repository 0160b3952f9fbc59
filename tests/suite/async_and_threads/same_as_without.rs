//! Promise: an annotated `async fn` drops its parameters when and in the order in which it does
//! without the attribute, its future is about as large, and it is `Send` for the same arguments.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use gpuprof::gpu_profile;
use support::executor::{pause, poll, run};
use support::suite::Module;
use support::tests;
use support::{cpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        parameters_drop_in_the_same_order,
        parameters_that_arguments_name_drop_in_the_same_order,
        futures_are_hardly_larger,
        argument_expressions_run_at_the_first_poll,
    ]],
);

thread_local! {
    static DROPPED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Records its drop.
struct Token(&'static str);

impl Drop for Token {
    fn drop(&mut self) {
        DROPPED.with_borrow_mut(|dropped| dropped.push(self.0));
    }
}

/// The same functions with and without the attribute.
macro_rules! functions {
    ($module:ident $(, #[$attribute:meta])?) => {
        mod $module {
            use super::{Token, pause};

            $(#[$attribute])?
            pub(super) async fn names(a: Token, b: Token, mut c: Token) {
                let _local = Token("local");
                c.0 = "c";
                pause().await;
                drop(b);
                let _ = &a;
            }

            $(#[$attribute])?
            pub(super) async fn patterns(a: Token, (b, _): (Token, Token), _: Token) {
                pause().await;
                let _ = (&a, &b);
            }

            $(#[$attribute])?
            #[must_use]
            pub(super) async fn must_use(a: Token, _b: Token, _c: Token) -> Token {
                pause().await;
                a
            }

            pub(super) struct Owner(pub(super) Token);

            impl Owner {
                $(#[$attribute])?
                pub(super) async fn method(self, _a: Token, _b: Token) {
                    pause().await;
                }

                $(#[$attribute])?
                pub(super) async fn part(self, _a: Token) -> Token {
                    pause().await;
                    self.0
                }
            }

            $(#[$attribute])?
            pub(super) async fn level_1(x: [u8; 512]) -> usize {
                pause().await;
                x.len()
            }

            $(#[$attribute])?
            pub(super) async fn level_2(x: [u8; 512]) -> usize {
                level_1(x).await
            }

            $(#[$attribute])?
            pub(super) async fn level_3(x: [u8; 512]) -> usize {
                level_2(x).await
            }

            $(#[$attribute])?
            pub(super) async fn level_4(x: [u8; 512]) -> usize {
                level_3(x).await
            }

            $(#[$attribute])?
            pub(super) async fn reads(x: &str, y: usize) -> usize {
                pause().await;
                x.len() + y
            }
        }
    };
}

functions!(plain);
functions!(annotated, #[gpuprof::gpu_profile(cpu)]);

type Boxed = Pin<Box<dyn Future<Output = ()>>>;

/// What is dropped by a future after so many polls, `None` for as many as it needs.
fn dropped(future: Boxed, polls: Option<u32>) -> Vec<&'static str> {
    let mut future = future;
    match polls {
        Some(polls) => (0..polls).for_each(|_| assert!(poll(future.as_mut()).is_pending())),
        None => while poll(future.as_mut()) == Poll::Pending {},
    }
    drop(future);
    DROPPED.take()
}

macro_rules! futures {
    ($module:ident) => {{
        let owner = || $module::Owner(Token("self"));
        let all: [fn(&dyn Fn() -> $module::Owner) -> Boxed; 5] = [
            |_| Box::pin($module::names(Token("a"), Token("b"), Token("?"))),
            |_| {
                let pair = (Token("b"), Token("rest"));
                Box::pin($module::patterns(Token("a"), pair, Token("_")))
            },
            |_| {
                let future = $module::must_use(Token("a"), Token("b"), Token("c"));
                Box::pin(async { drop(future.await) })
            },
            |owner| Box::pin(owner().method(Token("a"), Token("b"))),
            |owner| {
                let future = owner().part(Token("a"));
                Box::pin(async { drop(future.await) })
            },
        ];
        let cases = all.into_iter().flat_map(move |make| {
            [None, Some(0), Some(1)].map(|polls| dropped(make(&owner), polls))
        });
        cases.collect::<Vec<_>>()
    }};
}

fn parameters_drop_in_the_same_order() {
    let w = world();
    let session = w.session();
    let wanted = futures!(plain);
    assert_eq!(wanted[0], ["b", "local", "c", "a"]);
    assert_eq!(futures!(annotated), wanted);
    drop(w.finish(session));
}

fn futures_are_hardly_larger() {
    let _w = world();
    let sizes = |large: usize, small: usize, levels: usize| {
        assert!(
            large <= small * 11 / 10 + 48 * levels,
            "{small} bytes without the attribute, {large} with it"
        );
    };
    let x = [0; 512];
    let size = |plain: &dyn std::any::Any| size_of_val(plain);
    sizes(size(&annotated::level_1(x)), size(&plain::level_1(x)), 1);
    sizes(size(&annotated::level_4(x)), size(&plain::level_4(x)), 4);
    sizes(
        size(&annotated::reads("", 1)),
        size(&plain::reads("", 1)),
        1,
    );
}

async fn unnamed(a: Token, b: Token, _: Token, d: Token) {
    pause().await;
    let _ = (&a, &b, &d);
}

/// The same with an attribute that names its parameters in another order.
#[gpu_profile(cpu, items = d.0.len() + b.0.len(), label = b.0)]
async fn named_in_arguments(a: Token, b: Token, _: Token, d: Token) {
    pause().await;
    let _ = (&a, &b, &d);
}

fn parameters_that_arguments_name_drop_in_the_same_order() {
    let w = world();
    let session = w.session();
    let tokens = || ["a", "b", "_", "d"].map(Token);
    for polls in [None, Some(0), Some(1)] {
        let [a, b, c, d] = tokens();
        let wanted = dropped(Box::pin(unnamed(a, b, c, d)), polls);
        let [a, b, c, d] = tokens();
        let future = named_in_arguments(a, b, c, d);
        assert_eq!(dropped(Box::pin(future), polls), wanted, "{polls:?}");
        assert_eq!(wanted.len(), 4);
    }
    drop(w.finish(session));
}

thread_local! {
    static EVALUATED: RefCell<u32> = const { RefCell::new(0) };
}

fn evaluated(x: u32) -> u32 {
    EVALUATED.with_borrow_mut(|count| *count += 1);
    x
}

#[gpu_profile(cpu, items = evaluated(n))]
async fn counts(n: u32) -> u32 {
    pause().await;
    n
}

fn argument_expressions_run_at_the_first_poll() {
    let w = world();
    let session = w.session();
    drop(counts(1));
    let future = counts(2);
    assert_eq!(EVALUATED.with_borrow(|count| *count), 0);
    assert_eq!(run(&w, future, 5), 2);
    assert_eq!(EVALUATED.with_borrow(|count| *count), 1);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "counts").0, 1);
}
