//! Sessions of an engine, to be handed from thread to thread.

use crate::{Error, Options, rehearsal};
use engine::{Engine, EngineError, EngineOptions, Session, registry};
use machine::{Native, NativeCore, NativeOptions, available_memory, cold::Arc};
use std::rc::Rc;
use storage::StoreError;
use txn::{TableId, TableSchema, check_tables};

/// Makes a table of `engine` and its secondary indexes, under the numbers from `first` on and meant for `rows` rows, if
/// the table would fit into `available` bytes.
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

/// A session together with what it borrows, so that it can be kept and handed from thread to thread.
pub(crate) struct Seat {
    // Fields drop in this order: the session before its core and its engine.
    session: Box<dyn Session>,
    core: Rc<NativeCore>,
    _engine: Arc<dyn Engine<Native>>,
    /// Where transactions pack values; kept for its memory.
    pub buffer: Vec<u8>,
    /// State of the back-off's random numbers.
    pub random: u64,
}

// SAFETY: the session borrows the engine, which is `Sync`, and the core, which no other session uses; its
// protocol's state is `Send`. The core's only other owner is this seat, which lends it by `&self` only, and
// a seat is not `Sync`. So wherever the seat goes, all that is not `Sync` goes with it.
unsafe impl Send for Seat {}

impl Seat {
    fn new(machine: &Native, engine: &Arc<dyn Engine<Native>>, slot: usize) -> Seat {
        let core = Rc::new(machine.core(slot));
        // SAFETY: both values are on the heap and owned by the seat that is made here, through an `Rc` and an
        // `Arc`, whose moves neither move nor re-borrow them. The seat drops the session before it lets go
        // of them, and lends the session only for less than its own life. So neither reference is used
        // after its referent.
        let (engine_ref, core_ref) = unsafe { (&*Arc::as_ptr(engine), &*Rc::as_ptr(&core)) };
        Seat {
            session: engine_ref.session(core_ref, slot),
            core,
            _engine: engine.clone(),
            buffer: Vec::new(),
            random: slot as u64 + 1,
        }
    }

    /// Its session.
    #[inline]
    pub fn session(&mut self) -> &mut (dyn Session + 'static) {
        &mut *self.session
    }

    /// Its session and its buffer.
    #[inline]
    pub fn parts(&mut self) -> (&mut (dyn Session + 'static), &mut Vec<u8>) {
        (&mut *self.session, &mut self.buffer)
    }

    /// Its core.
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
    /// Partitions of every table.
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
        sessions: options.max_sessions,
        record_history: false,
        record_values: false,
        purge_batch: 64,
        // The database's own thread drives the services, by the system's clock.
        epoch_interval_ticks: 0,
    };
    let engine = registry::native(registry::DEFAULT, &options.protocol, &machine, &engine_options)?;
    let seats = (0..engine_options.sessions).map(|slot| Seat::new(&machine, &engine, slot));
    let mut seats: Vec<Seat> = seats.collect();
    rehearsal::rehearse(&*engine, &mut seats)?;
    Ok(Opened { machine, engine, seats, partitions })
}
