//! Defines statements of papers as checks of records, and their verdicts.

use super::explanation::explanation;
use super::{Data, Figure};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A statement of a paper about a figure.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The statement in our words.
    pub statement: &'static str,
    /// Section of the paper.
    pub section: &'static str,
    /// Thresholds that the paper does not give. Empty if there are none.
    pub ours: &'static str,
    /// Judges the statement by the records.
    pub judge: fn(&Data<'_>) -> Judgement,
}

/// Result of a check, or the record that it lacks.
pub type Judgement = Result<Finding, Missing>;

/// Numbers behind a verdict. A statement can have several parts. It holds if all of them hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    parts: Vec<(bool, String)>,
}

impl Finding {
    /// Creates a finding of one part, with the numbers that were seen.
    pub fn of(holds: bool, saw: impl Into<String>) -> Finding {
        Finding::default().and(holds, saw)
    }

    /// Adds a part.
    pub fn and(mut self, holds: bool, saw: impl Into<String>) -> Finding {
        self.parts.push((holds, saw.into()));
        self
    }

    /// Returns whether all parts hold.
    pub fn holds(&self) -> bool {
        self.parts.iter().all(|(holds, _)| *holds)
    }
}

impl fmt::Display for Finding {
    /// Writes the numbers of all parts. In a finding of several parts, those that do not hold are marked.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (holds, saw)) in self.parts.iter().enumerate() {
            f.write_str(if at > 0 { "; " } else { "" })?;
            f.write_str(saw)?;
            if !holds && self.parts.len() > 1 {
                f.write_str(" (does not hold)")?;
            }
        }
        Ok(())
    }
}

/// Reason why a statement can't be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing(pub String);

impl Missing {
    /// Returns the judgement of a statement that no run of this program can judge yet.
    pub fn always(why: &str) -> Judgement {
        Err(Missing(why.to_owned()))
    }
}

/// Verdict on a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// The statement holds in the records.
    #[serde(rename = "holds")]
    Holds,
    /// The statement does not hold in the records.
    #[serde(rename = "does not hold")]
    Fails,
    /// A run is missing, or the program can't do it yet.
    #[serde(rename = "not measured")]
    NotMeasured,
}

impl Verdict {
    /// Returns the verdict in words.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "does not hold",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// A statement with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The statement in our words.
    pub statement: String,
    /// Section of the paper.
    pub section: String,
    /// Thresholds that the paper does not give.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ours: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Numbers behind the verdict, or the reason why there is none.
    pub saw: String,
    /// Reason why the statement does not hold. Empty if it holds, or if no reason is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub explanation: String,
}

impl Check {
    /// Judges the statement, which is one about `figure`.
    pub fn judged(&self, figure: &Figure, data: &Data<'_>) -> Judged {
        let (verdict, saw) = match (self.judge)(data) {
            Ok(finding) if finding.holds() => (Verdict::Holds, finding.to_string()),
            Ok(finding) => (Verdict::Fails, finding.to_string()),
            Err(Missing(why)) => (Verdict::NotMeasured, why),
        };
        Judged {
            statement: self.statement.to_owned(),
            section: self.section.to_owned(),
            ours: self.ours.to_owned(),
            verdict,
            saw,
            explanation: match verdict {
                Verdict::Fails => explanation(figure, self.statement),
                Verdict::Holds | Verdict::NotMeasured => String::new(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_holds_if_all_parts_hold_and_marks_the_others() {
        let both = Finding::of(true, "a 1").and(false, "b 2");
        assert_eq!((both.holds(), both.to_string()), (false, "a 1; b 2 (does not hold)".into()));
        let one = Finding::of(false, "a 1");
        assert_eq!((one.holds(), one.to_string()), (false, "a 1".into()));
        assert!(Finding::of(true, "a").and(true, "b").holds());
    }
}
