//! Scripts for owners of databases: a text with places, and what is filled in there.

/// The template with each place filled. A value is not looked through for places, since it may hold names
/// that anybody chose.
pub(super) fn filled(mut template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    while let Some((at, (place, value))) = values
        .iter()
        .filter_map(|value| Some((template.find(value.0)?, value)))
        .min_by_key(|(at, _)| *at)
    {
        let (before, rest) = template.split_at(at);
        text.push_str(before);
        text.push_str(value);
        template = rest.strip_prefix(place).unwrap_or(rest);
    }
    text + template
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn a_value_that_looks_like_a_place_stays_as_it_is() {
        let values = [("{a}", "{b};{a}"), ("{b}", "2")];
        assert_eq!(filled("{b}-{a}-{b}", &values), "2-{b};{a}-2");
    }
}
