//! Promise: the attribute accepts the same functions switched off as when it measures, and their
//! behaviour is unchanged.

// The files are also programs of their own, where all items are public or private.
#![allow(unreachable_pub)]

#[path = "../../suite/ui/pass/asynchronous.rs"]
mod asynchronous;
#[path = "../../suite/ui/pass/containers.rs"]
mod containers;
#[path = "../../suite/ui/pass/functions.rs"]
mod functions;
#[path = "../../suite/ui/pass/methods.rs"]
mod methods;
#[path = "../../suite/ui/pass/patterns.rs"]
mod patterns;

#[test]
fn functions_do_what_they_did() {
    functions::main();
}

#[test]
fn methods_do_what_they_did() {
    methods::main();
}

#[test]
fn patterns_bind_what_they_bound() {
    patterns::main();
}

#[test]
fn futures_give_what_they_gave() {
    asynchronous::main();
}

#[test]
fn blocks_do_what_they_did() {
    containers::main();
}
