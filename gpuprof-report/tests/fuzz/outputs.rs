//! Everything that is made of a file.

use std::num::NonZeroUsize;

use gpuprof_report::json::{Impossible, ReadError};
use gpuprof_report::profile::Profile;
use gpuprof_report::setting_values::Sort;
use gpuprof_report::table::{self, TableOptions};
use gpuprof_report::{compare, csv, findings, folded, html, json, merge, pprof};

/// Bytes of output for a byte of input, and for an empty profile.
const MOST_TIMES: usize = 400;
const MOST_EMPTY: usize = 4 << 20;

fn read(input: &[u8]) -> Option<Profile> {
    json::read(input).ok()
}

/// What `write` writes, of a file of so many bytes.
fn written(input: usize, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out).expect("a vector takes everything");
    let most = MOST_TIMES * input + MOST_EMPTY;
    assert!(out.len() <= most, "{} bytes of {input}", out.len());
    out
}

pub(crate) fn profile(input: &[u8]) {
    let Some(profile) = read(input) else { return };
    let again = every_output(&profile, input.len());
    again.expect("what gpuprof writes can be read");
}

/// Returns what reading the profile that was written gives.
fn every_output(profile: &Profile, size: usize) -> Result<Profile, ReadError> {
    let mut profile = profile.clone();
    let document = written(size, |out| json::write(&profile, out));
    let again = json::read(document.as_slice());
    if let Ok(again) = &again {
        assert_eq!(json::to_string(again).into_bytes(), document);
    }
    for (width, full, sort) in [
        (None, true, Sort::Gpu),
        (Some(1), false, Sort::Cpu),
        (Some(80), false, Sort::Max),
        (Some(200), true, Sort::Name),
    ] {
        let mut options = TableOptions::default();
        (options.width, options.full, options.sort) = (width, full, sort);
        options.limit = NonZeroUsize::new(30);
        let text = written(size, |out| table::write(&profile, &options, out));
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    written(size, |out| csv::write(&profile, out));
    written(size, |out| folded::write_gpu(&profile, out));
    written(size, |out| folded::write_cpu(&profile, out));
    written(size, |out| pprof::write(&profile, out));
    let page = written(size, |out| html::write(&profile, out));
    let page = String::from_utf8(page).expect("UTF-8");
    assert_eq!(page.matches("</html>").count(), 1);
    profile.findings = findings::findings(&profile);
    profile.commands = findings::commands(&profile, true);
    written(size, |out| json::write(&profile, out));
    again
}

pub(crate) fn two_profiles(input: &[u8], other: &[u8]) {
    let (Some(profile), Some(other)) = (read(input), read(other)) else {
        return;
    };
    let size = input.len();
    let mut merger = merge::Merger::default();
    for added in [&profile, &other, &profile] {
        merger.add(added);
    }
    // Three files may count more together than a number holds.
    match every_output(&merger.finish(), 3 * size + 1_000_000) {
        Ok(_) | Err(ReadError::Impossible(Impossible::Sum(_))) => {}
        Err(error) => panic!("what gpuprof merges cannot be read: {error}"),
    }
    let options = compare::ComparisonOptions::default();
    for (old, new) in [
        (vec![profile.clone()], vec![other.clone()]),
        (
            vec![other.clone(), other, profile.clone()],
            vec![profile.clone(), profile],
        ),
    ] {
        let compared = compare::compare(&old, &new, &options);
        let texts = [
            compare::to_text(&compared, 30, false),
            compare::to_markdown(&compared),
            compare::to_json(&compared),
        ];
        for text in texts {
            assert!(text.len() <= MOST_TIMES * size + MOST_EMPTY);
        }
    }
}
