//! Durations as options spell them, for example `100us`.

/// Units and the nanoseconds of each.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Parses a duration such as `100us` into nanoseconds, up to 1000 s.
pub fn parse(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let ns = number.parse::<u64>().ok()?.checked_mul(*factor)?;
    (ns <= 1_000_000_000_000).then_some(ns)
}

/// Formats a duration as [`parse`] parses it, in the largest unit that leaves a whole number.
pub fn shown(ns: u64) -> String {
    let fits = UNITS.iter().rev().find(|(_, factor)| ns > 0 && ns.is_multiple_of(*factor));
    let (unit, factor) = fits.unwrap_or(&UNITS[0]);
    format!("{}{unit}", ns / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_they_parse() {
        for (text, ns) in [("0ns", 0), ("100us", 100_000), ("1500ns", 1500), ("2s", 2_000_000_000)]
        {
            assert_eq!((parse(text), shown(ns)), (Some(ns), text.to_owned()));
        }
        for text in ["", "1", "us", "-1us", "1.5ms", "1001s", "99999999999999999999ns", "1 us"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
