//! Sessions of an engine, packed so that they can move from thread to thread.

use crate::{Error, Options, rehearsal, session_pool::SessionPool};
use engine::{Engine, EngineError, EngineOptions, Session, registry};
use machine::{Native, NativeCore, NativeOptions, available_memory, cold::Arc};
use std::rc::Rc;
use storage::StoreError;
use txn::{TableId, TableSchema, check_tables};

/// Creates a table of `engine` and its secondary indexes, under consecutive numbers from `first` on, sized for
/// `rows` rows. Fails if the table does not fit into `available` bytes or into the memory that the system has
/// available.
pub(crate) fn create_table(
    engine: &dyn Engine<Native>,
    first: TableId,
    tables: &[TableSchema],
    rows: u64,
    available: u64,
) -> Result<(), EngineError> {
    check_tables(first, tables).map_err(StoreError::Schema)?;
    let available = available_memory().map_or(available, |bytes| bytes.min(available));
    let needed = engine.bytes_for(&tables[0], rows);
    if needed > available {
        let table = tables[0].name.clone();
        return Err(StoreError::TooLarge { table, rows, needed, available }.into());
    }
    engine.create_table(first, tables, rows)
}

/// Drops tables of `engine` and gives their memory back. Every one of `sessions` forgets them first. The caller makes sure
/// that no transaction that begins from now on uses them. Waits for the transactions that run. Fails with
/// [`Error::Nested`] if the calling thread runs one.
pub(crate) fn drop_tables(
    engine: &dyn Engine<Native>,
    sessions: &SessionPool,
    tables: &[TableId],
) -> Result<(), Error> {
    sessions
        .visit_all(|seat| tables.iter().for_each(|table| seat.session().forget_table(*table)))?;
    let turn = sessions.enter()?;
    for table in tables {
        // SAFETY: all sessions have forgotten the table. Transactions that ran before have ended, because each session was
        // visited between transactions. The caller makes sure that no later one uses the table.
        unsafe { engine.drop_table(turn.seat.core(), *table) };
    }
    Ok(())
}

/// A session together with the core and the engine that it borrows, so that it can move from thread to thread.
pub(crate) struct Seat {
    // Fields drop in this order: the session drops before the core and the engine that it borrows.
    session: Box<dyn Session>,
    core: Rc<NativeCore>,
    _engine: Arc<dyn Engine<Native>>,
    /// Room in which transactions pack values. It is kept between transactions so that its memory is reused.
    pub buffer: Vec<u8>,
    /// State of the random-number generator for the back-off. Never 0.
    pub random: u64,
}

// SAFETY: the session borrows the engine, which is `Sync`, and the core, which no other session uses. The state
// of its protocol is `Send`. The only other owner of the core is this seat, which lends it by `&self` only, and
// a seat is not `Sync`. So everything that is not `Sync` moves together with the seat.
unsafe impl Send for Seat {}

impl Seat {
    fn new(machine: &Native, engine: &Arc<dyn Engine<Native>>, session: usize) -> Seat {
        let core = Rc::new(machine.core(session));
        // SAFETY: both values are on the heap. The seat that is made here owns them through an `Rc` and an
        // `Arc`. Moving these pointers neither moves nor re-borrows the values. The seat drops the session
        // before it drops the pointers, and it lends the session only for less than its own lifetime. So
        // neither reference is used after its referent is gone.
        let (engine_ref, core_ref) = unsafe { (&*Arc::as_ptr(engine), &*Rc::as_ptr(&core)) };
        Seat {
            session: engine_ref.session(core_ref, session),
            core,
            _engine: engine.clone(),
            buffer: Vec::new(),
            random: session as u64 + 1,
        }
    }

    /// Returns the session.
    #[inline]
    pub fn session(&mut self) -> &mut (dyn Session + 'static) {
        &mut *self.session
    }

    /// Returns the session and the buffer.
    #[inline]
    pub fn parts(&mut self) -> (&mut (dyn Session + 'static), &mut Vec<u8>) {
        (&mut *self.session, &mut self.buffer)
    }

    /// Returns the core.
    #[inline]
    pub fn core(&self) -> &NativeCore {
        &self.core
    }
}

/// An engine with all its sessions.
pub(crate) struct Opened {
    pub machine: Arc<Native>,
    pub engine: Arc<dyn Engine<Native>>,
    pub seats: Vec<Seat>,
    /// Number of partitions of every table.
    pub partitions: u64,
}

/// Opens the engine that `options` describe.
pub(crate) fn open(options: &Options) -> Result<Opened, Error> {
    let protocol = options.check()?;
    let limit = options.memory_bytes();
    let arena = machine::ArenaOptions {
        reserve_bytes: limit,
        huge_pages: options.huge_pages,
        ..Default::default()
    };
    let native = NativeOptions { arena, breakdown: false, pin: false };
    let machine = Arc::new(Native::new(native).map_err(StoreError::OutOfMemory)?);
    machine::Machine::arena(&*machine).limit(0, limit);
    let partitions = protocol.partitions.unwrap_or(1);
    let engine_options = EngineOptions {
        protocol,
        // No ticks: the background thread of the database drives the services by the system's clock.
        epoch_interval_ticks: 0,
        ..EngineOptions::for_sessions(options.max_sessions)
    };
    let engine = registry::native(registry::DEFAULT, &options.protocol, &machine, &engine_options)?;
    let seats = (0..engine_options.sessions).map(|session| Seat::new(&machine, &engine, session));
    let mut seats: Vec<Seat> = seats.collect();
    rehearsal::rehearse(&*engine, &mut seats)?;
    Ok(Opened { machine, engine, seats, partitions })
}
