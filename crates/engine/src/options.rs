//! The options of the engine's accesses: their names and values on command lines and in records.

use protocols::Knob;
use storage::{
    AccessOptions, Allocator, Announcements, ColumnLookup, ConstantReads, Copies, IndexPointers,
    Shipping, StateLine, Timing,
};

/// All options of accesses. They are apart from those of protocols, because no protocol heeds them.
pub const ACCESS_KNOBS: &[Knob<AccessOptions>] = &[
    Knob {
        name: "read-only-tables",
        summary: "read tables and columns that never change through the protocol, or without (Full story, opt8)",
        allowed: "controlled, bypass",
        set: |options, value| {
            options.constants = match value {
                "controlled" => ConstantReads::Controlled,
                "bypass" => ConstantReads::Bypass,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.constants {
            ConstantReads::Controlled => "controlled".to_owned(),
            ConstantReads::Bypass => "bypass".to_owned(),
        }),
    },
    Knob {
        name: "copies",
        summary: "copy columns, or whole records: before an update, to and fro for it, or in each access (the code of 2022)",
        allowed: "columns, before-images, updates, records",
        set: |options, value| {
            options.copies = match value {
                "columns" => Copies::Columns,
                "before-images" => Copies::BeforeImages,
                "updates" => Copies::Updates,
                "records" => Copies::Records,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.copies {
            Copies::Columns => "columns".to_owned(),
            Copies::BeforeImages => "before-images".to_owned(),
            Copies::Updates => "updates".to_owned(),
            Copies::Records => "records".to_owned(),
        }),
    },
    Knob {
        name: "column-look-up",
        summary: "know columns by compiled numbers, or find them by name in the catalogue (Full story, opt6)",
        allowed: "compiled, catalogue",
        set: |options, value| {
            options.columns = match value {
                "compiled" => ColumnLookup::Compiled,
                "catalogue" => ColumnLookup::Catalogue,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.columns {
            ColumnLookup::Compiled => "compiled".to_owned(),
            ColumnLookup::Catalogue => "catalogue".to_owned(),
        }),
    },
    Knob {
        name: "allocator",
        summary: "take memory for appended rows, copies and versions from chunks, or by malloc (Full story, opt1)",
        allowed: "arena, malloc",
        set: |options, value| {
            options.rows = allocator(value)?;
            Some(())
        },
        value: Some(|options| name_of(options.rows)),
    },
    Knob {
        name: "entries",
        summary: "take memory for lock entries and OCC's copies from chunks, or by malloc (the code of 2022)",
        allowed: "arena, malloc",
        set: |options, value| {
            options.entries = allocator(value)?;
            Some(())
        },
        value: Some(|options| name_of(options.entries)),
    },
    Knob {
        name: "timing",
        summary: "measure in each access: nothing, the look-up, also the protocol's part, or also visits of versions (the code of 2022)",
        allowed: "off, look-ups, accesses, versions",
        set: |options, value| {
            options.timing = match value {
                "off" => Timing::Off,
                "look-ups" => Timing::LookUps,
                "accesses" => Timing::Accesses,
                "versions" => Timing::Versions,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.timing {
            Timing::Off => "off".to_owned(),
            Timing::LookUps => "look-ups".to_owned(),
            Timing::Accesses => "accesses".to_owned(),
            Timing::Versions => "versions".to_owned(),
        }),
    },
    Knob {
        name: "announced-rows",
        summary: "prefetch the rows that a procedure announces, or fetch each when it is accessed (Full story, opt5)",
        allowed: "prefetched, ignored",
        set: |options, value| {
            options.announcements = match value {
                "prefetched" => Announcements::Prefetched,
                "ignored" => Announcements::Ignored,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.announcements {
            Announcements::Prefetched => "prefetched".to_owned(),
            Announcements::Ignored => "ignored".to_owned(),
        }),
    },
    Knob {
        name: "index-pointers",
        summary: "have the pointers to indexes in each session, in one place, or on each socket (Full story, Power9 RI)",
        allowed: "private, shared, per-socket",
        set: |options, value| {
            options.pointers = match value {
                "private" => IndexPointers::Private,
                "shared" => IndexPointers::Shared,
                "per-socket" => IndexPointers::PerSocket,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.pointers {
            IndexPointers::Private => "private".to_owned(),
            IndexPointers::Shared => "shared".to_owned(),
            IndexPointers::PerSocket => "per-socket".to_owned(),
        }),
    },
    Knob {
        name: "shipping",
        summary: "under delegation, have the server look up and lock, or do the whole operation (Trireme 3.4)",
        allowed: "look-ups, operations",
        set: |options, value| {
            options.shipping = match value {
                "look-ups" => Shipping::LookUps,
                "operations" => Shipping::Operations,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.shipping {
            Shipping::LookUps => "look-ups".to_owned(),
            Shipping::Operations => "operations".to_owned(),
        }),
    },
    Knob {
        name: "state-line",
        summary: "have a record's state of concurrency control on its front line, or on a line of its own (simulated machines)",
        allowed: "front, own",
        set: |options, value| {
            options.state = match value {
                "front" => StateLine::Front,
                "own" => StateLine::Own,
                _ => return None,
            };
            Some(())
        },
        value: Some(|options| match options.state {
            StateLine::Front => "front".to_owned(),
            StateLine::Own => "own".to_owned(),
        }),
    },
];

fn allocator(name: &str) -> Option<Allocator> {
    match name {
        "arena" => Some(Allocator::Arena),
        "malloc" => Some(Allocator::Malloc),
        _ => None,
    }
}

fn name_of(allocator: Allocator) -> String {
    match allocator {
        Allocator::Arena => "arena".to_owned(),
        Allocator::Malloc => "malloc".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_spelled_as_it_is_accepted() {
        for knob in ACCESS_KNOBS {
            for value in knob.allowed.split(", ") {
                let mut options = AccessOptions::default();
                knob.set(&mut options, value).unwrap();
                assert_eq!(knob.value(&options).as_deref(), Some(value), "{}", knob.name);
            }
            let error = knob.set(&mut AccessOptions::default(), "other").unwrap_err();
            assert!(error.to_string().ends_with(knob.allowed), "{error}");
        }
    }
}
