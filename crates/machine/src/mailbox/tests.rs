use super::*;
use crate::{ArenaOptions, Body, Native, NativeCore, NativeOptions, Sharing};
use std::sync::atomic::{AtomicU64, Ordering};

fn machine() -> Native {
    let arena = ArenaOptions { reserve_bytes: 1 << 30, ..ArenaOptions::default() };
    Native::new(NativeOptions { arena, ..NativeOptions::default() }).unwrap()
}

fn mailboxes<M: Machine>(machine: &M, servers: usize, clients: usize) -> Mailboxes<M> {
    let mailboxes = Mailboxes::new(servers, clients, |_| machine.arena().clone()).unwrap();
    mailboxes.open(clients);
    mailboxes
}

/// Runs `clients` clients and `servers` servers, `fibers` of them on each core, servers last. Each client asks each
/// server `jobs` times to add 1 to the server's number by a load and a store, and posts one more addition.
fn additions<M: Machine>(
    machine: &M,
    fibers: usize,
    servers: usize,
    clients: usize,
    jobs: u64,
) -> Vec<u64> {
    let mailboxes = mailboxes(machine, servers, clients);
    let words: Vec<_> =
        (0..servers).map(|_| machine.arena().place::<Bell<M>>(Place::Any).unwrap()).collect();
    let add = |core: &M::Core, server: usize| {
        let Bell { line, word } = &*words[server];
        let value = core.load(line, word);
        core.store(line, word, value + 1);
    };
    let client = |number: usize| -> Body<'_, M> {
        let (mailboxes, add) = (&mailboxes, &add);
        Box::new(move |core| {
            for server in 0..servers {
                let mailbox = mailboxes.at(server, number);
                for _ in 0..jobs {
                    let mut done = false;
                    mailbox.ask(core, &mut |on| {
                        add(on, server);
                        done = true;
                    });
                    assert!(done);
                }
                let mut last = |on: &M::Core| add(on, server);
                // SAFETY: the job is settled below, before it is dropped.
                unsafe { mailbox.post(core, &mut last) };
                mailbox.settle(core);
            }
            mailboxes.end(core);
        })
    };
    let server = |number: usize| -> Body<'_, M> {
        let mailboxes = &mailboxes;
        Box::new(move |core| mailboxes.serve(core, number))
    };
    let bodies = (0..clients).map(client).chain((0..servers).map(server)).collect();
    machine.run_fibers(Sharing::fibers(fibers), bodies, vec![]).unwrap();
    words.iter().map(|word| word.word.peek()).collect()
}

#[test]
fn a_server_does_all_jobs_one_after_another() {
    assert_eq!(additions(&machine(), 1, 1, 3, 200), [3 * 201]);
    assert_eq!(additions(&machine(), 2, 2, 2, 200), [2 * 201, 2 * 201]);
    assert_eq!(additions(&machine(), 4, 2, 2, 200), [2 * 201, 2 * 201], "all on one core");
}

#[test]
fn a_panic_of_a_job_goes_on_at_its_client() {
    let (machine, caught) = (machine(), AtomicU64::new(0));
    let mailboxes = mailboxes(&machine, 1, 1);
    let client: Body<'_, Native> = Box::new(|core: &NativeCore| {
        let mailbox = mailboxes.at(0, 0);
        let asked = catch_unwind(AssertUnwindSafe(|| mailbox.ask(core, &mut |_| panic!("no"))));
        let payload = asked.unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"no"));
        mailbox.ask(core, &mut |_| {
            caught.fetch_add(1, Ordering::Relaxed);
        });
        mailboxes.end(core);
    });
    let server: Body<'_, Native> = Box::new(|core| mailboxes.serve(core, 0));
    machine.run(vec![client, server], vec![]).unwrap();
    assert_eq!(caught.load(Ordering::Relaxed), 1, "the server serves on");
}

#[cfg(feature = "explored")]
#[test]
fn no_schedule_loses_a_job_or_leaves_a_server_asleep() {
    use crate::{Explored, ExploredOptions, Schedule};
    for schedule in [Schedule::Random, Schedule::Pct { depth: 3 }] {
        let arena = ArenaOptions { reserve_bytes: 1 << 26, ..ArenaOptions::default() };
        let mut machine =
            Explored::new(ExploredOptions { schedule, arena, ..ExploredOptions::default() })
                .unwrap();
        for seed in 0..300 {
            for (fibers, servers) in [(1, 1), (1, 2), (2, 2), (4, 2)] {
                machine.renew(seed).unwrap();
                assert_eq!(
                    additions(&machine, fibers, servers, 2, 2),
                    vec![2 * 3; servers],
                    "seed {seed}"
                );
            }
        }
    }
}
