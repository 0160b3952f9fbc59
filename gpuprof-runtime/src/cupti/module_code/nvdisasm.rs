//! The table of double precision beside NVIDIA's disassembler. Run by `cargo xtask chips`, which
//! names the folder of cubins and disassembles them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::{cubin, double_precision};

/// Those of the table.
const NAMES: [&str; 14] = [
    "DADD",
    "DFMA",
    "DMUL",
    "DSETP",
    "F2F.BF16.F64",
    "F2F.F16.F64",
    "F2F.F32.F64",
    "F2F.F64.BF16",
    "F2F.F64.F16",
    "F2F.F64.F32",
    "F2I.F64",
    "FRND.F64",
    "I2F.F64",
    "MUFU.64H",
];

#[test]
fn instructions_of_double_precision_are_those_of_nvdisasm() {
    let folder = std::env::var_os("GPUPROF_TEST_CUBINS").expect("a folder of cubins");
    let folder = PathBuf::from(folder);
    let (mut cubins, mut kernels, mut instructions) = (0, 0, 0);
    let mut names = BTreeSet::new();
    let mut differences = Vec::new();
    for entry in fs::read_dir(&folder).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path
            .extension()
            .is_none_or(|extension| extension != "cubin")
        {
            continue;
        }
        cubins += 1;
        let cubin = fs::read(&path).expect("a cubin");
        let text = fs::read_to_string(path.with_extension("sass")).expect("its disassembly");
        for (symbol, expected) in disassembled(&text) {
            kernels += 1;
            let code = cubin::code(&cubin, symbol).expect("the code of each kernel");
            let found: Vec<_> = double_precision::instructions(code).collect();
            instructions += expected.len();
            names.extend(found.iter().map(|(_, name)| *name));
            let mut pairs = found.iter().zip(&expected);
            let agree = pairs.all(|(ours, theirs)| ours.0 == theirs.0 && agrees(ours.1, theirs.1));
            if !agree || found.len() != expected.len() {
                let cubin = path.file_name().unwrap_or_default().display();
                differences.push(format!("{cubin} {symbol}:\n  {found:?}\n  {expected:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(names.iter().eq(&NAMES), "{names:?}");
    let compared = format!(
        "{instructions} instructions of double precision in {kernels} kernels of {cubins} cubins \
         are those of nvdisasm"
    );
    fs::write(folder.join("compared.txt"), compared).expect("it can be written");
}

/// Each kernel's instructions of double precision: their places and nvdisasm's names.
fn disassembled(text: &str) -> Vec<(&str, Vec<(u64, &str)>)> {
    let mut kernels: Vec<(&str, Vec<(u64, &str)>)> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        let label = line.strip_prefix(".text.");
        if let Some(symbol) = label.and_then(|label| label.strip_suffix(':')) {
            kernels.push((symbol, Vec::new()));
        } else if let Some((at, instruction)) = instruction(line)
            && is_double(instruction)
        {
            let (_, instructions) = kernels.last_mut().expect("a label before the code");
            instructions.push((at, instruction));
        }
    }
    kernels
}

/// Of `/*0070*/ @P0 DADD R2, R2, R4 ;` the place and the name.
fn instruction(line: &str) -> Option<(u64, &str)> {
    let (at, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let mut words = rest.split_whitespace();
    let name = words.find(|word| !word.starts_with('@'))?;
    Some((
        u64::from_str_radix(at, 16).ok()?,
        name.trim_end_matches(';'),
    ))
}

/// Whether the unit for double precision or that for conversions does it: no atomic operation of
/// the memory, and none of the tensor cores, which nobody uses by mistake.
fn is_double(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or_default();
    let computes = first.starts_with('D') && !["DEPBAR", "DMMA"].contains(&first);
    let mut formats = name.split('.').skip(1);
    let has_format = formats.any(|part| part == "F64" || part.ends_with("64H"));
    computes || has_format && !first.starts_with("ATOM") && !first.starts_with("RED")
}

/// Whether all of the table's name is in that of nvdisasm, which has rounding and other types too.
fn agrees(name: &str, disassembled: &str) -> bool {
    let mut parts = disassembled.split('.');
    let mut of = name.split('.');
    of.all(|part| parts.any(|other| other == part || part == "64H" && other.ends_with(part)))
}
