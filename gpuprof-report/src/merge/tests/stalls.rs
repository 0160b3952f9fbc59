//! Samples of program counters of ranks: the same kernel, line and instruction of several is one.

use crate::json;
use crate::merge::Merger;
use crate::merge::rows::MAX_ROWS;
use crate::profile::{
    DoubleLine, KernelStalls, MAX_STALL_LINES, Profile, StallInstruction, StallLine,
    StallReasonSamples, Stalls,
};

fn reasons(of: &[(&str, u64)]) -> Vec<StallReasonSamples> {
    let reason = |(reason, samples): &(&str, u64)| StallReasonSamples {
        reason: (*reason).into(),
        samples: *samples,
    };
    of.iter().map(reason).collect()
}

fn line(file: &str, line: u32, of: &[(&str, u64)]) -> StallLine {
    StallLine {
        file: file.into(),
        line,
        samples: of.iter().map(|(_, samples)| samples).sum(),
        reasons: reasons(of),
    }
}

fn instruction(offset: u64, of: &[(&str, u64)]) -> StallInstruction {
    StallInstruction {
        offset,
        samples: of.iter().map(|(_, samples)| samples).sum(),
        reasons: reasons(of),
    }
}

fn kernel(name: &str, lines: Vec<StallLine>) -> KernelStalls {
    let mut kernel = KernelStalls {
        name: name.into(),
        lines,
        ..KernelStalls::default()
    };
    for line in &kernel.lines {
        kernel.samples += line.samples;
        crate::profile::add_reasons(&mut kernel.reasons, &line.reasons);
    }
    kernel
}

fn rank(pid: u32, kernels: Vec<KernelStalls>) -> Profile {
    let stalls = Stalls {
        period_cycles: 1 << (10 + pid),
        sampled_ns: 5,
        start_ns: 100 * u64::from(pid),
        samples: kernels.iter().map(|kernel| kernel.samples).sum(),
        other_samples: 3,
        dropped_samples: 2,
        kernels,
    };
    Profile {
        pid,
        stalls: Some(stalls),
        ..Profile::default()
    }
}

fn merged(ranks: &[Profile]) -> Profile {
    let mut merger = Merger::default();
    ranks.iter().for_each(|rank| merger.add(rank));
    merger.finish()
}

#[test]
fn kernels_lines_and_reasons_of_ranks_are_added() {
    let one = kernel(
        "sum",
        vec![
            line("sum.cu", 7, &[("barrier", 30), ("selected", 10)]),
            line("sum.cu", 9, &[("wait", 5)]),
        ],
    );
    let two = kernel(
        "sum",
        vec![
            line("sum.cu", 9, &[("wait", 6), ("barrier", 40)]),
            line("other.cu", 9, &[("wait", 1)]),
        ],
    );
    let alone = kernel("gather", vec![line("g.cu", 3, &[("long_scoreboard", 7)])]);
    let merged = merged(&[rank(1, vec![one]), rank(2, vec![alone, two])]);
    let stalls = merged.stalls.expect("both were sampled");
    assert_eq!((stalls.period_cycles, stalls.start_ns), (4_096, 200));
    assert_eq!((stalls.samples, stalls.sampled_ns), (99, 10));
    assert_eq!((stalls.other_samples, stalls.dropped_samples), (6, 4));
    let [sum, gather] = &stalls.kernels[..] else {
        panic!("two kernels: {:?}", stalls.kernels);
    };
    assert_eq!((sum.name.as_str(), sum.samples), ("sum", 92));
    let of_all = [("barrier", 70), ("wait", 12), ("selected", 10)];
    assert_eq!(sum.reasons, reasons(&of_all));
    let lines = [
        line("sum.cu", 9, &[("barrier", 40), ("wait", 11)]),
        line("sum.cu", 7, &[("barrier", 30), ("selected", 10)]),
        line("other.cu", 9, &[("wait", 1)]),
    ];
    assert_eq!(sum.lines, lines);
    assert_eq!((gather.name.as_str(), gather.samples), ("gather", 7));
    assert_eq!(gather.lines.len(), 1);
}

#[test]
fn instructions_are_added_by_their_offset() {
    let of = |instructions| KernelStalls {
        samples_without_line: 4,
        instructions,
        ..kernel("sum", Vec::new())
    };
    let one = of(vec![instruction(16, &[("wait", 3)])]);
    let two = of(vec![
        instruction(32, &[("wait", 4)]),
        instruction(16, &[("barrier", 2)]),
    ]);
    let stalls = merged(&[rank(1, vec![one]), rank(2, vec![two])]).stalls;
    let sum = stalls.unwrap().kernels.remove(0);
    assert_eq!(sum.samples_without_line, 8);
    let expected = [
        instruction(16, &[("wait", 3), ("barrier", 2)]),
        instruction(32, &[("wait", 4)]),
    ];
    assert_eq!(sum.instructions, expected);
}

#[test]
fn the_lines_with_the_most_samples_remain() {
    let lines = |first: u32| {
        let lines = (first..).take(MAX_STALL_LINES);
        let lines = lines.map(|n| line("sum.cu", n, &[("wait", u64::from(n))]));
        rank(first, vec![kernel("sum", lines.collect())])
    };
    let stalls = merged(&[lines(1), lines(5)]).stalls.unwrap();
    let kept: Vec<_> = (stalls.kernels[0].lines.iter())
        .map(|line| (line.line, line.samples))
        .collect();
    // 5 to 16 are of both.
    let mut expected: Vec<_> = (1_u32..=20)
        .map(|n| (n, u64::from(n) * if (5..=16).contains(&n) { 2 } else { 1 }))
        .collect();
    expected.sort_by_key(|(n, samples)| (std::cmp::Reverse(*samples), *n));
    assert_eq!(kept, expected[..MAX_STALL_LINES]);
}

#[test]
fn a_hostile_document_takes_bounded_memory() {
    let many: Vec<_> = (0..200).map(|n| (format!("r{n}"), 1)).collect();
    let many: Vec<_> = many.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let lines = |of: u64| {
        (0..of as u32)
            .map(|n| line("a.cu", n, &[("wait", 1)]))
            .collect()
    };
    let mut wide = kernel("wide", lines(1_000));
    wide.reasons = reasons(&many);
    let mut kernels = vec![wide];
    let few = |n: usize| kernel(&format!("k{n}"), vec![line("a.cu", 1, &[("wait", 1)])]);
    kernels.extend((0..MAX_ROWS).map(few));
    let mut hostile = rank(1, kernels);
    let double = |line| DoubleLine {
        line,
        ..DoubleLine::default()
    };
    hostile.double_lines = (0..MAX_ROWS as u32 + 5).map(double).collect();
    let mut other = hostile.clone();
    let kernels = &mut other.stalls.as_mut().unwrap().kernels;
    for reason in &mut kernels[0].reasons {
        reason.reason.push_str(" of another version");
    }
    let merged = merged(&[hostile, other]);
    let stalls = merged.stalls.as_ref().unwrap();
    assert_eq!(stalls.kernels.len(), MAX_ROWS);
    let wide = stalls.kernels.iter().find(|kernel| kernel.name == "wide");
    let wide = wide.expect("it came first");
    assert_eq!(wide.reasons.len(), 64);
    assert_eq!(wide.lines.len(), MAX_STALL_LINES);
    assert_eq!(merged.double_lines.len(), MAX_ROWS);
    let notes = merged.diagnostics.notes.join("\n");
    // One kernel, the lines for which its first 16 left no room, and five lines; of each document.
    assert!(notes.contains("42 rows are left out"), "{notes}");
    let back = json::from_str(&json::to_string(&merged)).expect("it reads back");
    assert_eq!(back.stalls, merged.stalls);
}

#[test]
fn lines_with_double_precision_are_those_of_any_rank() {
    let double = |kernel: &str, line, instructions, name: &str| DoubleLine {
        kernel: kernel.into(),
        file: "convolution.cu".into(),
        line,
        instructions,
        names: vec![name.into()],
    };
    let with = |pid, double_lines| Profile {
        pid,
        double_lines,
        ..Profile::default()
    };
    let ranks = [
        with(
            1,
            vec![double("b", 12, 2, "DADD"), double("a", 12, 1, "DMUL")],
        ),
        with(
            2,
            vec![double("b", 12, 3, "DFMA"), double("b", 4, 1, "DADD")],
        ),
        with(3, Vec::new()),
    ];
    let merged = merged(&ranks);
    let expected = [
        double("a", 12, 1, "DMUL"),
        double("b", 4, 1, "DADD"),
        double("b", 12, 3, "DFMA"),
    ];
    assert_eq!(merged.double_lines, expected);
    assert_eq!(merged.stalls, None, "no rank was sampled");
}
