//! Draws the inputs of a transaction before it begins (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1).

use super::TpccOptions;
use super::keys::Place;
use super::non_uniform::NonUniform;
use crate::stream::Stream;

/// Largest number of lines of an order.
pub(super) const MOST_LINES: usize = 15;

/// The way a customer is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By number within the district.
    Number(u64),
    /// By the number of the last name.
    Named(u64),
}

/// One line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Number of the item.
    pub item: u64,
    /// Warehouse that supplies the item.
    pub supplier: u64,
    /// Quantity of the item.
    pub quantity: u64,
}

/// A drawn transaction. A client keeps only one, so the size of the largest variant costs nothing.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// New-Order.
    NewOrder {
        /// District where the order is entered.
        place: Place,
        /// Number of the customer.
        customer: u64,
        /// Lines of the order, of which the first `count` are used. The item of the last line can be an
        /// unused item number.
        lines: [Line; MOST_LINES],
        /// Number of lines.
        count: usize,
    },
    /// Payment.
    Payment {
        /// District where the payment is made.
        place: Place,
        /// District of the customer.
        residence: Place,
        /// Customer of that district.
        who: Who,
        /// Amount in cents.
        amount: i64,
    },
    /// Order-Status.
    OrderStatus {
        /// District of the customer.
        place: Place,
        /// Customer of that district.
        who: Who,
    },
    /// Delivery.
    Delivery {
        /// Warehouse, with all its districts.
        warehouse: u64,
        /// Carrier of the delivery.
        carrier: u64,
    },
    /// Stock-Level.
    StockLevel {
        /// District of the query.
        place: Place,
        /// Threshold below which stock is low.
        threshold: i64,
    },
}

/// Terminal for which transactions are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal {
    pub options: TerminalOptions,
    pub non_uniform: NonUniform,
    /// Warehouse of the terminal, and the district of its Stock-Level.
    pub home: Place,
}

/// The options that a terminal needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct TerminalOptions {
    warehouses: u64,
    districts: u64,
    customers: u64,
    items: u64,
    names: u64,
    lines: (u64, u64),
    remote_lines: f64,
    remote_payments: f64,
    rollbacks: f64,
    by_name: f64,
}

impl From<&TpccOptions> for TerminalOptions {
    fn from(options: &TpccOptions) -> TerminalOptions {
        TerminalOptions {
            warehouses: options.warehouses,
            districts: options.districts,
            customers: options.customers_per_district,
            items: options.items,
            names: options.names(),
            lines: (options.least_lines, options.most_lines),
            remote_lines: options.remote_new_order,
            remote_payments: options.remote_payment,
            rollbacks: options.rollbacks,
            by_name: options.by_name,
        }
    }
}

impl Terminal {
    /// Draws the inputs of a transaction of kind `kind`.
    pub(super) fn draw(&self, kind: usize, stream: &mut Stream) -> Drawn {
        let warehouse = self.home.warehouse;
        match kind {
            0 => self.order(stream),
            1 => self.payment(stream),
            2 => {
                let place = self.place(stream);
                Drawn::OrderStatus { place, who: self.who(stream) }
            }
            3 => Drawn::Delivery { warehouse, carrier: 1 + stream.below(10) },
            _ => Drawn::StockLevel { place: self.home, threshold: 10 + stream.below(11) as i64 },
        }
    }

    fn place(&self, stream: &mut Stream) -> Place {
        let district = stream.below(self.options.districts);
        Place { warehouse: self.home.warehouse, district }
    }

    fn who(&self, stream: &mut Stream) -> Who {
        if stream.unit() < self.options.by_name {
            Who::Named(self.non_uniform.name(stream, self.options.names))
        } else {
            Who::Number(self.non_uniform.customer(stream, self.options.customers))
        }
    }

    /// Returns a warehouse other than this terminal's, if there is one.
    fn another(&self, stream: &mut Stream) -> u64 {
        let home = self.home.warehouse;
        if self.options.warehouses == 1 {
            return home;
        }
        let other = stream.below(self.options.warehouses - 1);
        other + u64::from(other >= home)
    }

    fn order(&self, stream: &mut Stream) -> Drawn {
        let options = &self.options;
        let place = self.place(stream);
        let customer = self.non_uniform.customer(stream, options.customers);
        let (least, most) = options.lines;
        let count = (least + stream.below(most - least + 1)) as usize;
        let rolls_back = stream.unit() < options.rollbacks;
        let mut lines = [Line::default(); MOST_LINES];
        for line in &mut lines[..count] {
            let item = self.non_uniform.item(stream, options.items);
            let remote = stream.unit() < options.remote_lines;
            let supplier = if remote { self.another(stream) } else { self.home.warehouse };
            *line = Line { item, supplier, quantity: 1 + stream.below(10) };
        }
        if rolls_back {
            // The number after the last item is unused.
            lines[count - 1].item = options.items;
        }
        Drawn::NewOrder { place, customer, lines, count }
    }

    fn payment(&self, stream: &mut Stream) -> Drawn {
        let place = self.place(stream);
        let remote = stream.unit() < self.options.remote_payments;
        let residence = if remote && self.options.warehouses > 1 {
            let warehouse = self.another(stream);
            Place { warehouse, district: stream.below(self.options.districts) }
        } else {
            place
        };
        let who = self.who(stream);
        Drawn::Payment { place, residence, who, amount: 100 + stream.below(499_901) as i64 }
    }
}
