//! Samples of program counters compared with Nsight Compute's, kernel by kernel of limits.cu.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gpuprof::Profile;
use gpuprof::profile::{KernelStalls, Stalls};
use serde::Deserialize;

use super::cuda_source::{self, Profiled};
use super::nsight_tools;
use crate::check::{Row, RunMode, Verdict};
use crate::checks::installed;
use crate::process;
use crate::statistics::time;

/// Nsight Compute repeats each launch.
const LIMIT: Duration = Duration::from_secs(180);
/// Reads a report of Nsight Compute.
const READER: &str = "ncu_stalls.py";
/// Launches of each kernel under gpuprof; Nsight Compute has one.
const LAUNCHES: &str = "30";
/// Those of a run of half a minute, in which the device is idle between two kernels alone.
const MANY_LAUNCHES: &str = "1500";

/// Of the kernels, at least so many have the same reason, its share, and the same line.
const SAME_REASON: usize = 15;
const NEAR_SHARE: usize = 14;
const SAME_LINE: usize = 14;
/// Accepted difference of shares, of 1.
const NEAR: f64 = 0.05;

/// Kernels of regular loops, whose shares depend on the interval, and Nsight Compute's intervals
/// for which they are shown: 2^(5 + n) cycles.
const BY_INTERVAL: [&str; 3] = ["conv_single", "fp64_loop", "divergent"];
const INTERVALS: [u32; 4] = [0, 4, 7, 9];
/// Reasons that are shown of each.
const REASONS: usize = 4;

/// What [`READER`] prints.
#[derive(Debug, Deserialize)]
struct Report {
    kernels: Vec<Kernel>,
    problems: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Kernel {
    kernel: String,
    samples: u64,
    reasons: BTreeMap<String, u64>,
    /// The line with the most samples first.
    lines: Vec<Line>,
    settings: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
struct Line {
    file: String,
    line: u32,
    samples: u64,
}

impl From<&KernelStalls> for Kernel {
    fn from(stalls: &KernelStalls) -> Self {
        let reasons = stalls.reasons.iter();
        let lines = stalls.lines.iter().map(|of| {
            let name = Path::new(&of.file).file_name().unwrap_or_default();
            Line {
                file: name.to_string_lossy().into_owned(),
                line: of.line,
                samples: of.samples,
            }
        });
        Self {
            kernel: nsight_tools::short_name(&stalls.name).to_owned(),
            samples: stalls.samples,
            reasons: reasons.map(|of| (of.reason.clone(), of.samples)).collect(),
            lines: lines.collect(),
            settings: BTreeMap::new(),
        }
    }
}

impl Kernel {
    fn share(&self, samples: u64) -> f64 {
        samples as f64 / self.samples.max(1) as f64
    }

    fn share_of(&self, reason: &str) -> f64 {
        self.share(self.reasons.get(reason).copied().unwrap_or_default())
    }

    /// The reasons, the most frequent one first.
    fn by_samples(&self) -> Vec<(&str, f64)> {
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, samples)| std::cmp::Reverse(**samples));
        let shares = reasons.into_iter();
        shares
            .map(|(reason, samples)| (reason.as_str(), self.share(*samples)))
            .collect()
    }

    fn most(&self) -> (&str, f64) {
        self.by_samples()
            .first()
            .copied()
            .unwrap_or(("no samples", 0.0))
    }

    fn hottest(&self) -> Option<(&str, u32)> {
        let line = self.lines.first()?;
        Some((line.file.as_str(), line.line))
    }

    /// The most frequent reason and the line with the most samples, with their shares.
    fn shown(&self) -> String {
        let (reason, share) = self.most();
        let mut text = format!("{reason} {:.1} %", 100.0 * share);
        if let Some(line) = self.lines.first() {
            let share = 100.0 * self.share(line.samples);
            // Writing to a `String` cannot fail.
            let _ = write!(text, ", {}:{} {share:.1} %", line.file, line.line);
        }
        text
    }

    fn reasons_shown(&self) -> String {
        let shares = self.by_samples().into_iter().take(REASONS);
        let shares = shares.map(|(reason, share)| format!("{reason} {:.1}", 100.0 * share));
        let shares: Vec<_> = shares.collect();
        format!("{} % of {} samples", shares.join(", "), self.samples)
    }
}

pub(super) fn run(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let what = "samples beside Nsight Compute's";
    let (options, arguments) = (&["--stalls"], [OsStr::new(LAUNCHES)]);
    let profiled = cuda_source::profiled("limits", what, options, &arguments, LIMIT, run_mode)?;
    let Profiled {
        installed,
        program,
        profile,
    } = match profiled {
        Ok(profiled) => profiled,
        Err(row) => return Ok(vec![row]),
    };
    let Some(stalls) = &profile.stalls else {
        return Ok(vec![Row::unavailable(
            what,
            profile.diagnostics.notes.join("; "),
        )]);
    };
    let mut rows = vec![Row::info("gpuprof's samples", sampling(&profile, stalls))];
    let arguments = [OsStr::new(MANY_LAUNCHES)];
    let (_, busy) = installed.profile(&["--stalls"], &program, &arguments, LIMIT, run_mode)?;
    if let Some(stalls) = &busy.stalls {
        let what = "gpuprof's samples of a device that is hardly ever idle";
        let (sampled, wall) = (time(stalls.sampled_ns as f64), time(busy.wall_ns as f64));
        let samples = sampling(&busy, stalls);
        rows.push(Row::info(
            what,
            format!("{samples}; in {sampled} of {wall}"),
        ));
    }
    let Some(ncu) = nsight_tools::find("ncu") else {
        rows.push(Row::unavailable(what, "there is no ncu here"));
        return Ok(rows);
    };
    let ncu = Ncu {
        ncu,
        program,
        folder: installed.folder().to_owned(),
    };
    let ours: Vec<_> = stalls.kernels.iter().map(Kernel::from).collect();
    let sections = ["--section", "WarpStateStats", "--import-source", "yes"];
    let theirs = ncu.sampled(&sections)?;
    rows.extend(problems(&theirs));
    rows.extend(compared(&ours, &theirs.kernels));
    rows.extend(by_interval(&ours, stalls.period_cycles, &ncu));
    Ok(rows)
}

fn sampling(profile: &Profile, stalls: &Stalls) -> String {
    format!(
        "{} every {} cycles, {} dropped, {} in code that CUPTI does not name; notes: {:?}",
        stalls.samples,
        stalls.period_cycles,
        stalls.dropped_samples,
        stalls.other_samples,
        profile.diagnostics.notes
    )
}

struct Ncu {
    ncu: PathBuf,
    program: PathBuf,
    /// For its report.
    folder: PathBuf,
}

impl Ncu {
    /// One launch of each kernel.
    fn sampled(&self, options: &[&str]) -> Result<Report, String> {
        let mut plain = Command::new(&self.program);
        process::clear_settings(&mut plain);
        plain.arg("1");
        let report = self.folder.join("sampled");
        let tool = nsight_tools::sampled_by_ncu(&self.ncu, &plain, &report, options);
        let ended = process::run(tool, LIMIT).map_err(|error| error.to_string())?;
        if let Some(trouble) = ended.failure() {
            return Err(format!("ncu: {trouble}: {}{}", ended.stdout, ended.tail()));
        }
        let mut reader = Command::new("python3");
        reader.arg(installed::pack()?.join(READER));
        reader
            .arg(report.with_extension("ncu-rep"))
            .env("NCU", &self.ncu);
        let read =
            process::finished(reader, LIMIT).map_err(|error| format!("{READER}: {error}"))?;
        serde_json::from_str(&read.stdout).map_err(|error| format!("{error}: {}", read.stdout))
    }
}

/// What could not be read, and how Nsight Compute sampled.
fn problems(report: &Report) -> Vec<Row> {
    let settings = report.kernels.first().map(|kernel| &kernel.settings);
    let mut rows = vec![Row::info(
        "Nsight Compute's samples",
        format!("{:?}", settings.unwrap_or(&BTreeMap::new())),
    )];
    if !report.problems.is_empty() {
        rows.push(Row::info(READER, report.problems.join("; ")));
    }
    rows
}

/// One row for each kernel of Nsight Compute, and the numbers of those that agree.
fn compared(ours: &[Kernel], theirs: &[Kernel]) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut reasons, mut shares, mut lines) = (0, 0, 0);
    for their in theirs {
        let empty = Kernel::default();
        let our = ours.iter().find(|our| our.kernel == their.kernel);
        let our = our.unwrap_or(&empty);
        let (reason, share) = our.most();
        reasons += usize::from(reason == their.most().0);
        shares += usize::from((share - their.share_of(reason)).abs() <= NEAR && share > 0.0);
        lines += usize::from(our.hottest().is_some() && our.hottest() == their.hottest());
        rows.push(Row {
            what: format!("{}: reason and line", their.kernel),
            measured: our.shown(),
            wanted: format!("Nsight Compute: {}", their.shown()),
            verdict: Verdict::Info,
        });
    }
    let all = theirs.len();
    for (what, agree, least) in [
        (
            "kernels with the same most frequent reason",
            reasons,
            SAME_REASON,
        ),
        (
            "kernels whose reason has a share within 5 points",
            shares,
            NEAR_SHARE,
        ),
        (
            "kernels with the same line with the most samples",
            lines,
            SAME_LINE,
        ),
    ] {
        let wanted = format!("at least {least}");
        rows.push(Row::judged(
            what,
            format!("{agree} of {all}"),
            wanted,
            agree >= least,
        ));
    }
    rows
}

/// The reasons of a few kernels by Nsight Compute's interval: where they depend on it, the samples
/// come in step with the kernel's loop.
fn by_interval(ours: &[Kernel], period_cycles: u64, ncu: &Ncu) -> Vec<Row> {
    let mut rows = Vec::new();
    for name in BY_INTERVAL {
        let our = ours.iter().find(|our| our.kernel == name);
        let what = format!("{name}: gpuprof, every {period_cycles} cycles");
        rows.push(Row::info(
            what,
            our.map_or("no samples".into(), Kernel::reasons_shown),
        ));
    }
    let names = format!("regex:^({})$", BY_INTERVAL.join("|"));
    for interval in INTERVALS {
        let number = interval.to_string();
        let what = format!("Nsight Compute, every {} cycles", 1 << (5 + interval));
        match ncu.sampled(&["--kernel-name", &names, "--warp-sampling-interval", &number]) {
            Ok(report) => rows.extend(report.kernels.iter().map(|kernel| {
                Row::info(format!("{}: {what}", kernel.kernel), kernel.reasons_shown())
            })),
            Err(why) => rows.push(Row::unavailable(what, why)),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(reasons: &[(&str, u64)], line: u32) -> Kernel {
        let samples = reasons.iter().map(|(_, samples)| samples).sum();
        Kernel {
            kernel: "copy".into(),
            samples,
            reasons: reasons
                .iter()
                .map(|(name, of)| ((*name).to_owned(), *of))
                .collect(),
            lines: vec![Line {
                file: "limits.cu".into(),
                line,
                samples,
            }],
            settings: BTreeMap::new(),
        }
    }

    #[test]
    fn reasons_shares_and_lines_are_counted_apart() {
        let theirs = [kernel(&[("wait", 60), ("selected", 40)], 7)];
        let agree = |ours: &[Kernel]| {
            let rows = compared(ours, &theirs);
            let counts = rows[1..].iter().map(|row| row.measured.clone());
            counts.collect::<Vec<_>>()
        };
        let same = kernel(&[("wait", 56), ("selected", 44)], 7);
        assert_eq!(agree(&[same]), ["1 of 1", "1 of 1", "1 of 1"]);
        let far = kernel(&[("wait", 66), ("selected", 34)], 8);
        assert_eq!(agree(&[far]), ["1 of 1", "0 of 1", "0 of 1"]);
        let other = kernel(&[("wait", 58), ("selected", 42)], 7);
        let other = Kernel {
            kernel: "sum".into(),
            ..other
        };
        assert_eq!(agree(&[other]), ["0 of 1", "0 of 1", "0 of 1"]);
        let reason = kernel(&[("wait", 48), ("selected", 52)], 7);
        assert_eq!(agree(&[reason]), ["0 of 1", "0 of 1", "1 of 1"]);
        assert!(
            compared(&[], &theirs)[1..]
                .iter()
                .all(|row| row.verdict == Verdict::Fail)
        );
    }

    #[test]
    fn kernels_and_files_have_their_short_names() {
        let mut stalls = KernelStalls::default();
        stalls.name = "void copy<float4>(float4 const*, float4*, unsigned long)".into();
        let mut line = gpuprof::profile::StallLine::default();
        (line.file, line.line) = ("/tmp/pack/limits.cu".into(), 19);
        stalls.lines.push(line);
        let kernel = Kernel::from(&stalls);
        assert_eq!(kernel.kernel, "copy");
        assert_eq!(kernel.hottest(), Some(("limits.cu", 19)));
    }

    #[test]
    fn what_the_reader_prints_is_read() {
        let text = r#"{"kernels": [{"kernel": "copy", "samples": 7, "reasons": {"wait": 7},
            "lines": [{"file": "limits.cu", "line": 19, "samples": 6}],
            "settings": {"smsp__pcsamp_interval": "4"}}], "problems": []}"#;
        let report: Report = serde_json::from_str(text).expect("a report");
        let [kernel] = &report.kernels[..] else {
            panic!("one kernel");
        };
        assert_eq!(kernel.shown(), "wait 100.0 %, limits.cu:19 85.7 %");
        assert_eq!(kernel.reasons_shown(), "wait 100.0 % of 7 samples");
    }
}
