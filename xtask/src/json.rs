//! Reads and writes as much JSON as the chores' own records need.

/// Returns `text` as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Returns the value of `key` in a flat object on one line. Strings are returned without quotes. Escapes are not
/// undone, so only strings in which [`quoted`] escapes nothing are read correctly, for example names.
pub fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.split_once(&format!("\"{key}\":"))?.1.trim_start();
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split([',', '}']).next().map(str::trim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_as_they_were_written() {
        let line = format!("{{\"a\": {}, \"b\":12, \"c\": null}}", quoted("NO_CC"));
        assert_eq!(field(&line, "a"), Some("NO_CC"));
        assert_eq!(field(&line, "b"), Some("12"));
        assert_eq!(field(&line, "c"), Some("null"));
        assert_eq!(field(&line, "d"), None);
    }

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(quoted("a\"b\\\n\u{1}"), "\"a\\\"b\\\\\\n\\u0001\"");
    }
}
