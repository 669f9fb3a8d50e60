// Network management messages (0800): sign-on, sign-off, echo and key update.
import type { Message } from '@switchyard/iso8583';
import type { ZoneKeyUpdate } from '../keys/import-zone-keys.ts';

const networkManagementCodes = {
  signOn: '001',
  signOff: '002',
  echo: '301',
  keyRequest: '161',
} as const;
const keyUpdateCode = '101';

export type NetworkRequest = keyof typeof networkManagementCodes;

/** Terminal and merchant of a sign-on for one terminal (DE41, DE42). */
export type SignOnTerminal = Partial<Pick<Message['fields'], 41 | 42>>;

/** Builds a network management request (0800). */
export function networkMessage(
  kind: NetworkRequest,
  trace: { stan: string; transmittedAt: string },
  terminal: SignOnTerminal = {},
): Message {
  const fields = { 7: trace.transmittedAt, 11: trace.stan, 70: networkManagementCodes[kind] };
  return { mti: '0800', fields: { ...fields, ...terminal } };
}

/** True for a request or advice: the function digit of the MTI is even. */
export const isRequest = ({ mti }: Message): boolean => Number(mti[2]) % 2 === 0;

/** Network management request (0800) or advice (0820), including repeats; some hosts sign off by advice. */
const networkManagementMti = /^08[02][0-5]$/;

export const isNetworkManagement = ({ mti }: Message): boolean => networkManagementMti.test(mti);

const echoedNetworkFields = [7, 11, 12, 13, 32, 33, 53, 70] as const;

/** Builds the response to a network management request (0810) or advice (0830); undefined for other messages. */
export function networkResponse(request: Message, responseCode = '00'): Message | undefined {
  if (!isNetworkManagement(request)) return undefined;
  const functionDigit = Number(request.mti[2]);
  const originDigit = Number(request.mti[3]);
  const fields: Message['fields'] = { 39: responseCode };
  for (const field of echoedNetworkFields) {
    const value = request.fields[field];
    if (value !== undefined) fields[field] = value;
  }
  // The response has the next function digit, and the origin digit without the repeat.
  return { mti: `08${functionDigit + 1}${originDigit - (originDigit % 2)}`, fields };
}

const hasNetworkCode = (message: Message, code: string): boolean =>
  isNetworkManagement(message) && message.fields[70] === code;

const supportedCodes: readonly (string | undefined)[] = [
  networkManagementCodes.signOn,
  networkManagementCodes.signOff,
  networkManagementCodes.echo,
  keyUpdateCode,
  // A message without a code only tests the connection.
  undefined,
];

/** False for a function of the host that has no effect here, such as the cut-over (201). */
export const isSupportedFunction = ({ fields }: Message): boolean =>
  supportedCodes.includes(fields[70]);

export const isSignOff = (request: Message): boolean =>
  hasNetworkCode(request, networkManagementCodes.signOff);

export const isKeyUpdate = (request: Message): boolean => hasNetworkCode(request, keyUpdateCode);

const keyUpdatePattern = /^([PM])([TA])([0-9]{2})([0-9A-F]{6})(.+)$/i;
const encryptedKeyPattern = /^[0-9A-F]{32,128}$/;
/** TR-31 key block: version, four-digit length, and at most the length of the field. */
const keyBlockPattern = /^[A-D]([0-9]{4})[0-9A-Z]{75,984}$/;

/** Returns the key in hexadecimal for the HSM: an encrypted key or a TR-31 key block. */
function parseWrappedKey(text: string): string | undefined {
  const hexText = text.toUpperCase();
  if (encryptedKeyPattern.test(hexText)) return hexText;
  // The MAC of the key block covers its letters, so the case is kept.
  const [, length] = keyBlockPattern.exec(text) ?? [];
  if (Number(length) !== text.length) return undefined;
  return Buffer.from(text, 'latin1').toString('hex').toUpperCase();
}

/** Parses the key update in DE48; returns undefined if it is missing or invalid. */
export function parseKeyUpdate({ fields }: Message): ZoneKeyUpdate | undefined {
  const [, usageLetter = '', algorithm = '', keyIndex = '', checkValue = '', text = ''] =
    keyUpdatePattern.exec(fields[48] ?? '') ?? [];
  const wrapped = parseWrappedKey(text);
  if (wrapped === undefined) return undefined;
  return {
    usage: usageLetter.toUpperCase() === 'P' ? 'ZonePin' : 'Mac',
    algorithm: algorithm.toUpperCase() === 'T' ? 'Tdes' : 'Aes',
    keyIndex,
    checkValue: checkValue.toUpperCase(),
    wrapped,
  };
}
