// SPDX-License-Identifier: GPL-2.0

//! What is listed, the `format` file, and the lines of `trace`.

use crate::support;

use ferroprobe_engine::engine::code::arch::{Arch, Machine};
use ferroprobe_engine::engine::definition::ast::Request;
use ferroprobe_engine::engine::definition::parse;
use ferroprobe_engine::engine::language::lex::Command;
use ferroprobe_engine::engine::print::context::{self, Columns, Context, Time};
use ferroprobe_engine::engine::record::format::{self, flag};
use ferroprobe_engine::engine::record::Header;
use ferroprobe_engine::engine::refusal::error::Kind;
use ferroprobe_engine::engine::ring::Note;
use support::{compile, definition, hit, put, text, with_stacks, Kernel};

fn listed(text: &str) -> String {
    let mut line = String::new();
    definition(text, Arch::X86_64)
        .expect(text)
        .write_line(&mut line)
        .expect("a String");
    line
}

#[test]
fn definitions_are_listed_as_the_kernel_lists_them() {
    for (text, want) in [
        ("p vfs_read", "p:kprobes/p_vfs_read_0 vfs_read\n"),
        ("p   vfs_read+0x10", "p:kprobes/p_vfs_read_16 vfs_read+16\n"),
        ("r10:ev vfs_read", "r10:kprobes/ev vfs_read\n"),
        (
            "r:g/ vfs_read $retval",
            "r:g/r_vfs_read_0 vfs_read arg1=$retval\n",
        ),
        ("p:g.ev vfs_read%return", "r:g/ev vfs_read\n"),
        (
            "p 0xffffffff81000000",
            "p:kprobes/p_0xffffffff81000000 0xffffffff81000000\n",
        ),
        (
            "p mod:fn.isra.0",
            "p:kprobes/p_mod_fn_isra_0_0 mod:fn.isra.0\n",
        ),
        (
            "p f $stack %ax:u8 x=@y:string",
            "p:kprobes/p_f_0 f arg1=$stack arg2=%ax:u8 x=@y:string\n",
        ),
        (
            "p f file a0:u8 \\\"a b\"",
            "p:kprobes/p_f_0 f file=file a0=a0:u8 arg3=\\\"a b\"\n",
        ),
        ("p 4096%return", "r:kprobes/r_0x1000 0x1000\n"),
        ("p show#2", "p:kprobes/p_show_2_0 show#2\n"),
        (
            "p mod:show#12+0x4",
            "p:kprobes/p_mod_show_12_4 mod:show#12+4\n",
        ),
        (
            "r show#1 $retval",
            "r:kprobes/r_show_1_0 show#1 arg1=$retval\n",
        ),
        ("p show#3%return", "r:kprobes/r_show_3_0 show#3\n"),
        ("f show#2%return", "f:fprobes/show_2__exit show#2%return\n"),
        ("f show#*", "f:fprobes/show__entry show#*\n"),
        ("p show#*+4", "p:kprobes/p_show_4 show#*+4\n"),
        ("p:my-group/ev f", "p:my-group/ev f\n"),
    ] {
        assert_eq!(listed(text), want, "{text}");
        assert_eq!(listed(want), want);
    }
}

#[test]
fn long_generated_names_are_cut() {
    let line = listed(&format!("p {}", "f".repeat(100)));
    let name = line.split(' ').next().unwrap();
    assert_eq!(name, format!("p:kprobes/p_{}", "f".repeat(61)));
}

#[test]
fn a_word_of_the_stack_lies_within_it() {
    let parsed = |text: &str, stack_words| {
        let machine = Machine {
            arch: Arch::Arm64,
            stack_words,
        };
        let command = Command::new(text.as_bytes()).unwrap();
        parse::request(&command, machine)
            .map(|_| ())
            .map_err(|error| error.kind)
    };
    assert_eq!(parsed("p f $stack2048", 2048), Ok(()));
    assert_eq!(parsed("p f $stack2049", 2048), Err(Kind::BadStackNum));
    assert_eq!(parsed("p f $stack2049", 16384), Ok(()));
    assert_eq!(parsed("p f $stack16385", 16384), Err(Kind::BadStackNum));
    assert_eq!(parsed("p f $stack65536", 16384), Err(Kind::BadStackNum));
}

#[test]
fn deletions_match() {
    let deletes = |deletion: &str, text: &str| {
        let command = Command::new(deletion.as_bytes()).unwrap();
        let Request::Delete(deletion) =
            parse::request(&command, with_stacks(Arch::X86_64)).unwrap()
        else {
            panic!("no deletion")
        };
        deletion.matches(&definition(text, Arch::X86_64).unwrap())
    };
    let probe = "p:g/ev vfs_read+16 a=%ax b=%bx:u8";
    for deletion in [
        "-:g/ev",
        "-:ev",
        "-:g/",
        "-:g/ev vfs_read+16",
        "-:ev vfs_read+0x10",
        "-:ev vfs_read+16 a=%ax",
        "!p:g/ev",
        "!p:g/ev vfs_read+16",
        "!r10:ev vfs_read+16 a=%ax",
        "-:ev vfs_read+16 a=%ax b=%bx:u8",
    ] {
        assert!(deletes(deletion, probe), "{deletion}");
    }
    for deletion in [
        "-:h/ev",
        "-:e",
        "-:h/",
        "-:ev vfs_read",
        "-:ev vfs_read+17",
        "-:ev vfs_read+16 a=%bx",
        "-:ev vfs_read+16 b=%bx:u8",
        "-:ev vfs_read+16 a=%ax b=%bx:u8 c=%cx",
    ] {
        assert!(!deletes(deletion, probe), "{deletion}");
    }
    assert!(deletes("-:ev 0x10", "p:ev 16"));
    for (deletion, text, is_meant) in [
        ("-:ev show#2", "p:ev show#2", true),
        ("-:ev show#2+4", "p:ev show#2+4", true),
        ("-:ev show#*", "p:ev show#2", true),
        ("-:ev show", "p:ev show#2", false),
        ("-:ev show#1", "p:ev show#2", false),
        ("-:ev show#2", "p:ev show", false),
        ("-:ev show#*", "p:ev show", false),
        ("-:ev show#2x", "p:ev show#2", false),
    ] {
        assert_eq!(deletes(deletion, text), is_meant, "{deletion} {text}");
    }
    assert!(!deletes("-:ev 0x11", "p:ev 16"));
}

#[test]
fn the_format_file_is_the_kernels() {
    let text = "p f a=%ax b=+0(%di):s8[4] c=$comm d=+0(%di):string[2] e=%ax:char f=%ax:symbol";
    let (_, program) = compile(text, &mut Kernel::default()).unwrap();
    let mut out = String::new();
    format::write_format(&mut out, "ev", 1700, program.layout()).unwrap();
    let want = "\
name: ev
ID: 1700
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:u64 a;\toffset:16;\tsize:8;\tsigned:0;
\tfield:s8 b[4];\toffset:24;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] c;\toffset:28;\tsize:4;\tsigned:1;
\tfield:__data_loc char[][2] d;\toffset:32;\tsize:8;\tsigned:1;
\tfield:u8 e;\toffset:40;\tsize:1;\tsigned:0;
\tfield:u64 f;\toffset:41;\tsize:8;\tsigned:0;
\tfield:u8 __probe_faults;\toffset:49;\tsize:1;\tsigned:0;

print fmt: \"(%lx) a=0x%Lx b={%d,%d,%d,%d} c=\\\"%s\\\" d={\\\"%s\\\",\\\"%s\\\"} e='%c' f=%pS\", \
REC->__probe_ip, REC->a, REC->b[0], REC->b[1], REC->b[2], REC->b[3], __get_str(c), \
__get_str(d[0]), __get_str(d[1]), REC->e, REC->f
";
    assert_eq!(out, want);
    let (_, program) = compile("r f $retval", &mut Kernel::default()).unwrap();
    let mut out = String::new();
    format::write_format(&mut out, "ev", 1, program.layout()).unwrap();
    assert!(out.ends_with(
        "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n\
         \tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n\
         \tfield:u64 arg1;\toffset:24;\tsize:8;\tsigned:0;\n\
         \tfield:u8 __probe_faults;\toffset:32;\tsize:1;\tsigned:0;\n\n\
         print fmt: \"(%lx <- %lx) arg1=0x%Lx\", REC->__probe_func, REC->__probe_ret_ip, REC->arg1\n"
    ));
}

#[test]
fn a_line_of_trace() {
    let mut k = Kernel::default();
    let (_, program, record) = hit("p vfs_read a=%ax", &mut k);
    let header = Header::from_record(&record).unwrap();
    assert_eq!(header.event, 7);
    let time = Time::Nanoseconds(1_038_282_286_884_600);
    let context = Context {
        task: Note::new(42, *b"bash\0\0\0\0\0\0\0\0\0\0\0\0"),
        cpu: 1,
        time,
        irq_info: true,
        tgid: None,
    };
    let out = text(|buf| {
        Columns::new().put(buf, &context, header);
        put(buf, b"myprobe", &program, &record, &k);
    });
    assert_eq!(
        out,
        "            bash-42      [001] ..... 1038282.286885: myprobe: (vfs_read+0x0/0x1000) a=0x0\n"
    );
    let (_, program, record) = hit("r vfs_read $retval", &mut k);
    let out = text(|buf| put(buf, b"r", &program, &record, &k));
    assert_eq!(out, "r: (vfs_read+0x100/0x1000 <- vfs_read) arg1=0x0\n");
    let context = Context {
        task: Note::new(42, *b"<...>\0\0\0\0\0\0\0\0\0\0\0"),
        cpu: 12,
        time: Time::Count(5),
        irq_info: false,
        tgid: None,
    };
    let out = text(|buf| Columns::new().put(buf, &context, header));
    assert_eq!(out, "           <...>-42      [012]             5: ");
    for (tgid, column) in [
        (0, "(-------)"),
        (42, "(     42)"),
        (4_194_303, "(4194303)"),
    ] {
        let context = Context {
            tgid: Some(tgid),
            ..context
        };
        let out = text(|buf| Columns::new().put(buf, &context, header));
        assert_eq!(
            out,
            format!("           <...>-42      {column} [012]             5: ")
        );
    }
}

#[test]
fn flag_letters() {
    let letters = |flags, preempt_count| {
        let header = Header {
            event: 0,
            flags,
            preempt_count,
            pid: 0,
        };
        text(|buf| context::put_flags(buf, header))
    };
    assert_eq!(letters(0, 0), ".....");
    assert_eq!(
        letters(flag::IRQS_OFF | flag::HARDIRQ | flag::SOFTIRQ, 0x21),
        "d.H12"
    );
    assert_eq!(
        letters(flag::IRQS_OFF | flag::BH_OFF | flag::NMI, 0x0f),
        "D.zf."
    );
    assert_eq!(
        letters(flag::BH_OFF | flag::NMI | flag::HARDIRQ, 0xf0),
        "b.Z.f"
    );
    let resched = [
        flag::NEED_RESCHED,
        flag::NEED_RESCHED_LAZY,
        flag::PREEMPT_RESCHED,
    ];
    for (set, letter) in ["...", "1..", ".1.", "11.", "..1", "1.1", ".11", "111"]
        .iter()
        .zip(".nlbpNLB".chars())
    {
        let bits = set
            .chars()
            .zip(resched)
            .filter(|(c, _)| *c == '1')
            .map(|(_, bit)| bit);
        assert_eq!(letters(bits.sum(), 0), format!(".{letter}..."), "{set}");
    }
    assert_eq!(letters(flag::SOFTIRQ, 0), "..s..");
    assert_eq!(letters(flag::HARDIRQ, 0), "..h..");
}

#[test]
fn headers_with_the_process() {
    let header = |irq_info| {
        let mut out = String::new();
        format::write_trace_header(&mut out, 3, 5, 2, (irq_info, true)).unwrap();
        out.split_off(out.find("#P:2\n#\n").unwrap() + 7)
    };
    // As the kernel prints them.
    let irq = "\
#                                          _-----=> irqs-off/BH-disabled
#                                         / _----=> need-resched
#                                        | / _---=> hardirq/softirq
#                                        || / _--=> preempt-depth
#                                        ||| / _-=> migrate-disable
#                                        |||| /     delay
#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION
#              | |           |       |   |||||     |         |
";
    assert_eq!(header(true), irq);
    let plain = "\
#           TASK-PID       TGID    CPU#     TIMESTAMP  FUNCTION
#              | |           |       |         |         |
";
    assert_eq!(header(false), plain);
}

#[test]
fn marks_and_headers() {
    let mut out = String::new();
    format::write_trace_header(&mut out, 3, 5, 2, (true, false)).unwrap();
    format::write_lost(&mut out, 1, Some(7)).unwrap();
    format::write_lost(&mut out, 1, None).unwrap();
    format::write_buffer_started(&mut out, 1).unwrap();
    format::write_profile(&mut out, "myevent", 0, 12).unwrap();
    let want = "\
# tracer: nop
#
# entries-in-buffer/entries-written: 3/5   #P:2
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
CPU:1 [LOST 7 EVENTS]
CPU:1 [LOST EVENTS]
##### CPU 1 buffer started ####
  myevent                                                    0              12
";
    assert_eq!(out, want);
}

#[test]
fn good_definitions_are_accepted_and_read_back() {
    let blob = Some(support::btf::sample());
    let mut k = Kernel {
        blob,
        ..Kernel::default()
    };
    let lines = include_str!("../../data/lang-good.txt").lines();
    for line in lines.filter(|l| l.starts_with(['p', 'r'])) {
        let known = line
            .replace("_sdata", "linux_proc_banner")
            .replace("@0:", "@0x1000:");
        let (definition, program) =
            compile(&known, &mut k).unwrap_or_else(|e| panic!("{known}: {e:?}"));
        let mut listed = String::new();
        definition.write_line(&mut listed).unwrap();
        let (again, same) = compile(&listed, &mut k).unwrap_or_else(|e| panic!("{listed}: {e:?}"));
        assert_eq!(program, same, "{listed}");
        assert_eq!(definition.place, again.place);
        let mut twice = String::new();
        again.write_line(&mut twice).unwrap();
        assert_eq!(listed, twice);
    }
}

/// The seed of the fuzz targets is made from the text beside the other data.
#[test]
fn the_seed_of_types_is_up_to_date() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/types.btf");
    let blob = support::btf::sample();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, &blob).unwrap();
    }
    assert_eq!(std::fs::read(file).unwrap(), blob, "run with BLESS=1");
}
