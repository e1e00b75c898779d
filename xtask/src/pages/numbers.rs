//! Writes numbers with three significant digits.

/// Returns `value` with three significant digits, and with commas from ten thousand on.
pub fn three(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let decimals = 2 - value.abs().log10().floor() as i32;
    let power = 10f64.powi(decimals);
    let rounded = (value * power).round() / power;
    match decimals {
        1.. => {
            let text = format!("{rounded:.*}", decimals as usize);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => grouped(rounded as u64),
    }
}

/// Returns a value of an axis. Whole numbers keep all their digits.
pub fn tick(value: f64) -> String {
    if value.fract() == 0.0 && value >= 1.0 { grouped(value as u64) } else { three(value) }
}

/// Returns a whole number with commas between thousands, from ten thousand on.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a share as a percentage.
pub fn per_cent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        p if p < 0.1 => "<0.1 %".into(),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Returns the middle value, or the mean of the two in the middle.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which a share `q` of the values lies, interpolated linearly between neighbours.
pub fn quantile(values: impl IntoIterator<Item = f64>, q: f64) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = last as f64 * q;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}

/// Returns the smallest and the largest value.
pub fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let around = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    values.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        let texts = [0.0, 0.0154, 0.09, 9.867, 59.71, 436.4, 1098.4, 253_001.0].map(three);
        assert_eq!(texts, ["0", "0.0154", "0.09", "9.87", "59.7", "436", "1100", "253,000"]);
        assert_eq!([three(9.999), three(999.6)], ["10", "1000"]);
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!((median([3.0, 1.0, 2.0]), median([4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert_eq!(range([2.0, 1.0, 3.0]), (1.0, 3.0));
        assert_eq!([0.0, 0.0004, 0.019, 0.456].map(per_cent), ["0 %", "<0.1 %", "1.9 %", "46 %"]);
    }
}
