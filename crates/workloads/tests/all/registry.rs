//! Tests properties and declarations that every workload of the registry must have.

use kilocore_workloads::registry::{
    self, Declaration, Listed, Visitor, declarations, with_workload,
};
use kilocore_workloads::variation::Explorer;
use kilocore_workloads::{Bundle, OptionError, OptionValue, Options};
use std::collections::HashSet;
use std::fmt::Debug;
use txn::Workload;

/// Calls `visitor` for every workload, with its declaration.
fn each<V: Visitor<Output = ()>>(visitor: impl Fn(Declaration) -> V) {
    for declaration in declarations() {
        let name = declaration.name;
        assert!(with_workload(name, visitor(declaration)).is_ok(), "{name}");
    }
}

fn good<T, E: Debug>(result: Result<T, E>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}

#[test]
fn names_differ_and_find_their_workloads() {
    let names: HashSet<_> = declarations().iter().map(|declared| declared.name).collect();
    assert_eq!(names.len(), declarations().len());
    for Declaration { name, summary, source, examples, .. } in declarations() {
        assert!(
            !summary.is_empty() && !summary.contains('\n') && !summary.ends_with('.'),
            "{name}"
        );
        assert!(!source.is_empty() && !examples.is_empty(), "{name}");
    }
    struct Nothing;
    impl Visitor for Nothing {
        type Output = ();
        fn visit<W: Listed>(self) {}
    }
    assert!(with_workload("tpcd", Nothing).is_err());
}

/// Tests the options of a workload, one by one and in bundles.
struct EveryOption(Declaration);

impl Visitor for EveryOption {
    type Output = ();

    fn visit<W: Listed>(self) {
        let declared = self.0;
        let name = declared.name;
        let defaults = W::Options::default();
        assert_eq!(defaults.validate(), Ok(()), "{name}");
        let bundles: Vec<&Bundle> = declared.presets.iter().chain(declared.switches).collect();
        let words = declared.options.iter().map(|option| option.word());
        let words: Vec<&str> =
            words.chain(declared.switches.iter().map(|switch| switch.name)).collect();
        assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len(), "{name}: {words:?}");
        assert_eq!(
            declared.options.iter().map(|option| option.default()).collect::<Vec<_>>(),
            defaults.list()
        );
        for option in &declared.options {
            let (in_records, value) = option.default();
            let what = format!("{name} --{}", option.word());
            assert!(!option.help().is_empty() && !option.help().contains("default"), "{what}");
            match (option.placeholder(), &value) {
                // A switch changes the default.
                (None, OptionValue::Flag(on)) => {
                    let other =
                        if *on { format!("no-{in_records}") } else { in_records.to_owned() };
                    assert_eq!(option.word(), other);
                }
                (None, other) => panic!("{what} is no switch: {other}"),
                // A printed value can be parsed again.
                (Some(_), _) => {
                    assert_eq!(option.word(), in_records);
                    let mut options = defaults.clone();
                    good(options.set(in_records, &value.to_string()), &what);
                    assert_eq!(options.list(), defaults.list(), "{what}");
                    let OptionError { option, given, .. } =
                        options.set(in_records, "n/a").expect_err(&what);
                    assert_eq!((option, given.as_str()), (in_records, "n/a"));
                }
            }
        }
        for bundle in bundles {
            let what = format!("{name}: {}", bundle.name);
            let options = good(defaults.clone().changed(bundle.sets), &what);
            assert_eq!(options.validate(), Ok(()), "{what}");
            assert!(!bundle.summary.is_empty(), "{what}");
        }
        for preset in declared.presets {
            assert!(W::Options::preset(preset.name).is_some());
        }
        assert_eq!(W::Options::compared().validate(), Ok(()), "{name}");
        assert!(W::Options::preset("unheard of").is_none());
    }
}

#[test]
fn options_are_what_they_say() {
    each(EveryOption);
}

/// Creates the workload for many seeds. Each must be valid.
struct Seeds;

impl Explorer for Seeds {
    type Output = ();

    fn explore<W: Workload>(self, of_seed: &(dyn Fn(u64) -> W + Sync)) {
        for seed in 0..10_000 {
            let workload = of_seed(seed);
            assert_eq!(workload.schema(), of_seed(seed).schema(), "seed {seed}");
        }
    }
}

#[test]
fn every_form_is_good_for_every_seed() {
    for Declaration { name, explored, .. } in declarations() {
        let Some(explored) = explored else {
            assert!(registry::explore(name, None, Seeds).is_err(), "{name}");
            continue;
        };
        for form in [None].into_iter().chain(explored.forms.iter().copied().map(Some)) {
            assert!(registry::explore(name, form, Seeds).is_ok(), "{name} {form:?}");
        }
    }
}
