//! Kinds of text at the prompt: declarations, values to keep, an expression, or the beginning of one.

use par_syntax::ast::{Dec, DecKind, Def, Exp, ExpKind, Ident, Name, Pat, PatKind, Span};
use par_syntax::{Diagnostic, parse, parse_expression};

/// Input of a person.
pub(super) enum Input {
    /// Nothing but comments and blanks.
    Nothing,
    /// Definitions, types, modules, imports.
    Declarations,
    /// To be evaluated now: its value is kept under these names, none for an expression.
    Evaluate { def: Box<Def>, names: Vec<String> },
    /// Wrong; `unfinished` if more text could make it right.
    Wrong { diagnostics: Vec<Diagnostic>, unfinished: bool },
}

/// The name of the definition that is evaluated. No program can mention it.
pub(super) const ENTRY: &str = "this input";

/// Words that begin a declaration.
const DECLARATIONS: [&str; 7] = ["def", "entry", "type", "module", "import", "open", "local"];

/// Reads a piece of text, which has this index among the sources.
pub(super) fn read(text: &str, file: u32) -> Input {
    let Some(start) = first_token(text) else {
        // A documentation comment belongs to what follows.
        let documents = text.trim_start().starts_with("-- |");
        return if documents { wrong(Vec::new(), true) } else { Input::Nothing };
    };
    let rest = &text[start..];
    let word: &str = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
    if word == "let" {
        return read_let(text, file);
    }
    if DECLARATIONS.contains(&word) || rest.starts_with("#[") {
        let (_, diagnostics) = parse(text, file);
        if diagnostics.is_empty() {
            return Input::Declarations;
        }
        // An attribute may also belong to an expression.
        return match parse_expression(text, file) {
            (Some(exp), wrong) if wrong.is_empty() && word.is_empty() => evaluate(exp, Vec::new()),
            (_, wrong) if word.is_empty() && is_unfinished(&wrong) => from_errors(wrong),
            _ => from_errors(diagnostics),
        };
    }
    match parse_expression(text, file) {
        (Some(exp), diagnostics) if diagnostics.is_empty() => evaluate(exp, Vec::new()),
        (_, diagnostics) => from_errors(diagnostics),
    }
}

/// See [`super::split`].
pub(super) fn split(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut piece = String::new();
    for line in text.lines() {
        piece.push_str(line);
        let is_command = piece.trim_start().starts_with(':');
        if !is_command && matches!(read(&piece, 0), Input::Wrong { unfinished: true, .. }) {
            piece.push('\n');
        } else {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    pieces.push(piece);
    pieces.retain(|piece| !piece.trim().is_empty());
    let kinds: Vec<Input> = pieces.iter().map(|piece| read(piece, 0)).collect();
    let is_wrong = |(input, piece): (&Input, &String)| {
        matches!(input, Input::Wrong { .. }) && !piece.trim_start().starts_with(':')
    };
    let together = kinds.iter().zip(&pieces).any(is_wrong)
        || kinds.iter().all(|input| matches!(input, Input::Declarations | Input::Nothing));
    if together { vec![text.to_string()] } else { pieces }
}

/// `let x = e in …` is an expression, `let x = e` and `let (x, y) = e` keep values, `let f x = e` defines a function.
fn read_let(text: &str, file: u32) -> Input {
    let (exp, exp_errors) = parse_expression(text, file);
    if let (Some(exp), true) = (exp, exp_errors.is_empty()) {
        return evaluate(exp, Vec::new());
    }
    let (tree, errors) = parse(text, file);
    if errors.is_empty() {
        return match <[Dec; 1]>::try_from(tree.decs) {
            Ok([Dec { kind: DecKind::Def(def), .. }])
                if def.params.is_empty() && def.type_params.is_empty() =>
            {
                let names = vec![def.name.name.clone()];
                let name = Ident { name: ENTRY.into(), span: def.name.span };
                Input::Evaluate { def: Box::new(Def { name, entry: false, ..def.into_def() }), names }
            }
            _ => Input::Declarations,
        };
    }
    // Behind a line break, so that a comment at the end is no obstacle.
    if let (Some(exp), closed) = parse_expression(&format!("{text}\nin ()"), file)
        && closed.is_empty()
        && let ExpKind::Let { pat, .. } = &exp.kind
    {
        let mut names = Vec::new();
        bound_names(pat, &mut names);
        return evaluate(give_back(exp, &names), names);
    }
    let unfinished = is_unfinished(&errors) || is_unfinished(&exp_errors);
    let place = |ds: &[Diagnostic]| ds.first().and_then(|d| d.labels.first()).map_or(0, |l| l.span.start);
    let diagnostics = if place(&exp_errors) > place(&errors) { exp_errors } else { errors };
    wrong(diagnostics, unfinished)
}

fn evaluate(exp: Exp, names: Vec<String>) -> Input {
    let name = Ident { name: ENTRY.into(), span: exp.span };
    let def = Def { name, entry: false, type_params: vec![], params: vec![], ret: None, body: exp };
    Input::Evaluate { def: Box::new(def), names }
}

/// `let p = e in ()` with what `p` binds as its result.
fn give_back(mut exp: Exp, names: &[String]) -> Exp {
    if let ExpKind::Let { pat, body, .. } = &mut exp.kind {
        let variable = |name: &String| Exp {
            kind: ExpKind::Name(Name { path: Vec::new(), base: name.clone(), span: pat.span }),
            span: pat.span,
        };
        let mut parts: Vec<Exp> = names.iter().map(variable).collect();
        **body = match (parts.len(), parts.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                parts.extend(last);
                Exp { kind: ExpKind::Tuple(parts), span: pat.span }
            }
        };
    }
    exp
}

fn bound_names(pat: &Pat, out: &mut Vec<String>) {
    match &pat.kind {
        PatKind::Name(name) => out.push(name.clone()),
        PatKind::Wildcard | PatKind::Literal(_) => {}
        PatKind::Tuple(ps) | PatKind::Constr(_, ps) => ps.iter().for_each(|p| bound_names(p, out)),
        PatKind::Record(fs) => fs.iter().for_each(|(field, p)| match p {
            Some(p) => bound_names(p, out),
            None => out.push(field.name.clone()),
        }),
        PatKind::Ascribe(p, _) | PatKind::Attr(_, p) => bound_names(p, out),
    }
}

/// Offset of the first text that is neither blank nor a comment; `None` if there is none.
fn first_token(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        if !code.is_empty() && !code.starts_with("--") {
            return Some(at + line.len() - code.len());
        }
        at += line.len();
    }
    None
}

fn from_errors(diagnostics: Vec<Diagnostic>) -> Input {
    let unfinished = is_unfinished(&diagnostics);
    wrong(diagnostics, unfinished)
}

fn wrong(diagnostics: Vec<Diagnostic>, unfinished: bool) -> Input {
    Input::Wrong { diagnostics, unfinished }
}

/// True if more text could mend all that is wrong.
fn is_unfinished(diagnostics: &[Diagnostic]) -> bool {
    !diagnostics.is_empty() && diagnostics.iter().all(|d| d.unfinished)
}

/// The place of a whole input.
pub(super) fn whole(file: u32, text: &str) -> Span {
    Span { file, start: 0, end: text.trim_end().len() as u32 }
}
