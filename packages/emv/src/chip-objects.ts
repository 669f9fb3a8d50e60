/** The primitive objects of chip data by their tags; a value is copied only when it is read. */

import { type TagFacts, tagTable } from './emv-tags.ts';
import { EmvError } from './errors.ts';
import { bytesOf } from './tlv.ts';
import { findObjects, type ReaderRules, type TlvPlace, valueText } from './tlv-reader.ts';

const chipBytesMax = 4096;

type TagRow = TagFacts & { readonly index: number };

/** The table of tags with the place of each in it. */
export const tagRows: ReadonlyMap<string, TagRow> = new Map(
  Object.entries(tagTable).map(([tag, facts], index) => [tag, { ...facts, index }]),
);

/** The primitive objects of the data; a value is copied only when it is read. */
export type ChipObjects = {
  /** All of the data, upper-case hexadecimal. */
  readonly text: string;
  readonly places: readonly TlvPlace[];
  /** By the tag's place in the table, for those that stand in it. */
  readonly known: readonly (TlvPlace | undefined)[];
};

const rules: ReaderRules = { opaque: new Set(), repeatable: new Set() };

/** Those inside of templates too; a tag in two templates is an error. */
function primitivesOf(found: readonly TlvPlace[]): readonly TlvPlace[] {
  if (!found.some(({ children }) => children !== undefined)) return found;
  const primitives: TlvPlace[] = [];
  const seen = new Set<string>();
  const visit = (places: readonly TlvPlace[]) => {
    for (const place of places) {
      if (place.children !== undefined) {
        visit(place.children);
        continue;
      }
      if (seen.has(place.tag)) throw new EmvError('tlv_duplicate_tag', { tag: place.tag });
      seen.add(place.tag);
      primitives.push(place);
    }
  };
  visit(found);
  return primitives;
}

/** @throws EmvError of the reader, and `tlv_too_large` */
export function readChipObjects(hex: string): ChipObjects {
  const bytes = bytesOf(hex);
  if (bytes.length > chipBytesMax) throw new EmvError('tlv_too_large');
  const places = primitivesOf(findObjects(bytes, 0, bytes.length, rules));
  const known = new Array<TlvPlace | undefined>(tagRows.size).fill(undefined);
  for (const place of places) {
    const row = tagRows.get(place.tag);
    if (row !== undefined) known[row.index] = place;
  }
  return { text: hex.toUpperCase(), places, known };
}

export function objectPlace(leaves: ChipObjects, tag: string): TlvPlace | undefined {
  const row = tagRows.get(tag);
  return row === undefined ? undefined : leaves.known[row.index];
}

/** @throws EmvError `object_invalid` for a length that is not of the table */
export function checkLength({ tag, start, end }: TlvPlace): void {
  const facts = tagRows.get(tag);
  if (facts === undefined) return;
  const length = end - start;
  if (length < facts.lengthMin || length > facts.lengthMax) {
    throw new EmvError('object_invalid', { tag });
  }
}

/** The hexadecimal value of an object after its length was checked. */
export function hexIn(leaves: ChipObjects, tag: string): string | undefined {
  const place = objectPlace(leaves, tag);
  if (place === undefined) return undefined;
  checkLength(place);
  return valueText(leaves.text, place);
}
