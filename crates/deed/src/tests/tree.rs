//! The tree's own laws, over sizes where subtrees begin and end.

use model::Digest;
use proptest::prelude::*;

use crate::tree::{
    Frontier, Node, Nodes, Tree, TreeHead, consistency, inclusion, leaf_hash, verify_consistency,
    verify_inclusion,
};

fn deeds(count: u64) -> impl Iterator<Item = Digest> {
    (0..count).map(|number| crypto::sha256(number.to_be_bytes()))
}

fn head(tree: &Tree, size: u64) -> TreeHead {
    TreeHead { size, root: tree.root_at(size).unwrap() }
}

#[test]
fn every_leaf_of_every_small_tree_has_a_proof_and_no_other_place() {
    let tree = Tree::of(deeds(40));
    for size in 1..=40 {
        for (index, deed) in (0..size).zip(deeds(size)) {
            let leaf = leaf_hash(deed.as_bytes());
            let proof = inclusion(&tree, index, size).unwrap();
            for claimed in 0..=size {
                let holds = verify_inclusion(leaf, claimed, &proof, &head(&tree, size));
                assert_eq!(holds, claimed == index, "{index} as {claimed} of {size}");
            }
        }
    }
}

#[test]
fn every_small_tree_is_shown_to_begin_every_larger_one() {
    let tree = Tree::of(deeds(40));
    for new in 1..=40 {
        for old in 1..=new {
            let proof = consistency(&tree, old, new).unwrap();
            assert!(verify_consistency(&head(&tree, old), &head(&tree, new), &proof));
            if old < new {
                let other = TreeHead { size: old, root: crypto::sha256("other") };
                assert!(!verify_consistency(&other, &head(&tree, new), &proof));
                let longer = [proof.clone(), vec![other.root]].concat();
                assert!(!verify_consistency(&head(&tree, old), &head(&tree, new), &longer));
            }
        }
    }
}

#[test]
fn a_frontier_survives_its_bytes_and_refuses_others() {
    let mut frontier = Frontier::new();
    for deed in deeds(300) {
        frontier.push(leaf_hash(deed.as_bytes()));
        let bytes = frontier.to_bytes();
        assert_eq!(Frontier::from_bytes(frontier.size(), &bytes), Ok(frontier.clone()));
        assert!(Frontier::from_bytes(frontier.size(), &bytes[1..]).is_err());
        assert!(Frontier::from_bytes(frontier.size(), &[bytes, vec![0; 32]].concat()).is_err());
    }
}

/// What a store has: the deeds, and the nodes that sealing handed out.
struct Stored {
    leaves: Vec<Digest>,
    nodes: Vec<Node>,
}

impl Nodes for Stored {
    fn node(&self, height: u32, index: u64) -> Option<Digest> {
        if height == 0 {
            return self.leaves.get(usize::try_from(index).unwrap()).copied();
        }
        let level = u8::try_from(height / 8).unwrap();
        if height.is_multiple_of(8) {
            let mut nodes = self.nodes.iter();
            return nodes.find(|n| (n.level, n.index) == (level, index)).map(|n| n.hash);
        }
        let left = self.node(height - 1, index * 2)?;
        let right = self.node(height - 1, index * 2 + 1)?;
        Some(crate::tree::node_hash(&left, &right))
    }
}

#[test]
fn the_nodes_handed_out_make_every_proof() {
    let size = 256 * 257 + 3;
    let mut frontier = Frontier::new();
    let mut stored = Stored { leaves: vec![], nodes: vec![] };
    for deed in deeds(size) {
        let leaf = leaf_hash(deed.as_bytes());
        stored.leaves.push(leaf);
        stored.nodes.extend(frontier.push(leaf));
    }
    assert_eq!(stored.nodes.iter().filter(|node| node.level == 1).count(), 257);
    assert_eq!(stored.nodes.iter().filter(|node| node.level == 2).count(), 1);
    let tree = TreeHead { size, root: frontier.root() };
    for index in [0, 255, 256, 65_535, 65_536, size - 1] {
        let proof = inclusion(&stored, index, size).unwrap();
        let leaf = stored.leaves[usize::try_from(index).unwrap()];
        assert!(verify_inclusion(leaf, index, &proof, &tree), "{index}");
    }
}

proptest! {
    #[test]
    fn a_proof_with_a_changed_byte_shows_nothing(
        (size, index, byte) in (2_u64..200).prop_flat_map(|size| (Just(size), 0..size, 0_usize..32)),
    ) {
        let tree = Tree::of(deeds(size));
        let mut proof = inclusion(&tree, index, size).unwrap();
        let mut hash = *proof[0].as_bytes();
        hash[byte] ^= 1;
        proof[0] = Digest::from_bytes(hash);
        let leaf = leaf_hash(deeds(size).nth(usize::try_from(index).unwrap()).unwrap().as_bytes());
        prop_assert!(!verify_inclusion(leaf, index, &proof, &head(&tree, size)));
    }
}
