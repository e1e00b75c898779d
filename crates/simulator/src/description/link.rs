//! Links between sockets, as a machine file lists them, and the graph that they make.
//!
//! A link connects two ends. An end is a socket, or something between sockets that has a name, such as a node controller.
//! A file lists equal links together, each as a text such as `"0-1"` or `"*-controller"`:
//!
//! | key | the links exist | a number is | a name is |
//! | --- | --- | --- | --- |
//! | `within_chassis` | once in each chassis | a socket of the chassis | a part of the chassis |
//! | `between_chassis` | once for each two chassis | a socket of its chassis | a part of its chassis |
//! | `within_machine` | once | a socket of the machine | a part of the machine |
//!
//! `*` stands for each socket. A name that `within_machine` has is one part of the whole machine wherever it appears.

use super::check::{Fault, fault, line, real};
use super::{LinkDescription, SocketsDescription};
use std::collections::{HashMap, VecDeque};

/// Maximum length of the name of an end.
const MOST_IN_NAME: usize = 32;

/// End of a link, as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End<'d> {
    EachSocket,
    Socket(u64),
    Part(&'d str),
}

impl<'d> End<'d> {
    fn parse(text: &'d str) -> Option<End<'d>> {
        if text == "*" {
            return Some(End::EachSocket);
        }
        if text.chars().all(|c| c.is_ascii_digit()) {
            return text.parse().ok().map(End::Socket);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let good = text.len() <= MOST_IN_NAME && text.chars().all(plain);
        Some(End::Part(text)).filter(|_| good && text.starts_with(|c: char| c.is_alphabetic()))
    }
}

/// One text of a list.
#[derive(Clone, Copy)]
struct Written<'d> {
    /// Its place among all texts of the file.
    number: usize,
    text: &'d str,
    ends: [End<'d>; 2],
    /// Number of the description in the file, and the key that has the text.
    kind: usize,
    key: &'static str,
}

impl<'d> Written<'d> {
    fn parse(
        number: usize,
        text: &'d str,
        kind: usize,
        key: &'static str,
    ) -> Result<Written<'d>, Fault> {
        let two = text.split_once('-').and_then(|(a, b)| Some([End::parse(a)?, End::parse(b)?]));
        let made = |ends| Written { number, text, ends, kind, key };
        two.map(made).ok_or_else(|| {
            let allowed = r#"allowed: two ends such as "0-1", "0-controller" or "*-controller""#;
            fault(&key_of(kind, key), &format!("{text:?} is not allowed; {allowed}"))
        })
    }

    fn fault(&self, problem: &str) -> Fault {
        fault(&key_of(self.kind, self.key), &format!("{:?} {problem}", self.text))
    }
}

fn key_of(kind: usize, key: &str) -> String {
    format!("sockets.link[{kind}].{key}")
}

const WITHIN_CHASSIS: &str = "within_chassis";
const BETWEEN_CHASSIS: &str = "between_chassis";
const WITHIN_MACHINE: &str = "within_machine";

impl LinkDescription {
    /// Returns the lists of links, each with its key.
    fn lists(&self) -> [(&'static str, &[String]); 3] {
        [
            (WITHIN_CHASSIS, &self.within_chassis),
            (BETWEEN_CHASSIS, &self.between_chassis),
            (WITHIN_MACHINE, &self.within_machine),
        ]
    }
}

/// One link between two ends, in both directions.
#[derive(Debug)]
pub(crate) struct Link {
    /// Number of its description in the file.
    pub kind: usize,
    pub ends: [usize; 2],
    bandwidth_gbps: f64,
}

/// How near an end is to a socket.
#[derive(Clone, Copy, Debug)]
struct Nearness {
    /// Number of links on the shortest way, or `usize::MAX` if there is no way.
    links: usize,
    /// Bandwidth, in GB/s, of the narrowest link on the widest of the shortest ways.
    width: f64,
}

/// Sockets and other ends, with the links between them.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Number of sockets.
    sockets: usize,
    /// Names of the ends: numbers of sockets first.
    pub names: Vec<String>,
    pub links: Vec<Link>,
    /// For each end its neighbours by their numbers, with the links in the direction to the neighbour.
    neighbours: Vec<Vec<(usize, usize)>>,
}

/// Link in one direction: twice the link's number, and one more if it leads from its second end to its first.
pub(crate) type Directed = usize;

impl Graph {
    /// Returns the ways from each of `sockets` to each of them, row by row.
    ///
    /// A way has as few links as possible. Among such ways the widest ones are taken: those whose narrowest link has the most
    /// bandwidth. If several are left, each step goes to a socket rather than another end, and then to the end with the lowest
    /// number if the way leads to a higher socket, or with the highest number if it leads to a lower one. So the four ways
    /// between opposite corners of a ring of four use each link alike.
    pub(crate) fn ways(&self, sockets: &[u64]) -> Vec<Vec<Directed>> {
        let mut ways = vec![Vec::new(); sockets.len() * sockets.len()];
        for (column, to) in sockets.iter().enumerate() {
            let nearness = self.nearness(*to as usize);
            for (row, from) in sockets.iter().enumerate() {
                ways[row * sockets.len() + column] =
                    self.way(*from as usize, *to as usize, &nearness);
            }
        }
        ways
    }

    /// Returns the way between two sockets. `nearness` is that of all ends to the second one.
    fn way(&self, from: usize, to: usize, nearness: &[Nearness]) -> Vec<Directed> {
        let mut at = from;
        let mut way = Vec::new();
        while at != to {
            let here = &nearness[at];
            let leads = |(next, link): &&(usize, usize)| {
                let there = &nearness[*next];
                there.links < here.links && self.width(*link, there) == here.width
            };
            let number = |next: usize| if from < to { next } else { usize::MAX - next };
            let steps = self.neighbours[at].iter().filter(leads);
            let step = steps.min_by_key(|(next, _)| (*next >= self.sockets, number(*next)));
            let (next, link) = step.expect("checked: links connect all sockets");
            way.push(*link);
            at = *next;
        }
        way
    }

    /// Returns how near each end is to `to`.
    fn nearness(&self, to: usize) -> Vec<Nearness> {
        let mut nearness = vec![Nearness { links: usize::MAX, width: 0.0 }; self.names.len()];
        nearness[to] = Nearness { links: 0, width: f64::INFINITY };
        // An end is taken from the queue after all nearer ones, so its width is known by then.
        let mut reached = VecDeque::from([to]);
        while let Some(at) = reached.pop_front() {
            let here = nearness[at];
            for (next, link) in &self.neighbours[at] {
                let there = &mut nearness[*next];
                if there.links == usize::MAX {
                    there.links = here.links + 1;
                    reached.push_back(*next);
                }
                if there.links == here.links + 1 {
                    there.width = there.width.max(self.width(*link, &here));
                }
            }
        }
        nearness
    }

    /// Returns the width, in GB/s, of a way that begins with `link` and goes on from an end as near as `rest`.
    fn width(&self, link: Directed, rest: &Nearness) -> f64 {
        rest.width.min(self.links[link / 2].bandwidth_gbps)
    }

    /// Returns the ends that a way from `from` passes, with the first and the last one: `0-1-3`.
    pub(crate) fn stations(&self, from: u64, way: &[Directed]) -> String {
        let end = |link: &Directed| self.links[link / 2].ends[1 - link % 2];
        let names = way.iter().map(|link| format!("-{}", self.names[end(link)]));
        std::iter::once(from.to_string()).chain(names).collect()
    }
}

/// Builds a graph from what is written.
struct Builder<'d> {
    /// Numbers of sockets, and of sockets in a chassis.
    count: u64,
    side: u64,
    /// Names of parts of the machine, and of parts of each chassis, in the order of their mention.
    parts: Vec<&'d str>,
    chassis_parts: Vec<&'d str>,
    /// Links by their ends, the lower one first, each with what is written of it.
    links: Vec<([usize; 2], Written<'d>)>,
    known: HashMap<[usize; 2], usize>,
}

impl<'d> Builder<'d> {
    fn chassis(&self) -> u64 {
        self.count.div_ceil(self.side)
    }

    /// Returns the numbers of the ends for which `end` stands. `chassis` is none for links of the whole machine.
    fn numbers(&self, end: End<'d>, chassis: Option<u64>) -> Vec<usize> {
        let (first, sockets) = chassis.map_or((0, self.count), |c| (c * self.side, self.side));
        let place = |names: &[&str], name| names.iter().position(|known| *known == name);
        let (count, own) = (self.count as usize, self.chassis_parts.len());
        match end {
            End::EachSocket => {
                (first..(first + sockets).min(self.count)).map(|s| s as usize).collect()
            }
            // The last chassis can have fewer sockets.
            End::Socket(number) => Some((first + number) as usize)
                .filter(|socket| *socket < count)
                .into_iter()
                .collect(),
            End::Part(name) => {
                let machine = place(&self.parts, name).map(|at| own * self.chassis() as usize + at);
                let inside = || {
                    let at = place(&self.chassis_parts, name).expect("every name is listed");
                    own * chassis.expect("it is no part of the machine") as usize + at
                };
                vec![count + machine.unwrap_or_else(inside)]
            }
        }
    }

    /// Adds the links for which one text stands.
    fn add(&mut self, written: Written<'d>) -> Result<(), Fault> {
        let several = written.key == BETWEEN_CHASSIS;
        let highest = if written.key == WITHIN_MACHINE { self.count } else { self.side };
        for end in written.ends {
            if let End::Socket(number) = end
                && number >= highest
            {
                let of = if highest == self.side { "of a chassis" } else { "of the machine" };
                let allowed = format!("allowed: 0 to {}, the sockets {of}", highest - 1);
                return Err(written.fault(&format!("has the unknown socket {number}; {allowed}")));
            }
        }
        let same = written.ends[0] == written.ends[1];
        if same && !several && written.ends[0] != End::EachSocket {
            return Err(written.fault("connects an end with itself; allowed: two different ends"));
        }
        if several && self.chassis() == 1 {
            return Err(
                written.fault("needs several chassis; allowed: chassis_sockets below count")
            );
        }
        let pairs: Vec<[Option<u64>; 2]> = match written.key {
            WITHIN_MACHINE => vec![[None; 2]],
            WITHIN_CHASSIS => (0..self.chassis()).map(|c| [Some(c); 2]).collect(),
            _ => {
                let others = |a| (0..self.chassis()).filter(move |b| a != *b);
                (0..self.chassis())
                    .flat_map(|a| others(a).map(move |b| [Some(a), Some(b)]))
                    .collect()
            }
        };
        for [a, b] in pairs {
            for from in self.numbers(written.ends[0], a) {
                for to in self.numbers(written.ends[1], b) {
                    if from != to {
                        self.connect([from.min(to), from.max(to)], written)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a link. One text can name a link from both of its ends: `*-*` does.
    fn connect(&mut self, ends: [usize; 2], written: Written<'d>) -> Result<(), Fault> {
        match self.known.get(&ends).map(|known| self.links[*known].1) {
            Some(before) if before.number == written.number => Ok(()),
            Some(before) => {
                let allowed = "allowed: one link between two ends";
                Err(written.fault(&format!("repeats a link of {:?}; {allowed}", before.text)))
            }
            None => {
                self.known.insert(ends, self.links.len());
                self.links.push((ends, written));
                Ok(())
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let sockets = (0..self.count).map(|socket| socket.to_string());
        let part = |c| self.chassis_parts.iter().map(move |name| format!("{name}.{c}"));
        let machine = self.parts.iter().map(|name| (*name).to_owned());
        sockets.chain((0..self.chassis()).flat_map(part)).chain(machine).collect()
    }

    fn graph(&self, kinds: &[LinkDescription]) -> Graph {
        let names = self.names();
        let mut neighbours = vec![Vec::new(); names.len()];
        for (at, ([a, b], _)) in self.links.iter().enumerate() {
            neighbours[*a].push((*b, 2 * at));
            neighbours[*b].push((*a, 2 * at + 1));
        }
        neighbours.iter_mut().for_each(|of_end| of_end.sort_unstable());
        let link = |(ends, written): &([usize; 2], Written<'_>)| {
            let bandwidth_gbps = kinds[written.kind].bandwidth_gbps;
            Link { kind: written.kind, ends: *ends, bandwidth_gbps }
        };
        let links = self.links.iter().map(link).collect();
        Graph { sockets: self.count as usize, names, links, neighbours }
    }
}

impl SocketsDescription {
    /// Returns the graph of the links of the whole machine, or the first fault of the list. A file without links has an
    /// empty graph.
    pub(super) fn checked_graph(&self) -> Result<Graph, Fault> {
        let (count, side) = match &self.part_of {
            Some(whole) => (whole.count, whole.chassis_sockets),
            None => (self.count, self.chassis_sockets),
        };
        let mut written = Vec::new();
        for (kind, link) in self.link.iter().enumerate() {
            for (key, texts) in link.lists() {
                for text in texts {
                    written.push(Written::parse(written.len(), text, kind, key)?);
                }
            }
        }
        let names = |of_machine: bool| {
            let lists = written.iter().filter(|w| (w.key == WITHIN_MACHINE) == of_machine);
            let names = lists.flat_map(|w| w.ends).filter_map(|end| match end {
                End::Part(name) => Some(name),
                _ => None,
            });
            let mut known: Vec<&str> = Vec::new();
            names.for_each(|name| known.extend((!known.contains(&name)).then_some(name)));
            known
        };
        let (parts, mut chassis_parts) = (names(true), names(false));
        chassis_parts.retain(|name| !parts.contains(name));
        let (links, known) = (Vec::new(), HashMap::new());
        let mut builder = Builder { count, side, parts, chassis_parts, links, known };
        written.iter().try_for_each(|written| builder.add(*written))?;
        let graph = builder.graph(&self.link);
        for (end, neighbours) in graph.neighbours.iter().enumerate().skip(count as usize) {
            if let [(_, link)] = neighbours[..] {
                let problem = format!(
                    "has the only link of {}; allowed: an end with several links",
                    graph.names[end]
                );
                return Err(builder.links[link / 2].1.fault(&problem));
            }
        }
        Ok(graph)
    }

    /// Returns the graph of a description that was checked.
    pub(crate) fn graph(&self) -> Graph {
        self.checked_graph().unwrap_or_else(|_| unreachable!("the description was checked"))
    }

    /// Returns the numbers of the sockets in the whole machine.
    pub(crate) fn numbers_in_whole(&self) -> Vec<u64> {
        self.part_of.as_ref().map_or_else(|| (0..self.count).collect(), |w| w.sockets.clone())
    }

    /// Checks that links are well-formed and connect all sockets.
    pub(super) fn check_links(&self) -> Result<(), Fault> {
        for (i, link) in self.link.iter().enumerate() {
            let key = |name: &str| key_of(i, name);
            line(&key("name"), &link.name)?;
            if self.link[..i].iter().any(|before| before.name == link.name) {
                let problem = format!("{:?} is taken; allowed: a name of its own", link.name);
                return Err(fault(&key("name"), &problem));
            }
            real(&key("bandwidth_gbps"), link.bandwidth_gbps, 0.001, 100_000.0)?;
            if link.lists().iter().all(|(_, texts)| texts.is_empty()) {
                let allowed = "missing; allowed: within_chassis, between_chassis or within_machine";
                return Err(fault(&key(WITHIN_CHASSIS), allowed));
            }
        }
        if self.link.is_empty() {
            return Ok(());
        }
        let nearness = self.checked_graph()?.nearness(0);
        match nearness[..self.count as usize].iter().position(|near| near.links == usize::MAX) {
            None => Ok(()),
            Some(socket) => {
                let problem = format!(
                    "no way from socket 0 to {socket}; allowed: links that connect all sockets"
                );
                Err(fault("sockets.link", &problem))
            }
        }
    }
}
