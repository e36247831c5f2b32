// SPDX-License-Identifier: GPL-2.0

//! What users write for an argument: `[NAME=]VARIABLE[->MEMBER][.MEMBER][[INDEX]]...[:TYPE]`,
//! with `@user` behind it if the last pointer is one of user space.

use crate::error::Result;
use crate::refuse;

/// One step from a variable to a part of it, or to what it points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `->MEMBER`.
    Arrow(String),
    /// `.MEMBER`.
    Dot(String),
    /// `[INDEX]`.
    Index(u64),
}

/// An argument as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// The name that the record is to have.
    pub name: Option<String>,
    /// The variable.
    pub variable: String,
    /// The steps from there.
    pub steps: Vec<Step>,
    /// The type that it is to have.
    pub kind: Option<String>,
    /// Whether what is read last is in user memory.
    pub user: bool,
}

impl Expression {
    /// Reads what the user wrote.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) if is_name(name) => (Some(name.to_string()), rest),
            Some((name, _)) => refuse!("{text}: {name:?} is no name for an argument"),
            None => (None, text),
        };
        let (rest, user) = match rest.strip_suffix("@user") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (path, kind) = match rest.split_once(':') {
            Some((_, "")) => refuse!("{text}: no type behind the colon"),
            Some((path, kind)) => (path, Some(kind.to_string())),
            None => (rest, None),
        };
        let end = path.find(|c: char| !is_letter(c)).unwrap_or(path.len());
        let (variable, mut rest) = path.split_at(end);
        if !is_name(variable) {
            refuse!("{text}: an argument begins with the name of a variable: write VARIABLE->MEMBER:TYPE");
        }
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, next) = step(rest).ok_or_else(|| bad_step(text, rest))?;
            steps.push(step);
            rest = next;
        }
        Ok(Self {
            name,
            variable: variable.into(),
            steps,
            kind,
            user,
        })
    }

    /// The name of the field: the given one, or the last name of the path.
    pub fn field(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let names = self.steps.iter().filter_map(|step| match step {
            Step::Arrow(name) | Step::Dot(name) => Some(name),
            Step::Index(_) => None,
        });
        names.last().unwrap_or(&self.variable).clone()
    }
}

fn bad_step(text: &str, rest: &str) -> crate::error::Refusal {
    crate::error::Refusal::new(format!(
        "{text}: {rest:?} is neither ->MEMBER, .MEMBER nor [NUMBER]"
    ))
}

fn step(text: &str) -> Option<(Step, &str)> {
    if let Some(rest) = text.strip_prefix("->") {
        let (name, rest) = member(rest)?;
        return Some((Step::Arrow(name), rest));
    }
    if let Some(rest) = text.strip_prefix('.') {
        let (name, rest) = member(rest)?;
        return Some((Step::Dot(name), rest));
    }
    let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
    let digits = index.bytes().all(|byte| byte.is_ascii_digit());
    Some((Step::Index(index.parse().ok().filter(|_| digits)?), rest))
}

fn member(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !is_letter(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    is_name(name).then(|| (name.to_string(), rest))
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let parsed = Expression::parse("n=file->f_path.dentry->d_shortname[3]:u8@user");
        let parsed = parsed.expect("an argument");
        assert_eq!(parsed.name.as_deref(), Some("n"));
        assert_eq!(parsed.variable, "file");
        let steps = [
            Step::Arrow("f_path".into()),
            Step::Dot("dentry".into()),
            Step::Arrow("d_shortname".into()),
            Step::Index(3),
        ];
        assert_eq!(parsed.steps, steps);
        assert_eq!(parsed.kind.as_deref(), Some("u8"));
        assert!(parsed.user);
        assert_eq!(parsed.field(), "n");
        let parsed = Expression::parse("file->f_pos").expect("an argument");
        assert_eq!((parsed.field().as_str(), parsed.user), ("f_pos", false));
    }

    #[test]
    fn what_is_no_argument_is_refused() {
        for text in [
            "", "=x", "1x=y", "x:", "x->", "x->1", "x.", "x[", "x[-1]", "x[+1]", "x[i]", "x+1",
            "*x", "&x", "x y",
        ] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }
}
