//! Transactions of the register in actions, for sessions that run actions at the same time ([`txn::Action`]).
//!
//! Two transactions access two tables of which neither needs what is found in the other: GetNewDestination and
//! UpdateSubscriberData. The other transactions access one row, or are sequences in which each access needs the one before.
//! Moving from one access to the next is all that could be done for them.

use super::client::TatpClient;
use super::{ACTIVE, BIT, DATA_A, FACILITIES, FORWARDINGS, SUBSCRIBERS};
use txn::{Abort, Access, Action};

/// Bytes of a forwarding that is found.
const FORWARDING: usize = 16;

impl TatpClient {
    /// Runs GetNewDestination. Returns whether there is a destination.
    pub(super) fn get_new_destination_in_actions<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
    ) -> Result<bool, Abort> {
        let (facility, mut active) = (self.facility(), [0]);
        let (mut has_facility, mut number) = (false, None);
        let client = &*self;
        access.run_actions(&mut [
            Action::new((FACILITIES, facility), 1, &mut |access| {
                has_facility = access.read(FACILITIES, facility.into(), ACTIVE, &mut active)?;
                Ok(())
            }),
            Action::new((FORWARDINGS, self.forwarding()), FORWARDING, &mut |access| {
                number = client.find_forwarding(access)?;
                Ok(())
            }),
        ])?;
        if !has_facility || active[0] == 0 {
            return Ok(false);
        }
        self.fold(&number.unwrap_or_default());
        Ok(number.is_some())
    }

    /// Runs UpdateSubscriberData. Returns whether there is such a facility.
    pub(super) fn update_subscriber_data_in_actions<A: Access + ?Sized>(
        &self,
        access: &mut A,
    ) -> Result<bool, Abort> {
        let (subscriber, facility) = (self.inputs.subscriber, self.facility());
        let (bit, data) = (self.inputs.value as u8 & 1, (self.inputs.value >> 8) as u8);
        let mut found = false;
        access.run_actions(&mut [
            Action::new((SUBSCRIBERS, subscriber), 1, &mut |access| {
                access.update(SUBSCRIBERS, subscriber.into(), BIT, &[bit]).map(|_| ())
            }),
            Action::new((FACILITIES, facility), 2, &mut |access| {
                found = access.update(FACILITIES, facility.into(), DATA_A, &[data])?;
                Ok(())
            }),
        ])?;
        Ok(found)
    }
}
