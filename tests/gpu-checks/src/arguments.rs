//! The command line, as data. Must never import: anything that runs.

use std::path::PathBuf;

use crate::check::World;

pub(crate) const HELP: &str = "\
gpu-checks [OPTION]...    make every check and run the examples, each in a process of its own
gpu-checks list           the checks and what they hold
gpu-checks check NAME     make one check in this process; its rows are the last
                          line of standard output
gpu-checks machine        what the driver has, as JSON

  --out DIR       write gpu-pack.json, gpu-pack.md and examples.txt there
  --only NAME     this check alone; may be given several times; `examples` are the examples
  --skip NAME     all but this one; may be given several times
  --short         as little as shows that the checks work; nothing of it is a measurement
  --simulated     on the simulated device; without it a machine without a GPU is a failure

The exit status is 0 where everything is as wanted.";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Run(Run),
    List,
    Help,
    Check(String, World),
    Machine(World),
    /// A program that a check runs: ends in its own way.
    Play(String, World),
}

/// A whole run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) world: World,
    pub(crate) out: Option<PathBuf>,
    /// Nothing means everything.
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
}

/// Reads the arguments that follow the program's name.
///
/// # Errors
/// A text for the user: what cannot be used, and what can.
pub(crate) fn parse(arguments: &[String]) -> Result<Command, String> {
    let mut run = Run {
        world: World {
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
            "--short" => run.world.short = true,
            "--simulated" => run.world.simulated = true,
            "--help" | "-h" => words = vec!["help"],
            word if !word.starts_with('-') => words.push(word),
            _ => return Err(format!("cannot use `{argument}`\n\n{HELP}")),
        }
    }
    match words[..] {
        [] => Ok(Command::Run(run)),
        ["list"] => Ok(Command::List),
        ["help", ..] => Ok(Command::Help),
        ["machine"] => Ok(Command::Machine(run.world)),
        ["check", name] => Ok(Command::Check(name.into(), run.world)),
        ["play", name] => Ok(Command::Play(name.into(), run.world)),
        _ => Err(format!("cannot use `{}`\n\n{HELP}", words.join(" "))),
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
        assert!(run.world.short && !run.world.simulated);
        assert_eq!(run.out, Some("o".into()));
    }

    #[test]
    fn one_check_can_be_made_alone() {
        let world = World {
            simulated: true,
            short: false,
        };
        assert_eq!(
            parsed("check capture --simulated"),
            Ok(Command::Check("capture".into(), world))
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
