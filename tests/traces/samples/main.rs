//! Writes the time lines that `cargo xtask traces` opens in other tools, as `.json` and `.pftrace`
//! into the folder that is its argument: a hand-made one of two ranks, and random ones.

mod hand_made;
mod random;

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;

use gpuprof_report::trace::{self, Trace};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: samples FOLDER")?;
    let folder = Path::new(&folder);
    let mut ranks = [hand_made::trace(), hand_made::trace()];
    ranks[1].rank = Some(1);
    write(&ranks[0], folder, "rank0")?;
    // HTA reads a file for each rank.
    write(&ranks[1], folder, "rank1")?;
    write(&random::trace(200_000, 1), folder, "random")?;
    // Other tools round to µs, so that only such times can agree.
    // More events than 16 bits count: HTA stores their numbers where correlation ids were.
    let microseconds = random::trace(80_000, 1000);
    fs::create_dir_all(folder.join("hta"))?;
    write(&microseconds, &folder.join("hta"), "random")?;
    fs::write(
        folder.join("expected.json"),
        random::expected(&microseconds),
    )?;
    Ok(())
}

fn write(trace: &Trace, folder: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let file = |extension: &str| File::create(folder.join(name).with_extension(extension));
    trace::write_json(trace, &mut file("json")?)?;
    trace::write_perfetto(trace, &mut file("pftrace")?)?;
    Ok(())
}
