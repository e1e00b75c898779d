//! Looks up the record of a key. If there is none, it makes an absent record, because an absent key is read and
//! locked like a row.

use super::{Located, Name, SiteData, announced::Announced};
use crate::bound_protocol::SessionProtocol;
use machine::{Category, Core, Machine, OutOfMemory};

use storage::{Found, Record, Sought, Table};
use txn::{Abort, AbortReason, Key, KeyRange, TableId};

impl<'s, M: Machine> SiteData<'s, M> {
    /// Implements [`Site::locate`](super::Site::locate).
    pub fn locate(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        announced: &Announced<'s, M>,
        table: TableId,
        key: Key<'_>,
    ) -> Result<Located<'s, M>, Abort> {
        let home = self.table(table);
        match key {
            Key::Number(number) => {
                protocol.approach(home.schema(), KeyRange::one(number))?;
                self.core.account(Category::Index);
                match home.is_ordered() {
                    true => self.locate_in_order(protocol, home, number),
                    false => match announced.find(self.core, home, number) {
                        Some(record) => {
                            Ok(Located { record, name: Name::Number(number), made: false })
                        }
                        None => self.locate_number(protocol, home, number),
                    },
                }
            }
            Key::Bytes(bytes) => {
                self.core.account(Category::Index);
                match home.orders_bytes() {
                    true => self.locate_bytes_in_order(protocol, home, bytes),
                    false => self.locate_bytes(protocol, home, bytes),
                }
            }
        }
    }

    fn locate_number(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        home: &'s Table<M>,
        key: u64,
    ) -> Result<Located<'s, M>, Abort> {
        let name = Name::Number(key);
        if let Some(record) = home.find(self.core, key) {
            return Ok(Located { record, name, made: false });
        }
        assert!(!home.has_byte_keys(), "table {:?} has keys of bytes", home.schema().name);
        if !home.has_place_for(key) {
            return Err(Abort::because(AbortReason::KeyOutsideIndex));
        }
        let core = self.core;
        let found = home.find_or_make(core, self.space(home.id()), key, |record| {
            prepare_parts(protocol, record);
        });
        located(found, name)
    }

    fn locate_bytes(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        home: &'s Table<M>,
        key: &[u8],
    ) -> Result<Located<'s, M>, Abort> {
        let core = self.core;
        let digest = home.digest(core, key);
        self.approach_digest(protocol, home, digest)?;
        let name = Name::Number(digest);
        if let Some(record) = home.find_bytes(core, digest, key) {
            return Ok(Located { record, name, made: false });
        }
        let space = self.space(home.id());
        let found = home.find_or_make_bytes(core, space, (digest, key), |record| {
            prepare_parts(protocol, record);
        });
        located(found, name)
    }

    fn locate_bytes_in_order(
        &mut self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        home: &'s Table<M>,
        key: &[u8],
    ) -> Result<Located<'s, M>, Abort> {
        if protocol.locks_partitions() {
            let digest = home.digest(self.core, key);
            self.approach_digest(protocol, home, digest)?;
        }
        let key = home.byte_key(self.core, key);
        self.locate_in_order(protocol, home, key)
    }

    /// Announces the partition of a byte key to the protocol. Partitions of byte keys depend on their digests.
    fn approach_digest(
        &self,
        protocol: &mut dyn SessionProtocol<'s, M>,
        home: &Table<M>,
        digest: u64,
    ) -> Result<(), Abort> {
        protocol.approach(home.schema(), KeyRange::one(digest))?;
        self.core.account(Category::Index);
        Ok(())
    }

    /// Implements [`Site::find`](super::Site::find).
    pub fn find(&self, table: TableId, name: &Name) -> Option<Record<'s, M>> {
        let (home, core) = (self.table(table), self.core);
        match name {
            Name::Number(number) => home.find(core, *number),
            Name::Bytes(key) => match home.seek(core, **key) {
                Sought::Found(record, _) => Some(record),
                Sought::Absent(_) => None,
            },
        }
    }
}

/// Initializes the protocol's words of a new record that no other thread can find yet.
fn prepare_parts<'s, M: Machine>(protocol: &dyn SessionProtocol<'s, M>, record: &Record<'_, M>) {
    protocol.prepare_record(*record);
    if let Some(second) = record.second() {
        protocol.prepare_record(second);
    }
}

fn located<'s, M: Machine>(
    found: Result<Found<'s, M>, OutOfMemory>,
    name: Name,
) -> Result<Located<'s, M>, Abort> {
    Ok(match found.map_err(|_| Abort::because(AbortReason::OutOfMemory))? {
        Found::Existing(record) => Located { record, name, made: false },
        Found::Made(record) => Located { record, name, made: true },
    })
}
