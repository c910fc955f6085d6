//! What the tests of other libraries for transparency logs probe, asked of ours: proofs changed in
//! every small way (transparency-dev/merkle), notes and keys (golang.org/x/mod `sumdb/note`), and
//! the texts of C2SP's pages.

use base64::{Engine, engine::general_purpose::STANDARD};
use model::Digest;

use super::known_answers::{CT_LEAVES, NEUMANN_KEY, NEUMANN_SIGNATURE, NEUMANN_TEXT, ct_tree};
use super::support::hex;
use crate::{
    Checkpoint, KeySet,
    note::{self, NoteError, NoteKey},
    tree::{
        TlogProof, Tree, TreeHead, consistency, inclusion, leaf_hash, verify_consistency,
        verify_inclusion,
    },
};

fn head(tree: &Tree, size: u64) -> TreeHead {
    TreeHead { size, root: tree.root_at(size).unwrap() }
}

fn flipped(proof: &[Digest], place: usize, bit: u8) -> Vec<Digest> {
    let mut changed = proof.to_vec();
    let mut bytes = *changed[place].as_bytes();
    bytes[0] ^= bit;
    changed[place] = Digest::from_bytes(bytes);
    changed
}

/// A proof with one hash more or less than it has, at either end and in its middle.
fn resized(proof: &[Digest], more: &[Digest]) -> Vec<Vec<Digest>> {
    let longer = more.iter().flat_map(|hash| {
        let mut inside = proof.to_vec();
        inside.insert(proof.len() / 2, *hash);
        [[proof, &[*hash]].concat(), [&[*hash], proof].concat(), inside]
    });
    let shorter = proof.split_last().map(|(_, rest)| rest.to_vec());
    longer.chain(shorter).collect()
}

#[test]
fn a_changed_proof_of_inclusion_shows_nothing() {
    let (tree, other) = (ct_tree(), crypto::sha256("other"));
    // The published proofs, by place and size.
    for (index, size) in [(0, 1), (0, 8), (5, 8), (2, 3), (1, 5)] {
        let (root, leaf) = (head(&tree, size), leaf_hash(&hex(CT_LEAVES[index])));
        let index = index as u64;
        let proof = inclusion(&tree, index, size).unwrap();
        assert!(verify_inclusion(leaf, index, &proof, &root));
        let shows = |leaf, index, proof: &[Digest], size, root| {
            verify_inclusion(leaf, index, proof, &TreeHead { size, root })
        };
        for place in [index.wrapping_sub(1), index + 1, index ^ 2, u64::MAX] {
            assert!(!shows(leaf, place, &proof, size, root.root), "{place} for {index}");
        }
        for height in [size * 2, size / 2, 0] {
            assert!(!shows(leaf, index, &proof, height, root.root), "{height} for {size}");
        }
        assert!(!shows(other, index, &proof, size, root.root));
        for wrong in [other, crypto::sha256("")] {
            assert!(!shows(leaf, index, &proof, size, wrong));
        }
        let changed = (0..proof.len()).map(|place| flipped(&proof, place, 8));
        for changed in changed.chain(resized(&proof, &[root.root, leaf, other])) {
            assert!(!shows(leaf, index, &changed, size, root.root), "{changed:?}");
        }
    }
    for (index, size) in [(0, 0), (0, 1), (1, 0), (2, 1)] {
        for root in [other, crypto::sha256("")] {
            let leaf = crypto::sha256("leaf");
            assert!(!verify_inclusion(leaf, index, &[], &TreeHead { size, root }));
        }
    }
}

#[test]
fn a_changed_proof_of_consistency_shows_nothing() {
    let (tree, other) = (ct_tree(), crypto::sha256("other"));
    for (old, new) in [(1, 8), (6, 8), (2, 5), (6, 7), (3, 7), (4, 8)] {
        let (first, last) = (head(&tree, old), head(&tree, new));
        let proof = consistency(&tree, old, new).unwrap();
        assert!(verify_consistency(&first, &last, &proof));
        let sized = |size, of: &TreeHead| TreeHead { size, ..*of };
        for size in [old - 1, old + 1, old ^ 2] {
            assert!(!verify_consistency(&sized(size, &first), &last, &proof), "{size} for {old}");
        }
        for size in [new * 2, new / 2, 0] {
            assert!(!verify_consistency(&first, &sized(size, &last), &proof), "{size} for {new}");
        }
        let rooted = |root, of: &TreeHead| TreeHead { root, ..*of };
        for (left, right) in [(other, last.root), (first.root, other), (last.root, first.root)] {
            let (left, right) = (rooted(left, &first), rooted(right, &last));
            assert!(!verify_consistency(&left, &right, &proof));
        }
        let more = [first.root, last.root, proof[0], other];
        let changed = (0..proof.len()).map(|place| flipped(&proof, place, 16));
        for changed in changed.chain(resized(&proof, &more)).chain([vec![]]) {
            assert!(!verify_consistency(&first, &last, &changed), "{old} to {new}: {changed:?}");
        }
    }
}

#[test]
fn trees_without_a_proof_are_consistent_only_as_the_same_tree() {
    let tree = |size, text: &str| TreeHead { size, root: crypto::sha256(text) };
    let (left, right) = ("a", "b");
    // Nothing is known of an empty tree, so it begins no other one here.
    for (old, new, holds) in [
        (tree(0, left), tree(0, left), true),
        (tree(1, right), tree(1, right), true),
        (tree(0, left), tree(0, right), false),
        (tree(1, left), tree(1, right), false),
        (tree(0, left), tree(1, right), false),
        (tree(1, left), tree(0, right), false),
        (tree(2, left), tree(1, right), false),
        (tree(1, left), tree(2, right), false),
    ] {
        assert_eq!(verify_consistency(&old, &new, &[]), holds, "{old:?} {new:?}");
        assert!(!verify_consistency(&old, &new, &[crypto::sha256("")]), "{old:?} {new:?}");
    }
}

#[test]
fn no_part_of_a_verifier_key_and_no_change_of_one_is_a_key() {
    for from in 0..=NEUMANN_KEY.len() {
        for to in from..=NEUMANN_KEY.len() {
            let whole = from == 0 && to == NEUMANN_KEY.len();
            assert_eq!(
                NoteKey::from_vkey(NEUMANN_KEY.get(from..to).unwrap()).is_ok(),
                whole,
                "{from}..{to}"
            );
        }
    }
    for place in 0..NEUMANN_KEY.len() {
        let mut changed = NEUMANN_KEY.as_bytes().to_vec();
        changed[place] += 1;
        let changed = String::from_utf8(changed).unwrap();
        assert!(NoteKey::from_vkey(&changed).is_err(), "{changed}");
    }
    for bad in [
        // Their ids are those of a key that is too long, and of an algorithm that is none.
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    ] {
        assert!(NoteKey::from_vkey(bad).is_err(), "{bad}");
    }
}

const ENOCH_KEY: &str = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop";
const ENOCH_SIGNATURE: &str = "\u{2014} EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n";

#[test]
fn a_note_counts_by_the_keys_that_are_known() {
    let [peter, enoch] = [NEUMANN_KEY, ENOCH_KEY].map(|key| NoteKey::from_vkey(key).unwrap());
    let note = format!("{NEUMANN_TEXT}\n{NEUMANN_SIGNATURE}{ENOCH_SIGNATURE}");
    for keys in [vec![peter.clone()], vec![enoch.clone()], vec![peter.clone(), enoch]] {
        assert_eq!(note::open(&note, &keys), Ok(NEUMANN_TEXT));
    }
    assert_eq!(note::open(&note, &[]), Err(NoteError::NoKnownKey));
    // A name alone and an id alone are a stranger's.
    for stranger in [
        NEUMANN_SIGNATURE.replace("PeterNeumann", "CarmenSandiego"),
        NEUMANN_SIGNATURE.replace("x08g", "xxxx"),
    ] {
        let note = format!("{NEUMANN_TEXT}\n{stranger}");
        assert_eq!(note::open(&note, std::slice::from_ref(&peter)), Err(NoteError::NoKnownKey));
    }
    let (start, rest) = NEUMANN_SIGNATURE.split_at(62);
    let longer = format!("{start}ABCD{rest}");
    let wrong = note::open(&format!("{NEUMANN_TEXT}\n{longer}"), &[peter]).unwrap_err();
    assert_eq!(wrong, NoteError::Signature("PeterNeumann".to_owned()));
}

#[test]
fn a_note_of_another_form_is_refused() {
    let peter = [NoteKey::from_vkey(NEUMANN_KEY).unwrap()];
    let name = NEUMANN_SIGNATURE.replace("PeterNeumann", "Bad Name");
    for bad in [
        NEUMANN_TEXT.to_owned(),
        format!("{NEUMANN_TEXT}\n"),
        format!("{NEUMANN_TEXT}\n{}", NEUMANN_SIGNATURE.trim_end()),
        format!("\u{1}{NEUMANN_TEXT}\n{NEUMANN_SIGNATURE}"),
        format!("{NEUMANN_TEXT}\n{name}"),
        format!("{NEUMANN_TEXT}\n{NEUMANN_SIGNATURE}Unexpected line.\n"),
        format!("{NEUMANN_TEXT}\n{}", NEUMANN_SIGNATURE.repeat(101)),
    ] {
        let refused = note::open(&bad, &peter);
        assert!(matches!(refused, Err(NoteError::Form(_))), "{bad}: {refused:?}");
    }
    // The format demands that sixteen signatures are read.
    let many = format!("{NEUMANN_TEXT}\n{}", NEUMANN_SIGNATURE.repeat(16));
    assert_eq!(note::open(&many, &peter), Ok(NEUMANN_TEXT));
}

#[test]
fn the_notes_that_c2sp_shows_are_of_the_form_and_by_strangers() {
    // `signed-note`: the text has an empty line of its own. `tlog-checkpoint`: another's log.
    let poem = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\n\
        ed \u{e8} subito sera.\n\n\u{2014} quasimodo.example/salvatore \
        NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n";
    let sofa = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
        \u{2014} example.com/behind-the-sofa \
        Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";
    for note in [poem, sofa] {
        assert_eq!(note::open(note, &[]), Err(NoteError::NoKnownKey));
    }
    let (text, signatures) = note::split(poem).unwrap();
    assert!(text.ends_with("sera.\n") && signatures.starts_with('\u{2014}'));
    // Our origins are narrower than theirs: a host and a log.
    let refused = Checkpoint::open_with(sofa, &KeySet::default());
    assert!(matches!(refused, Err(NoteError::Form(_))), "{refused:?}");
}

#[test]
fn a_proof_as_text_is_refused_where_others_refuse_it() {
    let hash = STANDARD.encode([7; 32]);
    let read = |text: &str| TlogProof::parse(&format!("c2sp.org/tlog-proof@v1\n{text}"));
    let good = read(&format!("index 5\n{hash}\n{hash}\n\ntest checkpoint\n")).unwrap();
    assert_eq!((good.index, good.path.len()), (5, 2));
    assert_eq!(read("index 0\n\ncheckpoint\n").unwrap().path, []);
    assert!(TlogProof::parse("wrong-header\nindex 0\n\ncheckpoint\n").is_err());
    let long = STANDARD.encode([0; 64]);
    for bad in [
        "\n\ncheckpoint\n",
        "index notanumber\n\ncheckpoint\n",
        "index -5\n\ncheckpoint\n",
        "index +5\n\ncheckpoint\n",
        "index 05\n\ncheckpoint\n",
        "index 18446744073709551616\n\ncheckpoint\n",
        "index 0\n!!notbase64!!\n\ncheckpoint\n",
        &format!("index 0\n{long}\n\ncheckpoint\n"),
        "index 0\n",
        // Extra data is allowed by the format; nothing would vouch for it here.
        "extra !!notbase64!!\nindex 0\n\ncheckpoint\n",
        "extra AAAA\nindex 0\n\ncheckpoint\n",
        &format!("index 0\n{}\ncheckpoint\n", format!("{hash}\n").repeat(64)),
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}
