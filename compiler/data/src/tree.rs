//! Contents of a file, whatever a program makes of it: columns, as in a [`Value`], whose structure is the file's.

use crate::missing::Optional;
use par_runtime::io::regular::Regular;
use par_runtime::{Array, Column, Prim, Value, ValueType};

/// Some rows of data; the outermost tree is one row.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A scalar in each row.
    Scalars(Array),
    /// As many elements in each row.
    Fixed(usize, Box<Tree>),
    /// Elements as many as the offsets say: one more than there are rows, as in [`Column::Offsets`].
    Lists(Array, Box<Tree>),
    /// Parts with names; those of a tuple are called by their numbers.
    Fields(Vec<(String, Tree)>),
    /// For each row, true if it has a value (`bool`), and the values of all rows: zero, `false` or without elements where there is none.
    Optional(Array, Box<Tree>),
}

impl Tree {
    /// A whole array, or a lone scalar.
    pub fn regular(regular: Regular) -> Tree {
        let scalars = Tree::Scalars(regular.data);
        regular.dims.iter().rev().fold(scalars, |tree, n| Tree::Fixed(*n as usize, Box::new(tree)))
    }

    /// An array of so many elements.
    pub fn array(len: usize, elem: Tree) -> Tree {
        Tree::Fixed(len, Box::new(elem))
    }

    /// Texts, one in each row.
    pub fn texts(offsets: &[i64], bytes: &[u8]) -> Tree {
        Tree::Lists(Array::from_slice(offsets), Box::new(Tree::Scalars(Array::from_slice(bytes))))
    }

    /// Contents of a value. Fails for values that only the program itself can read.
    pub fn of(value: Value) -> Result<Tree, String> {
        let mut columns = value.columns.into_iter();
        build(&value.ty, &mut columns, true)
    }

    /// The rectangle of scalars that it is, if it is one.
    pub fn as_regular(&self) -> Option<Regular> {
        let mut dims = Vec::new();
        let mut inner = self;
        while let Tree::Fixed(n, elem) = inner {
            dims.push(*n as i64);
            inner = elem;
        }
        match inner {
            Tree::Scalars(data) => Some(Regular { dims, data: data.clone() }),
            _ => None,
        }
    }

    /// The rows of another tree of the same structure after these.
    pub fn append(self, other: Tree) -> Result<Tree, String> {
        let memory = |e: par_runtime::array::OutOfMemory| e.to_string();
        Ok(match (self, other) {
            (Tree::Scalars(mut a), Tree::Scalars(b)) if a.prim() == b.prim() => {
                a.append(&b).map_err(memory)?;
                Tree::Scalars(a)
            }
            (Tree::Fixed(n, a), Tree::Fixed(m, b)) if n == m => Tree::array(n, a.append(*b)?),
            (Tree::Lists(mut starts, a), Tree::Lists(others, b)) => {
                let end = starts.slice::<i64>().last().copied().unwrap_or(0);
                let rest: Vec<i64> = others.slice::<i64>().iter().skip(1).map(|o| end + o).collect();
                starts.append(&Array::from_slice(&rest)).map_err(memory)?;
                Tree::Lists(starts, Box::new(a.append(*b)?))
            }
            (Tree::Optional(mut present, a), Tree::Optional(others, b)) => {
                present.append(&others).map_err(memory)?;
                Tree::Optional(present, Box::new(a.append(*b)?))
            }
            (Tree::Fields(a), Tree::Fields(b)) if a.len() == b.len() => {
                let joined = a.into_iter().zip(b).map(|((name, a), (_, b))| Ok((name, a.append(b)?)));
                Tree::Fields(joined.collect::<Result<_, String>>()?)
            }
            (a, b) => {
                return Err(format!("parts of the file differ: {} and {}", a.type_name(), b.type_name()));
            }
        })
    }

    /// True if every row is a text.
    pub fn is_text(&self) -> bool {
        matches!(self, Tree::Lists(_, elem) if matches!(&**elem, Tree::Scalars(a) if a.prim() == Prim::U8))
    }

    /// The type, as in messages: `[2][]f32`, `{x: [3]f32}`.
    pub fn type_name(&self) -> String {
        match self {
            Tree::Scalars(a) => a.prim().to_string(),
            Tree::Fixed(n, elem) => format!("[{n}]{}", elem.type_name()),
            Tree::Lists(_, elem) => format!("[]{}", elem.type_name()),
            Tree::Optional(_, elem) => format!("({} or nothing)", elem.type_name()),
            Tree::Fields(fields) => {
                let mut names: Vec<String> =
                    fields.iter().take(SHOWN).map(|(name, t)| format!("{name}: {}", t.type_name())).collect();
                if fields.len() > SHOWN {
                    names.push("…".into());
                }
                format!("{{{}}}", names.join(", "))
            }
        }
    }
}

/// So many fields are shown in messages.
const SHOWN: usize = 8;

fn build(ty: &ValueType, columns: &mut std::vec::IntoIter<Column>, outermost: bool) -> Result<Tree, String> {
    let malformed = || "a value's columns do not fit its type".to_string();
    match ty {
        ValueType::Prim(prim) => match columns.next().ok_or_else(malformed)? {
            Column::Scalar(x) if outermost => Ok(Tree::Scalars(Array::from_scalars(*prim, &[x]))),
            Column::Data(data) if !outermost => Ok(Tree::Scalars(data)),
            _ => Err(malformed()),
        },
        ValueType::Tuple(types) => {
            let parts = types.iter().enumerate();
            let parts = parts.map(|(i, t)| Ok((i.to_string(), part(t, columns, outermost)?)));
            Ok(Tree::Fields(parts.collect::<Result<_, String>>()?))
        }
        ValueType::Record(fields) => {
            let trees = fields.try_map(|t| part(t, columns, outermost))?;
            Ok(Tree::Fields(trees.into_written()))
        }
        ValueType::Array { elem, .. } => match columns.next().ok_or_else(malformed)? {
            Column::Size(n) => {
                Ok(Tree::array(usize::try_from(n).map_err(|_| malformed())?, build(elem, columns, false)?))
            }
            Column::Offsets(offsets) => Ok(Tree::Lists(offsets, Box::new(build(elem, columns, false)?))),
            _ => Err(malformed()),
        },
        ValueType::Sum(cases) if cases.iter().all(|(_, payload)| payload.is_empty()) => {
            let tags = build(&ValueType::Prim(Prim::of_constructors(cases.len())), columns, outermost)?;
            let Tree::Scalars(tags) = tags else { return Err(malformed()) };
            names(&tags, cases).ok_or_else(malformed)
        }
        ValueType::Sum(cases) => {
            let optional = Optional::of(cases)
                .ok_or_else(|| format!("a value of the sum type {ty} can only be written as text"))?;
            let tags = build(&ValueType::Prim(Prim::of_constructors(cases.len())), columns, outermost)?;
            let Tree::Scalars(tags) = tags else { return Err(malformed()) };
            let elem = build(optional.ty, columns, outermost)?;
            Ok(Tree::Optional(optional.present(&tags), Box::new(elem)))
        }
        ValueType::Opaque { name, .. } => {
            Err(format!("a value of the abstract type {name} cannot be written"))
        }
    }
}

/// A component. In rows it is texts if it may be, even if they happen to be of one length.
fn part(ty: &ValueType, columns: &mut std::vec::IntoIter<Column>, outermost: bool) -> Result<Tree, String> {
    let tree = build(ty, columns, outermost)?;
    let open = matches!(ty, ValueType::Array { size: None, elem, .. } if **elem == ValueType::Prim(Prim::U8));
    Ok(match tree {
        Tree::Fixed(n, bytes) if open && n > 0 && !outermost => match &*bytes {
            Tree::Scalars(all) => {
                let ends: Vec<i64> = (0..=all.len() / n).map(|row| (row * n) as i64).collect();
                Tree::Lists(Array::from_slice(&ends), bytes)
            }
            _ => Tree::Fixed(n, bytes),
        },
        tree => tree,
    })
}

/// The names of constructors.
fn names(tags: &Array, cases: &[(String, Vec<ValueType>)]) -> Option<Tree> {
    let (mut ends, mut bytes) = (vec![0], Vec::new());
    for i in 0..tags.len() {
        let tag = usize::try_from(tags.get(i).as_i64()?).ok()?;
        bytes.extend_from_slice(cases.get(tag)?.0.as_bytes());
        ends.push(bytes.len() as i64);
    }
    Some(Tree::texts(&ends, &bytes))
}
