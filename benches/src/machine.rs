//! The machine and the versions that were measured.

use serde::Serialize;

/// The machine, and the versions of gpuprof and of the other profilers.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    /// Threads that can run at once.
    pub(crate) cores: u64,
    /// The device of the GPU rows: a real one, the simulated one, or why there is none.
    pub(crate) device: String,
    /// gpuprof and the other profilers, as `name version`.
    pub(crate) versions: Vec<String>,
}

impl Machine {
    pub(crate) fn this(device: String) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        Self {
            processor: processor(),
            cores,
            device,
            versions: VERSIONS
                .iter()
                .filter_map(|name| Some(format!("{name} {}", version(LOCK, name)?)))
                .collect(),
        }
    }
}

/// The packages whose versions are told.
const VERSIONS: [&str; 6] = [
    "gpuprof",
    "hotpath",
    "fastrace",
    "tracing",
    "tracing-chrome",
    "fastrace-tracing",
];

/// The dependencies of this program.
const LOCK: &str = include_str!("../../Cargo.lock");

/// The version of a package; the newest if there are several.
fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let head = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = lock.rsplit_once(&head)?;
    rest.split_once('"').map(|(version, _)| version)
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let name = name.and_then(|rest| rest.split_once(':'));
    match name {
        Some((_, name)) => name.trim().to_owned(),
        None => format!("unnamed {}", std::env::consts::ARCH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2\"\n\n\
                    [[package]]\nname = \"a\"\nversion = \"1.3\"\n";
        assert_eq!(version(lock, "a"), Some("1.3"));
        assert_eq!(version(lock, "b"), None);
        assert!(version(LOCK, "hotpath").is_some());
    }
}
