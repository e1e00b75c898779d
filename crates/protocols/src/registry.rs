//! The list of protocols. Besides a protocol's own file, this is the only place that contains its name.
//!
//! A protocol is a type that is chosen once per run: [`with_protocol`] turns a name into a call with that type.
//!
//! Every machine compiles all protocols, and some programs compile loops for each of them. A developer who works on
//! one protocol can leave the others out of the build. With `KILOCORE_PROTOCOLS=SILO,NO_WAIT` in the environment of
//! the build, only these two protocols exist.

use crate::{
    Declaration, Isolation, Protocol, ProtocolOptions,
    aria::Aria,
    bamboo::Bamboo,
    cicada::Cicada,
    dl_detect::{DlDetect, DlDetectOwned, DlDetectVersions},
    hekaton::Hekaton,
    hstore::Hstore,
    mocc::Mocc,
    mvcc::Mvcc,
    no_cc::NoCc,
    no_wait::{NoWait, NoWaitAtCommit, NoWaitListed, NoWaitOwned, NoWaitTabled},
    occ::Occ,
    ordered_2pl::Ordered2pl,
    plor::Plor,
    silo::Silo,
    snapshot::Snapshot,
    ssn::Ssn,
    tictoc::TicToc,
    timestamp::Timestamp,
    two_version_no_wait::{TwoVersionNoWait, TwoVersionNoWaitOwned},
    wait_die::{WaitDie, WaitDieOwned, WaitDieTabled},
    wound_wait::WoundWait,
};
use machine::Machine;
use storage::ProtocolWords;

/// Protocol of an embedder that names none. It performs best when transactions seldom conflict, as most do.
pub const DEFAULT: &str = "SILO";

/// An operation on a protocol whose name is known only at run time.
pub trait Visitor<M: Machine> {
    /// Result of the operation.
    type Output;
    /// Runs the operation with protocol `P`.
    fn visit<P: Protocol<M>>(self) -> Self::Output;
}

/// Names of the protocols that are built; none for all of them.
const BUILT: Option<&str> = option_env!("KILOCORE_PROTOCOLS");

/// Returns true if `name` is one of the names in `list`, which are separated by commas.
const fn is_named(name: &str, list: &str) -> bool {
    let (name, list) = (name.as_bytes(), list.as_bytes());
    let mut at = 0;
    while at < list.len() {
        let mut end = at;
        let mut same = true;
        while end < list.len() && list[end] != b',' {
            same = same && end - at < name.len() && list[end] == name[end - at];
            end += 1;
        }
        if same && end - at == name.len() {
            return true;
        }
        at = end + 1;
    }
    false
}

const fn is_built(name: &str) -> bool {
    match BUILT {
        None => true,
        Some(list) => is_named(name, list),
    }
}

macro_rules! registry {
    ($machine:ident: $($variant:ident = $name:literal: $protocol:ty $(| $form:ty)*),* $(,)?) => {
        /// The name of a protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ProtocolName {
            $(
                #[doc = concat!("The protocol `", $name, "`.")]
                $variant,
            )*
        }

        impl ProtocolName {
            /// Returns the name as the papers spell it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ProtocolName::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for ProtocolName {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<ProtocolName> for String {
            fn from(name: ProtocolName) -> String {
                name.as_str().into()
            }
        }

        /// Returns the declarations of all protocols, in the order of reports.
        pub fn declarations<$machine: Machine>(options: &ProtocolOptions) -> Vec<Declaration> {
            let all = [$((is_built($name), <$protocol as Protocol<$machine>>::declare(options))),*];
            built(all)
        }

        /// Returns the names of the knobs that each protocol uses, in the same order.
        pub fn knobs<$machine: Machine>() -> Vec<&'static [&'static str]> {
            built([$((is_built($name), <$protocol as Protocol<$machine>>::knobs())),*])
        }

        /// Returns `options` with each protocol's usual values in place of those left open, in the same order.
        pub fn settled<$machine: Machine>(options: &ProtocolOptions) -> Vec<ProtocolOptions> {
            built([$((
                is_built($name),
                <$protocol as Protocol<$machine>>::settled(options.clone()),
            )),*])
        }

        /// Returns the levels of isolation that each protocol can give, its own level first, in the same order.
        pub fn levels<$machine: Machine>() -> Vec<&'static [Isolation]> {
            built([$((is_built($name), <$protocol as Protocol<$machine>>::levels())),*])
        }

        /// Returns the bytes of a record under each protocol, without its key and its row, in the same order.
        pub fn record_bytes<$machine: Machine>() -> Vec<usize> {
            built([$((
                is_built($name),
                ProtocolWords::of::<<$protocol as Protocol<$machine>>::Words>()
                    .record_bytes::<$machine>(),
            )),*])
        }

        /// Calls `visitor` with the protocol `name`, in the form that `options` ask for. Returns the visitor if
        /// there is no such protocol.
        pub fn with_protocol<$machine: Machine, V: Visitor<$machine>>(
            name: &str,
            options: &ProtocolOptions,
            visitor: V,
        ) -> Result<V::Output, V> {
            $(
                // A protocol that is not built is not compiled either.
                if const { is_built($name) } {
                    if name == $name {
                        $(
                            if <$form as Protocol<$machine>>::is_asked_for(options) {
                                return Ok(visitor.visit::<$form>());
                            }
                        )*
                        return Ok(visitor.visit::<$protocol>());
                    }
                }
            )*
            Err(visitor)
        }

        #[cfg(test)]
        mod tests {
            use super::*;
            use machine::Native;

            #[test]
            fn protocols_are_listed_by_the_names_that_they_declare() {
                let declared = declarations::<Native>(&ProtocolOptions::default());
                let declared: Vec<_> = declared.iter().map(|declaration| declaration.name).collect();
                assert_eq!(declared, built([$((is_built($name), $name)),*]));
            }

            #[test]
            fn names_are_found_whole() {
                assert!(is_named("SILO", "SILO") && is_named("SILO", "NO_WAIT,SILO,MVCC"));
                for list in ["", ",", "SIL", "SILOX", "XSILO", "NO_WAIT,SIL,OSILO"] {
                    assert!(!is_named("SILO", list), "{list}");
                }
            }
        }
    };
}

/// Returns the values of the protocols that are built.
fn built<T, const N: usize>(all: [(bool, T); N]) -> Vec<T> {
    all.into_iter().filter(|(is_built, _)| *is_built).map(|(_, value)| value).collect()
}

// One line per protocol. After `|` come its other forms, which are separate types that options select.
registry! { M:
    NoCc = "NO_CC": NoCc,
    DlDetect = "DL_DETECT": DlDetect<M> | DlDetectOwned<M> | DlDetectVersions<M>,
    NoWait = "NO_WAIT": NoWait | NoWaitOwned | NoWaitAtCommit | NoWaitListed<M> | NoWaitTabled<M>,
    WaitDie = "WAIT_DIE": WaitDie<M> | WaitDieOwned<M> | WaitDieTabled<M>,
    WoundWait = "WOUND_WAIT": WoundWait<M>,
    Bamboo = "BAMBOO": Bamboo<M>,
    Plor = "PLOR": Plor<M>,
    Ordered2pl = "ORDERED_2PL": Ordered2pl<M>,
    TwoVersionNoWait = "2V_NO_WAIT": TwoVersionNoWait | TwoVersionNoWaitOwned,
    Timestamp = "TIMESTAMP": Timestamp<M>,
    Mvcc = "MVCC": Mvcc<M>,
    Snapshot = "SNAPSHOT": Snapshot<M>,
    Ssn = "SSN": Ssn<M>,
    Hekaton = "HEKATON": Hekaton<M>,
    Cicada = "CICADA": Cicada<M>,
    Occ = "OCC": Occ<M>,
    Hstore = "HSTORE": Hstore<M>,
    Silo = "SILO": Silo,
    TicToc = "TICTOC": TicToc<M>,
    Mocc = "MOCC": Mocc<M>,
    Aria = "ARIA": Aria<M>,
}
