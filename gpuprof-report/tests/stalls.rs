//! For what the warps of kernels waited, in the table and on the page.

mod profiles;

use gpuprof_report::html;
use gpuprof_report::json;
use gpuprof_report::profile::{CounterMean, KernelStalls, Metric, Profile};
use profiles::{digits, full, options, report, stall_line, with_counters, with_stalls};

/// The lines of the report that begin with one of these, without their wrapping.
fn lines(profile: &Profile, beginnings: &[&str]) -> Vec<String> {
    let text = report(profile, &options(None));
    let begins = |line: &&str| {
        beginnings
            .iter()
            .any(|beginning| line.starts_with(beginning))
    };
    text.lines().filter(begins).map(str::to_owned).collect()
}

fn waits(profile: &Profile) -> Vec<String> {
    lines(profile, &["waits "])
}

fn change_first(change: impl FnOnce(&mut KernelStalls)) -> Profile {
    let mut profile = with_stalls(digits());
    change(&mut profile.stalls.as_mut().unwrap().kernels[0]);
    profile
}

#[test]
fn the_slowest_kernels_say_for_what_and_where_they_wait() {
    let profile = with_stalls(digits());
    assert_eq!(
        waits(&profile),
        [
            "waits cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>: for a busy \
             arithmetic unit 80.0 %, issues or is ready 20.0 %",
            "waits adam_step: for global or local memory 62.0 %, at a barrier of the block 12.0 %, \
             for the instruction before 5.0 %, issues or is ready 20.0 %; adam.cu:41 60.0 % (for \
             global or local memory), adam.cu:47 13.0 % (at a barrier of the block)",
        ]
    );
}

#[test]
fn a_paragraph_takes_two_lines_of_a_terminal() {
    let profile = with_stalls(digits());
    for width in [60, 80, 100, 120, 200] {
        let text = report(&profile, &options(width));
        let begin = text.find("\nwaits adam_step:").expect("the first kernel") + 1;
        let paragraph = text[begin..].split("\nwithout source").next().unwrap();
        let lines: Vec<&str> = paragraph.lines().collect();
        assert!(lines.len() <= 2, "{width}: {paragraph}");
        assert!(
            paragraph.contains("for global or local"),
            "{width}: {paragraph}"
        );
        if width >= 80 {
            assert!(paragraph.contains("adam.cu:41"), "{width}: {paragraph}");
        }
    }
}

#[test]
fn a_kernel_with_few_samples_has_no_paragraph() {
    let of_first = |samples| change_first(|kernel| kernel.samples = samples);
    assert_eq!(waits(&of_first(100)).len(), 2);
    assert_eq!(waits(&of_first(99)).len(), 1);
}

#[test]
fn what_to_know_of_all_is_said_once() {
    let remarks = ["without source lines", "launched by several"];
    let profile = with_stalls(digits());
    assert_eq!(
        lines(&profile, &remarks),
        ["without source lines: \
             cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>. To get them: nvcc \
             -lineinfo, --generate-line-info for NVRTC, or .loc in PTX. Modules loaded before \
             sampling began have them only with gpuprof run --stalls."]
    );
    let mut several = profile;
    several.stalls.as_mut().unwrap().kernels[1].lines = vec![stall_line("a.cu", 1, &[])];
    let kernel = several.kernels[0].clone();
    for function in several.functions.iter_mut().take(2) {
        let kernels = &mut function.activity.kernels;
        kernels.retain(|of| of.name != kernel.name);
        kernels.extend([kernel.clone(), kernel.clone()]);
    }
    let functions = several.functions.iter().filter(|function| {
        let mut kernels = function.activity.kernels.iter();
        kernels.any(|of| of.name == kernel.name)
    });
    let functions = functions.count();
    assert!(functions > 1);
    assert_eq!(
        lines(&several, &remarks),
        [format!(
            "launched by several functions: adam_step ({functions} functions). Waits are those of \
             all launches of a kernel."
        )]
    );
}

#[test]
fn a_kernel_on_two_devices_has_one_paragraph() {
    let mut profile = with_stalls(digits());
    let mut other = profile.kernels[0].clone();
    other.device = 1;
    profile.kernels.push(other);
    let found = waits(&profile);
    assert!(found[1].starts_with("waits adam_step:"), "{found:?}");
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_full_report_has_everything() {
    let profile = with_stalls(digits());
    let text = report(&profile, &full(120));
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with("Samples of"));
    let table: Vec<&str> = table.take_while(|line| !line.is_empty()).collect();
    insta::assert_snapshot!("stalls_full", table.join("\n"));
    assert!(!text.contains("waits adam_step"), "{text}");
    assert!(!report(&digits(), &full(120)).contains("Samples of"));
}

#[test]
fn the_line_on_the_sampling_says_what_is_missing() {
    let line = |change: fn(&mut Profile)| {
        let mut profile = with_stalls(digits());
        change(&mut profile);
        lines(&profile, &["samples of program counters"]).pop()
    };
    assert_eq!(
        line(|_| ()).unwrap(),
        "samples of program counters: 11,099 in 1.25 s, of each multiprocessor one every 4,096 \
         cycles; 310 ms to start; 2,784 (20.0 %) dropped, as the device had no room; 37 \
         (0.3 %) in code that CUPTI does not name"
    );
    let is_fine = |profile: &mut Profile| {
        let stalls = profile.stalls.as_mut().unwrap();
        (stalls.start_ns, stalls.dropped_samples) = (10_000_000, 112);
    };
    assert_eq!(line(is_fine), None, "at most 1 % is missing");
    let more = |profile: &mut Profile| {
        let stalls = profile.stalls.as_mut().unwrap();
        (stalls.start_ns, stalls.dropped_samples) = (0, 113);
    };
    assert!(line(more).is_some());
    let none = |profile: &mut Profile| {
        let stalls = profile.stalls.as_mut().unwrap();
        *stalls = Default::default();
        stalls.period_cycles = 4_096;
    };
    assert_eq!(
        line(none).unwrap(),
        "samples of program counters: 0 in 0 ns, of each multiprocessor one every 4,096 cycles"
    );
    let mut fine = with_stalls(digits());
    is_fine(&mut fine);
    let text = report(&fine, &full(None));
    assert!(
        text.contains("samples of program counters: 11,099"),
        "{text}"
    );
}

#[test]
fn a_kernel_that_no_unit_limits_names_its_main_wait() {
    let mut profile = with_counters(with_stalls(digits()));
    let near = lines(&profile, &["why "]);
    assert!(!near[0].contains("occupancy"), "{near:?}");
    profile.kernels[0].occupancy = Some(0.5);
    let counters = profile.kernels[0].counters.as_mut().unwrap();
    for mean in &mut counters.means {
        mean.mean /= 10.0;
    }
    let why = |profile: &Profile| lines(profile, &["why "]);
    let waiting = |occupancy: &str| {
        format!(
            "why adam_step: waits (latency){occupancy}, mostly for global or local memory 62.0 %; \
             nearest are memory 8.3 %, issue 1.3 %, tensor 0.0 % of the peak"
        )
    };
    assert_eq!(why(&profile), [waiting(", theoretical occupancy 50.0 %")]);
    let text = report(&profile, &options(80));
    let begin = text.find("why adam_step").expect("the kernel");
    let paragraph: Vec<&str> = text[begin..].lines().take(2).collect();
    assert!(
        paragraph.iter().all(|line| line.len() <= 80),
        "{paragraph:?}"
    );
    let warps = CounterMean::new(Metric::WarpsActive, 0.314, 0.01);
    let counters = profile.kernels[0].counters.as_mut().unwrap();
    counters.means.push(warps);
    assert_eq!(why(&profile), [waiting(", occupancy 31.4 %")]);
    let counters = profile.kernels[0].counters.as_mut().unwrap();
    counters.means.pop();
    profile.kernels[0].occupancy = None;
    assert_eq!(why(&profile), [waiting("")]);
    let both = lines(&profile, &["why ", "waits "]);
    let begins = ["waits cutlass", "why adam_step", "waits adam_step"];
    let is_in_order = both
        .iter()
        .zip(begins)
        .all(|(line, begin)| line.starts_with(begin));
    assert!(is_in_order && both.len() == 3, "{both:?}");
}

#[test]
fn a_saved_profile_shows_the_same() {
    let profile = with_stalls(digits());
    let saved = json::from_str(&json::to_string(&profile)).unwrap();
    assert_eq!(saved, profile);
    for options in [options(None), full(100)] {
        assert_eq!(report(&saved, &options), report(&profile, &options));
    }
}

#[test]
fn the_page_has_the_same_paragraphs() {
    let profile = with_stalls(digits());
    let mut page = Vec::new();
    html::write(&profile, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let line = lines(&profile, &["waits adam_step"]).remove(0);
    let places = page.matches(&line).count();
    assert_eq!(places, 2, "among the remarks, and in the report as text");
}
