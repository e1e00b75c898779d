//! A site whose owner's core alone works on metadata: the site of delegation and of data-oriented execution.
//!
//! The session keeps its part at each owner: a [`LocalSite`], with the protocol's state for the running attempt. A call of a
//! site either uses this part directly, or has it used on the owner's core. There are two [ways](Way) there. Under delegation a
//! server uses the part, and a mailbox carries the call. The part belongs to one of them at a time: to the server from the
//! post of a job until the job is done, and otherwise to the session. Under data-oriented execution the session itself
//! moves to the owner's core and uses its part there.
//!
//! Calls that work on metadata are made on the owner's core, as far as the protocol leaves them to it ([`Delegated`]):
//!
//! | | metadata | validation |
//! | --- | --- | --- |
//! | look-up, with the protection of the access that follows | asked | direct |
//! | read, write, add | direct, after the owner has protected them | direct |
//! | leaves of ranges, removal from the index | asked | direct |
//! | prepare | asked, if it works on metadata | asked, if it writes |
//! | installation of writes | direct | direct |
//! | end of the attempt | posted | direct |
//! | all others, which use only what belongs to the session | direct | direct |
//!
//! A call that is asked waits for its result. The end of an attempt is posted, and nobody waits for it. The session uses
//! its part next when it accesses that owner's data again, and waits then if the end is not done yet. A session that moves
//! does both itself: it moves for what is asked or posted, and stays there for the calls that follow.

use super::{LocalSite, Located, Name, NextAccess, Site};
use crate::{assignment::Seat, handed::Handed, owner::Owner};
use machine::{
    Core, Machine,
    mailbox::{Cargo, Job, Mailbox},
};
use protocols::{Change, CommitLog, Delegated, Images, Prepared, Protocol, Txn, faults};
use storage::{
    ByteKey, LeafPath, LeafRows, Piece, Record, RowHead, Shipping, Table, ValueSpace, Values,
};
use txn::{Abort, ColumnSet, Intent, Key, KeyRange, TableId, TableSchema, Version};

/// The way to the core of an owner.
pub(crate) enum Way<'s, M: Machine> {
    /// None is needed: the session's own core is the owner's, or nobody else runs.
    Here,
    /// The server of the owner does the work, through this mailbox.
    Message(Mailbox<'s, M>),
    /// The session moves to the core that has this owner.
    Move(Seat<'s, M>),
}

/// A site and the way to its owner.
pub(crate) struct OwnedSite<'s, M: Machine, P: Protocol<M>> {
    core: &'s M::Core,
    owner: &'s Owner<M, P>,
    way: Way<'s, M>,
    /// The session's part, from a box. A pointer, because the server uses it too.
    part: *mut Part<'s, M, P>,
    /// The job that ends an attempt.
    end: Box<Job<'s, M>>,
    /// Set if the end of the attempt was posted. It includes leaving the epoch.
    posted: bool,
    /// Set if the attempt has given up a wait. Its request still stands in a queue.
    gave_up: bool,
    /// Set if whole operations are shipped to a server.
    ships: bool,
    /// The read that the last message has made.
    shipped: Option<Shipped>,
    /// The bytes of that read.
    read: Vec<u8>,
}

/// A read that a server has made for the session, with the look-up of the record. Its bytes are in [`OwnedSite::read`].
struct Shipped {
    /// [`Record::identity`].
    record: usize,
    columns: ColumnSet,
    intent: Intent,
    head: RowHead,
}

/// The data that a session keeps at an owner.
struct Part<'s, M: Machine, P: Protocol<M>> {
    site: LocalSite<'s, M, P>,
    /// The end of the attempt, while it is posted.
    ending: Option<Ending>,
    /// What messages carry, and the number of bytes that the attempt writes at this owner, if operations are shipped.
    cargo: Option<(Cargo<'s, M>, usize)>,
}

/// The end of an attempt.
enum Ending {
    Commit { timestamp: u64, version: Version },
    Abort,
}

/// Work on a site, before and after it is done.
type Call<'s, M, P, F, R> = Handed<(*mut Part<'s, M, P>, Option<F>, Option<R>)>;

/// Does the work of `call` on the server's core.
fn serve<'s, M, P, F, R>(call: &mut Call<'s, M, P, F, R>, core: &M::Core)
where
    M: Machine,
    P: Protocol<M>,
    F: FnOnce(&mut LocalSite<'s, M, P>) -> R,
{
    let (part, work, result) = &mut call.0;
    // SAFETY: the session has posted this job, so the part belongs to the server.
    let part = unsafe { &mut **part };
    let work = work.take().expect("a job is done once");
    *result = Some(part.site.on_core(core, work));
}

/// Ends the attempt on the server's core.
fn end<'s, M: Machine, P: Protocol<M>>(part: &mut Handed<*mut Part<'s, M, P>>, core: &M::Core) {
    // SAFETY: the session has posted this job, so the part belongs to the server.
    let part = unsafe { &mut *part.0 };
    let ending = part.ending.take().expect("the end that was posted");
    if let Some((cargo, bytes)) = &part.cargo {
        cargo.unload(core, *bytes);
    }
    part.site.on_core(core, |site| {
        match ending {
            Ending::Commit { timestamp, version } => {
                site.commit(timestamp, &mut CommitLog { version, writes: None });
            }
            Ending::Abort => site.abort(),
        }
        site.leave();
    });
}

impl<'s, M: Machine, P: Protocol<M>> OwnedSite<'s, M, P> {
    /// True if look-ups and protection are the owner's.
    const OWNS_METADATA: bool = matches!(P::DELEGATED, Delegated::Metadata);

    /// Makes the site of `owner` for a session, which `core` uses. The session is given by its number, and by the number under
    /// which it pins epochs of the owner's store.
    pub fn new(
        owner: &'s Owner<M, P>,
        core: &'s M::Core,
        (session, pin): (usize, usize),
        way: Way<'s, M>,
    ) -> Self {
        let site = LocalSite::pinning(owner, core, session, pin);
        let asked = owner.store().options().access.shipping == Shipping::Operations;
        let cargo = match &way {
            Way::Message(mailbox) if asked && Self::OWNS_METADATA => Some((mailbox.cargo(), 0)),
            _ => None,
        };
        let ships = cargo.is_some();
        let part = Part { site, ending: None, cargo };
        let part = Box::into_raw(Box::new(part));
        let mut handed = Handed(part);
        let end = Box::new(move |core: &M::Core| end(&mut handed, core));
        let (posted, gave_up, shipped, read) = (false, false, None, Vec::new());
        OwnedSite { core, owner, way, part, end, posted, gave_up, ships, shipped, read }
    }

    /// Returns the session's part. If the server has it, waits until it is the session's again.
    #[inline(always)]
    pub fn local(&mut self) -> &mut LocalSite<'s, M, P> {
        self.settle();
        // SAFETY: no job is posted, so the part belongs to the session, and `self` is borrowed alone.
        unsafe { &mut (*self.part).site }
    }

    /// As [`OwnedSite::local`], to read.
    #[inline(always)]
    fn local_ref(&self) -> &LocalSite<'s, M, P> {
        self.settle();
        // SAFETY: no job is posted, so the part belongs to the session. Nobody changes it while `self` is borrowed, because
        // only `OwnedSite::ask` does that through a shared reference, and lets nothing of the part escape.
        unsafe { &(*self.part).site }
    }

    #[inline(always)]
    fn settle(&self) {
        if Self::OWNS_METADATA
            && let Way::Message(mailbox) = &self.way
        {
            mailbox.settle(self.core);
        }
    }

    /// Moves to the owner's core, if the session is one that moves. What follows is done there until the session moves again
    /// or waits.
    #[inline(always)]
    pub fn go(&self) {
        if let Way::Move(seat) = &self.way
            && !self.core.is_planted(faults::STAYS_WHERE_IT_IS)
        {
            seat.go(self.core);
        }
    }

    /// Has the session's part used on `core` from now on. No job is posted.
    pub fn use_core(&mut self, core: &'s M::Core) {
        self.core = core;
        self.local().use_core(core);
    }

    /// Returns true if the session's core is the owner's now.
    #[inline(always)]
    pub fn is_here(&self) -> bool {
        match &self.way {
            Way::Here => true,
            Way::Message(_) => false,
            Way::Move(seat) => seat.is_here(self.core),
        }
    }

    /// Has `work` done on the owner's core, and waits for the result.
    fn ask<R>(&self, work: impl FnOnce(&mut LocalSite<'s, M, P>) -> R) -> R {
        let Way::Message(mailbox) = &self.way else {
            self.go();
            // SAFETY: without a mailbox the part is always the session's, and no reference to it exists during a call.
            return work(unsafe { &mut (*self.part).site });
        };
        let mut call: Call<'s, M, P, _, R> = Handed((self.part, Some(work), None));
        mailbox.ask(self.core, &mut |core| serve(&mut call, core));
        call.0.2.expect("the job is done")
    }

    /// Does `work` where metadata is worked on. If the work has to wait for another transaction, the session waits, and the
    /// work is done again.
    #[inline(always)]
    fn on_locks<R>(
        &mut self,
        mut work: impl FnMut(&mut LocalSite<'s, M, P>) -> Result<R, Abort>,
    ) -> Result<R, Abort> {
        loop {
            let done = self.on_metadata(&mut work);
            if !P::AWAITS || done.is_ok() {
                return done;
            }
            match self.local().await_owner() {
                Ok(true) => {}
                Ok(false) => return done,
                Err(abort) => {
                    self.gave_up = true;
                    return Err(abort);
                }
            }
        }
    }

    /// Does `work` where metadata is worked on.
    #[inline(always)]
    fn on_metadata<R>(&mut self, work: impl FnOnce(&mut LocalSite<'s, M, P>) -> R) -> R {
        if Self::OWNS_METADATA { self.ask(work) } else { work(self.local()) }
    }

    /// Makes sure that an access to `record` needs no metadata.
    #[inline]
    fn protect(&mut self, record: Record<'s, M>, intent: Intent) -> Result<(), Abort> {
        let direct = matches!(self.way, Way::Here) && !P::AWAITS;
        if !Self::OWNS_METADATA || direct || self.local().is_protected(record, intent) {
            return Ok(());
        }
        if self.core.is_planted(faults::PROTECTS_ITSELF) {
            return self.local().protect(record, intent);
        }
        self.on_locks(|site| site.protect(record, intent))
    }

    /// Ends the attempt at the owner. Does not wait for the end.
    fn post(&mut self, ending: Ending) {
        let Way::Message(mailbox) = &self.way else { unreachable!("there is a server") };
        mailbox.settle(self.core);
        // SAFETY: no job is posted, so the part belongs to the session.
        unsafe { (*self.part).ending = Some(ending) };
        self.posted = true;
        // SAFETY: the job and the part live as long as this site, which waits in `drop` until the job is done.
        unsafe { mailbox.post(self.core, &raw mut *self.end) };
    }

    /// Returns what messages carry, if operations are shipped.
    fn cargo(&self) -> Option<Cargo<'s, M>> {
        match &self.way {
            Way::Message(mailbox) if self.ships => Some(mailbox.cargo()),
            _ => None,
        }
    }

    /// Charges for the writes that the next message carries.
    fn load_writes(&mut self) {
        self.local();
        // SAFETY: no job is posted, so the part belongs to the session.
        if let Some((cargo, bytes)) = unsafe { &(*self.part).cargo } {
            cargo.load(self.core, *bytes);
        }
    }

    /// Notes that the attempt writes `bytes` more bytes.
    fn count_write(&mut self, bytes: usize) {
        self.shipped = None;
        if self.ships {
            self.local();
            // SAFETY: no job is posted, so the part belongs to the session.
            if let Some((_, all)) = unsafe { &mut (*self.part).cargo } {
                *all += bytes;
            }
        }
    }

    /// Returns what the last message has read, if it is the read that is asked for.
    #[inline]
    fn take_shipped(
        &mut self,
        record: Record<'s, M>,
        (columns, intent): (ColumnSet, Intent),
        out: &mut [u8],
    ) -> Option<RowHead> {
        let shipped = self.shipped.take()?;
        let asked = (record.identity(), columns, intent);
        if (shipped.record, shipped.columns, shipped.intent) != asked
            || out.len() != self.read.len()
        {
            return None;
        }
        // SAFETY: the reply has come, and no job is posted since, so the part belongs to the session.
        if let Some((cargo, _)) = unsafe { &(*self.part).cargo } {
            cargo.unload(self.core, out.len());
        }
        out.copy_from_slice(&self.read);
        Some(shipped.head)
    }

    /// Moves to the owner's core to end the attempt there.
    fn go_to_end(&self) {
        if !self.core.is_planted(faults::RELEASES_ELSEWHERE) {
            self.go();
        }
    }

    /// Returns true if the attempt ends by a message.
    fn ends_by_message(&self) -> bool {
        let itself = self.core.is_planted(faults::ENDS_ITSELF);
        Self::OWNS_METADATA && matches!(self.way, Way::Message(_)) && !itself
    }
}

impl<'s, M: Machine, P: Protocol<M>> Site<'s, M> for OwnedSite<'s, M, P> {
    fn begin(&mut self, txn: Txn<'_>) {
        self.local().begin(txn);
        self.posted = false;
        self.shipped = None;
        if self.ships {
            // SAFETY: no job is posted, so the part belongs to the session.
            unsafe { (*self.part).cargo = (*self.part).cargo.take().map(|(cargo, _)| (cargo, 0)) };
        }
    }

    fn age(&self) -> Option<u64> {
        self.local_ref().age()
    }

    fn longest_back_off(&self) -> Option<u64> {
        self.local_ref().longest_back_off()
    }

    fn prepare(&mut self) -> Result<Prepared, Abort> {
        match self.local().prepares_metadata() {
            true if !self.core.is_planted(faults::PREPARES_ITSELF) => self.ask(Site::prepare),
            _ => self.local().prepare(),
        }
    }

    fn confirm(&mut self, timestamp: u64) -> Result<(), Abort> {
        self.local().confirm(timestamp)
    }

    fn images(&mut self, log: &mut Images<'_, 's, M>) {
        self.local().images(log);
    }

    fn commit(&mut self, timestamp: u64, log: &mut CommitLog<'_>) {
        if !self.ends_by_message() {
            self.go_to_end();
            return self.local().commit(timestamp, log);
        }
        match self.ships {
            // The history needs to know what the server installs.
            true if log.writes.is_some() => return self.ask(|site| site.commit(timestamp, log)),
            true => self.load_writes(),
            false => self.local().install(timestamp, log),
        }
        self.post(Ending::Commit { timestamp, version: log.version });
    }

    fn abort(&mut self) {
        // The next attempt waits on the same word as the request, so it begins when the request is out of its queue.
        let at_once = !self.core.is_planted(faults::REQUEST_STAYS_BEHIND);
        if std::mem::take(&mut self.gave_up) && at_once {
            return self.ask(Site::abort);
        }
        match self.ends_by_message() {
            true => self.post(Ending::Abort),
            false => {
                self.go_to_end();
                self.local().abort();
            }
        }
    }

    fn leave(&mut self) {
        if !self.posted {
            self.local().leave();
        }
    }

    fn priority(&self) -> Option<u64> {
        self.local_ref().priority()
    }

    fn locks_partitions(&self) -> bool {
        self.local_ref().locks_partitions()
    }

    fn plans(&self) -> bool {
        P::PLANS
    }

    fn plan(&mut self, record: Record<'s, M>, intent: Intent) {
        self.local().plan(record, intent);
    }

    fn follow_plan(&mut self) -> Result<(), Abort> {
        self.on_metadata(Site::follow_plan)
    }

    fn adds_at_commit(&self) -> bool {
        self.local_ref().adds_at_commit()
    }

    fn table(&self, table: TableId) -> &'s Table<M> {
        self.owner.store().table(table)
    }

    fn locate(
        &mut self,
        table: TableId,
        key: Key<'_>,
        next: Option<NextAccess>,
    ) -> Result<Located<'s, M>, Abort> {
        let home = self.table(table);
        let unprotected = self.core.is_planted(faults::PROTECTS_ITSELF);
        // The owner protects the access that follows too, so that an access costs one message. A row in two parts says
        // later which part is accessed.
        let next = next.filter(|next| {
            Self::OWNS_METADATA
                && !unprotected
                && home.has_whole_rows()
                && !home.shape().is_uncontrolled(next.columns)
        });
        let reads = next.filter(|next| self.ships && next.reads);
        let cargo = self.cargo();
        let mut read = std::mem::take(&mut self.read);
        let located = self.on_locks(|site| {
            let located = site.locate(table, key, None)?;
            if let Some(NextAccess { intent, .. }) = next {
                site.protect(located.record, intent)?;
            }
            let Some(NextAccess { columns, intent, .. }) = reads else {
                return Ok((located, None));
            };
            read.clear();
            read.resize(home.row_layout().held_bytes(columns), 0);
            let head = site.read(located.record, columns, intent, &mut read)?;
            if let Some(cargo) = &cargo {
                cargo.load(site.data.core, read.len());
            }
            let record = located.record.identity();
            Ok((located, Some(Shipped { record, columns, intent, head })))
        });
        self.read = read;
        let (located, shipped) = located?;
        self.shipped = shipped;
        Ok(located)
    }

    fn find(&self, table: TableId, name: &Name) -> Option<Record<'s, M>> {
        match Self::OWNS_METADATA {
            true => self.ask(|site| site.find(table, name)),
            false => self.local_ref().find(table, name),
        }
    }

    fn read(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        intent: Intent,
        out: &mut [u8],
    ) -> Result<RowHead, Abort> {
        if let Some(head) = self.take_shipped(record, (columns, intent), out) {
            return Ok(head);
        }
        self.protect(record, intent)?;
        self.local().read(record, columns, intent, out)
    }

    fn write(&mut self, record: Record<'s, M>, change: Change<'_>) -> Result<bool, Abort> {
        self.protect(record, Intent::Update)?;
        self.count_write(change.values.len());
        self.local().write(record, change)
    }

    fn add(
        &mut self,
        record: Record<'s, M>,
        columns: ColumnSet,
        deltas: &[u8],
    ) -> Result<bool, Abort> {
        self.protect(record, Intent::Update)?;
        self.count_write(deltas.len());
        self.local().add(record, columns, deltas)
    }

    fn approach(&mut self, table: &TableSchema, keys: KeyRange) -> Result<(), Abort> {
        self.on_metadata(|site| site.approach(table, keys))
    }

    fn leaf_of_number(
        &mut self,
        table: TableId,
        at: u64,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, u64>, Abort> {
        self.on_locks(|site| site.leaf_of_number(table, at, path))
    }

    fn leaf_of_bytes(
        &mut self,
        table: TableId,
        at: ByteKey,
        path: &mut LeafPath,
    ) -> Result<LeafRows<'s, M, ByteKey>, Abort> {
        self.on_locks(|site| site.leaf_of_bytes(table, at, path))
    }

    fn walk(
        &self,
        table: TableId,
        piece: &Piece,
        visit: &mut dyn FnMut(Key<'_>, Record<'s, M>),
    ) -> Option<Piece> {
        match Self::OWNS_METADATA {
            true => self.ask(|site| site.walk(table, piece, visit)),
            false => self.local_ref().walk(table, piece, visit),
        }
    }

    fn unlink(&mut self, table: TableId, name: &Name, record: Record<'s, M>) -> bool {
        self.on_metadata(|site| site.unlink(table, name, record))
    }

    fn drop_leaf(&mut self, table: TableId, name: &Name) -> Result<bool, Abort> {
        self.on_locks(|site| site.drop_leaf(table, name))
    }

    fn give_back(&mut self, keep: usize) {
        self.local().give_back(keep);
    }

    fn advance(&mut self) {
        self.local().advance();
    }

    fn draw_timestamp(&mut self) -> u64 {
        self.local().draw_timestamp()
    }

    fn values(&self) -> &'s Values<M> {
        self.owner.store().values()
    }

    fn value_space(&mut self) -> &mut ValueSpace {
        self.local().value_space()
    }

    fn retire_value(&mut self, word: u64) {
        self.local().retire_value(word);
    }

    fn forget_table(&mut self, table: TableId) {
        self.local().forget_table(table);
    }

    fn forbid_beginning_before(&self, timestamp: u64) {
        self.local_ref().forbid_beginning_before(timestamp);
    }
}

impl<M: Machine, P: Protocol<M>> Drop for OwnedSite<'_, M, P> {
    fn drop(&mut self) {
        if M::MODELLED && std::thread::panicking() {
            // The run is being ended. A modelled core cannot wait any more, so the part and the job stay as they are.
            let end: Box<Job<'_, M>> = Box::new(|_| ());
            std::mem::forget(std::mem::replace(&mut self.end, end));
            return;
        }
        self.settle();
        // SAFETY: the part is from a box, and no job is posted.
        drop(unsafe { Box::from_raw(self.part) });
    }
}
