//! The checked-in Rust code of the messages of Perfetto and pprof is what prost generates from
//! their `.proto` files.

use std::fs;
use std::path::Path;

#[test]
fn the_messages_of_perfetto_are_generated_from_its_proto_file() {
    check("src/trace/perfetto", "trace.proto");
}

#[test]
fn the_messages_of_pprof_are_generated_from_its_proto_file() {
    check("src/pprof", "profile.proto");
}

fn check(folder: &str, proto: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let generated = tempfile::tempdir().unwrap();
    let descriptors = protox::compile([proto], [&folder]).unwrap();
    prost_build::Config::new()
        .out_dir(generated.path())
        .compile_fds(descriptors)
        .unwrap();
    let generated = fs::read_to_string(generated.path().join("messages.rs")).unwrap();
    let checked_in = folder.join("messages.rs");
    if std::env::var_os("GPUPROF_RENEW").is_some() {
        fs::write(&checked_in, &generated).unwrap();
    }
    let is_same = fs::read_to_string(&checked_in).unwrap_or_default() == generated;
    assert!(
        is_same,
        "run with GPUPROF_RENEW=1 to renew {}",
        checked_in.display()
    );
}
