// SPDX-License-Identifier: GPL-2.0

//! The tests of the engine, in one program: forty took most of the time to compile.

mod ring_common;
mod support;

mod arm64_exclusive;
mod arm64_words;
mod clock;
mod documents;
mod elf;
mod hist_inter;
mod hist_inter_model;
mod hist_language;
mod hist_print;
mod hist_table;
mod lang_btf;
mod lang_by_value;
mod lang_changes;
mod lang_enum;
mod lang_errors;
mod lang_fetch;
mod lang_filter;
mod lang_forms;
mod lang_grammar;
mod lang_json;
mod lang_lines;
mod lang_path;
mod lang_syscalls;
mod lang_text;
mod lang_trigger;
mod lang_units;
mod lang_whole;
mod numbers;
mod pairs;
mod placement;
mod placement_index;
mod ready;
mod ring;
mod ring_carry;
mod ring_handing;
mod ring_laps;
mod ring_lending;
mod ring_nested;
mod ring_notes;
mod ring_properties;
mod ring_rings;
mod seq_buf;
mod stale;
mod usdt;
mod values_by_type;
mod x86_corpus;
mod x86_properties;
