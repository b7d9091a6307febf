//! Replay: repeated sequences of orders to a device are launched at once, as a CUDA graph.
//!
//! A call of the driver for every kernel costs more than a small kernel takes. Loops whose iterations do the same to the same memory,
//! and programs that are called again, need not pay it. All that goes to the stream is an order; a **segment** of orders ends where
//! the host waits or an iteration of a loop ends. Segments that were seen are remembered, and which one came after which.
//!
//! ```text
//! seen twice, expected next:   orders are held back as long as they are those of the segment
//!   all of them came           one launch of its graph, which is made the first time
//!   another one came           those held back are run one by one, and so are the rest
//! anything else:               an order is run when it is given
//! ```
//!
//! So the results are those of running every order when it is given, and the device is kept waiting only where it soon has more to do.
//!
//! Kernels know a failure before them by the number of their launch, and in a graph they have the numbers of the iteration it was made
//! in. A graph begins with a kernel that marks a failure as one before all launches.

use super::driver::{Address, Function};

/// Something the stream is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// A function on so many blocks of so many threads, with so many bytes of shared memory.
    Launch {
        function: Function,
        blocks: u32,
        threads: u32,
        shared: u32,
        words: Box<[u64]>,
        record: Option<Record>,
    },
    /// Sets bytes.
    Set { at: Address, byte: u8, bytes: usize },
    /// Copies bytes on the device.
    Copy { to: Address, from: Address, bytes: usize },
}

/// Record in which a launch notes that it failed. The launch's argument begins with the record's address and the launch's number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Its address.
    pub at: Address,
    /// The function that makes a failure one before all launches.
    pub settle: Function,
}

/// Index of a launch's number among the words of its argument.
const NUMBER: usize = 1;

impl Order {
    /// True if both do the same; the numbers of launches differ always.
    fn repeats(&self, other: &Order) -> bool {
        match (self, other) {
            (
                Order::Launch { function: f, blocks: b, threads: t, shared: s, words: w, record: Some(r) },
                Order::Launch { function, blocks, threads, shared, words, record: Some(record) },
            ) => {
                (f, b, t, s, r, w.len()) == (function, blocks, threads, shared, record, words.len())
                    && w.iter().zip(words).enumerate().all(|(i, (a, b))| i == NUMBER || a == b)
            }
            _ => self == other,
        }
    }

    fn record(&self) -> Option<Record> {
        if let Order::Launch { record, .. } = self { *record } else { None }
    }
}

/// The stream's part: a device, or what a test looks at.
pub trait Stream {
    /// Orders that can be run at once.
    type Graph;
    /// Error of the stream.
    type Error;
    /// Runs an order.
    fn run(&self, order: &Order) -> Result<(), Self::Error>;
    /// Makes a graph; none if the device has no such thing.
    fn graph(&self, orders: &[Order]) -> Result<Option<Self::Graph>, Self::Error>;
    /// Runs one.
    fn replay(&self, graph: &Self::Graph) -> Result<(), Self::Error>;
    /// Releases one, which may still be running.
    fn forget(&self, graph: Self::Graph);
}

/// Segments that are remembered.
const SEGMENTS: usize = 16;
/// Orders of a segment that is worth a graph.
const FEW: usize = 4;
/// Orders of a segment that may end with the iteration of a loop.
const ENOUGH: usize = 16;
/// Orders of a segment, at most.
const MANY: usize = 1024;

/// A segment that was seen.
struct Segment<G> {
    orders: Vec<Order>,
    times: u32,
    graph: Option<G>,
    /// Segment that came after it last time.
    next: Option<usize>,
    /// When it was seen last.
    seen: u64,
}

/// Recorded orders, and orders held back.
pub struct Replay<G> {
    /// The segment so far.
    orders: Vec<Order>,
    /// Number of these orders that have been run.
    run: usize,
    /// The segment cannot be repeated: something was done in it that is no order.
    broken: bool,
    expected: Option<usize>,
    last: Option<usize>,
    known: Vec<Segment<G>>,
    clock: u64,
    /// The device has no graphs.
    refused: bool,
}

impl<G> Default for Replay<G> {
    fn default() -> Replay<G> {
        Replay {
            orders: Vec::new(),
            run: 0,
            broken: false,
            expected: None,
            last: None,
            known: Vec::new(),
            clock: 0,
            refused: false,
        }
    }
}

impl<G> Replay<G> {
    /// The next order.
    pub fn give<S: Stream<Graph = G>>(&mut self, stream: &S, order: Order) -> Result<(), S::Error> {
        if self.refused {
            return stream.run(&order);
        }
        if self.orders.len() == MANY {
            self.flush(stream)?;
        }
        let at = self.orders.len();
        let goes_on = |k: usize| self.known[k].orders.get(at).is_some_and(|o| o.repeats(&order));
        let held = self.expected.is_some_and(goes_on);
        if !self.broken {
            self.orders.push(order);
        } else {
            return stream.run(&order);
        }
        if held { Ok(()) } else { self.catch_up(stream) }
    }

    /// Runs what is held back, one by one.
    fn catch_up<S: Stream<Graph = G>>(&mut self, stream: &S) -> Result<(), S::Error> {
        self.expected = None;
        let from = std::mem::replace(&mut self.run, self.orders.len());
        self.orders[from..].iter().try_for_each(|o| stream.run(o))
    }

    /// Runs what is held back, before something that is no order.
    pub fn flush<S: Stream<Graph = G>>(&mut self, stream: &S) -> Result<(), S::Error> {
        let done = self.catch_up(stream);
        self.orders.clear();
        self.run = 0;
        self.broken = true;
        done
    }

    /// An iteration of a loop ends.
    pub fn end_iteration<S: Stream<Graph = G>>(&mut self, stream: &S) -> Result<(), S::Error> {
        if self.broken || self.orders.len() >= ENOUGH { self.end(stream) } else { Ok(()) }
    }

    /// The host is about to wait: the segment ends.
    pub fn end<S: Stream<Graph = G>>(&mut self, stream: &S) -> Result<(), S::Error> {
        if self.orders.is_empty() && !self.broken {
            return Ok(());
        }
        self.clock += 1;
        let whole =
            self.expected.filter(|k| self.run == 0 && self.known[*k].orders.len() == self.orders.len());
        let (here, done) = match whole {
            Some(k) => (Some(k), self.again(k, stream)),
            None => {
                let done = self.catch_up(stream);
                (self.learn(stream), done)
            }
        };
        if let (Some(last), Some(_)) = (self.last, here) {
            self.known[last].next = here;
        }
        self.orders.clear();
        self.run = 0;
        self.broken = false;
        self.last = here;
        let next = here.and_then(|k| self.known[k].next);
        self.expected = next.filter(|k| self.known[*k].times > 1 && !self.refused);
        done
    }

    /// A known segment once more.
    fn again<S: Stream<Graph = G>>(&mut self, k: usize, stream: &S) -> Result<(), S::Error> {
        let segment = &mut self.known[k];
        segment.times += 1;
        segment.seen = self.clock;
        if segment.graph.is_none() {
            segment.graph = stream.graph(&with_settling(&segment.orders))?;
        }
        match &segment.graph {
            Some(graph) => stream.replay(graph),
            None => {
                self.refused = true;
                self.catch_up(stream)
            }
        }
    }

    /// Remembers the segment that ends, if it could be repeated: its orders, all of which have been run.
    fn learn<S: Stream<Graph = G>>(&mut self, stream: &S) -> Option<usize> {
        let mut records = self.orders.iter().filter_map(Order::record);
        let first = records.next();
        if self.broken || self.orders.len() < FEW || records.any(|r| Some(r) != first) {
            return None;
        }
        let same = |s: &Segment<G>| {
            s.orders.len() == self.orders.len()
                && s.orders.iter().zip(&self.orders).all(|(a, b)| a.repeats(b))
        };
        if let Some(k) = self.known.iter().position(same) {
            self.known[k].times += 1;
            self.known[k].seen = self.clock;
            return Some(k);
        }
        let orders = std::mem::take(&mut self.orders);
        let segment = Segment { orders, times: 1, graph: None, next: None, seen: self.clock };
        if self.known.len() < SEGMENTS {
            self.known.push(segment);
            return Some(self.known.len() - 1);
        }
        let age = |k: &usize| (self.known[*k].graph.is_some(), self.known[*k].seen);
        let oldest = (0..SEGMENTS).min_by_key(age)?;
        let old = std::mem::replace(&mut self.known[oldest], segment);
        old.graph.into_iter().for_each(|g| stream.forget(g));
        Some(oldest)
    }

    /// Releases all graphs.
    pub fn clear<S: Stream<Graph = G>>(&mut self, stream: &S) {
        self.known.drain(..).filter_map(|s| s.graph).for_each(|g| stream.forget(g));
        *self = Replay { refused: self.refused, ..Replay::default() };
    }
}

/// The orders of a graph: at first, a failure of what ran before is made one before all launches.
fn with_settling(orders: &[Order]) -> Vec<Order> {
    let record = orders.iter().find_map(Order::record);
    let settle = record.map(|r| Order::Launch {
        function: r.settle,
        blocks: 1,
        threads: 32,
        shared: 0,
        words: Box::new([r.at]),
        record: None,
    });
    settle.into_iter().chain(orders.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// Notes what is run; a graph is a list.
    #[derive(Default)]
    struct Notes {
        done: RefCell<Vec<Order>>,
        replayed: Cell<usize>,
        made: Cell<usize>,
        let_go: Cell<usize>,
        without: bool,
    }

    impl Stream for Notes {
        type Graph = Vec<Order>;
        type Error = ();
        fn run(&self, order: &Order) -> Result<(), ()> {
            self.done.borrow_mut().push(order.clone());
            Ok(())
        }
        fn graph(&self, orders: &[Order]) -> Result<Option<Vec<Order>>, ()> {
            self.made.set(self.made.get() + 1);
            Ok((!self.without).then(|| orders.to_vec()))
        }
        fn replay(&self, graph: &Vec<Order>) -> Result<(), ()> {
            self.replayed.set(self.replayed.get() + 1);
            self.done.borrow_mut().extend(graph.iter().cloned());
            Ok(())
        }
        fn forget(&self, _: Vec<Order>) {
            self.let_go.set(self.let_go.get() + 1);
        }
    }

    fn set(at: u64) -> Order {
        Order::Set { at, byte: 0, bytes: 8 }
    }

    /// Gives orders that set these addresses; all, in order, must have been run at the end.
    fn play(notes: &Notes, segments: impl IntoIterator<Item = Vec<u64>>) {
        let mut replay = Replay::default();
        let mut want = Vec::new();
        for segment in segments {
            want.extend(segment.iter().map(|at| set(*at)));
            segment.into_iter().for_each(|at| replay.give(notes, set(at)).unwrap());
            replay.end(notes).unwrap();
            assert!(*notes.done.borrow() == want);
        }
    }

    #[test]
    fn what_is_asked_for_again_is_a_graph() {
        let notes = Notes::default();
        play(&notes, vec![vec![1, 2, 3, 4, 5]; 10]);
        assert_eq!((notes.made.get(), notes.replayed.get()), (1, 8));
    }

    #[test]
    fn iterations_that_alternate_are_two_graphs() {
        let notes = Notes::default();
        play(&notes, (0..20).map(|k| (0..6).map(|i| 10 * (k % 2) + i).collect()));
        assert_eq!((notes.made.get(), notes.replayed.get()), (2, 16));
    }

    #[test]
    fn what_differs_late_or_ends_early_is_run_one_by_one() {
        let notes = Notes::default();
        let whole = vec![1, 2, 3, 4, 5];
        let mut segments = vec![whole.clone(); 4];
        segments.extend([
            vec![1, 2, 3, 4, 6],
            whole.clone(),
            vec![1, 2, 3, 4],
            vec![1, 2, 3, 4, 5, 6],
            whole,
        ]);
        play(&notes, segments);
        assert_eq!(notes.made.get(), 1);
    }

    #[test]
    fn segments_that_never_come_again_make_no_graph() {
        let notes = Notes::default();
        play(&notes, (0..100).map(|k| (0..8).map(|i| 100 * k + i).collect()));
        assert_eq!(notes.made.get(), 0);
    }

    #[test]
    fn without_graphs_all_is_run() {
        let notes = Notes { without: true, ..Notes::default() };
        play(&notes, vec![vec![1, 2, 3, 4, 5]; 10]);
        assert_eq!((notes.made.get(), notes.replayed.get()), (1, 0));
    }

    #[test]
    fn old_graphs_make_room() {
        let notes = Notes::default();
        let iterations = |k: u64| vec![(0..5).map(|i| 100 * k + i).collect::<Vec<u64>>(); 4];
        play(&notes, (0..40).flat_map(iterations));
        assert_eq!(notes.made.get(), 40);
        assert_eq!(notes.let_go.get(), 40 - SEGMENTS);
    }

    #[test]
    fn something_else_in_between_comes_in_its_place() {
        let notes = Notes::default();
        let mut replay = Replay::default();
        for k in 0..10 {
            (0..5).for_each(|at| replay.give(&notes, set(at)).unwrap());
            if k == 6 {
                replay.flush(&notes).unwrap();
                assert_eq!(notes.done.borrow().len(), 5 * 7);
                replay.give(&notes, set(9)).unwrap();
            }
            replay.end(&notes).unwrap();
        }
        assert_eq!(notes.done.borrow().len(), 51);
        assert!(notes.replayed.get() > 4);
    }

    #[test]
    fn many_orders_are_no_segment() {
        let notes = Notes::default();
        play(&notes, vec![(0..3000).collect(); 5]);
        assert_eq!(notes.made.get(), 0);
    }

    #[test]
    fn launches_repeat_whatever_their_number() {
        let record = Some(Record { at: 64, settle: Function::null() });
        let launch = |number| Order::Launch {
            function: Function::null(),
            blocks: 1,
            threads: 32,
            shared: 0,
            words: Box::new([64, number, 7]),
            record,
        };
        let notes = Notes::default();
        let mut replay = Replay::default();
        for iteration in 0..6 {
            (0..16).for_each(|k| replay.give(&notes, launch(16 * iteration + k)).unwrap());
            replay.end_iteration(&notes).unwrap();
        }
        assert_eq!((notes.made.get(), notes.replayed.get()), (1, 4));
        // Every graph settles the record first.
        assert_eq!(notes.done.borrow().len(), 6 * 16 + 4);
    }
}
