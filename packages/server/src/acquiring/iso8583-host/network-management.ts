// The messages about the line itself, canonical: sign-on, echo, and new keys.
import type { Message } from '@switchyard/iso8583';
import type { KeyChange } from '../keys/zone-key-exchange.ts';

const networkCodes = { signOn: '001', signOff: '002', echo: '301', keyRequest: '161' } as const;
const keyChangeCode = '101';
const keyField = 48;

export type NetworkRequest = keyof typeof networkCodes;

/** A network management request (0800), correlated by trace alone under an empty terminal. */
export function networkMessage(
  kind: NetworkRequest,
  trace: { stan: string; transmittedAt: string },
): Message {
  return {
    mti: '0800',
    fields: { 7: trace.transmittedAt, 11: trace.stan, 70: networkCodes[kind] },
  };
}

/** A request or an advice, not an answer: the function digit of its type is even. */
export function isRequest(message: Message): boolean {
  return Number(message.mti[2]) % 2 === 0;
}

/** A request about the line, or an advice about it, which some hosts sign off by; each may come again. */
const aboutTheLine = /^08[02][0-5]$/;

const networkEchoed = [7, 11, 12, 13, 32, 33, 53, 70] as const;

/** The answer to a host's own network request (0810) or advice (0830); undefined for any other message. */
export function networkAnswer(request: Message, code = '00'): Message | undefined {
  if (!aboutTheLine.test(request.mti)) return undefined;
  const fields: Message['fields'] = { 39: code };
  for (const field of networkEchoed) {
    const value = request.fields[field];
    if (value !== undefined) fields[field] = value;
  }
  return { mti: request.mti.startsWith('082') ? '0830' : '0810', fields };
}

/** Whether a host tells us that it takes nothing more. */
export function isSignOff(request: Message): boolean {
  return aboutTheLine.test(request.mti) && request.fields[70] === networkCodes.signOff;
}

/** Whether a host's request brings a new key. */
export function isKeyChange(request: Message): boolean {
  return aboutTheLine.test(request.mti) && request.fields[70] === keyChangeCode;
}

const keyPattern = /^([PM])([TA])([0-9]{2})([0-9A-F]{6})(.+)$/i;
const encryptedForm = /^[0-9A-F]{32,128}$/;
/** A key block of TR-31: its version, its length in decimals, and no more than a field holds. */
const blockForm = /^[A-D]([0-9]{4})[0-9A-Z]{75,984}$/;

/** The key as the security module takes it, hexadecimal: encrypted as it is, or the text of a key block. */
function wrappedIn(text: string): string | undefined {
  const digits = text.toUpperCase();
  if (encryptedForm.test(digits)) return digits;
  // Its letters are part of what its own code covers: they stay as they are.
  const [, length] = blockForm.exec(text) ?? [];
  if (Number(length) !== text.length) return undefined;
  return Buffer.from(text, 'latin1').toString('hex').toUpperCase();
}

/** The key that a message brings; undefined where it brings none, or it is not written as one. */
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
