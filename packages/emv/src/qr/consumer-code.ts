/** Consumer-presented codes, which a till scans from the consumer's screen. Card data: never logged. */
import { defined } from '@switchyard/contract';
import { EmvError } from '../errors.ts';
import { decodeTlv, type TlvObject } from '../tlv.ts';

/**
 * One application of a consumer-presented code.
 *
 * @example
 * const application: ConsumerApplication = { aid: 'A0000000555555', objects: [] };
 */
export type ConsumerApplication = {
  /** Upper-case hexadecimal (tag 4F). */
  readonly aid: string;
  /** The label (tag 50). */
  readonly label?: string;
  readonly objects: readonly TlvObject[];
};

/**
 * The content of a consumer-presented code.
 *
 * @example
 * const { applications } = readConsumerCode(scanned);
 */
export type ConsumerCode = {
  readonly applications: readonly ConsumerApplication[];
  /** Of all applications (tag 62), the card number and the template of the cryptogram (63) among them. */
  readonly common: readonly TlvObject[];
};

const charactersMax = 512;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const formatTag = '85';
const formatValue = 'CPV01';
const applicationTag = '61';
const commonTag = '62';
const repeatable: ReadonlySet<string> = new Set([applicationTag, '50', '4F']);

const valueAt = (objects: readonly TlvObject[], tag: string) =>
  objects.find((object) => object.tag === tag)?.value;

function applicationOf({ children = [] }: TlvObject): ConsumerApplication {
  const aid = valueAt(children, '4F')?.toString('hex').toUpperCase();
  if (aid === undefined) throw new EmvError('code_object_missing', { tag: '4F' });
  const label = valueAt(children, '50')?.toString('latin1');
  return { aid, ...defined({ label }), objects: children };
}

/**
 * Reads a consumer-presented code: BER-TLV in base64, the payload format first.
 *
 * Source: EMV QR Code Specification for Payment Systems, Consumer-Presented Mode 1.1, chapter 4.
 *
 * @param text - as scanned, at most 512 characters
 * @returns its applications, and what they have in common
 * @throws EmvError `code_too_long`, `code_format_unknown`, `code_object_missing`, and those of
 *   {@link decodeTlv}
 * @example
 * readConsumerCode('hQVDUFYwMWETTweg…').applications[0]?.aid; // 'A0000000555555'
 */
export function readConsumerCode(text: string): ConsumerCode {
  if (text.length > charactersMax) throw new EmvError('code_too_long');
  if (text === '' || !base64.test(text)) throw new EmvError('code_format_unknown', { offset: 0 });
  const objects = decodeTlv(Buffer.from(text, 'base64'), { repeatable });
  const [first, ...rest] = objects;
  if (first?.tag !== formatTag || first.value.toString('latin1') !== formatValue) {
    throw new EmvError('code_format_unknown', { tag: formatTag });
  }
  const applications = rest.filter(({ tag }) => tag === applicationTag).map(applicationOf);
  if (applications.length === 0) throw new EmvError('code_object_missing', { tag: applicationTag });
  const common = rest.find(({ tag }) => tag === commonTag)?.children ?? [];
  return { applications, common };
}
