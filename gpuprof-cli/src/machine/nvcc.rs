//! The CUDA version for which cudarc's build script makes its bindings.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::program;

/// Major and minor.
pub(crate) type CudaVersion = (u32, u32);

/// The versions that [`CUDARC`] knows, newest first.
const KNOWN: [CudaVersion; 19] = [
    (13, 4),
    (13, 3),
    (13, 2),
    (13, 1),
    (13, 0),
    (12, 9),
    (12, 8),
    (12, 6),
    (12, 5),
    (12, 4),
    (12, 3),
    (12, 2),
    (12, 1),
    (12, 0),
    (11, 8),
    (11, 7),
    (11, 6),
    (11, 5),
    (11, 4),
];

/// The newest cudarc when this was written. `xtask/tests/source` compares [`KNOWN`] with the one
/// that is built.
pub(crate) const CUDARC: &str = "0.19.10";

/// Where cudarc's build script takes the version from, unless the program chooses a feature
/// `cuda-…`.
pub(crate) enum VersionSource {
    /// The value of `CUDARC_CUDA_VERSION`.
    Variable(String),
    Nvcc {
        path: PathBuf,
        /// `None` if it does not tell.
        version: Option<CudaVersion>,
    },
    /// The newest that it knows.
    Neither,
}

impl VersionSource {
    pub(crate) fn here() -> Self {
        if let Some(value) = env::var_os("CUDARC_CUDA_VERSION") {
            return Self::Variable(value.to_string_lossy().into_owned());
        }
        let Some(path) = program("nvcc") else {
            return Self::Neither;
        };
        let said = Command::new(&path)
            .arg("--version")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        match said {
            Ok(said) if said.status.success() => Self::Nvcc {
                path,
                version: version(&String::from_utf8_lossy(&said.stdout)),
            },
            _ => Self::Neither,
        }
    }
}

/// Of `Cuda compilation tools, release 13.0, V13.0.48`.
fn version(said: &str) -> Option<CudaVersion> {
    let release = said.split("release ").nth(1)?;
    let (version, _) = release.split_once(',')?;
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A version as `CUDARC_CUDA_VERSION` has it.
fn stated((major, minor): CudaVersion) -> String {
    format!("{major}0{minor}0")
}

pub(crate) fn is_known(value: &str) -> bool {
    KNOWN.into_iter().any(|known| stated(known) == value)
}

/// What `CUDARC_CUDA_VERSION` must be with a toolkit that cudarc does not know: the newest version
/// before it, or the oldest of all; without a version the newest. `None` if cudarc knows it.
pub(crate) fn replacement(version: Option<CudaVersion>) -> Option<String> {
    let Some(version) = version else {
        return KNOWN.first().copied().map(stated);
    };
    if KNOWN.contains(&version) {
        return None;
    }
    let before = KNOWN.iter().find(|known| **known < version);
    before.or(KNOWN.last()).copied().map(stated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_release() {
        let said = "nvcc: NVIDIA (R) Cuda compiler driver\n\
                    Built on Wed_Aug_20_01:58:59_PM_PDT_2025\n\
                    Cuda compilation tools, release 13.0, V13.0.88\n";
        assert_eq!(version(said), Some((13, 0)));
        assert_eq!(version("nvcc fatal: release notes"), None);
    }

    #[test]
    fn an_unknown_version_is_replaced_by_the_one_before() {
        assert_eq!(replacement(Some((13, 4))), None);
        assert_eq!(replacement(Some((13, 5))).as_deref(), Some("13040"));
        assert_eq!(replacement(Some((12, 7))).as_deref(), Some("12060"));
        assert_eq!(replacement(Some((10, 2))).as_deref(), Some("11040"));
        assert_eq!(replacement(None).as_deref(), Some("13040"));
        assert!(is_known("12060") && !is_known("12070") && !is_known("13.0"));
    }
}
