// Compares a recorded message with the one of the platform, field by field, and describes both without card data.
import { defined } from '@switchyard/contract';
import { bytesOf, decodeTlv, EmvError } from '@switchyard/emv';
import { type HostTable, type Message, maskField } from '@switchyard/iso8583';

export type FieldStatus = 'Equal' | 'Different' | 'Missing' | 'Additional';

/** `Missing`: only the recorded message has the field. `Additional`: only that of the platform has it. */
export type FieldComparison = {
  /** 0 for the message type. */
  readonly field: number;
  readonly name: string;
  readonly status: FieldStatus;
  /** Without card data. */
  readonly recorded?: string;
  /** Without card data. */
  readonly platform?: string;
  /** Where the values differ, if they are not shown. */
  readonly detail?: string;
};

type Context = {
  readonly table: HostTable;
  readonly ignored: ReadonlySet<number>;
  /** Fields for which the platform has values that the recorded message does not show. */
  readonly ownValues: ReadonlySet<number>;
  /** Card numbers and tracks of this payment, which no value may contain. */
  readonly secrets: readonly string[];
};

const messageTypeField = 0;
const chipDataField = 55;
const hidden = '[card data]';

/** A value may contain the card number although its field should not. */
function describeSafely(field: number, value: string, secrets: readonly string[]): string {
  if (field === messageTypeField) return value;
  const text = maskField(field, value);
  return secrets.some((secret) => text.includes(secret)) ? hidden : text;
}

/** The values of the tags of chip data; undefined for a value that is not BER-TLV. */
function readTags(hex: string): Map<string, string> | undefined {
  try {
    const objects = decodeTlv(bytesOf(hex));
    return new Map(objects.map(({ tag, value }) => [tag, Buffer.from(value).toString('hex')]));
  } catch (error) {
    if (error instanceof EmvError) return undefined;
    throw error;
  }
}

function compareTags(recorded: string, platform: string): string | undefined {
  const [recordedTags, platformTags] = [readTags(recorded), readTags(platform)];
  if (recordedTags === undefined || platformTags === undefined) return undefined;
  const list = (label: string, tags: string[]) =>
    tags.length === 0 ? [] : [`${label} ${tags.join(' ')}`];
  const onlyIn = (one: Map<string, string>, other: Map<string, string>) =>
    [...one.keys()].filter((tag) => !other.has(tag));
  const differing = [...recordedTags.keys()].filter(
    (tag) => platformTags.has(tag) && platformTags.get(tag) !== recordedTags.get(tag),
  );
  const parts = [
    ...list('missing tags', onlyIn(recordedTags, platformTags)),
    ...list('additional tags', onlyIn(platformTags, recordedTags)),
    ...list('other values of tags', differing),
  ];
  return parts.length === 0 ? 'other order of the tags' : parts.join('; ');
}

/** Where two values differ, without a character of them. */
function describeDifference(field: number, recorded: string, platform: string): string {
  const tags = field === chipDataField ? compareTags(recorded, platform) : undefined;
  if (tags !== undefined) return tags;
  const position = [...recorded].findIndex((character, at) => character !== platform[at]);
  return `from character ${(position === -1 ? recorded.length : position) + 1}`;
}

function compareField(
  field: number,
  { recorded, platform }: { recorded: string | undefined; platform: string | undefined },
  { table, ownValues, secrets }: Context,
): FieldComparison {
  const name =
    field === messageTypeField ? 'Message type' : (table.messages.fields[field]?.name ?? '');
  const describe = (value: string) => describeSafely(field, value, secrets);
  if (recorded === undefined) {
    const text = ownValues.has(field) ? 'a value of the platform' : describe(platform ?? '');
    return { field, name, status: 'Additional', platform: text };
  }
  if (platform === undefined)
    return { field, name, status: 'Missing', recorded: describe(recorded) };
  if (recorded === platform) return { field, name, status: 'Equal', platform: describe(platform) };
  const texts = { recorded: describe(recorded), platform: describe(platform) };
  const isVisible = texts.recorded === recorded && texts.platform === platform;
  const detail = isVisible ? undefined : describeDifference(field, recorded, platform);
  return { field, name, status: 'Different', ...texts, ...defined({ detail }) };
}

/** Both messages in the form of the host. */
export function compareFields(
  recorded: Message,
  platform: Message,
  context: Context,
): FieldComparison[] {
  const numbers = new Set(
    [...Object.keys(recorded.fields), ...Object.keys(platform.fields)].map(Number),
  );
  const fields = [...numbers].filter((field) => !context.ignored.has(field)).sort((a, b) => a - b);
  const values = (field: number) => ({
    recorded: recorded.fields[field],
    platform: platform.fields[field],
  });
  return [
    compareField(messageTypeField, { recorded: recorded.mti, platform: platform.mti }, context),
    ...fields.map((field) => compareField(field, values(field), context)),
  ];
}
