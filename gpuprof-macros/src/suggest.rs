//! Suggests the known word that is nearest to a misspelled one.

/// The nearest known word, if at most two edits, and fewer than half of its letters, are between
/// them. Swapping two neighbours is one edit.
pub(crate) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::osa_distance(written, known), known))
        .filter(|(off, known)| *off <= 2 && 2 * off < known.len())
        .min()
        .map(|(_, known)| known)
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
