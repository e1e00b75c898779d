//! Gives each line of a picture its colour and the form of its marks.

const BLUE: &str = "#1f6fd0";
const RED: &str = "#d03a10";
const GOLD: &str = "#ad8200";
const GREEN: &str = "#3f8a1a";
const PURPLE: &str = "#9a3fa8";
const NAVY: &str = "#2b2f6b";
const ROSE: &str = "#d02a7a";
const TEAL: &str = "#00788a";
const GREY: &str = "#6c7684";

/// Form of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Disc,
    Square,
    /// A triangle whose tip is in this direction.
    Up,
    Down,
    Left,
    Right,
    Diamond,
    /// A rectangle, upright or lying.
    Tall,
    Wide,
}

/// Colour and mark of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colour.
    pub colour: &'static str,
    /// Form of the marks.
    pub form: Form,
}

/// Styles in the order in which names get them.
const ORDER: [Style; 9] = [
    of(BLUE, Form::Disc),
    of(RED, Form::Square),
    of(GOLD, Form::Up),
    of(GREEN, Form::Diamond),
    of(PURPLE, Form::Down),
    of(NAVY, Form::Left),
    of(ROSE, Form::Right),
    of(TEAL, Form::Tall),
    of(GREY, Form::Wide),
];

/// Names that have the same style in all figures. Protocols and architectures that meet in a figure differ in colour and in
/// form.
const KNOWN: [(&str, Style); 17] = [
    ("DL_DETECT", of(BLUE, Form::Disc)),
    ("NO_WAIT", of(RED, Form::Square)),
    ("WAIT_DIE", of(GOLD, Form::Up)),
    ("MVCC", of(GREEN, Form::Diamond)),
    ("OCC", of(PURPLE, Form::Down)),
    ("HSTORE", of(NAVY, Form::Left)),
    ("SILO", of(ROSE, Form::Right)),
    ("TICTOC", of(TEAL, Form::Tall)),
    ("TIMESTAMP", of(TEAL, Form::Wide)),
    ("2V_NO_WAIT", of(GREEN, Form::Tall)),
    ("MOCC", of(GREY, Form::Wide)),
    ("PCC", of(GOLD, Form::Diamond)),
    ("SE", of(BLUE, Form::Square)),
    ("PSE", of(NAVY, Form::Up)),
    ("Delegation", of(GOLD, Form::Left)),
    ("DORA", of(PURPLE, Form::Diamond)),
    ("Asymmetric", of(TEAL, Form::Diamond)),
];

const fn of(colour: &'static str, form: Form) -> Style {
    Style { colour, form }
}

/// Returns the style of each of the different `names`. One without a style of its own gets the first that no other has.
pub fn styles(names: &[&str]) -> Vec<Style> {
    let fixed = |name: &&str| KNOWN.iter().find(|known| known.0 == *name).map(|known| known.1);
    let mut taken: Vec<Style> = names.iter().filter_map(fixed).collect();
    let mut style = |name: &&str| {
        fixed(name).unwrap_or_else(|| {
            // A colour that a known line has would mislead, as long as there are others.
            let mut free = (0..).map(nth).filter(|style| !taken.contains(style));
            let other = |style: &Style| taken.iter().all(|one| one.colour != style.colour);
            let own = free.clone().take(ORDER.len()).find(other).or_else(|| free.next());
            let own = own.expect("there are more styles than lines of a figure");
            taken.push(own);
            own
        })
    };
    names.iter().map(&mut style).collect()
}

/// Returns a style by its number. Those beyond the first ones have the same colours with other forms.
fn nth(number: usize) -> Style {
    let form = ORDER[(number + number / ORDER.len()) % ORDER.len()].form;
    Style { form, ..ORDER[number % ORDER.len()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Effort, Kind, PAPERS};
    use std::collections::BTreeSet;

    #[test]
    fn names_have_styles_of_their_own() {
        for (at, (name, style)) in KNOWN.iter().enumerate() {
            let others = &KNOWN[..at];
            assert!(others.iter().all(|other| other.0 != *name && other.1 != *style), "{name}");
        }
        let names: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.extend(["SILO", "NO_WAIT"]);
        let all = styles(&names);
        for (at, style) in all.iter().enumerate() {
            assert!(!all[..at].contains(style), "{}", names[at]);
        }
        assert_eq!(all[40..], [KNOWN[6].1, KNOWN[1].1]);
    }

    #[test]
    fn lines_of_a_figure_differ_in_colour_and_in_form() {
        for figure in PAPERS.iter().flat_map(|paper| paper.figures) {
            let has_lines = |group: &str| {
                let mut panels = figure.panels.iter().filter(|panel| panel.group == group);
                panels.any(|panel| !matches!(panel.kind, Kind::Bars { .. } | Kind::Map(_)))
            };
            let series = (figure.series)(Effort::Full);
            let names: BTreeSet<&str> = series
                .iter()
                .filter(|line| has_lines(line.group))
                .map(|line| line.name.as_str())
                .collect();
            let all = styles(&Vec::from_iter(names));
            for (at, style) in all.iter().enumerate() {
                let alike =
                    |other: &&Style| other.colour == style.colour || other.form == style.form;
                assert_eq!(all[..at].iter().find(alike), None, "{} {style:?}", figure.folder());
            }
        }
    }
}
