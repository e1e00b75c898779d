//! Lets options declare themselves: a table for each workload lists its options. Help texts, the command-line
//! syntax, records and presets are derived from it.

use super::{OptionError, OptionKind, OptionValue};

/// An option of the options `O`. [`option`] creates it.
#[derive(Clone, Copy, Debug)]
pub struct OptionOf<O> {
    word: &'static str,
    help: &'static str,
    place: fn(&mut O) -> &mut dyn OptionKind,
}

/// Declares an option with the command-line name `word`, and the field that holds it. A switch whose word
/// begins with `no-` turns off a setting that is on by default.
pub const fn option<O>(
    word: &'static str,
    help: &'static str,
    place: fn(&mut O) -> &mut dyn OptionKind,
) -> OptionOf<O> {
    OptionOf { word, help, place }
}

/// Several options under one name: a preset, or a switch for options that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Name of the bundle.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Options that the bundle sets, as on the command line.
    pub sets: &'static str,
}

/// Creates a bundle of the options in `sets`, which are written as on the command line.
pub const fn bundle(name: &'static str, summary: &'static str, sets: &'static str) -> Bundle {
    Bundle { name, summary, sets }
}

/// The options of a workload.
pub trait Options: Clone + Default + 'static {
    /// All individual options, in the order of help texts.
    const OPTIONS: &'static [OptionOf<Self>];
    /// Settings by name (`--preset NAME`), applied over the defaults.
    const PRESETS: &'static [Bundle] = &[];
    /// Switches for several options at once. Each switch excludes the options that it sets.
    const SWITCHES: &'static [Bundle] = &[];
    /// Options to set, as on the command line, when protocols are compared. It is needed if a comparison with
    /// the defaults would show nothing.
    const COMPARED: &'static str = "";

    /// Returns an error that names a wrong option, if there is one.
    fn validate(&self) -> Result<(), OptionError>;

    /// Returns an error if an option that was given contradicts another one. [`Options::validate`] can't tell a given
    /// value from a default, which may give way. `given` tells whether the option with this word was given.
    fn contradiction(&self, given: &dyn Fn(&str) -> bool) -> Result<(), OptionError> {
        let _ = given;
        Ok(())
    }

    /// Returns the option that binds workers to one kind of transaction, and how many workers it binds.
    fn bound_workers(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// Returns names and values, for a run's record.
    fn list(&self) -> Vec<(&'static str, OptionValue)> {
        Self::OPTIONS.iter().map(|option| (option.name(), option.value(self))).collect()
    }

    /// Sets the option with the command-line name `word`. Switches need no `text`.
    fn set(&mut self, word: &str, text: &str) -> Result<(), OptionError> {
        if let Some(bundle) = Self::SWITCHES.iter().find(|bundle| bundle.name == word) {
            *self = self.clone().changed(bundle.sets)?;
            return Ok(());
        }
        match Self::OPTIONS.iter().find(|option| option.word == word) {
            Some(option) => option.set(self, text),
            None => Err(OptionError {
                option: "an option",
                given: word.to_owned(),
                allowed: Self::OPTIONS.iter().map(|o| o.word).collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// Returns these options with changes, written as on the command line: `--records 1M --key-order`.
    fn changed(mut self, said: &str) -> Result<Self, OptionError> {
        for said in said.split("--").skip(1) {
            let (word, text) = said.split_once(' ').unwrap_or((said, ""));
            self.set(word, text.trim_end())?;
        }
        Ok(self)
    }

    /// Returns the settings called `name`, one of [`Options::PRESETS`].
    fn preset(name: &str) -> Option<Self> {
        let preset = Self::PRESETS.iter().find(|preset| preset.name == name)?;
        Some(Self::default().changed(preset.sets).expect("what a preset sets is there"))
    }

    /// Returns the defaults for a comparison of protocols.
    fn compared() -> Self {
        Self::default().changed(Self::COMPARED).expect("what is compared is there")
    }
}

/// The options of a workload that has none.
impl Options for () {
    const OPTIONS: &'static [OptionOf<()>] = &[];

    fn validate(&self) -> Result<(), OptionError> {
        Ok(())
    }
}

impl<O: Options> OptionOf<O> {
    /// Returns the name used in records.
    fn name(&self) -> &'static str {
        self.word.strip_prefix("no-").unwrap_or(self.word)
    }

    fn value(&self, options: &O) -> OptionValue {
        (self.place)(&mut options.clone()).value()
    }

    fn set(&self, options: &mut O, text: &str) -> Result<(), OptionError> {
        let place = (self.place)(options);
        let switched = if self.name() == self.word { "true" } else { "false" };
        let text = if place.placeholder().is_none() { switched } else { text };
        place.set(text).map_err(|allowed| {
            let given = text.to_owned();
            OptionError { option: self.name(), given, allowed }
        })
    }
}

/// An option of any workload, as needed by a command line.
pub trait AnyOption: Sync {
    /// Returns the name on the command line, without dashes.
    fn word(&self) -> &'static str;
    /// Returns the help text.
    fn help(&self) -> &'static str;
    /// Returns the placeholder for its value in help texts. Returns `None` for a switch.
    fn placeholder(&self) -> Option<&'static str>;
    /// Returns the allowed words, if the option takes one of a few words.
    fn choices(&self) -> &'static [&'static str];
    /// Returns its name in records, and its default value.
    fn default(&self) -> (&'static str, OptionValue);
    /// Returns its default value when protocols are compared.
    fn compared(&self) -> OptionValue;
    /// Checks that `text` is a valid value.
    fn check(&self, text: &str) -> Result<(), OptionError>;
}

impl<O: Options> AnyOption for OptionOf<O> {
    fn word(&self) -> &'static str {
        self.word
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn placeholder(&self) -> Option<&'static str> {
        (self.place)(&mut O::default()).placeholder()
    }

    fn choices(&self) -> &'static [&'static str] {
        (self.place)(&mut O::default()).choices()
    }

    fn default(&self) -> (&'static str, OptionValue) {
        (self.name(), self.value(&O::default()))
    }

    fn compared(&self) -> OptionValue {
        self.value(&O::compared())
    }

    fn check(&self, text: &str) -> Result<(), OptionError> {
        self.set(&mut O::default(), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::micro::hot_cold::HotColdOptions;
    use crate::ycsb::YcsbOptions;

    #[test]
    fn options_are_set_by_their_words() {
        let options = YcsbOptions::default().changed("--records 2k --no-distinct  --theta 0.5");
        let expected =
            YcsbOptions { records: 2000, distinct: false, theta: 0.5, ..YcsbOptions::default() };
        assert_eq!(options, Ok(expected));
        let list = YcsbOptions::preset("e").expect("a preset").list();
        assert!(list.contains(&("hashed-keys", OptionValue::Flag(true))));
        assert!(list.contains(&("distinct", OptionValue::Flag(true))));
    }

    #[test]
    fn an_error_names_option_value_and_what_is_allowed() {
        let error = |said| HotColdOptions::default().changed(said).unwrap_err().to_string();
        assert_eq!(
            error("--records many"),
            "records is many; allowed: whole numbers from 0, such as 1000000, 1e6, 1M or 64Ki"
        );
        assert!(error("--record 1").starts_with("an option is record; allowed: records, hot-"));
    }
}
