// Subelements of DE48: two-digit tag, two-digit length, text.

/** Returns an empty string for an undefined text. */
export function encodeSubelement(tag: string, text: string | undefined): string {
  return text === undefined ? '' : `${tag}${String(text.length).padStart(2, '0')}${text}`;
}

/** Returns the text of the first subelement with the tag; undefined if missing or if the field is malformed. */
export function readSubelement(field: string, tag: string): string | undefined {
  for (let offset = 0; offset + 4 <= field.length; ) {
    const length = field.slice(offset + 2, offset + 4);
    const end = offset + 4 + Number(length);
    if (!/^\d\d$/.test(length) || end > field.length) return undefined;
    if (field.startsWith(tag, offset)) return field.slice(offset + 4, end);
    offset = end;
  }
  return undefined;
}
