//! The list of architectures. Apart from its own module, an architecture is named only here.
//!
//! The names of an architecture and of a protocol identify an engine. [`native`] makes engines on real
//! hardware, compiled here once for all programs. [`create`] makes engines on any machine.

use crate::{
    architecture::{Architecture, ArchitectureDeclaration, OwnersWork},
    engine::{Engine, EngineError, EngineOf, EngineOptions, TypedEngine},
    pair::{leaving_work, pair},
};
use machine::{Machine, Native, cold::Arc};
use protocols::{
    Protocol, ProtocolOptions,
    registry::{Visitor, with_protocol},
};

/// Returns the description of the architecture `name`.
pub fn declaration(name: &str) -> Result<ArchitectureDeclaration, EngineError> {
    let found = declarations().into_iter().find(|declared| declared.name == name);
    found.ok_or_else(|| EngineError::UnknownArchitecture(name.to_owned()))
}

/// Architecture to use if the caller names none.
pub const DEFAULT: &str = "shared_everything";

/// An operation on an engine's type, which is known only by name at run time.
pub trait EngineVisitor<M: Machine> {
    /// Result of the operation.
    type Output;
    /// Runs the operation with the engine type `E`.
    fn visit<E: TypedEngine<M>>(self) -> Self::Output;
}

macro_rules! registry {
    ($($module:ident :: $architecture:ident),* $(,)?) => {
        /// Returns the descriptions of all architectures, in the order of reports.
        pub fn declarations() -> Vec<ArchitectureDeclaration> {
            vec![$(crate::$module::DECLARATION),*]
        }

        impl<M: Machine> Visitor<M> for Creation<'_, M> {
            type Output = Result<Arc<dyn Engine<M>>, EngineError>;

            fn visit<P: Protocol<M>>(self) -> Self::Output {
                $(
                    if crate::$module::DECLARATION.name == self.architecture {
                        // An engine of a pair that is not supported is not compiled either.
                        if const { supported::<M, P, crate::$module::$architecture<M, P>>() } {
                            return create_engine::<M, P, crate::$module::$architecture<M, P>>(
                                self.machine,
                                self.options,
                            );
                        }
                        return Err(refused::<M, P>(
                            &crate::$module::DECLARATION,
                            &self.options.protocol,
                        ));
                    }
                )*
                Err(EngineError::UnknownArchitecture(self.architecture.to_owned()))
            }
        }

        impl<M: Machine, V: EngineVisitor<M>> Visitor<M> for Typed<'_, V> {
            type Output = Result<V::Output, EngineError>;

            fn visit<P: Protocol<M>>(self) -> Self::Output {
                $(
                    if crate::$module::DECLARATION.name == self.architecture {
                        if const { supported::<M, P, crate::$module::$architecture<M, P>>() } {
                            return Ok(self.visitor.visit::<EngineOf<M, P, crate::$module::$architecture<M, P>>>());
                        }
                        return Err(refused::<M, P>(&crate::$module::DECLARATION, self.options));
                    }
                )*
                Err(EngineError::UnknownArchitecture(self.architecture.to_owned()))
            }
        }
    };
}

// One line per architecture.
registry! {
    shared_everything::SharedEverything,
    several_sites::SeveralSites,
    partitioned_serial::PartitionedSerial,
    delegation::Delegation,
    data_oriented::DataOriented,
}

const fn supported<M: Machine, P: Protocol<M>, A: Architecture<M, P>>() -> bool {
    A::SUPPORTED
}

fn create_engine<M: Machine, P: Protocol<M>, A: Architecture<M, P>>(
    machine: &Arc<M>,
    options: &EngineOptions,
) -> Result<Arc<dyn Engine<M>>, EngineError> {
    Ok(Arc::new(EngineOf::<M, P, A>::create(machine, options)?))
}

/// Returns why protocol `P` does not run under an architecture whose type does not support it.
fn refused<M: Machine, P: Protocol<M>>(
    architecture: &ArchitectureDeclaration,
    options: &ProtocolOptions,
) -> EngineError {
    let declared = P::declare(options);
    // The protocol's name is supported, but not the form that the options select.
    let form = EngineError::NotDelegated {
        architecture: architecture.name,
        protocol: declared.name,
        supported: leaving_work(architecture.work),
    };
    pair(architecture, declared).err().unwrap_or(form)
}

/// Returns the options with the form of metadata that the architecture needs.
fn fitted(architecture: &str, options: &ProtocolOptions) -> ProtocolOptions {
    let owned_metadata =
        declaration(architecture).is_ok_and(|declared| declared.work != OwnersWork::Shared);
    ProtocolOptions { owned_metadata, ..options.clone() }
}

/// Parameters of an engine that is to be made.
struct Creation<'c, M: Machine> {
    architecture: &'c str,
    machine: &'c Arc<M>,
    options: &'c EngineOptions,
}

/// An engine type that is to be visited.
struct Typed<'c, V> {
    architecture: &'c str,
    options: &'c ProtocolOptions,
    visitor: V,
}

/// Makes an engine without tables, by the names of its architecture and its protocol.
///
/// Each machine type that this is called with compiles every protocol anew. Programs should call [`native`] and
/// similar functions, which are not generic.
pub fn create<M: Machine>(
    architecture: &str,
    protocol: &str,
    machine: &Arc<M>,
    options: &EngineOptions,
) -> Result<Arc<dyn Engine<M>>, EngineError> {
    let options =
        &EngineOptions { protocol: fitted(architecture, &options.protocol), ..options.clone() };
    let creation = Creation { architecture, machine, options };
    with_protocol(protocol, &options.protocol, creation)
        .unwrap_or_else(|_| Err(EngineError::UnknownProtocol(protocol.to_owned())))
}

/// Makes an engine as [`create`] does, on real hardware.
pub fn native(
    architecture: &str,
    protocol: &str,
    machine: &Arc<Native>,
    options: &EngineOptions,
) -> Result<Arc<dyn Engine<Native>>, EngineError> {
    create(architecture, protocol, machine, options)
}

/// Calls `visitor` with the type of the engine that [`create`] would make.
pub fn with_engine<M: Machine, V: EngineVisitor<M>>(
    architecture: &str,
    protocol: &str,
    options: &ProtocolOptions,
    visitor: V,
) -> Result<V::Output, EngineError> {
    let options = &fitted(architecture, options);
    with_protocol(protocol, options, Typed { architecture, options, visitor })
        .unwrap_or_else(|_| Err(EngineError::UnknownProtocol(protocol.to_owned())))
}
