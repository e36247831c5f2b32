// SPDX-License-Identifier: GPL-2.0

//! The remedy for each kind of refusal.

use crate::engine::refusal::error::Kind;

/// Returns what to write instead, in a few words, or an empty text. `error_log` shows it behind the
/// text of the kind, if the refusal has no detail.
#[cold]
#[inline(never)]
pub fn remedy(kind: Kind) -> &'static str {
    match kind {
        Kind::BadMaxactType => "leave the number out, or write r",
        Kind::BadMaxact => "write r and the number of concurrent calls, such as r100, or only r",
        Kind::MaxactTooBig => "at most 4096 concurrent calls can be followed",
        Kind::BadProbeAddr => "write SYMBOL, SYMBOL+OFFSET or MODULE:SYMBOL, see /proc/kallsyms",
        Kind::NonUniqSymbol => "write SYMBOL#2 for the second of them, SYMBOL#* for all",
        Kind::BadRetprobe => "leave the offset out",
        Kind::NoTracepoint => "available_tracepoints lists them",
        Kind::BadTpName => "write the name only, without its group, see available_tracepoints",
        Kind::NoEventInfo => "write e:NAME GROUP.EVENT, see available_events",
        Kind::BadAttachEvent => "available_events lists them",
        Kind::BadAttachArg | Kind::NoEventField => "the format file of that event has its fields",
        Kind::NoEpFilter => "write a filter of that event's fields, or leave if out",
        Kind::NosupPercpu => "an event has values: write it in the definition of that event",
        Kind::NoPairEnd | Kind::BadPairKeys => {
            "such as: b:runq sched.sched_waking(pid) sched.sched_switch(next_pid) $duration"
        }
        Kind::BadPeriod => "write a frequency or a time: 99hz, 250us, 10ms, 1s",
        Kind::BadWatch => "write r, w, rw or x, @, and a variable: rw@SYMBOL, w@SYMBOL+OFFSET:4",
        Kind::NoWatchpoint => "delete one of those that take them",
        Kind::NosupWatch => "write p for an instruction that accesses the data",
        Kind::AttachedTooDeep => "attach it to the event at the bottom",
        Kind::SynthBadName => "letters, digits and _, and no digit first",
        Kind::SynthInvalidCmd => "such as: wakeup u64 latency; pid_t pid; char comm[]",
        Kind::SynthInvalidDynCmd => "such as: s:wakeup u64 latency; pid_t pid; char comm[]",
        Kind::SynthEventExists => "choose another name, or delete that event with !NAME",
        Kind::SynthTooManyFields => "at most 64",
        Kind::SynthIncompleteType => "write unsigned TYPE NAME",
        Kind::SynthInvalidType | Kind::SynthInvalidArraySpec => {
            "such as s32, u64, char, int, unsigned long, bool, pid_t, gfp_t, char[], unsigned long[]"
        }
        Kind::SynthInvalidField => "a field is TYPE NAME",
        Kind::BadAddrSuffix => "only %return may follow the symbol",
        Kind::NoGroupName => "write GROUP/EVENT, or EVENT only",
        Kind::GroupTooLong | Kind::EventTooLong => "at most 63 characters",
        Kind::BadGroupName => "letters, digits, _ and -, and no digit first",
        Kind::NoEventName => "a name follows the colon; p without a colon makes one",
        Kind::BadEventName => "letters, digits and _, and no digit first",
        Kind::EventExist => "choose another name, or delete that event with -:GROUP/EVENT",
        Kind::DiffProbeType => "choose another name, or delete the other with -:GROUP/EVENT",
        Kind::DiffArgType => "choose another name, or the names and types of the other probe",
        Kind::SameProbe => "change the definition, or leave it out",
        Kind::BadInsnBndry => "write a symbol to placement: it lists the boundaries",
        Kind::FailRegProbe => "write the symbol to placement: it may say why",
        Kind::RetvalOnProbe => "write r, or f with %return, to probe the return",
        Kind::NoRetval => "leave $retval out",
        Kind::BadStackNum => "$stack0 is the first word, and a stack has few thousand",
        Kind::BadArgNum => "arguments count from $arg1",
        Kind::BadVar => {
            "there is $argN, $arg*, $retval, $duration, $nsecs, $tgid, $nspid, $nstgid, $cgroup, \
             $stack, $stackN, $comm, $current"
        }
        Kind::BadRegName => "write % and a register of this architecture",
        Kind::BadMemAddr => "write @ADDRESS, @SYMBOL or @SYMBOL+OFFSET",
        Kind::BadImm => "write \\ and a number, or \\\"text\"",
        Kind::ImmstrNoClose => "end it with \"",
        Kind::FileNotFound => "write the whole path of a program or a library",
        Kind::NoRegularFile => "write the path of a program or a library",
        Kind::BadRefcnt => "write the offset of the counter in the file, in parentheses",
        Kind::RefcntOpenBrace => "add )",
        Kind::BadRefcntSuffix => "nothing may follow )",
        Kind::BadUprobeOffs => "write PATH:OFFSET, or PATH:SYMBOL+OFFSET",
        Kind::BadFileOffs => "write @+OFFSET, in bytes from the beginning of the file",
        Kind::SymOnUprobe => "write @ADDRESS, or @+OFFSET in the file",
        Kind::FileOnKprobe => "write @ADDRESS or @SYMBOL",
        Kind::TooManyOps | Kind::TooManyNested => "at most 8 may nest: probe nearer to the value",
        Kind::DerefNeedBrace => "write +OFFSET(ADDRESS)",
        Kind::BadDerefOffs => "write + or -, an offset in bytes, and (ADDRESS)",
        Kind::DerefOpenBrace => "add )",
        Kind::CommCantDeref => "it is text already: write it alone",
        Kind::BadFetchArg => {
            "write a parameter, $VARIABLE, %REGISTER, @SYMBOL, \\CONSTANT or +OFFSET(...)"
        }
        Kind::ArrayNoClose => "add ]",
        Kind::BadArraySuffix => "nothing may follow ]",
        Kind::BadArrayNum => "write a number of elements, 1 to 64, or * for strings up to a NULL",
        Kind::ArrayTooBig => "at most 64 elements",
        Kind::BadType => "write a type of README behind the colon; a bitfield is b4@2/32",
        Kind::BadString => "write the address of memory: +0(VALUE):string, +0(VALUE):u8[4]",
        Kind::BadSymstring => "write the address of code in kernel memory, or a register",
        Kind::BadBitfield => "write bWIDTH@OFFSET/CONTAINER with WIDTH + OFFSET <= CONTAINER",
        Kind::ArgNameTooLong => "at most 32 characters before =",
        Kind::NoArgName => "write NAME=, or leave = out",
        Kind::BadArgName => "letters, digits and _, and no digit first",
        Kind::UsedArgName => "choose another name",
        Kind::ArgTooLong => "at most 255 characters",
        Kind::NoArgBody => "write what to fetch behind =",
        Kind::NosupBtfarg => "write $argN or a register instead of a name",
        Kind::NoBtfarg => "write the name of a parameter, $argN or a register",
        Kind::NoBtfEntry => "write $argN or a register instead of a name",
        Kind::NofentryArgs => "leave the offset of the symbol out, or write registers",
        Kind::DoubleArgs => "leave one out",
        Kind::Args2long => "write the parameters one by one",
        Kind::NoPtrStrct => "write -> behind pointers to structures only, or cast: (STRUCT)X->Y",
        Kind::NosupDatArg => "write -> for a pointer",
        Kind::BadHyphen => "write -> for a member",
        Kind::NoBtfField => "see the members of the structure in the kernel's source",
        Kind::BadBtfTid => "write +OFFSET(...) instead of a member",
        Kind::BadType4str => "write the type of the value, such as x64, or none",
        Kind::NeedStringType => "write :string, or no type",
        Kind::TooManyArgs => "at most 128 arguments",
        Kind::EventTooBig => "use fewer arguments or shorter arrays, or several events",
        Kind::TypecastReqField => "write (STRUCT)VALUE->MEMBER",
        Kind::TypecastNotAligned => "name a member that begins with a byte",
        Kind::TypecastBadArrow => "write a member of the structure itself, without ->",
        Kind::TypecastSymOffset => "write (STRUCT)(@SYMBOL+OFFSET)->MEMBER",
        Kind::BadProbeType => "p probes an instruction, r a return, t a tracepoint, f functions; README has e, b and s",
        Kind::NoPlace => "write the letter, and where the probe is to be",
        Kind::OtherFile => "dynamic_events takes all",
        Kind::NoFileSymbol => "write a function of the program, or an offset",
        Kind::NoSuchEvent => "kprobe_events lists the events",
        Kind::AmbiguousEvent => "write -:GROUP/EVENT",
        Kind::EventBusy => "write 0 to its enable first",
        Kind::EventInUse => "remove the triggers that need it, and what is attached to it, first",
        Kind::OtherOwner => "private_events shows whose it is",
        Kind::FilterLost => "write 0 to its filter first",
        Kind::LineTooLong => "at most 4094 characters in a line",
        Kind::BadByte => "write text in UTF-8",
        Kind::NoMemory => "",
        Kind::NoNumber => "delete events, and clear trace",
        Kind::NoDataSymbol => "write a variable of /proc/kallsyms",
        Kind::NeverReturns => "write p to probe its entry",
        Kind::NoSingleValue => "write one of its members, or a type",
        Kind::BadType4path => "%pd takes a pointer to a struct dentry, %pD one to a struct file",
        Kind::BadType4fullPath => "record the path of a struct file, path or dentry",
        Kind::BadPlace => "write the symbol to placement: it lists where probes can be",
        Kind::FiltInvalidOp => "there is == != < <= > >= & and ~, and + - * / % << >> with a number before these",
        Kind::FiltTooManyOpen => "close it with )",
        Kind::FiltTooManyClose => "open it with (, or leave it out",
        Kind::FiltMissingQuote => "end the text with the same quote",
        Kind::FiltMissingBraceOpen => "write CPUS{0-3}",
        Kind::FiltMissingBraceClose => "end the list with }",
        Kind::FiltOperandTooLong => "at most 255 characters",
        Kind::FiltExpectString => "compare a text with == != or ~",
        Kind::FiltExpectDigit => "compare with a number, or FIELD.ustring (the kernel's: .string) with the text there",
        Kind::FiltIllegalFieldOp => "texts take == != ~, numbers == != < <= > >= &",
        Kind::FiltFieldNotFound => "format lists the fields",
        Kind::FiltIllegalIntval => "write a number, such as 10, -1 or 0x1f",
        Kind::FiltBadSubsysFilter => "write the field of an event of the group, see its format",
        Kind::FiltTooManyPreds => "join terms with && or ||",
        Kind::FiltInvalidFilter => "a term is missing: write FIELD OPERATOR VALUE",
        Kind::FiltInvalidCpulist => "write CPUs such as 0-3,8",
        Kind::FiltInvalidValue => "write a text in quotes, a number without",
        Kind::FiltNoFunction => "write a symbol of /proc/kallsyms, or an address",
        Kind::FiltNoFilter => "write FIELD OPERATOR VALUE, or 0 for no filter",
        Kind::FiltTooLong => "at most 4095 characters",
        Kind::FiltNoSign => "fetch it with a sign, such as s64",
        Kind::FiltNeverHigh => "write the number with its sign, or fetch it without, such as u64",
        Kind::TriggerExist => "remove it first: write ! before it",
        Kind::NoSuchTrigger => "trigger lists what there is",
        Kind::TriggerBadCount => "write TRIGGER:NUMBER, or TRIGGER for no limit",
        Kind::TriggerNoEvent => "such as enable_event:kprobes:open",
        Kind::TriggerEventNotFound => "available_events lists the events",
        Kind::TriggerExpectIf => "write TRIGGER[:COUNT] if FILTER",
        Kind::TriggerTooLong => "at most 4095 characters",
        Kind::NamedMismatch => "use the keys, values and filter of the first, or another name",
        Kind::TriggerEexist => "remove it first: write ! before it, or give it a name",
        Kind::TriggerEnoentClear => "set it first, without clear and cont",
        Kind::SetClockFail => "leave clock= out, and write the clock to trace_clock",
        Kind::BadFieldModifier => {
            "there is .hex .sym .sym-offset .syscall .execname .errno .enum .log2 .buckets=N .usecs of keys, \
             .hex .usecs .percent .graph .min .max .avg of values"
        }
        Kind::HistFieldNotFound => "format lists the fields",
        Kind::EmptyAssignment => "write a value behind =",
        Kind::InvalidSortModifier => "write .ascending or .descending",
        Kind::EmptySortField => "write the name of a key or a value",
        Kind::TooManySortFields => "leave some out",
        Kind::InvalidSortField => "write a field of keys= or vals=, or hitcount",
        Kind::NeedNohcVal => "add vals=FIELD, or leave nohitcount out",
        Kind::HistNoKeys => "such as hist:keys=common_pid",
        Kind::HistTooManyKeys | Kind::HistTooManyVals => "leave some out",
        Kind::HistKeyTooLarge => "leave one out",
        Kind::HistBadSize => "write size=4096, or leave it out",
        Kind::HistBadName => "such as name=my-hist",
        Kind::HistBadWord => "separate parts with :, such as keys=FIELD:pause",
        Kind::HistNoFilter => "write FIELD OPERATOR VALUE, or leave if out",
        Kind::HistArray => "fetch its elements one by one in the definition",
        Kind::HistValueText => "write it behind keys=",
        Kind::HistNoMemory => "write a smaller size=, or remove other histograms",
        Kind::HistNoOperand => "write VALUE OPERATOR VALUE, or -(VALUE), without blanks",
        Kind::HistTooManyRefs | Kind::HistTooManyActions => "leave some out",
        Kind::HistInUse => "first remove the histograms that refer to it",
        Kind::DuplicateVar => "choose another name",
        Kind::VarNotUnique => "write GROUP.EVENT.$NAME",
        Kind::TooManyVars => "at most 16: leave some out",
        Kind::MalformedAssignment => "write NAME=EXPRESSION, separated by commas",
        Kind::TooManySubexpr => "keep a part in a variable of another histogram",
        Kind::TimestampMismatch => "write .usecs behind both times, or behind none",
        Kind::TooManyFieldVars | Kind::TooManyParams => "at most 64: leave some out",
        Kind::EventFileNotFound | Kind::InvalidSubsysEvent => "available_events lists the events",
        Kind::HistNotFound => "first set a histogram with these keys on that event",
        Kind::HistCreateFail => "format of that event lists its fields",
        Kind::SynthEventNotFound => "synthetic_events lists them",
        Kind::SynthTypeMismatch => "size and sign must be those of the field",
        Kind::SynthCountMismatch => "write a parameter for each field",
        Kind::FieldVarParseFail | Kind::FieldVarCreateFail => "format lists the fields",
        Kind::VarCreateFindFail => "a variable has this name: write $ before it",
        Kind::OnxNotVar => "write $ and the name of a variable of this trigger",
        Kind::OnxVarNotFound => "define it in this trigger: NAME=EXPRESSION",
        Kind::OnxNotNumber => "make it a key",
        Kind::OnxVarCreateFail => "the variables __max and __change are taken for this",
        Kind::ParamNotFound => "define it in this trigger, or write GROUP.EVENT.$NAME",
        Kind::InvalidParam => "write FIELD, $VARIABLE or GROUP.EVENT.FIELD",
        Kind::ActionNotFound => "write HANDLER(...).ACTION(...)",
        Kind::NoSaveParams => "write the fields to save",
        Kind::TooManySaveActions => "write all fields in one of them",
        Kind::ActionMismatch => "behind onmatch there is trace(EVENT,...) and EVENT(...)",
        Kind::NoClosingParen => "add )",
        Kind::SubsysNotFound => "write GROUP.EVENT",
        Kind::InvalidRefKey => "write the field",
        Kind::VarNotFound => "a variable is defined by NAME=EXPRESSION of a hist trigger",
        Kind::InvalidStrOperand => "write it alone",
        Kind::ExpectNumber => "write a number such as 1000 or 0x10",
        Kind::UnaryMinusSubexpr => "write 0-VALUE",
        Kind::DivisionByZero => "write another divisor",
        Kind::FileBadNumber | Kind::FileOutOfRange => "write a number that the file takes",
        Kind::FileBadSwitch => "1 switches it on, 0 off",
        Kind::FileBadMask | Kind::FileNoCpu => "write hexadecimal digits, a bit for each CPU",
        Kind::FileNoClock => "trace_clock lists the clocks",
        Kind::FileNoOption => "trace_options lists the options",
        Kind::FileFixedOption => "leave it",
        Kind::FileNoTracer => "write nop",
        Kind::FileNoEvent => "available_events lists the events",
        Kind::FileNoSymbol => "write a symbol of /proc/kallsyms",
        Kind::FileNoFunction => "write a symbol or an address of the kernel's text",
        Kind::FileOneCpu => "write 2 to clear it, or 0 to snapshot to free that of all CPUs",
        Kind::FileMarkersOff => "write 1 to options/markers",
        Kind::FileNotRecording => {
            "write 1 to tracing_on, see tracing_cpumask and options/overwrite"
        }
        Kind::FileBadLength => {
            "write a number of four bytes and what belongs to it, less than a sub-buffer"
        }
        Kind::FileInUse => "write 0 to events/enable first, or 1 to reset, or use >> to add",
        Kind::FileMapped => "end the program that has mapped a trace_pipe_raw first",
        Kind::FileReadOnly => "README says which files can be written",
        Kind::FileGone => "define it again, and open the file anew",
        Kind::FileTooLong => "write at most a mebibyte at once",
        Kind::FileLocked => {
            "probes need a kernel without lockdown, see /sys/kernel/security/lockdown"
        }
        Kind::FileNoMemory => "write a smaller number",
        Kind::FileFailed => "the kernel's log (dmesg) may have the reason",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_fits_behind_the_text() {
        for &kind in Kind::ALL {
            let text = remedy(kind);
            assert_eq!(text.is_empty(), kind == Kind::NoMemory, "{kind:?}");
            // The longest are lists of all names.
            assert!(text.len() <= 150, "{kind:?}: {} characters", text.len());
            assert!(!text.ends_with('.'), "{kind:?}");
        }
    }
}
