//! What the simulated driver and the simulated libcupti share: how a built library is found and
//! loaded and controlled, the failures that a test requests, the call records that the simulated
//! driver passes to its watcher, and CUPTI's callback ids (cbids).
//!
//! A separate crate because both libraries export C symbols: if one depended on the other, it would
//! export the other's symbols too.

pub mod activity;
pub mod cbid;
pub mod control;
pub mod library;
pub mod requested_failures;
