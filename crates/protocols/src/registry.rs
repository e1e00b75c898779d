//! The list of protocols: the one place, besides a protocol's own file, where its name stands.
//!
//! A protocol is a type, chosen once per run: [`with_protocol`] turns a name into a call with that type.

use crate::{
    Declaration, Isolation, Protocol, ProtocolOptions,
    bamboo::Bamboo,
    cicada::Cicada,
    dl_detect::{DlDetect, DlDetectVersions},
    hekaton::Hekaton,
    hstore::Hstore,
    mocc::Mocc,
    mvcc::Mvcc,
    no_cc::NoCc,
    no_wait::{NoWait, NoWaitAtCommit, NoWaitListed, NoWaitTabled},
    occ::Occ,
    plor::Plor,
    silo::Silo,
    snapshot::Snapshot,
    ssn::Ssn,
    tictoc::TicToc,
    timestamp::Timestamp,
    two_version_no_wait::TwoVersionNoWait,
    wait_die::{WaitDie, WaitDieTabled},
    wound_wait::WoundWait,
};
use machine::Machine;
use storage::ProtocolWords;

/// The protocol of an embedder who names none: it does best when transactions seldom meet, as most do.
pub const DEFAULT: &str = "SILO";

/// Something to do with a protocol that is known by name only at run time.
pub trait Visitor<M: Machine> {
    /// What comes of it.
    type Output;
    /// Does it with `P`.
    fn visit<P: Protocol<M>>(self) -> Self::Output;
}

macro_rules! registry {
    ($machine:ident: $($protocol:ty $(| $form:ty)*),* $(,)?) => {
        /// Declarations of all protocols, in the order of reports.
        pub fn declarations<$machine: Machine>(options: &ProtocolOptions) -> Vec<Declaration> {
            vec![$(<$protocol as Protocol<$machine>>::declare(options)),*]
        }

        /// The knobs that each protocol heeds, by name, in the same order.
        pub fn knobs<$machine: Machine>() -> Vec<&'static [&'static str]> {
            vec![$(<$protocol as Protocol<$machine>>::knobs()),*]
        }

        /// The levels of isolation that each protocol can give, its own first, in the same order.
        pub fn levels<$machine: Machine>() -> Vec<&'static [Isolation]> {
            vec![$(<$protocol as Protocol<$machine>>::levels()),*]
        }

        /// The bytes of a record under each protocol beside its key and its row, in the same order.
        pub fn record_bytes<$machine: Machine>() -> Vec<usize> {
            vec![$(
                ProtocolWords::of::<<$protocol as Protocol<$machine>>::Record>()
                    .record_bytes::<$machine>()
            ),*]
        }

        /// Calls `visitor` with the protocol `name`, in the form that `options` ask for; gives the visitor back
        /// if there is none.
        pub fn with_protocol<$machine: Machine, V: Visitor<$machine>>(
            name: &str,
            options: &ProtocolOptions,
            visitor: V,
        ) -> Result<V::Output, V> {
            $(
                if <$protocol as Protocol<$machine>>::declare(options).name == name {
                    $(
                        if <$form as Protocol<$machine>>::is_asked_for(options) {
                            return Ok(visitor.visit::<$form>());
                        }
                    )*
                    return Ok(visitor.visit::<$protocol>());
                }
            )*
            Err(visitor)
        }
    };
}

// One line per protocol; behind it its other forms, where options ask for what is a type of its own.
registry! { M:
    NoCc,
    DlDetect<M> | DlDetectVersions<M>,
    NoWait | NoWaitAtCommit | NoWaitListed<M> | NoWaitTabled<M>,
    WaitDie<M> | WaitDieTabled<M>,
    WoundWait<M>,
    Bamboo<M>,
    Plor<M>,
    TwoVersionNoWait,
    Timestamp<M>,
    Mvcc<M>,
    Snapshot<M>,
    Ssn<M>,
    Hekaton<M>,
    Cicada<M>,
    Occ<M>,
    Hstore<M>,
    Silo,
    TicToc<M>,
    Mocc<M>,
}
