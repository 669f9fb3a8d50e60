/** The data objects of a merchant-presented code: two digits of name, two of length, the value. */
import { EmvError } from '../errors.ts';

/**
 * One data object of a merchant-presented code; `objects` is there where it is a template.
 *
 * @example
 * const country: CodeObject = { id: '58', value: 'CN' };
 */
export type CodeObject = {
  /** Two digits. */
  readonly id: string;
  readonly value: string;
  readonly objects?: readonly CodeObject[];
};

const headerCharacters = 4;
const digits = /^\d{2}$/;
export const valueCharactersMax = 99;

/**
 * Lengths count characters, not bytes: the published sample has `0104` before four Chinese ones.
 *
 * @throws EmvError `code_truncated`, `code_object_invalid`, `code_object_repeated`
 */
export function readObjects(characters: readonly string[], parent = ''): CodeObject[] {
  const objects: CodeObject[] = [];
  const seenIds = new Set<string>();
  for (let at = 0; at < characters.length; ) {
    const id = characters.slice(at, at + 2).join('');
    const length = characters.slice(at + 2, at + headerCharacters).join('');
    const tag = parent + id;
    if (!digits.test(id) || !digits.test(length)) {
      throw new EmvError('code_object_invalid', { offset: at });
    }
    const end = at + headerCharacters + Number(length);
    if (end > characters.length) throw new EmvError('code_truncated', { tag, offset: at });
    if (Number(length) === 0) throw new EmvError('code_object_invalid', { tag, offset: at });
    if (seenIds.has(id)) throw new EmvError('code_object_repeated', { tag, offset: at });
    seenIds.add(id);
    objects.push({ id, value: characters.slice(at + headerCharacters, end).join('') });
    at = end;
  }
  return objects;
}

/** @throws EmvError `code_object_invalid` for an empty value or one of more than 99 characters */
export function writeObject(id: string, value: string): string {
  const { length } = [...value];
  if (length === 0 || length > valueCharactersMax) {
    throw new EmvError('code_object_invalid', { tag: id });
  }
  return id + String(length).padStart(2, '0') + value;
}

export const writeObjects = (objects: readonly CodeObject[]): string =>
  objects.map(({ id, value }) => writeObject(id, value)).join('');
