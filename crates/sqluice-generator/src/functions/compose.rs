//! Texts composed of other values: `template`, `json`.

use std::io::Write as _;
use std::sync::Arc;

use sqluice_core::batch::Value;
use sqluice_core::error::Result;

use super::{Arguments, Fault, Function, Generate, compile_in, fill_all, size_of_all};
use crate::generator::{Class, Scope, Size};
use crate::parse::{Expr, ExprNode, parse};
use crate::vector::{RowRange, Vector};

pub(super) const TEMPLATE: Function = Function {
    name: "template",
    signature: "template('... {x} ...')",
    about: "the text, with the value of each expression in braces in its place; NULL leaves nothing, {{ is a brace",
    example: "template('{lower(customer.first)}.{id}@{domain()}')",
    build: template,
};

pub(super) const JSON: Function = Function {
    name: "json",
    signature: "json({'key': x, ...})",
    about: "an object, an array [x, ...] or a value as JSON text",
    example: "json({'id': id, 'tags': [word(), word()], 'paid': {'status': status}})",
    build: |arguments| {
        arguments.count(1)?;
        let mut joined = Joined { json: true, texts: vec![Vec::new()], values: Vec::new() };
        joined.add_json(arguments.expr(0), arguments)?;
        Ok(Arc::new(joined))
    },
};

fn template(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    arguments.count(1)?;
    let text = arguments.text(0)?;
    // The position after the opening quote.
    let start = arguments.place(0) + 1;
    let mut joined = Joined { json: false, texts: vec![Vec::new()], values: Vec::new() };
    let mut at = 0;
    while let Some(brace) = text[at..].find(['{', '}']) {
        let brace = at + brace;
        joined.add_text(&text[at..brace]);
        if let Some(doubled) = ["{{", "}}"].into_iter().find(|it| text[brace..].starts_with(it)) {
            joined.add_text(&doubled[..1]);
            at = brace + 2;
            continue;
        }
        let close = text[brace..].find('}').filter(|_| text[brace..].starts_with('{'));
        let Some(close) = close else {
            return Err(
                arguments.fault(start + brace, "a brace without its other half; a brace itself is {{ or }}")
            );
        };
        let expr = parse(&text[brace + 1..brace + close], start + brace + 1)?;
        let value = compile_in(&expr, arguments.context)?;
        if value.class() == Class::Blob {
            return Err(
                arguments.fault(start + brace, format!("{expr} is a blob, which can't be part of a text"))
            );
        }
        joined.add_value(value);
        at = brace + close + 1;
    }
    joined.add_text(&text[at..]);
    Ok(Arc::new(joined))
}

/// Fixed texts with values between them.
#[derive(Debug)]
struct Joined {
    /// `true` if values are written as JSON.
    json: bool,
    /// The texts around the values, one more than there are values.
    texts: Vec<Vec<u8>>,
    values: Vec<Arc<dyn Generate>>,
}

impl Joined {
    fn add_text(&mut self, text: &str) {
        if let Some(last) = self.texts.last_mut() {
            last.extend_from_slice(text.as_bytes());
        }
    }

    fn add_value(&mut self, value: Arc<dyn Generate>) {
        self.values.push(value);
        self.texts.push(Vec::new());
    }

    fn add_json(&mut self, expr: &Expr, arguments: &Arguments<'_>) -> Result<(), Fault> {
        match &expr.node {
            ExprNode::Object(members) => {
                self.add_text("{");
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        self.add_text(",");
                    }
                    if let Some(last) = self.texts.last_mut() {
                        write_string(key.as_bytes(), last);
                    }
                    self.add_text(":");
                    self.add_json(value, arguments)?;
                }
                self.add_text("}");
            }
            ExprNode::Array(items) => {
                self.add_text("[");
                for (index, value) in items.iter().enumerate() {
                    if index > 0 {
                        self.add_text(",");
                    }
                    self.add_json(value, arguments)?;
                }
                self.add_text("]");
            }
            _ => {
                let value = compile_in(expr, arguments.context)?;
                if value.class() == Class::Blob {
                    return Err(
                        arguments.fault(expr.at.start, format!("{expr} is a blob, which JSON can't hold"))
                    );
                }
                self.add_value(value);
            }
        }
        Ok(())
    }
}

/// Writes a value as plain text.
fn write_plain(value: Value<'_>, out: &mut Vec<u8>) {
    // Writing to a Vec can't fail.
    let _ = match value {
        Value::Null => Ok(()),
        Value::Int(int) => write!(out, "{int}"),
        Value::Real(real) => write!(out, "{real:?}"),
        Value::Text(text) => out.write_all(text),
        Value::Blob(blob) => blob.iter().try_for_each(|byte| write!(out, "{byte:02x}")),
    };
}

fn write_json(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Real(real) if !real.is_finite() => out.extend_from_slice(b"null"),
        Value::Text(text) => write_string(text, out),
        Value::Blob(_) => {
            out.push(b'"');
            write_plain(value, out);
            out.push(b'"');
        }
        Value::Int(_) | Value::Real(_) => write_plain(value, out),
    }
}

/// Writes a JSON string.
fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 => {
                let _ = write!(out, "\\u{byte:04x}");
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

impl Generate for Joined {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let values = fill_all(&self.values, at, rows)?;
        let write = if self.json { write_json } else { write_plain };
        out.values();
        for row in 0..rows.count {
            out.push_text(|bytes| {
                bytes.extend_from_slice(&self.texts[0]);
                for (value, text) in values.iter().zip(&self.texts[1..]) {
                    write(value.get(row), bytes);
                    bytes.extend_from_slice(text);
                }
            });
        }
        out.settle();
        Ok(())
    }

    fn size(&self) -> Size {
        let texts = self.texts.iter().map(|text| text.len() as u64).sum::<u64>();
        let Size { mean, max } = size_of_all(&self.values);
        // A number takes more bytes as text, and an escaped character up to six.
        let numbers = 24 * self.values.len() as u64;
        Size { mean: texts + mean, max: texts + numbers + if self.json { 6 * max } else { 2 * max } }
    }

    fn class(&self) -> Class {
        Class::Text
    }
}
