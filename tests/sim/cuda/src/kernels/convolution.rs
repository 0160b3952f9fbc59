//! The three 13x13 convolutions of the workspace's `kernels/cuda/convolution.cu`:
//! out[i,j] = sum over k,l of mask[k,l] * image[i-k+6, j-l+6], zero outside.
//!
//! The image is padded with zeros, so that sums need no checks at borders, and eight results are
//! computed at once by straight-line code with constant indices: fast even in debug builds.

use super::launch::{Kernel, Launch, Resolve, Work};
use crate::result_codes::Answer;

const MASK: usize = 13;
/// Results that are computed at once, and the image columns that they read.
const BLOCK: usize = 8;
const WINDOW: usize = BLOCK + MASK - 1;
/// (const float* image, const float* mask, float* result, int height, int width)
const PARAMS: &[usize] = &[8, 8, 8, 4, 4];
/// Results of one thread block in the tiled version: columns, rows.
const TILE: [u64; 2] = [32, 64];

pub(super) const DOUBLE: Kernel = Kernel {
    name: "convolve_double",
    params: PARAMS,
    run: double,
    work: double_work,
};
pub(super) const SINGLE: Kernel = Kernel {
    name: "convolve_single",
    params: PARAMS,
    run: single,
    work: single_work,
};
pub(super) const TILED: Kernel = Kernel {
    name: "convolve_tiled",
    params: PARAMS,
    run: tiled,
    work: tiled_work,
};

/// The image's size, and the part of it that the launch computes.
struct Extent {
    height: usize,
    width: usize,
    rows: usize,
    columns: usize,
}

impl Extent {
    /// `columns` and `rows` are those of the grid, which may exceed the image's.
    fn new(launch: &Launch, columns: u64, rows: u64) -> Extent {
        let height = usize::try_from(launch.i32(3)).unwrap_or(0);
        let width = usize::try_from(launch.i32(4)).unwrap_or(0);
        let (rows, columns) = (
            rows.min(height as u64) as usize,
            columns.min(width as u64) as usize,
        );
        Extent {
            height,
            width,
            rows,
            columns,
        }
    }

    fn untiled(launch: &Launch) -> Extent {
        Extent::new(launch, launch.threads(0), launch.threads(1))
    }

    fn tiled(launch: &Launch) -> Extent {
        Extent::new(
            launch,
            u64::from(launch.grid[0]) * TILE[0],
            u64::from(launch.grid[1]) * TILE[1],
        )
    }

    fn results(&self) -> f64 {
        self.rows as f64 * self.columns as f64
    }
}

/// The image with a border of zeros, in rows of `stride` floats.
struct PaddedImage {
    pixels: Vec<f32>,
    stride: usize,
}

impl PaddedImage {
    fn new(image: &[f32], extent: &Extent) -> PaddedImage {
        let stride = extent.width.next_multiple_of(BLOCK) + MASK - 1;
        let mut pixels = vec![0.0; stride * (extent.height + MASK - 1)];
        for (row, line) in image.chunks_exact(extent.width).enumerate() {
            let start = (row + MASK / 2) * stride + MASK / 2;
            pixels[start..start + extent.width].copy_from_slice(line);
        }
        PaddedImage { pixels, stride }
    }
}

macro_rules! convolution {
    ($(#[$doc:meta])* $name:ident, $add:ident, $float:ty) => {
        $(#[$doc])*
        fn $name(launch: &Launch, extent: &Extent, resolve: Resolve<'_>) -> Answer {
            if extent.rows == 0 || extent.columns == 0 {
                return Ok(());
            }
            let size = extent.height * extent.width;
            let padded = PaddedImage::new(&launch.read_floats(0, size, resolve)?, extent);
            let mask = launch.read_floats(1, MASK * MASK, resolve)?;
            let (mask, _) = mask.as_chunks::<MASK>();
            let mask = mask.iter().map(|row| row.map(<$float>::from));
            let mask: Vec<[$float; MASK]> = mask.collect();
            launch.write_floats(2, size, resolve, |result| {
                for i in 0..extent.rows {
                    let line = &mut result[i * extent.width..];
                    for (block, to) in line[..extent.columns].chunks_mut(BLOCK).enumerate() {
                        let mut sums = [0.0; BLOCK];
                        for (k, weights) in mask.iter().enumerate() {
                            let start = (i + MASK - 1 - k) * padded.stride + block * BLOCK;
                            if let Some(window) = padded.pixels[start..].first_chunk() {
                                $add(&mut sums, weights, window);
                            }
                        }
                        for (to, sum) in to.iter_mut().zip(sums) {
                            *to = sum as f32;
                        }
                    }
                }
            })
        }

        /// Adds the products of one mask row to eight results, in the order of the CUDA C.
        #[inline(always)]
        fn $add(sums: &mut [$float; BLOCK], weight: &[$float; MASK], window: &[f32; WINDOW]) {
            macro_rules! tap {
                ($to:literal: $a:literal $b:literal $c:literal $d:literal $e:literal $f:literal
                 $g:literal $h:literal $i:literal $j:literal $k:literal $l:literal
                 $m:literal) => {
                    sums[$to] = sums[$to]
                        + weight[0] * window[$a] as $float
                        + weight[1] * window[$b] as $float
                        + weight[2] * window[$c] as $float
                        + weight[3] * window[$d] as $float
                        + weight[4] * window[$e] as $float
                        + weight[5] * window[$f] as $float
                        + weight[6] * window[$g] as $float
                        + weight[7] * window[$h] as $float
                        + weight[8] * window[$i] as $float
                        + weight[9] * window[$j] as $float
                        + weight[10] * window[$k] as $float
                        + weight[11] * window[$l] as $float
                        + weight[12] * window[$m] as $float
                };
            }
            tap!(0: 12 11 10 9 8 7 6 5 4 3 2 1 0);
            tap!(1: 13 12 11 10 9 8 7 6 5 4 3 2 1);
            tap!(2: 14 13 12 11 10 9 8 7 6 5 4 3 2);
            tap!(3: 15 14 13 12 11 10 9 8 7 6 5 4 3);
            tap!(4: 16 15 14 13 12 11 10 9 8 7 6 5 4);
            tap!(5: 17 16 15 14 13 12 11 10 9 8 7 6 5);
            tap!(6: 18 17 16 15 14 13 12 11 10 9 8 7 6);
            tap!(7: 19 18 17 16 15 14 13 12 11 10 9 8 7);
        }
    };
}

convolution!(
    /// Multiplies and adds in f64: a mistake that a profile should show.
    convolve_f64, add_f64, f64
);
convolution!(
    /// Multiplies and adds in f32.
    convolve_f32, add_f32, f32
);

fn double(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    convolve_f64(launch, &Extent::untiled(launch), resolve)
}

fn single(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    convolve_f32(launch, &Extent::untiled(launch), resolve)
}

fn tiled(launch: &Launch, resolve: Resolve<'_>) -> Answer {
    convolve_f32(launch, &Extent::tiled(launch), resolve)
}

/// A multiply and an add per tap. The untiled versions read 13 values per result, one from each row
/// of the window, because the cache has the other columns; one write.
fn single_work(launch: &Launch) -> Work {
    let results = Extent::untiled(launch).results();
    let flops = 2.0 * (MASK * MASK) as f64 * results;
    Work {
        bytes: 4.0 * (MASK + 1) as f64 * results,
        f32_flops: flops,
        f64_flops: 0.0,
        ..Work::default()
    }
}

fn double_work(launch: &Launch) -> Work {
    let single = single_work(launch);
    Work {
        bytes: single.bytes,
        f32_flops: 0.0,
        f64_flops: single.f32_flops,
        ..Work::default()
    }
}

/// The tile with its halo is read once for all results of the tile.
fn tiled_work(launch: &Launch) -> Work {
    let results = Extent::tiled(launch).results();
    let halo = (MASK - 1) as f64;
    let (columns, rows) = (TILE[0] as f64, TILE[1] as f64);
    let read = (columns + halo) * (rows + halo) / (columns * rows);
    let flops = 2.0 * (MASK * MASK) as f64 * results;
    Work {
        bytes: 4.0 * (read + 1.0) * results,
        f32_flops: flops,
        f64_flops: 0.0,
        ..Work::default()
    }
}
