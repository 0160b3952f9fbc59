//! Hostile files and connections: whatever is in a profile, or is said over the socket of a running
//! program, reading it is an error or every output is written, without a panic and in bounded
//! memory.
//!
//! The recorded profiles are changed at random: bytes, numbers, texts and whole parts. An input
//! that fails is written to `target/tmp/fuzz`; once the code is right, it becomes a test.
//!
//! `GPUPROF_FUZZ_SECONDS` sets how long each test runs, instead of a few hundred cases;
//! `GPUPROF_TEST_SEED` draws others.

mod live;
mod mutate;
mod outputs;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutate::mutate;

/// Cases of each test without a time.
const CASES: u32 = 400;

/// The recorded profiles, in the order of their names.
fn recorded() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let entries = fs::read_dir(&folder).expect("a folder of the repository");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let files = paths.iter();
    files.map(|path| fs::read(path).expect("a file")).collect()
}

/// Whether there is more to do after so many cases.
fn goes_on(cases: u32, began: Instant) -> bool {
    match std::env::var("GPUPROF_FUZZ_SECONDS") {
        Ok(seconds) => {
            let seconds = seconds.parse().expect("GPUPROF_FUZZ_SECONDS is a number");
            began.elapsed() < Duration::from_secs(seconds)
        }
        Err(_) => cases < CASES,
    }
}

fn seed() -> u64 {
    let seed = std::env::var("GPUPROF_TEST_SEED");
    seed.map_or(1, |seed| {
        seed.parse().expect("GPUPROF_TEST_SEED is a number")
    })
}

/// Runs `check` on the corpus as it is, then on changed inputs; a panic keeps its input.
fn fuzz(corpus: &[Vec<u8>], extension: &str, check: impl Fn(&[u8])) {
    assert!(!corpus.is_empty(), "there is no {extension} to change");
    corpus.iter().for_each(|input| check(input));
    let (began, seed) = (Instant::now(), seed());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut cases = 0;
    while goes_on(cases, began) {
        cases += 1;
        let mut input = corpus[random.usize(..corpus.len())].clone();
        for _ in 0..random.u32(1..6) {
            mutate(&mut input, corpus, &mut random);
        }
        let checked = catch_unwind(AssertUnwindSafe(|| check(&input)));
        if checked.is_err() {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
            fs::create_dir_all(&folder).expect("a folder");
            let path = folder.join(format!("seed-{seed}-case-{cases}.{extension}"));
            fs::write(&path, &input).expect("a file");
            panic!("case {cases} of seed {seed} fails: {}", path.display());
        }
    }
    println!("{cases} cases");
}

#[test]
fn any_profile_is_refused_or_has_every_output() {
    fuzz(&recorded(), "json", outputs::profile);
}

#[test]
fn any_two_profiles_are_merged_and_compared() {
    let corpus = recorded();
    let other = corpus.first().expect("a profile");
    fuzz(&corpus, "json", |input| outputs::two_profiles(input, other));
}

#[test]
fn anything_said_to_a_running_program_is_refused_or_understood() {
    fuzz(&live::requests(), "request", live::request);
}

#[test]
fn anything_a_running_program_says_is_refused_or_understood() {
    fuzz(&live::answers(), "answer", live::answer);
}
