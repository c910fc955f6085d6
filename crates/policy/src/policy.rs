//! A policy ready to decide: a document and its digest, immutable and shared between threads.

use model::Digest;

use crate::{
    document::{self, Document},
    error::DocumentError,
    expr::Slots,
    tools::Tools,
};

/// A policy that can decide calls.
#[derive(Debug)]
pub struct Policy {
    pub(crate) document: Document,
    pub(crate) tools: Tools,
    digest: Digest,
}

impl Policy {
    /// Reads the text, YAML 1.2 or JSON, and makes it ready to decide.
    ///
    /// ```
    /// use policy::{Code, Policy};
    ///
    /// let error = Policy::compile("{ schema: 1, defualt: { outcome: deny } }").unwrap_err();
    /// let codes: Vec<Code> = error.findings.iter().map(|finding| finding.code).collect();
    /// assert_eq!(codes, [Code::NoDefault, Code::UnknownKey]);
    /// assert!(error.to_string().contains("did you mean `default`"));
    /// ```
    pub fn compile(text: &str) -> Result<Self, DocumentError> {
        document::read::parse(text).map(Self::from)
    }

    /// The SHA-256 of the document's RFC 8785 form: the same for every spelling of the
    /// same data, YAML or JSON, with or without comments.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

impl From<Document> for Policy {
    fn from(mut document: Document) -> Self {
        let digest = crypto::sha256(crypto::json::canonical(&document.json));
        document.text = String::new();
        let mut slots = Slots::default();
        for source in document.sources_mut() {
            slots.number(&mut source.parsed.expr);
        }
        let tools = Tools::new(&document);
        Self { document, tools, digest }
    }
}
