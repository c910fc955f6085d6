//! The functions of the language, as one table: what they are called and what they take.

use super::value::Sort::{self, Bool, Cidr, Decimal, Double, Int, Ip, List, Map, Span, Text, Time};

/// A function by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Size,
    StartsWith,
    EndsWith,
    Contains,
    LowerAscii,
    EmailDomain,
    UrlHost,
    ToInt,
    ToDouble,
    ToText,
    ToTime,
    ToSpan,
    ToDecimal,
    ToIp,
    ToCidr,
    ContainsIp,
    Part(TimePart),
}

/// A part of a point in time or of a time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimePart {
    FullYear,
    Month,
    Date,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// How a function is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name(x)`.
    Plain,
    /// `x.name(…)`; the receiver is the first of what it takes.
    Method,
}

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) function: Function,
    pub(crate) takes: &'static [Sort],
    pub(crate) gives: Sort,
}

const fn plain(
    name: &'static str,
    function: Function,
    takes: &'static [Sort],
    gives: Sort,
) -> Signature {
    Signature { name, form: Form::Plain, function, takes, gives }
}

const fn method(
    name: &'static str,
    function: Function,
    takes: &'static [Sort],
    gives: Sort,
) -> Signature {
    Signature { name, form: Form::Method, function, takes, gives }
}

const fn part(name: &'static str, part: TimePart, takes: &'static [Sort]) -> Signature {
    method(name, Function::Part(part), takes, Int)
}

/// Every way to call a function.
#[rustfmt::skip]
pub(crate) const SIGNATURES: &[Signature] = &[
    plain("size", Function::Size, &[Text], Int),
    plain("size", Function::Size, &[List], Int),
    plain("size", Function::Size, &[Map], Int),
    method("size", Function::Size, &[Text], Int),
    method("size", Function::Size, &[List], Int),
    method("size", Function::Size, &[Map], Int),
    method("startsWith", Function::StartsWith, &[Text, Text], Bool),
    method("endsWith", Function::EndsWith, &[Text, Text], Bool),
    method("contains", Function::Contains, &[Text, Text], Bool),
    method("lowerAscii", Function::LowerAscii, &[Text], Text),
    plain("emailDomain", Function::EmailDomain, &[Text], Text),
    plain("urlHost", Function::UrlHost, &[Text], Text),
    plain("int", Function::ToInt, &[Int], Int),
    plain("int", Function::ToInt, &[Double], Int),
    plain("int", Function::ToInt, &[Text], Int),
    plain("int", Function::ToInt, &[Time], Int),
    plain("double", Function::ToDouble, &[Double], Double),
    plain("double", Function::ToDouble, &[Int], Double),
    plain("double", Function::ToDouble, &[Text], Double),
    plain("string", Function::ToText, &[Text], Text),
    plain("string", Function::ToText, &[Bool], Text),
    plain("string", Function::ToText, &[Int], Text),
    plain("string", Function::ToText, &[Double], Text),
    plain("string", Function::ToText, &[Time], Text),
    plain("string", Function::ToText, &[Span], Text),
    plain("string", Function::ToText, &[Decimal], Text),
    plain("string", Function::ToText, &[Ip], Text),
    plain("string", Function::ToText, &[Cidr], Text),
    plain("timestamp", Function::ToTime, &[Text], Time),
    plain("timestamp", Function::ToTime, &[Int], Time),
    plain("timestamp", Function::ToTime, &[Time], Time),
    plain("duration", Function::ToSpan, &[Text], Span),
    plain("duration", Function::ToSpan, &[Span], Span),
    plain("decimal", Function::ToDecimal, &[Text], Decimal),
    plain("decimal", Function::ToDecimal, &[Int], Decimal),
    plain("decimal", Function::ToDecimal, &[Decimal], Decimal),
    plain("ip", Function::ToIp, &[Text], Ip),
    plain("cidr", Function::ToCidr, &[Text], Cidr),
    method("containsIP", Function::ContainsIp, &[Cidr, Ip], Bool),
    method("containsIP", Function::ContainsIp, &[Cidr, Text], Bool),
    part("getFullYear", TimePart::FullYear, &[Time]),
    part("getFullYear", TimePart::FullYear, &[Time, Text]),
    part("getMonth", TimePart::Month, &[Time]),
    part("getMonth", TimePart::Month, &[Time, Text]),
    part("getDate", TimePart::Date, &[Time]),
    part("getDate", TimePart::Date, &[Time, Text]),
    part("getDayOfMonth", TimePart::DayOfMonth, &[Time]),
    part("getDayOfMonth", TimePart::DayOfMonth, &[Time, Text]),
    part("getDayOfWeek", TimePart::DayOfWeek, &[Time]),
    part("getDayOfWeek", TimePart::DayOfWeek, &[Time, Text]),
    part("getDayOfYear", TimePart::DayOfYear, &[Time]),
    part("getDayOfYear", TimePart::DayOfYear, &[Time, Text]),
    part("getHours", TimePart::Hours, &[Time]),
    part("getHours", TimePart::Hours, &[Time, Text]),
    part("getHours", TimePart::Hours, &[Span]),
    part("getMinutes", TimePart::Minutes, &[Time]),
    part("getMinutes", TimePart::Minutes, &[Time, Text]),
    part("getMinutes", TimePart::Minutes, &[Span]),
    part("getSeconds", TimePart::Seconds, &[Time]),
    part("getSeconds", TimePart::Seconds, &[Time, Text]),
    part("getSeconds", TimePart::Seconds, &[Span]),
    part("getMilliseconds", TimePart::Milliseconds, &[Time]),
    part("getMilliseconds", TimePart::Milliseconds, &[Time, Text]),
    part("getMilliseconds", TimePart::Milliseconds, &[Span]),
];

/// The names that the parser itself understands, for suggestions.
pub(crate) const SPECIAL: [&str; 8] =
    ["has", "exists", "all", "exists_one", "orValue", "hasValue", "matches", "glob"];

impl Function {
    /// The function of this name and form.
    pub(crate) fn named(name: &str, form: Form) -> Option<Self> {
        let mut rows = SIGNATURES.iter().filter(|row| row.name == name && row.form == form);
        rows.next().map(|row| row.function)
    }

    /// The name that the function is written by.
    pub(crate) fn name(self) -> &'static str {
        SIGNATURES.iter().find(|row| row.function == self).map_or("", |row| row.name)
    }

    /// The ways to call the function.
    pub(crate) fn signatures(self) -> impl Iterator<Item = &'static Signature> {
        SIGNATURES.iter().filter(move |row| row.function == self)
    }
}
