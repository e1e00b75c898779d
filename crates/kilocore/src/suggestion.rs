//! Suggests the name that the caller probably meant.

/// Returns the allowed name nearest to `given`, if its edit distance is at most 1 plus a quarter of the length
/// of `given`.
pub(crate) fn nearest<'a>(
    given: &str,
    allowed: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = given.to_lowercase();
    let distances = allowed.into_iter().map(|name| (distance(&lower, &name.to_lowercase()), name));
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + lower.len() / 4).then_some(name)
}

/// Returns a question such as "; did you mean "SILO"?", or an empty string if no name is near.
pub(crate) fn did_you_mean<S: AsRef<str>>(given: &str, allowed: &[S]) -> String {
    nearest(given, allowed.iter().map(AsRef::as_ref))
        .map_or(String::new(), |name| format!("; did you mean {name:?}?"))
}

/// Returns the number of insertions, deletions and substitutions that turn one string into the other
/// (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let allowed = ["NO_WAIT", "SILO", "TICTOC"];
        assert_eq!(nearest("silo", allowed), Some("SILO"));
        assert_eq!(nearest("TIKTOK", allowed), Some("TICTOC"));
        assert_eq!(nearest("NOWAIT", allowed), Some("NO_WAIT"));
        assert_eq!(nearest("hekaton", allowed), None);
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
    }
}
