//! Student's t distribution, and the derivatives of the logarithm of the gamma function that the
//! moderated t statistic needs.

use std::f64::consts::PI;

/// The probability that |T| of Student's t with `df` degrees of freedom is at least `t`: with
/// x = df / (df + t²) the regularized incomplete beta function I_x(df/2, 1/2).
pub(super) fn two_sided_p(t: f64, df: f64) -> f64 {
    let squared = t * t;
    if !squared.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    incomplete_beta(df / 2.0, 0.5, df / (df + squared)).clamp(0.0, 1.0)
}

/// The t that |T| exceeds with probability `p`.
pub(super) fn two_sided_quantile(p: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided_p(high, df) > p && high < 1e12 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if two_sided_p(middle, df) > p {
            low = middle
        } else {
            high = middle
        }
    }
    (low + high) / 2.0
}

/// By the continued fraction of Numerical Recipes (Press et al., 3rd edition, 6.4), evaluated with
/// Lentz's method.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// By Stirling's series above 10, and Γ(x) = Γ(x + 1) / x below.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1_260.0));
    (x - 0.5) * x.ln() - x + (2.0 * PI).ln() / 2.0 + series - shift
}

/// The derivative of ln Γ (Abramowitz and Stegun, 6.3.5 and 6.3.18).
pub(super) fn digamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0));
    x.ln() - 0.5 / x - series - shift
}

/// The derivative of [`digamma`] (Abramowitz and Stegun, 6.4.6 and 6.4.12).
pub(super) fn trigamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0));
    inverse * (1.0 + inverse / 2.0 + series) + shift
}

/// The x of a trigamma, which falls from infinity to 0.
pub(super) fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (1e-8_f64, 1e8_f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > value {
            low = middle
        } else {
            high = middle
        }
    }
    (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        let difference = (found - expected).abs();
        assert!(
            difference <= 1e-9 * expected.abs().max(1e-3),
            "{found} is not {expected}"
        );
    }

    #[test]
    fn probabilities_and_quantiles_are_students() {
        // Closed forms: df 1 is Cauchy's distribution, and df 2 has 1 − t/√(t² + 2).
        close(two_sided_p(1.0, 1.0), 0.5);
        close(two_sided_p(3.0, 2.0), 1.0 - 3.0 / 11.0_f64.sqrt());
        // df 4: 1 − (3/8)·s·(1 − s²/12)·… at s = t/√(1 + t²/4) is Hill's form.
        let t: f64 = 2.5;
        let s = t / (1.0 + t * t / 4.0).sqrt();
        close(two_sided_p(t, 4.0), 1.0 - 0.75 * s * (1.0 - s * s / 12.0));
        assert_eq!(two_sided_p(0.0, 8.0), 1.0);
        assert_eq!(two_sided_p(f64::INFINITY, 8.0), 0.0);
        assert_eq!(two_sided_p(f64::NAN, 8.0), 1.0);
        for (df, quantile) in [
            (1.0, 12.706_204_736),
            (8.0, 2.306_004_135),
            (30.0, 2.042_272_456),
        ] {
            assert!((two_sided_quantile(0.05, df) - quantile).abs() < 1e-8);
        }
        assert!((two_sided_quantile(0.01, 8.0) - 3.355_387_331).abs() < 1e-8);
    }

    #[test]
    fn gamma_derivatives_have_their_known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        close(digamma(1.0), -EULER);
        close(digamma(0.5), -EULER - 2.0 * 2.0_f64.ln());
        close(trigamma(1.0), PI * PI / 6.0);
        close(trigamma(0.5), PI * PI / 2.0);
        close(ln_gamma(0.5), PI.sqrt().ln());
        close(ln_gamma(5.0), 24.0_f64.ln());
        for x in [0.3, 2.0, 40.0] {
            close(inverse_trigamma(trigamma(x)), x);
        }
    }
}
