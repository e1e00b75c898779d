//! Settings of the papers, by name.

use super::TpccOptions;
use super::mix::Mix;

/// A paper's setting.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it sets, as options.
    pub sets: &'static str,
    /// Where it is described.
    pub source: &'static str,
    apply: fn(&mut TpccOptions),
}

/// The database that fits into a simulator: fewer items and customers, and no texts.
fn simulated(options: &mut TpccOptions) {
    (options.mix, options.full_schema) = (Mix::NARROW, false);
    (options.items, options.customers_per_district) = (10_000, 2000);
}

/// All of them. What one does not set is as the specification says.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "abyss-4",
        sets: "--warehouses 4 --mix narrow --schema small --items 10k --customers-per-district 2000",
        source: "Staring into the Abyss, 5.6.1; sizes: The Full Story of 1000 Cores, text of figure 6",
        apply: |options| {
            simulated(options);
            options.warehouses = 4;
        },
    },
    Preset {
        name: "abyss-1024",
        sets: "--warehouses 1024 --mix narrow --schema small --items 10k --customers-per-district 2000",
        source: "Staring into the Abyss, 5.6.2; sizes: The Full Story of 1000 Cores, text of figure 6",
        apply: |options| {
            simulated(options);
            options.warehouses = 1024;
        },
    },
    Preset {
        name: "high-conflict",
        sets: "--warehouses 4 --mix narrow",
        source: "The Full Story of 1000 Cores, figures 9 and 12",
        apply: |options| (options.warehouses, options.mix) = (4, Mix::NARROW),
    },
    Preset {
        name: "low-conflict",
        sets: "--warehouses 1568 --mix narrow",
        source: "The Full Story of 1000 Cores, figures 9 and 14: a warehouse for each core",
        apply: |options| (options.warehouses, options.mix) = (1568, Mix::NARROW),
    },
    Preset {
        name: "high-conflict-full",
        sets: "--warehouses 4 --mix full",
        source: "The Full Story of 1000 Cores, figure 19",
        apply: |options| (options.warehouses, options.mix) = (4, Mix::FULL),
    },
    Preset {
        name: "low-conflict-full",
        sets: "--warehouses 1568 --mix full",
        source: "The Full Story of 1000 Cores, figure 21",
        apply: |options| (options.warehouses, options.mix) = (1568, Mix::FULL),
    },
    Preset {
        name: "islands-payment",
        sets: "--warehouses 24 --mix payment",
        source: "Hardware Islands, 3.5.3; with --local-only its other deployment",
        apply: |options| (options.warehouses, options.mix) = (24, Mix::PAYMENT),
    },
    Preset {
        name: "islands-new-order",
        sets: "--warehouses 24 --mix new-order",
        source: "Hardware Islands, 3.5.3; with --local-only its other deployment",
        apply: |options| (options.warehouses, options.mix) = (24, Mix::ORDERS),
    },
    Preset {
        name: "atrapos",
        sets: "--warehouses 80 --mix full",
        source: "Hardware Islands, 4.5.2",
        apply: |options| (options.warehouses, options.mix) = (80, Mix::FULL),
    },
];

impl Preset {
    /// The preset called `name`.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Its options.
    pub fn options(&self) -> TpccOptions {
        let mut options = TpccOptions::default();
        (self.apply)(&mut options);
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_good_and_sets_what_it_says() {
        for preset in PRESETS {
            let options = preset.options();
            options.validate().unwrap();
            assert_eq!(Preset::find(preset.name).unwrap().name, preset.name);
            let default = TpccOptions { warehouses: 0, mix: Mix([0; 5]), ..TpccOptions::default() };
            let set = default.list().into_iter().zip(options.list()).filter(|(a, b)| a != b);
            let told: Vec<String> = set
                .map(|(_, (name, value))| {
                    let value = value.to_string().replace("10000", "10k");
                    format!("--{name} {value}")
                })
                .collect();
            assert_eq!(told.join(" "), preset.sets, "{}", preset.name);
        }
        assert!(Preset::find("abyss").is_none());
    }
}
