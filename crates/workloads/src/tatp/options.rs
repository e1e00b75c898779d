//! Defines the options, and the papers' settings by name.

use crate::options::{self, Bundle, OptionError, OptionOf, Options, bundle, option};

/// Options of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct TatpOptions {
    /// Number of subscribers.
    pub subscribers: u64,
    /// Set if subscribers are drawn uniformly. Otherwise some are preferred, as specified.
    pub uniform: bool,
    /// Share of GET_SUBSCRIBER_DATA.
    pub get_subscriber_data: f64,
    /// Share of GET_NEW_DESTINATION.
    pub get_new_destination: f64,
    /// Share of GET_ACCESS_DATA.
    pub get_access_data: f64,
    /// Share of UPDATE_SUBSCRIBER_DATA.
    pub update_subscriber_data: f64,
    /// Share of UPDATE_LOCATION.
    pub update_location: f64,
    /// Share of INSERT_CALL_FORWARDING. The remaining share is DELETE_CALL_FORWARDING.
    pub insert_call_forwarding: f64,
    /// Number of partitions. The partition is the subscriber modulo this number.
    pub partitions: u64,
    /// Set if inserts, deletes and moves are recorded, for a law.
    pub audit: bool,
}

impl Default for TatpOptions {
    fn default() -> TatpOptions {
        TatpOptions {
            subscribers: 100_000,
            uniform: false,
            get_subscriber_data: 0.35,
            get_new_destination: 0.10,
            get_access_data: 0.35,
            update_subscriber_data: 0.02,
            update_location: 0.14,
            insert_call_forwarding: 0.02,
            partitions: 1,
            audit: false,
        }
    }
}

impl Options for TatpOptions {
    const OPTIONS: &'static [OptionOf<TatpOptions>] = &[
        option("subscribers", "Subscribers", |o| &mut o.subscribers),
        option("uniform", "Draw every subscriber as often as any other", |o| &mut o.uniform),
        option("get-subscriber-data", "Share of GET_SUBSCRIBER_DATA", |o| {
            &mut o.get_subscriber_data
        }),
        option("get-new-destination", "Share of GET_NEW_DESTINATION", |o| {
            &mut o.get_new_destination
        }),
        option("get-access-data", "Share of GET_ACCESS_DATA", |o| &mut o.get_access_data),
        option("update-subscriber-data", "Share of UPDATE_SUBSCRIBER_DATA", |o| {
            &mut o.update_subscriber_data
        }),
        option("update-location", "Share of UPDATE_LOCATION", |o| &mut o.update_location),
        option(
            "insert-call-forwarding",
            "Share of INSERT_CALL_FORWARDING; what the shares leave is DELETE_CALL_FORWARDING",
            |o| &mut o.insert_call_forwarding,
        ),
        option("partitions", "Partitions, by subscriber modulo their number", |o| {
            &mut o.partitions
        }),
        option(
            "audit",
            "Keep books of what is inserted, deleted and moved: one more row is written",
            |o| &mut o.audit,
        ),
    ];
    // The ATraPos presets are from the hardware islands thesis, 4.5.
    const PRESETS: &'static [Bundle] = &[
        bundle("atrapos", "800k subscribers, the standard mix", "--subscribers 800k"),
        bundle(
            "atrapos-get-sub-data",
            "800k subscribers, GET_SUBSCRIBER_DATA alone",
            "--subscribers 800k --get-subscriber-data 1 --get-new-destination 0 \
            --get-access-data 0 --update-subscriber-data 0 \
            --update-location 0 --insert-call-forwarding 0",
        ),
        bundle(
            "atrapos-get-new-dest",
            "800k subscribers, GET_NEW_DESTINATION alone",
            "--subscribers 800k --get-subscriber-data 0 --get-new-destination 1 \
            --get-access-data 0 --update-subscriber-data 0 \
            --update-location 0 --insert-call-forwarding 0",
        ),
        bundle(
            "atrapos-upd-sub-data",
            "800k subscribers, UPDATE_SUBSCRIBER_DATA alone",
            "--subscribers 800k --get-subscriber-data 0 --get-new-destination 0 \
            --get-access-data 0 --update-subscriber-data 1 \
            --update-location 0 --insert-call-forwarding 0",
        ),
    ];

    fn validate(&self) -> Result<(), OptionError> {
        options::integer("subscribers", self.subscribers, 1, options::MAX_ROWS >> 4)?;
        options::ratio("get-subscriber-data", self.get_subscriber_data)?;
        options::ratio("get-new-destination", self.get_new_destination)?;
        options::ratio("get-access-data", self.get_access_data)?;
        options::ratio("update-subscriber-data", self.update_subscriber_data)?;
        options::ratio("update-location", self.update_location)?;
        options::ratio("insert-call-forwarding", self.insert_call_forwarding)?;
        if self.shares()[6] < 0.0 {
            let given: f64 = self.shares()[..6].iter().sum();
            return Err(OptionError {
                option: "the shares' sum",
                given: given.to_string(),
                allowed: "0 to 1 together".into(),
            });
        }
        options::integer("partitions", self.partitions, 1, self.subscribers.min(65_536))
    }
}

impl TatpOptions {
    /// Returns the shares of the procedures, in the order of their kinds.
    pub(super) fn shares(&self) -> [f64; 7] {
        let said = [
            self.get_subscriber_data,
            self.get_new_destination,
            self.get_access_data,
            self.update_subscriber_data,
            self.update_location,
            self.insert_call_forwarding,
        ];
        let rest = said.iter().fold(1.0, |rest, share| rest - share);
        let rest = if rest.abs() < 1e-9 { 0.0 } else { rest };
        [said[0], said[1], said[2], said[3], said[4], said[5], rest]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
        let error = |change: fn(&mut TatpOptions)| {
            let mut options = TatpOptions::default();
            change(&mut options);
            options.validate().unwrap_err().to_string()
        };
        assert!(error(|o| o.subscribers = 0).starts_with("subscribers is 0; allowed: 1 to "));
        assert_eq!(error(|o| o.update_location = 2.0), "update-location is 2; allowed: 0 to 1");
        assert!(error(|o| o.update_location = 0.9).ends_with("; allowed: 0 to 1 together"));
        assert_eq!(error(|o| o.partitions = 0), "partitions is 0; allowed: 1 to 65536");
    }

    #[test]
    fn presets_are_sound_and_the_standard_mix_is_whole() {
        assert!(TatpOptions::preset("atrapos-upd-sub-data").unwrap().shares()[6] == 0.0);
        assert!((TatpOptions::default().shares()[6] - 0.02).abs() < 1e-9);
    }
}
