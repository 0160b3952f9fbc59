//! Promise: a merged report names the ranks that were late in a part of the run, with their steps,
//! and nobody by chance.

mod profiles;

use fastrand::Rng;
use gpuprof_report::json;
use gpuprof_report::merge::Merger;
use gpuprof_report::profile::*;
use profiles::{options, report};

const MS: u64 = 1_000_000;
const ALL_REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

/// A job that trains: in each step a rank computes, and then waits in AllReduce for the last one.
struct Job {
    /// Compute time of each step of each rank, ns.
    compute: Vec<Vec<u64>>,
    /// Time of each step, which is over when the last rank has come, ns.
    steps: Vec<u64>,
}

impl Job {
    fn new(ranks: u64, steps: u64, compute_ns: impl Fn(u64, u64) -> u64) -> Self {
        let of_rank = |rank| (1..=steps).map(|step| compute_ns(rank, step)).collect();
        Self::of((0..ranks).map(of_rank).collect())
    }

    fn of(compute: Vec<Vec<u64>>) -> Self {
        let latest = |at: usize| compute.iter().map(|of| of[at]).max().unwrap();
        Self {
            steps: (0..compute[0].len())
                .map(|at| latest(at) + 2 * MS)
                .collect(),
            compute,
        }
    }

    /// The profile of a rank, with windows as the runtime makes them.
    fn profile(&self, rank: usize) -> Profile {
        let compute = &self.compute[rank];
        let mut width = 1;
        while compute.len().div_ceil(width) > MAX_STEP_WINDOWS {
            width *= 2;
        }
        let mut steps = StepTimes::default();
        steps.count = compute.len() as u64;
        for (at, group) in compute.chunks(width).enumerate() {
            let mut window = StepWindow::default();
            window.first_step = (at * width) as u64 + 1;
            window.steps = group.len() as u64;
            window.collectives = group.len() as u64;
            for (step, compute_ns) in (at * width..).zip(group) {
                window.wall_ns += self.steps[step];
                window.collective_ns += self.steps[step] - compute_ns;
            }
            steps.total_ns += window.wall_ns;
            steps.windows.push(window);
        }
        let of_all = steps
            .windows
            .iter()
            .map(|window| window.collective_ns)
            .sum();
        let mut profile = Profile::default();
        profile.program = "train".into();
        (profile.host, profile.pid) = (format!("node{}", rank / 8), 100 + rank as u32);
        profile.rank = Some(rank as u32);
        profile.world_size = Some(self.compute.len() as u32);
        profile.wall_ns = steps.total_ns;
        profile.kernels = vec![
            kernel("matmul", steps.count, compute.iter().sum()),
            kernel(ALL_REDUCE, steps.count, of_all),
        ];
        profile.steps = Some(steps);
        profile.cupti = Some(CuptiCompleteness::default());
        profile
    }

    fn profiles(&self) -> Vec<Profile> {
        // Of one moment, so that the wall time of the job is that of a rank.
        (0..self.compute.len())
            .map(|rank| self.profile(rank))
            .collect()
    }

    fn merge(&self) -> Profile {
        merge(&self.profiles())
    }
}

fn kernel(symbol: &str, calls: u64, total_ns: u64) -> KernelStats {
    let mut kernel = KernelStats::default();
    (kernel.name, kernel.full_name, kernel.symbol) = (symbol.into(), symbol.into(), symbol.into());
    (kernel.times.calls, kernel.times.total_ns) = (calls, total_ns);
    kernel
}

fn merge(profiles: &[Profile]) -> Profile {
    let mut merger = Merger::default();
    profiles.iter().for_each(|profile| merger.add(profile));
    merger.finish()
}

/// Rank, first and last step, and how late it was in a step, µs.
fn late(job: &Profile) -> Vec<(u32, u64, u64, u64)> {
    let parts = job.ranks.iter().flat_map(|ranks| &ranks.late_steps);
    let parts = parts.map(|part| {
        let rank = part.process.rank.expect("ranks");
        (
            rank,
            part.first_step,
            part.last_step(),
            part.ns_per_step() / 1_000,
        )
    });
    parts.collect()
}

fn evidence(job: &Profile) -> Vec<&str> {
    let findings = job.findings.iter();
    findings.map(|finding| &*finding.evidence).collect()
}

/// 1 % of noise around 90 ms that is no one's fault, the same in every run of the test.
fn noise(rank: u64, step: u64) -> u64 {
    90 * MS + Rng::with_seed(rank << 32 | step).u64(0..MS)
}

/// Rank 417 takes 12 ms longer in the steps 401 to 592.
fn with_straggler(rank: u64, step: u64) -> u64 {
    let is_slow = rank == 417 && (401..=592).contains(&step);
    noise(rank, step) + if is_slow { 12 * MS } else { 0 }
}

#[test]
fn the_late_rank_of_a_thousand_is_named_with_its_steps() {
    let job = Job::new(1_000, 1_000, with_straggler).merge();
    let [(rank, first, last, per_step_us)] = late(&job)[..] else {
        panic!("{:?}", late(&job));
    };
    assert_eq!((rank, first, last), (417, 401, 592));
    assert!(per_step_us.abs_diff(12_000) < 300, "{per_step_us}");
    assert_eq!(
        evidence(&job),
        [
            "rank 417 was late in steps 401 to 592: the others waited 12.0 ms a step for it in \
          AllReduce"
        ]
    );
    assert!(job.findings[0].gain_ns.abs_diff(192 * 12 * MS) < 192 * MS / 3);
    let page = include_str!("../../docs/ranks.md");
    let text = report(&job, &options(100));
    for from in ["Look first", "Late in some steps"] {
        let lines = text[text.find(from).expect("the part")..].lines();
        let shown: Vec<&str> = lines.take(3).take_while(|line| !line.is_empty()).collect();
        assert!(page.contains(&shown.join("\n")), "{}", shown.join("\n"));
    }
}

#[test]
fn the_table_lists_the_steps() {
    let exact = |rank, step| with_straggler(rank, step) / MS * MS;
    let job = Job::new(8, 128, |rank, step| exact(417 + rank * 9, step * 8)).merge();
    let section = |width| {
        let text = report(&job, &options(width));
        let start = text.find("Late in some steps").expect("the section");
        let section = &text[start..];
        section[..section.find("\n\n").expect("an end")].to_owned()
    };
    let rows = "\
Late in some steps     Steps  Wait/step(ms)  Wait(ms)
rank 0 on node0     51 to 74           12.0       288";
    assert_eq!(section(80), rows);
    assert_eq!(section(200), rows);
    let text = json::to_string(&job);
    let again = json::from_str(&text).expect("a document");
    assert_eq!(again.ranks, job.ranks);
}

#[test]
fn several_late_ranks_are_all_named() {
    let compute = |rank, step| {
        let more_ms = match (rank, step) {
            (5, 101..=200) => 20,
            (6, 151..=250) => 15,
            (70, 151..=250) => 30,
            (5, 401..=500) => 10,
            _ => 0,
        };
        noise(rank, step) + more_ms * MS
    };
    let job = Job::new(100, 512, compute).merge();
    let mut found: Vec<_> = late(&job).iter().map(|of| (of.0, of.1, of.2)).collect();
    found.sort();
    // Windows of 8 steps, of which the outer ones are late in part.
    assert_eq!(
        found,
        [(5, 97, 200), (5, 401, 504), (6, 153, 248), (70, 145, 256)]
    );
    assert!(
        evidence(&job)[0]
            .starts_with("ranks were late in some steps, a step: rank 70 in 145 to 256 by "),
        "{:?}",
        evidence(&job)
    );
    // What two ranks cost at the same time counts once.
    let ranks = job.ranks.as_ref().unwrap();
    let of = |rank, first| {
        let mut parts = ranks.late_steps.iter();
        let part = parts.find(|part| part.process.rank == Some(rank) && part.first_step == first);
        part.expect("a part").late_ns
    };
    assert_eq!(job.findings[0].gain_ns, of(70, 145) + of(5, 401));
}

#[test]
fn the_list_of_late_ranks_is_bounded() {
    let is_slow = |rank, step| rank % 4 == 0 && (101..=200).contains(&step);
    let slow = |rank, step| noise(rank, step) + if is_slow(rank, step) { 20 * MS } else { 0 };
    let job = Job::new(600, 512, slow).merge();
    assert_eq!(late(&job).len(), MAX_LATE_STEPS);
    assert!(
        evidence(&job)[0].ends_with(", 95 more"),
        "{:?}",
        evidence(&job)
    );
}

#[test]
fn a_rank_that_is_late_in_all_steps_is_named_once() {
    let job = Job::new(50, 600, |rank, step| {
        noise(rank, step) + 12 * MS * u64::from(rank == 7)
    });
    let job = job.merge();
    assert_eq!(late(&job), []);
    let [found] = evidence(&job)[..] else {
        panic!("one of {:?}", job.findings);
    };
    assert!(found.starts_with("rank 7 is late: "), "{found}");
}

/// What is found in a hundred steps of eight ranks that compute for 4 ms, and longer as this says.
fn found(longer_ms: impl Fn(u64, u64) -> u64) -> Vec<(String, u64)> {
    let job = Job::new(8, 100, |rank, step| (4 + longer_ms(rank, step)) * MS).merge();
    let gains = job.findings.iter().map(|finding| finding.gain_ns / MS);
    let texts = evidence(&job).into_iter().map(str::to_owned);
    texts.zip(gains).collect()
}

#[test]
fn a_rank_that_is_late_in_some_steps_alone_is_named_once() {
    let in_steps = (
        "rank 1 was late in steps 41 to 60: the others waited 6.00 ms a step for it in AllReduce"
            .to_owned(),
        120,
    );
    let and_in_each_fourth = |ms| {
        found(|rank, step| match (rank, step) {
            (1, 41..=60) => 6,
            (1, ..=36 | 65..) if step % 4 == 0 => ms,
            _ => 0,
        })
    };
    assert_eq!(and_in_each_fourth(0), std::slice::from_ref(&in_steps));
    assert_eq!(and_in_each_fourth(6), std::slice::from_ref(&in_steps));
    let [most, part] = &and_in_each_fourth(7)[..] else {
        panic!("two");
    };
    assert_eq!(part, &in_steps);
    assert!(most.0.starts_with("rank 1 is late: "), "{most:?}");
    assert_eq!(most.1, 120 + 18 * 7);
}

#[test]
fn a_rank_that_is_late_in_all_steps_is_named_beside_one_that_is_later_in_some() {
    let found = found(|rank, step| match (rank, step) {
        (1, 41..=60) => 26,
        (2, _) => 2,
        _ => 0,
    });
    let has = |start| found.iter().any(|(text, _)| text.starts_with(start));
    assert!(has("rank 1 was late in steps 41 to 60: "), "{found:?}");
    let both = "2 ranks are late (rank 1 by 520 ms, rank 2 by 200 ms)";
    assert!(has(both), "{found:?}");
}

#[test]
fn one_costly_step_is_named() {
    let hiccup = |rank, step| noise(rank, step) + 9_000 * MS * u64::from((rank, step) == (3, 777));
    let job = Job::new(16, 1_000, hiccup).merge();
    let found: Vec<_> = late(&job).iter().map(|of| (of.0, of.1, of.2)).collect();
    assert_eq!(found, [(3, 769, 784)]);
}

#[test]
fn of_two_ranks_the_one_that_waits_less_is_late() {
    let job = Job::new(2, 1_000, |rank, step| with_straggler(416 + rank, step)).merge();
    let found: Vec<_> = late(&job).iter().map(|of| (of.0, of.1, of.2)).collect();
    assert_eq!(found, [(1, 401, 592)]);
}

/// The noise of ranks: normal, of seldom long delays, or of ranks that always differ.
fn random_job(seed: u64) -> Job {
    let mut random = Rng::with_seed(seed);
    let ranks = [2, 3, 4, 8, 64, 300][random.usize(0..6)];
    let steps = [20, 64, 100, 1_000, 2_000][random.usize(0..5)];
    let (kind, share) = (random.u32(0..4), random.f64() * 0.1);
    let offsets: Vec<f64> = (0..ranks).map(|_| share / 4.0 * random.f64()).collect();
    let compute = (0..ranks).map(|rank| {
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut shares: Vec<f64> = (0..steps).map(|_| share * normal()).collect();
        match kind {
            0 => {}
            1 => shares
                .iter_mut()
                .for_each(|of| *of = -share * random.f64().max(1e-9).ln()),
            2 => shares.iter_mut().for_each(|of| *of += offsets[rank]),
            // A tenth of the run in which all ranks differ by more.
            _ => shares[steps / 2..steps / 2 + steps / 10]
                .iter_mut()
                .for_each(|of| *of *= 5.0),
        }
        let ns = |of: f64| ((90 * MS) as f64 * (1.0 + of).max(0.1)) as u64;
        shares.into_iter().map(ns).collect()
    });
    Job::of(compute.collect())
}

#[test]
fn nobody_is_named_by_chance() {
    for seed in 0..200 {
        let job = random_job(seed);
        let (ranks, steps) = (job.compute.len(), job.compute[0].len());
        assert_eq!(
            late(&job.merge()),
            [],
            "seed {seed}: {ranks} ranks, {steps} steps"
        );
    }
}

#[test]
fn a_job_that_is_merged_in_parts_has_the_same_late_ranks() {
    let mut profiles =
        Job::new(24, 1_000, |rank, step| with_straggler(rank + 400, step)).profiles();
    // One rank ended a little later, and its windows are twice as wide.
    profiles[3] = Job::new(24, 1_030, |rank, step| with_straggler(rank + 400, step)).profile(3);
    let at_once = merge(&profiles);
    let windows = &at_once.ranks.as_ref().unwrap().step_windows;
    let of_width = |window: &&RankStepWindow| window.steps == 32;
    assert_eq!(
        (windows.len(), windows.iter().filter(of_width).count()),
        (31, 31)
    );
    assert_eq!(late(&at_once)[0].0, 17);
    let of_steps = |job: &Profile| {
        let ranks = job.ranks.clone().expect("merged");
        (
            ranks.step_windows,
            ranks.collective_processes,
            ranks.late_steps,
        )
    };
    for split in [1, 4, 20] {
        let parts = [merge(&profiles[..split]), merge(&profiles[split..])];
        assert_eq!(of_steps(&merge(&parts)), of_steps(&at_once), "{split}");
    }
}

#[test]
fn what_cannot_be_compared_is_not() {
    let profiles = Job::new(20, 1_000, |rank, step| with_straggler(rank + 400, step)).profiles();
    let spoiled = |spoil: fn(&mut Vec<StepWindow>)| {
        let mut profiles = profiles.clone();
        spoil(&mut profiles[2].steps.as_mut().unwrap().windows);
        merge(&profiles)
    };
    assert_eq!(late(&spoiled(|_| {})).len(), 1);
    // In the middle of the part another number of collectives.
    let found = spoiled(|windows| windows[30].collectives += 1);
    let found: Vec<_> = late(&found).iter().map(|of| (of.1, of.2)).collect();
    assert_eq!(found, [(497, 592), (401, 480)]);
    // Of an older version, or what no run gives.
    let spoils: [fn(&mut Vec<StepWindow>); 6] = [
        Vec::clear,
        |windows| windows.iter_mut().for_each(|window| window.steps = 15),
        |windows| windows[1].first_step = u64::MAX,
        |windows| windows[0].steps = 0,
        |windows| windows.extend_from_within(..),
        |windows| {
            windows
                .iter_mut()
                .for_each(|window| window.collective_ns = u64::MAX)
        },
    ];
    for spoil in spoils {
        assert_eq!(late(&spoiled(spoil)), []);
    }
}
