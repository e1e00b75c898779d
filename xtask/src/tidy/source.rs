//! Represents a file for the rules: tokens with their lines, separate comments, marked tests.
//!
//! This is not a parser. It knows only as much of Rust's lexical structure as is needed to distinguish identifiers
//! from words in strings and comments.

use std::ops::RangeInclusive;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or keyword.
    Word,
    /// A string's contents, as written.
    Text,
    /// One character of punctuation.
    Mark,
}

/// A token of code. Numbers, characters and lifetimes are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token.
    pub kind: Kind,
    /// Text of the token.
    pub text: String,
    /// Line on which the token starts.
    pub line: usize,
}

/// A comment, including its slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Text of the comment.
    pub text: String,
    /// First and last line of the comment.
    pub lines: RangeInclusive<usize>,
}

/// A tracked file.
pub struct File {
    /// Path from the root, with slashes.
    pub path: String,
    /// Contents, or empty if the file isn't text.
    pub text: String,
    /// Code tokens, if the file is Rust.
    pub tokens: Vec<Token>,
    /// Comments, if the file is Rust.
    pub comments: Vec<Comment>,
    tests: Vec<RangeInclusive<usize>>,
    test_modules: Vec<String>,
    all_test: bool,
}

impl File {
    /// Creates the file `path` with the contents `text`.
    pub fn new(path: &str, text: &str) -> File {
        let path = path.replace('\\', "/");
        let (tokens, comments) =
            if path.ends_with(".rs") { Lexer::new(text).run() } else { Default::default() };
        let (tests, test_modules) = test_items(&tokens);
        let apart = ["tests", "examples", "benches"];
        let all_test = path.split('/').any(|part| apart.contains(&part)) && path.ends_with(".rs");
        let text = text.to_owned();
        File { path, text, tokens, comments, tests, test_modules, all_test }
    }

    /// Returns whether `line` belongs to a test, benchmark or example.
    pub fn is_test(&self, line: usize) -> bool {
        self.all_test || self.tests.iter().any(|range| range.contains(&line))
    }

    /// Returns the crate that the file belongs to: its folder's name below `crates/`, or `xtask`.
    pub fn crate_name(&self) -> Option<&str> {
        let mut parts = self.path.split('/');
        match parts.next()? {
            "crates" => parts.next(),
            "xtask" => Some("xtask"),
            _ => None,
        }
    }

    /// Returns the file's name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns whether the tokens from `at` on are `texts`.
    pub fn follows(&self, at: usize, texts: &[&str]) -> bool {
        follows(&self.tokens, at, texts)
    }

    /// Returns whether the word at `at` is reached through `parent`: as `parent::word`, or in the braces of a
    /// `parent::{...}`.
    pub fn is_within(&self, at: usize, parent: &[&str]) -> bool {
        let reached = |at: usize| {
            at.checked_sub(3).is_some_and(|at| {
                parent.contains(&self.tokens[at].text.as_str()) && self.follows(at + 1, &[":", ":"])
            })
        };
        if reached(at) {
            return true;
        }
        // Searches backwards for the brace that is open at this token.
        let mut depth = 0;
        for before in (0..at).rev() {
            match self.tokens[before].text.as_str() {
                ";" => return false,
                "}" => depth += 1,
                "{" if depth > 0 => depth -= 1,
                "{" => return reached(before),
                _ => {}
            }
        }
        false
    }

    /// Returns the nearest comment on or above `line`, with at most `gap` lines of code between them. All comments
    /// that touch it are joined to it.
    pub fn comment_above(&self, line: usize, gap: usize) -> String {
        let mut top = line;
        let mut joined = String::new();
        for comment in self.comments.iter().rev().filter(|c| *c.lines.start() <= line) {
            let reach = if joined.is_empty() { gap } else { 0 };
            if comment.lines.end() + 1 + reach < top {
                break;
            }
            top = *comment.lines.start();
            joined = format!("{}\n{joined}", comment.text);
        }
        joined
    }
}

/// Marks the files of modules that are declared as `#[cfg(test)] mod name;` in another file.
pub fn mark_test_modules(files: &mut [File]) {
    let mut roots = Vec::new();
    for file in files.iter() {
        let folder = match file.path.rsplit_once('/') {
            Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder,
            _ => file.path.trim_end_matches(".rs"),
        };
        roots.extend(file.test_modules.iter().map(|name| format!("{folder}/{name}")));
    }
    // Test modules can also include files beside them: `#[path = "name.rs"] mod name;`.
    for file in files.iter() {
        let stem = file.path.trim_end_matches(".rs");
        if let Some((folder, _)) = file.path.rsplit_once('/')
            && (file.all_test || roots.iter().any(|root| root == stem))
        {
            let paths = (0..file.tokens.len())
                .filter(|at| file.follows(*at, &["[", "path", "="]))
                .filter_map(|at| file.tokens.get(at + 3));
            let taken: Vec<String> = paths
                .map(|path| format!("{folder}/{}", path.text.trim_end_matches(".rs")))
                .collect();
            roots.extend(taken);
        }
    }
    for file in files {
        let stem = file.path.trim_end_matches(".rs");
        file.all_test |= roots.iter().any(|root| {
            stem == root || stem.strip_prefix(root).is_some_and(|s| s.starts_with('/'))
        });
    }
}

fn follows(tokens: &[Token], at: usize, texts: &[&str]) -> bool {
    tokens.len() >= at + texts.len()
        && texts.iter().zip(&tokens[at..]).all(|(text, token)| token.text == *text)
}

/// Returns the lines of items under `#[cfg(test)]`, and the names of test modules that lie in other files.
fn test_items(tokens: &[Token]) -> (Vec<RangeInclusive<usize>>, Vec<String>) {
    let (mut lines, mut modules) = (Vec::new(), Vec::new());
    let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut at = 0;
    while at < tokens.len() {
        if !follows(tokens, at, &attribute) {
            at += 1;
            continue;
        }
        let first = tokens[at].line;
        at += attribute.len();
        // Advances to the end of the item: a semicolon, or the brace that closes its body.
        let mut depth = 0usize;
        while at < tokens.len() {
            match (tokens[at].kind, tokens[at].text.as_str()) {
                (Kind::Word, "mod") if depth == 0 && follows(tokens, at + 2, &[";"]) => {
                    modules.push(tokens[at + 1].text.clone());
                }
                (Kind::Mark, "{" | "(" | "[") => depth += 1,
                (Kind::Mark, close @ ("}" | ")" | "]")) => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && close == "}" {
                        break;
                    }
                }
                (Kind::Mark, ";") if depth == 0 => break,
                _ => {}
            }
            at += 1;
        }
        let last = tokens.get(at).or(tokens.last()).map_or(first, |token| token.line);
        lines.push(first..=last);
    }
    (lines, modules)
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Lexer<'a> {
        let (tokens, comments) = (Vec::new(), Vec::new());
        Lexer { text: text.as_bytes(), at: 0, line: 1, tokens, comments }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(mut self) -> (Vec<Token>, Vec<Comment>) {
        while self.at < self.text.len() {
            let byte = self.peek(0);
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b'/' if self.peek(1) == b'/' => self.line_comment(),
                b'/' if self.peek(1) == b'*' => self.block_comment(),
                b'"' => self.string(0),
                b'\'' => self.quote(),
                _ if is_word(byte) => self.word(),
                _ => {
                    if !byte.is_ascii_whitespace() {
                        self.push(Kind::Mark, self.at, self.at + 1, self.line);
                    }
                    self.at += 1;
                }
            }
        }
        (self.tokens, self.comments)
    }

    fn slice(&self, from: usize, to: usize) -> String {
        String::from_utf8_lossy(&self.text[from..to.min(self.text.len())]).into_owned()
    }

    fn push(&mut self, kind: Kind, from: usize, to: usize, line: usize) {
        let text = self.slice(from, to);
        self.tokens.push(Token { kind, text, line });
    }

    fn line_comment(&mut self) {
        let from = self.at;
        while self.at < self.text.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
        let text = self.slice(from, self.at);
        self.comments.push(Comment { text, lines: self.line..=self.line });
    }

    fn block_comment(&mut self) {
        let (from, first) = (self.at, self.line);
        let mut depth = 0usize;
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 1;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 1;
                }
                (b'\n', _) => self.line += 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        let text = self.slice(from, self.at);
        self.comments.push(Comment { text, lines: first..=self.line });
    }

    /// Reads a string from its first quote on. `hashes` is 0 for a string with escapes. For a raw string it is the
    /// number of hashes plus one.
    fn string(&mut self, hashes: usize) {
        let (from, first) = (self.at + 1, self.line);
        self.at += 1;
        while self.at < self.text.len() {
            match self.peek(0) {
                b'\\' if hashes == 0 => {
                    self.line += usize::from(self.peek(1) == b'\n');
                    self.at += 1;
                }
                b'\n' => self.line += 1,
                b'"' if hashes == 0 || (1..hashes).all(|i| self.peek(i) == b'#') => break,
                _ => {}
            }
            self.at += 1;
        }
        self.push(Kind::Text, from, self.at, first);
        self.at += hashes.max(1);
    }

    /// Reads a character or a lifetime.
    fn quote(&mut self) {
        let width = std::str::from_utf8(&self.text[self.at + 1..])
            .ok()
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8);
        if self.peek(1) == b'\\' {
            self.at += 3;
            while self.at < self.text.len() && self.peek(0) != b'\'' {
                self.at += 1;
            }
            self.at += 1;
        } else if self.peek(1 + width) == b'\'' {
            self.line += usize::from(self.peek(1) == b'\n');
            self.at += 2 + width;
        } else {
            self.at += 1;
            while is_word(self.peek(0)) && self.at < self.text.len() {
                self.at += 1;
            }
        }
    }

    fn word(&mut self) {
        let from = self.at;
        while self.at < self.text.len() && is_word(self.peek(0)) {
            self.at += 1;
        }
        let word = &self.text[from..self.at];
        if word[0].is_ascii_digit() {
            return;
        }
        match (word, self.peek(0)) {
            (b"r" | b"br" | b"cr", b'"') => self.string(1),
            (b"r" | b"br" | b"cr", b'#') => {
                let hashes = (0..).take_while(|i| self.peek(*i) == b'#').count();
                if self.peek(hashes) == b'"' {
                    self.at += hashes;
                    self.string(hashes + 1);
                } else {
                    self.at += 1; // r#ident: the identifier follows
                }
            }
            (b"b" | b"c", b'"') => self.string(0),
            (b"b", b'\'') => self.quote(),
            _ => self.push(Kind::Word, from, self.at, self.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(String, usize)> {
        let file = File::new("a.rs", text);
        let words = file.tokens.iter().filter(|t| t.kind == Kind::Word);
        words.map(|t| (t.text.clone(), t.line)).collect()
    }

    #[test]
    fn strings_comments_characters_and_lifetimes_are_not_words() {
        let text =
            "a /* b /* c */ d */ \"e \\\" f\"\nr#\"g \" h\"# 'i' '\\'' 'j '\\u{41}' b\"k\" 1u8 l";
        let found: Vec<_> = words(text);
        assert_eq!(found, [("a".into(), 1), ("l".into(), 2)]);
    }

    #[test]
    fn lines_are_counted_through_strings() {
        assert_eq!(words("\"x\n\\\ny\" a\n// b\nc"), [("a".into(), 3), ("c".into(), 5)]);
    }

    #[test]
    fn test_modules_are_marked_here_and_elsewhere() {
        let mut files = [
            File::new("crates/x/src/lib.rs", "#[cfg(test)]\nmod probe;\nfn f() {}\n"),
            File::new("crates/x/src/probe.rs", "#[path = \"aside.rs\"]\nmod aside;"),
            File::new("crates/x/src/aside.rs", "fn g() {}"),
            File::new("crates/x/src/probe/deep.rs", "fn g() {}"),
            File::new("crates/x/src/real.rs", "fn a() {}\n#[cfg(test)]\nmod t {\n{}\n}\nfn b() {}"),
        ];
        mark_test_modules(&mut files);
        assert!(!files[0].is_test(3));
        assert!(files[1].is_test(1) && files[2].is_test(1) && files[3].is_test(1));
        let lines: Vec<bool> = (1..=6).map(|line| files[4].is_test(line)).collect();
        assert_eq!(lines, [false, true, true, true, true, false]);
    }

    #[test]
    fn a_comment_above_is_found_across_a_gap() {
        let file = File::new("a.rs", "// one\n// two\nlet a = 1;\nlet b = 2;\n");
        assert!(file.comment_above(3, 0).contains("one"));
        assert_eq!(file.comment_above(4, 0), "");
        assert!(file.comment_above(4, 1).contains("two"));
    }
}
