//! Fields of records.

use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// The fields of a record in the order of their names, which is that of columns and of everything that is compared, and the order in
/// which the program writes them, which is the one to show. The second is no part of the type: records with the same fields are equal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fields<T> {
    by_name: Vec<(String, T)>,
    /// Places in `by_name`; empty if both orders are the same.
    written: Vec<u32>,
}

impl<T> Fields<T> {
    /// Fields as they are written.
    pub fn written(fields: Vec<(String, T)>) -> Fields<T> {
        let mut numbered: Vec<(u32, (String, T))> = (0..).zip(fields).collect();
        numbered.sort_by(|a, b| a.1.0.cmp(&b.1.0));
        let mut written = vec![0; numbered.len()];
        (0..).zip(&numbered).for_each(|(place, (number, _))| written[*number as usize] = place);
        if written.is_sorted() {
            written.clear();
        }
        Fields { by_name: numbered.into_iter().map(|(_, field)| field).collect(), written }
    }

    /// Each field's part made into something else; the orders stay.
    pub fn map<'a, U>(&'a self, mut f: impl FnMut(&'a T) -> U) -> Fields<U> {
        let by_name = self.by_name.iter().map(|(name, part)| (name.clone(), f(part))).collect();
        Fields { by_name, written: self.written.clone() }
    }

    /// As [`Fields::map`], of the parts themselves.
    pub fn into_map<U>(self, mut f: impl FnMut(T) -> U) -> Fields<U> {
        let by_name = self.by_name.into_iter().map(|(name, part)| (name, f(part))).collect();
        Fields { by_name, written: self.written }
    }

    /// As [`Fields::map`], until one fails.
    pub fn try_map<'a, U, E>(&'a self, mut f: impl FnMut(&'a T) -> Result<U, E>) -> Result<Fields<U>, E> {
        let parts = self.by_name.iter().map(|(name, part)| Ok((name.clone(), f(part)?)));
        Ok(Fields { by_name: parts.collect::<Result<_, E>>()?, written: self.written.clone() })
    }

    /// The places of the fields in the order of names, as they are written.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        (0..self.by_name.len()).map(|i| self.written.get(i).map_or(i, |place| *place as usize))
    }

    /// The fields as they are written.
    pub fn into_written(self) -> Vec<(String, T)> {
        let places: Vec<usize> = self.places().collect();
        let mut fields: Vec<Option<(String, T)>> = self.by_name.into_iter().map(Some).collect();
        places.into_iter().filter_map(|place| fields[place].take()).collect()
    }

    /// The fields as they are written.
    pub fn in_order(&self) -> impl Iterator<Item = &(String, T)> {
        self.places().map(|place| &self.by_name[place])
    }
}

/// From fields in the order of their names.
impl<T> FromIterator<(String, T)> for Fields<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(fields: I) -> Fields<T> {
        Fields { by_name: fields.into_iter().collect(), written: Vec::new() }
    }
}

/// From fields in the order of their names.
impl<T> From<Vec<(String, T)>> for Fields<T> {
    fn from(by_name: Vec<(String, T)>) -> Fields<T> {
        Fields { by_name, written: Vec::new() }
    }
}

impl<T> Deref for Fields<T> {
    type Target = [(String, T)];

    fn deref(&self) -> &[(String, T)] {
        &self.by_name
    }
}

impl<T> DerefMut for Fields<T> {
    fn deref_mut(&mut self) -> &mut [(String, T)] {
        &mut self.by_name
    }
}

impl<T> IntoIterator for Fields<T> {
    type Item = (String, T);
    type IntoIter = std::vec::IntoIter<(String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.by_name.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Fields<T> {
    type Item = &'a (String, T);
    type IntoIter = std::slice::Iter<'a, (String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.by_name.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Fields<T> {
    type Item = &'a mut (String, T);
    type IntoIter = std::slice::IterMut<'a, (String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.by_name.iter_mut()
    }
}

impl<T: PartialEq> PartialEq for Fields<T> {
    fn eq(&self, other: &Fields<T>) -> bool {
        self.by_name == other.by_name
    }
}

impl<T: Eq> Eq for Fields<T> {}

impl<T: Hash> Hash for Fields<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.by_name.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn both_orders() {
        let fields = Fields::written(vec![("z".to_string(), 1), ("a".into(), 2), ("m".into(), 3)]);
        assert_eq!(fields.iter().map(|f| f.1).collect::<Vec<_>>(), [2, 3, 1]);
        assert_eq!(fields.in_order().map(|f| f.1).collect::<Vec<_>>(), [1, 2, 3]);
        let doubled = fields.map(|n| 2 * n);
        assert_eq!(doubled.in_order().map(|f| f.1).collect::<Vec<_>>(), [2, 4, 6]);
        assert_eq!(doubled, Fields::from(doubled.iter().cloned().collect::<Vec<_>>()));
    }
}
