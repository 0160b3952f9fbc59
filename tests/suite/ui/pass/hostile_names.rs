//! Callers whose own names shadow everything that generated code might have said.

#![allow(
    non_camel_case_types,
    non_upper_case_globals,
    dead_code,
    unused_macros,
    clippy::all
)]

mod core {}
mod std {}
mod alloc {}
mod gpuprof {}
mod inventory {}
mod __private {}
mod str {}

enum Option<T> {
    None,
    Some(T),
}
enum Result {}
struct Some;
struct None;
struct Ok;
struct Vec;
struct Box;
struct String;
struct Arguments;
struct Span;
struct AsyncSpan;
struct Site;
struct Probe;
struct OnceCell;
type u64 = ();
type u32 = ();
type i64 = ();
type f64 = ();
type bool = ();
type usize = ();
trait Send {}
trait Sync {}
trait Sized {}
trait Drop {}
trait Fn {}
trait FnOnce {}
trait Future {}
trait StreamYes {}
trait StreamNo {}
trait CarrierYes {}
trait CarrierNo {}
struct Carried;
trait HasStream {
    fn stream(&self) {}
}
trait Grabs {
    fn active(&self) {}
    fn get_or_init(&self) {}
    fn amount(&self) {}
    fn payload(&self) {}
    fn argument(&self) {}
    fn fmt(&self) {}
}
impl<T: ?::core::marker::Sized> Grabs for T {}
impl<T: ?::core::marker::Sized> HasStream for T {}

macro_rules! line {
    () => {
        "shadowed"
    };
}
macro_rules! file {
    () => {
        0
    };
}
macro_rules! module_path {
    () => {
        0
    };
}
macro_rules! concat {
    () => {
        0
    };
}
macro_rules! vec {
    () => {
        0
    };
}
macro_rules! panic {
    () => {
        0
    };
}
macro_rules! submit {
    () => {
        0
    };
}

fn drop() {}
fn argument() {}
fn arguments() {}
fn instrument() {}
fn never() {}
fn many() {}
fn stream_of() {}
fn type_name_of() {}

static __GPUPROF_SITE: ::core::primitive::u8 = 0;
fn __gpuprof_path() {}

use ::gpuprof::gpu_profile;

#[gpu_profile(
    bytes = 5_000_000_000 + 1,
    flops = 2.5,
    items = 1,
    payload = -3,
    color = 1,
    category = "c",
    sample = 2,
    args(stream, "text", __gpuprof_span = 1)
)]
fn plain(
    __gpuprof_span: ::core::primitive::u8,
    stream: ::core::primitive::u8,
) -> ::core::primitive::u8 {
    let site = __gpuprof_span;
    site + stream
}

#[gpu_profile(payload = 18_446_744_073_709_551_615, args(__gpuprof_span))]
async fn later(__gpuprof_span: ::core::primitive::u8) -> ::core::primitive::u8 {
    __gpuprof_span
}

#[gpu_profile]
fn generic<T, K, F, S>(t: T, k: &K, f: &mut F, slot0: S) -> (T, S) {
    let _ = (k, f);
    (t, slot0)
}

#[gpu_profile]
fn uses_the_callers_names() -> (Some, None) {
    __gpuprof_path();
    drop();
    let _ = __GPUPROF_SITE;
    (Some, None)
}

struct Own;

#[gpu_profile]
impl Own {
    fn drop(&self) -> &Self {
        self
    }

    fn span(self, span: ::core::primitive::u8) -> ::core::primitive::u8 {
        span
    }
}

fn scopes() {
    ::gpuprof::scope!("outer");
    let __gpuprof_scope = 1;
    ::gpuprof::scope!("inner");
    let _ = __gpuprof_scope;
}

pub fn main() {
    ::core::assert_eq!(plain(1, 2), 3);
    ::core::mem::drop(later(1));
    let _ = generic(1, &2, &mut 3, 4);
    let _ = uses_the_callers_names();
    Own.drop();
    ::core::assert_eq!(Own.span(1), 1);
    scopes();
}
