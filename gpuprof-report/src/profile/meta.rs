//! What a user or a launcher says about a run: its commit, its arguments, and anything else that
//! two profiles should be compared by.

use crate::figures::figures;
use crate::sanitize::{ELLIPSIS, longest_prefix};

/// Pairs that a profile holds.
pub const MAX_META_PAIRS: usize = 32;
/// Bytes of all keys and values together.
pub const MAX_META_BYTES: usize = 4_096;

figures! {
    /// One fact about a run, such as `commit` and `1f2e3d4`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct MetaPair {
        /// What the value is: a letter, then letters, digits, `_`, `-` and `.`.
        pub key: String;
        /// The value. Outputs escape it.
        pub value: String;
    }
}

impl MetaPair {
    /// A pair.
    #[must_use]
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
        }
    }
}

/// Reads `KEY=VALUE,KEY=VALUE…`, at most [`MAX_META_PAIRS`] pairs; `None` for any other text.
///
/// A comma that no `KEY=` follows belongs to the value, and so does each `\,`. A later value of a
/// key replaces an earlier one.
///
/// ```
/// use gpuprof_report::profile::{MetaPair, parse_meta};
///
/// assert_eq!(
///     parse_meta("commit=1f2e3d4,args=--sizes 1,2,4"),
///     Some(vec![MetaPair::new("commit", "1f2e3d4"), MetaPair::new("args", "--sizes 1,2,4")])
/// );
/// ```
#[must_use]
pub fn parse_meta(text: &str) -> Option<Vec<MetaPair>> {
    let mut pairs: Vec<MetaPair> = Vec::new();
    let mut continues = false;
    let mut parts = text.split(',').peekable();
    while let Some(part) = parts.next() {
        let before_comma = part.strip_suffix('\\').filter(|_| parts.peek().is_some());
        let is_escaped = before_comma.is_some();
        let part = before_comma.unwrap_or(part);
        match (pairs.last_mut(), key_and_value(part)) {
            (Some(last), None) => last.value.extend([",", part]),
            (Some(last), Some(_)) if continues => last.value.extend([",", part]),
            (_, Some((key, value))) => pairs.push(MetaPair::new(key, value)),
            (None, None) => return None,
        }
        continues = is_escaped;
    }
    let mut kept: Vec<MetaPair> = Vec::new();
    pairs.into_iter().for_each(|pair| set_meta(&mut kept, pair));
    (kept.len() <= MAX_META_PAIRS).then_some(kept)
}

/// Adds a pair, or replaces the value of its key.
pub fn set_meta(pairs: &mut Vec<MetaPair>, pair: MetaPair) {
    match pairs.iter_mut().find(|known| known.key == pair.key) {
        Some(known) => known.value = pair.value,
        None => pairs.push(pair),
    }
}

/// Drops pairs without a value and pairs beyond [`MAX_META_PAIRS`], and cuts the values that pass
/// [`MAX_META_BYTES`].
pub fn limit_meta(pairs: &mut Vec<MetaPair>) {
    pairs.retain(|pair| !pair.value.is_empty());
    pairs.truncate(MAX_META_PAIRS);
    let mut room = MAX_META_BYTES;
    pairs.retain_mut(|pair| {
        cut(&mut pair.value, room.saturating_sub(pair.key.len()));
        if !pair.value.is_empty() {
            room = room.saturating_sub(pair.key.len() + pair.value.len());
        }
        !pair.value.is_empty()
    });
}

/// Cuts `text` to `max` bytes, the last of them an ellipsis.
fn cut(text: &mut String, max: usize) {
    if text.len() <= max {
        return;
    }
    let end = max.saturating_sub(ELLIPSIS.len_utf8());
    text.truncate(longest_prefix(text, end).len());
    if !text.is_empty() {
        text.push(ELLIPSIS);
    }
}

fn key_and_value(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let key = key.trim();
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_valid = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(is_key);
    is_valid.then(|| (key, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::{MAX_META_BYTES, MAX_META_PAIRS, MetaPair, limit_meta, parse_meta};

    fn parsed(text: &str) -> Vec<(String, String)> {
        let pairs = parse_meta(text).unwrap();
        pairs
            .into_iter()
            .map(|pair| (pair.key, pair.value))
            .collect()
    }

    #[test]
    fn a_comma_that_no_key_follows_belongs_to_the_value() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(parsed("a=1, b=2"), [pair("a", "1"), pair("b", "2")]);
        assert_eq!(parsed("a=x,y,b=z,"), [pair("a", "x,y"), pair("b", "z,")]);
        assert_eq!(parsed("args=--lr=1,--b=2"), [pair("args", "--lr=1,--b=2")]);
        assert_eq!(
            parsed(r"a=x\,b=y,c=1"),
            [pair("a", "x,b=y"), pair("c", "1")]
        );
        assert_eq!(parsed(r"dir=C:\x\"), [pair("dir", r"C:\x\")]);
        assert_eq!(parsed(r"a=x\,y\"), [pair("a", r"x,y\")]);
        assert_eq!(parsed("a=1,a=2"), [pair("a", "2")]);
        assert_eq!(parsed("args="), [pair("args", "")]);
        for wrong in ["", "commit", "=x", "1a=x", "a b=x", ",a=1"] {
            assert_eq!(parse_meta(wrong), None, "{wrong}");
        }
        let many: Vec<String> = (0..=MAX_META_PAIRS).map(|at| format!("k{at}=v")).collect();
        assert_eq!(parse_meta(&many.join(",")), None);
    }

    #[test]
    fn pairs_are_bounded() {
        let long = "ü".repeat(3_000);
        let mut pairs = vec![
            MetaPair::new("empty", ""),
            MetaPair::new("a", long),
            MetaPair::new("b", "1"),
        ];
        limit_meta(&mut pairs);
        let bytes = |pair: &MetaPair| pair.key.len() + pair.value.len();
        assert!(pairs.iter().map(bytes).sum::<usize>() <= MAX_META_BYTES);
        assert_eq!((pairs.len(), pairs[0].key.as_str()), (1, "a"));
        assert!(pairs[0].value.len() > 4_090 && pairs[0].value.ends_with("ü…"));
        let mut pairs = vec![MetaPair::new("a", "1"); 40];
        limit_meta(&mut pairs);
        assert_eq!(pairs.len(), MAX_META_PAIRS);
    }
}
