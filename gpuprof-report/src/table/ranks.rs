//! How the ranks of a merged profile differ: where the slowest one keeps the others waiting.

use std::cmp::Reverse;

use super::columns;
use super::function_name::RepeatedNames;
use super::grid::{Grid, RowLabel};
use super::hidden::Hidden;
use super::number;
use super::options::TableOptions;
use super::quantity::{self, Column, Quantity};
use super::words::{DIM, Paragraph};
use crate::profile::{FunctionRanks, Profile, RankProcess, RankSpread, Ranks};
use crate::sanitize;
use crate::sorting::sort_by_key;

/// The time of one function over the ranks.
struct RankRow {
    label: RowLabel,
    /// Ranks that the times are of.
    profiles: u32,
    min_ns: u64,
    mean_ns: u64,
    max_ns: u64,
    /// `None` of collectives, whose time is no work that could be spread evenly.
    imbalance: Option<f64>,
    /// The slowest rank; of collectives, the late one.
    process: Option<String>,
    is_collective: bool,
}

impl RankRow {
    /// `None` if the function is not there.
    fn new(of: &FunctionRanks, profile: &Profile, names: &RepeatedNames<'_>) -> Option<Self> {
        let name = names.shown(profile.functions.get(of.function as usize)?);
        let is_timed = |spread: &&RankSpread| spread.max_ns > 0;
        let (spread, what) = match (&of.busy, &of.gpu) {
            (Some(busy), _) if is_timed(&busy) => (busy, "busy"),
            (_, Some(gpu)) if is_timed(&gpu) => (gpu, "span"),
            _ => (&of.cpu, "CPU"),
        };
        let row = |what: &str, spread: &RankSpread| Self {
            label: RowLabel::named(format!("{name} ({what})")),
            profiles: of.profiles,
            min_ns: spread.min_ns,
            mean_ns: spread.mean_ns,
            max_ns: spread.max_ns,
            imbalance: spread.imbalance,
            process: Some(process(
                spread.slowest_rank,
                &spread.slowest_host,
                spread.slowest_pid,
            )),
            is_collective: false,
        };
        // Ranks that ran the function without a collective have nothing to compare.
        let collectives = of.collectives.as_deref();
        let Some(ranks) = collectives.filter(|ranks| ranks.profiles == of.profiles) else {
            return Some(row(what, spread));
        };
        let waiting_ns = ranks.mean_ns.saturating_add(ranks.one_sided_mean_ns);
        if ranks.other.mean_ns >= waiting_ns {
            // The busy time has the wait for the late rank, which is short there.
            return Some(row("without NCCL", &ranks.other));
        }
        let busy = Self {
            imbalance: None,
            process: None,
            is_collective: true,
            ..row("NCCL", spread)
        };
        if ranks.one_sided_mean_ns > ranks.mean_ns {
            return Some(busy);
        }
        let late = ranks.late();
        Some(Self {
            min_ns: ranks.min_ns,
            mean_ns: ranks.mean_ns,
            max_ns: ranks.max_ns,
            process: late.map(|late| format!("late: {}", process(late.rank, &late.host, late.pid))),
            ..busy
        })
    }

    /// What the slowest rank takes longer than the mean, ns; collectives come after all others.
    fn order(&self) -> (bool, Reverse<u64>) {
        let excess_ns = self.max_ns.saturating_sub(self.mean_ns);
        (self.is_collective, Reverse(excess_ns))
    }
}

/// `rank 3 on node7`, or the process id where the rank is not known.
pub(super) fn process(rank: Option<u32>, host: &str, pid: u32) -> String {
    let process = RankProcess {
        rank,
        pid,
        ..RankProcess::default()
    };
    match host {
        "" => process.to_string(),
        host => format!("{process} on {}", sanitize::short(host, MAX_HOST)),
    }
}

/// Characters of a host's name.
const MAX_HOST: usize = 30;

const COLUMNS: &[Column<RankRow>] = &[
    ("Ranks", 60, |row| {
        Some(Quantity::Count(u64::from(row.profiles)).into())
    }),
    ("Min", 70, |row| columns::ns(Some(row.min_ns))),
    ("Avg", 80, |row| columns::ns(Some(row.mean_ns))),
    ("Max", 90, |row| columns::ns(Some(row.max_ns))),
    ("Max/avg", 100, |row| {
        let text = number::decimal(row.imbalance?, 2).text();
        Some(Quantity::Text(text).into())
    }),
    ("Slowest", 95, |row| {
        Some(Quantity::Text(row.process.clone()?).into())
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
    let mut rows: Vec<RankRow> = ranks
        .functions
        .iter()
        .filter_map(|of| RankRow::new(of, profile, &names))
        .collect();
    sort_by_key(&mut rows, RankRow::order);
    let limit = options.activity_limit();
    hidden.rows += rows.len().saturating_sub(limit);
    rows.truncate(limit);
    for line in introduction(profile, ranks, &rows) {
        line.write(out, options.color, options.width, 2);
    }
    let grid = Grid {
        title: "Over ranks".to_owned(),
        columns: quantity::columns(quantity::values(&rows, COLUMNS)),
        labels: rows.iter().map(|row| row.label.clone()).collect(),
    };
    hidden.columns += grid.draw(options, out).dropped;
    out.push('\n');
}

/// What the rows are, and which of them need care.
fn introduction(profile: &Profile, ranks: &Ranks, rows: &[RankRow]) -> Vec<Paragraph> {
    let hosts = match ranks.hosts {
        1 => "1 host".to_owned(),
        hosts => format!("{hosts} hosts"),
    };
    let mut lines = vec![format!(
        "{} profiles of {hosts}, the largest imbalance first: total time of each rank, 0 where a \
         function did not run",
        ranks.profiles
    )];
    if rows.iter().any(|row| row.is_collective) {
        lines.push(
            "Collectives of NCCL come last: a rank waits in them for the late one, which has the \
             least time"
                .to_owned(),
        );
    }
    let is_job = |of: &FunctionRanks| of.cpu.slowest_rank.is_some();
    if profile.cupti.is_none() && ranks.functions.iter().all(is_job) {
        lines.push(
            "Without GPUPROF_CUPTI=on collectives are not told apart: a rank that waits in one \
             looks slow"
                .to_owned(),
        );
    }
    let words = lines.iter().map(|line| Paragraph::new(DIM, line));
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Function;

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
