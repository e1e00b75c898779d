//! A note, and the form of its values.

use txn::{ColumnSet, RowLayout};

/// Largest length of a tag, in bytes.
pub(super) const TAG_BYTES: usize = 8;

/// Number of different tags.
pub(super) const TAGS: u32 = 5;

/// A note. Everything that a row holds follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// Number of characters of the text.
    pub size: u64,
    /// Decides on the letters of the text, the tag and the file.
    pub mark: u32,
}

/// Columns of a note that [`Note::push`] can be asked for.
pub(super) const SIZE_AND_TEXT: ColumnSet = ColumnSet(0b00101);
pub(super) const MARK_AND_THE_REST: ColumnSet = ColumnSet(0b11110);

impl Note {
    /// Returns the note that is loaded as number `at`, where notes have `size` characters on average.
    pub fn loaded(at: u64, size: u64) -> Note {
        Note { size: 1 + at * 7 % (2 * size), mark: at as u32 }
    }

    /// Returns the tag of notes with `mark`, or none.
    pub fn tag_of(mark: u32) -> Option<String> {
        // One tag in five is none, and the others have different lengths.
        let number = mark % TAGS;
        (number != 0).then(|| "tag-".chars().chain(('a'..='z').take(number as usize)).collect())
    }

    /// Appends the values of `columns` in packed form.
    pub fn push(&self, layout: &RowLayout, columns: ColumnSet, out: &mut Vec<u8>) {
        let letter = b'a' + (self.mark % 26) as u8;
        for column in columns.iter() {
            match column {
                0 => layout.push(out, 0, Some(&self.size.to_le_bytes())),
                1 => layout.push(out, 1, Some(&self.mark.to_le_bytes())),
                2 => layout.push(out, 2, Some(&vec![letter; self.size as usize])),
                3 => {
                    layout.push(out, 3, Note::tag_of(self.mark).as_ref().map(|tag| tag.as_bytes()))
                }
                _ => {
                    // A third of the files are NULL. The others are longer or shorter than the text.
                    let file =
                        vec![self.mark as u8; (self.size * u64::from(self.mark % 3)) as usize];
                    layout.push(out, 4, (!self.mark.is_multiple_of(3)).then_some(&file));
                }
            }
        }
    }

    /// Appends the whole row in packed form.
    pub fn push_row(&self, layout: &RowLayout, out: &mut Vec<u8>) {
        self.push(layout, layout.all(), out);
    }

    /// Returns the note whose row is `packed`, if every value is as the note's size and mark demand.
    pub fn of(layout: &RowLayout, packed: &[u8]) -> Option<Note> {
        let word = |column| layout.field(layout.all(), packed, column);
        let note = Note {
            size: u64::from_le_bytes(word(0)?.try_into().ok()?),
            mark: u32::from_le_bytes(word(1)?.try_into().ok()?),
        };
        // A size that nobody wrote would cost memory to compare with.
        if note.size > packed.len() as u64 {
            return None;
        }
        let mut expected = Vec::with_capacity(packed.len());
        note.push_row(layout, &mut expected);
        (expected == packed).then_some(note)
    }
}
