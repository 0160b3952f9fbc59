//! Promise: a merged report says which rank the others wait for in collectives, and never calls one
//! that waits the slowest.

mod profiles;

use gpuprof_report::merge::Merger;
use gpuprof_report::profile::*;
use profiles::{options, report};

const MS: u64 = 1_000_000;
const ALL_REDUCE: &str =
    "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";
const SEND_RECV: &str = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

/// A rank of two that trains for 100 steps: each computes, and then runs `collective`.
struct Rank {
    number: u32,
    compute_ms: u64,
    collective: &'static str,
    collective_ms: u64,
    steps: u64,
}

/// As measured on two H100s: rank 1 computes for longer, and rank 0 waits for it.
const JOB: [Rank; 2] = [rank(0, 844, 400), rank(1, 959, 46)];

const fn rank(number: u32, compute_ms: u64, collective_ms: u64) -> Rank {
    Rank {
        number,
        compute_ms,
        collective: ALL_REDUCE,
        collective_ms,
        steps: 100,
    }
}

fn function(name: &str, calls: u64, busy_ns: u64) -> Function {
    let mut function = Function::default();
    function.name = name.into();
    function.calls = calls;
    function.has_stream = true;
    function.cpu.total_ns = calls * 20_000;
    let mut gpu = GpuSpanStats::default();
    (gpu.device, gpu.timed_calls, gpu.timed_ns) = (Some(0), calls, busy_ns);
    gpu.times.total_ns = busy_ns;
    function.gpu = Some(gpu);
    (function.activity.busy_ns, function.activity.busy_calls) = (Some(busy_ns), calls);
    function
}

fn kernel(symbol: &str, calls: u64, total_ns: u64) -> KernelStats {
    let mut kernel = KernelStats::default();
    (kernel.name, kernel.full_name, kernel.symbol) = (symbol.into(), symbol.into(), symbol.into());
    (kernel.times.calls, kernel.times.total_ns) = (calls, total_ns);
    kernel
}

fn node(id: u32, parent: Option<u32>, name: &str, launched: Option<(u32, u64, u64)>) -> TreeNode {
    let mut node = TreeNode::default();
    (node.id, node.parent, node.name, node.function) = (id, parent, name.into(), Some(id));
    if let Some((kernel, calls, total_ns)) = launched {
        let mut activity = NodeActivity::default();
        (activity.kernel, activity.calls, activity.total_ns) = (Some(kernel), calls, total_ns);
        node.activities = vec![activity];
    }
    node
}

impl Rank {
    fn profile(&self) -> Profile {
        let (compute_ns, collective_ns) = (self.compute_ms * MS, self.collective_ms * MS);
        let mut profile = Profile::default();
        profile.program = "train".into();
        (profile.host, profile.pid) = ("node7".into(), 100 + self.number);
        (profile.rank, profile.world_size) = (Some(self.number), Some(2));
        profile.started_at = format!("2026-11-24T10:00:00.{}Z", self.number);
        profile.wall_ns = 1_400 * MS;
        profile.functions = vec![
            function("step", self.steps, compute_ns + collective_ns),
            function("compute", self.steps, compute_ns),
            function("all_reduce_beside", self.steps, collective_ns),
        ];
        profile.kernels = vec![
            kernel("matmul", self.steps, compute_ns),
            kernel(self.collective, self.steps, collective_ns),
        ];
        profile.tree = vec![
            node(0, None, "step", None),
            node(1, Some(0), "compute", Some((0, self.steps, compute_ns))),
            node(
                2,
                Some(0),
                "all_reduce_beside",
                Some((1, self.steps, collective_ns)),
            ),
        ];
        profile.diagnostics.calls = 3 * self.steps;
        profile.cupti = Some(CuptiCompleteness::default());
        profile
    }
}

fn merge<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Profile {
    let mut merger = Merger::default();
    profiles.into_iter().for_each(|profile| merger.add(profile));
    merger.finish()
}

fn job(ranks: &[Rank]) -> Profile {
    let profiles: Vec<Profile> = ranks.iter().map(Rank::profile).collect();
    merge(&profiles)
}

/// The section of the report on the ranks.
fn section(job: &Profile) -> String {
    let text = report(job, &options(100));
    let start = text.find("2 profiles of 1 host").expect("the section");
    let section = &text[start..];
    section[..section.find("\n\n").expect("an end")].to_owned()
}

#[test]
fn the_late_rank_of_collectives_is_the_one_with_the_least_time() {
    let text = section(&job(&JOB));
    assert_eq!(
        text,
        "\
2 profiles of 1 host, the largest imbalance first: total time of each rank, 0 where a function did
  not run
Collectives of NCCL come last: a rank waits in them for the late one, which has the least time
Over ranks                Ranks  Min(ms)  Avg(ms)  Max(ms)  Max/avg                Slowest
compute (busy)                2    844        902      959     1.06        rank 1 on node7
step (without NCCL)           2    844        902      959     1.06        rank 1 on node7
all_reduce_beside (NCCL)      2     46.0      223      400        –  late: rank 1 on node7"
    );
}

#[test]
fn the_page_about_ranks_shows_this_job() {
    let page = include_str!("../../docs/ranks.md");
    let job = report(&job(&JOB), &options(100));
    let part = |from: &str| {
        let start = job.find(from).expect("the part");
        let lines = job[start..].lines();
        lines
            .take_while(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    for from in ["Look first", "Over ranks"] {
        let shown = part(from);
        assert!(page.contains(&shown), "{shown}");
    }
}

#[test]
fn a_late_rank_is_a_finding_with_what_the_others_wait() {
    let job = job(&JOB);
    let [finding] = &job.findings[..] else {
        panic!("{:?}", job.findings);
    };
    assert_eq!(finding.rule, FindingRule::LateRank);
    assert_eq!(
        (finding.gain_ns, finding.function.as_ref()),
        (354 * MS, None)
    );
    assert_eq!(
        finding.evidence,
        "rank 1 is late: 959 ms of GPU work, others 844 ms; rank 0 waits 354 ms in AllReduce"
    );
    let text = report(&job, &options(80));
    assert!(text.contains("1  the program rank 1 is late: "), "{text}");
}

#[test]
fn a_rank_that_is_late_without_more_work_has_another_cause() {
    let found = job(&[rank(0, 844, 400), rank(1, 850, 46)]).findings;
    assert_eq!(
        found[0].evidence,
        "rank 1 is late without more GPU work (850 ms, others 844 ms); rank 0 waits 354 ms in \
         AllReduce"
    );
}

#[test]
fn nothing_is_said_of_ranks_that_are_late_in_turn() {
    let found = |ranks: &[Rank]| job(ranks).findings;
    assert_eq!(found(&[rank(0, 900, 223), rank(1, 900, 223)]), []);
    assert_eq!(
        found(&[rank(0, 900, 240), rank(1, 905, 206)]),
        [],
        "2 % of the wall"
    );
    let few = JOB.map(|rank| Rank { steps: 19, ..rank });
    assert_eq!(found(&few), [], "few collectives");
}

#[test]
fn ranks_with_different_collectives_are_not_compared() {
    let [first, second] = JOB;
    let fewer = job(&[
        first,
        Rank {
            steps: 99,
            ..second
        },
    ]);
    assert_eq!(fewer.findings, []);
    let text = section(&fewer);
    assert!(!text.contains("late:"), "{text}");
    // One rank sends and the other waits for it: neither is late, and neither is slow.
    let transfers = job(&JOB.map(|rank| Rank {
        collective: SEND_RECV,
        ..rank
    }));
    assert_eq!(transfers.findings, []);
    let text = section(&transfers);
    let row = text.lines().last().expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..2], ["all_reduce_beside", "(NCCL)"], "{text}");
    assert_eq!(cells[6..], ["–", "–"], "{text}");
}

#[test]
fn a_job_that_is_merged_in_parts_has_the_same_collectives() {
    let ranks: Vec<Profile> = [
        rank(0, 844, 400),
        rank(1, 959, 46),
        rank(2, 850, 380),
        rank(3, 840, 390),
    ]
    .iter()
    .map(Rank::profile)
    .collect();
    let at_once = merge(&ranks);
    let parts = [merge(&ranks[..2]), merge(&ranks[2..])];
    let in_parts = merge(&parts);
    assert_eq!(in_parts.ranks, at_once.ranks);
    assert_eq!(in_parts.findings, at_once.findings);
    let ranks = at_once.ranks.expect("ranks");
    let collectives = ranks.collectives.expect("collectives");
    assert_eq!((collectives.profiles, collectives.calls), (4, Some(100)));
    assert_eq!(collectives.late().and_then(|late| late.rank), Some(1));
    assert_eq!(
        (collectives.most.rank, collectives.mean_ns),
        (Some(0), 304 * MS)
    );
    // 390 ms in the mean of the others, less the 46 of rank 1.
    assert_eq!(at_once.findings[0].gain_ns, 344 * MS);
}

/// 1,000 ranks, of which those in `late` compute longer and wait as much less in collectives.
fn thousand(late: &[(u32, u64)]) -> Profile {
    let mut merger = Merger::default();
    for number in 0..1_000 {
        let by_ms = late.iter().find(|(rank, _)| *rank == number);
        let by_ms = by_ms.map_or(0, |(_, by_ms)| *by_ms);
        // No two ranks take exactly as long.
        let noise_ms = u64::from(number * 7 % 13);
        merger.add(&rank(number, 844 + by_ms, 400 - by_ms + noise_ms).profile());
    }
    merger.finish()
}

fn late_ranks(job: &Profile) -> Vec<(Option<u32>, u64)> {
    let ranks = job.ranks.as_ref().expect("merged");
    let late = ranks.late_processes(0.05).into_iter();
    late.map(|(of, late_ns)| (of.process.rank, late_ns / MS))
        .collect()
}

#[test]
fn exactly_the_late_ranks_of_a_thousand_are_named() {
    let job = thousand(&[(17, 120), (404, 354), (803, 200)]);
    let expected = [(Some(404), 353), (Some(803), 201), (Some(17), 124)];
    assert_eq!(late_ranks(&job), expected);
    let [finding] = &job.findings[..] else {
        panic!("{:?}", job.findings);
    };
    assert_eq!(
        finding.evidence,
        "3 ranks are late (rank 404 by 353 ms, rank 803 by 201 ms, rank 17 by 124 ms): 1.07 s of \
         GPU work, others 844 ms; rank 11 waits 359 ms in AllReduce"
    );
    let equal = thousand(&[]);
    assert_eq!(late_ranks(&equal), []);
    assert_eq!(equal.findings, []);
}

#[test]
fn of_many_late_ranks_the_latest_are_named() {
    let late: Vec<(u32, u64)> = (0..8)
        .map(|at| (at * 100, 350 - 10 * u64::from(at)))
        .collect();
    let job = thousand(&late);
    let evidence = &job.findings[0].evidence;
    assert!(
        evidence.starts_with("8 ranks are late (rank 0 by "),
        "{evidence}"
    );
    assert!(evidence.contains(", 3 more)"), "{evidence}");
    assert_eq!(evidence.matches(" by ").count(), 5, "{evidence}");
}

#[test]
fn without_cupti_one_line_says_that_collectives_are_not_told_apart() {
    let warning = "Without GPUPROF_CUPTI=on collectives are not told apart";
    let spans = JOB.map(|rank| {
        let mut profile = rank.profile();
        profile.cupti = None;
        profile.kernels.clear();
        profile
            .tree
            .iter_mut()
            .for_each(|node| node.activities.clear());
        for function in &mut profile.functions {
            function.activity = GpuActivity::default();
        }
        profile
    });
    let text = section(&merge(&spans));
    assert_eq!(text.matches(warning).count(), 1, "{text}");
    assert!(!section(&job(&JOB)).contains(warning));
    // Repeated runs of a program that has no ranks.
    let runs = spans.map(|mut profile| {
        (profile.rank, profile.world_size) = (None, None);
        profile
    });
    assert!(!section(&merge(&runs)).contains(warning));
}
