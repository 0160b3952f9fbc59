//! Random changes of a file.

use std::ops::Range;

use fastrand::Rng;

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "639",
    "640",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-0.0",
    "1e-320",
];

/// Texts that terminals, browsers, spreadsheets and parsers take for something else.
const TEXTS: [&str; 10] = [
    "",
    "=1+1",
    "</script><b>",
    "\\u001b[31m",
    "\\u202e",
    "\\ud800",
    "a;b 1",
    "\\\"",
    "HtoD",
    "\u{1F600}\u{0301}",
];

/// What other values turn into.
const VALUES: [&str; 6] = ["null", "[]", "{}", "true", "[[0,1]]", "\"x\""];

/// Changes a file in one of many ways.
pub(crate) fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Rng) {
    if input.is_empty() {
        input.push(random.u8(..));
        return;
    }
    match random.u32(..10) {
        0 => {
            let at = random.usize(..input.len());
            input[at] ^= 1 << random.u32(..8);
        }
        1 => input.truncate(random.usize(..input.len())),
        2 => {
            let gone = part(input, random);
            input.drain(gone);
        }
        3 => {
            let (copied, at) = (part(input, random), random.usize(..=input.len()));
            let copied = input[copied].to_vec();
            input.splice(at..at, copied);
        }
        4 => {
            let other = &corpus[random.usize(..corpus.len())];
            let (taken, at) = (part(other, random), random.usize(..=input.len()));
            input.splice(at..at, other[taken].to_vec());
        }
        5 | 6 => replace(input, random, number, &NUMBERS),
        7 => replace(input, random, text, &TEXTS),
        _ => replace(input, random, number, &VALUES),
    }
}

/// A part of at most 64 bytes, or now and then a large one.
fn part(input: &[u8], random: &mut Rng) -> Range<usize> {
    let start = random.usize(..input.len());
    let most = match random.u32(..8) {
        0 => input.len() - start,
        _ => 64.min(input.len() - start),
    };
    start..start + random.usize(..=most)
}

/// Replaces what `find` finds after a random place.
fn replace(
    input: &mut Vec<u8>,
    random: &mut Rng,
    find: fn(&[u8], usize) -> Option<Range<usize>>,
    by: &[&str],
) {
    let from = random.usize(..input.len());
    if let Some(found) = find(input, from) {
        let by = by[random.usize(..by.len())];
        input.splice(found, by.bytes());
    }
}

fn number(input: &[u8], from: usize) -> Option<Range<usize>> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let start = from + input[from..].iter().position(is_digit)?;
    let digits = input[start..].iter().take_while(|byte| is_digit(byte));
    Some(start..start + digits.count())
}

/// Between two quotes.
fn text(input: &[u8], from: usize) -> Option<Range<usize>> {
    let is_quote = |byte: &u8| *byte == b'"';
    let start = from + input[from..].iter().position(is_quote)? + 1;
    let end = start + input[start..].iter().position(is_quote)?;
    Some(start..end)
}
