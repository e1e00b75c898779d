//! A regulator sees samples. It adds them up over some time, which is a window.

/// Counts since the last sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Ticks since the last sample.
    pub ticks: u64,
    /// Commits of all sessions since the last sample.
    pub commits: u64,
    /// Number of permits that could be had at once at the end of the sample.
    pub spare: u64,
    /// Number of permits that were out beyond the limit at the end of the sample.
    pub excess: u64,
    /// Number of sessions that had a permit at the end of the sample.
    pub held: u64,
}

/// Sums over samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    pub ticks: u64,
    pub commits: u64,
    pub samples: u32,
    /// Number of samples at which the limit bound.
    bound: u32,
    /// Permits that sessions had, and permits that the limit allowed, over all samples.
    held: u64,
    allowed: u64,
}

impl Window {
    /// Adds a sample that was taken under `limit`.
    pub fn add(&mut self, sample: Sample, limit: usize) {
        self.ticks += sample.ticks;
        self.commits += sample.commits;
        self.samples += 1;
        self.bound += u32::from(sample.spare * 4 <= limit as u64);
        self.held += sample.held;
        self.allowed += limit as u64;
    }

    /// Returns the commits a tick.
    pub fn rate(&self) -> f64 {
        self.commits as f64 / self.ticks.max(1) as f64
    }

    /// Returns true if the limit bound at half of the samples at least.
    pub fn is_bound(&self) -> bool {
        self.bound * 2 >= self.samples
    }

    /// Returns the share of the permits that sessions had, in the mean.
    pub fn share_held(&self) -> f64 {
        self.held as f64 / self.allowed.max(1) as f64
    }
}
