// SPDX-License-Identifier: GPL-2.0

//! Why a definition, a filter or another write is refused: one table of all reasons.
//!
//! A reason has a text, an errno and the log location under which it is reported. An
//! [`Error`] adds the column of the caret and, if more is known, a detail, which takes the
//! place of the [`remedy()`](crate::engine::refusal::remedy::remedy) for its kind.
//! [`Error::write_entry`] writes the entry of `error_log`. The texts and errnos of the rows
//! that ftrace also has are ftrace's, because its selftests and users compare them; rows
//! marked "ours" cover what ftrace refuses without an entry in the log, or does not know.

use core::fmt::{self, Write};

use crate::engine::util::text::Appender;
use crate::sys::{AllocError, Box, Vec};

/// A kernel error number, as a positive value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

#[expect(missing_docs, reason = "the names of errno.h")]
impl Errno {
    pub const EPERM: Self = Self(1);
    pub const ENOENT: Self = Self(2);
    pub const E2BIG: Self = Self(7);
    pub const EBADF: Self = Self(9);
    pub const EINTR: Self = Self(4);
    pub const ENOMEM: Self = Self(12);
    pub const EBUSY: Self = Self(16);
    pub const EEXIST: Self = Self(17);
    pub const ENODEV: Self = Self(19);
    pub const EINVAL: Self = Self(22);
    pub const ENOSPC: Self = Self(28);
    pub const EDOM: Self = Self(33);
    pub const EOVERFLOW: Self = Self(75);
    pub const EILSEQ: Self = Self(84);
    pub const EOPNOTSUPP: Self = Self(95);
}

/// The part of the language to which an error belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A probe definition.
    Definition,
    /// The definition of a synthetic event.
    Synthetic,
    /// An event filter.
    Filter,
    /// A trigger of an event.
    Trigger,
    /// A histogram, which is a trigger of an event.
    Histogram,
    /// A value that is written to a file.
    File,
}

impl Subject {
    /// Returns the log location under which `error_log` reports such an error in
    /// `command`.
    pub fn location(self, command: &[u8]) -> &'static str {
        match self {
            // ftrace reports a definition where it handles its letter.
            Subject::Definition if matches!(command, [b'f' | b't', ..]) => "trace_fprobe",
            Subject::Definition if matches!(command, [b'e' | b'b', ..]) => "event_probe",
            Subject::Definition if is_in_file(command) => "trace_uprobe",
            Subject::Definition if matches!(command, [b'c', ..]) => "sample",
            Subject::Definition if matches!(command, [b'w', ..]) => "wprobe",
            Subject::Definition => "trace_kprobe",
            Subject::Synthetic => "synthetic_events",
            Subject::Filter => "event filter parse error",
            Subject::Trigger => "event trigger",
            Subject::Histogram => "hist",
            Subject::File => "ferroprobe",
        }
    }
}

/// Returns whether `command` probes a location in a file.
fn is_in_file(command: &[u8]) -> bool {
    let place = command.split(|&byte| byte == b' ').nth(1);
    place.is_some_and(|place| place.contains(&b'/') && place.contains(&b':'))
}

macro_rules! kinds {
    ($($subject:ident { $($kind:ident $name:ident $errno:ident $text:literal)* })*) => {
        /// The reason of a refusal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[doc = $text] $kind,)*)*
        }

        impl Kind {
            /// All kinds, in the order of the table.
            pub const ALL: &'static [Kind] = &[$($(Kind::$kind,)*)*];

            /// Returns the kind's symbolic name, as in the kernel's sources.
            pub fn name(self) -> &'static str {
                match self { $($(Kind::$kind => stringify!($name),)*)* }
            }

            /// Returns the text of the kind.
            pub fn text(self) -> &'static str {
                match self { $($(Kind::$kind => $text,)*)* }
            }

            /// Returns the errno with which the write fails, unless the [`Error`] has its
            /// own.
            pub fn errno(self) -> Errno {
                match self { $($(Kind::$kind => Errno::$errno,)*)* }
            }

            /// Returns the part of the language to which the kind belongs.
            pub fn subject(self) -> Subject {
                match self { $($(Kind::$kind => Subject::$subject,)*)* }
            }
        }
    };
}

kinds! {
    Definition {
        BadMaxactType BAD_MAXACT_TYPE EINVAL "Maxactive is only for function exit"
        BadMaxact BAD_MAXACT EINVAL "Invalid maxactive number"
        MaxactTooBig MAXACT_TOO_BIG EINVAL "Maxactive is too big"
        BadProbeAddr BAD_PROBE_ADDR EINVAL "Invalid probed address or symbol"
        NonUniqSymbol NON_UNIQ_SYMBOL EINVAL "The symbol is not unique"
        BadRetprobe BAD_RETPROBE EINVAL "Retprobe address must be an function entry"
        NoTracepoint NO_TRACEPOINT ENOENT "Tracepoint is not found"
        BadTpName BAD_TP_NAME EINVAL "Invalid character in tracepoint name"
        BadAddrSuffix BAD_ADDR_SUFFIX EINVAL "Invalid probed address suffix"
        NoGroupName NO_GROUP_NAME EINVAL "Group name is not specified"
        GroupTooLong GROUP_TOO_LONG EINVAL "Group name is too long"
        BadGroupName BAD_GROUP_NAME EINVAL
            "Group name must follow the same rules as C identifiers"
        NoEventName NO_EVENT_NAME EINVAL "Event name is not specified"
        EventTooLong EVENT_TOO_LONG EINVAL "Event name is too long"
        BadEventName BAD_EVENT_NAME EINVAL
            "Event name must follow the same rules as C identifiers"
        EventExist EVENT_EXIST EEXIST
            "Given group/event name is already used by another event"
        DiffProbeType DIFF_PROBE_TYPE EEXIST "Probe type is different from existing probe"
        DiffArgType DIFF_ARG_TYPE EEXIST
            "Argument type or name is different from existing probe"
        SameProbe SAME_PROBE EEXIST "There is already the exact same probe event"
        BadInsnBndry BAD_INSN_BNDRY EILSEQ "Probe point is not an instruction boundary"
        FailRegProbe FAIL_REG_PROBE EINVAL "Failed to register probe event"
        RetvalOnProbe RETVAL_ON_PROBE EINVAL "$retval is not available on probe"
        NoRetval NO_RETVAL ENOENT "This function returns 'void' type"
        BadStackNum BAD_STACK_NUM EINVAL "Invalid stack number"
        BadArgNum BAD_ARG_NUM EINVAL "Invalid argument number"
        BadVar BAD_VAR EINVAL "Invalid $-variable specified"
        BadRegName BAD_REG_NAME EINVAL "Invalid register name"
        BadMemAddr BAD_MEM_ADDR EINVAL "Invalid memory address"
        BadImm BAD_IMM EINVAL "Invalid immediate value"
        ImmstrNoClose IMMSTR_NO_CLOSE EINVAL "String is not closed with '\"'"
        FileNotFound FILE_NOT_FOUND ENOENT "Failed to find the given file"
        NoRegularFile NO_REGULAR_FILE EINVAL "Not a regular file"
        BadRefcnt BAD_REFCNT EINVAL "Invalid reference counter offset"
        RefcntOpenBrace REFCNT_OPEN_BRACE EINVAL "Reference counter brace is not closed"
        BadRefcntSuffix BAD_REFCNT_SUFFIX EINVAL "Reference counter has wrong suffix"
        BadUprobeOffs BAD_UPROBE_OFFS EINVAL "Invalid uprobe offset"
        BadFileOffs BAD_FILE_OFFS EINVAL "Invalid file offset value"
        SymOnUprobe SYM_ON_UPROBE EINVAL "Symbol is not available with uprobe"
        FileOnKprobe FILE_ON_KPROBE EINVAL "File offset is not available for kernel probes"
        TooManyOps TOO_MANY_OPS EINVAL "Dereference is too much nested"
        TooManyNested TOO_MANY_NESTED E2BIG "Too many nested typecasts/dereferences"
        DerefNeedBrace DEREF_NEED_BRACE EINVAL "Dereference needs a brace"
        BadDerefOffs BAD_DEREF_OFFS EINVAL "Invalid dereference offset"
        DerefOpenBrace DEREF_OPEN_BRACE EINVAL "Dereference brace is not closed"
        CommCantDeref COMM_CANT_DEREF EINVAL "$comm can not be dereferenced"
        BadFetchArg BAD_FETCH_ARG EINVAL "Invalid fetch argument"
        ArrayNoClose ARRAY_NO_CLOSE EINVAL "Array is not closed"
        BadArraySuffix BAD_ARRAY_SUFFIX EINVAL "Array has wrong suffix"
        BadArrayNum BAD_ARRAY_NUM EINVAL "Invalid array size"
        ArrayTooBig ARRAY_TOO_BIG EINVAL "Array number is too big"
        BadType BAD_TYPE EINVAL "Unknown type is specified"
        BadString BAD_STRING EINVAL "String accepts only memory argument"
        BadSymstring BAD_SYMSTRING EINVAL "Symbol String doesn't accept data/userdata"
        BadBitfield BAD_BITFIELD EINVAL "Invalid bitfield"
        ArgNameTooLong ARG_NAME_TOO_LONG EINVAL "Argument name is too long"
        NoArgName NO_ARG_NAME EINVAL "Argument name is not specified"
        BadArgName BAD_ARG_NAME EINVAL
            "Argument name must follow the same rules as C identifiers"
        UsedArgName USED_ARG_NAME EINVAL "This argument name is already used"
        ArgTooLong ARG_TOO_LONG E2BIG "Argument expression is too long"
        NoArgBody NO_ARG_BODY EINVAL "No argument expression"
        NosupBtfarg NOSUP_BTFARG EINVAL "BTF is not available or not supported"
        NoBtfarg NO_BTFARG ENOENT "This variable is not found at this probe point"
        NoBtfEntry NO_BTF_ENTRY ENOENT "No BTF entry for this probe point"
        NofentryArgs NOFENTRY_ARGS EINVAL "$arg* can be used only on function entry or exit"
        DoubleArgs DOUBLE_ARGS EINVAL "$arg* can be used only once in the parameters"
        Args2long ARGS_2LONG E2BIG "$arg* failed because the argument list is too long"
        NoPtrStrct NO_PTR_STRCT EINVAL "This is not a pointer to union/structure."
        NosupDatArg NOSUP_DAT_ARG EOPNOTSUPP
            "Non pointer structure/union argument is not supported."
        BadHyphen BAD_HYPHEN EINVAL "Failed to parse single hyphen. Forgot '>'?"
        NoBtfField NO_BTF_FIELD ENOENT "This field is not found."
        BadBtfTid BAD_BTF_TID EINVAL "Failed to get BTF type info."
        BadType4str BAD_TYPE4STR EINVAL "This type does not fit for string."
        NeedStringType NEED_STRING_TYPE EINVAL
            "$comm and immediate-string only accepts string type"
        TooManyArgs TOO_MANY_ARGS E2BIG "Too many arguments are specified"
        EventTooBig EVENT_TOO_BIG E2BIG "Event too big (too many fields?)"
        TypecastReqField TYPECAST_REQ_FIELD EINVAL "Typecast requires a field access"
        TypecastNotAligned TYPECAST_NOT_ALIGNED EINVAL
            "Typecast field option is not byte-aligned"
        TypecastBadArrow TYPECAST_BAD_ARROW EINVAL
            "Typecast field option does not support -> operator"
        BadAttachArg BAD_ATTACH_ARG EINVAL "Attached event does not have this field"
        BadAttachEvent BAD_ATTACH_EVENT EINVAL "Attached event does not exist"
        NosupPercpu NOSUP_PERCPU EINVAL "Per-cpu variable access is only for kernel probes"
        NoEpFilter NO_EP_FILTER EINVAL "No filter rule after 'if'"
        NoEventField NO_EVENT_FIELD EINVAL "This event field is not found."
        NoEventInfo NO_EVENT_INFO EINVAL "This requires both group and event name to attach"
        TypecastSymOffset TYPECAST_SYM_OFFSET EINVAL
            "@SYM+/-OFFSET with typecast needs parentheses"
        // Ours: ftrace refuses these without an entry in the log.
        BadProbeType BAD_PROBE_TYPE EINVAL "Unknown probe type: expected p, r, t, f or -"
        NoPlace NO_PLACE EINVAL "No probed address or symbol is specified"
        OtherFile OTHER_FILE EINVAL "This file takes no such probes"
        NoFileSymbol NO_FILE_SYMBOL ENOENT "Symbol is not found in the file"
        NoSuchEvent NO_SUCH_EVENT ENOENT "No such event to delete"
        AmbiguousEvent AMBIGUOUS_EVENT EINVAL "Several groups have an event of this name"
        EventBusy EVENT_BUSY EBUSY "The event is enabled"
        EventInUse EVENT_IN_USE EBUSY "The event is in use"
        OtherOwner OTHER_OWNER EPERM "The event belongs to somebody else"
        FilterLost FILTER_LOST EINVAL "The event's filter does not fit the new definition"
        LineTooLong LINE_TOO_LONG EINVAL "Line is too long"
        BadByte BAD_BYTE EINVAL "Line holds a NUL or is not UTF-8"
        NoMemory NO_MEMORY ENOMEM "Out of memory"
        NoNumber NO_NUMBER ENOSPC "All numbers of events are taken"
        // Ours: ftrace reports these as another error.
        NoDataSymbol NO_DATA_SYMBOL ENOENT "Data symbol is not found"
        BadPlace BAD_PLACE EINVAL "This place can not be probed"
        // Ours: such events could call each other without an end.
        NoPairEnd NO_PAIR_END EINVAL "A pair needs a second event, which ends it"
        BadPairKeys BAD_PAIR_KEYS EINVAL
            "Both events of a pair have the same number of keys, one or two"
        AttachedTooDeep ATTACHED_TOO_DEEP EINVAL "Too many event probes on one another"
        // Ours: ftrace has no such events.
        BadPeriod BAD_PERIOD EINVAL "Invalid period"
        BadWatch BAD_WATCH EINVAL "Invalid watchpoint"
        NoWatchpoint NO_WATCHPOINT ENOSPC "All watchpoints of the processor are taken"
        NosupWatch NOSUP_WATCH EOPNOTSUPP "This kernel can not report such an access"
        // Ours: ftrace takes these, and records nothing, or what happens to be there.
        NeverReturns NEVER_RETURNS EINVAL "This function never returns"
        NoSingleValue NO_SINGLE_VALUE EINVAL "A structure or an array is no single value"
        BadType4path BAD_TYPE4PATH EINVAL "This type does not fit for %pd or %pD"
        BadType4fullPath BAD_TYPE4FULL_PATH EINVAL "This type does not fit for path"
    }
    Synthetic {
        SynthBadName BAD_NAME EINVAL "Illegal name"
        SynthInvalidCmd INVALID_CMD EINVAL
            "Command must be of the form: <name> field[;field] ..."
        SynthInvalidDynCmd INVALID_DYN_CMD EINVAL
            "Command must be of the form: s or -:[synthetic/]<name> field[;field] ..."
        SynthEventExists EVENT_EXISTS EEXIST "Event already exists"
        SynthTooManyFields TOO_MANY_FIELDS EINVAL "Too many fields"
        SynthIncompleteType INCOMPLETE_TYPE EINVAL "Incomplete type"
        SynthInvalidType INVALID_TYPE EINVAL "Invalid type"
        SynthInvalidField INVALID_FIELD EINVAL "Invalid field"
        SynthInvalidArraySpec INVALID_ARRAY_SPEC EINVAL "Invalid array specification"
    }
    Filter {
        FiltInvalidOp FILT_INVALID_OP EINVAL "Invalid operator"
        FiltTooManyOpen FILT_TOO_MANY_OPEN EINVAL "Too many '('"
        FiltTooManyClose FILT_TOO_MANY_CLOSE EINVAL "Too few '('"
        FiltMissingQuote FILT_MISSING_QUOTE EINVAL "Missing matching quote"
        FiltMissingBraceOpen FILT_MISSING_BRACE_OPEN EINVAL "Missing '{'"
        FiltMissingBraceClose FILT_MISSING_BRACE_CLOSE EINVAL "Missing '}'"
        FiltOperandTooLong FILT_OPERAND_TOO_LONG EINVAL "Operand too long"
        FiltExpectString FILT_EXPECT_STRING EINVAL "Expecting string field"
        FiltExpectDigit FILT_EXPECT_DIGIT EINVAL "Expecting numeric field"
        FiltIllegalFieldOp FILT_ILLEGAL_FIELD_OP EINVAL "Illegal operation for field type"
        FiltFieldNotFound FILT_FIELD_NOT_FOUND EINVAL "Field not found"
        FiltIllegalIntval FILT_ILLEGAL_INTVAL EINVAL "Illegal integer value"
        FiltBadSubsysFilter FILT_BAD_SUBSYS_FILTER EINVAL
            "Couldn't find or set field in one of a subsystem's events"
        FiltTooManyPreds FILT_TOO_MANY_PREDS EINVAL "Too many terms in predicate expression"
        FiltInvalidFilter FILT_INVALID_FILTER EINVAL "Meaningless filter expression"
        FiltInvalidCpulist FILT_INVALID_CPULIST EINVAL "Invalid cpulist"
        FiltInvalidValue FILT_INVALID_VALUE EINVAL "Invalid value (did you forget quotes)?"
        FiltNoFunction FILT_NO_FUNCTION EINVAL "Function not found"
        FiltNoFilter FILT_NO_FILTER EINVAL "No filter found"
        // Ours: ftrace refuses the write without an entry in the log.
        FiltTooLong FILT_TOO_LONG EINVAL "Filter is too long"
        // Ours: ftrace takes it, or reports another error.
        FiltNoSign FILT_NO_SIGN EINVAL "This field has no sign and is never below zero"
        FiltNeverHigh FILT_NEVER_HIGH EINVAL "This field has a sign and is never that high"
    }
    Trigger {
        // Ours: ftrace refuses these without an entry in the log.
        TriggerExist TRIGGER_EXIST EEXIST "The event already has such a trigger"
        NoSuchTrigger NO_SUCH_TRIGGER EINVAL "Unknown trigger"
        TriggerBadCount TRIGGER_BAD_COUNT EINVAL "Invalid count of the trigger"
        TriggerNoEvent TRIGGER_NO_EVENT EINVAL
            "The trigger needs an event: expected GROUP:EVENT"
        TriggerEventNotFound TRIGGER_EVENT_NOT_FOUND EINVAL "Event of the trigger is not found"
        TriggerExpectIf TRIGGER_EXPECT_IF EINVAL "Expected if and a filter"
        TriggerTooLong TRIGGER_TOO_LONG EINVAL "Trigger is too long"
    }
    Histogram {
        DuplicateVar DUPLICATE_VAR EINVAL "Variable already defined"
        VarNotUnique VAR_NOT_UNIQUE EINVAL
            "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable"
        TooManyVars TOO_MANY_VARS EINVAL "Too many variables defined"
        MalformedAssignment MALFORMED_ASSIGNMENT EINVAL "Malformed assignment"
        NamedMismatch NAMED_MISMATCH EINVAL
            "Named hist trigger doesn't match existing named trigger (includes variables)"
        TriggerEexist TRIGGER_EEXIST EEXIST "Hist trigger already exists"
        TriggerEnoentClear TRIGGER_ENOENT_CLEAR ENOENT
            "Can't clear or continue a nonexistent hist trigger"
        SetClockFail SET_CLOCK_FAIL EINVAL "Couldn't set trace_clock"
        BadFieldModifier BAD_FIELD_MODIFIER EINVAL "Invalid field modifier"
        TooManySubexpr TOO_MANY_SUBEXPR EINVAL "Too many subexpressions (3 max)"
        TimestampMismatch TIMESTAMP_MISMATCH EINVAL "Timestamp units in expression don't match"
        TooManyFieldVars TOO_MANY_FIELD_VARS EINVAL "Too many field variables defined"
        EventFileNotFound EVENT_FILE_NOT_FOUND EINVAL "Event file not found"
        HistNotFound HIST_NOT_FOUND EINVAL "Matching event histogram not found"
        HistCreateFail HIST_CREATE_FAIL EINVAL "Couldn't create histogram for field"
        SynthEventNotFound SYNTH_EVENT_NOT_FOUND EINVAL "Couldn't find synthetic event"
        SynthTypeMismatch SYNTH_TYPE_MISMATCH EINVAL
            "Param type doesn't match synthetic event field type"
        SynthCountMismatch SYNTH_COUNT_MISMATCH EINVAL
            "Param count doesn't match synthetic event field count"
        FieldVarParseFail FIELD_VAR_PARSE_FAIL EINVAL "Couldn't parse field variable"
        VarCreateFindFail VAR_CREATE_FIND_FAIL EINVAL "Couldn't create or find variable"
        OnxNotVar ONX_NOT_VAR EINVAL "For onmax(x) or onchange(x), x must be a variable"
        OnxVarNotFound ONX_VAR_NOT_FOUND EINVAL "Couldn't find onmax or onchange variable"
        OnxVarCreateFail ONX_VAR_CREATE_FAIL EINVAL "Couldn't create onmax or onchange variable"
        FieldVarCreateFail FIELD_VAR_CREATE_FAIL EINVAL "Couldn't create field variable"
        TooManyParams TOO_MANY_PARAMS EINVAL "Too many action params"
        ParamNotFound PARAM_NOT_FOUND EINVAL "Couldn't find param"
        InvalidParam INVALID_PARAM EINVAL "Invalid action param"
        ActionNotFound ACTION_NOT_FOUND EINVAL "No action found"
        NoSaveParams NO_SAVE_PARAMS EINVAL "No params found for save()"
        TooManySaveActions TOO_MANY_SAVE_ACTIONS EEXIST
            "Can't have more than one save() action per hist"
        ActionMismatch ACTION_MISMATCH EINVAL "Handler doesn't support action"
        NoClosingParen NO_CLOSING_PAREN EINVAL "No closing paren found"
        SubsysNotFound SUBSYS_NOT_FOUND EINVAL "Missing subsystem"
        InvalidSubsysEvent INVALID_SUBSYS_EVENT EINVAL "Invalid subsystem or event name"
        InvalidRefKey INVALID_REF_KEY EINVAL "Using variable references in keys not supported"
        VarNotFound VAR_NOT_FOUND EINVAL "Couldn't find variable"
        HistFieldNotFound FIELD_NOT_FOUND EINVAL "Couldn't find field"
        EmptyAssignment EMPTY_ASSIGNMENT EINVAL "Empty assignment"
        InvalidSortModifier INVALID_SORT_MODIFIER EINVAL "Invalid sort modifier"
        EmptySortField EMPTY_SORT_FIELD EINVAL "Empty sort field"
        TooManySortFields TOO_MANY_SORT_FIELDS EINVAL "Too many sort fields (Max = 2)"
        InvalidSortField INVALID_SORT_FIELD EINVAL "Sort field must be a key or a val"
        InvalidStrOperand INVALID_STR_OPERAND EINVAL
            "String type can not be an operand in expression"
        ExpectNumber EXPECT_NUMBER EINVAL "Expecting numeric literal"
        UnaryMinusSubexpr UNARY_MINUS_SUBEXPR EINVAL
            "Unary minus not supported in sub-expressions"
        DivisionByZero DIVISION_BY_ZERO EDOM "Division by zero"
        NeedNohcVal NEED_NOHC_VAL ENOENT
            "Non-hitcount value is required for 'nohitcount'"
        // Ours: ftrace refuses these without an entry in the log, or does more.
        HistNoKeys HIST_NO_KEYS EINVAL "No keys: expected keys=FIELD"
        HistTooManyKeys HIST_TOO_MANY_KEYS EINVAL "Too many keys (4 max)"
        HistTooManyVals HIST_TOO_MANY_VALS EINVAL "Too many values (6 max)"
        HistKeyTooLarge HIST_KEY_TOO_LARGE EINVAL
            "The keys are too large: expected at most one string and one stack"
        HistBadSize HIST_BAD_SIZE EINVAL "Invalid size: expected 128 to 131072 entries"
        HistBadName HIST_BAD_NAME EINVAL
            "Name of a histogram can not have blanks or control characters"
        HistBadWord HIST_BAD_WORD EINVAL
            "Unknown word: expected nohitcount, pause, cont or clear"
        HistNoFilter HIST_NO_FILTER EINVAL "Expected a filter behind if"
        HistArray HIST_ARRAY EINVAL "An array can not be a value, nor one of texts a key"
        HistValueText HIST_VALUE_TEXT EINVAL "A value must be a number"
        OnxNotNumber ONX_NOT_NUMBER EINVAL "For onmax(x) or onchange(x), x must be a number"
        HistNoMemory HIST_NO_MEMORY ENOMEM "Too little memory for the histogram"
        HistNoOperand HIST_NO_OPERAND EINVAL "An operand is missing"
        HistTooManyRefs HIST_TOO_MANY_REFS EINVAL "Too many references to variables (32 max)"
        HistTooManyActions HIST_TOO_MANY_ACTIONS EINVAL "Too many actions (8 max)"
        HistInUse HIST_IN_USE EBUSY "A variable of this histogram is in use"
    }
    // Ours: ftrace refuses these without an entry in the log.
    File {
        FileBadNumber FILE_BAD_NUMBER EINVAL "Invalid number"
        FileOutOfRange FILE_OUT_OF_RANGE EINVAL "Number is out of range"
        FileBadSwitch FILE_BAD_SWITCH EINVAL "Expected 0 or 1"
        FileBadMask FILE_BAD_MASK EINVAL "Invalid mask of CPUs"
        FileNoCpu FILE_NO_CPU EOVERFLOW "The mask has a CPU that can not exist"
        FileNoClock FILE_NO_CLOCK EINVAL "Unknown clock"
        FileNoOption FILE_NO_OPTION EINVAL "Unknown option"
        FileFixedOption FILE_FIXED_OPTION EINVAL "This option can not be changed"
        FileNoTracer FILE_NO_TRACER EINVAL "Unknown tracer"
        FileNoEvent FILE_NO_EVENT EINVAL "No such event"
        FileNoSymbol FILE_NO_SYMBOL ENOENT "Symbol is not found"
        FileNoFunction FILE_NO_FUNCTION EINVAL "No function that can be read is there"
        FileOneCpu FILE_ONE_CPU EINVAL "The snapshot of one CPU can not be freed"
        FileMarkersOff FILE_MARKERS_OFF EINVAL "The option markers is off"
        FileNotRecording FILE_NOT_RECORDING EBADF "Nothing is recorded"
        FileBadLength FILE_BAD_LENGTH EINVAL "A record can not have this length"
        FileInUse FILE_IN_USE EBUSY "Events are in use"
        FileMapped FILE_MAPPED EBUSY "A ring is mapped"
        FileReadOnly FILE_READ_ONLY EINVAL "This file can only be read"
        FileGone FILE_GONE ENODEV "The event of this file is deleted"
        FileTooLong FILE_TOO_LONG E2BIG "The write is too long"
        FileLocked FILE_LOCKED EPERM "The kernel is locked down"
        FileFailed FILE_FAILED EINVAL "The kernel refused it"
        FileNoMemory FILE_NO_MEMORY ENOMEM "Too little memory"
    }
}

/// A refusal: its reason, the column of the caret, and an optional detail.
#[derive(Debug, PartialEq, Eq)]
pub struct Error {
    /// The reason.
    pub kind: Kind,
    /// Column of the caret in the command, words separated by single spaces.
    pub at: usize,
    /// Further words. Boxed, because results with errors are common and deep on the stack.
    pub errno: Errno,
    /// In a box: results with errors are many, and deep on the stack.
    words: Option<Box<ErrorWords>>,
}

/// The words of an error besides the text of its kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct ErrorWords {
    detail: Vec<u8>,
    /// The owner: the event of a histogram, or the path of a file.
    of: Vec<u8>,
}

impl Error {
    /// Creates an error of `kind` with the caret at column `at`.
    pub fn new(kind: Kind, at: usize) -> Self {
        Self {
            kind,
            at,
            errno: kind.errno(),
            words: None,
        }
    }

    /// Creates the error of a probe that the kernel itself refused to register, with
    /// `errno` (positive). The caret goes to column `at`, the location.
    pub fn registration(errno: Errno, at: usize) -> Self {
        let kind = match errno {
            Errno::EILSEQ => Kind::BadInsnBndry,
            Errno::ENOENT => Kind::BadProbeAddr,
            Errno::ENOMEM => Kind::NoMemory,
            _ => Kind::FailRegProbe,
        };
        Self::new(kind, at).with_errno(errno)
    }

    /// Returns the error with another errno.
    #[must_use]
    pub fn with_errno(mut self, errno: Errno) -> Self {
        self.errno = errno;
        self
    }

    /// Returns whether it has a detail.
    pub fn has_detail(&self) -> bool {
        !self.detail().is_empty()
    }

    /// Returns the error with a detail, which is shown behind the kind's text. Without memory the
    /// detail is dropped, not the error.
    #[must_use]
    #[inline(never)]
    pub fn with_detail(mut self, detail: fmt::Arguments<'_>) -> Self {
        if let Some(words) = self.words() {
            set(&mut words.detail, detail);
        }
        self
    }

    /// Returns the error with `more` appended to its detail; unchanged without a detail or memory.
    #[must_use]
    #[inline(never)]
    pub fn with_more(mut self, more: fmt::Arguments<'_>) -> Self {
        if let Some(words) = &mut self.words {
            let length = words.detail.len();
            if length > 0 && Appender(&mut words.detail).write_fmt(more).is_err() {
                words.detail.truncate(length);
            }
        }
        self
    }

    /// Returns the error with its owner: the event `GROUP:EVENT` of a histogram, or the path of a
    /// file. Without memory, `error_log` shows no owner.
    #[must_use]
    #[inline(never)]
    pub fn with_owner(mut self, owner: fmt::Arguments<'_>) -> Self {
        if let Some(words) = self.words() {
            set(&mut words.of, owner);
        }
        self
    }

    /// Returns the detail; empty if there is none.
    pub fn detail(&self) -> &[u8] {
        self.words.as_ref().map_or(&[], |words| &words.detail)
    }

    /// Returns the [owner](Self::with_owner); empty if unknown.
    pub(in crate::engine) fn of(&self) -> &[u8] {
        self.words.as_ref().map_or(&[], |words| &words.of)
    }

    /// Returns the further words, made if needed; `None` without memory.
    fn words(&mut self) -> Option<&mut ErrorWords> {
        if self.words.is_none() {
            self.words = Box::new(ErrorWords::default()).ok();
        }
        self.words.as_deref_mut()
    }
}

/// Sets `text` to `words`; to nothing without memory.
fn set(text: &mut Vec<u8>, words: fmt::Arguments<'_>) {
    text.clear();
    if Appender(text).write_fmt(words).is_err() {
        text.clear();
    }
}

impl From<AllocError> for Error {
    fn from(_: AllocError) -> Self {
        Self::new(Kind::NoMemory, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::refusal::remedy::remedy;

    #[test]
    fn a_histograms_entry_names_the_event() {
        let mut out = String::new();
        let error = Error::new(Kind::HistNoKeys, 5).with_owner(format_args!("kmem:kmalloc"));
        error.write_entry(&mut out, 0, b"hist:").unwrap();
        assert!(out.contains("] hist:kmem:kmalloc: error: "), "{out}");
        let filter = Error::new(Kind::TriggerExist, 0).with_owner(format_args!("kmem:kmalloc"));
        out.clear();
        filter.write_entry(&mut out, 0, b"traceon").unwrap();
        assert!(out.contains("] event trigger: error: "), "{out}");
    }

    #[test]
    fn an_entry_looks_like_the_kernels() {
        let mut out = String::new();
        let error = Error::new(Kind::BadVar, 11);
        error
            .write_entry(&mut out, 1_234_567_890, b"p vfs_read $none")
            .unwrap();
        assert_eq!(
            out,
            format!(
                "[    1.234567] trace_kprobe: error: Invalid $-variable specified: {}\n  \
                 Command: p vfs_read $none\n                      ^\n",
                remedy(Kind::BadVar)
            )
        );
    }

    #[test]
    fn a_detail_stands_before_the_command() {
        let mut out = String::new();
        let error = Error::registration(Errno::EILSEQ, 2)
            .with_detail(format_args!("next boundaries: {:#x}, {:#x}", 1, 4));
        error.write_entry(&mut out, 0, b"p f+3").unwrap();
        assert_eq!(
            out,
            "[    0.000000] trace_kprobe: error: Probe point is not an instruction boundary: \
             next boundaries: 0x1, 0x4\n  Command: p f+3\n             ^\n"
        );
    }

    #[test]
    fn a_registration_keeps_the_kernels_errno() {
        assert_eq!(
            Error::registration(Errno::ENOENT, 0).kind,
            Kind::BadProbeAddr
        );
        let other = Error::registration(Errno(95), 0);
        assert_eq!((other.kind, other.errno), (Kind::FailRegProbe, Errno(95)));
    }

    #[test]
    fn an_error_survives_the_loss_of_its_detail() {
        crate::sys::fail_allocation_after(Some(0));
        let error = Error::new(Kind::BadVar, 3).with_detail(format_args!("some detail"));
        crate::sys::fail_allocation_after(None);
        assert_eq!((error.kind, error.detail()), (Kind::BadVar, &b""[..]));
    }
}
