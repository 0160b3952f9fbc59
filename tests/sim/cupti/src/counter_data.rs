//! The counter data image: how many samples it holds, and the samples.

use crate::counter_model::COUNTERS;
use crate::parameters::Image;
use crate::pm_sampling::Sample;
use crate::result_codes::{Answer, Code};

const WORD: usize = size_of::<u64>();
/// The count.
const HEADER_BYTES: usize = WORD;
/// Start, end, and a total of each counter.
const SAMPLE_BYTES: usize = (2 + COUNTERS) * WORD;

/// The size of an image with room for so many samples.
pub(crate) fn size(samples: usize) -> usize {
    HEADER_BYTES + samples * SAMPLE_BYTES
}

/// For how many samples an image has room.
pub(crate) fn room(bytes: usize) -> usize {
    bytes.saturating_sub(HEADER_BYTES) / SAMPLE_BYTES
}

pub(crate) fn write(image: Image, bytes: usize, samples: &[Sample]) -> Answer {
    let mut words = vec![samples.len() as u64];
    for sample in samples {
        words.extend([sample.start, sample.end]);
        words.extend(sample.totals.map(f64::to_bits));
    }
    let written: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
    image.write(bytes, &written)
}

pub(crate) fn count(image: Image, bytes: usize) -> Answer<usize> {
    let words = words(&image.read_at(0..HEADER_BYTES, bytes)?);
    Ok(words[0] as usize)
}

/// Sample `index`; INVALID_PARAMETER if there is none.
pub(crate) fn sample(image: Image, bytes: usize, index: usize) -> Answer<Sample> {
    if index >= count(image, bytes)? {
        return Err(Code::INVALID_PARAMETER);
    }
    let at = HEADER_BYTES + index * SAMPLE_BYTES;
    let words = words(&image.read_at(at..at + SAMPLE_BYTES, bytes)?);
    let mut totals = [0.0; COUNTERS];
    let read = totals.iter_mut().zip(&words[2..]);
    read.for_each(|(total, word)| *total = f64::from_bits(*word));
    Ok(Sample {
        start: words[0],
        end: words[1],
        totals,
    })
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}
