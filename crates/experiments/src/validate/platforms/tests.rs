//! Tests machines that are made from tables of hardware.

use super::*;

fn of(text: &str, distances: &str) -> Result<Platform, String> {
    let source = Source::parse(text, "d/hardware.toml", distances.to_owned());
    let found = source.and_then(|source| Platforms(vec![source]).platform("box"));
    Ok(found.map_err(|error| error.to_string())?.expect("the table is there"))
}

const BOX: &str = "[box]\nname = \"A box\"\nsockets = 3\ncores_per_socket = 4\nsmt = 2\nclock_GHz = 3\n\
                   [numa.box]\nlocal = { slit = 10, latency_ns = 100, bandwidth_GBps = 50 }\n\
                   near = { slit = 21, latency_ns = 150, bandwidth_GBps = 20 }\n\
                   far = { slit = 31, latency_ns = 200, bandwidth_GBps = 10 }\n";

/// Returns the error for the box with `from` replaced by `to`.
fn error(from: &str, to: &str) -> String {
    assert!(BOX.contains(from), "{from}");
    let error = of(&BOX.replacen(from, to, 1), "").unwrap_err();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn built_in_machines_are_what_the_hardware_says() {
    let carried = Platforms::carried();
    for (platform, file) in [("hpe", "superdome-flex"), ("power8", "power8"), ("power9", "power9")]
    {
        let made = carried.platform(platform).unwrap().expect("a carried platform").machine;
        let built_in = MachineDescription::load(file).unwrap();
        let (name, title) = (built_in.name.clone(), built_in.title.clone());
        assert_eq!(MachineDescription { name, title, ..(*made).clone() }, built_in);
    }
    let threads = |name| carried.platform(name).unwrap().expect("carried").machine.cores();
    assert_eq!((threads("hpe"), threads("power8"), threads("power9")), (1568, 752, 1504));
}

#[test]
fn a_longer_name_and_an_alias_mean_another_table() {
    let carried = Platforms::carried();
    let replicated = carried.platform("power9ri").unwrap().expect("power9 is there");
    assert_eq!((replicated.name.as_str(), replicated.machine.cores()), ("power9ri", 1504));
    assert!(replicated.notes[0].contains("power9ri has no table of its own: taken to be power9"));
    assert!(carried.platform("cray").unwrap().is_none());
    let text = format!("{BOX}[other]\nsame_as = \"box\"\n");
    let source = Source::parse(&text, "hardware.toml", String::new()).unwrap();
    let other = Platforms(vec![source]).platform("other").unwrap().expect("an alias");
    assert_eq!((other.name.as_str(), other.machine.name.as_str()), ("other", "box"));
    let error = of("[box]\nsame_as = \"tin\"\n[can]\n", "").unwrap_err();
    assert_eq!(error, "d/hardware.toml: box.same_as: \"tin\" is not allowed; allowed: can");
}

#[test]
fn an_unknown_processor_has_assumed_figures() {
    let machine = of(BOX, "").unwrap();
    assert!(machine.notes[0].ends_with("is taken from the machine file generic"));
    let machine = machine.machine;
    let sockets = machine.sockets.as_ref().unwrap();
    assert_eq!((machine.cores(), machine.clock_mhz, machine.line_bytes), (24, 3000, 64));
    assert_eq!(machine.shared_cache.size_kib, 8192, "4 of 16 cores of a generic socket");
    // Without a matrix the sockets of a chassis are near.
    assert_eq!((sockets.level_between(0, 2), sockets.level[1].name.as_str()), (1, "near"));
    let with = |key: &str| of(&BOX.replacen("smt = 2", key, 1), "").unwrap().machine;
    assert_eq!(with("smt = 4").core.smt_throughput, [1.0, 1.3, 1.4, 1.5]);
    assert_eq!(with("smt = 2\nprocessor = \"power9\"").line_bytes, 128);
    assert_eq!(with("smt = 2\nmachine = \"superdome-flex\"").cores(), 1568);
    let fewer = with("smt = 2\nthreads_per_socket = [8, 6, 8]\nthread_steps = [1, 2]");
    assert_eq!((fewer.cores(), fewer.sockets.as_ref().unwrap().cores_of(1)), (22, 3));
}

#[test]
fn the_matrix_gives_each_pair_its_level() {
    let line = "box,0,10,21,31\nother,0,1\nbox,1,21,10,31\nbox,2,31,31,10\n";
    let sockets = of(BOX, line).unwrap().machine.sockets.clone().unwrap();
    assert_eq!(sockets.within_chassis, [[0, 1, 2], [1, 0, 2], [2, 2, 0]]);
    let error = of(BOX, "box,0,10,21\n").unwrap_err();
    let file = "numa_slit.csv beside d/hardware.toml: line 1, box";
    assert_eq!(error, format!("{file}: 2 distances; allowed: 3, as sockets says"));
    let error = of(BOX, "box,0,10,21,22\n").unwrap_err();
    assert!(error.contains("\"22\" is no slit of [numa.box]; allowed: 10, 21, 31"), "{error}");
    let error = of(BOX, "box,0,21,10,31\n").unwrap_err();
    assert!(error.contains("\"21\" is no slit"), "{error}");
    let error = of(BOX, "box,0,10,21,31\n").unwrap_err();
    assert!(error.contains("1 rows; allowed: 3"), "{error}");
}

#[test]
fn bad_tables_are_refused_in_one_line() {
    let missing = "missing; allowed: a whole number from 1";
    let told = error("sockets = 3", "");
    assert_eq!(told, format!("d/hardware.toml: box.sockets: {missing}"));
    assert!(error("smt = 2", "smt = 0").ends_with(&format!("box.smt: {missing}")));
    assert!(error("smt = 2", "smt = \"two\"").starts_with("d/hardware.toml: box: "));
    assert!(error("[box]", "[box").starts_with("d/hardware.toml: line 1: "));
    assert!(error("local =", "close =").contains("numa.box.local: missing"));
    assert!(error("latency_ns = 150", "latency = 150").contains("numa.box.near: "));
    let told = error("smt = 2", "smt = 2\nthreads_per_socket = [8, 7, 8]");
    assert!(told.contains("box.threads_per_socket: 7 is not allowed"), "{told}");
    let told = error("smt = 2", "smt = 2\nlogical_cores = 23");
    assert!(told.ends_with("box.logical_cores: 23, but the sockets have 24 threads"), "{told}");
    let told = error("smt = 2", "smt = 2\nprocessor = \"power7\"");
    assert!(told.contains("box.processor: unknown machine 'power7'"), "{told}");
    let told = error("smt = 2", "smt = 2\nprocessor = \"graphite\"");
    assert!(told.contains("graphite has no sockets"), "{told}");
    let told = error("latency_ns = 200", "latency_ns = 0.5");
    assert!(told.contains("sockets.level[2].latency_ns: 0.5 is not allowed"), "{told}");
}

#[test]
fn a_machine_whose_ways_are_too_long_is_refused() {
    let line = "box,0,10,21,31\nbox,1,21,10,21\nbox,2,31,21,10\n";
    let text = BOX.replace("latency_ns = 200", "latency_ns = 2000");
    let error = of(&text, line).unwrap_err();
    assert!(error.starts_with("d/hardware.toml: box as a machine file: sockets.within"), "{error}");
    assert!(error.contains("socket 0 to 2 2000 ns (far), but 0 to 1 150 ns (near)"), "{error}");
}

#[test]
fn latencies_from_socket_0_divide_levels() {
    let mut carried = Platforms::carried();
    let row = |platform: &str, latencies: &[u64]| {
        let line = |(to, ns): (usize, &u64)| format!("{platform},0,{to},x,x,{ns},50\n");
        latencies.iter().enumerate().map(line).collect::<String>()
    };
    carried.0[0].row0 =
        "platform,cpu_node,memory_node,slit_distance,level,latency_ns,bandwidth_GBps\n".to_owned()
            + &row("power8", &[117, 161, 163, 222, 223, 263, 260, 256])
            + "power9,0,0,10,local,115,140\n";
    let power8 = carried.platform("power8").unwrap().expect("carried").machine;
    let sockets = power8.sockets.as_ref().unwrap();
    let latency = |a, b| sockets.level[sockets.level_between(a, b)].latency_ns;
    assert_eq!((latency(0, 1), latency(0, 3), latency(1, 2)), (162.0, 222.0, 222.0));
    assert_eq!(
        (latency(0, 4), latency(3, 7), latency(1, 6)),
        (223.0, 223.0, (263.0 + 260.0 + 256.0) / 3.0)
    );
    assert_eq!((sockets.chassis_sockets, sockets.same_position), (4, Some(4)));
    let names: Vec<&str> = sockets.level.iter().map(|level| level.name.as_str()).collect();
    assert_eq!(names, ["local", "1hop", "remote", "1hop, farther", "remote, nearer"]);
    // The latencies of power9 are not complete.
    let power9 = carried.platform("power9").unwrap().expect("carried").machine;
    assert_eq!(power9.sockets.as_ref().unwrap().level.len(), 3);
    carried.0[0].row0 = "platform,cpu_node\npower8,0\n".to_owned();
    let error = carried.platform("power8").unwrap_err().to_string();
    assert!(
        error.ends_with("numa_row0.csv, line 1: no column memory_node, latency_ns, bandwidth_GBps"),
        "{error}"
    );
}

#[test]
fn links_are_those_of_the_same_machine_only() {
    let carried = Platforms::carried();
    let links = |name: &str| {
        let machine = carried.platform(name).unwrap().expect("a carried platform").machine;
        machine.sockets.as_ref().unwrap().link.len()
    };
    assert_eq!((links("hpe"), links("power8"), links("power9")), (3, 2, 2));
    let smaller = of(&BOX.replacen("smt = 2", "smt = 2\nprocessor = \"power8\"", 1), "").unwrap();
    assert!(smaller.machine.sockets.as_ref().unwrap().link.is_empty());
}
