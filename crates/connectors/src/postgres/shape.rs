//! What the server says of a statement: its parameters, its columns, and whether values of both
//! can cross.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_postgres::Statement as Prepared;

use super::{
    config::Returns,
    statement::Statement,
    value::{Argument, Codec, encode, type_name, why_unfit},
};

/// A statement with the types that the server gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shape {
    /// The text as the server takes it, which the connector's config has.
    #[serde(skip)]
    pub(super) text: String,
    parameters: Vec<Parameter>,
    /// Names and types of the columns.
    columns: Vec<(String, String)>,
    /// How the values of the columns cross; known where the types were learnt just now.
    #[serde(skip)]
    results: Vec<Codec>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Parameter {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    // How a type crosses cannot be told from its name alone.
    codec: Codec,
}

impl Shape {
    /// The shape of a statement that the server has prepared, or what stands against it.
    pub(super) fn learn(
        statement: &Statement,
        prepared: &Prepared,
        returns: Returns,
    ) -> Result<Self, String> {
        let parameters = statement.names.iter().zip(prepared.params());
        if let Some(why) = parameters.clone().find_map(|(name, ty)| why_unfit(name, ty)) {
            return Err(why);
        }
        let parameters = parameters.map(|(name, ty)| Parameter {
            name: name.clone(),
            ty: type_name(ty),
            codec: Codec::of(ty),
        });
        match returns {
            Returns::Count => {}
            Returns::Row | Returns::Rows => readable_columns(prepared)?,
        }
        Ok(Self {
            text: statement.text.clone(),
            parameters: parameters.collect(),
            columns: columns(prepared),
            results: prepared.columns().iter().map(|it| Codec::of(it.type_())).collect(),
        })
    }

    /// The same types for a statement that is read from the config again; nothing where its
    /// parameters are others.
    pub(super) fn for_statement(self, statement: &Statement) -> Option<Self> {
        let names = self.parameters.iter().map(|parameter| &parameter.name);
        names.eq(&statement.names).then(|| Self { text: statement.text.clone(), ..self })
    }

    /// Whether the server still sees the statement like this.
    pub(super) fn is_of(&self, prepared: &Prepared) -> bool {
        let types: Vec<String> = prepared.params().iter().map(type_name).collect();
        self.parameters.iter().map(|parameter| &parameter.ty).eq(&types)
            && self.columns == columns(prepared)
    }

    /// The bound parameters of a call; an argument that is not there is NULL.
    pub(super) fn bind(&self, args: &Value) -> Result<Vec<Argument>, String> {
        let bind = |parameter: &Parameter| {
            let value = args.get(&parameter.name).unwrap_or(&Value::Null);
            encode(&parameter.codec, value)
                .map_err(|expected| format!("/{}: {expected}", parameter.name))
        };
        self.parameters.iter().map(bind).collect()
    }

    /// How the values of a parameter cross.
    pub(super) fn codec(&self, parameter: &str) -> Option<&Codec> {
        self.parameters.iter().find(|one| one.name == parameter).map(|one| &one.codec)
    }

    /// The columns of a statement whose types were learnt just now, and how their values cross.
    pub(super) fn results(&self) -> impl Iterator<Item = (&str, &Codec)> {
        self.columns.iter().map(|(name, _)| name.as_str()).zip(&self.results)
    }

    /// What of the shape belongs to the tool's definition.
    pub(super) fn written(&self) -> Value {
        let parameters = self.parameters.iter().map(|one| (&*one.name, one.ty.clone()));
        written(parameters, &self.columns)
    }

    /// The same with the types that the server gives the statement now.
    pub(super) fn found(&self, prepared: &Prepared) -> Value {
        let names = self.parameters.iter().map(|one| &*one.name);
        let parameters = names.zip(prepared.params().iter().map(type_name));
        written(parameters, &columns(prepared))
    }
}

fn written<'a>(
    parameters: impl Iterator<Item = (&'a str, String)>,
    columns: &[(String, String)],
) -> Value {
    let parameters = parameters.map(|(name, ty)| json!({"name": name, "type": ty}));
    let columns = columns.iter().map(|(name, ty)| json!({"name": name, "type": ty}));
    json!({
        "parameters": parameters.collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
    })
}

fn columns(prepared: &Prepared) -> Vec<(String, String)> {
    let columns = prepared.columns().iter();
    columns.map(|column| (column.name().to_owned(), type_name(column.type_()))).collect()
}

/// A row becomes an object, so its columns need names that differ and values that JSON keeps.
fn readable_columns(prepared: &Prepared) -> Result<(), String> {
    let columns = prepared.columns();
    if columns.is_empty() {
        return Err(
            "the statement returns no rows: expected `returns: count`, or `returning`".into()
        );
    }
    for (at, column) in columns.iter().enumerate() {
        let name = column.name();
        if columns.iter().take(at).any(|earlier| earlier.name() == name) {
            return Err(format!("two columns are named `{name}`: give one another name with `as`"));
        }
        if Codec::of(column.type_()).is_opaque() {
            let ty = type_name(column.type_());
            return Err(format!("the column `{name}` has the type `{ty}`: cast it to text"));
        }
    }
    Ok(())
}
