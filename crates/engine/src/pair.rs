//! The pairs of a protocol and an architecture: those that are supported, and what each promises.

use crate::{ArchitectureDeclaration, EngineError, OwnersWork};
use machine::Native;
use protocols::{
    Declaration, Delegated, Isolation, Protocol, ProtocolOptions,
    registry::{self, Visitor, with_protocol},
};

/// Returns what `protocol` declares under `architecture`, or why it cannot run there.
///
/// An architecture that isolates transactions itself runs protocols that do not. The pair promises strict serializability,
/// which neither promises alone.
pub fn pair(
    architecture: &ArchitectureDeclaration,
    protocol: Declaration,
) -> Result<Declaration, EngineError> {
    if architecture.isolates {
        if protocol.isolation != Isolation::None {
            let (architecture, protocol) = (architecture.name, protocol.name);
            return Err(EngineError::Isolates { architecture, protocol, supported: bare() });
        }
        return Ok(Declaration { isolation: Isolation::Serializable, strict: true, ..protocol });
    }
    if architecture.work != OwnersWork::Shared {
        let supported = leaving_work(architecture.work);
        if !supported.contains(&protocol.name) {
            let (architecture, protocol) = (architecture.name, protocol.name);
            return Err(EngineError::NotDelegated { architecture, protocol, supported });
        }
        // The owners share what the protocol knows of transactions.
        return Ok(protocol);
    }
    match protocol.one_site {
        Some(reason) if architecture.sites != Some(1) => {
            Err(EngineError::OneSite { protocol: protocol.name, reason })
        }
        _ => Ok(protocol),
    }
}

/// Returns the names of the protocols that do not isolate transactions.
fn bare() -> Vec<&'static str> {
    let declared = registry::declarations::<Native>(&ProtocolOptions::default()).into_iter();
    let bare = declared.filter(|declared| declared.isolation == Isolation::None);
    bare.map(|declared| declared.name).collect()
}

/// Returns the names of the protocols that leave as much work to the owner of a record as `work` demands.
pub(crate) fn leaving_work(work: OwnersWork) -> Vec<&'static str> {
    struct Leaves(OwnersWork);
    impl Visitor<Native> for Leaves {
        type Output = bool;
        fn visit<P: Protocol<Native>>(self) -> bool {
            match self.0 {
                OwnersWork::Shared => true,
                OwnersWork::Served => P::DELEGATED != Delegated::Nothing,
                OwnersWork::Visited => P::DELEGATED == Delegated::Metadata,
            }
        }
    }
    owned()
        .filter(|name| with_protocol(name, &owned_options(), Leaves(work)).is_ok_and(|yes| yes))
        .collect()
}

/// Returns the names of the protocols whose sessions can have executors ([`crate::MovingOptions::executors`]): those whose
/// transactions can wait at several owners at once.
pub fn with_executors() -> Vec<&'static str> {
    struct WaitsApart;
    impl Visitor<Native> for WaitsApart {
        type Output = bool;
        fn visit<P: Protocol<Native>>(self) -> bool {
            P::DELEGATED == Delegated::Metadata && !P::WAITS_ONCE
        }
    }
    owned()
        .filter(|name| with_protocol(name, &owned_options(), WaitsApart).is_ok_and(|yes| yes))
        .collect()
}

fn owned_options() -> ProtocolOptions {
    ProtocolOptions { owned_metadata: true, ..ProtocolOptions::default() }
}

/// Returns the names of all protocols, in the forms in which an owner works on metadata.
fn owned() -> impl Iterator<Item = &'static str> {
    registry::declarations::<Native>(&owned_options()).into_iter().map(|declared| declared.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::declarations;

    fn protocols() -> Vec<Declaration> {
        registry::declarations::<Native>(&ProtocolOptions::default())
    }

    #[test]
    fn every_protocol_runs_somewhere_and_promises_as_much_as_alone() {
        for protocol in protocols() {
            let pairs = declarations().into_iter().filter_map(|a| pair(&a, protocol).ok());
            let pairs: Vec<Declaration> = pairs.collect();
            assert!(!pairs.is_empty(), "{}", protocol.name);
            for declared in pairs.into_iter().filter(|pair| *pair != protocol) {
                assert_eq!(protocol.isolation, Isolation::None, "{}", protocol.name);
                assert_eq!((declared.isolation, declared.strict), (Isolation::Serializable, true));
            }
        }
    }

    #[test]
    fn a_refusal_names_the_pair_and_what_is_supported() {
        let all = declarations();
        let isolating = all.iter().find(|a| a.isolates).expect("there is one");
        let isolated = protocols().into_iter().find(|p| p.isolation != Isolation::None);
        let isolated = isolated.expect("most are");
        let told = pair(isolating, isolated).unwrap_err().to_string();
        assert!(
            told.starts_with(&format!("{} cannot run under {}", isolated.name, isolating.name))
        );
        assert!(told.ends_with(&format!("supported there: {}", bare().join(", "))), "{told}");
    }

    /// A protocol's declaration for users must agree with its type, which decides about the compiled pairs.
    #[test]
    fn protocols_that_promise_nothing_are_those_that_do_not_isolate() {
        struct Isolates;
        impl registry::Visitor<Native> for Isolates {
            type Output = bool;
            fn visit<P: Protocol<Native>>(self) -> bool {
                P::ISOLATES
            }
        }
        for protocol in protocols() {
            let options = ProtocolOptions::default();
            let isolates = with_protocol(protocol.name, &options, Isolates).ok();
            assert_eq!(isolates, Some(protocol.isolation != Isolation::None), "{}", protocol.name);
        }
    }
}
