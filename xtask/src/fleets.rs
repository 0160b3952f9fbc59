//! `cargo xtask fleets`: exports 1,000 generated ranks as Parquet files, runs the queries of
//! docs/fleets on them in DuckDB or Spark, and compares the answers with `gpuprof merge`.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::needs::{self, Need};
use crate::scripts::{self, ScriptCounts};
use crate::workspace::{self, Workspace};

/// The queries.
const QUERIES: &str = "docs/fleets";

/// The checks, in Python.
const SCRIPTS: &str = "tests/fleets";

/// Spark with this many workers, each a process with one core and 1 GiB.
const SPARK_WORKERS: &str = "local-cluster[4,1,1024]";

/// Runs every check and ends with "N passed, N failed".
///
/// # Errors
/// A text for the user: a wrong argument, an engine that is missing and cannot be installed, or
/// failed checks.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let is_spark = match arguments {
        [] => false,
        [word] if word == "spark" => true,
        _ => return Err("usage: cargo xtask fleets [spark]".into()),
    };
    needs::ensure(if is_spark {
        &[Need::Pip, Need::Java]
    } else {
        &[Need::Pip]
    })?;
    let target = Workspace::load()?.target;
    let folder = target.join("fleets");
    write_tables(&target, &folder)?;
    let scripts_folder = workspace::root().join(SCRIPTS);
    let queries = workspace::root().join(QUERIES);
    let engine = if is_spark { "spark" } else { "duckdb" };
    let list = scripts_folder.join(format!("requirements-{engine}.txt"));
    let packages = scripts::install_python(&list, &folder.join(engine))?;
    let script = scripts_folder.join(format!("check_{engine}.py"));
    let mut check = scripts::python(&packages, &script, &[&folder, &queries]);
    if is_spark {
        check.arg(SPARK_WORKERS);
        // Where a pip package of Spark has its programs; another one may be installed.
        check.env("SPARK_HOME", packages.join("pyspark"));
        // The name of a machine may lead nowhere.
        check.env("SPARK_LOCAL_IP", "127.0.0.1");
        // In the locale C, Java sees no file whose name is not ASCII.
        check.env("LC_ALL", "C.UTF-8");
    }
    let mut counts = ScriptCounts::default();
    counts.add(&mut check)?;
    println!("{} passed, {} failed", counts.passed, counts.failed);
    match counts.failed {
        0 => Ok(()),
        failed => Err(format!("{failed} checks of exported files failed")),
    }
}

/// Writes the profiles, their sum `job.json` and the tables `fleet/` into the folder.
fn write_tables(target: &Path, folder: &Path) -> Result<(), String> {
    println!("== 1,000 generated ranks, merged and exported");
    let (ranks, tables) = (folder.join("ranks"), folder.join("fleet"));
    // What an earlier version of the samples wrote would be exported too.
    for folder in [&ranks, &tables] {
        workspace::empty_folder(folder)?;
    }
    let mut samples = workspace::cargo(["run", "--quiet", "--package", "gpuprof-report"]);
    samples.args(["--example", "fleet-samples", "--"]);
    workspace::succeed(samples.arg(&ranks))?;
    let mut build = workspace::cargo(["build", "--quiet", "--package", "gpuprof-cli"]);
    workspace::succeed(build.args(["--features", "parquet"]))?;
    let gpuprof = target.join("debug/gpuprof");
    let mut merge = Command::new(&gpuprof);
    merge.arg("merge").arg(&ranks).arg("-o");
    let began = Instant::now();
    workspace::succeed(merge.arg(folder.join("job.json")))?;
    println!("merged in {:.1} s", began.elapsed().as_secs_f64());
    let mut export = Command::new(&gpuprof);
    export
        .arg("export")
        .arg(&ranks)
        .args(["--format", "parquet", "-o"]);
    let began = Instant::now();
    workspace::succeed(export.arg(&tables))?;
    println!("exported in {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}
