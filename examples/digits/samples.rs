//! The digits of `04_train_digits.rs`, and the random numbers that order them.

use std::error::Error;
use std::io::Read;

/// In the program, so that it runs without the repository; data/README.md has origin and licence.
const DIGITS: &[u8] = include_bytes!("../data/digits.csv.gz");
/// Pixels of one digit, 8×8.
pub(crate) const PIXELS: usize = 64;

/// One digit.
pub(crate) struct Sample {
    pub(crate) pixels: [f32; PIXELS],
    pub(crate) label: usize,
}

/// Lines of 64 pixels from 0 to 16 and a label; pixels come out between 0 and 1.
pub(crate) fn read() -> Result<Vec<Sample>, Box<dyn Error>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(DIGITS).read_to_string(&mut text)?;
    let sample = |line: &str| {
        let numbers = line.split(',').map(str::parse::<u8>);
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        let (pixels, label) = numbers.split_first_chunk().ok_or("a short line")?;
        let [label] = label else {
            return Err("a line without one label".into());
        };
        Ok(Sample {
            pixels: pixels.map(|pixel| f32::from(pixel) / 16.0),
            label: usize::from(*label),
        })
    };
    text.lines().map(sample).collect()
}

/// Numbers that are the same for the same seed: Vigna's splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Between -1 and 1.
    pub(crate) fn number(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    /// Fisher and Yates.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}
