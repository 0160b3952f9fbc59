//! A folder for the files of a test.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

/// A new folder, which is removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn create() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("process-{}-{count}", std::process::id());
        let test = env::current_exe().expect("a test has a path");
        // TARGET/tmp, as for integration tests of cargo: this program is in TARGET/PROFILE/deps.
        let target = test.ancestors().nth(3).expect("the target folder");
        let folder = target.join("tmp").join(name);
        fs::create_dir_all(&folder).expect("the target folder can be written");
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The sorted names of its files.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder is there");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("readable").file_name().into_string()
        };
        let mut names: Vec<_> = entries.map(|entry| name(entry).expect("UTF-8")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, cargo removes the folder with the target folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
