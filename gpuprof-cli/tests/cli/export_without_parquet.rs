//! `gpuprof export` in a command that is built without Parquet.

use crate::{SMALL, ended, gpuprof};

#[test]
fn the_feature_to_install_with_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("0.json");
    std::fs::write(&file, SMALL).expect("a file");
    let tables = folder.path().join("fleet");
    let mut command = gpuprof(&["export", "--format", "parquet", "-o"]);
    command.arg(&tables).arg(file);
    let found = ended(command);
    assert_eq!((found.code, &*found.stdout), (Some(2), ""));
    assert_eq!(
        found.stderr,
        "gpuprof: this command is built without the feature parquet; cargo install gpuprof-cli \
         --features parquet\n"
    );
    assert!(!tables.exists());
}
