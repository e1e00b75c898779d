//! Measures the cost of waits that do not end: threads wait for two seconds for a word that does not change, or
//! back off for as long, or are services between two ticks. Prints the processor time that the process has used
//! meanwhile, user and system together, as flat JSON.

use kilocore_machine::{Body, Core, Machine, Native, NativeOptions, Place, Service, Word};
use std::time::Instant;

const THREADS: usize = 8;
const SECONDS: u64 = 2;

/// Returns the processor time of this process so far, in seconds.
fn processor_s() -> f64 {
    // SAFETY: zeros are a valid value of a struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills in the given struct.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn main() {
    let machine = Native::new(NativeOptions::default()).expect("memory for an arena");
    let words = machine.arena().place::<[Word; 2]>(Place::Any).expect("room");
    let measured = |services: Vec<Service<'_, Native>>, wait: &(dyn Fn(&_) + Sync), end: &Word| {
        let bodies = (0..THREADS).map(|thread| -> Body<'_, Native> {
            Box::new(move |core| {
                if thread > 0 {
                    return wait(core);
                }
                core.pause(SECONDS * core.ticks_per_second());
                core.store(&(), end, 1);
                core.wake(&(), end);
            })
        });
        let (began, before) = (Instant::now(), processor_s());
        machine.run(bodies.collect(), services).expect("threads");
        (processor_s() - before, began.elapsed().as_secs_f64())
    };
    // The frequency is measured on the first call, so this call comes before it is needed.
    let hz = machine.clock_hz();
    let waiting =
        measured(vec![], &|core| _ = core.wait_while(&(), &words[0], |v| v == 0), &words[0]);
    let pausing = measured(vec![], &|core| core.pause(SECONDS * hz), &words[1]);
    let service = Service { name: "idle", interval_ticks: hz / 20, tick: Box::new(|_| ()) };
    let serving = measured(vec![service], &|core| core.pause(SECONDS * hz), &words[1]);
    println!(
        "{{\"threads\": {THREADS}, \"seconds\": {:.2}, \"processor_s_of_waits\": {:.4}, \
         \"processor_s_of_pauses\": {:.4}, \"processor_s_with_a_service\": {:.4}}}",
        waiting.1, waiting.0, pausing.0, serving.0
    );
}
