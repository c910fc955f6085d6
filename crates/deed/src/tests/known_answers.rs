//! Published answers of the formats that deeds are made of.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use crypto::ed25519::{PublicKey, SigningKey};

use super::support::hex;
use crate::{
    note::{self, NoteKey},
    pae, thumbprint,
    tree::{
        Frontier, Tree, TreeHead, consistency, inclusion, leaf_hash, verify_consistency,
        verify_inclusion,
    },
};

#[test]
fn a_thumbprint_is_that_of_rfc_8037() {
    let x = URL_SAFE_NO_PAD.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
    let key = PublicKey::from_bytes(&x).unwrap();
    assert_eq!(thumbprint(&key).as_str(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

#[test]
fn a_frame_is_that_of_the_dsse_example() {
    let frame = pae("http://example.com/HelloWorld", b"hello world");
    assert_eq!(frame, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    // Lengths count bytes, not characters.
    assert_eq!(pae("\u{e9}", b""), "DSSEv1 2 \u{e9} 0 ".as_bytes());
}

pub(super) const NEUMANN_KEY: &str =
    "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const NEUMANN_SEED: &str = "gQoUAtUUbI2E8kQzMPVAgOv5juF9nHT2JS/F1ccoMXM=";
pub(super) const NEUMANN_TEXT: &str = "If you think cryptography is the answer to your problem,\n\
    then you don't know what your problem is.\n";
pub(super) const NEUMANN_SIGNATURE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

#[test]
fn a_note_is_signed_and_opened_as_the_sumdb_example() {
    let seed = STANDARD.decode(NEUMANN_SEED).unwrap();
    let key = SigningKey::from_seed(&seed.try_into().unwrap()).unwrap();
    let signed = note::sign(NEUMANN_TEXT, "PeterNeumann", &key).unwrap();
    assert_eq!(signed, format!("{NEUMANN_TEXT}\n{NEUMANN_SIGNATURE}"));
    let public = NoteKey::from_vkey(NEUMANN_KEY).unwrap();
    assert_eq!(public.to_vkey(), NEUMANN_KEY);
    assert_eq!(note::open(&signed, &[public]), Ok(NEUMANN_TEXT));
}

/// The leaves of the tree that Certificate Transparency's tests use, and its root at each size.
pub(super) const CT_LEAVES: [&str; 8] = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
];
const CT_ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

pub(super) fn ct_tree() -> Tree {
    Tree::of_leaves(CT_LEAVES.iter().map(|leaf| leaf_hash(&hex(leaf))))
}

#[test]
fn a_tree_has_the_roots_of_certificate_transparency_at_every_size() {
    let (tree, mut frontier) = (ct_tree(), Frontier::new());
    for (size, root) in CT_ROOTS.iter().enumerate() {
        let root = format!("sha256:{root}");
        assert_eq!(tree.root_at(size as u64).unwrap().to_string(), root);
        assert_eq!(frontier.root().to_string(), root);
        if let Some(leaf) = CT_LEAVES.get(size) {
            frontier.push(leaf_hash(&hex(leaf)));
        }
    }
}

#[test]
fn proofs_are_those_of_certificate_transparency() {
    let nodes = [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    ];
    let named = |proof: Option<Vec<model::Digest>>| -> Vec<String> {
        proof.unwrap().iter().map(|hash| hash.to_string().replace("sha256:", "")).collect()
    };
    let tree = ct_tree();
    assert_eq!(named(inclusion(&tree, 0, 8)), nodes[..3]);
    assert_eq!(named(inclusion(&tree, 5, 8)), [nodes[3], nodes[4], CT_ROOTS[4]]);
    assert_eq!(named(inclusion(&tree, 2, 3)), [CT_ROOTS[2]]);
    assert_eq!(named(inclusion(&tree, 1, 5)), [CT_ROOTS[1], nodes[1], nodes[3]]);
    assert_eq!(named(consistency(&tree, 1, 8)), nodes[..3]);
    assert_eq!(named(consistency(&tree, 6, 8)), [nodes[5], nodes[4], CT_ROOTS[4]]);
    assert_eq!(named(consistency(&tree, 2, 5)), [nodes[1], nodes[3]]);
    let head = |size: u64| TreeHead { size, root: tree.root_at(size).unwrap() };
    let leaf = leaf_hash(&hex(CT_LEAVES[5]));
    let proof = inclusion(&tree, 5, 8).unwrap();
    assert!(verify_inclusion(leaf, 5, &proof, &head(8)));
    assert!(!verify_inclusion(leaf, 4, &proof, &head(8)));
    assert!(verify_consistency(&head(6), &head(8), &consistency(&tree, 6, 8).unwrap()));
}

#[test]
fn the_fourteen_weak_public_keys_are_no_seal_keys() {
    let rows = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ];
    for row in rows {
        for sign in [0, 0x80] {
            let mut x = hex(row);
            x[31] |= sign;
            let x = URL_SAFE_NO_PAD.encode(&x);
            let text = super::keys::published(&x, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
            let error = crate::KeySet::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("small order"), "{error}");
        }
    }
}
