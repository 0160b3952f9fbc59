//! The facts of this process: program, machine, rank.

use std::borrow::Cow;

use crate::os;
use gpuprof_report::profile::{MetaPair, Profile, limit_meta, parse_meta, set_meta};
use gpuprof_report::variables;

/// Variables in which launchers set the rank of a process, in the order in which they are read.
const RANK_VARIABLES: [&str; 4] = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The same of the number of ranks.
const SIZE_VARIABLES: [&str; 4] = [
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "SLURM_NTASKS",
];

/// Variables in which CI systems set the commit. git is never run.
const COMMIT_VARIABLES: [&str; 2] = ["GITHUB_SHA", "CI_COMMIT_SHA"];

/// Adds them to a profile.
pub(crate) fn add_to(profile: &mut Profile) {
    profile.program = program();
    profile.pid = std::process::id();
    profile.host = os::host_name();
    profile.rank = rank();
    let args = std::env::args_os().skip(1);
    let args = args.map(|arg| quoted(&arg.to_string_lossy()).into_owned());
    let args: Vec<String> = args.collect();
    profile.meta = meta(&args.join(" "), |name| std::env::var(name).ok());
}

/// The arguments and the commit, and what GPUPROF_META says instead of them and beside them.
fn meta(args: &str, variable: impl Fn(&str) -> Option<String>) -> Vec<MetaPair> {
    let commit = COMMIT_VARIABLES.iter().find_map(|name| variable(name));
    let mut pairs = vec![
        MetaPair::new("commit", commit.unwrap_or_default().trim()),
        MetaPair::new("args", args),
    ];
    let stated = variable(variables::META).and_then(|text| parse_meta(text.trim()));
    let stated = stated.unwrap_or_default().into_iter();
    stated.for_each(|pair| set_meta(&mut pairs, pair));
    limit_meta(&mut pairs);
    pairs
}

/// An argument as a POSIX shell reads it back.
fn quoted(arg: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=+./,:@%^".contains(c);
    match !arg.is_empty() && arg.chars().all(is_plain) {
        true => Cow::Borrowed(arg),
        false => Cow::Owned(format!("'{}'", arg.replace('\'', r"'\''"))),
    }
}

/// The program's file name.
pub(crate) fn program() -> String {
    let exe = std::env::current_exe()
        .ok()
        .or_else(|| std::env::args_os().next().map(Into::into));
    exe.and_then(|exe| Some(exe.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "program".to_owned())
}

/// The rank of the process in its job.
pub(crate) fn rank() -> Option<u32> {
    first_number(&RANK_VARIABLES)
}

/// The ranks of the job.
pub(crate) fn ranks() -> Option<u32> {
    first_number(&SIZE_VARIABLES)
}

fn first_number(variables: &[&str]) -> Option<u32> {
    variables
        .iter()
        .find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{meta, quoted};

    fn pairs(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let variable = |wanted: &str| {
            let mut found = variables.iter().filter(|(name, _)| *name == wanted);
            found.next().map(|(_, value)| (*value).to_owned())
        };
        let meta = meta("--epochs 3", variable).into_iter();
        meta.map(|pair| (pair.key, pair.value)).collect()
    }

    #[test]
    fn what_is_stated_goes_before_what_is_found() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(pairs(&[]), [pair("args", "--epochs 3")]);
        assert_eq!(
            pairs(&[
                ("CI_COMMIT_SHA", "1f2e3d4"),
                ("GPUPROF_META", "gpu clock=1980")
            ]),
            [pair("commit", "1f2e3d4"), pair("args", "--epochs 3")],
            "a wrong value counts as none"
        );
        assert_eq!(
            pairs(&[
                ("GITHUB_SHA", "1f2e3d4"),
                ("GPUPROF_META", "commit=main,args=,clock=1980")
            ]),
            [pair("commit", "main"), pair("clock", "1980")]
        );
    }

    #[test]
    fn arguments_read_back_as_they_were() {
        assert_eq!(quoted("--lr=1e-3"), "--lr=1e-3");
        assert_eq!(quoted("it's two"), r"'it'\''s two'");
        assert_eq!(quoted(""), "''");
    }
}
