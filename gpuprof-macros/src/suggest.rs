//! Suggests the known word that is nearest to a misspelled one.

/// The nearest known word, if at most two edits, and fewer than half of its letters, are between
/// them.
pub(crate) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (distance(written, known), known))
        .filter(|(off, known)| *off <= 2 && 2 * off < known.len())
        .min()
        .map(|(_, known)| known)
}

/// Edits from one word to the other; swapping two neighbours is one edit (optimal string
/// alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j - 1] + same)
                .min(rows[i - 1][j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_misses_are_recognized_and_far_ones_are_not() {
        for (written, meant) in [
            ("nmae", Some("name")),
            ("colour", Some("color")),
            ("strem", Some("stream")),
            ("byte", Some("bytes")),
            ("gpu", Some("cpu")),
            ("arg", Some("args")),
            ("foo", None),
            ("x", None),
        ] {
            let known = [
                "name",
                "stream",
                "cpu",
                "bytes",
                "flops",
                "precision",
                "items",
                "args",
                "color",
            ];
            assert_eq!(nearest(written, known.into_iter()), meant, "{written}");
        }
    }
}
