//! Semantic tokens: what the pieces of a text are.

use crate::text;
use lsp_types::{Range, SemanticToken, SemanticTokenType, SemanticTokens, SemanticTokensLegend};
use par::analysis::Analysis;
use par::doc::Kind;
use par_syntax::classes::{Class, classify};
use std::collections::HashMap;

/// The kinds of tokens, in the order of their numbers.
const TYPES: [SemanticTokenType; 9] = [
    SemanticTokenType::KEYWORD,
    SemanticTokenType::NUMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::COMMENT,
    SemanticTokenType::ENUM_MEMBER,
    SemanticTokenType::TYPE_PARAMETER,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::TYPE,
    SemanticTokenType::VARIABLE,
];
const NAMESPACE_LIKE: u32 = 7;
const FUNCTION: u32 = 6;
const VARIABLE: u32 = 8;

/// Legend of the semantic tokens: token types by index.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend { token_types: TYPES.to_vec(), token_modifiers: Vec::new() }
}

/// The tokens of a text, or of a part of it.
pub fn tokens(source: &str, analysis: &Analysis, part: Option<Range>) -> SemanticTokens {
    let names = Names::of(analysis);
    let mut data = Vec::new();
    let (mut line, mut column) = (0, 0);
    for (range, class) in classify(source) {
        let Some(kind) = kind(class, &source[range.clone()], &names) else { continue };
        let start = text::position(source, range.start as u32);
        let end = text::position(source, range.end as u32);
        // Tokens of several lines cannot be said.
        let wanted = part.is_none_or(|p| start >= p.start && end <= p.end);
        if start.line != end.line || !wanted {
            continue;
        }
        let delta_line = start.line - line;
        let delta_start = if delta_line == 0 { start.character - column } else { start.character };
        (line, column) = (start.line, start.character);
        data.push(SemanticToken {
            delta_line,
            delta_start,
            length: end.character - start.character,
            token_type: kind,
            token_modifiers_bitset: 0,
        });
    }
    SemanticTokens { result_id: None, data }
}

/// The declarations of all files by their names.
struct Names(HashMap<String, u32>);

impl Names {
    fn of(analysis: &Analysis) -> Names {
        let kind = |k: Kind| match k {
            Kind::Value | Kind::Entry | Kind::Operator => FUNCTION,
            Kind::Type | Kind::Module | Kind::ModuleType => NAMESPACE_LIKE,
        };
        let mut names: HashMap<String, u32> =
            analysis.items().into_iter().map(|i| (i.name, kind(i.kind))).collect();
        for prim in ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool"] {
            names.insert(prim.to_string(), NAMESPACE_LIKE);
        }
        Names(names)
    }
}

fn kind(class: Class, text: &str, names: &Names) -> Option<u32> {
    Some(match class {
        Class::Keyword => 0,
        Class::Constant => 1,
        Class::Text => 2,
        Class::Comment => 3,
        Class::Constructor => 4,
        Class::TypeParam => 5,
        Class::Name => names.0.get(text).copied().unwrap_or(VARIABLE),
        Class::Open | Class::Close | Class::Other => return None,
    })
}
