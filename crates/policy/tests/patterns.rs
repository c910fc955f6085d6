//! What the regular expressions of one document take, counted by an allocator.

#[cfg(test)]
mod patterns {
    use model::{DecisionOutcome, Timestamp};
    use policy::{Agent, Call, Code, DocumentError, Policy, decide};
    use serde_json::json;

    /// What a whole document may take.
    const BOUND: u64 = 64 << 20;

    /// A document of conditions that ask for these patterns one after the other, ten each.
    fn compile(patterns: &[String]) -> Result<Policy, DocumentError> {
        let rules: Vec<String> = patterns
            .chunks(10)
            .enumerate()
            .map(|(number, some)| {
                let parts: Vec<String> =
                    some.iter().map(|pattern| format!("args.s.matches(r'{pattern}')")).collect();
                let when = serde_json::to_string(&parts.join("||")).unwrap();
                format!("{{id: r{number}, match: '*', when: {when}, outcome: deny}}")
            })
            .collect();
        let rules = rules.join(",\n");
        Policy::compile(&format!("{{schema: 1, default: {{outcome: allow}}, rules: [\n{rules}]}}"))
    }

    fn many(count: usize, pattern: impl Fn(usize) -> String) -> Vec<String> {
        (0..count).map(pattern).collect()
    }

    /// Patterns of several kinds, each by its number: short, with a large alphabet, with many states
    /// and groups.
    const KINDS: [fn(usize) -> String; 5] = [
        |number| format!("^orders-{number}-[0-9]+$"),
        |number| format!(r"\w+@{number}"),
        |number| format!(r"\w{{3}}{number}"),
        |number| format!("[ab]*a[ab]{{200}}{number}"),
        |number| format!(r"{}([ab]*a)([ab]{{2000}})\b{number}", "()".repeat(80)),
    ];

    #[test]
    fn a_document_of_many_patterns_is_refused_within_its_bound_and_told_where() {
        for kind in KINDS {
            // As many as a document has room for.
            let count = 900_000 / (kind(10_000).len() + 25);
            let patterns = many(count.min(5_000 * 10), kind);
            let mut refused = None;
            let taken = allocation_counter::measure(|| refused = compile(&patterns).err());
            let findings = refused.unwrap().findings;
            assert_eq!(findings.len(), 1, "{}", findings[1]);
            let found = &findings[0];
            assert_eq!(found.code, Code::TooLarge, "{found}");
            assert!(found.path.starts_with("rules[") && found.line > 1, "{found}");
            assert!(found.message.contains("at most 48 MiB in total"), "{found}");
            assert!(taken.bytes_max < BOUND, "{}: {}", kind(0), taken.bytes_max);
        }
    }

    #[test]
    fn what_is_within_the_bound_stays_there_while_it_is_matched() {
        let text: String = (0..600_u32)
            .map(|place| if place.wrapping_mul(2_654_435_761) >> 31 == 0 { 'a' } else { 'b' })
            .collect();
        let text = text + "é orders-1- @é";
        for (kind, fit) in KINDS.into_iter().zip([1_800, 90, 70, 750, 90]) {
            let patterns = many(fit, kind);
            let agent = Agent::new("agt_00000000000000000000000001".parse().unwrap());
            let call = Call::new("a.b", agent, Timestamp::EPOCH).with_args(json!({ "s": text }));
            let taken = allocation_counter::measure(|| {
                let policy = compile(&patterns).unwrap_or_else(|invalid| panic!("{invalid}"));
                assert_eq!(decide(&policy, &call).outcome, DecisionOutcome::Allow);
            });
            assert!(taken.bytes_max < BOUND, "{}: {}", kind(0), taken.bytes_max);
        }
    }

    #[test]
    fn equal_patterns_are_compiled_once() {
        let pattern = r"^(\w{2})-\w$".to_owned();
        let (once, often) = (vec![pattern.clone()], vec![pattern; 5_000]);
        let taken = |patterns: &[String]| {
            allocation_counter::measure(|| {
                compile(patterns).unwrap();
            })
        };
        // Every further one is its part of the text and of the tree, and no expression of its own.
        assert!(taken(&often).bytes_max < taken(&once).bytes_max + 5_000 * 2_000);
    }
}
