//! An order book: traders place, change and cancel orders in several threads, and the exchange matches them.
//!
//! The table of orders has keys of bytes, text, a column that can be NULL, and two indexes. One index finds the best
//! price of a side, the other one the orders of a trader.
//!
//! `cargo run --release -p kilocore --example order_book [PROTOCOL]`

use kilocore::{ColumnType::TextUpTo, Database, Error, IndexOptions, Options, Row, Table, Value};
use std::{ops::ControlFlow, thread};

const TRADERS: u64 = 4;
const ORDERS: u64 = 500;

/// An order that is open.
#[derive(Debug, Row)]
struct Order {
    #[row(up_to = 16)]
    trader: String,
    /// True for an order to buy.
    buys: bool,
    /// In cents. The order of buyers is turned round, so that the best price comes first on both sides.
    rank: i32,
    quantity: u32,
    /// A note of the trader.
    note: Option<String>,
}

/// A trade that has happened.
#[derive(Debug, Row)]
struct Trade {
    buyer: String,
    seller: String,
    cents: i32,
    quantity: u32,
}

/// The tables of the exchange.
struct Exchange {
    db: Database,
    orders: Table,
    trades: Table,
    traded: Table,
}

impl Exchange {
    fn open(protocol: String) -> Result<Exchange, Error> {
        let db = Database::open(Options { protocol, ..Options::default() })?;
        let orders = db
            .table("orders")
            .key(TextUpTo(24))
            .row::<Order>()
            .index_with(IndexOptions {
                name: "by_price",
                columns: &[("buys", 8), ("rank", 32)],
                key_bits: Some(0),
            })
            .index("by_trader", ["trader"])
            .create()?;
        let trades = db.table("trades").row::<Trade>().ordered().create()?;
        let traded = db.table("traded").column("count", kilocore::ColumnType::U64).create()?;
        db.transact(|tx| tx.insert(&traded, 0, &[0u64.into()]))?;
        Ok(Exchange { db, orders, trades, traded })
    }

    /// Places an order. Matches it first with the best orders of the other side, as far as prices meet.
    fn place(&self, name: &str, mut order: Order) -> Result<u32, Error> {
        let wanted = order.quantity;
        let by_price = self.orders.index("by_price")?;
        self.db.transact(|tx| {
            order.quantity = wanted;
            let mut best = Vec::new();
            let other_side = [Value::Bool(!order.buys)];
            tx.find(&by_price, &other_side, |key, row| {
                best.push(row.to::<Order>().map(|order| (key.to_owned(), order)));
                if best.len() < 8 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            for met in best {
                let (key, mut met) = met?;
                // Ranks of the two sides have opposite signs: prices meet if their sum is not positive.
                if order.quantity == 0 || order.rank + met.rank > 0 {
                    break;
                }
                let quantity = order.quantity.min(met.quantity);
                order.quantity -= quantity;
                met.quantity -= quantity;
                match met.quantity {
                    0 => tx.delete(&self.orders, &key).map(|_| ())?,
                    left => tx.update(&self.orders, &key, &[("quantity", left.into())])?,
                }
                let (buyer, seller) = match order.buys {
                    true => (&order.trader, &met.trader),
                    false => (&met.trader, &order.trader),
                };
                let (buyer, seller, cents) = (buyer.clone(), seller.clone(), met.rank.abs());
                let count: u64 = tx.get(&self.traded, 0)?.ok_or("no counter")?.get("count")?;
                tx.put(&self.traded, 0, &[(count + 1).into()])?;
                tx.insert(&self.trades, count, &Trade { buyer, seller, cents, quantity })?;
            }
            if order.quantity > 0 {
                tx.insert(&self.orders, name, &order)?;
            }
            Ok(wanted - order.quantity)
        })
    }

    /// Cancels all orders of a trader that have no note. Returns their quantity.
    fn cancel(&self, trader: &str) -> Result<u64, Error> {
        let by_trader = self.orders.index("by_trader")?;
        self.db.transact(|tx| {
            let mut cancelled = 0;
            for (key, row) in tx.find_all(&by_trader, &[trader.into()])? {
                if row.is_null("note")? {
                    cancelled += row.get::<u64>("quantity")?;
                    tx.delete(&self.orders, &key)?;
                }
            }
            Ok(cancelled)
        })
    }
}

fn main() -> Result<(), Error> {
    let protocol = std::env::args().nth(1).unwrap_or_else(|| Options::default().protocol);
    let exchange = Exchange::open(protocol)?;
    let placed: u64 = thread::scope(|scope| {
        let trade = |trader: u64| -> Result<u64, Error> {
            let (name, mut placed) = (format!("trader {trader}"), 0);
            for number in 0..ORDERS {
                let random =
                    (trader * ORDERS + number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
                let (buys, cents) = (random.is_multiple_of(2), 9_900 + (random / 2 % 200) as i32);
                let order = Order {
                    trader: name.clone(),
                    buys,
                    rank: if buys { -cents } else { cents },
                    quantity: 1 + (random / 400 % 100) as u32,
                    note: number.is_multiple_of(3).then(|| "keep ".repeat(number as usize % 50)),
                };
                placed += u64::from(order.quantity);
                exchange.place(&format!("{trader}/{number}"), order)?;
            }
            Ok(placed)
        };
        let threads: Vec<_> =
            (0..TRADERS).map(|trader| scope.spawn(move || trade(trader))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<Result<u64, _>>()
    })?;
    let mut cancelled = 0;
    for trader in 0..TRADERS {
        cancelled += exchange.cancel(&format!("trader {trader}"))?;
    }
    let by_trader = exchange.orders.index("by_trader")?;
    let (open, traded, trades) = exchange.db.read_only(|tx| {
        let mut open = 0;
        for (_, row) in tx.find_all(&by_trader, &[])? {
            open += row.get::<u64>("quantity")?;
        }
        let (mut traded, mut trades) = (0, 0);
        for trade in tx.range(&exchange.trades, ..)? {
            traded += trade?.1.get::<u64>("quantity")?;
            trades += 1;
        }
        Ok((open, traded, trades))
    })?;
    // Each trade takes its quantity from an order to buy and from an order to sell.
    assert_eq!(placed, open + cancelled + 2 * traded, "quantities have vanished");
    println!(
        "{}: {trades} trades of {traded} in all, {cancelled} cancelled, {open} still open, of {placed} placed",
        exchange.db.options().protocol
    );
    Ok(())
}
