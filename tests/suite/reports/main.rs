//! Promise: settings, report files, findings and printed text are as documented.

mod examples;
mod findings;
mod host_findings;
mod hostile_text;
mod missing_streams;
mod outputs;
mod report_files;
mod row_marks;
mod settings;
mod streamless_runs;
mod throttling;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        examples::MODULE,
        outputs::MODULE,
        report_files::MODULE,
        row_marks::MODULE,
        missing_streams::MODULE,
        findings::MODULE,
        host_findings::MODULE,
        hostile_text::MODULE,
        settings::MODULE,
        streamless_runs::MODULE,
        throttling::MODULE,
    ])
}
