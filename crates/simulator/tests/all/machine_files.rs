//! Tests of machine files: the built-in files load, and errors are explained in one line.

use kilocore_simulator::{MachineDescription, SimCore, Simulated, SimulatedOptions, builtin_names};
use machine::{Body, Core, Machine};
use std::sync::Arc;

fn error_of(change: impl Fn(&str) -> String) -> String {
    let text = change(MachineDescription::builtin_text("graphite").unwrap());
    let error = MachineDescription::parse(&text, "my.toml").unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn every_builtin_machine_loads_and_survives_a_round_trip() {
    for name in builtin_names() {
        let machine = MachineDescription::load(name).unwrap();
        assert_eq!(machine.name, name);
        assert_eq!(MachineDescription::parse(&machine.to_toml(), name).unwrap(), machine);
        assert!(machine.describe(None).contains(&machine.title));
    }
    assert_eq!(MachineDescription::load("superdome-flex").unwrap().cores(), 1568);
    assert_eq!(MachineDescription::load("graphite").unwrap().cores(), 1024);
}

#[test]
fn a_missing_value_is_named_with_its_table() {
    let error = error_of(|t| t.replace("hop_cycles = 2", "# hop_cycles = 2"));
    assert!(error.starts_with("my.toml:32: mesh.hop_cycles: missing"), "{error}");
}

#[test]
fn a_negative_value_is_refused() {
    let error = error_of(|t| t.replace("size_kib = 32 ", "size_kib = -32 "));
    assert!(error.starts_with("my.toml:21: l1.size_kib: "), "{error}");
    assert!(error.contains("-32") && error.contains("allowed: whole numbers from 0"), "{error}");
    let error = error_of(|t| t.replace("latency_ns = 100", "latency_ns = -100"));
    assert!(
        error.contains("mesh.memory_latency_ns: -100 is not allowed; allowed: 1 to 100000"),
        "{error}"
    );
}

#[test]
fn an_unknown_key_is_refused() {
    let error = error_of(|t| t.replace("[l1]", "[l1]\nways = 8"));
    assert!(
        error.starts_with("my.toml:21: l1.ways: unknown field `ways`, allowed: `size_kib`"),
        "{error}"
    );
}

#[test]
fn zero_and_nonsense_are_refused() {
    let error = error_of(|t| t.replace("tiles = 1024", "tiles = 0"));
    assert!(error.contains("mesh.tiles: 0 is not allowed; allowed: 1 to 4096"), "{error}");
    let error = error_of(|t| t.replace("memory_parallelism = 1", "memory_parallelism = nan"));
    assert!(error.contains("core.memory_parallelism: NaN is not allowed"), "{error}");
    let error = error_of(|t| t.replace("[mesh]", "[mesh"));
    assert!(error.starts_with("my.toml:32: "), "{error}");
}

/// Returns the error of the Superdome Flex's machine file after a change.
fn error_of_flex(from: &str, to: &str) -> String {
    let text = MachineDescription::builtin_text("superdome-flex").unwrap();
    assert!(text.contains(from), "{from}");
    let error = MachineDescription::parse(&text.replacen(from, to, 1), "my.toml").unwrap_err();
    error.to_string()
}

#[test]
fn shares_of_the_parallelism_are_above_zero_and_the_first_is_one() {
    let given = "smt_parallelism = [1.0, 0.5]";
    let error = error_of_flex(given, "smt_parallelism = [1.0, 0.0]");
    assert!(
        error.contains("core.smt_parallelism: 0 is not allowed; allowed: 0.01 to 1"),
        "{error}"
    );
    let error = error_of_flex(given, "smt_parallelism = [0.5]");
    assert!(error.contains("core.smt_parallelism: 0.5 is not allowed; allowed: 1 to 1"), "{error}");
}

#[test]
fn latencies_that_break_the_triangle_are_refused_with_the_three_sockets() {
    let error = error_of_flex("latency_ns = 259 ", "latency_ns = 2590 ");
    assert_eq!(
        error,
        "my.toml:48: sockets.within_chassis: socket 0 to 3 2590 ns (2hop), but 0 to 1 242.5 ns (1hop) and 1 to 3 242.5 ns \
         (1hop); allowed: no way longer than the way through a third socket"
    );
    let text = MachineDescription::builtin_text("superdome-flex").unwrap();
    let short = text.replace("between_chassis = 3", "between_chassis = 3\nsame_position = 1");
    assert!(MachineDescription::parse(&short, "my.toml").is_ok());
    let text = short.replace("latency_ns = 382.7", "latency_ns = 3827");
    let error = MachineDescription::parse(&text, "my.toml").unwrap_err().to_string();
    assert!(error.contains("sockets.between_chassis: socket 0 to 5 3827 ns (remote)"), "{error}");
}

#[test]
fn lines_and_unequal_sockets_have_limits() {
    let error = error_of_flex("page_bytes", "line_bytes = 96\npage_bytes");
    assert!(error.ends_with("line_bytes: 96 is not allowed; allowed: 64, 128"), "{error}");
    let fewer = |list: &str| {
        let to = format!("chassis_sockets = 4\ncores_by_socket = {list}");
        error_of_flex("chassis_sockets = 4", &to)
    };
    let error = fewer("[28, 27]");
    assert!(error.ends_with("2 numbers given; allowed: 28, one for each socket"), "{error}");
    let error = fewer(&format!("{:?}", [29; 28]));
    assert!(error.ends_with("29 is not allowed; allowed: 1 to 28"), "{error}");
}

#[test]
fn an_unknown_name_gets_a_suggestion() {
    let error = MachineDescription::load("graphit").unwrap_err().to_string();
    assert!(error.contains("did you mean 'graphite'?"), "{error}");
    let error = MachineDescription::load("no/such.toml").unwrap_err().to_string();
    assert!(error.starts_with("no/such.toml: "), "{error}");
}

#[test]
fn names_and_titles_are_fit_to_be_printed() {
    let named = |name: &str| error_of(|text| text.replace("name = \"graphite\"", name));
    let allowed = "allowed: 1 to 64 of the characters a-z, A-Z, 0-9, -, _ and .";
    for (name, shown) in [("", ""), ("a b", "a b"), ("\\u0007", "\\u{7}"), ("a/b", "a/b")] {
        let error = named(&format!("name = \"{name}\""));
        let expected = format!("name: \"{shown}\" is not allowed; {allowed}");
        assert!(error.starts_with("my.toml:") && error.ends_with(&expected), "{error}");
    }
    let error = named("name = \"native\"");
    assert!(
        error.ends_with("name: native is the machine at hand; allowed: another name"),
        "{error}"
    );
    let title = |text: &str| {
        let lines = text.lines().map(|line| match line.starts_with("title = ") {
            true => "title = \"two\\nlines\"".to_owned(),
            false => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let error = error_of(title);
    assert!(error.ends_with("allowed: 1 to 200 characters without control characters"), "{error}");
}

#[test]
fn the_example_in_the_architecture_page_is_a_complete_machine() {
    let page = include_str!("../../../../ARCHITECTURE.md");
    let (_, section) = page.split_once("\n## Adding a machine\n").expect("the section is there");
    let (_, example) = section.split_once("```toml\n").expect("the example is there");
    let (example, rest) = example.split_once("```").expect("the example ends");
    let machine = MachineDescription::parse(example, "two-boxes.toml").unwrap();
    assert_eq!(machine.cores(), 128);
    assert_eq!(MachineDescription::parse(&machine.to_toml(), "two-boxes.toml").unwrap(), machine);
    let listed = machine.describe(Some(example));
    for way in ["0-1-3", "0-controller.0-controller.1-4"] {
        assert!(rest.contains(way) && listed.contains(way), "{way}: {listed}");
    }
    assert!(
        listed.contains("16 GB/s each way: in each chassis 0-1 0-2 1-3 2-3  # of each direction"),
        "{listed}"
    );
    let run = Simulated::new(Arc::new(machine), SimulatedOptions::default()).unwrap();
    let bodies =
        (0..128).map(|_| Box::new(|core: &SimCore| core.compute(1)) as Body<'_, Simulated>);
    run.run(bodies.collect(), vec![]).unwrap();
    assert!(run.clock() > 0);
}
