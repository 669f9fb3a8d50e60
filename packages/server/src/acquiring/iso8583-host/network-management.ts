// Network management messages (0800): sign-on, sign-off, echo and key update.
import type { Message } from '@switchyard/iso8583';
import type { KeyChange } from '../keys/zone-key-exchange.ts';

const networkCodes = { signOn: '001', signOff: '002', echo: '301', keyRequest: '161' } as const;
const keyChangeCode = '101';
const keyField = 48;

export type NetworkRequest = keyof typeof networkCodes;

/** Builds a network management request (0800). It is correlated by STAN, without terminal id. */
export function networkMessage(
  kind: NetworkRequest,
  trace: { stan: string; transmittedAt: string },
): Message {
  return {
    mti: '0800',
    fields: { 7: trace.transmittedAt, 11: trace.stan, 70: networkCodes[kind] },
  };
}

/** True for a request or advice: the function digit of the MTI is even. */
export function isRequest(message: Message): boolean {
  return Number(message.mti[2]) % 2 === 0;
}

/** Network management request (0800) or advice (0820), including repeats; some hosts sign off by advice. */
const aboutTheLine = /^08[02][0-5]$/;

const networkEchoed = [7, 11, 12, 13, 32, 33, 53, 70] as const;

/** Builds the response to a network management request (0810) or advice (0830); undefined for other messages. */
export function networkAnswer(request: Message, code = '00'): Message | undefined {
  if (!aboutTheLine.test(request.mti)) return undefined;
  const fields: Message['fields'] = { 39: code };
  for (const field of networkEchoed) {
    const value = request.fields[field];
    if (value !== undefined) fields[field] = value;
  }
  return { mti: request.mti.startsWith('082') ? '0830' : '0810', fields };
}

/** True if the host signs off. */
export function isSignOff(request: Message): boolean {
  return aboutTheLine.test(request.mti) && request.fields[70] === networkCodes.signOff;
}

/** True if the host sends a new key. */
export function isKeyChange(request: Message): boolean {
  return aboutTheLine.test(request.mti) && request.fields[70] === keyChangeCode;
}

const keyPattern = /^([PM])([TA])([0-9]{2})([0-9A-F]{6})(.+)$/i;
const encryptedForm = /^[0-9A-F]{32,128}$/;
/** TR-31 key block: version, four-digit length, and at most the length of the field. */
const blockForm = /^[A-D]([0-9]{4})[0-9A-Z]{75,984}$/;

/** Returns the key in hexadecimal for the HSM: an encrypted key or a TR-31 key block. */
function wrappedIn(text: string): string | undefined {
  const digits = text.toUpperCase();
  if (encryptedForm.test(digits)) return digits;
  // The MAC of the key block covers its letters, so the case is kept.
  const [, length] = blockForm.exec(text) ?? [];
  if (Number(length) !== text.length) return undefined;
  return Buffer.from(text, 'latin1').toString('hex').toUpperCase();
}

/** Parses the key update in DE48; returns undefined if it is missing or invalid. */
export function keyChangeIn({ fields }: Message): KeyChange | undefined {
  const [, use = '', algorithm = '', keyIndex = '', checkValue = '', text = ''] =
    keyPattern.exec(fields[keyField] ?? '') ?? [];
  const wrapped = wrappedIn(text);
  if (wrapped === undefined) return undefined;
  return {
    use: use.toUpperCase() === 'P' ? 'ZonePin' : 'Mac',
    algorithm: algorithm.toUpperCase() === 'T' ? 'Tdes' : 'Aes',
    keyIndex,
    checkValue: checkValue.toUpperCase(),
    wrapped,
  };
}
