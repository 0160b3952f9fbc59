//! The facts of this process: program, machine, rank.

use std::borrow::Cow;

use crate::os;
use gpuprof_report::profile::{MetaPair, Profile, limit_meta, parse_meta, set_meta};
use gpuprof_report::variables;

/// Variables in which launchers set the rank of a process and the number of ranks, in the order in
/// which they are read: Open MPI, MPICH and Intel MPI, MVAPICH, LSF's jsrun, Flux, PMIx, and Slurm,
/// which sets the rank in a batch script too, around other launchers. Of Slurm's numbers of tasks,
/// this one is of the step and not of the allocation.
const LAUNCHERS: [(&str, &str); 7] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
];

/// Those of torchrun and the like, which may run under any of [`LAUNCHERS`].
const TORCHRUN: (&str, &str) = ("RANK", "WORLD_SIZE");

/// Variables in which CI systems set the commit. git is never run.
const COMMIT_VARIABLES: [&str; 2] = ["GITHUB_SHA", "CI_COMMIT_SHA"];

/// Adds them to a profile.
pub(crate) fn add_to(profile: &mut Profile) {
    profile.program = program_and_script();
    profile.pid = std::process::id();
    profile.host = os::host_name();
    let place = find_rank(environment);
    (profile.rank, profile.world_size) = (place.rank, place.world_size);
    let args: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|arg| quoted(&arg.to_string_lossy()).into_owned())
        .collect();
    profile.meta = meta(&args.join(" "), environment);
}

/// The arguments and the commit, and what GPUPROF_META says instead of them and beside them.
fn meta(args: &str, variable: impl Fn(&str) -> Option<String>) -> Vec<MetaPair> {
    let commit = COMMIT_VARIABLES.iter().find_map(|name| variable(name));
    let mut pairs = vec![
        MetaPair::new("commit", commit.unwrap_or_default().trim()),
        MetaPair::new("args", args),
    ];
    let stated = variable(variables::META)
        .and_then(|text| parse_meta(text.trim()))
        .unwrap_or_default()
        .into_iter();
    stated.for_each(|pair| set_meta(&mut pairs, pair));
    limit_meta(&mut pairs);
    pairs
}

/// An argument as a POSIX shell reads it back.
fn quoted(arg: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=+./,:@%^".contains(c);
    if !arg.is_empty() && arg.chars().all(is_plain) {
        Cow::Borrowed(arg)
    } else {
        Cow::Owned(format!("'{}'", arg.replace('\'', r"'\''")))
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

/// The name of the program in profiles.
pub(super) fn program_and_script() -> String {
    let args = std::env::args_os().skip(1);
    with_script(
        program(),
        args.map(|arg| arg.to_string_lossy().into_owned()),
    )
}

/// The program, and the script that it runs if it is an interpreter of Python: `python3 train.py`,
/// `python3 -m package.train`.
fn with_script(program: String, mut args: impl Iterator<Item = String>) -> String {
    if !program.starts_with("python") {
        return program;
    }
    let script = loop {
        match args.next().as_deref() {
            Some("-m") => break args.next(),
            None | Some("-c" | "-") => break None,
            // They take a value.
            Some("-X" | "-W") => drop(args.next()),
            Some(option) if option.starts_with('-') => {}
            Some(script) => break Some(script.to_owned()),
        }
    };
    let name = script
        .as_deref()
        .and_then(|script| script.rsplit('/').next());
    match name.filter(|name| !name.is_empty()) {
        Some(name) => format!("{program} {name}"),
        None => program,
    }
}

/// The rank of the process in its job.
pub(crate) fn rank() -> Option<u32> {
    find_rank(environment).rank
}

/// The ranks of the job.
pub(crate) fn world_size() -> Option<u32> {
    find_rank(environment).world_size
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The place of a process in its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProcessRank {
    rank: Option<u32>,
    world_size: Option<u32>,
}

/// By the first launcher that set a rank. `RANK` alone is a common name: a launcher of
/// [`LAUNCHERS`] knows better.
fn find_rank(variable: impl Fn(&str) -> Option<String>) -> ProcessRank {
    let number = |name: &str| variable(name)?.trim().parse().ok();
    let by = |(rank, world_size): &(&str, &str)| {
        let rank: u32 = number(rank)?;
        let world_size = number(world_size).filter(|size| *size > rank);
        Some(ProcessRank {
            rank: Some(rank),
            world_size,
        })
    };
    let of_torchrun = by(&TORCHRUN);
    let found = of_torchrun
        .filter(|place| place.world_size.is_some())
        .or_else(|| LAUNCHERS.iter().find_map(by));
    found.or(of_torchrun).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{ProcessRank, find_rank, meta, quoted, with_script};

    fn place_of(variables: &[(&str, &str)]) -> (Option<u32>, Option<u32>) {
        let ProcessRank { rank, world_size } = find_rank(|wanted| {
            let mut found = variables.iter().filter(|(name, _)| *name == wanted);
            found.next().map(|(_, value)| (*value).to_owned())
        });
        (rank, world_size)
    }

    #[test]
    fn a_python_program_is_named_by_its_script() {
        let shown = |program: &str, args: &str| {
            with_script(
                program.to_owned(),
                args.split_whitespace().map(str::to_owned),
            )
        };
        for (args, expected) in [
            ("/home/me/train.py --epochs 3", "python3.12 train.py"),
            ("-u -X dev train.py", "python3.12 train.py"),
            ("-m package.train -x", "python3.12 package.train"),
            ("-c import-this train.py", "python3.12"),
            ("", "python3.12"),
        ] {
            assert_eq!(shown("python3.12", args), expected, "{args}");
        }
        assert_eq!(shown("train", "config.py"), "train");
    }

    #[test]
    fn the_innermost_launcher_says_which_rank_it_is() {
        // A batch script of Slurm that runs mpirun.
        let slurm = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")];
        let mpi = [("OMPI_COMM_WORLD_RANK", "5"), ("OMPI_COMM_WORLD_SIZE", "8")];
        assert_eq!(place_of(&[slurm, mpi].concat()), (Some(5), Some(8)));
        // The script itself is one process, however many tasks the allocation has.
        assert_eq!(place_of(&slurm), (Some(0), None));
        let step = [("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "4")];
        assert_eq!(place_of(&step), (Some(3), Some(4)));
        // srun --mpi=pmix.
        let pmix = [("PMIX_RANK", "3"), ("SLURM_STEP_NUM_TASKS", "4")];
        assert_eq!(place_of(&pmix), (Some(3), Some(4)));
        // Left in the environment, for another purpose.
        let alone = [("RANK", "7")];
        assert_eq!(
            place_of(&[alone.as_slice(), &mpi].concat()),
            (Some(5), Some(8))
        );
        assert_eq!(place_of(&alone), (Some(7), None));
        let torchrun = [("RANK", " 1 "), ("WORLD_SIZE", "2")];
        assert_eq!(place_of(&[mpi, torchrun].concat()), (Some(1), Some(2)));
    }

    #[test]
    fn what_cannot_be_a_rank_or_their_number_is_not_used() {
        assert_eq!(place_of(&[]), (None, None));
        assert_eq!(
            place_of(&[("RANK", "first"), ("WORLD_SIZE", "2")]),
            (None, None)
        );
        assert_eq!(place_of(&[("WORLD_SIZE", "2")]), (None, None));
        let outside = [("RANK", "2"), ("WORLD_SIZE", "2")];
        assert_eq!(place_of(&outside), (Some(2), None));
    }

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
