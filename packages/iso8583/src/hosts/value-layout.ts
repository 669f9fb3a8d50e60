// Values that consist of parts: written as one text, and taken apart again.

type Length = number | 'LL' | 'LLL' | '*';
type Part = { name: string; length: Length };

/** The parts of a value, by name; `zeros` has none. */
export type Parts = { [name: string]: string };

export type Layout = {
  readonly names: readonly string[];
  write(parts: Parts): string;
  /** `undefined` for a text of another shape. */
  read(text: string): Parts | undefined;
};

const partPattern = /^([a-z]+):([0-9]{1,3}|LL|LLL|\*)$/;
const zeros = 'zeros';

function partsOf(layout: string): Part[] | undefined {
  const parts: Part[] = [];
  for (const word of layout.trim().split(/\s+/)) {
    const [, name, length] = partPattern.exec(word) ?? [];
    if (name === undefined || length === undefined) return undefined;
    const fixed = /^[0-9]/.test(length);
    parts.push({ name, length: fixed ? Number(length) : (length as Length) });
  }
  const open = parts.findIndex(({ length }) => length === '*');
  return open === -1 || open === parts.length - 1 ? parts : undefined;
}

function writePart({ name, length }: Part, parts: Parts): string {
  const value = parts[name] ?? '';
  if (length === '*') return value;
  if (length === 'LL' || length === 'LLL') {
    return String(value.length).padStart(length.length, '0') + value;
  }
  // Numbers fill up on the left; a longer value keeps its last characters, as counters do.
  return value.padStart(length, '0').slice(-length);
}

function readPart(
  part: Part,
  text: string,
  at: number,
): { value: string; end: number } | undefined {
  const { length } = part;
  if (length === '*') return { value: text.slice(at), end: text.length };
  if (typeof length === 'number') {
    const end = at + length;
    return end > text.length ? undefined : { value: text.slice(at, end), end };
  }
  const start = at + length.length;
  const digits = text.slice(at, start);
  if (!/^[0-9]+$/.test(digits) || digits.length < length.length) return undefined;
  const end = start + Number(digits);
  return end > text.length ? undefined : { value: text.slice(start, end), end };
}

/** Compiles a layout; `undefined` where it is none. */
export function compileValueLayout(layout: string): Layout | undefined {
  const parts = partsOf(layout);
  if (parts === undefined) return undefined;
  return {
    names: parts.map(({ name }) => name).filter((name) => name !== zeros),
    write: (values) => parts.map((part) => writePart(part, values)).join(''),
    read(text) {
      const values: Parts = {};
      let at = 0;
      for (const part of parts) {
        const parsed = readPart(part, text, at);
        if (parsed === undefined) return undefined;
        if (part.name !== zeros) values[part.name] = parsed.value;
        at = parsed.end;
      }
      return at === text.length ? values : undefined;
    },
  };
}
