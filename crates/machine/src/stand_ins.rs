//! Ranges of an arena whose objects stand for longer ones.
//!
//! A simulated machine does not keep the values of opaque tables, so a record takes less room in the arena than on the
//! modelled hardware. The modelled address of an object is where it would lie if it had its modelled length. Pages of the
//! modelled hardware consist of modelled addresses.

/// First modelled address of objects that are longer than in the arena. Offsets in an arena are smaller.
const FIRST_ADDRESS: u64 = 1 << 60;

/// A range of objects of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StandIn {
    /// Offset of the first object.
    first: u64,
    /// Offset behind the last object.
    end: u64,
    /// Bytes of an object in the arena.
    bytes: u64,
    /// Bytes of an object on the modelled hardware.
    modelled_bytes: u64,
    /// Modelled address of the first object.
    address: u64,
}

/// Ranges of objects that stand for longer ones. They do not overlap.
#[derive(Clone, Debug, Default)]
pub struct StandIns(Vec<StandIn>);

impl StandIns {
    /// Adds `count` objects that begin at the offset `first` and take `bytes` bytes each. They stand for objects of
    /// `modelled_bytes` bytes.
    pub(crate) fn add(&mut self, first: u64, count: u64, bytes: u64, modelled_bytes: u64) {
        let behind = |range: &StandIn| {
            range.address + (range.end - range.first) / range.bytes * range.modelled_bytes
        };
        let address = self.0.iter().map(behind).max().unwrap_or(FIRST_ADDRESS);
        let at = self.0.partition_point(|other| other.first < first);
        let end = first + count * bytes;
        self.0.insert(at, StandIn { first, end, bytes, modelled_bytes, address });
    }

    /// Returns the modelled address of what lies at `offset` in the arena.
    #[inline]
    pub fn address_of(&self, offset: u64) -> u64 {
        let at = self.0.partition_point(|range| range.first <= offset);
        match at.checked_sub(1).map(|at| &self.0[at]) {
            Some(range) if offset < range.end => {
                let distance = offset - range.first;
                let (object, within) = (distance / range.bytes, distance % range.bytes);
                range.address + object * range.modelled_bytes + within
            }
            _ => offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_far_apart_as_the_modelled_objects() {
        let mut stand_ins = StandIns::default();
        assert_eq!(stand_ins.address_of(77), 77);
        stand_ins.add(1000, 10, 32, 384);
        stand_ins.add(400, 5, 16, 128);
        let base = stand_ins.address_of(1000);
        assert_eq!(base, FIRST_ADDRESS);
        assert_eq!(stand_ins.address_of(1000 + 9 * 32 + 8), base + 9 * 384 + 8);
        assert_eq!(stand_ins.address_of(1000 + 10 * 32), 1320);
        let other = stand_ins.address_of(400);
        assert_eq!(other, base + 10 * 384);
        assert_eq!(stand_ins.address_of(479), other + 4 * 128 + 15);
        assert_eq!((stand_ins.address_of(399), stand_ins.address_of(480)), (399, 480));
    }
}
