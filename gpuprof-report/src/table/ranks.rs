//! How the ranks of a merged profile differ: where the slowest one keeps the others waiting.

use std::cmp::Reverse;

use super::columns;
use super::function_name::RepeatedNames;
use super::grid::{Grid, Label};
use super::hidden::Hidden;
use super::number;
use super::options::TableOptions;
use super::quantity::{self, Quantity, Value};
use super::words::{DIM, Words};
use crate::profile::{FunctionRanks, Profile, RankSpread};
use crate::sanitize;
use crate::sorting::sort_by_key;

/// The time of one function over the ranks.
struct Row<'a> {
    label: Label,
    ranks: &'a FunctionRanks,
    spread: &'a RankSpread,
}

impl Row<'_> {
    /// What the slowest rank takes longer than the mean, ns.
    fn excess_ns(&self) -> u64 {
        self.spread.max_ns.saturating_sub(self.spread.mean_ns)
    }

    fn slowest(&self) -> String {
        let process = match self.spread.slowest_rank {
            Some(rank) => format!("rank {rank}"),
            None => format!("process {}", self.spread.slowest_pid),
        };
        match self.spread.slowest_host.as_str() {
            "" => process,
            host => format!("{process} on {}", sanitize::short(host, MAX_HOST)),
        }
    }
}

/// Characters of a host's name.
const MAX_HOST: usize = 30;

/// Heading, rank of the column and its cell.
type Spec = (&'static str, u8, fn(&Row<'_>) -> Option<Value>);

const COLUMNS: &[Spec] = &[
    ("Ranks", 60, |row| {
        Some(Quantity::Count(u64::from(row.ranks.profiles)).into())
    }),
    ("Min", 70, |row| columns::ns(Some(row.spread.min_ns))),
    ("Avg", 80, |row| columns::ns(Some(row.spread.mean_ns))),
    ("Max", 90, |row| columns::ns(Some(row.spread.max_ns))),
    ("Max/avg", 100, |row| {
        let text = number::decimal(row.spread.imbalance?, 2).text();
        Some(Quantity::Text(text).into())
    }),
    ("Slowest", 95, |row| {
        Some(Quantity::Text(row.slowest()).into())
    }),
];

/// Writes the section of a merged profile; nothing for the profile of one process.
pub(super) fn write(
    profile: &Profile,
    options: &TableOptions,
    hidden: &mut Hidden,
    out: &mut String,
) {
    let Some(ranks) = profile.ranks.as_ref().filter(|ranks| ranks.profiles > 1) else {
        return;
    };
    let names = RepeatedNames::of(profile);
    let rows = ranks.functions.iter().filter_map(|of| {
        let function = profile.functions.get(of.function as usize)?;
        let is_timed = |spread: &&RankSpread| spread.max_ns > 0;
        let (spread, what) = match (&of.busy, &of.gpu) {
            (Some(busy), _) if is_timed(&busy) => (busy, "busy"),
            (_, Some(gpu)) if is_timed(&gpu) => (gpu, "span"),
            _ => (&of.cpu, "CPU"),
        };
        let name = names.shown(function);
        Some(Row {
            label: Label {
                name: format!("{name} ({what})"),
                ..Label::default()
            },
            ranks: of,
            spread,
        })
    });
    let mut rows: Vec<Row<'_>> = rows.collect();
    sort_by_key(&mut rows, |row| Reverse(row.excess_ns()));
    let limit = options.activity_limit();
    hidden.rows += rows.len().saturating_sub(limit);
    rows.truncate(limit);
    let mut words = Words::default();
    let hosts = match ranks.hosts {
        1 => "1 host".to_owned(),
        hosts => format!("{hosts} hosts"),
    };
    words.add(
        DIM,
        &format!(
            "{} profiles of {hosts}, the largest imbalance first: total time of each rank, 0 \
             where a function did not run",
            ranks.profiles
        ),
    );
    words.write(out, options.color, options.width, 2);
    let columns = COLUMNS.iter().map(|(heading, rank, cell)| {
        let values = rows.iter().map(cell);
        (*heading, *rank, values.collect())
    });
    let grid = Grid {
        title: "Over ranks".to_owned(),
        columns: quantity::columns(columns),
        labels: rows.iter().map(|row| row.label.clone()).collect(),
    };
    hidden.columns += grid.draw(options, out).dropped;
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Function, Ranks};

    fn profile() -> Profile {
        let spread = |min_ns, mean_ns, max_ns, rank| RankSpread {
            min_ns,
            mean_ns,
            max_ns,
            imbalance: Some(max_ns as f64 / mean_ns as f64),
            slowest_rank: rank,
            slowest_host: "node7".into(),
            slowest_pid: 4_711,
        };
        let named = |name: &str| Function {
            name: name.into(),
            calls: 1,
            ..Function::default()
        };
        let ranks = |function, cpu| FunctionRanks {
            function,
            profiles: 4,
            cpu,
            ..FunctionRanks::default()
        };
        let mut functions = vec![
            ranks(0, spread(1_000, 1_000, 1_000, None)),
            ranks(1, spread(0, 2_000, 5_000, Some(3))),
            // Points nowhere.
            ranks(9, spread(1, 1, 1, None)),
        ];
        functions[1].gpu = Some(spread(1_000, 4_000, 9_000, Some(2)));
        Profile {
            functions: vec![named("even"), named("uneven")],
            ranks: Some(Ranks {
                profiles: 4,
                hosts: 2,
                functions,
                ..Ranks::default()
            }),
            ..Profile::default()
        }
    }

    fn text(profile: &Profile) -> String {
        let mut out = String::new();
        write(
            profile,
            &TableOptions::default(),
            &mut Hidden::default(),
            &mut out,
        );
        out
    }

    #[test]
    fn the_largest_imbalance_is_first_with_its_slowest_rank() {
        assert_eq!(
            text(&profile()),
            "4 profiles of 2 hosts, the largest imbalance first: total time of each rank, 0 where \
             a function did not run\n\
             Over ranks     Ranks  Min(µs)  Avg(µs)  Max(µs)  Max/avg                Slowest\n\
             uneven (span)      4     1.00     4.00     9.00     2.25        rank 2 on node7\n\
             even (CPU)         4     1.00     1.00     1.00     1.00  process 4711 on node7\n\n"
        );
    }

    #[test]
    fn a_profile_of_one_process_has_no_such_section() {
        let mut single = profile();
        single.ranks.as_mut().unwrap().profiles = 1;
        assert_eq!(text(&single), "");
        single.ranks = None;
        assert_eq!(text(&single), "");
    }
}
