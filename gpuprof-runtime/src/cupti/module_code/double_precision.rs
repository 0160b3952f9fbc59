//! Which instructions are of double precision, from Volta on: 16 bytes each.
//!
//! NVIDIA does not document the encoding. `cargo xtask chips` compares the table with `nvdisasm`
//! for compute capability 7.5, 8.0, 8.6, 8.9, 9.0, 10.0 and 12.0.

/// The opcode is in the lowest 12 bits, the upper three of which say where the operands are.
const OPCODE: u64 = 0x1ff;

/// Formats of floating point numbers, in three bits of the upper half.
const F16: u64 = 1;
const F32: u64 = 2;
const F64: u64 = 3;
/// Where those of what an instruction writes and reads are.
const WRITTEN: u32 = 75 - 64;
const READ: u32 = 84 - 64;
/// Where the function of MUFU is; the reciprocals of the upper halves of doubles are 6 and 7.
const FUNCTION: u32 = 74 - 64;

/// The name of the instruction if it computes in double precision, or converts from or to it.
pub(super) fn name(instruction: [u64; 2]) -> Option<&'static str> {
    let [low, high] = instruction;
    let format = |at: u32| high >> at & 7;
    match low & OPCODE {
        0x028 => Some("DMUL"),
        0x029 => Some("DADD"),
        0x02a => Some("DSETP"),
        0x02b => Some("DFMA"),
        0x108 if high >> FUNCTION & 14 == 6 => Some("MUFU.64H"),
        0x110 => Some(match (format(WRITTEN), format(READ)) {
            (F64, F32) => "F2F.F64.F32",
            (F32, F64) => "F2F.F32.F64",
            (F64, F16) => "F2F.F64.F16",
            (F16, F64) => "F2F.F16.F64",
            (F64, _) => "F2F.F64.BF16",
            _ => "F2F.BF16.F64",
        }),
        0x111 if format(READ) == F64 => Some("F2I.F64"),
        0x112 if format(WRITTEN) == F64 => Some("I2F.F64"),
        0x113 => Some("FRND.F64"),
        _ => None,
    }
}

/// The instructions of double precision in `code`: where each is, and its name.
pub(super) fn instructions(code: &[u8]) -> impl Iterator<Item = (u64, &'static str)> {
    let (all, _) = code.as_chunks::<16>();
    all.iter().enumerate().filter_map(|(at, bytes)| {
        let (low, high) = (bytes.first_chunk::<8>()?, bytes.last_chunk::<8>()?);
        let name = name([u64::from_le_bytes(*low), u64::from_le_bytes(*high)])?;
        Some((16 * at as u64, name))
    })
}

#[cfg(test)]
mod tests {
    use super::{instructions, name};

    /// As nvdisasm prints them, of code for compute capability 9.0.
    #[test]
    fn instructions_of_double_precision_are_known() {
        for (low, high, expected) in [
            (0x0000_0018_120c_922b, 0x0000_0000_0000_010c, Some("DFMA")),
            (
                0x0000_0012_0012_9310,
                0x020e_a400_0020_1800,
                Some("F2F.F64.F32"),
            ),
            (
                0x0000_0012_0012_9310,
                0x004e_a800_0030_1000,
                Some("F2F.F32.F64"),
            ),
            (
                0x0000_0012_0012_9310,
                0x004e_6800_0030_0800,
                Some("F2F.F16.F64"),
            ),
            (
                0x0000_0012_0012_9310,
                0x004e_2400_0010_1800,
                Some("F2F.F64.F16"),
            ),
            (
                0x0000_0004_0004_7310,
                0x004e_2400_0040_1800,
                Some("F2F.F64.BF16"),
            ),
            (
                0x0000_0004_0005_7310,
                0x004e_2400_0030_2000,
                Some("F2F.BF16.F64"),
            ),
            (
                0x0000_0012_0012_7312,
                0x008e_a400_0020_1c00,
                Some("I2F.F64"),
            ),
            (0x0000_0012_0012_7312, 0x008e_a400_0020_1400, None),
            (
                0x0000_0012_0012_7311,
                0x008e_e400_0030_d100,
                Some("F2I.F64"),
            ),
            (0x0000_0012_0012_7311, 0x020f_6400_0020_d900, None),
            (
                0x0000_0012_0012_7313,
                0x008e_e400_0030_5800,
                Some("FRND.F64"),
            ),
            (
                0x0000_0012_0012_7308,
                0x010e_e200_0000_1800,
                Some("MUFU.64H"),
            ),
            (0x0000_0012_0012_7308, 0x004e_a400_0000_1400, None),
            (0x0000_0012_0012_7308, 0x000e_6400_0000_1000, None),
            (0x0000_0012_0012_7305, 0x004e_a400_0020_f100, None),
            (0x0000_0012_0012_7306, 0x002e_6400_0010_1400, None),
            (0x0000_0012_0012_723e, 0x004f_c800_0000_00ff, None),
            (0x0000_0012_0012_7e2a, 0, Some("DSETP")),
            (0x0000_0012_0012_7429, 0, Some("DADD")),
            (0x0000_0012_0012_7c28, 0, Some("DMUL")),
            (0x0000_0012_0012_7a2b, 0, Some("DFMA")),
            // FFMA, IMAD and NOP.
            (0x0000_0012_0012_7223, 0, None),
            (0x0000_0012_0012_7224, 0, None),
            (0x0000_0000_0000_7918, 0x000f_c000_0000_0000, None),
        ] {
            assert_eq!(name([low, high]), expected, "{low:#x} {high:#x}");
        }
    }

    #[test]
    fn they_are_found_in_code_and_a_cut_one_is_left_out() {
        let mut code = vec![0_u8; 48];
        code[16] = 0x2b;
        code[17] = 0x92;
        code.extend([0x2b, 0x92]);
        assert_eq!(instructions(&code).collect::<Vec<_>>(), [(16, "DFMA")]);
        assert_eq!(instructions(&[]).count(), 0);
    }
}
