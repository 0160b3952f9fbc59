//! What to do first: the findings with the most to gain, at the top of the report.
//!
//! Which rule finds what is no matter of this file.

use std::borrow::Cow;

use super::hidden::Hidden;
use super::number;
use super::options::{PIPE_WIDTH, TableOptions};
use super::words::{self, BOLD, DIM, PLAIN, Paragraph, WARN, pad, paint};
use crate::profile::{Finding, Profile};
use crate::sanitize;

/// Findings that the default report shows.
pub(crate) const MAX_FINDINGS: usize = 3;
/// Characters of an evidence or an advice that are shown.
const MAX_CHARS: usize = 1_000;
/// Columns of the longest name that stands beside its finding.
const MAX_NAME: usize = 24;
/// Columns of a terminal below which the gain has no column of its own.
const LEAST_WIDTH: usize = 50;
const TITLE: &str = "Look first";
const GAIN: &str = "saves at most";

/// Writes the findings, numbered, and an empty line; without CUPTI nothing.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    if profile.cupti.is_none() {
        return;
    }
    let limit = if options.full {
        usize::MAX
    } else {
        MAX_FINDINGS
    };
    let width = options.width.unwrap_or(PIPE_WIDTH);
    let shown: Vec<&Finding> = profile.findings.iter().take(limit).collect();
    hidden.findings += profile.findings.len() - shown.len();
    if shown.is_empty() {
        paint(out, options.color, BOLD, &words::shorten(TITLE, width));
        let words = Paragraph::new(DIM, nothing_found(profile));
        out.push('\n');
        words.write(out, options.color, Some(width), 2);
        out.push('\n');
        return;
    }
    let layout = Layout::new(&shown, width);
    layout.heading(options, out);
    for (at, finding) in shown.iter().enumerate() {
        layout.finding(at + 1, finding, options, out);
    }
    out.push('\n');
}

/// No rule looked at a merged profile: they are about one process.
fn nothing_found(profile: &Profile) -> &'static str {
    match profile.ranks {
        Some(_) => "findings are about one process: see the profile of a rank",
        None => "no rule found anything to change",
    }
}

/// Columns of the parts of a finding: number and name, text, gain.
struct Layout {
    width: usize,
    /// Where the text begins.
    indent: usize,
    /// Columns of the gains; 0 if they stand in the text.
    gains: usize,
}

impl Layout {
    fn new(findings: &[&Finding], width: usize) -> Self {
        let names = findings.iter().map(|finding| words::width(&name(finding)));
        let longest = names.filter(|name| *name <= MAX_NAME).max().unwrap_or(0);
        let (longest, gains) = if width < LEAST_WIDTH {
            (0, 0)
        } else {
            (longest, words::width(GAIN) + 2)
        };
        Self {
            width,
            // Names may take a quarter of a narrow terminal.
            indent: match longest {
                0 => 3,
                longest if longest > width / 4 => 3,
                longest => longest + 4,
            },
            gains,
        }
    }

    fn heading(&self, options: &TableOptions, out: &mut String) {
        let mut line = String::new();
        let title = words::shorten(TITLE, self.width);
        paint(&mut line, options.color, BOLD, &title);
        if self.gains > 0 {
            pad(
                &mut line,
                self.width - words::width(GAIN),
                words::width(TITLE),
            );
            paint(&mut line, options.color, DIM, GAIN);
        }
        out.push_str(&line);
        out.push('\n');
    }

    fn finding(&self, number: usize, finding: &Finding, options: &TableOptions, out: &mut String) {
        let gain = match finding.gain_ns {
            // Advice about measuring.
            0 => "–".to_owned(),
            gain_ns => number::duration(gain_ns).text(),
        };
        let name = name(finding);
        let mut first = String::new();
        let number = format!("{number:<3}");
        paint(
            &mut first,
            options.color,
            WARN,
            &words::shorten(&number, self.width),
        );
        let room = self.width.saturating_sub(3);
        paint(
            &mut first,
            options.color,
            BOLD,
            &words::shorten(&name, room),
        );
        let indent = self.indent.min(self.width / 2);
        let mut used = 3 + words::width(&name).min(room);
        if used >= indent {
            // The name has a line of its own.
            out.push_str(first.trim_end());
            out.push('\n');
            (first, used) = (String::new(), 0);
        }
        let text_width = self.width.saturating_sub(indent + self.gains).max(1);
        let mut evidence = Paragraph::default();
        if self.gains == 0 {
            evidence.add_one(PLAIN, format!("{gain}:"));
        }
        add_foreign_text(&mut evidence, &finding.evidence);
        let mut advice = Paragraph::new(WARN, "→");
        add_foreign_text(&mut advice, &finding.advice);
        for (at, (words, hang)) in [(evidence, 0), (advice, 2)].into_iter().enumerate() {
            let (mut text, mut plain) = (String::new(), String::new());
            words.write(&mut text, options.color, Some(text_width), hang);
            words.write(&mut plain, false, Some(text_width), hang);
            for (number, (part, plain)) in text.lines().zip(plain.lines()).enumerate() {
                let is_first = at == 0 && number == 0;
                let (mut line, used) = if is_first {
                    (std::mem::take(&mut first), used)
                } else {
                    (String::new(), 0)
                };
                pad(&mut line, indent, used);
                line.push_str(part);
                if is_first && self.gains > 0 {
                    let used = indent + words::width(plain);
                    pad(&mut line, self.width - words::width(&gain), used);
                    paint(&mut line, options.color, BOLD, &gain);
                }
                out.push_str(line.trim_end());
                out.push('\n');
            }
        }
    }
}

fn name(finding: &Finding) -> Cow<'_, str> {
    match &finding.function {
        Some(name) => sanitize::name(name),
        None => Cow::Borrowed("the program"),
    }
}

/// Adds the words of a text from outside; a figure and its unit are one.
fn add_foreign_text(words: &mut Paragraph, text: &str) {
    let text = sanitize::short(text, MAX_CHARS);
    let mut after_figure = false;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if after_figure && UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')'])) {
            words.then(" ").then(word);
        } else {
            words.add_one(PLAIN, word);
        }
        after_figure = word.ends_with(|c: char| c.is_ascii_digit());
    }
}

/// What stands after a figure in a finding.
const UNITS: [&str; 16] = [
    "ns", "µs", "ms", "s", "h", "%", "×", "B", "kB", "MB", "GB", "TB", "GB/s", "TFLOP/s", "MHz",
    "calls",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CuptiCompleteness;

    fn finding(function: Option<&str>, evidence: &str) -> Finding {
        Finding {
            function: function.map(str::to_owned),
            gain_ns: 111_000_000,
            evidence: evidence.into(),
            advice: "try".into(),
            ..Finding::default()
        }
    }

    fn text(findings: Vec<Finding>, width: usize, full: bool) -> (String, Hidden) {
        let profile = Profile {
            findings,
            cupti: Some(CuptiCompleteness::default()),
            ..Profile::default()
        };
        let options = TableOptions {
            width: Some(width),
            full,
            ..TableOptions::default()
        };
        let (mut out, mut hidden) = (String::new(), Hidden::default());
        write(&profile, &options, &mut hidden, &mut out);
        (out, hidden)
    }

    #[test]
    fn three_findings_are_shown_and_the_rest_is_counted() {
        let findings = || (0..5).map(|n| finding(Some(&format!("f{n}")), "seen"));
        let (shown, hidden) = text(findings().collect(), 80, false);
        assert!(shown.contains("3  f2") && !shown.contains("f3"), "{shown}");
        assert_eq!(hidden.findings, 2);
        let (shown, hidden) = text(findings().collect(), 80, true);
        assert!(shown.contains("5  f4"), "{shown}");
        assert_eq!(hidden.findings, 0);
        let (shown, _) = text(Vec::new(), 80, false);
        assert!(shown.contains("no rule found anything"), "{shown}");
    }

    #[test]
    fn a_merged_profile_was_looked_at_by_no_rule() {
        let profile = Profile {
            cupti: Some(CuptiCompleteness::default()),
            ranks: Some(crate::profile::Ranks::default()),
            ..Profile::default()
        };
        let (mut out, mut hidden) = (String::new(), Hidden::default());
        write(&profile, &TableOptions::default(), &mut hidden, &mut out);
        assert_eq!(
            out,
            "Look first\nfindings are about one process: see the profile of a rank\n\n"
        );
    }

    #[test]
    fn the_gain_stands_at_the_right_and_text_wraps_beside_it() {
        let evidence = "GPU idle 81 %: 19 launches a call, each of 1.20 µs";
        let (shown, _) = text(vec![finding(Some("step"), evidence)], 50, false);
        let expected = [
            "Look first                           saves at most",
            "1  step GPU idle 81 %: 19 launches          111 ms",
            "        a call, each of 1.20 µs",
            "        → try",
            "",
            "",
        ];
        assert_eq!(shown, expected.join("\n"));
    }

    #[test]
    fn a_long_name_has_a_line_of_its_own() {
        let name = "a::very::long::path::of::a::function::name";
        let (shown, _) = text(vec![finding(Some(name), "seen")], 60, false);
        assert!(shown.contains(&format!("1  {name}\n   seen")), "{shown}");
    }
}
