/** Merchant-presented codes: the text behind the image that a consumer scans. */
import { defined } from '@switchyard/contract';
import { EmvError } from '../errors.ts';
import { crc16 } from './crc16.ts';
import {
  type CodeObject,
  readObjects,
  writeObject,
  writeObjects,
} from './merchant-code-objects.ts';

export type { CodeObject } from './merchant-code-objects.ts';

/**
 * Where a payment by this code goes: a scheme's own object (`02` to `25`), or a template (`26` to
 * `51`) whose first object, `00`, names the scheme.
 *
 * @example
 * const account: MerchantAccount = { id: '26', objects: [{ id: '00', value: 'org.example.pay' }] };
 */
export type MerchantAccount =
  | { readonly id: string; readonly value: string }
  | { readonly id: string; readonly objects: readonly CodeObject[] };

/**
 * The content of a merchant-presented code. Amounts are decimal text in the currency's units, as the
 * code itself has them.
 *
 * @example
 * const code: MerchantCode = {
 *   initiation: 'Dynamic', accounts: [{ id: '26', objects: [{ id: '00', value: 'org.example.pay' }] }],
 *   merchantCategoryCode: '5812', currency: '978', amount: '10.50', countryCode: 'DE',
 *   merchantName: 'Cafe Nord', merchantCity: 'Hamburg', additional: { referenceLabel: 'A-1' },
 * };
 */
export type MerchantCode = {
  /** A static code is paid many times, a dynamic one once. */
  readonly initiation?: 'Static' | 'Dynamic';
  readonly accounts: readonly MerchantAccount[];
  /** Four digits (ISO 18245). */
  readonly merchantCategoryCode: string;
  /** Three digits (ISO 4217). */
  readonly currency: string;
  readonly amount?: string;
  /** What the consumer adds: asked for, a fixed amount, or a percentage. */
  readonly tip?:
    | { readonly kind: 'Prompt' }
    | { readonly kind: 'Fixed'; readonly amount: string }
    | { readonly kind: 'Percentage'; readonly percentage: string };
  /** Two letters (ISO 3166-1). */
  readonly countryCode: string;
  /** At most 25 characters. */
  readonly merchantName: string;
  /** At most 15 characters. */
  readonly merchantCity: string;
  readonly postalCode?: string;
  readonly additional?: Partial<Record<AdditionalField, string>>;
  /** Name and city once more in another language. */
  readonly local?: { readonly language: string; readonly name: string; readonly city?: string };
  /** `80` to `99`, as they come. */
  readonly unreserved?: readonly CodeObject[];
};

/** The objects of the template `62`. */
const additionalIds = {
  billNumber: '01',
  mobileNumber: '02',
  storeLabel: '03',
  loyaltyNumber: '04',
  referenceLabel: '05',
  customerLabel: '06',
  terminalLabel: '07',
  purpose: '08',
  consumerDataRequest: '09',
} as const;

/**
 * A field of the additional data of a code.
 *
 * @example
 * const field: AdditionalField = 'referenceLabel';
 */
export type AdditionalField = keyof typeof additionalIds;

const charactersMax = 512;
const format = '01';
const initiations = { Static: '11', Dynamic: '12' } as const;
const checkHead = '6304';
const checkCharacters = 8;
const amountPattern = /^(?=[\d.]{1,13}$)\d+(?:\.\d*)?$/;
const percentagePattern = /^(?=[\d.]{1,5}$)\d+(?:\.\d{1,2})?$/;

const rules: Readonly<Record<string, RegExp>> = {
  '01': /^1[12]$/,
  '52': /^\d{4}$/,
  '53': /^\d{3}$/,
  '54': amountPattern,
  '55': /^0[123]$/,
  '56': amountPattern,
  '57': percentagePattern,
  '58': /^[A-Z]{2}$/,
  '59': /^.{1,25}$/su,
  '60': /^.{1,15}$/su,
  '61': /^.{1,10}$/su,
};

const isBetween = (id: string, from: number, to: number) => Number(id) >= from && Number(id) <= to;
const isTemplate = (id: string) => id === '62' || id === '64' || isBetween(id, 26, 51);

const checkSumOf = (text: string) =>
  crc16(Buffer.from(text)).toString(16).toUpperCase().padStart(4, '0');

function requireThat(isRight: boolean, tag: string): void {
  if (!isRight) throw new EmvError('code_object_invalid', { tag });
}

function checkObject({ id, value }: CodeObject): void {
  requireThat(rules[id]?.test(value) ?? true, id);
}

/** A template that is needed to read the code; the content of a private one is not checked. */
function openTemplate(object: CodeObject): CodeObject {
  if (!isTemplate(object.id)) return object;
  return { ...object, objects: readObjects([...object.value], object.id) };
}

/**
 * The data objects of a merchant-presented code, once its frame is known to be right: the payload
 * format first, the check sum last and correct, no object twice, every length within the text.
 *
 * Source: EMV QR Code Specification for Payment Systems, Merchant-Presented Mode 1.1, chapters 3, 4.
 *
 * @param text - at most 512 characters, as scanned
 * @returns the objects in their order, templates opened; without the check sum
 * @throws EmvError `code_too_long`, `code_format_unknown`, `code_truncated`, `code_object_invalid`,
 *   `code_object_repeated`, `code_check_sum_wrong`
 * @example
 * readMerchantObjects(text).find(({ id }) => id === '53')?.value; // '156'
 */
export function readMerchantObjects(text: string): CodeObject[] {
  const characters = [...text];
  if (characters.length > charactersMax) throw new EmvError('code_too_long');
  if (!text.startsWith(`0002${format}`)) throw new EmvError('code_format_unknown', { offset: 0 });
  const objects = readObjects(characters);
  const at = text.length - checkCharacters;
  const last = objects.pop();
  if (last?.id !== '63' || last.value.length !== 4 || text.slice(at, at + 4) !== checkHead) {
    throw new EmvError('code_check_sum_wrong', { tag: '63' });
  }
  if (checkSumOf(text.slice(0, -4)) !== last.value.toUpperCase()) {
    throw new EmvError('code_check_sum_wrong', { tag: '63' });
  }
  for (const object of objects) checkObject(object);
  return objects.map(openTemplate);
}

type FindObject = (id: string) => CodeObject | undefined;

function requireValue(find: FindObject, id: string): string {
  const object = find(id);
  if (object === undefined) throw new EmvError('code_object_missing', { tag: id });
  return object.value;
}

function readTip(find: FindObject): { tip?: NonNullable<MerchantCode['tip']> } {
  const kind = find('55')?.value;
  if (kind === undefined) return {};
  if (kind === '01') return { tip: { kind: 'Prompt' } };
  if (kind === '02') return { tip: { kind: 'Fixed', amount: requireValue(find, '56') } };
  return { tip: { kind: 'Percentage', percentage: requireValue(find, '57') } };
}

function readAdditional(find: FindObject): Pick<MerchantCode, 'additional'> {
  const objects = find('62')?.objects;
  if (objects === undefined) return {};
  const additionalFields = Object.entries(additionalIds).flatMap(([name, id]) => {
    const value = objects.find((object) => object.id === id)?.value;
    return value === undefined ? [] : [[name, value] as const];
  });
  return { additional: Object.fromEntries(additionalFields) };
}

function readLocal(find: FindObject): Pick<MerchantCode, 'local'> {
  const objects = find('64')?.objects;
  if (objects === undefined) return {};
  const valueAt = (id: string) => objects.find((object) => object.id === id)?.value;
  const city = valueAt('02');
  const [language, name] = [valueAt('00'), valueAt('01')];
  if (language === undefined || name === undefined) {
    throw new EmvError('code_object_missing', { tag: language === undefined ? '6400' : '6401' });
  }
  return { local: { language, name, ...defined({ city }) } };
}

function accountOf({ id, value, objects }: CodeObject): MerchantAccount {
  if (objects === undefined) return { id, value };
  if (objects[0]?.id !== '00') throw new EmvError('code_object_missing', { tag: `${id}00` });
  return { id, objects };
}

function initiationOf(value: string | undefined): 'Dynamic' | 'Static' | undefined {
  if (value === undefined) return undefined;
  return value === initiations.Dynamic ? 'Dynamic' : 'Static';
}

/**
 * Reads a merchant-presented code.
 *
 * Source: EMV QR Code Specification for Payment Systems, Merchant-Presented Mode 1.1, chapter 4.
 *
 * @param text - as scanned
 * @returns what it says
 * @throws EmvError those of {@link readMerchantObjects}, and `code_object_missing`
 * @example
 * readMerchantCode(text).merchantName; // 'BEST TRANSPORT'
 */
export function readMerchantCode(text: string): MerchantCode {
  const objects = readMerchantObjects(text);
  const find: FindObject = (id) => objects.find((object) => object.id === id);
  const accounts = objects.filter(({ id }) => isBetween(id, 2, 51)).map(accountOf);
  if (accounts.length === 0) throw new EmvError('code_object_missing', { tag: '02' });
  const unreserved = objects.filter(({ id }) => isBetween(id, 80, 99));
  return {
    ...defined({ initiation: initiationOf(find('01')?.value) }),
    accounts,
    merchantCategoryCode: requireValue(find, '52'),
    currency: requireValue(find, '53'),
    ...defined({ amount: find('54')?.value }),
    ...readTip(find),
    countryCode: requireValue(find, '58'),
    merchantName: requireValue(find, '59'),
    merchantCity: requireValue(find, '60'),
    ...defined({ postalCode: find('61')?.value }),
    ...readAdditional(find),
    ...readLocal(find),
    ...(unreserved.length === 0 ? {} : { unreserved }),
  };
}

function tipObjects({ tip }: MerchantCode): CodeObject[] {
  if (tip === undefined) return [];
  if (tip.kind === 'Prompt') return [{ id: '55', value: '01' }];
  const isFixed = tip.kind === 'Fixed';
  return [
    { id: '55', value: isFixed ? '02' : '03' },
    isFixed ? { id: '56', value: tip.amount } : { id: '57', value: tip.percentage },
  ];
}

function additionalObjects({ additional = {} }: MerchantCode): CodeObject[] {
  const objects = Object.entries(additionalIds).flatMap(([name, id]) => {
    const value = additional[name as AdditionalField];
    return value === undefined ? [] : [{ id, value }];
  });
  return objects.length === 0 ? [] : [{ id: '62', value: writeObjects(objects) }];
}

function localObjects({ local }: MerchantCode): CodeObject[] {
  if (local === undefined) return [];
  const objects = [
    { id: '00', value: local.language },
    { id: '01', value: local.name },
    ...(local.city === undefined ? [] : [{ id: '02', value: local.city }]),
  ];
  return [{ id: '64', value: writeObjects(objects) }];
}

function accountObject(account: MerchantAccount): CodeObject {
  requireThat(isBetween(account.id, 2, 51), account.id);
  if ('value' in account) return { id: account.id, value: account.value };
  requireThat(isTemplate(account.id) && account.objects[0]?.id === '00', account.id);
  return { id: account.id, value: writeObjects(account.objects) };
}

function objectsOf(code: MerchantCode): CodeObject[] {
  const optional = (id: string, value: string | undefined): CodeObject[] =>
    value === undefined ? [] : [{ id, value }];
  return [
    ...optional('01', code.initiation && initiations[code.initiation]),
    ...code.accounts.map(accountObject),
    { id: '52', value: code.merchantCategoryCode },
    { id: '53', value: code.currency },
    ...optional('54', code.amount),
    ...tipObjects(code),
    { id: '58', value: code.countryCode },
    { id: '59', value: code.merchantName },
    { id: '60', value: code.merchantCity },
    ...optional('61', code.postalCode),
    ...additionalObjects(code),
    ...localObjects(code),
    ...(code.unreserved ?? []),
  ];
}

/**
 * Writes a merchant-presented code: the text that goes into the image.
 *
 * Source: EMV QR Code Specification for Payment Systems, Merchant-Presented Mode 1.1, chapters 3, 4.
 *
 * @param code - what it is to say
 * @returns at most 512 characters, the check sum last
 * @throws EmvError `code_object_invalid`, `code_object_missing`, `code_object_repeated`,
 *   `code_too_long`
 * @example
 * writeMerchantCode(code); // '000201010212…6304A13A'
 */
export function writeMerchantCode(code: MerchantCode): string {
  if (code.accounts.length === 0) throw new EmvError('code_object_missing', { tag: '02' });
  const objects = objectsOf(code);
  const ids = new Set<string>();
  for (const object of objects) {
    checkObject(object);
    if (ids.has(object.id)) throw new EmvError('code_object_repeated', { tag: object.id });
    ids.add(object.id);
  }
  const head = writeObject('00', format) + writeObjects(objects) + checkHead;
  const text = head + checkSumOf(head);
  if ([...text].length > charactersMax) throw new EmvError('code_too_long');
  return text;
}
