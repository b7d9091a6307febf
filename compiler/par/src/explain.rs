//! The pages that explain the codes of diagnostics: `docs/errors/E0203.md` and so on, compiled in.

use std::fmt::Write;

/// Page about a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// `E0203`.
    pub code: &'static str,
    /// Markdown: a heading, what it means, a wrong program and a right one.
    pub text: &'static str,
}

macro_rules! pages {
    ($($code:literal)*) => {
        &[$(Page { code: $code, text: include_str!(concat!("../../../docs/errors/", $code, ".md")) }),*]
    };
}

/// All pages, in order of their codes.
pub const PAGES: &[Page] = pages! {
    "E0100" "E0101" "E0102" "E0103" "E0104" "E0105" "E0106" "E0107" "E0108" "E0109" "E0110" "E0111"
    "E0201" "E0202" "E0203" "E0204"
    "E0301" "E0302" "E0303" "E0304" "E0305" "E0306" "E0307" "E0308" "E0310" "E0311" "E0312" "E0313" "E0314" "E0315" "E0316" "E0317"
    "E0401" "E0402"
    "E0501" "E0502" "E0511" "E0512" "E0513" "E0514" "E0515" "E0516"
    "E0601" "E0602" "E0603" "E0604" "E0605" "E0606" "E0607" "E0608" "E0609"
    "E0701" "E0702" "E0703" "E0704" "E0705" "E0706" "E0707" "E0708" "E0709" "E0710"
    "E0900" "E0999"
    "W0201" "W0202" "W0203" "W0204" "W0205" "W0206" "W0207" "W0208" "W0301" "W0302" "W0401" "W0402" "W0403" "W0601" "W0701"
};

/// The page of a code, upper or lower case, an error's also by its number alone; else the code that is nearest to it, if
/// there is a number to compare.
pub fn page(code: &str) -> Result<&'static Page, Option<&'static str>> {
    let upper = match code.trim().parse::<u16>() {
        Ok(number) => format!("E{number:04}"),
        Err(_) => code.trim().to_uppercase(),
    };
    if let Some(page) = PAGES.iter().find(|p| p.code == upper) {
        return Ok(page);
    }
    // Codes of one kind are near to each other; of those the one with the nearest number.
    let number = |code: &str| code.get(1..).and_then(|n| n.parse::<i64>().ok());
    let wanted = number(&upper).ok_or(None)?;
    let kind = |code: &str| i64::from(!code.starts_with(if upper.starts_with('W') { 'W' } else { 'E' }));
    let distance = |p: &&Page| (kind(p.code), (number(p.code).unwrap_or(0) - wanted).abs());
    Err(PAGES.iter().min_by_key(distance).map(|p| p.code))
}

impl Page {
    /// Meaning of the code, in one line.
    pub fn title(&self) -> &'static str {
        let heading = self.text.lines().next().unwrap_or("");
        heading.split_once(": ").map_or(heading, |(_, title)| title)
    }

    /// A program on the page: what stands in the fence after the heading `## Wrong` or `## Right`.
    pub fn program(&self, heading: &str) -> Option<&'static str> {
        let (_, rest) = self.text.split_once(&format!("## {heading}\n\n```par\n"))?;
        rest.split_once("```").map(|(program, _)| program)
    }

    /// The page for a terminal: headings in bold if it has colors, programs indented, paragraphs of 80 columns.
    pub fn plain(&self, color: bool) -> String {
        let (bold, reset) = if color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        let mut out = String::new();
        let mut program = false;
        // The length of the last line of a paragraph, while one is being written.
        let mut column = None;
        for line in self.text.lines() {
            let heading = line.strip_prefix("## ").or_else(|| line.strip_prefix("# "));
            match heading {
                _ if line.starts_with("```") => program = !program,
                _ if program => out += format!("    {line}").trim_end(),
                Some(heading) => out += &format!("{bold}{heading}{reset}"),
                None if line.is_empty() => {
                    out += if column.take().is_some() { "\n" } else { "" };
                }
                None => {
                    fill(&mut out, &mut column, line);
                    continue;
                }
            }
            if !line.starts_with("```") {
                out.push('\n');
            }
        }
        out + if column.is_some() { "\n" } else { "" }
    }
}

/// Adds the words of a line to a paragraph.
fn fill(out: &mut String, column: &mut Option<usize>, line: &str) {
    for word in line.split_whitespace() {
        let len = word.chars().count();
        *column = Some(match *column {
            None => len,
            Some(used) if used + 1 + len <= WIDTH => {
                out.push(' ');
                used + 1 + len
            }
            Some(_) => {
                out.push('\n');
                len
            }
        });
        out.push_str(word);
    }
}

/// Columns of a paragraph.
const WIDTH: usize = 80;

/// The pages as HTML files, `index.html` first: name and text.
pub fn html() -> Vec<(String, String)> {
    let mut list = String::from("<h1>Errors and warnings of Par</h1>\n<ul>\n");
    for page in PAGES {
        let mut title = String::new();
        pulldown_cmark::html::push_html(&mut title, pulldown_cmark::Parser::new(page.title()));
        let title = title.trim().trim_start_matches("<p>").trim_end_matches("</p>");
        let code = page.code;
        let _ = writeln!(list, "<li><a href=\"{code}.html\"><code>{code}</code></a> {title}</li>");
    }
    list += "</ul>\n";
    let mut out = vec![("index.html".to_string(), frame("Errors and warnings", &list))];
    for page in PAGES {
        let mut body = String::new();
        pulldown_cmark::html::push_html(&mut body, pulldown_cmark::Parser::new(page.text));
        body += "<p><a href=\"index.html\">all codes</a></p>\n";
        out.push((format!("{}.html", page.code), frame(page.code, &body)));
    }
    out
}

fn frame(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title} - Par</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n{body}</body>\n</html>\n"
    )
}

const STYLE: &str = "body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}\
    pre{padding:.75rem;overflow-x:auto;background:#8881;border-radius:.25rem}code{font-family:ui-monospace,monospace}\
    @media(prefers-color-scheme:dark){body{background:#111;color:#ddd}a{color:#8bf}}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_code() {
        assert_eq!(page("E0203").map(|p| p.title()), Ok("a type contains itself"));
        assert_eq!(page(" e0203 ").map(|p| p.code), Ok("E0203"));
        assert_eq!(page("E0319"), Err(Some("E0317")));
        assert_eq!(page("W0209"), Err(Some("W0208")));
        assert_eq!(page("0302").map(|p| p.code), Ok("E0302"));
        assert_eq!(page("203").map(|p| p.code), Ok("E0203"));
        assert_eq!(page("205"), Err(Some("E0204")));
        assert_eq!(page("xx"), Err(None));
    }

    #[test]
    fn programs_are_indented() {
        let page = page("E0103").expect("a page");
        let text = page.plain(false);
        assert!(text.starts_with("E0103: a bracket does not fit\n\nA closing"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH) && text.ends_with('\n'), "{text}");
        assert!(text.contains("\nWrong\n\n    def first") && !text.contains("```"), "{text}");
        assert!(page.plain(true).contains("\x1b[1mWrong\x1b[0m"));
    }

    #[test]
    fn every_page_is_linked() {
        let pages = html();
        assert_eq!(pages.len(), PAGES.len() + 1);
        for (name, text) in &pages[1..] {
            assert!(pages[0].1.contains(&format!("href=\"{name}\"")), "{name}");
            assert!(text.contains("<h1>") && !text.contains("```"), "{name}");
        }
    }
}
