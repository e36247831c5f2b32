// SPDX-License-Identifier: GPL-2.0

//! A definition as users write it: `[LETTER[:[GROUP/]NAME]] PLACE [ARGUMENT...] [if FILTER]`.

use super::filter;
use super::mapped::Mapped;
use super::refused::Refused;
use std::ops::Range;

/// The letters of what can be defined for a while.
const LETTERS: &str = "prftebcw";

/// What is recorded under a name of its own if the user gives none.
const NAMED: [(&str, &str); 8] = [
    ("retval", "ret"),
    ("duration", "duration"),
    ("comm", "comm"),
    ("nsecs", "nsecs"),
    ("tgid", "tgid"),
    ("nspid", "nspid"),
    ("nstgid", "nstgid"),
    ("cgroup", "cgroup"),
];

/// What a number is, where its name and its type in the record do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nanoseconds.
    Duration,
    /// An error, if it is negative.
    Errno,
}

/// A field of another event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The group of the event.
    pub group: &'a str,
    /// The event.
    pub event: &'a str,
    /// The field.
    pub name: &'a str,
}

/// A definition, taken apart. Ranges are of what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What the user wrote.
    pub written: String,
    /// What kind it is.
    pub letter: char,
    /// The letter and the number behind it.
    head: Range<usize>,
    group: Option<String>,
    name: Option<String>,
    /// The place and the arguments.
    words: Vec<Range<usize>>,
    /// What is behind `if`.
    condition: Option<Range<usize>>,
}

impl Definition {
    /// Reads a definition.
    pub fn parse(written: &str) -> Result<Self, Refused> {
        let refuse = |at: usize, reason: &str| Refused {
            reason: reason.into(),
            written: written.into(),
            at,
        };
        let mut words = words(written);
        let Some(first) = words.first().cloned() else {
            return Err(refuse(0, "nothing to trace: write 'FUNCTION ARGUMENT...'"));
        };
        let word = &written[first.clone()];
        if word.starts_with("-:") || word == "s" || word.starts_with("s:") {
            let reason = "only p, r, f, t, e, b, c and w can be traced, and are removed at the end";
            return Err(refuse(first.start, reason));
        }
        if let Some(instead) = instead_of_bpftrace(word) {
            return Err(refuse(first.start, &format!("write '{instead}'")));
        }
        let mut definition = Self {
            written: written.into(),
            letter: 'p',
            head: first.start..first.start,
            group: None,
            name: None,
            words: Vec::new(),
            condition: None,
        };
        if let Some((letter, length)) = head(word) {
            words.remove(0);
            definition.letter = letter;
            definition.head = first.start..first.start + length;
            let names = word[length..].trim_start_matches(':');
            let (group, name) = match names.split_once(['/', '.']) {
                Some((group, name)) => (group, name),
                None => ("", names),
            };
            let given = |name: &str| (!name.is_empty()).then(|| name.to_string());
            (definition.group, definition.name) = (given(group), given(name));
        }
        let is_if = |range: &Range<usize>| &written[range.clone()] == "if";
        if let Some(at) = words.iter().position(is_if) {
            let start = words[at].end;
            let text = written[start..].trim();
            if text.is_empty() {
                return Err(refuse(start, "a filter must follow 'if'"));
            }
            let start = written.len() - written[start..].trim_start().len();
            definition.condition = Some(start..start + text.len());
            words.truncate(at);
        }
        let Some(place) = words.first() else {
            return Err(refuse(definition.head.end, "a place to trace is missing"));
        };
        if definition.head.is_empty() {
            if let Some(instead) = instead_of_place(&written[place.clone()], &words, written) {
                return Err(refuse(place.start, &instead));
            }
        }
        definition.words = words;
        Ok(definition)
    }

    fn place(&self) -> &str {
        self.words
            .first()
            .map_or("", |word| &self.written[word.clone()])
    }

    /// Where the place is in what was written.
    pub fn place_at(&self) -> usize {
        self.words.first().map_or(0, |word| word.start)
    }

    /// The place and the arguments, if the place is one that only debug information knows: a
    /// source line, or where a function is inlined.
    pub fn source_target(&self) -> Option<String> {
        let place = self.place();
        let line = place.rsplit_once(':').map(|(_, line)| line);
        let is_line = line.is_some_and(|line| line.parse::<u32>().is_ok());
        let is_source = is_line || place.ends_with("%inlined") || place.contains('@');
        (self.letter == 'p' && is_source).then(|| {
            let words: Vec<_> = self
                .words
                .iter()
                .map(|word| &self.written[word.clone()])
                .collect();
            words.join(" ")
        })
    }

    /// The function, if this is a plain probe at its beginning or end.
    pub fn function(&self) -> Option<&str> {
        let place = self.place();
        let name = place.strip_suffix("%return").unwrap_or(place);
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_name = is_plain && !name.starts_with(|c: char| c.is_ascii_digit());
        (matches!(self.letter, 'p' | 'r' | 'f') && is_name).then_some(name)
    }

    /// Whether it has a filter.
    pub fn is_filtered(&self) -> bool {
        self.condition.is_some()
    }

    /// The group that the user gave.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// What its records are called; `None` if they are called after the functions that they are of.
    pub fn label(&self) -> Option<String> {
        if let Some(name) = &self.name {
            return Some(name.clone());
        }
        let place = self.place();
        let place = place.strip_suffix("%return").unwrap_or(place);
        match self.letter {
            'f' if place.contains(['*', '?', '[', ',']) => None,
            'b' => Some(match self.words.get(1) {
                Some(end) => format!("{}..{}", event(place), event(&self.written[end.clone()])),
                None => event(place).into(),
            }),
            'e' => Some(event(place).into()),
            'c' => Some("tick".into()),
            'w' => Some(place.into()),
            _ if self.source_target().is_some() => Some(place.into()),
            _ => Some(place.rsplit(':').next().unwrap_or(place).into()),
        }
    }

    /// Its line for the kernel, as the event `name` of `group`. Of fields of other events that are
    /// fetched without a type, `type_of` says the type.
    pub fn line(
        &self,
        group: &str,
        name: &str,
        type_of: impl Fn(&Field<'_>) -> Option<&'static str>,
    ) -> Mapped {
        let mut line = Mapped::default();
        match self.head.is_empty() {
            true => line.push_instead("p", self.head.start),
            false => line.push_written(&self.written[self.head.clone()], self.head.start),
        }
        line.push_instead(&format!(":{group}/{name}"), self.head.start);
        for (number, range) in self.words.iter().enumerate() {
            let word = &self.written[range.clone()];
            line.push_instead(" ", range.start.saturating_sub(1));
            if number > 0 {
                if let Some(name) = self.own_name(word) {
                    line.push_instead(&format!("{name}="), range.start);
                }
            }
            line.push_written(word, range.start);
            if let Some(known) = self.field(number, word).and_then(|field| type_of(&field)) {
                line.push_instead(&format!(":{known}"), range.end.saturating_sub(1));
            }
        }
        if let Some(range) = self.condition.as_ref().filter(|_| self.takes_condition()) {
            line.push_instead(" if ", range.start);
            let text = &self.written[range.clone()];
            filter::translate(text, range.start, |_| false, &mut line);
        }
        line
    }

    /// The field of another event that the word of that number fetches, if it has no type.
    fn field<'a>(&'a self, number: usize, word: &'a str) -> Option<Field<'a>> {
        let events = if self.letter == 'b' { 2 } else { 1 };
        if !self.is_related() || number < events {
            return None;
        }
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        let name = value.strip_prefix('$')?;
        let (event, name) = match name.strip_prefix("begin.") {
            Some(name) => (0, name),
            None => (events - 1, name),
        };
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let event = self.written.get(self.words.get(event)?.clone())?;
        let (event, _) = event.split_once('(').unwrap_or((event, ""));
        let (group, event) = event.split_once(['.', '/'])?;
        is_name.then_some(Field { group, event, name })
    }

    /// The event that this names, if there is one: `GROUP/EVENT` or, as `perf` has it,
    /// `GROUP:EVENT`, without a letter. It may be a pattern.
    pub fn named_event(&self) -> Option<(&str, &str)> {
        let place = self.place();
        let place = place.strip_prefix("events/").unwrap_or(place);
        let (group, name) = place.split_once(['/', ':'])?;
        let is_name = |text: &str| {
            let is_word = |c: char| c.is_ascii_alphanumeric() || "_*?".contains(c);
            text.chars().all(is_word) && text.starts_with(|c: char| !c.is_ascii_digit())
        };
        (self.head.is_empty() && is_name(group) && is_name(name)).then_some((group, name))
    }

    /// The name, if it is without a letter.
    pub fn bare_name(&self) -> Option<&str> {
        self.function().filter(|_| self.head.is_empty())
    }

    /// Where the first argument is, if there is one.
    pub fn argument_at(&self) -> Option<usize> {
        self.words.get(1).map(|word| word.start)
    }

    /// Whether other events cause it.
    fn is_related(&self) -> bool {
        matches!(self.letter, 'e' | 'b')
    }

    /// Whether its line has the filter: if that is on fields of the event that causes it, and not
    /// on its own.
    fn takes_condition(&self) -> bool {
        let condition = self.condition.clone().unwrap_or(0..0);
        let mut names = filter::names(&self.written[condition]).into_iter();
        let own: Vec<&str> = self
            .arguments()
            .map(|word| word.split(['=', ':']).next().unwrap_or(word))
            .map(|name| name.trim_start_matches('$'))
            .collect();
        self.is_related() && !names.all(|name| own.contains(&name))
    }

    /// The filter for the kernel, unless it is part of the line. Of fields `is_text` says which
    /// have text.
    pub fn filter(&self, is_text: impl Fn(&str) -> bool) -> Option<Mapped> {
        let range = self
            .condition
            .as_ref()
            .filter(|_| !self.takes_condition())?;
        let mut filter = Mapped::default();
        filter::translate(
            &self.written[range.clone()],
            range.start,
            is_text,
            &mut filter,
        );
        Some(filter)
    }

    /// What its arguments are, by name, where only the definition tells.
    pub fn meanings(&self) -> Vec<(String, Meaning)> {
        self.arguments()
            .filter_map(|word| self.meaning(word))
            .collect()
    }

    fn meaning(&self, word: &str) -> Option<(String, Meaning)> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.to_string(), value),
            None => (self.own_name(word).unwrap_or_else(|| word.into()), word),
        };
        let name = name.split(':').next().unwrap_or_default();
        let meaning = match value {
            "$duration" => Meaning::Duration,
            _ if value.ends_with(":errno") => Meaning::Errno,
            _ => return None,
        };
        Some((name.trim_start_matches('$').into(), meaning))
    }

    /// The name for an argument that has none and would be called after its number: what is fetched,
    /// or the last member.
    fn own_name(&self, word: &str) -> Option<String> {
        let name = self.implied_name(word)?;
        let mut others = self.arguments().filter(|other| *other != word);
        let is_taken = others.any(|other| {
            let given = other.split(['=', ':']).next().unwrap_or(other);
            given == name || (self.implied_name(other) == Some(name) && self.is_before(other, word))
        });
        (!is_taken).then(|| name.into())
    }

    fn implied_name<'a>(&self, word: &'a str) -> Option<&'a str> {
        match self.letter {
            // The kernel itself names the arguments of a pair.
            'b' => None,
            'e' => field_name(word).or_else(|| implied_name(word)),
            _ => implied_name(word),
        }
    }

    fn arguments(&self) -> impl Iterator<Item = &str> {
        let words = self.words.iter().skip(1);
        words.map(|word| &self.written[word.clone()])
    }

    fn is_before(&self, one: &str, other: &str) -> bool {
        let at = |wanted: &str| self.arguments().position(|word| word == wanted);
        at(one) < at(other)
    }
}

/// What to write in place of what `bpftrace` calls a probe.
fn instead_of_bpftrace(word: &str) -> Option<String> {
    let (kind, place) = word.split_once(':')?;
    Some(match kind {
        "kprobe" | "k" => format!("p {place}"),
        "kretprobe" | "kr" => format!("r {place}"),
        "fentry" | "kfunc" => format!("f {place}"),
        "fexit" | "kretfunc" => format!("f {place}%return"),
        "rawtracepoint" | "rt" => format!("t {place}"),
        "tracepoint" => place.replacen(':', "/", 1),
        _ => return None,
    })
}

/// What to write in place of what stands where a function is expected, without a letter.
fn instead_of_place(place: &str, words: &[Range<usize>], written: &str) -> Option<String> {
    // A path is no function, and a program's function has a colon and a letter.
    if place.starts_with('/') && !place.contains(':') {
        return Some(format!("a command comes last: -c {}", written.trim()));
    }
    // As C has a call.
    let (name, parameters) = place.split_once('(')?;
    let is_name = |text: &str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !text.is_empty() && text.chars().all(is_word)
    };
    let parameters = parameters.strip_suffix(')').filter(|_| words.len() == 1)?;
    let names: Vec<&str> = parameters.split(',').map(str::trim).collect();
    let are_names = names.iter().all(|name| is_name(name));
    (is_name(name) && are_names).then(|| format!("write '{name} {}'", names.join(" ")))
}

/// What an argument without a name is called.
fn implied_name(word: &str) -> Option<&str> {
    if word.contains('=') {
        return None;
    }
    let value = word.split(':').next().unwrap_or(word);
    if let Some(variable) = value.strip_prefix('$') {
        let named = NAMED.iter().find(|(known, _)| *known == variable);
        return named.map(|(_, name)| *name);
    }
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '>' | '.');
    let (_, member) = value.rsplit_once(['>', '.'])?;
    let is_member = !member.is_empty() && !member.starts_with(|c: char| c.is_ascii_digit());
    (value.chars().all(is_path) && is_member && !member.contains('-')).then_some(member)
}

/// The name of an argument of an event probe: of the field that it fetches.
fn field_name(word: &str) -> Option<&str> {
    let name = word.split(':').next().unwrap_or(word).strip_prefix('$')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_word)).then_some(name)
}

/// The name in `GROUP.EVENT(KEY)`.
fn event(text: &str) -> &str {
    let text = text.split('(').next().unwrap_or(text);
    text.rsplit(['.', '/']).next().unwrap_or(text)
}

/// The letter of `word`, and the length with the number behind it, if it is what a definition
/// begins with.
fn head(word: &str) -> Option<(char, usize)> {
    let letter = word.chars().next().filter(|c| LETTERS.contains(*c))?;
    let number = word[1..].bytes().take_while(u8::is_ascii_digit).count();
    let rest = &word[1 + number..];
    (rest.is_empty() || rest.starts_with(':')).then_some((letter, 1 + number))
}

/// Where the words of `text` are: between blanks that are neither in quotes nor in parentheses.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    let (mut depth, mut is_quoted, mut is_escaped) = (0_u32, false, false);
    for (at, c) in text.char_indices() {
        let is_blank = c.is_whitespace() && depth == 0 && !is_quoted;
        match (is_blank, start) {
            (true, Some(from)) => {
                found.push(from..at);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
        match c {
            _ if is_escaped => {
                is_escaped = false;
                continue;
            }
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    // Without the other parenthesis or quote, the kernel says what is missing.
    found.extend(start.map(|from| from..text.len()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(written: &str) -> Definition {
        Definition::parse(written).expect(written)
    }

    fn line(written: &str) -> String {
        parse(written).line("g", "n", |_| None).text().into()
    }

    #[test]
    fn fields_have_the_types_of_their_events() {
        let typed = |written: &str| -> String {
            let type_of = |field: &Field<'_>| match (field.group, field.event, field.name) {
                ("s", "switch", "next_pid") => Some("s32"),
                ("s", "wake", "cpu") => Some("u8"),
                _ => None,
            };
            parse(written).line("g", "n", type_of).text().into()
        };
        for (written, expected) in [
            (
                "b s.wake(pid) s.switch(next_pid) $next_pid x=$next_pid $next_pid:x32 c=$begin.cpu",
                "b:g/n s.wake(pid) s.switch(next_pid) $next_pid:s32 x=$next_pid:s32 $next_pid:x32 c=$begin.cpu:u8",
            ),
            ("e s.switch $next_pid $cpu", "e:g/n s.switch next_pid=$next_pid:s32 cpu=$cpu"),
            ("e s/switch a=+4($next_pid)", "e:g/n s/switch a=+4($next_pid)"),
            ("t switch $next_pid", "t:g/n switch $next_pid"),
        ] {
            assert_eq!(typed(written), expected);
        }
    }

    #[test]
    fn events_are_named() {
        for (written, expected) in [
            ("calls/openat if ret < 0", Some(("calls", "openat"))),
            ("sched:sched_switch", Some(("sched", "sched_switch"))),
            ("p sched:sched_switch", None),
            ("calls/open*", Some(("calls", "open*"))),
            ("fs/open.c:12", None),
            ("vfs_read:11", None),
            ("vfs_read", None),
        ] {
            assert_eq!(parse(written).named_event(), expected, "{written}");
        }
        assert_eq!(parse("calls/openat ret").argument_at(), Some(13));
        assert_eq!(parse("calls/openat if ret < 0").argument_at(), None);
    }

    #[test]
    fn definitions_pass_as_they_are() {
        for (written, expected) in [
            ("p vfs_read", "p:g/n vfs_read"),
            ("vfs_read count", "p:g/n vfs_read count"),
            ("p:mine  vfs_read+4 x=%ax", "p:g/n vfs_read+4 x=%ax"),
            ("r16:a/b vfs_read", "r16:g/n vfs_read"),
            (
                "f vfs_*,ksys_*%return !vfs_*attr*",
                "f:g/n vfs_*,ksys_*%return !vfs_*attr*",
            ),
            (
                "p x ((struct file *)%di)->f_mode y",
                "p:g/n x ((struct file *)%di)->f_mode y",
            ),
            (r#"p x a=\"one two" b"#, r#"p:g/n x a=\"one two" b"#),
            ("prepare_creds", "p:g/n prepare_creds"),
            (
                "e sched.sched_switch pid=$next_pid if pid > 1K",
                "e:g/n sched.sched_switch pid=$next_pid",
            ),
            (
                "b s.wake(pid) s.switch(next_pid) $duration if duration > 1ms",
                "b:g/n s.wake(pid) s.switch(next_pid) $duration",
            ),
            (
                "b s.wake(pid) s.switch(next_pid) $duration if next_prio < 1K",
                "b:g/n s.wake(pid) s.switch(next_pid) $duration if next_prio < 1024",
            ),
        ] {
            assert_eq!(line(written), expected);
        }
    }

    #[test]
    fn values_are_called_by_what_they_are() {
        for (written, expected) in [
            (
                "r f $retval:errno $duration",
                "r:g/n f ret=$retval:errno duration=$duration",
            ),
            ("r f x=$retval $comm", "r:g/n f x=$retval comm=$comm"),
            ("r f ret $retval", "r:g/n f ret $retval"),
            ("r f $retval $retval:x64", "r:g/n f ret=$retval $retval:x64"),
            ("p f $arg1 $stack0", "p:g/n f $arg1 $stack0"),
            (
                "p f how->flags a.b.c:u32 x=y->z $arg1->q",
                "p:g/n f flags=how->flags c=a.b.c:u32 x=y->z $arg1->q",
            ),
            ("p f a->n b->n", "p:g/n f n=a->n b->n"),
            ("p f a->n n", "p:g/n f a->n n"),
            ("p f +4(%sp) a[3].b", "p:g/n f +4(%sp) a[3].b"),
        ] {
            assert_eq!(line(written), expected);
        }
    }

    #[test]
    fn filters_are_apart() {
        let definition = parse("r vfs_read $duration if duration > 1ms");
        assert_eq!(
            definition.line("g", "n", |_| None).text(),
            "r:g/n vfs_read duration=$duration"
        );
        let filter = definition.filter(|_| false).expect("a filter");
        assert_eq!(filter.text(), "duration > 1000000");
        assert_eq!(filter.origin(0), "r vfs_read $duration if ".len());
        assert_eq!(parse("p vfs_read").filter(|_| false), None);
        assert_eq!(parse("e a.b if x > 1").filter(|_| false), None);
    }

    #[test]
    fn what_is_missing_is_said_where_it_is_missing() {
        for (written, at) in [
            ("", 0),
            ("r", 1),
            ("r  ", 1),
            ("p x if ", 6),
            ("-:x", 0),
            ("s:x u8 a", 0),
            ("r if x", 1),
        ] {
            let refused = Definition::parse(written).expect_err(written);
            assert_eq!(refused.at, at, "{written}: {}", refused.reason);
        }
    }

    #[test]
    fn probes_of_bpftrace_are_known() {
        for (written, instead) in [
            ("kprobe:vfs_read { @ = count(); }", "write 'p vfs_read'"),
            ("kretprobe:vfs_read", "write 'r vfs_read'"),
            ("fexit:vfs_read", "write 'f vfs_read%return'"),
            (
                "tracepoint:sched:sched_switch",
                "write 'sched/sched_switch'",
            ),
        ] {
            let refused = Definition::parse(written).expect_err(written);
            assert_eq!((refused.at, refused.reason.as_str()), (0, instead));
        }
    }

    #[test]
    fn what_others_write_is_known() {
        for (written, reason) in [
            ("/bin/ls -l", "a command comes last: -c /bin/ls -l"),
            (
                "vfs_read(file, buf, count)",
                "write 'vfs_read file buf count'",
            ),
        ] {
            let refused = Definition::parse(written).expect_err(written);
            assert_eq!((refused.at, refused.reason.as_str()), (0, reason));
        }
        for written in ["p /bin/sh:main", "vfs_read ((struct file *)$arg1)->f_mode"] {
            assert!(Definition::parse(written).is_ok(), "{written}");
        }
    }

    #[test]
    fn source_lines_are_known() {
        for (written, target) in [
            (
                "vfs_read:11 count file->f_mode",
                Some("vfs_read:11 count file->f_mode"),
            ),
            (
                "p vfs_read:11  count if count > 1",
                Some("vfs_read:11 count"),
            ),
            ("fs/open.c:12", Some("fs/open.c:12")),
            ("file_start_write%inlined", Some("file_start_write%inlined")),
            ("init@fs/ext4/super.c", Some("init@fs/ext4/super.c")),
            ("p ext4:ext4_sync_file", None),
            ("r vfs_read:11", None),
            ("p vfs_read%return", None),
        ] {
            assert_eq!(
                parse(written).source_target().as_deref(),
                target,
                "{written}"
            );
        }
    }

    #[test]
    fn records_are_called_after_their_definition() {
        for (written, label) in [
            ("p:mine vfs_read", Some("mine")),
            ("r vfs_read", Some("vfs_read")),
            ("p vfs_read%return", Some("vfs_read")),
            ("p vfs_read+4", Some("vfs_read+4")),
            ("p ext4:ext4_sync_file", Some("ext4_sync_file")),
            ("vfs_read:11 count", Some("vfs_read:11")),
            ("f vfs_*", None),
            ("f:io vfs_*", Some("io")),
            ("t sched_switch", Some("sched_switch")),
            ("c 99hz $user", Some("tick")),
            ("c:often 99hz", Some("often")),
            ("w w@jiffies:8", Some("w@jiffies:8")),
            ("e sched.sched_switch", Some("sched_switch")),
            (
                "b sched.sched_wakeup(pid) sched.sched_switch(next_pid)",
                Some("sched_wakeup..sched_switch"),
            ),
        ] {
            assert_eq!(parse(written).label().as_deref(), label, "{written}");
        }
        assert_eq!(parse("p:a/b x").group(), Some("a"));
    }

    #[test]
    fn meanings_are_of_the_definition() {
        let meanings = parse("r f took=$duration $retval:errno x:errno n").meanings();
        let expected = [
            ("took", Meaning::Duration),
            ("ret", Meaning::Errno),
            ("x", Meaning::Errno),
        ];
        assert_eq!(
            meanings,
            expected.map(|(name, meaning)| (name.to_string(), meaning))
        );
        let pair = parse("b a.b(x) c.d(y) $duration").meanings();
        assert_eq!(pair, [("duration".to_string(), Meaning::Duration)]);
    }

    #[test]
    fn plain_functions_are_known() {
        for (written, function) in [
            ("vfs_fsync", Some("vfs_fsync")),
            ("r vfs_fsync $retval", Some("vfs_fsync")),
            ("f vfs_fsync%return", Some("vfs_fsync")),
            ("p vfs_fsync+4", None),
            ("f vfs_*", None),
            ("t sched_switch", None),
        ] {
            assert_eq!(parse(written).function(), function, "{written}");
        }
    }
}
