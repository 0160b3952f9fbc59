//! Whatever stands in the strings of a profile, every output stays readable, of a sensible size,
//! and quick to make.

mod profiles;

use std::time::{Duration, Instant};

use gpuprof_report::json;
use gpuprof_report::profile::Profile;
use profiles::{
    digits, full, options, quickstart, report, trouble, with_launch_lines, with_stalls,
};
use serde_json::{Value, json};

/// The same profile with `text` in the place of every string: names, modules, files, devices,
/// errors, notes.
fn with_text_everywhere(profile: &Profile, text: &str) -> Profile {
    fn replace(value: &mut Value, text: &str) {
        match value {
            Value::String(string) => text.clone_into(string),
            Value::Array(values) => values.iter_mut().for_each(|value| replace(value, text)),
            Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, text)),
            _ => {}
        }
    }
    let mut document = serde_json::to_value(profile).unwrap();
    replace(&mut document, text);
    // A choice among fixed words: any other text is refused.
    document["diagnostics"]["sampling"] = json!("every_call");
    serde_json::from_value(document).unwrap()
}

fn hostile_texts() -> Vec<String> {
    vec![
        "\x1b[2J\x1b]0;title\x07\r\n\t\u{8}\u{7f}\u{9b}31m\0".into(),
        "\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{61c}\u{e0041}".into(),
        "\"'<script>&\\{}%s%n".into(),
        "x".repeat(1 << 20),
        // Without a width, so that no number of columns ends it.
        "e\u{301}\u{301}\u{301}".repeat(1 << 18),
        "\u{301}".repeat(1 << 19),
        "\x1b[31m\n".repeat(1 << 18),
        String::new(),
    ]
}

fn is_harmful(c: char) -> bool {
    let format_characters = [
        '\u{61c}'..='\u{61c}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
        '\u{e0000}'..='\u{e007f}',
    ];
    let is_format = format_characters.iter().any(|range| range.contains(&c));
    (c.is_control() && c != '\n') || is_format
}

#[test]
fn no_text_does_harm_in_a_report() {
    let began = Instant::now();
    for text in hostile_texts() {
        let profiles = [
            trouble(),
            with_launch_lines(digits()),
            with_stalls(digits()),
        ]
        .map(|profile| with_text_everywhere(&profile, &text));
        let widths = [None, Some(40), Some(120)];
        for (hostile, width) in profiles
            .iter()
            .flat_map(|profile| widths.map(|width| (profile, width)))
        {
            for options in [options(width), full(width)] {
                let out = report(hostile, &options);
                assert_eq!(out.chars().find(|c| is_harmful(*c)), None, "{out}");
                assert!(out.len() < 300_000, "{} bytes at {width:?}", out.len());
            }
        }
    }
    // Many times what it takes: only what grows with the square of a name gets here.
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn json_holds_any_text_whole_and_shows_none_of_it_to_a_terminal() {
    // One kernel and one finding stand for all: a document of many megabytes takes its time.
    let mut slim = quickstart();
    (slim.kernels, slim.findings) = (digits().kernels, digits().findings);
    slim.kernels.truncate(1);
    for text in hostile_texts() {
        let hostile = with_text_everywhere(&slim, &text);
        let mut out = Vec::new();
        json::write(&hostile, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.chars().find(|c| is_harmful(*c)), None);
        assert_eq!(serde_json::from_str::<Profile>(&out).unwrap(), hostile);
    }
}
