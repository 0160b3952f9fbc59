//! The plots of sweeps, a file each.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gpuprof_report::plot::plots;
use gpuprof_report::profile::Profile;

use super::folder::write;

/// Writes the plot of each sweep into a folder. Returns the files.
///
/// # Errors
/// A file that cannot be written, and why.
pub(super) fn save(profile: &Profile, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut taken) = (Vec::new(), HashSet::new());
    for plot in plots(profile) {
        let stem = file_name(&plot.name);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let mut names = std::iter::once(stem.clone()).chain(numbered);
        let name = names.find(|name| taken.insert(name.clone()));
        let file = folder.join(name.unwrap_or(stem)).with_extension("svg");
        write(&file, plot.svg.as_bytes())?;
        files.push(file);
    }
    Ok(files)
}

/// A benchmark's name with what no file name should have replaced.
fn file_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    name.chars().map(plain).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(file_name("matmul-2"), "matmul-2");
        assert_eq!(file_name("../a b/ä.x"), "___a_b_ä_x");
        assert_eq!(file_name(""), "");
    }
}
