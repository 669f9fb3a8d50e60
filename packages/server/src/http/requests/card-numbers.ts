// Refuses card numbers in names and other free text of a body: such text is stored and returned unchanged.
import {
  DeviceAcknowledgement,
  type FieldError,
  ProcessRequest,
  QrRequest,
} from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { escapePointerStep } from './field-errors.ts';

/** Longer texts are files, scanned codes, passwords and URLs. */
const freeTextMaxLength = 1000;
/** What free text accepts and an identifier, an enumeration or a number does not. */
const spacedDigits = ['1234 1234 1234 1234', 'A 1234 1234 1234 1234'];
const compactDigits = ['1234123412341234', 'A1234123412341234'];
const depthMax = 12;
/** Numbers of the client's own systems, some of which pass the check digit of cards by chance. */
const identifiers: ReadonlySet<string> = new Set(['externalId']);

/** Sales and QR payments check these members themselves, and name the whole member. */
const checkedByPayments: ReadonlyMap<unknown, readonly string[]> = new Map([
  [ProcessRequest as unknown, ['order', 'metadata']],
  [QrRequest, ['order']],
]);

/** Their operations mask card numbers: a refusal would lose what a device reports. */
const maskedBodies: ReadonlySet<unknown> = new Set([DeviceAcknowledgement]);

type Schema = {
  readonly type?: unknown;
  readonly format?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};

/** Where a body has free text. */
type FreeText = {
  isText: boolean;
  readonly members: Map<string, FreeText>;
  /** Members whose names the client chooses, such as labels: the names are free text too. */
  others?: FreeText;
  items?: FreeText;
};

const newFreeText = (): FreeText => ({ isText: false, members: new Map() });

const isUsed = ({ isText, members, others, items }: FreeText): boolean =>
  isText || members.size > 0 || others !== undefined || items !== undefined;

function isFreeText(schema: Schema, member: string): boolean {
  const { type, format, enum: values, const: value, pattern, maxLength } = schema;
  if (type !== 'string' || identifiers.has(member)) return false;
  if (format !== undefined || values !== undefined || value !== undefined) return false;
  // Without both, it is a key or a token.
  if (maxLength === undefined && pattern === undefined) return false;
  if (maxLength !== undefined && maxLength > freeTextMaxLength) return false;
  const accepts = (text: string) =>
    text.length <= (maxLength ?? freeTextMaxLength) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text));
  return spacedDigits.some(accepts) || (/name$/i.test(member) && compactDigits.some(accepts));
}

function addSchema(to: FreeText, schema: Schema, member: string, depth: number): void {
  if (depth > depthMax)
    throw new Error(`the schema of ${member} is nested deeper than ${depthMax} levels`);
  if (isFreeText(schema, member)) to.isText = true;
  const { properties = {}, patternProperties = {}, additionalProperties, items } = schema;
  for (const each of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((all) => all ?? [])) {
    addSchema(to, each, member, depth + 1);
  }
  for (const [name, each] of Object.entries(properties)) {
    const freeText = to.members.get(name) ?? newFreeText();
    addSchema(freeText, each, name, depth + 1);
    if (isUsed(freeText)) to.members.set(name, freeText);
  }
  const open = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  for (const each of [...Object.values(patternProperties), ...open]) {
    const freeText = to.others ?? newFreeText();
    addSchema(freeText, each, '', depth + 1);
    if (isUsed(freeText)) to.others = freeText;
  }
  if (items !== undefined) {
    const freeText = to.items ?? newFreeText();
    addSchema(freeText, items, member, depth + 1);
    if (isUsed(freeText)) to.items = freeText;
  }
}

/** @returns the pointer of the first text that holds a card number */
function findText(value: unknown, at: FreeText, pointer: string): string | undefined {
  if (typeof value === 'string') return at.isText && holdsCardNumber(value) ? pointer : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    const { items } = at;
    if (items === undefined) return undefined;
    for (const [index, each] of value.entries()) {
      const freeText = findText(each, items, `${pointer}/${index}`);
      if (freeText !== undefined) return freeText;
    }
    return undefined;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(members)) {
    const member = at.members.get(name);
    const next = member ?? at.others;
    if (next === undefined) continue;
    // The pointer must not repeat the number.
    if (member === undefined && holdsCardNumber(name)) return pointer;
    const freeText = findText(members[name], next, `${pointer}/${escapePointerStep(name)}`);
    if (freeText !== undefined) return freeText;
  }
  return undefined;
}

/** @example const findCardNumber = createCardNumberCheck(schema); findCardNumber(body)?.pointer; // '/name' */
export function createCardNumberCheck(schema: unknown): (value: unknown) => FieldError | undefined {
  const body = (schema ?? {}) as Schema;
  const freeText = newFreeText();
  addSchema(freeText, body, '', 0);
  for (const name of checkedByPayments.get(schema) ?? []) freeText.members.delete(name);
  // The reader of provider events masks card numbers, too; a refusal would lose the event.
  const isMasked = maskedBodies.has(schema) || body.additionalProperties === true;
  if (isMasked || !isUsed(freeText)) return () => undefined;
  return (value) => {
    const pointer = findText(value, freeText, '');
    if (pointer === undefined) return undefined;
    return {
      pointer,
      code: 'field_invalid',
      detail: 'Contains text that looks like a card number.',
    };
  };
}
