//! The table of memory, and the line above the report.

mod profiles;

use gpuprof_report::profile::{Device, Memory, Profile};
use profiles::{digits, options, report, with_memory};

/// With the memory of the device.
fn on_device(mut profile: Profile) -> Profile {
    let device = profile.devices.first_mut().unwrap();
    device.memory_bytes = Some(141_000_000_000);
    profile
}

fn memory_part(text: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.starts_with("Memory "));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let header = text.lines().find(|line| line.starts_with("Memory:"));
    format!("{}\n\n{}\n", header.unwrap_or("none"), lines.join("\n"))
}

#[test]
fn functions_have_what_they_allocated_freed_and_left() {
    let profile = on_device(with_memory(digits()));
    for width in [Some(80), Some(200), None] {
        let name = width.map_or("pipe".to_owned(), |width| width.to_string());
        let text = report(&profile, &options(width));
        insta::assert_snapshot!(format!("memory_{name}"), memory_part(&text));
    }
}

#[test]
fn what_the_limit_cuts_is_summed_without_nested_functions() {
    let mut limited = options(200);
    limited.limit = std::num::NonZeroUsize::new(3);
    let text = report(&with_memory(digits()), &limited);
    insta::assert_snapshot!("memory_limit_1", memory_part(&text));
}

#[test]
fn several_devices_are_told_apart() {
    let mut profile = on_device(with_memory(digits()));
    let memory = profile.memory.as_mut().unwrap();
    let mut other = memory.uses[0].clone();
    other.device = Some(1);
    memory.uses.insert(1, other);
    let mut device = Device::default();
    (device.ordinal, device.memory_bytes) = (1, Some(80_000_000_000));
    profile.devices.push(device);
    let text = report(&profile, &options(400));
    let line = text
        .lines()
        .find(|line| line.starts_with("Memory:"))
        .unwrap();
    assert!(line.contains("GPU 0 peak 205 MB of 141 GB"), "{line}");
    assert!(line.contains("GPU 1 peak 205 MB of 80.0 GB"), "{line}");
    assert!(line.contains("pinned peak 64.0 MB, live 64.0 MB"), "{line}");
}

#[test]
fn of_many_devices_the_largest_peaks_are_listed() {
    let mut profile = with_memory(digits());
    let memory = profile.memory.as_mut().unwrap();
    let of_device = |device: u32| {
        let mut of = memory.uses[0].clone();
        (of.device, of.peak_bytes) = (Some(device), 1_000_000 * u64::from(1 + device * 7 % 1_000));
        (of.live_bytes, of.peak_function) = (1_000_000, None);
        of
    };
    memory.uses = (0..1_000).map(of_device).collect();
    let text = report(&profile, &options(400));
    let line = text.lines().find(|line| line.starts_with("Memory:"));
    let listed: Vec<&str> = line.unwrap().split("; ").collect();
    assert_eq!(listed.len(), 9, "{listed:?}");
    assert_eq!(listed[0], "Memory: GPU 857 peak 1.00 GB, live 1.00 MB");
    assert_eq!(listed[7], "GPU 856 peak 993 MB, live 1.00 MB");
    assert_eq!(listed[8], "992 others: peak up to 992 MB, live 992 MB");
    assert!(!text.contains("GPU 0 peak"));
}

#[test]
fn a_profile_without_memory_does_not_mention_it() {
    let text = report(&digits(), &options(None));
    assert!(!text.contains("Memory"), "{text}");
}

#[test]
fn without_an_allocation_there_is_neither_a_table_nor_a_line_about_it() {
    let mut profile = digits();
    profile.memory = Some(Memory::default());
    let text = report(&profile, &options(None));
    assert!(!text.contains("Memory"), "{text}");
    assert_eq!(text, report(&digits(), &options(None)));
    // What is missing is said in any case.
    profile.memory.as_mut().unwrap().missed_frees = 3;
    let text = report(&profile, &options(None));
    assert!(
        text.contains("memory: 3 frees that were not recorded\n"),
        "{text}"
    );
    assert!(!text.contains("Memory:"), "{text}");
}
