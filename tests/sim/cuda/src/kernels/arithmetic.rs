//! Arithmetic that several kernels share.

/// y = a * x + y, in blocks of eight with constant indices: fast even in debug builds.
pub(super) fn add_scaled(y: &mut [f32], a: f32, x: &[f32]) {
    let (x_blocks, x_rest) = x.as_chunks::<8>();
    let (y_blocks, y_rest) = y.as_chunks_mut::<8>();
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        y[0] += a * x[0];
        y[1] += a * x[1];
        y[2] += a * x[2];
        y[3] += a * x[3];
        y[4] += a * x[4];
        y[5] += a * x[5];
        y[6] += a * x[6];
        y[7] += a * x[7];
    }
    for (x, y) in x_rest.iter().zip(y_rest) {
        *y += a * x;
    }
}
