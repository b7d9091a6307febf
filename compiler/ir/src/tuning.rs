//! Tuning constants of passes and code generation, each with the reason for its value.
//!
//! A constant without a measurement has none on record: its value is a guess that has done no harm.

// Versions, chosen at run time (`passes/flatten`). They can be measured for a program by `par tune`.

/// Positions from which on each makes a call by itself: flat, a call takes 3 to 10 times as long, which more threads make up for only where there are many.
pub const CALLS: i64 = 16;
/// Rows of a nest from which on each is worked through by itself. Time by rows / flat with AVX-512, a call included, of 16, 64, 256, 1024 and 4096 rows of 8
/// floats: variances 0.7, 0.6, 0.9, 0.3, 0.3; the place of the smallest 0.8, 1.4, 0.5, 0.5, 0.5; windows of 7 elements 0.8, 0.7, 0.5, 0.3, 0.14;
/// variances of rows with any lengths 0.3, 0.6, 0.3, 0.6, 0.6.
pub const ROWS: i64 = 32;
/// Longest inner row with which rows are worked through one by one: several together, in the lanes of vectors. Bulk operations sum up with
/// vectors, too, but what they do for every row costs more than the elements of a short one. A million floats with AVX-512, one by one to
/// bulk: sums of rows of 2 to 12 took 0.31 to 0.45 of the time, variances 0.32 to 1, products of two rows 0.6 to 1.1; with 16 elements 1.2,
/// 1.1 and 1.1, with 32 about 1.9, 1.8 and 1.4.
pub const LONGEST: i64 = 12;
/// The same if more than four bytes are read for each element, where vectors have fewer lanes: products of rows of 8 doubles took 1 to 2.1 of
/// the time.
pub const LONGEST_WIDE: i64 = 6;
/// The same if rows have any lengths, up to twice the mean here: sums 0.5 to 0.9 of the time with rows of up to 4 elements, 0.9 to 1.1 with
/// up to 12, 1.4 to 1.5 with up to 32.
pub const LONGEST_RAGGED: i64 = 6;
/// The same for the largest float of a row, of which bulk operations compare one after the other: 0.06 to 0.18 with 2 to 24 elements, 0.55
/// with 48, as long with 64; without gathers 0.9 to 2 with up to 12, 1.5 with 24, and 3.6 with 48.
pub const LONGEST_EXTREMA: i64 = 32;
/// The same if rows have any lengths: 0.4 to 1 with up to 16 elements, 1.1 with up to 32, 2 with up to 48.
pub const LONGEST_RAGGED_EXTREMA: i64 = 16;
/// The same for operators of several statements: the place of the smallest element 0.1 with 2 to 24 elements, 0.2 with 64, 0.3 with
/// 128; 0.6 to 0.9 if rows have any lengths of up to 96.
pub const LONGEST_OWN: i64 = 128;
/// Positions of a loop with parallel operators inside from which on each is worked through by itself, if its arrays are small.
pub const POSITIONS: i64 = 256;
/// The same for a loop that goes through single steps of every position: a row of an alignment, cell by cell. Alignments of 1, 12 and 50 pairs took 0.05,
/// 0.15 and 0.34 of the time.
pub const STEPS: i64 = 1;
/// Operators in a launch of a loop of the host up to which, on average, the loop is one kernel of one position: a launch takes 0.6 microseconds, an operator of a map
/// 0.05 nanoseconds for each element. With AVX-512, one kernel to launches: 12 operators for 1,000, 2,000, 4,000 and 8,000 elements 0.5, 0.6, 0.8 and 1.2 of the
/// time, 28 operators 0.8, 0.95, 0.9 and 1.1, 50 operators 1.0, 1.1, 1.2 and 1.4.
pub const ITERATIONS: i64 = 32768;
/// Penalty of a sum in such a kernel, which is sequential, in operators for each element: break-even at 1,500 elements (AVX2).
pub const SEQUENTIAL_REDUCE: i64 = 12;
/// The same for reductions with operators on tuples, such as the place of the least number: 1.4 of the time with 1,000 elements, 2.3 with 2,000.
pub const SEQUENTIAL_TUPLE: i64 = 54;
/// The same for prefixes: as long with 1,000 elements, 1.3 with 2,000.
pub const SEQUENTIAL_SCAN: i64 = 17;
/// The same for histograms: 0.75 with 1,000 elements, 1.6 with 2,000.
pub const SEQUENTIAL_HIST: i64 = 25;
/// The same for `scatter`: 1.1 with 1,000 elements, 1.4 with 2,000.
pub const SEQUENTIAL_SCATTER: i64 = 38;
/// The same for concatenations: 0.8 with 2,000 elements, 1.1 with 4,000.
pub const SEQUENTIAL_CONCAT: i64 = 8;
/// Factor of the operators that a launch may have if a loop has several positions, which go through lanes: forward substitution in 32 to 96
/// columns of 32 elements took 0.05 of the time.
pub const POSITIONS_LITTLE: i64 = 4;

/// Rows of a map whose loops read rows that depend on the inner dimension only, from which on its dimensions are interchanged. Sobol numbers of 8
/// dimensions took 0.07 to 0.12 of the time with 64 to 20,000 rows, polynomials of degree 8 0.7, 0.65, 0.5 and 0.16 with 16, 20, 40 and 5,000.
pub const INTERCHANGED: i64 = 16;
/// Elements of rows that are reduced up to which that pays: longer ones are combined in lanes.
pub const INTERCHANGED_ROW: i64 = 64;

// The same on a GPU. On an H100 (132 processors of 2048 threads) a tree of 2^20 calls took 183 ms in 512 threads and 3.8 ms flat, and implicit
// differences for 256 options 47 ms in a thread each and 1.8 ms flat.

/// As [`CALLS`]: enough to keep all threads busy.
pub const GPU_CALLS: i64 = 1 << 18;
/// As [`ROWS`].
pub const GPU_ROWS: i64 = 8192;
/// As [`POSITIONS`]. Arrays of neighbouring threads do not lie beside each other, so that all threads have to be busy.
pub const GPU_POSITIONS: i64 = 1 << 18;
/// As [`LONGEST`], for several reductions.
pub const GPU_LONGEST: i64 = 6;
/// As [`ITERATIONS`]: never, since a kernel of one position leaves a GPU idle.
pub const GPU_ITERATIONS: i64 = i64::MAX;

/// Loops with a choice of versions inside each other, at most: the code of the innermost is there once more for each.
pub const NESTED_CHOICES: usize = 2;

// Small arrays as scalars (`ir/tiny`).

/// Elements of an array that is scalarised, at most.
pub const TINY_ELEMENTS: usize = 16;
/// The same where an index is not known: it costs a comparison for every element. AVX-512, in memory / as scalars, with 3, 4 and 8 elements: numbers
/// counted by class 3.5, 1.6, 0.4; a machine with registers 0.7, 0.5, 0.2; the smallest numbers by insertion 0.2, 0.14, 0.08; visits of a random walk
/// 3, 2.3, 1.1 (6).
pub const TINY_PICKED: usize = 4;
/// The same where such an element is written in a while loop, which is often worked through one position after the other.
pub const TINY_WRITTEN: usize = 3;
/// Numbers whose sort is written out, at most: it compares each with each.
pub const TINY_SORTED: usize = 12;
/// Statements that one operator may become when it is written out.
pub const TINY_STATEMENTS: usize = 4096;
/// Iterations of a loop that is written out, at most.
pub const TINY_ITERATIONS: i64 = 16;
/// Statements that one loop may become when it is written out.
pub const TINY_LOOP: usize = 1024;
/// Products in a sum from which on it is not written out in products of matrices.
pub const TINY_PRODUCT: i64 = 5;

// Passes over CORE.

/// Repetitions of simplification, at most; programs rarely need three.
pub const SIMPLIFY_ROUNDS: usize = 6;
/// Statements of an arm that are done whether it is taken or not, at most: on vectors there is no branch then.
pub const SPECULATED_STATEMENTS: usize = 6;
/// Reads among them.
pub const SPECULATED_READS: usize = 2;
/// Arrays that are concatenated at once, at most: under a nest every element chooses among them.
pub const CONCATENATED_PARTS: usize = 6;
/// Statements of a lambda made by fusion, at most. Past that nothing is gained, and since a fused lambda is copied and looked through
/// again, a long chain would take time in the square of its length.
pub const FUSED_STATEMENTS: usize = 400;
/// Statements behind the first among which the second of two that are fused is looked for.
pub const CORE_FUSION_REACH: usize = 32;

/// Limit of the elements of a buffer with capacity for all iterations of a host loop that appends.
pub const CAPACITY: i64 = 1 << 26;

// Flattening.

/// Elements of a literal that one kernel stores, at most.
pub const STORED_ROW: usize = 64;
/// Constants of rows that are written out in the arms of a branch, at most: they are in a table.
pub const WRITTEN_ROWS: usize = 4096;
/// Elements of a position's arrays up to which it is worked through by itself: they stay in a cache near the processor, and an
/// iteration of all positions has little else to do than to begin.
pub const POSITION_ELEMENTS: i64 = 4096;
/// The same where state shrinks, on average, on a processor: filters and sums of all rows together run in vectors. Rows of 15 elements,
/// half of which few iterations are left to, took 0.7 of the time by themselves, rows of 150 took 1.4.
pub const SHRINKING_ELEMENTS: i64 = 32;
/// Elements of windows that each position goes over by itself, at most, if they do not overlap.
pub const WINDOW_ELEMENTS: i64 = 1024;
/// Elements that operators inside operators over shared arrays may go over, at most, for rows to be worked through one by one, on a
/// processor: rows that are read again for each element of the shared array lie transposed in the first cache. Nearest of 8 centres, `f32`, AVX2, time
/// by rows / flat: 0.25 with 40 numbers, 0.5 to 0.75 with 100 to 500, 0.4 to 0.6 with 1,900; exponentials and maxima of 50 to 1,000 numbers 0.85 to 1.05.
pub const LONGEST_INSIDE: i64 = 1024;
/// The same on a GPU, and known widths of operators over shared arrays that are few.
pub const FEW_INSIDE: i64 = 32;

// Passes over FLAT.

/// As [`CORE_FUSION_REACH`], for kernels.
pub const FLAT_FUSION_REACH: usize = 48;
/// Operators of a map beyond which it is worth a pass of its own, where it is done in vectors, instead of a place behind a scan.
pub const AFTER_OPERATORS: usize = 16;
/// Short operators that may be computed again for a read.
pub const INLINE_OPERATORS: usize = 12;
/// First statements of the arms of a branch among which common ones are looked for.
pub const COMMON_STATEMENTS: usize = 32;
/// Parts of a concatenation that is computed where it is read, at most: each is a comparison for every element.
pub const INLINE_PARTS: usize = 4;
/// Elements that may be read in place of one.
pub const INLINE_READS: usize = 2;
/// Statements of a body that may be there twice.
pub const TWICE_STATEMENTS: usize = 120;
/// Elements of a row below which positions stay in one dimension, although what they read has rows.
pub const SHORT_ROW: i64 = 16;
/// Statements of such a row that is written out, at most.
pub const SHORT_ROW_STATEMENTS: i64 = 256;
/// Readers of an array whose elements are computed again, at most.
pub const INLINE_READERS: usize = 6;
/// Short operators that take no longer than reading what they give.
pub const FREE_OPERATORS: usize = 2;
/// Operators of an element that are computed twice, at most, so that the total of a scan is there before its prefixes.
pub const TOTAL_OPERATORS: usize = 24;
/// Statements that may be there twice: as written and over a descriptor.
pub const SEGMENT_STATEMENTS: usize = 48;
/// Elements per row, on average, from which on a descriptor is worth making.
pub const SEGMENT_MEAN: i64 = 4;
/// Iterations ago in which an element was written that is kept in a variable: each takes a register.
pub const RECURRENCE_DISTANCE: usize = 4;
/// Elements from one of a wave to the next, at least, for waves to be run row after row: then each is in a cache line of its own. With 2048 rows of 2049, which are
/// all in the same few sets of a cache, an alignment took a ninth of the time.
pub const WAVE_STRIDE: i64 = 16;
/// Rows that an element of a wave may be above the one that is computed from it.
pub const WAVE_ROWS: i64 = 4;
/// Waves that it may be before it.
pub const WAVE_DISTANCE: i64 = 16;
/// Rows in a block of a reduction along columns.
pub const COLUMN_BLOCK: i64 = 256;
/// Neighbouring columns that are scanned together, row after row: what they have come to stays in the first cache.
pub const COLUMN_STRIP: i64 = 1024;
/// Kernels one after the other that read what is stored by rows in the place of columns, at most.
pub const COLUMN_READERS: usize = 8;
/// Elements of a column, if their number is known, up to which it is a short row like others.
pub const SHORT_COLUMN: i64 = 64;
/// Columns up to which each is scanned by itself: the groups of a row lie in a page. 100,000 rows of 8, `f32`, AVX2: 0.17 ms so, 1.0 ms
/// row after row; 1,000 rows of 1,000 `i64`: 13 ms so, 1.1 ms row after row.
pub const FEW_COLUMNS: i64 = 64;

// Work per element (`codegen/cost.rs`): when a second thread pays, and how finely a space is cut.

/// Operators that count as one unit.
pub const WORK_UNIT: usize = 8;
/// Operators that a call of a mathematical function counts.
pub const WORK_CALL: usize = 2 * WORK_UNIT;
/// Iterations assumed of a loop.
pub const WORK_ITERATIONS: usize = 64;
/// Operators that a recursion counts: nobody knows.
pub const WORK_RECURSION: usize = 64 * WORK_UNIT;

// Recognition of kernels.

/// Conditions that are looked at together in a partition.
pub const PARTITION_CONDITIONS: usize = 3;
/// Terms of a form of integers beyond which a value is a symbol of its own.
pub const FORM_TERMS: usize = 12;

// Scalar code.

/// Sums inside of each other that an index is taken apart into.
pub const INDEX_TERMS: usize = 4;
/// Iterations of an innermost loop in place between two looks at the cancellation flag.
pub const CANCEL_ITERATIONS: i64 = 1 << 16;
/// The same on a GPU.
pub const GPU_CANCEL_ITERATIONS: i64 = 1 << 16;
/// Short operators of both arms of a branch, with the choices of their results, if both are computed: about as much as a jump that was
/// not foreseen.
pub const SELECT_OPERATORS: usize = 12;
/// The same where the lanes of a vector all go the same way: branches also part the code in which a value is computed once. A cipher of 34 such
/// branches in a row took 0.12 of the time without them, another of 16 0.5.
pub const LANES_SELECT_OPERATORS: usize = 24;
/// Short operators of a question whether a recursion ends at once, and of its result there.
pub const FRONT_OPERATORS: usize = 6;
/// Such questions one after the other.
pub const BASE_CASE_DEPTH: usize = 3;
/// Statements of a body that does little for an element of a histogram, so that an iteration has several: an index and a value of two operators each, 1,000,000
/// elements, 1.1 ms so and 1.9 in strips; twice as many operators take as long in both ways.
pub const HIST_SHORT: usize = 16;
/// Elements in an iteration of a histogram that does little for each.
pub const HIST_UNROLLED: i64 = 4;

// Strips: runs of elements in which a kernel is cut into steps.

/// Strips that a filter may keep at a time: they should stay in the cache.
pub const FILTER_BUFFERS: usize = 6;
/// The same for scans.
pub const SCAN_BUFFERS: usize = 10;
/// The same for maps and reductions with calls.
pub const STAGE_BUFFERS: usize = 8;
/// The same for strips with fewer positions, so that the buffers take no more memory: 64 at least.
pub const STAGE_BUFFERS_MOST: usize = 64;
/// Statements that are rather computed again behind a scan than stored.
pub const SCAN_AGAIN: usize = 6;
/// Elements among which the last beginning of a segment is looked for at a time: a multiple of what prefixes are computed of together, so
/// that nothing is grouped in another way from there on.
pub const SCAN_LOOK: i64 = 64;
/// Elements of a row of a ragged space from which on its scan takes groups.
pub const SCAN_LONG: i64 = 64;
/// Positions whose elements are added up with half as many bits.
pub const NARROW_STRETCH: i64 = 1 << 15;

// Groups of positions in the lanes of vectors (`codegen/cpu/lanes`).

/// Bytes of the accumulators of a sum of floats: a vector of 512 bits, or more shorter ones. Their number is the same on every
/// processor, since results depend on it.
pub const LANES_SUMS: usize = 64;
/// Vectors of the widest type in a group, for short straight code.
pub const LANES_VECTORS_STRAIGHT: usize = 4;
/// The same for other code; one where many values live at a time.
pub const LANES_VECTORS: usize = 2;
/// Statements of short code.
pub const LANES_STRAIGHT: usize = 24;
/// Cost of a group of twice as many positions, in tenths of that of two groups, from which it pays to have numbers of 64 bits in two registers: red
/// and black points of a grid of `f32` took 0.37 of the time with AVX-512, 0.5 with AVX2.
pub const LANES_DOUBLED: usize = 9;
/// Vectors that registers hold.
pub const LANES_REGISTERS: usize = 16;
/// Vectors that short code and loops may need: some are read from the stack without waiting.
pub const LANES_REGISTERS_STRAIGHT: usize = 24;
/// Scalars of lanes, like indices of elements that are read one by one, that straight code holds at the same time without being slower
/// than on fewer lanes: anti-diagonals of a matrix took twice the time with three in each of 16 lanes, and as long with 8 as with 4.
pub const LANES_APART: usize = 32;
/// Cost of gathering the element of a lane, with indices in vectors.
pub const LANES_GATHER: usize = 3;
/// The same where the processor has no gathers: indices leave vectors, and elements enter them, one by one.
pub const LANES_LOADS: usize = 4;
/// The cost of storing the element of a lane at a place of its own: the index and the element leave vectors.
pub const LANES_STORE: usize = 3;
/// The additional cost of loads of bytes into lanes: an alphabet of 64 bytes took 2.0 times as long in lanes as one by one.
pub const LANES_NARROW: usize = 2;
/// Factor of the time of an addition that a shift to the left takes, if it is a multiplication by a power of two that is made for each lane.
pub const LANES_POWER: usize = 6;
/// Elements of short rows, at most, of which a column is read or stored as whole registers by itself: that takes as many permutations of each.
pub const LANES_COLUMN: i64 = 6;
/// The same where all columns are: every position has a register of each.
pub const LANES_COLUMNS: i64 = 16;
/// The same for registers of 128 bits, of which there are 16.
pub const LANES_COLUMNS_SHORT: i64 = 8;
/// Registers of 128 bits from which the lanes of another one are chosen, at most.
pub const LANES_CHOSEN: usize = 3;
/// The time of a function of the runtime for one of several lanes at once, in additions. `f64`, in a loop of 64 iterations under a map,
/// Zen 3: sines 4.1 and 11.8 ns, exponentials 2.8 and 7.6.
pub const LANES_FUNCTION: usize = 6;
/// The same, of a scalar.
pub const SINGLE_FUNCTION: usize = 16;
/// A division of integers of 64 bits in vectors that have no conversions from and to floats, compared with one of a scalar: smallest divisors of one
/// prime took 0.8 of the time in lanes with AVX2, those of numbers of which one in eight is prime 3.7 times as long.
pub const LANES_DIVISION: usize = 3;
/// Iterations assumed of a loop.
pub const LANES_ITERATIONS: usize = 16;
/// Of 16: how long a loop takes, since lanes wait for others.
pub const LANES_WAITING: usize = 24;
/// The same for a loop with a number of iterations in each lane, in which lanes read at places of their own: rows of a sparse matrix with
/// lengths that differ much took 20 times as long as one after the other. Also for a while loop that reads along rows: sums up to a limit took 2 to 4
/// times as long for rows of 17 elements, and 10 times where few positions go on to the end.
pub const LANES_WAITING_COUNTED: usize = 128;
/// The same where a group is left if its lanes do not count far, or differ much.
pub const LANES_WAITING_EVEN: usize = 32;
/// Operators that an iteration of such a loop waits for, at least: with 2 and 3 lanes took 1 to 2 times as long for 100 iterations and 3 to 4 times for
/// 17, with 4 to 8 they took 0.3 to 0.8 of the time for 100, and 1 to 1.4 for 17. While loops that read along rows took 0.15 of the time for 200
/// iterations with 4, and at most twice the time where few positions go on to the end.
pub const LANES_LONG_WAIT: usize = 4;
/// Its iterations, in the mean of the lanes.
pub const LANES_LONG: i64 = 48;
/// Factor of the mean of the lanes up to which the longest may count.
pub const LANES_EVEN: i64 = 2;
/// Of 10: what groups may cost for them to pay.
pub const LANES_LESS: usize = 8;
/// The same for the rows of a ragged space. Their groups often end early, with a jump that was not foreseen, and what is gathered one by
/// one does not come faster.
pub const LANES_LESS_RAGGED: usize = 5;
/// Bytes of the widest registers for folds of ragged rows: with 64, sums of rows with 1 to 32 elements took 1.7 times as long, and 8 rows, each in a lane, 1.15
/// times.
pub const LANES_WIDTH_RAGGED: usize = 32;
/// Rows of a ragged space that are a group, at most, each in a lane: where a row starts is in a register for numbers.
pub const LANES_ROWS: usize = 8;
/// Operations that such a group takes before its first element.
pub const ROWS_BEGIN: i64 = 24;
/// Arrays that the lanes of such a group read, at most; half as many without AVX. Products with a sparse matrix, which read three, took 0.8 of the
/// time for rows of 5 elements, and 1.4 times as long for rows of 20, which were done alone: more values are live than there are registers.
pub const ROWS_READS: usize = 2;
/// Operations that a row alone takes besides its elements: its end has not been foreseen. Rows of 2 and 5 elements took 7.3 and 8.4 ns, an
/// iteration of a group with an addition in 8 lanes, which is 17 operations, 2.3 ns.
pub const ROW_END: i64 = 45;
/// The same for rows whose elements are a group under a mask.
pub const ROW_END_IN_GROUPS: i64 = 30;
/// Operations that each element of a row alone takes besides its own, where it is combined in 1 cycle, and where it is a float.
pub const ROW_ELEMENT: [i64; 2] = [1, 3];
/// Elements of a short row of a map that are written whatever its length, where they are written one by one.
pub const AHEAD: i64 = 4;
/// The same where they are a group.
pub const AHEAD_LANES: usize = 8;
/// Elements of a row that is done in such groups, where there are others, at most.
pub const AHEAD_ROW: i64 = 32;
/// Statements of a body that is computed for them all, at most. With 2 to 5, numbers of elements that nobody foresees took 0.3 to 0.6 of the time.
pub const AHEAD_STATEMENTS: usize = 5;
/// Statements of an operator on tuples in lanes, at most: at the end there is a copy of them for every lane.
pub const LANES_OPERATOR: usize = 64;
/// Float operators that a division of integers takes as long as, where the next iteration waits for it.
pub const DIVISION_WAITS: usize = 4;
/// Factor of the time of an operation that waits for the one before, and not only for the units that compute.
pub const LANES_CHAIN: usize = 3;
/// Neighbouring positions of a lane, if elements are combined in order.
pub const LANES_RUN: i64 = 16;
/// Groups of a row, if elements that change the result are done one by one: there is one in the first group, perhaps in the second, …
pub const LANES_KEPT: i64 = 4;
/// Divisors below are not taken for the length of a row.
pub const LANES_ROW: i64 = 64;
/// Elements of a part of an array, which a position has for itself, if that is a constant: those of all lanes are in the first or second cache.
pub const LANES_PART: i64 = 128;
/// Elements of a histogram's row from which on a loop along it updates neighbours.
pub const HIST_ROW: i64 = 4;
/// Bytes of the parts of a group whose sizes are known when the program runs.
pub const LANES_ROOM: i64 = 1 << 16;
/// Edges that are looked for: each costs some operations a segment of positions.
pub const EDGES: usize = 12;
/// Divisors below have too many edges.
pub const EDGES_DIVISOR: i64 = 8;
/// Choices by which positions are divided: the body is there once more for each.
pub const CASES: usize = 6;
/// Statements that there may be in all cases together.
pub const CASES_STATEMENTS: usize = 400;
/// Positions that are not divided, because that would take longer than they do.
pub const CASES_POSITIONS: i64 = 8;
/// The same where each segment's place in their order is known.
pub const PIECES_POSITIONS: i64 = 4;
