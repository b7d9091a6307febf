//! Documents, and printing them.
//!
//! A document is the tokens of a program in order with places between them where a line may end. Printing decides for each
//! place: it ends if the author ended it there, or if what follows, up to the next such place, does not fit.

use crate::source::{Comment, Source};

/// A document.
#[derive(Debug)]
pub enum Doc {
    /// Nothing.
    Empty,
    /// The token of this number.
    Token(usize),
    /// A token that closes what is indented; the comments before it are inside.
    Close(usize),
    /// A blank.
    Space,
    /// The end of a line.
    Hard,
    /// A blank; the end of a line if the `Group` around it is broken.
    Line,
    /// One after the other.
    Cat(Vec<Doc>),
    /// Items with places between them, each of which may be the end of a line by itself.
    Fill(Box<Doc>, Vec<(Break, Doc)>),
    /// Lines that begin inside are indented by this much more.
    Nest(usize, Box<Doc>),
    /// Lines that begin inside begin where this does.
    Align(Box<Doc>),
    /// All its `Line`s are the ends of lines, or none: if `broken`, or if it does not fit.
    Group { broken: bool, body: Box<Doc> },
}

/// A place in a `Fill`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Break {
    /// The author broke the line here.
    pub forced: bool,
    /// Nothing stands here if the line does not end.
    pub tight: bool,
    /// A line that begins here begins this many columns left of the others.
    pub outdent: usize,
    /// If the line ends here, lines that begin inside the item are indented by this much more.
    pub nest: usize,
    /// When it ends a line.
    pub kind: BreakKind,
}

/// When a place ends a line that the author did not end there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BreakKind {
    /// If what follows does not fit.
    #[default]
    Soft,
    /// If what follows does not fit, but would on a line of its own; if not, it is broken inside.
    Helpful,
    /// Never.
    Rigid,
}

impl Doc {
    /// True if a line ends inside, whatever the width.
    pub fn is_broken(&self) -> bool {
        match self {
            Doc::Hard => true,
            Doc::Empty | Doc::Token(_) | Doc::Close(_) | Doc::Space | Doc::Line => false,
            Doc::Cat(docs) => docs.iter().any(Doc::is_broken),
            Doc::Fill(first, rest) => {
                first.is_broken() || rest.iter().any(|(b, d)| b.forced || d.is_broken())
            }
            Doc::Nest(_, doc) | Doc::Align(doc) => doc.is_broken(),
            Doc::Group { broken, body } => *broken || body.is_broken(),
        }
    }
}

/// Indentation of the comments before a closing token, relative to that token.
const CLOSE: usize = 2;

/// Prints a document and the comments that no token follows.
pub fn print(source: &Source, doc: &Doc, width: usize) -> String {
    let (out, todo) = (String::new(), vec![Todo::Doc { indent: 0, broken: true, doc }]);
    let mut printer = Printer { source, width, out, column: 0, pending: Pending::Nothing, todo };
    printer.run();
    printer.comments(&source.rest, 0);
    if !printer.out.is_empty() {
        printer.out.push('\n');
    }
    printer.out
}

/// Space that has to be written before the next token.
#[derive(Clone, Copy, PartialEq)]
enum Pending {
    Nothing,
    Space,
    /// A new line that is indented by this much.
    Line(usize),
}

#[derive(Clone, Copy)]
enum Todo<'d> {
    /// `broken` says what `Line`s are.
    Doc { indent: usize, broken: bool, doc: &'d Doc },
    /// A place before the next item of a `Fill`.
    Break { indent: usize, at: Break },
}

struct Printer<'s, 'd> {
    source: &'s Source<'s>,
    width: usize,
    out: String,
    column: usize,
    pending: Pending,
    /// Documents still to be printed, last first.
    todo: Vec<Todo<'d>>,
}

impl<'d> Printer<'_, 'd> {
    fn run(&mut self) {
        while let Some(todo) = self.todo.pop() {
            match todo {
                Todo::Doc { indent, broken, doc } => self.doc(indent, broken, doc),
                Todo::Break { indent, at } => self.place(indent, at),
            }
        }
    }

    fn doc(&mut self, indent: usize, broken: bool, doc: &'d Doc) {
        match doc {
            Doc::Empty => {}
            Doc::Token(i) => self.token(*i, indent, 0),
            Doc::Close(i) => self.token(*i, indent, CLOSE),
            Doc::Space => self.space(),
            Doc::Hard => self.line(indent),
            Doc::Line if broken => self.line(indent),
            Doc::Line => self.space(),
            Doc::Cat(docs) => {
                self.todo.extend(docs.iter().rev().map(|doc| Todo::Doc { indent, broken, doc }));
            }
            Doc::Fill(first, rest) => {
                for (at, doc) in rest.iter().rev() {
                    self.todo.push(Todo::Doc { indent, broken: false, doc });
                    self.todo.push(Todo::Break { indent, at: *at });
                }
                self.todo.push(Todo::Doc { indent, broken: false, doc: first });
            }
            Doc::Nest(n, doc) => self.todo.push(Todo::Doc { indent: indent + n, broken, doc }),
            Doc::Align(doc) => self.todo.push(Todo::Doc { indent: self.next_column(), broken, doc }),
            Doc::Group { broken, body } => {
                // What follows the group on its last line has to fit, too.
                self.todo.push(Todo::Doc { indent, broken: false, doc: body });
                let broken = *broken || !self.fits(self.next_column());
                self.todo.pop();
                self.todo.push(Todo::Doc { indent, broken, doc: body });
            }
        }
    }

    fn place(&mut self, indent: usize, at: Break) {
        let indent = (indent + at.nest).saturating_sub(at.outdent);
        let here = self.next_column() + usize::from(!at.tight);
        let ends = at.forced
            || match at.kind {
                BreakKind::Rigid => false,
                BreakKind::Soft => !self.fits(here),
                BreakKind::Helpful => !self.fits(here) && self.fits(indent),
            };
        if ends {
            if let Some(Todo::Doc { indent, .. }) = self.todo.last_mut() {
                *indent += at.nest;
            }
            self.line(indent);
        } else if !at.tight {
            self.space();
        }
    }

    /// The column of the next token.
    fn next_column(&self) -> usize {
        match self.pending {
            Pending::Nothing => self.column,
            Pending::Space => self.column + 1,
            Pending::Line(indent) => indent,
        }
    }

    fn space(&mut self) {
        if self.pending == Pending::Nothing {
            self.pending = Pending::Space;
        }
    }

    fn line(&mut self, indent: usize) {
        self.pending = Pending::Line(indent);
    }

    /// True if what is to be printed next, without line breaks that are not forced, fits when it begins in a column: it
    /// and what follows up to the next place where a line may end.
    fn fits(&self, column: usize) -> bool {
        let mut room = Room { source: self.source, left: self.width as isize - column as isize };
        for (nth, todo) in self.todo.iter().rev().enumerate() {
            let verdict = match *todo {
                Todo::Break { at, .. } if at.forced || at.kind != BreakKind::Rigid => Some(true),
                Todo::Break { at, .. } => room.take(usize::from(!at.tight)),
                Todo::Doc { doc, broken, .. } => room.doc(doc, broken, nth == 0),
            };
            if let Some(fits) = verdict {
                return fits;
            }
        }
        true
    }

    fn token(&mut self, i: usize, indent: usize, inside: usize) {
        let source = self.source;
        let Some(token) = source.tokens.get(i) else { return };
        if let (Pending::Line(line), false) = (self.pending, token.comments.is_empty()) {
            self.pending = Pending::Line(line + inside);
        }
        self.comments(&token.comments, indent);
        if let (Pending::Line(line), false) = (self.pending, token.comments.is_empty()) {
            self.pending = Pending::Line(line.saturating_sub(inside));
        }
        self.lead(token.breaks);
        self.write(token.text);
    }

    /// Comments on lines of their own, the first one perhaps at the end of the line that is there.
    fn comments(&mut self, comments: &[Comment], indent: usize) {
        for comment in comments {
            let line = if let Pending::Line(line) = self.pending { line } else { indent };
            if comment.breaks == 0 && !self.out.is_empty() {
                self.write(&" ".repeat(comment.blanks));
            } else {
                self.pending = Pending::Line(line);
                self.lead(comment.breaks);
            }
            self.write(comment.text);
            self.pending = Pending::Line(line);
        }
    }

    /// Writes what is pending. Of several line breaks in the source, empty lines remain: one, or two between declarations.
    fn lead(&mut self, breaks: usize) {
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            Pending::Space => self.write(" "),
            Pending::Line(indent) => {
                if !self.out.is_empty() {
                    let most = if indent == 0 { 3 } else { 2 };
                    self.out.push_str(&"\n".repeat(breaks.clamp(1, most)));
                }
                self.column = 0;
                self.write(&" ".repeat(indent));
            }
        }
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }
}

/// Rest of a line.
struct Room<'s> {
    source: &'s Source<'s>,
    left: isize,
}

impl Room<'_> {
    /// Takes columns; says no if there are not so many.
    fn take(&mut self, columns: usize) -> Option<bool> {
        self.left -= columns as isize;
        if self.left < 0 { Some(false) } else { None }
    }

    /// Takes a document's columns; says whether it fits if that is known before its end. `flat`: only forced ends of
    /// lines count, because this is what is wanted on one line; else every place where a line may end does.
    fn doc(&mut self, doc: &Doc, broken: bool, flat: bool) -> Option<bool> {
        match doc {
            Doc::Empty => None,
            Doc::Token(i) | Doc::Close(i) => match self.source.tokens.get(*i) {
                Some(token) if !token.comments.is_empty() => Some(true),
                Some(token) => self.take(token.text.chars().count()),
                None => None,
            },
            Doc::Space => self.take(1),
            Doc::Hard => Some(true),
            Doc::Line if broken => Some(true),
            Doc::Line => self.take(1),
            Doc::Cat(docs) => docs.iter().find_map(|doc| self.doc(doc, broken, flat)),
            Doc::Fill(first, rest) => self.doc(first, false, flat).or_else(|| {
                rest.iter().find_map(|(at, doc)| match (at.forced, flat, at.kind) {
                    (true, _, _) | (_, false, BreakKind::Soft | BreakKind::Helpful) => Some(true),
                    _ => self.take(usize::from(!at.tight)).or_else(|| self.doc(doc, false, flat)),
                })
            }),
            Doc::Nest(_, doc) | Doc::Align(doc) => self.doc(doc, broken, flat),
            Doc::Group { broken, body } => self.doc(body, *broken || !flat, flat),
        }
    }
}
