//! The lines of a code object's instructions: its location table, as `Objects/locations.md` of
//! CPython describes it for 3.11 and later.

/// Kinds of entries; the ones below have columns and no line of their own.
const FIRST_WITH_COLUMNS: u8 = 10;
const LAST_WITH_COLUMNS: u8 = 12;
const WITHOUT_COLUMNS: u8 = 13;
const LONG: u8 = 14;
const WITHOUT_LINE: u8 = 15;

/// The line of the code unit `unit`. `None` if it has none, or if the table ends before.
pub(super) fn line_of(table: &[u8], first_line: u32, unit: usize) -> Option<u32> {
    let mut rest = table.iter().copied();
    let (mut line, mut end) = (i64::from(first_line), 0);
    loop {
        let head = rest.next()?;
        end += usize::from(head & 7) + 1;
        let kind = head >> 3 & 0xf;
        match kind {
            FIRST_WITH_COLUMNS..=LAST_WITH_COLUMNS => {
                line += i64::from(kind - FIRST_WITH_COLUMNS);
                rest.nth(1)?;
            }
            WITHOUT_COLUMNS => line += signed(&mut rest)?,
            LONG => {
                line += signed(&mut rest)?;
                // The last line, and both columns.
                for _ in 0..3 {
                    number(&mut rest)?;
                }
            }
            WITHOUT_LINE => {}
            _ => {
                rest.next()?;
            }
        }
        if unit < end {
            let has_line = kind != WITHOUT_LINE;
            return u32::try_from(line).ok().filter(|_| has_line);
        }
    }
}

/// A number in groups of 6 bits, the lowest first; bit 6 says that another one follows.
fn number(rest: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let mut value = 0;
    for shift in (0..36).step_by(6) {
        let byte = rest.next()?;
        value |= i64::from(byte & 0x3f) << shift;
        if byte & 0x40 == 0 {
            return Some(value);
        }
    }
    None
}

/// A number whose lowest bit is its sign.
fn signed(rest: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let value = number(rest)?;
    Some(if value & 1 == 0 {
        value >> 1
    } else {
        -(value >> 1)
    })
}

#[cfg(test)]
mod tests {
    use super::line_of;

    /// The first byte of an entry of so many code units.
    fn head(kind: u8, units: u8) -> u8 {
        0x80 | kind << 3 | (units - 1)
    }

    #[test]
    fn each_kind_of_entry_has_its_line() {
        let table = [
            &[head(15, 1)][..],
            // The line of the function, by its columns alone.
            &[head(2, 2), 0x35],
            // Two lines further, with columns.
            &[head(12, 1), 4, 9],
            // 70 lines further: 140 is 12 and 2 × 64.
            &[head(13, 8), 0x4c, 0x02],
            // 3 lines back, with its end and columns.
            &[head(14, 1), 0x07, 0x01, 0x45, 0x01, 0x09],
        ]
        .concat();
        let lines: Vec<_> = (0..14).map(|unit| line_of(&table, 10, unit)).collect();
        let expected = [
            &[None, Some(10), Some(10), Some(12)][..],
            &[Some(82); 8],
            &[Some(79), None],
        ];
        assert_eq!(lines, expected.concat());
    }

    #[test]
    fn a_table_that_is_cut_off_or_wrong_has_no_line() {
        assert_eq!(line_of(&[], 10, 0), None);
        for kind in [2, 10, 13, 14] {
            assert_eq!(line_of(&[head(kind, 1)], 10, 0), None);
        }
        // A number without an end, and a line before the first of a file.
        assert_eq!(
            line_of(&[&[head(13, 1)][..], &[0x7f; 9]].concat(), 10, 0),
            None
        );
        assert_eq!(line_of(&[head(13, 1), 0x3f], 10, 0), None);
    }
}
