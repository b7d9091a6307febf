//! Operations by time, row lengths, checks, rules of derivatives.

use super::super::costs::{bytes, count, duration};
use super::super::table::by_time;
use super::super::text::checked;
use super::super::{Insight, Rule};
use super::{escape, link};

pub(super) fn sections(insight: &Insight) -> String {
    format!("{}{}{}{}", times(insight), rows(insight), checks(insight), rules(insight))
}

fn table(title: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!("<section><h2>{title}</h2>\n<div class=\"scroll\"><table><thead><tr>");
    head.iter().for_each(|h| out += &format!("<th>{h}</th>"));
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| out += &format!("<td>{cell}</td>"));
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div></section>\n"
}

fn times(insight: &Insight) -> String {
    let Some(run) = &insight.run else { return String::new() };
    let rows: Vec<Vec<String>> = by_time(insight)
        .into_iter()
        .map(|(op, c)| {
            let share = 100.0 * c.time.as_secs_f64() / run.time.as_secs_f64().max(1e-12);
            vec![
                link(op.number),
                format!("{} {}", escape(&op.name), escape(&op.detail)),
                format!("<a href=\"#L{0}\">{0}</a>", op.at.line),
                duration(c.time),
                format!("{share:.1} %"),
                count(c.counters.launches),
                bytes(c.counters.bytes_materialised),
                count(c.space.elements),
            ]
        })
        .collect();
    table("By time", &["", "operation", "line", "time", "share", "launches", "made", "elements"], &rows)
}

fn rows(insight: &Insight) -> String {
    let ragged = insight.operations.iter().filter_map(|op| Some((op, op.cost?.space)));
    let rows: Vec<Vec<String>> = ragged
        .filter(|(_, s)| s.ragged && s.rows > 0)
        .map(|(op, s)| {
            let mean = s.mean();
            let skew = if mean > 0.0 { format!("{:.1}", s.longest as f64 / mean) } else { "–".into() };
            vec![
                link(op.number),
                format!("{} {}", escape(&op.name), escape(&op.detail)),
                count(s.rows),
                count(s.elements),
                count(s.longest),
                format!("{mean:.1}"),
                skew,
                count(s.empty),
            ]
        })
        .collect();
    let head = ["", "operation", "rows", "elements", "longest", "mean", "longest : mean", "empty"];
    table("Ragged rows", &head, &rows)
}

fn rules(insight: &Insight) -> String {
    let row = |r: &Rule| {
        let at = format!("line {}: {}", r.at.line, r.what);
        vec![escape(&at), escape(r.rule), escape(&r.kept.join("; "))]
    };
    table("Derivatives", &["", "going back", "kept"], &insight.rules.iter().map(row).collect::<Vec<_>>())
}

fn checks(insight: &Insight) -> String {
    let checks = &insight.checks;
    let kept = checks.kept.iter().map(|c| vec!["left".to_string(), escape(&checked(c))]);
    let proved = checks.proved.iter().map(|c| vec!["proved or not needed".to_string(), escape(&checked(c))]);
    table("Checks", &["", "what"], &kept.chain(proved).collect::<Vec<_>>())
}
