//! Paints a picture in twice its size and writes it as PNG.

use super::canvas::{Anchor, GROUND, Picture, Shape, Text};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

/// Pixels for each unit of the picture.
const SCALE: f64 = 2.0;

/// Height of the letters in pixels, and of their base line above the lower end.
const LETTER: RasterHeight = RasterHeight::Size24;
const BELOW_BASE: f64 = 5.0;

type Colour = [u8; 3];

impl Picture {
    /// Returns the picture as a PNG file.
    pub fn to_png(&self) -> Vec<u8> {
        let mut ground = Ground::white(self.width, self.height);
        for shape in &self.shapes {
            ground.paint(shape);
        }
        let mut file = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut file, ground.width as u32, ground.height as u32);
        encoder.set_color(::png::ColorType::Rgb);
        encoder.set_depth(::png::BitDepth::Eight);
        let pixels: Vec<u8> = ground.pixels.into_iter().flatten().collect();
        let mut writer = encoder.write_header().expect("memory takes all that is written");
        writer.write_image_data(&pixels).expect("there are as many pixels as the header says");
        writer.finish().expect("memory takes all that is written");
        file
    }
}

/// Pixels in rows.
struct Ground {
    width: usize,
    height: usize,
    pixels: Vec<Colour>,
}

impl Ground {
    fn white(width: f64, height: f64) -> Ground {
        let (width, height) = ((width * SCALE) as usize, (height * SCALE) as usize);
        Ground { width, height, pixels: vec![[255; 3]; width * height] }
    }

    fn paint(&mut self, shape: &Shape) {
        match shape {
            Shape::Path { points, colour, width } => {
                for pair in points.windows(2) {
                    self.segment(scaled(pair[0]), scaled(pair[1]), width * SCALE, colour);
                }
            }
            Shape::Polygon { corners, colour, filled } => {
                let corners: Vec<_> = corners.iter().map(|corner| scaled(*corner)).collect();
                let inner = if *filled { colour } else { GROUND };
                self.fill(bounds(&corners, 1.0), inner, |at| distance_to_polygon(&corners, at));
                for (at, corner) in corners.iter().enumerate() {
                    let next = corners[(at + 1) % corners.len()];
                    self.segment(*corner, next, SCALE, colour);
                }
            }
            Shape::Disc { centre, radius, colour, filled } => {
                let (centre, radius) = (scaled(*centre), radius * SCALE);
                let around = bounds(&[centre], radius + 2.0);
                self.fill(around, colour, |at| far(centre, at) - radius - SCALE / 2.0);
                if !filled {
                    self.fill(around, GROUND, |at| far(centre, at) - radius + SCALE / 2.0);
                }
            }
            Shape::Text(text) => self.text(text),
        }
    }

    /// Paints the points whose signed distance to the shape is negative. Points at the edge are mixed.
    fn fill(
        &mut self,
        (from, to): ((f64, f64), (f64, f64)),
        colour: &str,
        distance: impl Fn((f64, f64)) -> f64,
    ) {
        let range = |low: f64, high: f64, most: usize| {
            (low.floor().max(0.0) as usize)..((high.ceil().max(0.0) as usize).min(most))
        };
        let colour = parsed(colour);
        for y in range(from.1, to.1, self.height) {
            for x in range(from.0, to.0, self.width) {
                let cover = (0.5 - distance((x as f64 + 0.5, y as f64 + 0.5))).clamp(0.0, 1.0);
                self.mix(x, y, colour, cover);
            }
        }
    }

    fn mix(&mut self, x: usize, y: usize, colour: Colour, cover: f64) {
        if x >= self.width || y >= self.height || cover <= 0.0 {
            return;
        }
        let pixel = &mut self.pixels[y * self.width + x];
        for (own, new) in pixel.iter_mut().zip(colour) {
            *own = (f64::from(*own) * (1.0 - cover) + f64::from(new) * cover).round() as u8;
        }
    }

    fn segment(&mut self, from: (f64, f64), to: (f64, f64), width: f64, colour: &str) {
        let around = bounds(&[from, to], width / 2.0 + 1.0);
        self.fill(around, colour, |at| distance_to_segment(from, to, at) - width / 2.0);
    }

    fn text(&mut self, text: &Text) {
        let weight = if text.bold { FontWeight::Bold } else { FontWeight::Regular };
        let rasters = || text.text.chars().filter_map(|letter| get_raster(letter, weight, LETTER));
        let step = get_raster_width(weight, LETTER);
        let length = (step * rasters().count()) as f64;
        let start = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -length / 2.0,
            Anchor::End => -length,
        };
        let (x, y) = scaled(text.at);
        let above = LETTER.val() as f64 - BELOW_BASE;
        let colour = parsed(text.colour);
        for (number, raster) in rasters().enumerate() {
            for (row, line) in raster.rows().enumerate() {
                for (column, cover) in line.iter().enumerate() {
                    // Place along the text and across it, from the text's point.
                    let along = start + (number * step + column) as f64;
                    let across = row as f64 - above;
                    let (px, py) = match text.upwards {
                        true => (x + across, y - along),
                        false => (x + along, y + across),
                    };
                    if px >= 0.0 && py >= 0.0 {
                        self.mix(px as usize, py as usize, colour, f64::from(*cover) / 255.0);
                    }
                }
            }
        }
    }
}

fn scaled((x, y): (f64, f64)) -> (f64, f64) {
    (x * SCALE, y * SCALE)
}

/// Returns the corners of a rectangle around `points`, with a margin.
fn bounds(points: &[(f64, f64)], margin: f64) -> ((f64, f64), (f64, f64)) {
    let fold = |pick: fn(&(f64, f64)) -> f64| {
        let values = points.iter().map(pick);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
    };
    let (x, y) = (fold(|point| point.0), fold(|point| point.1));
    ((x.0 - margin, y.0 - margin), (x.1 + margin, y.1 + margin))
}

fn far(a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

fn distance_to_segment(from: (f64, f64), to: (f64, f64), at: (f64, f64)) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let square = dx * dx + dy * dy;
    let part = match square > 0.0 {
        true => (((at.0 - from.0) * dx + (at.1 - from.1) * dy) / square).clamp(0.0, 1.0),
        false => 0.0,
    };
    far((from.0 + part * dx, from.1 + part * dy), at)
}

/// Returns the largest distance from an edge of a convex polygon whose corners go round clockwise. It is negative
/// inside.
fn distance_to_polygon(corners: &[(f64, f64)], at: (f64, f64)) -> f64 {
    let mut most = f64::NEG_INFINITY;
    for (index, from) in corners.iter().enumerate() {
        let to = corners[(index + 1) % corners.len()];
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1e-9);
        most = most.max(((at.0 - from.0) * dy - (at.1 - from.1) * dx) / length);
    }
    most
}

/// Returns the colour of `#rgb` or `#rrggbb`.
fn parsed(colour: &str) -> Colour {
    let digits = colour.trim_start_matches('#');
    let digit = |at: usize| {
        let text = digits.get(at..=at).and_then(|digit| u8::from_str_radix(digit, 16).ok());
        text.unwrap_or(0)
    };
    match digits.len() {
        3 => std::array::from_fn(|at| 17 * digit(at)),
        _ => std::array::from_fn(|at| 16 * digit(2 * at) + digit(2 * at + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_cover_what_is_inside() {
        let square = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)];
        assert_eq!(distance_to_polygon(&square, (2.0, 1.0)), -1.0);
        assert_eq!(distance_to_polygon(&square, (2.0, 6.0)), 2.0);
        assert_eq!(distance_to_segment((0.0, 0.0), (4.0, 0.0), (7.0, 4.0)), 5.0);
        assert_eq!((parsed("#fff"), parsed("#1f6fd0")), ([255; 3], [0x1f, 0x6f, 0xd0]));
    }

    #[test]
    fn a_picture_becomes_a_file_that_can_be_decoded() {
        let mut picture = Picture::new(40.0, 20.0);
        picture.bar((2.0, 2.0), (10.0, 10.0), "#ff0000");
        picture.text(Text::at(30.0, 15.0, "I").anchored(Anchor::Middle));
        let file = picture.to_png();
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height), (80, 40));
        let pixel = |x: usize, y: usize| &pixels[3 * (80 * y + x)..][..3];
        assert_eq!((pixel(12, 12), pixel(79, 0)), (&[255, 0, 0][..], &[255; 3][..]));
        let inked = (0..40).any(|y| (50..70).any(|x| pixel(x, y)[0] < 100));
        assert!(inked, "the letter is painted");
    }
}
