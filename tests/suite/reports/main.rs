//! Promise: settings, report files, findings and printed text are as documented.

mod examples;
mod files;
mod findings;
mod hostile_text;
mod settings;
mod throttling;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        examples::MODULE,
        files::MODULE,
        findings::MODULE,
        hostile_text::MODULE,
        settings::MODULE,
        throttling::MODULE,
    ])
}
