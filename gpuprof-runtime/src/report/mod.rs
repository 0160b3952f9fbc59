//! Outputs: each is a function of a [`Profile`](crate::profile::Profile).
