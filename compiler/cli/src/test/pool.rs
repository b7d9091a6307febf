//! Processes that test one file each, several at a time.

use par::testing::{Event, Problem, Test};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Pool of processes that run the tests of files.
pub struct Pool {
    /// Maximum number of processes at a time.
    pub jobs: usize,
    /// Time limit of each process.
    pub limit: Duration,
    /// Arguments of the command before the file.
    pub arguments: Vec<String>,
}

/// Message about a file.
pub enum Message {
    /// Its process begins.
    Start(PathBuf),
    /// The file is done.
    Done(FileResult),
}

/// The tests of a file.
pub struct FileResult {
    /// Path of the file.
    pub file: PathBuf,
    /// Results of its tests.
    pub tests: Vec<Test>,
    /// True if it was only compiled.
    pub no_tests: bool,
    /// Time that its process ran.
    pub time: Duration,
}

/// Place, name and back end of a test that has begun.
type Begun = (String, String, Option<String>);

impl Pool {
    /// Tests the files; `tell` hears of each as its process begins and ends.
    pub fn run(&self, files: &[PathBuf], mut tell: impl FnMut(Message)) -> Result<(), String> {
        let command = crate::this_command()?;
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..self.jobs {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || self.take_files(command, files, next, &sender));
            }
            drop(sender);
            receiver.into_iter().for_each(&mut tell);
        });
        Ok(())
    }

    fn take_files(&self, command: &Path, files: &[PathBuf], next: &AtomicUsize, sender: &Sender<Message>) {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            // The receiver lives as long as this thread.
            let _ = sender.send(Message::Start(file.clone()));
            let _ = sender.send(Message::Done(self.test_file(command, file)));
        }
    }

    fn test_file(&self, command: &Path, file: &Path) -> FileResult {
        let start = Instant::now();
        let mut result =
            FileResult { file: file.to_path_buf(), tests: Vec::new(), no_tests: false, time: Duration::ZERO };
        let child = Command::new(command)
            .args(&self.arguments)
            .arg("--")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        match child {
            Ok(child) => self.watch(child, start, &mut result),
            Err(e) => result.add_bug(None, format!("the process cannot be started: {e}")),
        }
        result.time = start.elapsed();
        result
    }

    /// Takes what the process says until it ends or its time is up.
    fn watch(&self, mut child: Child, start: Instant, result: &mut FileResult) {
        let events = child.stdout.take().map(read_events);
        let errors = child.stderr.take().map(|mut pipe| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                // What was read before an error is kept.
                let _ = pipe.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        let mut current = None;
        let in_time = events.is_none_or(|events| self.take_events(&events, start, result, &mut current));
        if !in_time {
            // It may have ended at this moment.
            let _ = child.kill();
        }
        let ended = child.wait();
        let said = errors.and_then(|thread| thread.join().ok()).unwrap_or_default();
        match ended {
            _ if !in_time => {
                let message = format!("did not end within {} s", self.limit.as_secs_f64());
                result.add(current, Problem::failed(message));
            }
            Ok(status) if status.success() => {}
            Ok(status) => result.add_bug(current, describe(status, &said)),
            Err(e) => result.add_bug(current, format!("the process is lost: {e}")),
        }
    }

    /// True if the events ended in time. `current` is the test that has begun.
    fn take_events(
        &self,
        events: &Receiver<Event>,
        start: Instant,
        result: &mut FileResult,
        current: &mut Option<Begun>,
    ) -> bool {
        loop {
            match events.recv_timeout(self.limit.saturating_sub(start.elapsed())) {
                Ok(Event::Begin { place, name, target }) => *current = Some((place, name, target)),
                Ok(Event::Done(test)) => {
                    *current = None;
                    result.tests.push(test);
                }
                Ok(Event::NoTests) => result.no_tests = true,
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }
}

/// The events that a process writes, until it closes its output.
fn read_events(pipe: impl Read + Send + 'static) -> Receiver<Event> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            // Half a line is left by a process that crashed; after a timeout nobody listens.
            if let Ok(event) = serde_json::from_str(&line)
                && sender.send(event).is_err()
            {
                return;
            }
        }
    });
    receiver
}

/// Exit status of a process as text, and the last lines of its output.
fn describe(status: ExitStatus, said: &str) -> String {
    const LINES: usize = 20;
    let lines: Vec<&str> = said.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    format!("the process that ran it ended: {status}\n{}", last.join("\n"))
}

impl FileResult {
    fn add(&mut self, test: Option<Begun>, problem: Problem) {
        let unknown = || (self.file.display().to_string(), "testing".into(), None);
        let (place, name, target) = test.unwrap_or_else(unknown);
        self.tests.push(Test { place, name, target, problem: Some(problem), time: Duration::ZERO });
    }

    fn add_bug(&mut self, test: Option<Begun>, message: String) {
        self.add(test, Problem::bug(message));
    }
}
