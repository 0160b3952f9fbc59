//! What Nsight Systems must see of gpuprof: the part of `cargo xtask test` that needs the real tool.
//!
//! Every example, and the program of `tests/suite/nvtx`, runs once under nsys; its report is held against gpuprof's JSON of
//! that same run. Must never import: test.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::calls::Calls;
use super::export::{Range, Report, Style};
use super::ranges;
use super::tool::Nsys;
use super::unpack;
use crate::workspace::{self, Workspace};

/// What came of it: for each check its name and what was seen, or what is wrong.
pub(crate) enum Checked {
    Programs(Vec<(String, Result<String, String>)>),
    /// Nsight Systems cannot be had on this machine.
    Untested(String),
}

/// The program of `tests/suite/nvtx` takes its scenario from here.
const SCENARIO: &str = "GPUPROF_TEST_SCENARIO";

/// Name, colour (ARGB), category, payload.
type Attributes<'a> = (&'a str, Option<u64>, Option<&'a str>, Option<&'a str>);

/// What the scenario `attributes` of `tests/suite/nvtx` says, in nsys's words.
const ATTRIBUTES: [Attributes<'_>; 8] = [
    (
        "green",
        Some(0xff76_b900),
        Some("forward"),
        Some("UInt64Value 18446744073709551615"),
    ),
    (
        "forward",
        None,
        Some("forward"),
        Some("Int64Value -9223372036854775808"),
    ),
    ("backward", None, Some("вперёд"), Some("Int32Value -1")),
    ("double", None, None, Some("DoubleValue 0.1")),
    ("single", None, None, Some("FloatValue 0.1")),
    ("truth", None, None, Some("UInt32Value 1")),
    ("length", None, None, Some("UInt64Value 4")),
    ("畳み込み/naïve 🙂", None, None, None),
];

/// Runs all checks.
///
/// # Errors
/// A text for the user: the programs do not build.
pub(crate) fn check(workspace: &Workspace) -> Result<Checked, String> {
    let unpacked = match unpack::ensure(&workspace.target) {
        Ok(unpacked) => unpacked,
        Err(why) => return Ok(Checked::Untested(why)),
    };
    let nsys = Nsys::new(unpacked);
    let programs = Programs::build()?;
    let mut checked: Vec<_> = workspace
        .examples
        .iter()
        .map(|name| {
            let result = programs
                .path("example", name)
                .and_then(|path| same_calls(&nsys, path, name, &[]));
            (format!("nsys: {name}"), result)
        })
        .collect();
    let nvtx = programs.path("test", "nvtx")?;
    for scenario in ["calls", "async"] {
        let environment = [(SCENARIO, scenario)];
        let result = same_calls(&nsys, nvtx, &format!("nvtx-{scenario}"), &environment);
        checked.push((format!("nsys: tests/nvtx.rs, {scenario}"), result));
    }
    checked.push((
        "nsys: colours, categories, payloads".into(),
        attributes(&nsys, nvtx),
    ));
    checked.push(("nsys: a capture range by name".into(), capture(&nsys, nvtx)));
    Ok(Checked::Programs(checked))
}

/// One run: nsys's ranges are the calls of gpuprof's JSON, and nsys has nothing to complain of.
fn same_calls(
    nsys: &Nsys,
    program: &Path,
    name: &str,
    environment: &[(&str, &str)],
) -> Result<String, String> {
    let json = nsys.report_path(name).with_extension("profile.json");
    let setting = format!("json={}", json.display());
    let environment = [environment, &[("GPUPROF_REPORT", setting.as_str())]].concat();
    let report = run(nsys, program, name, &environment, &[])?;
    let text = fs::read_to_string(&json).map_err(|error| format!("{}: {error}", json.display()))?;
    let calls = Calls::read(&text)?;
    if calls.count() == 0 {
        return Err("gpuprof reports no call".into());
    }
    let chains = ranges::chains(&report.ranges)?;
    calls
        .compare(&chains, &ranges::started(&report.ranges))
        .map_err(|lines| format!("gpuprof's JSON and nsys's report differ\n  {lines}"))?;
    unharmed(&report)?;
    Ok(format!(
        "{} ranges, {} chains of callers, as gpuprof's JSON has them",
        report.ranges.len(),
        chains.len()
    ))
}

/// nsys has lost nothing and met no error.
fn unharmed(report: &Report) -> Result<(), String> {
    let mut complaints = report.remarks.iter().filter(|remark| {
        // A warning may be about the machine, such as a kernel setting; one about NVTX is about us.
        remark.level == "Error" || (remark.level == "Warning" && remark.text.contains("NVTX"))
    });
    match complaints.next() {
        None => Ok(()),
        Some(remark) => Err(format!("nsys says: {}: {}", remark.level, remark.text)),
    }
}

fn attributes(nsys: &Nsys, nvtx: &Path) -> Result<String, String> {
    let environment = [(SCENARIO, "attributes"), ("GPUPROF_REPORT", "none")];
    let report = run(nsys, nvtx, "nvtx-attributes", &environment, &[])?;
    unharmed(&report)?;
    let said: Vec<_> = report.ranges.iter().map(attributes_of).collect();
    if said == ATTRIBUTES {
        Ok(format!("{} ranges, as the attribute says", said.len()))
    } else {
        Err(format!(
            "the attribute says\n  {ATTRIBUTES:?}\nnsys has\n  {said:?}"
        ))
    }
}

fn attributes_of(range: &Range) -> Attributes<'_> {
    let (category, payload) = (range.category.as_deref(), range.payload.as_deref());
    (&range.name, range.color, category, payload)
}

/// A capture range named by a function's name records that call and nothing before or after it. gpuprof's names are
/// registered strings, the only ones that nsys compares unless NSYS_NVTX_PROFILER_REGISTER_ONLY=0 is set.
fn capture(nsys: &Nsys, nvtx: &Path) -> Result<String, String> {
    let environment = [(SCENARIO, "calls"), ("GPUPROF_REPORT", "none")];
    let options = [
        "--capture-range=nvtx",
        "--nvtx-capture=fails@gpuprof",
        "--capture-range-end=stop",
    ];
    let report = run(nsys, nvtx, "nvtx-capture", &environment, &options)?;
    let chains = ranges::chains(&report.ranges)?;
    let own = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = ranges::Chains::from([(own(&["fails"]), 1), (own(&["fails", "inner"]), 1)]);
    if chains == expected
        && report
            .ranges
            .iter()
            .all(|range| range.style == Style::PushPop)
    {
        Ok("one call and what it calls".into())
    } else {
        Err(format!("expected {expected:?}, captured {chains:?}"))
    }
}

fn run(
    nsys: &Nsys,
    program: &Path,
    name: &str,
    environment: &[(&str, &str)],
    options: &[&str],
) -> Result<Report, String> {
    let report =
        Report::read(&nsys.export(program, environment, options, &nsys.report_path(name))?)?;
    match report.elsewhere {
        0 => Ok(report),
        more => Err(format!("{more} ranges outside the domain gpuprof")),
    }
}

/// The built programs.
struct Programs(Vec<Value>);

impl Programs {
    /// Builds them as the tests were built, so that after those nothing is left to do.
    fn build() -> Result<Programs, String> {
        // Not both by `cargo test`: asked for examples by name, it builds them as tests of themselves.
        let examples = ["build", "--examples"];
        let nvtx = ["test", "--no-run", "--test", "nvtx"];
        let mut messages = Self::built(&examples)?;
        messages.extend(Self::built(&nvtx)?);
        Ok(Programs(messages))
    }

    fn built(arguments: &[&str]) -> Result<Vec<Value>, String> {
        let mut command = workspace::cargo(arguments.iter().copied());
        command.args(["--workspace", "--exclude", "switched-off"]);
        command.arg("--message-format=json");
        workspace::neutral(&mut command);
        let shown = workspace::shown(&command);
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cannot run cargo: {error}"))?;
        if !output.status.success() {
            return Err(format!("`{shown}` failed ({})", output.status));
        }
        let lines = String::from_utf8_lossy(&output.stdout);
        let messages = lines.lines().map(serde_json::from_str);
        messages
            .collect::<Result<_, _>>()
            .map_err(|error| format!("cargo's messages: {error}"))
    }

    fn path(&self, kind: &str, name: &str) -> Result<&Path, String> {
        let mut messages = self.0.iter().filter(|message| {
            message["target"]["kind"][0] == kind && message["target"]["name"] == name
        });
        let path = messages.find_map(|message| message["executable"].as_str());
        path.map(Path::new)
            .ok_or_else(|| format!("cargo built no {kind} {name}"))
    }
}
