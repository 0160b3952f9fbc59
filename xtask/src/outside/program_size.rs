//! How much larger gpuprof makes a program, and whose code that is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::workspace;

/// Crates with less code, in bytes, are not listed.
const LISTED_BYTES: u64 = 10_000;
/// Crates with generic code, which is counted as of the crate it is made for.
const STANDARD: [&str; 3] = ["core", "alloc", "std"];

/// Prints the sizes of both programs without symbols, and the code of each crate in the second.
///
/// # Errors
/// A text for the user: binutils are missing, or fail.
pub(super) fn print(bare: &Path, with: &Path) -> Result<(), String> {
    let (bare_bytes, with_bytes) = (stripped_bytes(bare)?, stripped_bytes(with)?);
    println!("the stripped program: bytes");
    println!("  {bare_bytes:10}  cudarc alone");
    println!(
        "  {with_bytes:10}  with gpuprof: {} more",
        with_bytes.saturating_sub(bare_bytes)
    );
    println!(
        "machine code, generic code as of the crate it is made for: bytes, and without gpuprof"
    );
    let bare_code = code_by_crate(bare)?;
    let mut crates: Vec<_> = code_by_crate(with)?.into_iter().collect();
    crates.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    for (name, bytes) in crates {
        if bytes > LISTED_BYTES {
            let without = bare_code.get(&name).copied().unwrap_or(0);
            println!("  {bytes:10} {without:10}  {name}");
        }
    }
    Ok(())
}

fn stripped_bytes(program: &Path) -> Result<u64, String> {
    let stripped = program.with_extension("stripped");
    workspace::succeed(Command::new("strip").arg("-o").arg(&stripped).arg(program))?;
    let metadata = fs::metadata(&stripped);
    metadata
        .map(|metadata| metadata.len())
        .map_err(|error| format!("{}: {error}", stripped.display()))
}

/// The sizes of the functions in the program's symbol table.
fn code_by_crate(program: &Path) -> Result<BTreeMap<String, u64>, String> {
    let mut nm = Command::new("nm");
    nm.args(["--print-size", "--defined-only", "--demangle=rust"])
        .arg(program);
    let output = nm.output();
    let output = output.map_err(|error| format!("cannot run `nm` of binutils: {error}"))?;
    let mut crates = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // The address, the size, the kind of section and the name; `t` is code.
        let mut words = line.splitn(4, ' ').skip(1);
        let (size, kind, name) = (words.next(), words.next(), words.next());
        if let (Some(size), Some("t" | "T"), Some(name)) = (size, kind, name) {
            let size = u64::from_str_radix(size, 16).unwrap_or(0);
            *crates.entry(crate_of(name).into()).or_default() += size;
        }
    }
    Ok(crates)
}

/// The first crate in a demangled name that is not of the standard library.
fn crate_of(name: &str) -> &str {
    let words = name.split(|sign: char| !sign.is_alphanumeric() && sign != '_' && sign != ':');
    let crates = words.filter_map(|word| word.split_once("::").map(|(first, _)| first));
    let mut crates = crates.filter(|name| !name.is_empty());
    crates
        .find(|name| !STANDARD.contains(name))
        .unwrap_or("std, C and others")
}

#[cfg(test)]
mod tests {
    use super::crate_of;

    #[test]
    fn generic_code_is_of_the_crate_that_it_is_made_for() {
        for (name, expected) in [
            ("gpuprof_report::table::write", "gpuprof_report"),
            (
                "<regex_lite::pool::Guard as core::ops::drop::Drop>::drop",
                "regex_lite",
            ),
            (
                "core::ptr::drop_in_place::<alloc::vec::Vec<gpuprof_report::Line>>",
                "gpuprof_report",
            ),
            (
                "<&mut [gpuprof_runtime::Node]>::sort_by::<{closure#0}>",
                "gpuprof_runtime",
            ),
            (
                "<std::fs::File as std::io::Write>::write",
                "std, C and others",
            ),
            ("__libc_csu_init", "std, C and others"),
        ] {
            assert_eq!(crate_of(name), expected, "{name}");
        }
    }
}
