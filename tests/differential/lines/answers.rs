// SPDX-License-Identifier: GPL-2.0

//! What perf has said, kept in a file: it takes a quarter of a second for each question, and so a run that
//! was stopped goes on where it was, and one after a change asks nothing again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

/// What perf printed: definitions, or why not.
pub type Said = Result<String, String>;

/// Answers by question, and the file that gets new ones.
pub struct Answers {
    known: Mutex<HashMap<String, Said>>,
    file: Option<Mutex<File>>,
}

/// Between the lines of what perf said.
const LINE: char = '\u{1e}';

impl Answers {
    /// Reads the answers of the file at `path`, if there is one. `of` names the perf and the kernel;
    /// a file of another perf or kernel is emptied.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn open(path: Option<&Path>, of: &str) -> io::Result<Self> {
        let Some(path) = path else {
            return Ok(Self {
                known: Mutex::default(),
                file: None,
            });
        };
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let is_of = text.lines().next() == Some(of);
        if !is_of {
            fs::write(path, format!("{of}\n"))?;
        }
        let lines = text.lines().skip(1).filter(|_| is_of);
        // The last line of a run that was killed may be a part of one.
        let known = lines.filter_map(read).collect();
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self {
            known: Mutex::new(known),
            file: Some(Mutex::new(file)),
        })
    }

    /// What was said to `question`.
    pub fn get(&self, question: &str) -> Option<Said> {
        let known = self.known.lock().expect("no thread panics with it");
        known.get(question).cloned()
    }

    /// Keeps what was said.
    pub fn keep(&self, question: &str, said: &Said) {
        let mut known = self.known.lock().expect("no thread panics with it");
        known.insert(question.into(), said.clone());
        let (verdict, text) = match said {
            Ok(text) => ("has", text),
            Err(text) => ("refuses", text),
        };
        let text = text.trim_end().replace('\n', &LINE.to_string());
        if let Some(file) = &self.file {
            let mut file = file.lock().expect("no thread panics with it");
            // In one write, so that only the last line can be a part. What is not kept is asked again.
            let _ = file.write_all(format!("{question}\t{verdict}\t{text}\n").as_bytes());
        }
    }
}

/// A line of the file.
fn read(line: &str) -> Option<(String, Said)> {
    let mut parts = line.splitn(3, '\t');
    let (question, verdict, text) = (parts.next()?, parts.next()?, parts.next()?);
    let text = text.replace(LINE, "\n");
    match verdict {
        "has" => Some((question.into(), Ok(text))),
        "refuses" => Some((question.into(), Err(text))),
        _ => None,
    }
}
