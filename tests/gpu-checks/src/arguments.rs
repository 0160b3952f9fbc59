//! The command line, parsed into plain data.

use std::path::PathBuf;

use crate::check::RunMode;

pub(crate) const HELP: &str = "\
gpu-checks [OPTION]...    run every check and example, each in a process of its own
gpu-checks list           list the checks and their promises
gpu-checks check NAME     run one check in this process; the last line of output is its rows
gpu-checks machine        print driver, device and host as JSON

  --out DIR       write gpu-pack.json, gpu-pack.md and examples.txt into DIR
  --only NAME     run only this check; repeatable; `examples` selects the examples
  --skip NAME     skip this check; repeatable
  --short         the smallest counts that show that the checks work; no measurements
  --simulated     run on the simulated device; otherwise a missing GPU is a failure

The exit status is 0 if no row fails.";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Run(Run),
    List,
    Help,
    Check(String, RunMode),
    Machine(RunMode),
    /// Runs a test program of a check, which may end in any way.
    Program(String, RunMode),
}

/// A run of several checks, each in its own process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) run_mode: RunMode,
    pub(crate) out: Option<PathBuf>,
    /// Empty selects every check.
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
}

/// Reads the arguments that follow the program's name.
///
/// # Errors
/// A message for the user: the argument that is not accepted, and the help.
pub(crate) fn parse(arguments: &[String]) -> Result<Command, String> {
    let mut run = Run {
        run_mode: RunMode {
            simulated: false,
            short: false,
        },
        out: None,
        only: Vec::new(),
        skip: Vec::new(),
    };
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            let value = rest.next().cloned();
            value.ok_or_else(|| format!("{argument} needs a value\n\n{HELP}"))
        };
        match argument.as_str() {
            "--out" => run.out = Some(value()?.into()),
            "--only" => run.only.push(value()?),
            "--skip" => run.skip.push(value()?),
            "--short" => run.run_mode.short = true,
            "--simulated" => run.run_mode.simulated = true,
            "--help" | "-h" => words = vec!["help"],
            word if !word.starts_with('-') => words.push(word),
            _ => return Err(format!("unknown argument `{argument}`\n\n{HELP}")),
        }
    }
    match words[..] {
        [] => Ok(Command::Run(run)),
        ["list"] => Ok(Command::List),
        ["help", ..] => Ok(Command::Help),
        ["machine"] => Ok(Command::Machine(run.run_mode)),
        ["check", name] => Ok(Command::Check(name.into(), run.run_mode)),
        ["program", name] => Ok(Command::Program(name.into(), run.run_mode)),
        _ => Err(format!("unknown command `{}`\n\n{HELP}", words.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        let words: Vec<_> = line.split_whitespace().map(String::from).collect();
        parse(&words)
    }

    #[test]
    fn a_run_takes_its_options_in_any_order() {
        let Ok(Command::Run(run)) = parsed("--only a --short --out o --only b --skip c") else {
            panic!("a run");
        };
        assert_eq!(
            (run.only, run.skip),
            (vec!["a".into(), "b".into()], vec!["c".into()])
        );
        assert!(run.run_mode.short && !run.run_mode.simulated);
        assert_eq!(run.out, Some("o".into()));
    }

    #[test]
    fn one_check_can_be_made_alone() {
        let run_mode = RunMode {
            simulated: true,
            short: false,
        };
        assert_eq!(
            parsed("check capture --simulated"),
            Ok(Command::Check("capture".into(), run_mode))
        );
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (line, named) in [
            ("--shrot", "`--shrot`"),
            ("chek a", "`chek a`"),
            ("--out", "--out"),
        ] {
            let error = parsed(line).expect_err("wrong");
            assert!(error.contains(named) && error.contains("gpu-checks list"));
        }
    }
}
