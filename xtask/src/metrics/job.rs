//! Two ranks of a job, which serve requests as they are told.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::http;

/// The labels of the functions that each request calls once.
pub(super) const FUNCTIONS: [&str; 2] = ["request", "prepare"];

pub(super) struct Job {
    ranks: Vec<Rank>,
    /// Where each rank is scraped.
    pub(super) ports: Vec<u16>,
}

struct Rank {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Job {
    /// # Errors
    /// A text for the user.
    pub(super) fn start(program: &Path, folder: &Path) -> Result<Self, String> {
        let ports = vec![http::free_port()?, http::free_port()?];
        let ranks = ports.iter().enumerate().map(|(rank, port)| {
            let shown = program.display();
            let mut child = Command::new(program)
                .env("RANK", rank.to_string())
                .env("WORLD_SIZE", "2")
                .env("GPUPROF_SAMPLE", "1")
                .env(
                    "GPUPROF_METRICS",
                    format!(
                        "listen=127.0.0.1:{port},prometheus={}",
                        folder.join("rank{rank}.prom").display()
                    ),
                )
                .env(
                    "GPUPROF_REPORT",
                    format!("json={}", folder.join("report-{rank}.json").display()),
                )
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|error| format!("cannot start {shown}: {error}"))?;
            let (input, output) = (child.stdin.take(), child.stdout.take());
            let output = output.ok_or_else(|| format!("{shown} has no output"))?;
            Ok(Rank {
                child,
                input,
                output: BufReader::new(output),
            })
        });
        Ok(Self {
            ranks: ranks.collect::<Result<_, String>>()?,
            ports,
        })
    }

    /// The id of a rank's process.
    pub(super) fn process(&self, rank: usize) -> u32 {
        self.ranks[rank].child.id()
    }

    /// Has each rank serve so many requests, and waits until their GPU times are read.
    ///
    /// # Errors
    /// A text for the user.
    pub(super) fn serve(&mut self, requests: u64) -> Result<(), String> {
        self.tell(&requests.to_string())
    }

    /// Sends each rank a line and waits for its answer.
    ///
    /// # Errors
    /// A text for the user.
    pub(super) fn tell(&mut self, line: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("a rank ended early: {error}");
        for rank in &mut self.ranks {
            let input = rank.input.as_mut().ok_or("a rank has ended")?;
            writeln!(input, "{line}").map_err(failed)?;
        }
        for rank in &mut self.ranks {
            let mut line = String::new();
            rank.output.read_line(&mut line).map_err(failed)?;
            if !line.starts_with("served ") {
                return Err(format!("a rank ended early: {line:?}"));
            }
        }
        Ok(())
    }

    /// Ends both ranks, which write their files.
    ///
    /// # Errors
    /// A text for the user.
    pub(super) fn end(mut self) -> Result<(), String> {
        for rank in &mut self.ranks {
            rank.input = None;
            let status = rank.child.wait();
            let status = status.map_err(|error| format!("cannot wait for a rank: {error}"))?;
            if !status.success() {
                return Err(format!("a rank ended with {status}"));
            }
        }
        Ok(())
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        // Both fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
