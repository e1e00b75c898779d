//! Measures what cores pay for each other natively: a switch between two fibers of a thread, a round trip of a word between
//! two fibers and between two threads, a job that a server does for a client, and a fiber's move to another thread. Prints
//! nanoseconds, the least of some rounds.

use kilocore_machine::mailbox::Mailboxes;
use kilocore_machine::{
    Body, Core, Machine, Native, NativeCore, NativeOptions, Place, Sharing, Word,
};
use std::{hint::black_box, sync::Mutex, time::Instant};

const STEPS: u64 = 1_000_000;
const ROUNDS: usize = 7;

/// A word on lines of its own.
#[repr(C, align(128))]
struct Lonely(Word);

// SAFETY: zeros are a word that holds 0.
unsafe impl kilocore_machine::Zeroed for Lonely {}

/// Returns the least time of a step of the first body in nanoseconds. `fibers` of the two bodies share a thread.
fn least(machine: &Native, fibers: usize, act: impl Fn(&NativeCore) + Sync) -> f64 {
    let round = || {
        let time = Mutex::new(0.0);
        let bodies = (0..2).map(|worker| -> Body<'_, Native> {
            let (time, act) = (&time, &act);
            Box::new(move |core| {
                let begun = Instant::now();
                (1..=STEPS).for_each(|_| act(core));
                if worker == 0 {
                    *time.lock().expect("no panic") = begun.elapsed().as_secs_f64();
                }
            })
        });
        machine.run_fibers(Sharing::fibers(fibers), bodies.collect(), vec![]).expect("it ends");
        time.into_inner().expect("no panic") * 1e9 / STEPS as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Returns the least time in nanoseconds in which a server does an empty job for a client. Both are on cores of their own, or
/// fibers of one.
fn least_job(machine: &Native, fibers: usize) -> f64 {
    let mailboxes: Mailboxes<Native> =
        Mailboxes::new(1, 1, |_| machine.arena().clone()).expect("memory");
    let round = || {
        let time = Mutex::new(0.0);
        mailboxes.open(1);
        let client: Body<'_, Native> = Box::new(|core| {
            let (mailbox, begun) = (mailboxes.at(0, 0), Instant::now());
            (0..STEPS).for_each(|_| mailbox.ask(core, &mut |_| ()));
            *time.lock().expect("no panic") = begun.elapsed().as_secs_f64();
            mailboxes.end(core);
        });
        let server: Body<'_, Native> = Box::new(|core| mailboxes.serve(core, 0));
        machine.run_fibers(Sharing::fibers(fibers), vec![client, server], vec![]).expect("it ends");
        time.into_inner().expect("no panic") * 1e9 / STEPS as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Returns the least time in nanoseconds of a move to the other of two threads, by a fiber that moves back and forth. `WORDS`
/// of its stack are in use: it writes them before each move and reads them after it.
fn least_move<const WORDS: usize>(machine: &Native) -> f64 {
    let round = || {
        let time = Mutex::new(0.0);
        let moving: Body<'_, Native> = Box::new(|core| {
            let (mut used, begun) = ([0u64; WORDS], Instant::now());
            for step in 0..STEPS {
                black_box(&mut used).iter_mut().for_each(|word| *word += 1);
                core.move_to(step as usize % 2);
            }
            *time.lock().expect("no panic") = begun.elapsed().as_secs_f64();
        });
        let staying: Body<'_, Native> = Box::new(|_| ());
        // SAFETY: the body holds numbers and references.
        let fibers = unsafe { Sharing::moving_fibers(1) };
        machine.run_fibers(fibers, vec![moving, staying], vec![]).expect("it ends");
        time.into_inner().expect("no panic") * 1e9 / (STEPS - 1) as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let machine = Native::new(NativeOptions::default()).expect("address space");
    let there = least(&machine, 2, |core| core.switch_fiber()) / 2.0;
    println!("{there:.1} ns for a switch between two fibers");
    for (fibers, who) in [(2, "fibers of a thread"), (1, "threads")] {
        let words = machine.arena().place::<[Lonely; 2]>(Place::Any).expect("memory");
        // The first body asks and waits for the answer. The second one waits for the question and answers.
        let trip = least(&machine, fibers, |core| {
            let (own, other) = (&words[core.id()].0, &words[1 - core.id()].0);
            let base = core.load(&(), own);
            if core.id() == 1 {
                core.wait_while(&(), other, |value| value == base);
            }
            core.store(&(), own, base + 1);
            core.wake(&(), own);
            if core.id() == 0 {
                core.wait_while(&(), other, |value| value == base);
            }
        });
        println!("{trip:.0} ns for a round trip between two {who}");
    }
    for (fibers, who) in [(2, "fibers of a thread"), (1, "threads")] {
        println!("{:.0} ns for a job between two {who}", least_job(&machine, fibers));
    }
    println!("{:.0} ns for a move to the other of two threads", least_move::<0>(&machine));
    println!("{:.0} ns if 512 bytes of its stack are in use", least_move::<64>(&machine));
}
