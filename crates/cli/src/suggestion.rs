//! Suggests known names for an unknown name.

/// Returns `unknown protocol 'SLIO': did you mean 'SILO'? allowed: ...`
pub fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    unknown_of_many(kind, name, known, &known.join(", "))
}

/// Returns `unknown planted bug 'early': did you mean 'silo_early_epoch'? allowed: those that kilocore list names`. For
/// names that are too many for one line; `allowed` says where they are listed.
pub fn unknown_of_many(kind: &str, name: &str, known: &[&str], allowed: &str) -> String {
    let meant = nearest(name, known).map_or(String::new(), |n| format!(": did you mean '{n}'?"));
    let separator = if meant.is_empty() { ";" } else { "" };
    format!("unknown {kind} '{name}'{meant}{separator} allowed: {allowed}")
}

/// Returns `did you mean 'small'? allowed: ...`. The suggestion is left out if no value of `known` is similar.
pub fn allowed(given: &str, known: &[&str], allowed: &str) -> String {
    let meant = nearest(given, known).map_or(String::new(), |n| format!("did you mean '{n}'? "));
    format!("{meant}allowed: {allowed}")
}

/// Returns the most similar known name, if one is similar enough.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let alike = |candidate: &&str| strsim::jaro_winkler(&plain(name), &plain(candidate));
    known
        .iter()
        .map(|candidate| (alike(candidate), *candidate))
        .filter(|(alike, _)| *alike > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_nonsense_is_not() {
        let known = ["NO_CC", "NO_WAIT", "WAIT_DIE", "SILO"];
        assert_eq!(nearest("SLIO", &known), Some("SILO"));
        assert_eq!(nearest("no-wait", &known), Some("NO_WAIT"));
        assert_eq!(nearest("xyz", &known), None);
        let text = unknown("protocol", "SLIO", &known);
        assert_eq!(
            text,
            "unknown protocol 'SLIO': did you mean 'SILO'? allowed: NO_CC, NO_WAIT, WAIT_DIE, SILO"
        );
        assert_eq!(allowed("no", &["on", "off"], "on, off"), "allowed: on, off");
        let text = allowed("of", &["on", "off"], "on, off");
        assert_eq!(text, "did you mean 'off'? allowed: on, off");
        assert!(unknown("protocol", "xyz", &known).starts_with("unknown protocol 'xyz'; allowed"));
    }
}
