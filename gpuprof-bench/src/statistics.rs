//! What is said of many samples: median with its confidence interval, and noise.

/// Normal quantile of a two-sided 95 % interval.
const Z95: f64 = 1.96;
/// Median absolute deviation to standard deviation, for normal samples.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Steps of the timer differ by less, as the driver rounds times to single precision.
const ROUNDING: f64 = 1.05;
/// Of a timer, over the median.
const LONGEST_STEP: f64 = 0.01;
/// Of a timer: twice the resolution that the driver promises for events, 0.5 µs.
const TIMER_NS: f64 = 1_000.0;

/// Fewer samples may all be on one side of the median, more often than in 5 % of cases.
pub(crate) const LEAST_SAMPLES: usize = 6;

/// Times of samples, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Statistics {
    pub(crate) min: f64,
    pub(crate) median: f64,
    /// 95 % confidence interval of the median, by order statistics: no distribution is assumed.
    /// Fewer than [`LEAST_SAMPLES`] have none.
    pub(crate) median_ci95: Option<(f64, f64)>,
    pub(crate) p95: f64,
    /// Standard deviation over median, estimated from the median absolute deviation, which single
    /// outliers do not move.
    pub(crate) noise: f64,
    /// Smallest difference of two samples that are not equal, 0 if all are: the step of the timer
    /// where that is coarse.
    step: f64,
}

impl Statistics {
    /// `None` without a sample.
    pub(crate) fn of(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = median(&sorted)?;
        let mut distances: Vec<f64> = sorted.iter().map(|time| (time - median).abs()).collect();
        distances.sort_by(f64::total_cmp);
        let (low, high) = median_positions(sorted.len());
        let p95 = (sorted.len() as f64 * 0.95).ceil() as usize;
        Some(Self {
            min: *sorted.first()?,
            median,
            median_ci95: (sorted.len() >= LEAST_SAMPLES)
                .then_some((*sorted.get(low)?, *sorted.get(high)?)),
            p95: *sorted.get(p95.saturating_sub(1))?,
            step: step(&sorted),
            noise: MAD_TO_SIGMA * self::median(&distances)? / median.max(f64::MIN_POSITIVE),
        })
    }

    /// Half the width of the confidence interval over the median; `None` without an interval.
    pub(crate) fn relative_error(&self) -> Option<f64> {
        relative_error(self.median, self.median_ci95)
    }

    /// The step of the timer as the samples show it, if they do; 0 otherwise. Each is the mean of
    /// so many calls.
    pub(crate) fn timer_step(&self, calls: u32) -> f64 {
        // A longer one may be two states of the device.
        let is_of_timer =
            self.step * f64::from(calls) <= TIMER_NS && self.step <= LONGEST_STEP * self.median;
        if is_of_timer {
            self.step * ROUNDING
        } else {
            0.0
        }
    }
}

/// Half the width of the median's interval over the median; `None` without an interval.
pub(crate) fn relative_error(median: f64, ci95: Option<(f64, f64)>) -> Option<f64> {
    let (low, high) = ci95?;
    Some((high - low) / 2.0 / median.max(f64::MIN_POSITIVE))
}

fn step(sorted: &[f64]) -> f64 {
    let pairs = sorted.iter().zip(sorted.iter().skip(1));
    let steps = pairs.map(|(low, high)| high - low);
    let smallest = steps
        .filter(|&step| step > 0.0)
        .fold(f64::INFINITY, f64::min);
    if smallest.is_finite() { smallest } else { 0.0 }
}

/// The median of sorted numbers.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    match sorted.len() % 2 {
        1 => Some(upper),
        _ => Some((*sorted.get(sorted.len() / 2 - 1)? + upper) / 2.0),
    }
}

/// Positions of the ends of the median's 95 % interval among so many sorted samples: the number of
/// samples below the median is binomial. Hahn and Meeker, "Statistical Intervals", section 5.2.
fn median_positions(samples: usize) -> (usize, usize) {
    let (half, spread) = (samples as f64 / 2.0, Z95 * (samples as f64).sqrt() / 2.0);
    let low = (half - spread).floor().max(0.0) as usize;
    let high = (half + spread).ceil() as usize;
    (low, high.min(samples.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::Statistics;

    #[test]
    fn statistics_of_known_samples() {
        assert_eq!(Statistics::of(&[]), None);
        let one = Statistics::of(&[5.0]).unwrap();
        assert_eq!(
            (one.min, one.median, one.p95, one.noise),
            (5.0, 5.0, 5.0, 0.0)
        );
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let all = Statistics::of(&hundred).unwrap();
        assert_eq!((all.min, all.median, all.p95), (1.0, 50.5, 95.0));
        // The 41st and the 61st: positions 50 ∓ 9.8, outwards.
        assert_eq!(all.median_ci95, Some((41.0, 61.0)));
        assert!((all.relative_error().unwrap() - 10.0 / 50.5).abs() < 1e-12);
        assert!((all.noise - 1.4826 * 25.0 / 50.5).abs() < 1e-12);
    }

    /// Of a skewed distribution, as times are.
    #[test]
    fn the_interval_contains_the_median_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(3);
        for samples in [20, 51, 200] {
            let rounds = 4_000;
            let hits = (0..rounds).filter(|_| {
                let times: Vec<f64> = (0..samples)
                    .map(|_| 1.0 - random.f64().max(1e-9).ln())
                    .collect();
                let (low, high) = Statistics::of(&times).unwrap().median_ci95.unwrap();
                (low..=high).contains(&(1.0 + std::f64::consts::LN_2))
            });
            let share = hits.count() as f64 / f64::from(rounds);
            assert!((0.94..0.99).contains(&share), "{samples} samples: {share}");
        }
    }

    #[test]
    fn one_outlier_moves_neither_median_nor_noise() {
        let mut times = vec![100.0; 50];
        times.extend([101.0; 49]);
        times.push(1e9);
        let all = Statistics::of(&times).unwrap();
        assert_eq!(all.median, 100.5);
        assert!(all.noise < 0.01, "{}", all.noise);
    }
}
