// Subelements of DE48: two-digit tag, two-digit length, text.

/** Returns an empty string for an undefined text. */
export function subelement(tag: string, text: string | undefined): string {
  return text === undefined ? '' : `${tag}${String(text.length).padStart(2, '0')}${text}`;
}

/** Returns the text of the first subelement with the tag; undefined if missing or if the field is malformed. */
export function readSubelement(field: string, tag: string): string | undefined {
  for (let at = 0; at + 4 <= field.length; ) {
    const length = field.slice(at + 2, at + 4);
    const end = at + 4 + Number(length);
    if (!/^\d\d$/.test(length) || end > field.length) return undefined;
    if (field.startsWith(tag, at)) return field.slice(at + 4, end);
    at = end;
  }
  return undefined;
}
