//! Declarations and modules.

use super::run::Mode;
use super::{Layout, STEP, align, fill};
use crate::doc::{Break, BreakKind, Doc};
use par_syntax::ast::{Dec, DecKind, Def, ExpKind, ModExp, SigExp, Spec};

/// Content of the braces of a module.
#[derive(Clone, Copy)]
enum Block<'e> {
    Decs(&'e [Dec]),
    Specs,
}

/// Braces by where they begin.
type Blocks<'e> = Vec<(u32, Block<'e>)>;

impl Layout<'_> {
    /// Declarations, each beginning on a line of its own.
    pub(super) fn decs(&mut self, decs: &[Dec]) -> Doc {
        let mut docs = Vec::new();
        for dec in decs {
            docs.extend([Doc::Hard, self.dec(dec)]);
        }
        Doc::Cat(docs)
    }

    fn dec(&mut self, dec: &Dec) -> Doc {
        let mut docs = Vec::new();
        for attr in &dec.attrs {
            docs.push(self.run(self.end_of(attr.span), Mode::Plain));
            docs.push(if self.is_broken() { Doc::Hard } else { Doc::Space });
        }
        let end = self.end_of(dec.span);
        docs.push(match &dec.kind {
            DecKind::Def(def) => self.def(def),
            DecKind::Type { ty, .. } => {
                let head = self.run(self.token_at(ty.span.start), Mode::Plain);
                self.hang(head, BreakKind::Soft, |layout| align(layout.run(end, Mode::Plain)))
            }
            DecKind::Local(inner) => {
                let word = self.token();
                Doc::Cat(vec![word, Doc::Space, self.dec(inner)])
            }
            DecKind::Module { params, sig, body, .. } => {
                let mut blocks = Vec::new();
                params.iter().for_each(|(_, sig)| sig_blocks(sig, &mut blocks));
                sig.iter().for_each(|sig| sig_blocks(sig, &mut blocks));
                module_blocks(body, &mut blocks);
                self.module(end, &blocks)
            }
            DecKind::ModuleType { sig, .. } => {
                let mut blocks = Vec::new();
                sig_blocks(sig, &mut blocks);
                self.module(end, &blocks)
            }
            DecKind::Open(module) => {
                let mut blocks = Vec::new();
                module_blocks(module, &mut blocks);
                self.module(end, &blocks)
            }
            DecKind::Import { .. } => self.run(end, Mode::Plain),
        });
        docs.push(self.run(end, Mode::Plain));
        Doc::Cat(docs)
    }

    fn def(&mut self, def: &Def) -> Doc {
        let word = self.token();
        let body = self.token_at(def.body.span.start);
        // Lines of the head begin where the parameters do.
        let infix = self.at() == "(" && !matches!(self.text(self.next + 2), ")");
        let name = match (infix, self.at()) {
            (true, _) => Doc::Empty,
            (false, "(") => Doc::Cat(vec![self.token(), self.token(), self.token()]),
            _ => self.token(),
        };
        let gap = if infix || self.next + 1 >= body { Doc::Empty } else { Doc::Space };
        let rest = self.run(body, Mode::Head);
        let plain = matches!(gap, Doc::Empty) && !infix;
        let rest = if plain { Doc::Cat(vec![Doc::Space, rest]) } else { align(rest) };
        let head = Doc::Cat(vec![word, Doc::Space, name, gap, rest]);
        let mut place = Break { nest: STEP, ..self.place(BreakKind::Soft) };
        let body = self.exp(&def.body);
        // Cases over several lines would stand far to the right.
        place.forced |= matches!(def.body.kind, ExpKind::Match { .. }) && body.is_broken();
        fill(head, vec![(place, body)])
    }

    /// The rest of a module declaration.
    fn module(&mut self, end: usize, blocks: &Blocks) -> Doc {
        let mut docs = Vec::new();
        let mut depth = 0;
        while self.next < end {
            if !docs.is_empty() && self.sig_blank(depth) {
                docs.push(Doc::Space);
            }
            depth += self.depth(blocks);
            docs.push(self.module_token(end, blocks));
        }
        Doc::Cat(docs)
    }

    fn module_token(&mut self, end: usize, blocks: &Blocks) -> Doc {
        let start = self.source.tokens[self.next].start as u32;
        match blocks.iter().find(|(at, _)| *at == start) {
            Some((_, Block::Decs(decs))) => self.block(|layout| {
                let decs = decs.iter().map(|dec| (layout.is_broken(), layout.dec(dec)));
                decs.collect()
            }),
            Some((_, Block::Specs)) => self.block(|layout| layout.specs(end, blocks)),
            None => self.token(),
        }
    }

    /// Braces around items, one on a line, or all on one.
    fn block(&mut self, items: impl FnOnce(&mut Self) -> Vec<(bool, Doc)>) -> Doc {
        let open = self.token();
        if self.at() == "}" && !self.is_broken() {
            return Doc::Cat(vec![open, self.token()]);
        }
        let items = items(self);
        let line = || Doc::Line;
        let broken = self.is_broken() || items.iter().any(|(broken, doc)| *broken || doc.is_broken());
        let inside = items.into_iter().flat_map(|(_, doc)| [line(), doc]).collect();
        let body =
            Doc::Cat(vec![open, Doc::Nest(STEP, Box::new(Doc::Cat(inside))), line(), self.closing_token()]);
        Doc::Group { broken, body: Box::new(body) }
    }

    /// The items of a module type, up to the brace that closes it.
    fn specs(&mut self, end: usize, blocks: &Blocks) -> Vec<(bool, Doc)> {
        let mut items: Vec<(bool, Vec<Doc>)> = Vec::new();
        let mut depth = 0;
        while self.next < end && (depth > 0 || self.at() != "}") {
            let begins = matches!(self.at(), "val" | "type" | "module" | "include" | "#[") && depth == 0;
            let follows_attr = self.text(self.next - 1) == "]" && self.follows_attr();
            let (broken, blank) = (self.is_broken(), self.sig_blank(depth));
            depth += self.depth(blocks);
            let doc = self.module_token(end, blocks);
            match items.last_mut() {
                Some((_, docs)) if !begins || follows_attr => {
                    if broken && begins {
                        docs.push(Doc::Hard);
                    } else if blank {
                        docs.push(Doc::Space);
                    }
                    docs.push(doc);
                }
                _ => items.push((broken, vec![doc])),
            }
        }
        items.into_iter().map(|(broken, docs)| (broken, Doc::Cat(docs))).collect()
    }

    /// True if there is a blank before the next token of a module declaration: before a colon only outside brackets.
    fn sig_blank(&self, depth: i32) -> bool {
        match self.at() {
            ":" => depth == 0,
            _ if depth > 0 && self.is_in_attr() => self.blank(Mode::Attr),
            _ => self.blank(Mode::Plain),
        }
    }

    /// True if one of the brackets around the next token is that of an attribute.
    fn is_in_attr(&self) -> bool {
        let mut closed = 0;
        for i in (0..self.next).rev() {
            match self.text(i) {
                ")" | "]" | "}" => closed += 1,
                text if super::run::opens(text) && closed > 0 => closed -= 1,
                "#[" => return true,
                _ => {}
            }
        }
        false
    }

    /// By how much the next token changes the depth of brackets; a block is taken as a whole.
    fn depth(&self, blocks: &Blocks) -> i32 {
        let start = self.source.tokens[self.next].start as u32;
        match self.at() {
            text if super::run::opens(text) => i32::from(blocks.iter().all(|(at, _)| *at != start)),
            ")" | "]" | "}" => -1,
            _ => 0,
        }
    }

    /// True if the bracket before the next token closes an attribute.
    fn follows_attr(&self) -> bool {
        let mut depth = 0;
        for i in (0..self.next).rev() {
            match self.text(i) {
                ")" | "]" | "}" => depth += 1,
                text if super::run::opens(text) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return self.text(i) == "#[";
            }
        }
        false
    }
}

fn module_blocks<'e>(module: &'e ModExp, out: &mut Blocks<'e>) {
    match module {
        ModExp::Name(_) | ModExp::Import(..) => {}
        ModExp::Struct(decs, span) => out.push((span.start, Block::Decs(decs))),
        ModExp::Apply(f, arg, _) => {
            module_blocks(f, out);
            module_blocks(arg, out);
        }
        ModExp::Ascribe(module, sig, _) => {
            module_blocks(module, out);
            sig_blocks(sig, out);
        }
        ModExp::Lambda(_, sig, body, _) => {
            sig_blocks(sig, out);
            module_blocks(body, out);
        }
    }
}

fn sig_blocks<'e>(sig: &'e SigExp, out: &mut Blocks<'e>) {
    match sig {
        SigExp::Name(_) => {}
        SigExp::Specs(specs, span) => {
            out.push((span.start, Block::Specs));
            for mut spec in specs {
                while let Spec::Attr(_, inner) = spec {
                    spec = inner;
                }
                if let Spec::Module { sig, .. } | Spec::Include(sig) = spec {
                    sig_blocks(sig, out);
                }
            }
        }
        SigExp::With(sig, ..) => sig_blocks(sig, out),
        SigExp::Arrow(_, from, to, _) => {
            sig_blocks(from, out);
            sig_blocks(to, out);
        }
    }
}
