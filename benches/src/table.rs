//! Aligns columns and wraps text to the terminal's width.

/// A column.
pub(crate) struct Column {
    pub(crate) head: String,
    /// True if the column is omitted first on a narrow terminal.
    pub(crate) spare: bool,
}

/// Rows of cells; the first column is left-aligned, the others are right-aligned.
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
}

const GAP: usize = 2;

impl Table {
    /// The lines of the table. `width` is the terminal's; `None` means unlimited.
    pub(crate) fn lines(&self, width: Option<usize>) -> Vec<String> {
        let all = |_: &usize| true;
        let needed = |index: &usize| !self.columns[*index].spare;
        let everything = self.draw(all);
        let longest = everything.iter().map(|line| line.chars().count()).max();
        match width {
            Some(width) if longest.unwrap_or(0) > width => self.draw(needed),
            _ => everything,
        }
    }

    fn draw(&self, shown: impl Fn(&usize) -> bool) -> Vec<String> {
        let indices: Vec<usize> = (0..self.columns.len()).filter(shown).collect();
        let heads: Vec<String> = self
            .columns
            .iter()
            .map(|column| column.head.clone())
            .collect();
        let rows = || std::iter::once(&heads).chain(&self.rows);
        let cell = |row: &Vec<String>, index: usize| row.get(index).cloned().unwrap_or_default();
        let widths = indices.iter().map(|&index| {
            let lengths = rows().map(|row| cell(row, index).chars().count());
            lengths.max().unwrap_or(0)
        });
        let widths: Vec<usize> = widths.collect();
        rows()
            .map(|row| {
                let mut line = String::new();
                for (&index, &width) in indices.iter().zip(&widths) {
                    let cell = cell(row, index);
                    match index {
                        0 => line += &format!("{cell:<width$}"),
                        _ => line += &format!("{:GAP$}{cell:>width$}", ""),
                    }
                }
                line.trim_end().to_owned()
            })
            .collect()
    }
}

/// Wraps text at spaces.
pub(crate) fn wrapped(text: &str, width: Option<usize>) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        let longer = line.chars().count() + 1 + word.chars().count();
        if line.is_empty() {
            line.push_str(word);
        } else if width.is_some_and(|width| longer > width) {
            lines.push(word.to_owned());
        } else {
            *line += &format!(" {word}");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_columns_go_where_there_is_no_room() {
        let column = |head: &str, spare| Column {
            head: head.to_owned(),
            spare,
        };
        let table = Table {
            columns: vec![
                column("", false),
                column("ns", false),
                column("spread", true),
            ],
            rows: vec![vec!["two reads".into(), "18.5".into(), "18–19".into()]],
        };
        let wide = ["             ns  spread", "two reads  18.5   18–19"];
        assert_eq!(table.lines(None), wide);
        assert_eq!(table.lines(Some(23)), wide);
        assert_eq!(
            table.lines(Some(22)),
            ["             ns", "two reads  18.5"]
        );
    }

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", Some(8)), ["one two", "three"]);
        assert_eq!(wrapped("one two", None), ["one two"]);
        assert_eq!(wrapped("", Some(8)), [""]);
    }
}
