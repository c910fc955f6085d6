//! Dates and times: PostgreSQL counts days and microseconds from the year 2000.
//!
//! The whole range of the database is printed. Years past 9999 keep all their digits, and years
//! before Christ end in ` BC`, both as the database itself reads them.

const EPOCH_2000: i64 = 10_957;
const MICROS: i64 = 1_000_000;
const DAY: i64 = 86_400 * MICROS;

/// The date this many days after 2000-01-01.
pub(super) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        _ => {
            let (date, era) = civil(i64::from(days));
            format!("{date}{era}")
        }
    }
}

/// The time of day this many microseconds after midnight.
pub(super) fn time(micros: i64) -> String {
    let (seconds, fraction) = (micros.div_euclid(MICROS), micros.rem_euclid(MICROS));
    format!("{:02}:{:02}:{:02}.{fraction:06}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The moment this many microseconds after the start of 2000, with `offset` after it.
pub(super) fn timestamp(micros: i64, offset: &str) -> String {
    match micros {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        _ => {
            let (date, era) = civil(micros.div_euclid(DAY));
            format!("{date}T{}{offset}{era}", time(micros.rem_euclid(DAY)))
        }
    }
}

/// The Gregorian date and what follows the whole text when it lies before Christ.
///
/// Howard Hinnant's `civil_from_days`: years are counted from March, so that the leap day is the
/// last of its year, in eras of 400 years of 146,097 days.
fn civil(days: i64) -> (String, &'static str) {
    let days = days + EPOCH_2000 + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    // There is no year zero: it is the first before Christ.
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    (format!("{year:04}-{month:02}-{day:02}"), era)
}
