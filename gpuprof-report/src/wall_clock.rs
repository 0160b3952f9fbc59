//! The time at which a profile began.

/// Reads RFC 3339 in UTC, such as `2026-11-22T17:59:00.25Z`: ns since 1970. `None` for any
/// other text.
pub(crate) fn unix_ns(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (year, month, day) = three(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let (hour, minute, second) = three(time, ':')?;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    let in_day = hour * 3_600 + minute * 60 + second;
    let seconds = days_since_1970(year, month, day)?.checked_mul(86_400)? + in_day;
    let ns = seconds.checked_mul(1_000_000_000)?;
    ns.checked_add((fraction * 1e9) as u64)
}

/// Three numbers of up to four digits.
fn three(text: &str, separator: char) -> Option<(u64, u64, u64)> {
    let mut numbers = text.split(separator).map(|number| {
        let is_short = number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|_| is_short)
    });
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// Of the Gregorian calendar, with years that begin in March.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = match month {
        1..=2 => (year.checked_sub(1)?, month + 9),
        3..=12 => (year, month - 3),
        _ => return None,
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let in_year = (153 * month + 2) / 5 + day.checked_sub(1)?;
    (365 * year + leap_days + in_year).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_nanosecond() {
        for (text, ns) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-03-01T00:00:01Z", Some(951_868_801_000_000_000)),
            ("2026-11-22T17:59:00.25Z", Some(1_795_370_340_250_000_000)),
            ("2024-02-29T12:00:00Z", Some(1_709_208_000_000_000_000)),
            ("1969-12-31T23:59:59Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-00T00:00:00Z", None),
            ("99999999999-01-01T00:00:00Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(unix_ns(text), ns, "{text}");
        }
    }
}
