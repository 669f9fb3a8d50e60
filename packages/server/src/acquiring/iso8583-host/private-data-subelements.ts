// The private data of a message (DE48): subelements of a tag, a length and text, two digits each.

/** Nothing for nothing: a subelement is there or it is not. */
export function subelement(tag: string, text: string | undefined): string {
  return text === undefined ? '' : `${tag}${String(text.length).padStart(2, '0')}${text}`;
}

/** The text of the first subelement of a tag; undefined too where the field is no list of them. */
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
