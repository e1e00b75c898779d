//! Places values on an axis.

use crate::figures::Scale;

/// Width of a letter of a label, in pixels.
const LETTER: f64 = 7.0;

/// The range of an axis and its ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
    /// Set if a zero has a place below the least value of a logarithmic axis.
    zero: bool,
    /// Values with a line of the grid, and their labels.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Returns an axis on which all of `values` have a place. A linear axis begins at zero, or at the lowest negative value.
    pub fn of(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Axis {
        let most = values.clone().fold(0.0, f64::max);
        let least = values.clone().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        if scale == Scale::Log && least.is_finite() {
            let zero = values.clone().any(|v| v <= 0.0);
            return Axis::logarithmic(least, most, zero);
        }
        let low = values.fold(0.0, f64::min) * 1.04;
        let high = if most > 0.0 || low < 0.0 { most * 1.04 } else { 1.0 };
        let step = step_of(high - low);
        let ticks = ((low / step).ceil() as i64..).map(|at| at as f64 * step);
        let ticks = ticks.take_while(|tick| *tick <= high).map(|tick| (tick, written(tick)));
        Axis { low, high, scale: Scale::Linear, zero: false, ticks: ticks.collect() }
    }

    /// Returns a logarithmic axis. If there are zeros, they are a factor of ten below the least value.
    fn logarithmic(least: f64, most: f64, zero: bool) -> Axis {
        let low = if zero { least / 10.0 } else { least / 1.15 };
        let high = most.max(least * 1.5) * 1.15;
        let powers = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let first = if zero { vec![(low, "0".to_owned())] } else { Vec::new() };
        let ticks = |digits: &'static [f64]| {
            let all =
                powers.clone().flat_map(|power| digits.iter().map(move |d| d * 10f64.powi(power)));
            let inside = |tick: &f64| (low..=high).contains(tick) && (!zero || *tick > low * 1.5);
            all.filter(inside).map(|tick| (tick, written(tick))).collect::<Vec<_>>()
        };
        let whole = ticks(&[1.0]);
        // A short axis has few powers of ten, and its lowest values would have none below them.
        let inside = if whole.len() > 2 { whole } else { ticks(&[1.0, 2.0, 5.0]) };
        let ticks = first.into_iter().chain(inside).collect();
        Axis { low, high, scale: Scale::Log, zero, ticks }
    }

    /// Returns the axis with ticks at `places` instead of round values, if their labels have room on `length` pixels.
    pub fn ticked(self, places: impl Iterator<Item = f64>, length: f64) -> Axis {
        let mut places = Vec::from_iter(places);
        places.sort_by(f64::total_cmp);
        places.dedup();
        let ticks: Vec<(f64, String)> =
            places.into_iter().map(|place| (place, written(place))).collect();
        let have_room = ticks.windows(2).all(|pair| {
            let letters = pair[0].1.len() + pair[1].1.len();
            let distance = (self.part(pair[1].0) - self.part(pair[0].0)) * length;
            distance >= LETTER * (letters as f64 / 2.0 + 1.0)
        });
        if have_room && !ticks.is_empty() { Axis { ticks, ..self } } else { self }
    }

    /// Returns the place, from 0 to 1, at which a logarithmic axis is broken because it has a zero.
    pub fn gap(&self) -> Option<f64> {
        self.zero.then(|| self.part(self.low * 10f64.sqrt()))
    }

    /// Returns the place of `value`, from 0 to 1.
    pub fn part(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// Returns a round step with which four to nine steps reach `most`.
fn step_of(most: f64) -> f64 {
    let power = 10f64.powf((most / 4.0).log10().floor());
    let factor = [5.0, 2.0].into_iter().find(|factor| most / (power * factor) >= 4.0);
    power * factor.unwrap_or(1.0)
}

/// Returns a round number without the noise of its binary form, and with commas from ten thousand on.
fn written(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        return "0".to_owned();
    }
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut whole = whole.to_owned();
    if value.abs() >= 1e4 {
        let digits = whole.len();
        let first = usize::from(value < 0.0) + 1;
        for at in (first..digits).rev().filter(|at| (digits - at).is_multiple_of(3)) {
            whole.insert(at, ',');
        }
    }
    whole + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_have_round_ticks() {
        let axis = Axis::of(Scale::Linear, [3.0, 59.7].into_iter());
        let labels: Vec<&str> = axis.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(labels, ["0", "10", "20", "30", "40", "50", "60"]);
        assert_eq!(axis.part(0.0), 0.0);
        assert!(axis.part(59.7) < 1.0);
        assert_eq!(Axis::of(Scale::Linear, [0.0].into_iter()).part(0.0), 0.0);
    }

    #[test]
    fn ticks_are_at_the_places_if_there_is_room() {
        let labels = |scale, places: &[f64]| -> Vec<String> {
            let places = || places.iter().copied();
            let axis = Axis::of(scale, places()).ticked(places(), 544.0);
            axis.ticks.into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(labels(Scale::Log, &[8.0, 1.0, 2.0, 4.0, 2.0]), ["1", "2", "4", "8"]);
        assert_eq!(labels(Scale::Linear, &[0.0, 1.0, 3.0]), ["0", "1", "3"]);
        assert_eq!(labels(Scale::Linear, &[1.0, 2.0, 100.0]), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn large_numbers_have_commas() {
        let all = [1234.0, 12345.0, 1e6, -98765.5, -123456.0, 0.00025];
        let all = all.map(written);
        assert_eq!(all, ["1234", "12,345", "1,000,000", "-98,765.5", "-123,456", "0.00025"]);
    }

    #[test]
    fn a_linear_axis_reaches_below_zero_for_negative_values() {
        let axis = Axis::of(Scale::Linear, [-0.5, 0.2].into_iter());
        let labels: Vec<&str> = axis.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(labels, ["-0.5", "-0.4", "-0.3", "-0.2", "-0.1", "0", "0.1", "0.2"]);
        assert!(axis.part(-0.5) > 0.0 && axis.part(-0.5) < axis.part(0.0));
        assert!(axis.part(0.2) < 1.0);
        let below = Axis::of(Scale::Linear, [-0.3].into_iter());
        assert!(below.part(-0.3) > 0.0 && below.part(0.0) == 1.0);
    }

    #[test]
    fn a_zero_has_a_place_on_a_logarithmic_axis() {
        let axis = Axis::of(Scale::Log, [0.0, 1.0, 1e5].into_iter());
        assert_eq!(axis.ticks[0], (0.1, "0".to_owned()));
        assert_eq!(axis.ticks[1].1, "1");
        assert_eq!((axis.part(0.0), axis.ticks.len()), (0.0, 7));
        assert!(axis.part(1.0) > 0.1 && axis.part(1e5) < 1.0);
        assert!(axis.gap().is_some_and(|gap| gap > 0.0 && gap < axis.part(1.0)));
        let short = Axis::of(Scale::Log, [12.0, 96.0].into_iter());
        assert_eq!(short.gap(), None);
        let labels: Vec<&str> = short.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(labels, ["20", "50", "100"]);
        let low = Axis::of(Scale::Log, [0.17, 14.0].into_iter());
        let labels: Vec<&str> = low.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(labels, ["0.2", "0.5", "1", "2", "5", "10"]);
    }
}
