//! A comparison as Markdown for a comment on a pull request.

use std::fmt::Write as _;

use super::comparison::{ComparedItem, ItemKind, ProfileComparison, SideFigures, Verdict};
use super::{sentences, text};
use crate::sanitize;

/// The first line, by which a script finds its comment again.
const MARKER: &str = "<!-- gpuprof diff -->";
/// Rows that are listed: a comment has at most 65,536 characters.
const MAX_ROWS: usize = 100;
/// Characters of a name.
const MAX_NAME: usize = 120;

/// Writes a comparison as Markdown of GitHub and GitLab: the verdict, warnings, a table of what
/// changed, and what is `SAME` folded away.
#[must_use]
pub fn to_markdown(comparison: &ProfileComparison) -> String {
    let mut out = format!(
        "{MARKER}\n### gpuprof: {}\n\n",
        sentences::verdicts(comparison)
    );
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}\n", plain(&sentences::runs(comparison)));
    for warning in &comparison.warnings {
        let _ = writeln!(out, "> ⚠️ {}\n", plain(warning));
    }
    let (same, changed): (Vec<&ComparedItem>, Vec<&ComparedItem>) =
        (comparison.items.iter()).partition(|item| item.verdict == Verdict::Same);
    write_rows(&changed, &mut out);
    if !same.is_empty() {
        let _ = writeln!(out, "<details><summary>{} SAME</summary>\n", same.len());
        write_rows(&same, &mut out);
        out.push_str("</details>\n\n");
    }
    let _ = writeln!(out, "<details><summary>Runs and method</summary>\n");
    for fact in &comparison.facts {
        let [old, new] = [&fact.old, &fact.new].map(|side| match side.as_str() {
            "" => "none".to_owned(),
            side => code(side),
        });
        let _ = if fact.differs() {
            writeln!(out, "- {}: {old} → {new}", plain(&fact.key))
        } else {
            writeln!(out, "- {}: {new}", plain(&fact.key))
        };
    }
    let _ = writeln!(
        out,
        "\n{}\n\n</details>",
        plain(&sentences::method(comparison))
    );
    out
}

fn write_rows(rows: &[&ComparedItem], out: &mut String) {
    if rows.is_empty() {
        return;
    }
    out.push_str("| | verdict | old | new | change | 95 % interval | p |\n");
    out.push_str("|---|---|---:|---:|---:|---:|---:|\n");
    for item in rows.iter().take(MAX_ROWS) {
        let figure = |figure: &Option<SideFigures>| match figure {
            Some(figure) => text::duration(figure.ns),
            None => "–".to_owned(),
        };
        let text = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        let notes: String = item
            .notes
            .iter()
            .map(|note| format!("<br>{}", plain(note)))
            .collect();
        let _ = writeln!(
            out,
            "| {}{notes} | {} {} | {} | {} | {} | {} | {} |",
            name(item),
            sign(item.verdict),
            item.verdict.as_str(),
            figure(&item.old),
            figure(&item.new),
            text(item.change.map(text::change)),
            text(item.interval.map(text::interval)),
            text(item.p.map(text::probability)).replace('<', "&lt;"),
        );
    }
    if let hidden @ 1.. = rows.len().saturating_sub(MAX_ROWS) {
        let _ = writeln!(out, "| … {hidden} more | | | | | | |");
    }
    out.push('\n');
}

fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "🔴",
        Verdict::Faster => "🟢",
        Verdict::Unsure => "❔",
        Verdict::New | Verdict::Gone => "➕",
        Verdict::Same => "⚪",
    }
}

fn name(item: &ComparedItem) -> String {
    let name = sanitize::short(&item.name, MAX_NAME);
    match item.kind {
        ItemKind::All => format!("**{}**", plain(&name)),
        ItemKind::Function | ItemKind::Kernel => {
            format!("{} {}", code(&name), item.measure.as_str())
        }
    }
}

/// Text as code, in which nothing is markup, mentions nobody and links nowhere.
fn code(text: &str) -> String {
    let text = sanitize::short(text, MAX_NAME);
    if text.contains(['`', '|', '\\']) || text.trim().is_empty() || *text != *text.trim() {
        format!("<code>{}</code>", plain(&text))
    } else {
        format!("`{text}`")
    }
}

/// Text in which nothing is markup: characters with a meaning are character references.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '<' | '>' | '|' | '`' | '*' | '_' | '~' | '[' | ']' | '\\' | '@' | '#' | '$'
            | '!' => {
                let _ = write!(plain, "&#{};", u32::from(c));
            }
            // Not `://` or `:emoji:`, but the colon of a sentence stays.
            ':' => plain.push_str("&#58;"),
            _ => plain.push(c),
        }
    }
    plain.replace("&#58; ", ": ").replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_profiles_are_never_markup() {
        assert_eq!(code("train::step<T>"), "`train::step<T>`");
        assert_eq!(code("a|b`c"), "<code>a&#124;b&#96;c</code>");
        assert_eq!(code("`"), "<code>&#96;</code>");
        assert_eq!(
            plain("<script>@team https://x #1 :tada: *a* note: b"),
            "&#60;script&#62;&#64;team https&#58;//x &#35;1 &#58;tada: &#42;a&#42; note: b"
        );
    }
}
