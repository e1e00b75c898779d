use super::*;

/// A system whose rate of commits is a function of the limit. It has noise, as a system has in which transactions end at
/// random, and follows a change of the limit after a delay.
struct System {
    /// Commits a tick, by the limit.
    rate: fn(f64) -> f64,
    /// Number of transactions that run at the same time. It approaches the limit.
    running: f64,
    random: u64,
    /// Commits that have not been reported, a part of one.
    rest: f64,
    /// Most commits a tick that arrive, for an open loop.
    offered: f64,
    /// Number of transactions above which a collapse builds up slowly, and the part of the throughput that is lost by now.
    slow_collapse: (f64, f64),
    /// Most permits a tick that sessions can hand on, and the number of sessions. If the limit is that number, nobody needs a
    /// permit.
    handed_on: (f64, usize),
    /// Part of the rate by which it differs from the usual one for eight samples each, at most, and the number of samples.
    bursts: (f64, u64),
    burst: f64,
}

impl System {
    fn of(rate: fn(f64) -> f64) -> System {
        System {
            rate,
            running: 0.0,
            random: 7,
            rest: 0.0,
            offered: f64::INFINITY,
            slow_collapse: (f64::INFINITY, 0.0),
            handed_on: (f64::INFINITY, usize::MAX),
            bursts: (0.0, 0),
            burst: 0.0,
        }
    }

    /// Returns a number that is evenly distributed between -1 and 1.
    fn noise(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn sample(&mut self, limit: usize, ticks: u64) -> Sample {
        self.running += (limit as f64 - self.running) / 2.0;
        let (above, lost) = &mut self.slow_collapse;
        let growth = if self.running > *above { 0.01 * (self.running / *above) } else { -0.005 };
        *lost = (*lost + growth).clamp(0.0, 0.99);
        let lost = *lost;
        if self.bursts.1.is_multiple_of(8) {
            self.burst = self.bursts.0 * self.noise();
        }
        self.bursts.1 += 1;
        let able = (self.rate)(self.running) * (1.0 - lost) * (1.0 + self.burst);
        let (handed_on, sessions) = self.handed_on;
        let share = if limit < sessions { (handed_on / able).min(1.0) } else { 1.0 };
        let able = able * share;
        let expected = able.min(self.offered) * ticks as f64 + self.rest;
        let noisy = (expected + self.noise() * (3.0 * expected).sqrt()).max(0.0);
        self.rest = noisy.fract();
        let spare = ((1.0 - self.offered / able).max(0.0) * limit as f64) as u64;
        // Transactions that were admitted before the limit fell.
        let excess = (self.running - limit as f64).max(0.0) as u64;
        let held = ((limit as f64 * share) as u64).saturating_sub(spare);
        Sample { ticks, commits: noisy as u64, spare, excess, held }
    }

    /// Lets `regulator` regulate for `commits` commits of the best rate, and returns the mean rate of the second half as a share of
    /// the best, and the limit at the end.
    fn regulated(&mut self, regulator: &mut Regulator, commits: u64) -> (f64, usize) {
        let best = (1..=regulator.most).map(|limit| (self.rate)(limit as f64));
        let best = best.fold(0.0, f64::max).min(self.offered);
        let ticks = (100.0 / best).ceil() as u64;
        let samples = commits / 100;
        let (mut limit, mut sum) = (regulator.limit, 0);
        for at in 0..samples {
            let sample = self.sample(limit, ticks);
            sum += if at >= samples / 2 { sample.commits } else { 0 };
            limit = regulator.observe(sample).unwrap_or(limit);
        }
        let possible = best * (ticks * (samples - samples / 2)) as f64;
        (sum as f64 / possible, limit)
    }
}

fn regulator(sessions: usize) -> Regulator {
    let first = Regulator::first_limit(sessions);
    Regulator::new(1, first, sessions, false)
}

/// Throughput that peaks at 40 transactions and collapses beyond, as under two-phase locking with waiting.
fn collapsing(running: f64) -> f64 {
    1e-3 * running / (1.0 + (running / 40.0).powi(2))
}

#[test]
fn it_settles_near_the_peak_of_a_system_that_collapses() {
    let (share, limit) = System::of(collapsing).regulated(&mut regulator(1024), 400_000);
    assert!(share > 0.96, "{share} of the peak, limit {limit}");
    assert!((25..=64).contains(&limit), "{limit}");
}

#[test]
fn a_system_without_contention_loses_less_than_one_percent() {
    for sessions in [16, 64, 1024] {
        let mut regulator = regulator(sessions);
        let (share, limit) =
            System::of(|running| 1e-3 * running).regulated(&mut regulator, 2_000_000);
        assert!(share > 0.99, "{share} of the peak with {sessions} sessions, limit {limit}");
    }
}

/// The rate at a limit that is too high is good for a while. Then hardly anything commits, and for as long under a lower
/// limit. The regulator waits for the end of it, and comes near the highest limit that is good for ever.
#[test]
fn a_collapse_that_outlasts_its_cause_is_left_again() {
    for highest in [40.0, 100.0, 300.0] {
        let rate = |running: f64| 1e-4 * running.powf(0.9);
        let mut system = System { slow_collapse: (highest, 0.0), ..System::of(rate) };
        let mut regulator = regulator(1024);
        let possible = rate(highest) / rate(1024.0);
        let (share, limit) = system.regulated(&mut regulator, 16_000_000);
        assert!(
            share > 0.8 * possible,
            "{share} of {possible}, limit {limit} instead of {highest}"
        );
    }
}

/// Something else takes most of the processors for a while. The limit is not at fault, and it is soon as high as before.
#[test]
fn a_disturbance_does_not_lower_the_limit_for_long() {
    let linear = |running: f64| 1e-3 * running;
    let mut regulator = regulator(256);
    System::of(linear).regulated(&mut regulator, 2_000_000);
    assert_eq!(regulator.limit, 256);
    System::of(|running| 2e-4 * running).regulated(&mut regulator, 4_000);
    let (share, limit) = System::of(linear).regulated(&mut regulator, 4_000_000);
    assert!(share > 0.97 && limit >= 204, "{share}, limit {limit}");
}

#[test]
fn it_stays_high_on_a_plateau() {
    let plateau = |running: f64| 1e-3 * running.min(200.0);
    let (share, limit) = System::of(plateau).regulated(&mut regulator(1024), 400_000);
    assert!(share > 0.96, "{share} of the peak, limit {limit}");
}

#[test]
fn a_slow_rise_is_followed() {
    // Twice the limit gives 6 % more.
    let slow = |running: f64| 1e-3 * running.powf(0.085);
    let (share, limit) = System::of(slow).regulated(&mut regulator(1024), 2_000_000);
    assert!(share > 0.8, "{share} of the peak, limit {limit}");
}

#[test]
fn it_follows_a_load_that_changes() {
    let mut regulator = regulator(1024);
    System::of(|running| 1e-3 * running).regulated(&mut regulator, 400_000);
    assert_eq!(regulator.best.0, 1024);
    let (share, limit) = System::of(collapsing).regulated(&mut regulator, 400_000);
    assert!(share > 0.9, "{share} of the peak, limit {limit}");
    let (_, limit) = System::of(|running| 1e-3 * running).regulated(&mut regulator, 4_000_000);
    assert!(limit > 500, "{limit}");
}

#[test]
fn a_load_below_the_capacity_does_not_drive_the_limit_down() {
    let linear = |running: f64| 1e-3 * running;
    let mut regulator = regulator(256);
    System::of(linear).regulated(&mut regulator, 400_000);
    assert_eq!(regulator.best.0, 256);
    let mut half = System { offered: 0.128, ..System::of(linear) };
    let (share, limit) = half.regulated(&mut regulator, 4_000_000);
    assert!(share > 0.99 && limit >= 204, "{share} of what is offered, limit {limit}");
}

#[test]
fn limits_stay_within_their_range() {
    let mut regulator = Regulator::new(4, 8, 20, true);
    let mut system = System::of(|running| 1.0 / (1.0 + running));
    for _ in 0..10_000 {
        let sample = system.sample(regulator.limit, 10);
        let before = regulator.limit;
        let changed = regulator.observe(sample);
        assert!((4..=20).contains(&regulator.limit));
        assert_eq!(changed.unwrap_or(before), regulator.limit);
    }
}

/// Transactions are so short that a few sessions keep the permits busy. Without a limit there is no such bound.
#[test]
fn permits_that_are_mostly_on_their_way_are_done_without() {
    for sessions in [128, 1024] {
        let mut system = System::of(|running| 1e-3 * running);
        system.handed_on = (0.03, sessions);
        let (share, limit) = system.regulated(&mut regulator(sessions), 4_000_000);
        assert!(share > 0.9 && limit == sessions, "{sessions} sessions: {share} {limit}");
    }
}

/// The same, but without a limit the system collapses. So a leap must not come too often.
#[test]
fn a_leap_that_does_not_pay_is_rare() {
    let mut system = System::of(collapsing);
    system.handed_on = (0.015, 1024);
    let mut regulator = regulator(1024);
    let (mut limit, mut without, samples) = (regulator.limit, 0, 40_000);
    for _ in 0..samples {
        limit = regulator.observe(system.sample(limit, 5_000)).unwrap_or(limit);
        without += u32::from(limit == 1024);
    }
    assert!(without > 0 && without * 50 < samples, "{without}");
}

/// Windows under the same limit differ by a third. A regulator that takes each difference for a gain would wander.
#[test]
fn bursts_do_not_lead_away_from_the_peak() {
    let mut system = System { bursts: (0.4, 0), ..System::of(collapsing) };
    let (share, limit) = system.regulated(&mut regulator(1024), 8_000_000);
    assert!(share > 0.9, "{share} of the peak, limit {limit}");
}

#[test]
fn each_session_has_a_turn_before_a_lower_limit_is_judged() {
    let mut regulator = regulator(1024);
    regulator.set(100);
    assert_eq!(regulator.settling.map(|s| (s.drains, s.commits)), Some((false, 200)));
    regulator.set(50);
    assert_eq!(regulator.settling.map(|s| (s.drains, s.commits)), Some((true, 2048)));
}

#[test]
fn a_collapse_in_a_probe_makes_the_best_limit_the_ceiling() {
    let mut regulator = regulator(1024);
    (regulator.best, regulator.peak) = ((100, 1.0), (100, 1.0));
    for phase in [Phase::Probe { before: 1.0 }, Phase::Trial(Trial::beside(1.0))] {
        let mut regulator = Regulator { phase, limit: 190, ..regulator.clone() };
        regulator.collapsed(0.1);
        assert_eq!((regulator.ceiling.limit, regulator.limit), (100, 47));
    }
    // Where nothing was tried, the limit itself has collapsed.
    let mut held = Regulator { phase: Phase::Hold { windows: 1 }, limit: 100, ..regulator };
    held.collapsed(0.1);
    assert_eq!(held.ceiling.limit, 85);
}

/// Each window is lower by a twentieth. The rate that is followed falls with it, and no window is lower by a quarter.
#[test]
fn a_slow_collapse_is_left() {
    let mut regulator = regulator(1024);
    (regulator.best, regulator.peak, regulator.limit) = ((100, 1.0), (100, 1.0), 100);
    regulator.phase = Phase::Hold { windows: 64 };
    let mut rate = 1.0;
    while regulator.phase != (Phase::Recover { collapse: (100, rate), ticks: 0, commits: 0 }) {
        rate *= 0.95;
        regulator.measured(rate);
        assert!(rate > 0.45, "{:?}", regulator.phase);
    }
    assert_eq!((regulator.ceiling.limit, regulator.limit), (85, 25));
}
