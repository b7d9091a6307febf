//! Files in a session: loading them, and making the session again when they have changed.

use super::{Notes, Session};
use crate::failure::Failure;
use par_runtime::Value;

/// Item that a session was made of, to make it again when files have changed.
#[derive(Clone)]
pub(super) enum Item {
    File(String),
    Text(String),
    Value(String, Value),
}

impl Session {
    /// Adds the declarations of a file, and those it imports. Like any others they hide earlier ones.
    pub fn load(&mut self, path: &str, text: &str) -> Result<Notes, Failure> {
        let notes = self.declare(text, path)?;
        self.items.push(Item::File(path.to_string()));
        Ok(notes)
    }

    /// Reads all loaded files again. Values stay; declarations of the prompt that are not right any more are given
    /// back and left out. With an error in a file everything stays as it was.
    pub fn reload(
        &mut self,
        read: &mut dyn FnMut(&str) -> Result<String, Failure>,
    ) -> Result<Vec<String>, Failure> {
        let mut texts = Vec::new();
        for item in &self.items {
            if let Item::File(path) = item {
                texts.push((path.clone(), read(path)?));
            }
        }
        let mut failures = Vec::new();
        let mut text_of = |path: &str| texts.iter().find(|(p, _)| p == path).map(|(_, text)| text.clone());
        let next = self.replay(&mut text_of, &mut failures);
        let mut lost = Vec::new();
        for (item, failure) in failures {
            match item {
                Item::File(_) => return Err(failure),
                Item::Text(text) => lost.push(text),
                Item::Value(..) => {}
            }
        }
        *self = next;
        Ok(lost)
    }

    /// The same items once more, without those that fail now.
    fn replay(
        &self,
        text_of: &mut dyn FnMut(&str) -> Option<String>,
        failures: &mut Vec<(Item, Failure)>,
    ) -> Session {
        let mut fresh = Session { next: self.next, ..Session::new(&self.options) };
        for (i, item) in self.items.iter().enumerate() {
            let result = match item {
                Item::File(path) => {
                    let text = text_of(path).unwrap_or_default();
                    fresh.declare(&text, path).map(|_| ())
                }
                Item::Text(text) => fresh.declare(text, &format!("<kept {}>", i + 1)).map(|_| ()),
                Item::Value(name, value) => {
                    fresh.store(name, value.clone());
                    Ok(())
                }
            };
            match result {
                Ok(()) if matches!(item, Item::Value(..)) => {}
                Ok(()) => fresh.items.push(item.clone()),
                Err(failure) => failures.push((item.clone(), failure)),
            }
        }
        fresh
    }
}
