//! What `doctor` says of machines that differ.

use super::*;

/// A machine that lacks nothing.
fn complete() -> MachineFacts {
    MachineFacts {
        driver: FoundDriver::Works {
            version: 13_000,
            devices: vec!["NVIDIA H200".into()],
        },
        cupti: Some(FoundCupti {
            name: "libcupti.so.13".into(),
            version: Some(130_400),
        }),
        stated_cupti: None,
        injected: Ok("/usr/lib/gpuprof/libgpuprof_inject.so".into()),
        nvml: true,
        counters: CounterAccess::Everyone,
        nsys: Some("/usr/bin/nsys".into()),
        ncu: Some("/usr/bin/ncu".into()),
        libclang: Some("/usr/lib/llvm-19/lib/libclang.so.1".into()),
        cuda_version: nvcc_of((13, 0)),
    }
}

fn nvcc_of(version: (u32, u32)) -> VersionSource {
    VersionSource::Nvcc {
        path: "/usr/local/cuda/bin/nvcc".into(),
        version: Some(version),
    }
}

/// The line of one check, without the spaces between its columns, and its fix.
fn line(facts: &MachineFacts, name: &str) -> (String, String) {
    let checks = checks(facts);
    let check = checks.iter().find(|check| check.name == name).expect(name);
    assert_eq!(check.state == State::Ok, check.fix.is_empty(), "{name}");
    let found = format!("{} {}", check.state.word(), check.found);
    (found, check.fix.clone())
}

#[test]
fn a_complete_machine_is_nine_lines_without_a_fix() {
    assert_eq!(
        text(&checks(&complete())),
        "driver        ok       CUDA 13.0: NVIDIA H200\n\
         libcupti      ok       libcupti.so.13 of CUDA 13, which profilers can share\n\
         NVML          ok       libnvidia-ml.so.1\n\
         GPU counters  ok       every user may read them\n\
         nsys          ok       /usr/bin/nsys\n\
         ncu           ok       /usr/bin/ncu\n\
         libclang      ok       /usr/lib/llvm-19/lib/libclang.so.1\n\
         nvcc          ok       /usr/local/cuda/bin/nvcc of CUDA 13.0\n\
         any program   ok       /usr/lib/gpuprof/libgpuprof_inject.so\n"
    );
}

#[test]
fn a_bare_machine_has_a_fix_for_each_check() {
    let facts = MachineFacts {
        driver: FoundDriver::Missing,
        cupti: None,
        stated_cupti: None,
        injected: Err(NoInjection::NotInstalled),
        nvml: false,
        counters: CounterAccess::NoDriver,
        nsys: None,
        ncu: None,
        libclang: None,
        cuda_version: nvcc_of((13, 5)),
    };
    let text = text(&checks(&facts));
    assert_eq!(text.matches("  missing  ").count(), 9);
    let fixes = text
        .lines()
        .filter(|line| line.starts_with("                       → "));
    assert_eq!(fixes.count(), text.lines().count() - 9);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{text}");
    assert!(
        text.starts_with(
            "driver        missing  there is no libcuda.so.1: nothing can run on a GPU\n"
        ),
        "{text}"
    );
}

#[test]
fn a_toolkit_that_cudarc_does_not_know_has_a_version_to_state() {
    let mut facts = complete();
    let fix = |version| {
        format!(
            "export CUDARC_CUDA_VERSION={version}\n\
             or choose a feature of cudarc, cuda-…, in the program"
        )
    };
    for (source, found, fix) in [
        (
            nvcc_of((13, 5)),
            "missing cudarc 0.19.10 does not know CUDA 13.5: its build script stops",
            fix(13_040),
        ),
        (
            nvcc_of((12, 7)),
            "missing cudarc 0.19.10 does not know CUDA 12.7: its build script stops",
            fix(12_060),
        ),
        (
            VersionSource::Variable("13.0".into()),
            "missing cudarc 0.19.10 does not know CUDARC_CUDA_VERSION=\"13.0\": its build script \
             stops",
            fix(13_040),
        ),
        (
            VersionSource::Variable("13000".into()),
            "ok is not asked: CUDARC_CUDA_VERSION=13000",
            String::new(),
        ),
        (
            VersionSource::Neither,
            "ok is not found and not needed: cudarc builds without it",
            String::new(),
        ),
    ] {
        facts.cuda_version = source;
        assert_eq!(line(&facts, "nvcc"), (found.to_owned(), fix));
    }
}

#[test]
fn a_driver_that_does_not_start_says_why() {
    for (status, found, fix) in [
        (100, "sees no device", "CUDA_VISIBLE_DEVICES"),
        (802, "not ready", "nvidia-fabricmanager"),
        (803, "kernel module", "reboot"),
        (999, "cuInit returned 999", "nvidia-smi says why"),
    ] {
        let facts = MachineFacts {
            driver: FoundDriver::Broken(status),
            ..complete()
        };
        let (line, advice) = line(&facts, "driver");
        assert!(
            line.starts_with("missing ") && line.contains(found),
            "{line}"
        );
        assert!(advice.contains(fix), "{advice}");
    }
}

#[test]
fn a_libcupti_that_grows_in_long_runs_is_a_warning_with_its_source() {
    let line_of = |version| {
        let mut facts = complete();
        facts.cupti = Some(FoundCupti {
            name: "libcupti.so.13".into(),
            version: Some(version),
        });
        line(&facts, "libcupti")
    };
    let leak = "fixed in CUDA 13.3: a memory leak with graphs that copy or set memory\n";
    let grows = "fixed in CUDA 13.4 Update 1: CPU time of recording grew without bound\n\
                 https://docs.nvidia.com/cupti/release-notes/release-notes.html";
    let warning = "warning libcupti.so.13 of CUDA 13 is older than fixes for runs of hours";
    for (version, fix) in [
        (130_001, format!("{leak}{grows}")),
        (130_299, format!("{leak}{grows}")),
        (130_300, grows.to_owned()),
    ] {
        assert_eq!(line_of(version), (warning.to_owned(), fix), "{version}");
    }
    for version in [130_400, 130_401, 130_500] {
        let (found, fix) = line_of(version);
        assert!(found.starts_with("ok ") && fix.is_empty(), "{found}");
    }
}

#[test]
fn a_libcupti_must_open_and_fit_the_driver() {
    let cupti = |name: &str, version| {
        Some(FoundCupti {
            name: name.into(),
            version: Some(version),
        })
    };
    let mut facts = complete();
    facts.cupti = cupti("libcupti.so", 17);
    let (old, _) = line(&facts, "libcupti");
    assert_eq!(
        old,
        "missing libcupti.so is older than CUDA 12.0: GPUPROF_CUPTI=on records no kernels"
    );
    facts.cupti = cupti("libcupti.so.12", 24);
    assert_eq!(
        line(&facts, "libcupti").0,
        "warning libcupti.so.12 of CUDA 12 is older than fixes for runs of hours"
    );
    facts.cupti = cupti("libcupti.so.13", 130_100);
    facts.driver = FoundDriver::Works {
        version: 12_080,
        devices: vec!["NVIDIA H200".into(); 8],
    };
    assert_eq!(
        line(&facts, "libcupti").0,
        "missing libcupti.so.13 is of CUDA 13, and the driver of CUDA 12.8: GPUPROF_CUPTI=on \
         records no kernels"
    );
    assert_eq!(line(&facts, "driver").0, "ok CUDA 12.8: 8 × NVIDIA H200");
    facts.cupti = Some(FoundCupti {
        name: "libcupti.so.13".into(),
        version: None,
    });
    assert_eq!(
        line(&facts, "libcupti").0,
        "missing libcupti.so.13 does not start with this driver: GPUPROF_CUPTI=on records no \
         kernels"
    );
    facts.driver = FoundDriver::Missing;
    assert_eq!(
        line(&facts, "libcupti").0,
        "ok libcupti.so.13, of a version that needs the driver"
    );
    facts.cupti = None;
    facts.stated_cupti = Some("/nowhere/\x1b[31m".into());
    assert_eq!(
        line(&facts, "libcupti").0,
        "missing GPUPROF_CUPTI_LIBRARY=\"/nowhere/\\u{1b}[31m\" does not open: GPUPROF_CUPTI=on \
         records no kernels"
    );
}

#[test]
fn restricted_counters_have_the_module_option_as_their_fix() {
    let mut facts = complete();
    facts.counters = CounterAccess::Administrators;
    let (line_text, fix) = line(&facts, "GPU counters");
    assert!(line_text.starts_with("missing RmProfilingAdminOnly is 1"));
    assert!(fix.contains("NVreg_RestrictProfilingToAdminUsers=0"));
    facts.counters = CounterAccess::AdministratorsHere;
    assert!(line(&facts, "GPU counters").0.starts_with("ok "));
}
