//! PTX with each instruction of double precision, and with those that are most like them.

use std::fmt::Write as _;

/// Registers end in 0 for results, 1 to 3 for operands: `d` and `f` are of double and single
/// precision, `h`, `r` and `l` have 16, 32 and 64 bits, `p` is a predicate.
const INSTRUCTIONS: [&str; 61] = [
    "add.rn.f64 %d0, %d1, %d2",
    "add.rz.f64 %d0, %d1, 0d3FF8000000000000",
    "sub.rn.f64 %d0, %d1, %d2",
    "mul.rn.f64 %d0, %d1, %d2",
    "mul.rn.f64 %d0, %d1, 0d3FF8000000000000",
    "fma.rn.f64 %d0, %d1, %d2, %d3",
    "fma.rn.f64 %d0, %d1, 0d3FF8000000000000, %d3",
    "fma.rn.f64 %d0, %d1, %d2, 0d3FF8000000000000",
    "min.f64 %d0, %d1, %d2",
    "max.f64 %d0, %d1, %d2",
    "abs.f64 %d0, %d1",
    "neg.f64 %d0, %d1",
    "div.rn.f64 %d0, %d1, %d2",
    "rcp.rn.f64 %d0, %d1",
    "rcp.approx.ftz.f64 %d0, %d1",
    "sqrt.rn.f64 %d0, %d1",
    "rsqrt.approx.f64 %d0, %d1",
    "rsqrt.approx.ftz.f64 %d0, %d1",
    "setp.lt.f64 %p0, %d1, %d2",
    "setp.lt.f64 %p0, %d1, 0d3FF8000000000000",
    "testp.finite.f64 %p0, %d1",
    "copysign.f64 %d0, %d1, %d2",
    "cvt.f64.f32 %d0, %f1",
    "cvt.rn.f32.f64 %f0, %d1",
    "cvt.f64.f16 %d0, %h1",
    "cvt.rn.f16.f64 %h0, %d1",
    "cvt.rn.f64.s32 %d0, %r1",
    "cvt.rn.f64.u32 %d0, %r1",
    "cvt.rn.f64.s64 %d0, %l1",
    "cvt.rn.f64.u64 %d0, %l1",
    "cvt.rn.f64.s16 %d0, %h1",
    "cvt.rn.f64.u8 %d0, %h1",
    "cvt.rzi.s32.f64 %r0, %d1",
    "cvt.rni.u32.f64 %r0, %d1",
    "cvt.rzi.s64.f64 %l0, %d1",
    "cvt.rzi.u64.f64 %l0, %d1",
    "cvt.rzi.s16.f64 %h0, %d1",
    "cvt.rni.f64.f64 %d0, %d1",
    "cvt.rzi.f64.f64 %d0, %d1",
    "cvt.sat.f64.f64 %d0, %d1",
    "selp.f64 %d0, %d1, %d2, %p1",
    "atom.global.add.f64 %d0, [%memory], %d1",
    "red.global.add.f64 [%memory], %d1",
    "fma.rn.f32 %f0, %f1, %f2, %f3",
    "setp.lt.f32 %p0, %f1, %f2",
    "div.rn.f32 %f0, %f1, %f2",
    "rsqrt.approx.f32 %f0, %f1",
    "ex2.approx.f32 %f0, %f1",
    "tanh.approx.f32 %f0, %f1",
    "cvt.rn.f16.f32 %h0, %f1",
    "cvt.f32.f16 %f0, %h1",
    "cvt.rn.f32.s32 %f0, %r1",
    "cvt.rn.f32.s64 %f0, %l1",
    "cvt.rn.f16.u64 %h0, %l1",
    "cvt.rzi.s32.f32 %r0, %f1",
    "cvt.rzi.s64.f32 %l0, %f1",
    "cvt.rzi.s64.f16 %l0, %h1",
    "cvt.rni.f32.f32 %f0, %f1",
    "cvt.rni.f16.f16 %h0, %h1",
    "mad.lo.s32 %r0, %r1, %r2, %r3",
    "mul.wide.s32 %l0, %r1, %r2",
];

/// With the least compute capability that has it.
const OF_NEWER_CHIPS: [(u32, &str); 3] = [
    (
        80,
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d1}, {%d2}, {%d2, %d3}",
    ),
    (90, "cvt.rn.bf16.f64 %h0, %d1"),
    (90, "cvt.f64.bf16 %d0, %h1"),
];

/// Of each kind of register: its letter, its type, and a zero.
const REGISTERS: [(char, &str, &str); 5] = [
    ('d', "f64", "0d0000000000000000"),
    ('f', "f32", "0f00000000"),
    ('h', "b16", "0"),
    ('r', "b32", "0"),
    ('l', "b64", "0"),
];

/// Two kernels for each instruction: one reads all operands from memory, so that they are in
/// registers of each thread; those of the other, but the last, are parameters.
pub(super) fn ptx(capability: u32) -> String {
    let newer = OF_NEWER_CHIPS.iter();
    let newer = newer.filter(|(least, _)| *least <= capability);
    let all = INSTRUCTIONS.iter().chain(newer.map(|(_, newer)| newer));
    let mut text = format!(".version 8.7\n.target sm_{capability}\n.address_size 64\n");
    for (number, instruction) in all.enumerate() {
        for has_parameters in [false, true] {
            text += &kernel(number, instruction, has_parameters);
        }
    }
    text
}

fn kernel(number: usize, instruction: &str, has_parameters: bool) -> String {
    let operation = instruction.split(' ').next().unwrap_or_default();
    let operation = operation.replace('.', "_");
    let from = if has_parameters {
        "parameters"
    } else {
        "memory"
    };
    let (mut parameters, mut registers, mut loads, mut stores) =
        (String::new(), String::new(), String::new(), String::new());
    // A String takes every write.
    for (kind, (letter, of, zero)) in REGISTERS.into_iter().enumerate() {
        let _ = write!(parameters, ", .param .{of} {letter}");
        let _ = writeln!(registers, ".reg .{of} %{letter}<4>;");
        for operand in 1..4 {
            let place = if has_parameters && operand < 3 {
                format!("param.{of} %{letter}{operand}, [{letter}]")
            } else {
                let at = 32 * kind + 8 * operand;
                format!("global.{of} %{letter}{operand}, [%memory+{at}]")
            };
            let _ = writeln!(loads, "ld.{place};");
        }
        let _ = writeln!(loads, "mov.{of} %{letter}0, {zero};");
        let at = 256 + 8 * kind;
        let _ = writeln!(stores, "st.global.{of} [%memory+{at}], %{letter}0;");
    }
    format!(
        "
.visible .entry {operation}_{from}_{number}(.param .u64 memory{parameters}) {{
{registers}.reg .pred %p<2>;
.reg .b64 %memory;
.reg .b32 %i;
ld.param.u64 %memory, [memory];
mov.u32 %i, %tid.x;
mad.wide.u32 %memory, %i, 512, %memory;
{loads}setp.lt.s32 %p1, %r3, 5;
setp.lt.s32 %p0, %r3, 9;
{instruction};
{stores}selp.b32 %i, 1, 2, %p0;
st.global.b32 [%memory+320], %i;
ret;
}}
"
    )
}
