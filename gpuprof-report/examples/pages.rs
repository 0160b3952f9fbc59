//! Writes the pages that `cargo xtask pages` opens in a browser, into the folder that is given.

#[path = "../tests/profiles/mod.rs"]
mod profiles;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use gpuprof_report::findings::findings;
use gpuprof_report::profile::{Device, Profile};
use gpuprof_report::{html, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: pages FOLDER")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");
    for entry in std::fs::read_dir(recorded)? {
        let path = entry?.path();
        let mut profile = json::from_str(&std::fs::read_to_string(&path)?)?;
        profile.findings = findings(&profile);
        let name = path.file_stem().unwrap_or_default();
        write(&profile, &folder.join(name))?;
    }
    let made = [
        (
            "hostile",
            profiles::with_markup(&profiles::with_stalls(profiles::digits())),
        ),
        ("large", profiles::large(10_000)),
        ("deep", profiles::deep(5_000)),
        ("thousand", profiles::large(1_000)),
        ("labels", profiles::layers()),
        ("graphs", profiles::graphs()),
        ("trouble", profiles::trouble()),
        ("simulated", simulated(profiles::training())),
        ("steps", profiles::with_steps(profiles::training())),
        (
            "launch-lines",
            profiles::with_launch_lines(profiles::digits()),
        ),
        ("memory", profiles::with_memory(profiles::digits())),
        ("counters", profiles::with_counters(profiles::digits())),
        ("limits", profiles::with_limits(profiles::digits())),
        ("many-limits", profiles::with_limits(profiles::large(100))),
        ("stalls", profiles::with_stalls(profiles::digits())),
        ("unannotated", unannotated(profiles::digits())),
        ("empty", Profile::default()),
    ];
    for (name, profile) in made {
        write(&profile, &folder.join(name))?;
    }
    write_source(folder)
}

/// A page with the text of a source file, which has markup.
fn write_source(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let file = folder.join("adam.cu");
    std::fs::write(&file, profiles::kernel_source())?;
    let mut profile = profiles::with_stalls(profiles::digits());
    profiles::set_source_file(&mut profile, &file);
    // The file is newer than that run.
    profile.started_at.clear();
    profile.findings = findings(&profile);
    let texts = html::SourceTexts::read(&profile, None);
    let mut out = BufWriter::new(File::create(folder.join("source.html"))?);
    html::write_with_source(&profile, &texts, &mut out)?;
    Ok(out.flush()?)
}

fn write(profile: &Profile, path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path.with_extension("html"))?);
    html::write(profile, &mut out)?;
    out.flush()
}

/// As of a program without the attribute.
fn unannotated(mut profile: Profile) -> Profile {
    profile.functions.clear();
    profile.tree.clear();
    profile.findings = findings(&profile);
    profile
}

fn simulated(mut profile: Profile) -> Profile {
    let mut device = Device::default();
    device.name = "simulated device".into();
    device.simulated = true;
    profile.devices = vec![device];
    profile
}
