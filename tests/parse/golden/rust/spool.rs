//! A spool of jobs, drained by priority.

use std::collections::{hash_map::{self, Entry}, BTreeMap, HashMap};
use std::fmt::{self, Display, Write as _};
use std::io::Result as IoResult;

use crate::clock::*;
use serde::Serialize;
pub use self::policy::{Policy, Verdict as Outcome};

pub mod storage;

/// Jobs beyond this many are refused.
pub const LIMIT: usize = 64;
static STARTED: AtomicBool = AtomicBool::new(false);

pub type Weight = u32;

/// A unit of work.
///
/// Ordered by weight.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Job<T = ()> {
    /// Unique within a spool.
    pub id: u64,
    weight: Weight,
    payload: T,
}

#[derive(Clone, Copy)]
pub struct Ticket(pub u64, Weight);

/// What became of a job.
pub enum State<E>
where
    E: Display,
{
    Waiting,
    /// Took this many milliseconds.
    Done(u64),
    Failed { reason: E, retries: u8 },
}

/// Anything jobs are kept in.
pub trait Store: Send + fmt::Debug {
    type Key: Eq;
    const VOLATILE: bool = true;

    /// Adds a job.
    fn put(&mut self, job: Job) -> Result<Self::Key, SpoolError>;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize;
}

#[derive(Debug)]
pub struct Spool<S: Store> {
    store: S,
    counts: HashMap<Weight, usize>,
}

impl<S: Store> Spool<S> {
    pub const EMPTY_WEIGHT: Weight = 0;

    #[must_use]
    pub fn new(store: S) -> Self {
        let counts = HashMap::new();
        Self { store, counts }
    }

    /// Puts a job in, unless there are too many.
    pub async fn submit<F>(
        &mut self,
        job: Job,
        on_done: F,
    ) -> Result<Ticket, SpoolError>
    where
        F: FnOnce(Ticket),
    {
        fn weigh(job: &Job) -> Weight {
            job.weight.max(1)
        }
        const FLOOR: Weight = 1;
        let weight = weigh(&job) + FLOOR;
        if self.counts.values().sum::<usize>() >= LIMIT {
            return Err(SpoolError::full(LIMIT));
        }
        *self.counts.entry(weight).or_insert(0) += 1;
        let id = job.id;
        self.store.put(job)?;
        let ticket = Ticket(id, weight);
        on_done(ticket);
        log::debug!("submitted {}", describe(&ticket));
        Ok(ticket)
    }
}

impl<S: Store> Drop for Spool<S> {
    fn drop(&mut self) {
        STARTED.store(false, Ordering::Release);
    }
}

impl<'a, T> From<&'a Job<T>> for Ticket {
    fn from(job: &'a Job<T>) -> Self {
        Ticket(job.id, job.weight)
    }
}

impl Display for dyn Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy")
    }
}

/// Why a job was refused.
#[derive(Debug)]
pub struct SpoolError {
    message: String,
}

impl SpoolError {
    fn full(limit: usize) -> Self {
        let message = format!("more than {limit} jobs");
        SpoolError { message }
    }
}

impl std::error::Error for SpoolError {}

fn describe(ticket: &Ticket) -> String {
    let mut text = String::with_capacity(16);
    let _ = write!(text, "{}", ticket.0);
    text
}

/// Builds a job from its parts.
#[macro_export]
macro_rules! job {
    ($id:expr) => {
        Job { id: $id, weight: 1, payload: () }
    };
}

cfg_threads! {
    /// Drains a spool on a thread of its own.
    pub fn spawn<S: Store + 'static>(spool: Spool<S>) -> std::thread::JoinHandle<()> {
        std::thread::spawn(move || storage::drain(spool))
    }
}

#[cfg(unix)]
extern "C" {
    fn getpid() -> i32;
}

#[cfg(windows)]
fn pid() -> i32 {
    0
}

#[cfg(not(windows))]
fn pid() -> i32 {
    unsafe { getpid() }
}

mod policy {
    //! Who may go first.
    use super::Job;

    pub trait Policy {
        fn judge(&self, job: &Job) -> Verdict;
    }

    pub enum Verdict { Now, Later }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_carry_the_weight() {
        let job: Job = job!(7);
        assert_eq!(describe(&Ticket::from(&job)), "7");
    }
}
