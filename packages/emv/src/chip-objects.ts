/** The primitive objects of chip data by their tags; a value is copied only when it is read. */

import { type TagFacts, tagTable } from './emv-tags.ts';
import { EmvError } from './errors.ts';
import { bytesOf } from './tlv.ts';
import { findObjects, type ReaderRules, type TlvPosition, valueText } from './tlv-reader.ts';

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
  readonly positions: readonly TlvPosition[];
  /** By the tag's place in the table, for those that stand in it. */
  readonly byTagIndex: readonly (TlvPosition | undefined)[];
};

const rules: ReaderRules = { opaque: new Set(), repeatable: new Set() };

/** Those inside of templates too; a tag in two templates is an error. */
function primitivesOf(objects: readonly TlvPosition[]): readonly TlvPosition[] {
  if (!objects.some(({ children }) => children !== undefined)) return objects;
  const primitives: TlvPosition[] = [];
  const seenTags = new Set<string>();
  const visit = (positions: readonly TlvPosition[]) => {
    for (const position of positions) {
      if (position.children !== undefined) {
        visit(position.children);
        continue;
      }
      if (seenTags.has(position.tag))
        throw new EmvError('tlv_duplicate_tag', { tag: position.tag });
      seenTags.add(position.tag);
      primitives.push(position);
    }
  };
  visit(objects);
  return primitives;
}

/** @throws EmvError of the reader, and `tlv_too_large` */
export function readChipObjects(hex: string): ChipObjects {
  const bytes = bytesOf(hex);
  if (bytes.length > chipBytesMax) throw new EmvError('tlv_too_large');
  const positions = primitivesOf(findObjects(bytes, 0, bytes.length, rules));
  const byTagIndex = new Array<TlvPosition | undefined>(tagRows.size).fill(undefined);
  for (const position of positions) {
    const row = tagRows.get(position.tag);
    if (row !== undefined) byTagIndex[row.index] = position;
  }
  return { text: hex.toUpperCase(), positions, byTagIndex };
}

export function findObject(leaves: ChipObjects, tag: string): TlvPosition | undefined {
  const row = tagRows.get(tag);
  return row === undefined ? undefined : leaves.byTagIndex[row.index];
}

/** @throws EmvError `object_invalid` for a length that is not of the table */
export function checkLength({ tag, start, end }: TlvPosition): void {
  const facts = tagRows.get(tag);
  if (facts === undefined) return;
  const length = end - start;
  if (length < facts.lengthMin || length > facts.lengthMax) {
    throw new EmvError('object_invalid', { tag });
  }
}

/** The hexadecimal value of an object after its length was checked. */
export function hexIn(leaves: ChipObjects, tag: string): string | undefined {
  const position = findObject(leaves, tag);
  if (position === undefined) return undefined;
  checkLength(position);
  return valueText(leaves.text, position);
}
