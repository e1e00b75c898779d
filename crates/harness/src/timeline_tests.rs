use super::*;

fn opened(begin: u64, end: u64, growth: Option<Growth>) -> Timeline {
    let timeline = Timeline::new(Some(1), growth, true);
    timeline.open(Interval { begin, end });
    timeline.open(Interval { begin: 7, end: 8 });
    timeline
}

fn commit(timeline: &Timeline, at: u64, latency: u64) {
    let mut counts = Counts::default();
    counts.committed(0);
    timeline.state.lock().put(at, &counts, &mut vec![latency]);
}

#[test]
fn slices_cover_the_interval() {
    let timeline = opened(100, 180, None);
    let at = |now| timeline.state.lock().slice_at(now);
    assert_eq!([100, 101, 179].map(at), [0, 1, SLICES - 1]);
    for (now, part, until) in [
        (0, Part::Before, 100),
        (100, Part::Within, 101),
        (179, Part::Within, 180),
        (180, Part::After, u64::MAX),
    ] {
        let place = timeline.place(now);
        assert_eq!((place.part, place.until), (part, until), "{now}");
    }
    // The length is no multiple of the number of slices. Each moment must still lie before the end of its slice.
    let uneven = opened(3, 1000, None);
    for now in 3..1000 {
        let place = uneven.place(now);
        assert!(place.part == Part::Within && place.until > now && place.until <= now + 13);
    }
}

#[test]
fn a_run_that_is_not_steady_is_doubled_up_to_its_limit_and_keeps_what_it_has() {
    let growth = Growth { most_ticks: 4000, most_busy_ticks: u64::MAX, rule: Rule::default() };
    let timeline = opened(0, 1000, Some(growth));
    for at in 0..1000 {
        commit(&timeline, at, 5);
    }
    // One worker with a latency of five would commit 200. Little's law shows that something is missing.
    for now in [1000, 2500, 3999] {
        assert_eq!(timeline.place(now).part, Part::Within, "{now}");
    }
    assert_eq!(timeline.place(4000).part, Part::After);
    let (interval, slices, ended) = timeline.into_parts();
    assert_eq!((interval.end, ended, slices.len()), (4000, Ended::AtLimit, SLICES));
    let commits: Vec<u64> = slices.iter().map(|slice| slice.counts.commits()).collect();
    assert_eq!(commits[..SLICES / 4], [50; SLICES / 4]);
    assert_eq!(commits[SLICES / 4..], [0; SLICES * 3 / 4]);
    assert_eq!(slices[0].latencies.len(), 50);
}

#[test]
fn the_room_for_latencies_suffices_for_a_run_that_is_doubled() {
    let growth = Growth { most_ticks: 4000, most_busy_ticks: u64::MAX, rule: Rule::default() };
    let timeline = Timeline::new(Some(1), Some(growth), false).with_room(5000);
    timeline.open(Interval { begin: 0, end: 1000 });
    let roomy = |histogram: &Histogram<u64>| histogram.high() >= 5000 && histogram.is_auto_resize();
    for now in [1000, 2000, 4000] {
        for at in now / 2..now {
            commit(&timeline, at, 5);
        }
        timeline.place(now);
        let state = timeline.state.lock();
        assert_eq!(state.slices.len() + state.spare.len(), SLICES);
        assert!(state.spare.iter().all(|spare| roomy(spare) && spare.is_empty()));
        assert!(state.slices.iter().all(|slice| roomy(&slice.latencies)));
    }
    let (_, slices, _) = timeline.into_parts();
    assert_eq!(slices.iter().map(|slice| slice.latencies.len()).sum::<u64>(), 3500);
}

#[test]
fn a_steady_run_ends_as_soon_as_it_may_and_for_everybody() {
    let growth = Growth { most_ticks: 1 << 40, most_busy_ticks: u64::MAX, rule: Rule::default() };
    let timeline = opened(0, 8000, Some(growth));
    for at in (0..8000).step_by(5) {
        commit(&timeline, at, 5);
    }
    assert_eq!(timeline.place(8000).part, Part::After);
    // Late commits change nothing.
    (0..500).for_each(|_| commit(&timeline, 10, 5));
    assert_eq!(timeline.place(8001).part, Part::After);
    let (interval, _, ended) = timeline.into_parts();
    assert_eq!((interval.end, ended), (8000, Ended::Steady));
}

#[test]
fn a_transaction_enters_every_slice_that_begins_while_it_runs() {
    let timeline = opened(1000, 1800, None);
    let mut state = timeline.state.lock();
    state.enter(995, 1005);
    state.enter(1009, 1031);
    state.enter(1012, 1019);
    let entries = |state: &State| -> Vec<Vec<u64>> {
        state.slices.iter().map(|slice| slice.entries.clone()).collect()
    };
    assert_eq!(entries(&state), [vec![5], vec![1], vec![11], vec![21]]);
    state.double();
    assert_eq!(entries(&state), [[5], [11]], "slices that begin where one did before");
}

#[test]
fn a_run_that_would_cost_too_much_ends() {
    let growth = Growth { most_ticks: 1 << 40, most_busy_ticks: 5000, rule: Rule::default() };
    let timeline = opened(0, 800, Some(growth));
    let mut counts = Counts { spent: Some(Spent::default()), ..Counts::default() };
    counts.spent.as_mut().expect("just set")[machine::Category::Useful as usize] = 1300;
    counts.spent.as_mut().expect("just set")[machine::Category::Wait as usize] = 1 << 30;
    timeline.state.lock().put(0, &counts, &mut Vec::new());
    assert_eq!(timeline.place(800).part, Part::Within);
    timeline.state.lock().put(900, &counts, &mut Vec::new());
    assert_eq!(timeline.place(1600).part, Part::After, "twice 2600 is too much");
}
