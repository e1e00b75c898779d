//! Checks a workload's conservation law after a run, in one more transaction that runs alone.

use engine::{Engine, Start};
use machine::{Body, Machine, RunError, Service, cold::Mutex};
use txn::Conservation;

/// Number of attempts after which a transaction that is alone in the database counts as stuck.
const MOST_ATTEMPTS: u32 = 100;

/// Returns the violation of a workload's `law` after `committed` procedures in all, or None if the law holds or there
/// is none. `session` is that of an unused session. Where time is modelled, `cores` and `services` are those of the run
/// before, because cache lines remember their owners. The first core checks the law. The others do nothing.
pub(crate) fn broken<M: Machine>(
    machine: &M,
    engine: &dyn Engine<M>,
    law: Option<Conservation>,
    (cores, services): (usize, Vec<Service<'_, M>>),
    session: usize,
    committed: u64,
) -> Result<Option<String>, RunError> {
    let Some(law) = law else { return Ok(None) };
    let broken = Mutex::new(None);
    let judge = &|core: &M::Core| {
        let mut session = engine.session(core, session);
        for attempt in 0..MOST_ATTEMPTS {
            session.begin(Start { attempt, read_only: true, ..Start::default() });
            let outcome = law(&mut *session, committed);
            let ended = session.commit();
            if let (Ok(verdict), Ok(())) = (outcome, ended) {
                *broken.lock() = verdict.err();
                return;
            }
        }
        *broken.lock() = Some("a transaction alone in the database aborts again and again".into());
    };
    let body = |number| -> Body<'_, M> {
        Box::new(move |core| {
            if number == 0 {
                judge(core);
            }
        })
    };
    machine.run((0..cores).map(body).collect(), services)?;
    Ok(broken.into_inner())
}
