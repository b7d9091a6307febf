//! Pieces as a page.

use super::evaluate::Shown;
use pulldown_cmark::{Options, Parser, html};
use std::path::{Path, PathBuf};

/// Kind of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// With pictures in files.
    Markdown,
    /// With everything in one file.
    Html,
}

/// A page that grows.
pub struct Page {
    shape: Shape,
    path: PathBuf,
    /// Markdown, with HTML inside where that is the shape.
    text: String,
    pictures: Vec<(PathBuf, Vec<u8>)>,
}

/// Pictures smaller than this are shown larger.
const SMALL: usize = 320;

const STYLE: &str = "\
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; color: #222 }
pre { background: #f6f6f4; border-radius: 6px; padding: .8rem 1rem; overflow-x: auto; font-size: 14px; line-height: 1.4 }
pre.result { background: #eef4fa }
code { font-family: ui-monospace, monospace } figure { margin: 1rem 0 } figure svg, img { max-width: 100%; height: auto }
table { border-collapse: collapse } td, th { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: left }";

impl Page {
    /// An empty page, which will be this file.
    pub fn new(shape: Shape, path: &Path) -> Page {
        Page { shape, path: path.to_path_buf(), text: String::new(), pictures: Vec::new() }
    }

    /// Adds prose.
    pub fn prose(&mut self, text: &str) {
        self.add(text);
    }

    /// Adds lines of the program.
    pub fn code(&mut self, text: &str) {
        self.add(&fenced("par", text));
    }

    /// Adds what came of a directive.
    pub fn shown(&mut self, shown: Shown) {
        match shown {
            Shown::Nothing => {}
            Shown::Text { expression, value } => {
                let lines = expression.lines().enumerate();
                let typed: String =
                    lines.map(|(i, line)| format!("{} {line}\n", if i == 0 { ">" } else { "|" })).collect();
                self.add(&fenced("result", &format!("{typed}{value}")));
            }
            Shown::Svg(svg) => match self.shape {
                // A blank line would end the HTML inside Markdown.
                Shape::Html => self.add(&format!("<figure>\n{}\n</figure>", without_blank_lines(&svg))),
                Shape::Markdown => self.picture("svg", svg.into_bytes(), "plot"),
            },
            Shown::Png { bytes, width } => {
                let scale = if width < SMALL { SMALL.div_ceil(width.max(1)) } else { 1 };
                let style = if scale > 1 { " style=\"image-rendering:pixelated\"" } else { "" };
                let size = width * scale;
                match self.shape {
                    Shape::Html => {
                        let data = par_data::base64(&bytes);
                        let source = format!("data:image/png;base64,{data}");
                        self.add(&format!("<img src=\"{source}\" width=\"{size}\"{style} alt=\"picture\">"));
                    }
                    Shape::Markdown if scale > 1 => {
                        let name = self.keep("png", bytes);
                        self.add(&format!("<img src=\"{name}\" width=\"{size}\"{style} alt=\"picture\">"));
                    }
                    Shape::Markdown => self.picture("png", bytes, "picture"),
                }
            }
        }
    }

    fn add(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn picture(&mut self, ending: &str, bytes: Vec<u8>, what: &str) {
        let name = self.keep(ending, bytes);
        self.add(&format!("![{what}]({name})"));
    }

    /// Keeps a picture's file: its name as the page calls it.
    fn keep(&mut self, ending: &str, bytes: Vec<u8>) -> String {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{stem}-img/{}.{ending}", self.pictures.len() + 1);
        self.pictures.push((self.path.with_file_name(&name), bytes));
        name
    }

    /// All files of the page.
    pub fn finish(self) -> Vec<(PathBuf, Vec<u8>)> {
        let text = match self.shape {
            Shape::Markdown => self.text,
            Shape::Html => whole(&self.text),
        };
        let mut files = self.pictures;
        files.push((self.path, text.into_bytes()));
        files
    }
}

/// A block of code, whatever stands in it.
fn fenced(kind: &str, text: &str) -> String {
    let longest = text.lines().map(|l| l.trim_start().bytes().take_while(|b| *b == b'`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn without_blank_lines(text: &str) -> String {
    text.lines().filter(|l| !l.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

fn whole(markdown: &str) -> String {
    let mut body = String::new();
    html::push_html(&mut body, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    let body = body.replace("<pre><code class=\"language-result\">", "<pre class=\"result\"><code>");
    let title = markdown.lines().find_map(|l| l.strip_prefix("# ")).unwrap_or("Par");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>\n{STYLE}\n</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}
