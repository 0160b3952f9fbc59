//! `cargo xtask nsys`: Nsight Systems, unpacked into the target folder, and what it must see of gpuprof.
//!
//! Why NVIDIA's own tool and not only our recorder (`tests/nvtx-recorder`): users look at its reports, and it
//! interprets what it receives. Why unpacked: installing its packages drags NVIDIA driver libraries in and can break a
//! machine that has NVIDIA's own. Must never import: test, demo, sim, ptx.

mod calls;
mod checks;
mod export;
mod ranges;
mod sources;
mod tool;
mod unpack;

use std::env;

pub(crate) use checks::{Checked, check};
use tool::Nsys;

use crate::needs::{self, Need};
use crate::workspace::Workspace;

const USAGE: &str = "usage: cargo xtask nsys [setup | test | profile PROGRAM [ARG]...]";

/// Unpacks Nsight Systems; then holds its reports against gpuprof's, or profiles a program.
///
/// # Errors
/// A text for the user: a wrong argument, why Nsight Systems cannot be had, or what did not hold.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["setup"] => {
            let workspace = Workspace::load()?;
            println!("{}", unpack::ensure(&workspace.target)?.nsys.display());
            Ok(())
        }
        ["test"] => test(),
        ["profile", program, rest @ ..] if !program.starts_with('-') => profile(program, rest),
        _ => Err(USAGE.into()),
    }
}

fn test() -> Result<(), String> {
    needs::ensure(&[Need::CCompiler, Need::Libclang])?;
    let mut failed = 0;
    match check(&Workspace::load()?)? {
        Checked::Untested(why) => return Err(why),
        Checked::Programs(programs) => {
            for (what, result) in programs {
                match result {
                    Ok(seen) => println!("{what}: {seen}"),
                    Err(error) => {
                        failed += 1;
                        println!("FAILED: {what}: {error}");
                    }
                }
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err("Nsight Systems does not see what gpuprof reports".into()),
    }
}

/// Records the ranges of a program into `PROGRAM.nsys-rep` in the current folder and prints their summary.
fn profile(program: &str, arguments: &[&str]) -> Result<(), String> {
    let workspace = Workspace::load()?;
    let nsys = Nsys::new(unpack::ensure(&workspace.target)?);
    let stem = program.rsplit('/').next().unwrap_or(program);
    let here =
        env::current_dir().map_err(|error| format!("there is no current folder: {error}"))?;
    let report = nsys.profile_on_terminal(program, arguments, &here.join(stem))?;
    nsys.summary(&report)?;
    println!("open it with: nsys-ui {}", report.display());
    Ok(())
}
