//! Tests whole pictures.

use super::{draw, escaped};
use crate::figures::tests::invented;
use crate::figures::{Effort, Kind, PAPERS};

#[test]
fn every_figure_is_drawn_with_all_its_series() {
    for figure in PAPERS.iter().flat_map(|paper| paper.figures) {
        let lines = invented(figure, Effort::Quick);
        let svg = draw(figure, &lines, "a note").to_svg();
        assert!(svg.contains(&escaped(&figure.heading())) && svg.contains("a note"), "{svg}");
        let shown = |group| figure.panels.iter().find(|panel| panel.group == group);
        for line in &lines {
            let Some(panel) = shown(line.group) else { continue };
            // A map names architectures, and the protocols that win.
            let name = match panel.kind {
                Kind::Map(_) => line.name.split(' ').next().unwrap_or_default(),
                _ => &line.name,
            };
            assert!(svg.contains(&format!(">{name}</text>")), "{}", line.name);
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn a_figure_without_records_is_an_empty_picture() {
    for figure in PAPERS.iter().flat_map(|paper| paper.figures) {
        let svg = draw(figure, &[], "").to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
