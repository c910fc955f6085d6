//! What serde asks of a format, answered by the writer. It holds no rule of its own.

use std::fmt::Display;

use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

use super::{Escaped, Fault, Items, Members, Writer, outside};

/// Defines the methods for integers.
macro_rules! integers {
    ($($method:ident: $type:ty),+ $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), Fault> {
            self.integer(value)
        })+
    };
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Never;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Never;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
    }

    fn serialize_bool(self, value: bool) -> Result<(), Fault> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, _: f32) -> Result<(), Fault> {
        Err(float())
    }

    fn serialize_f64(self, _: f64) -> Result<(), Fault> {
        Err(float())
    }

    fn serialize_char(self, value: char) -> Result<(), Fault> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Fault> {
        self.text(value)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Fault> {
        Err(Fault(outside("bytes that are no text")))
    }

    fn serialize_none(self) -> Result<(), Fault> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Fault> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Fault> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Fault> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        let mut members = Members::of(self);
        members.member(variant, value)?;
        members.ended();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, Fault> {
        self.open(b'[');
        Ok(Items { writer: self, first: true })
    }

    fn serialize_tuple(self, length: usize) -> Result<Items<'a>, Fault> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items<'a>, Fault> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Fault> {
        Err(Fault(outside("an alternative with several values")))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a>, Fault> {
        Ok(Members::of(self))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'a>, Fault> {
        Ok(Members::of(self))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Fault> {
        Err(Fault(outside("an alternative with several values")))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Fault> {
        use std::fmt::Write;
        self.out.push(b'"');
        write!(Escaped(self), "{value}").map_err(|_| Fault(outside("a text cannot be written")))?;
        self.out.push(b'"');
        Ok(())
    }
}

fn float() -> Fault {
    Fault(outside("a number is no integer within 2^53-1"))
}

/// What is refused before it begins.
pub(super) enum Never {}

impl SerializeTupleVariant for Never {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Fault> {
        match *self {}
    }

    fn end(self) -> Result<(), Fault> {
        match self {}
    }
}

impl SerializeStructVariant for Never {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        _: &'static str,
        _: &T,
    ) -> Result<(), Fault> {
        match *self {}
    }

    fn end(self) -> Result<(), Fault> {
        match self {}
    }
}

/// Defines one of serde's ways to write an array.
macro_rules! arrays {
    ($($name:ident: $method:ident),+ $(,)?) => {
        $(impl $name for Items<'_> {
            type Ok = ();
            type Error = Fault;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Fault> {
                self.item(item)
            }

            fn end(self) -> Result<(), Fault> {
                self.ended();
                Ok(())
            }
        })+
    };
}

arrays! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
}

impl SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Fault> {
        self.name(name)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Fault> {
        self.ended();
        Ok(())
    }
}

impl SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        self.member(name, value)
    }

    fn end(self) -> Result<(), Fault> {
        self.ended();
        Ok(())
    }
}
