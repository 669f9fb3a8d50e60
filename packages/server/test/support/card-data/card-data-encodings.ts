// The encodings in which card data could occur: text, hex, base64, packed digits, reversed, hashed.
import { createHash, randomInt } from 'node:crypto';

/** A unique card number with a valid check digit. */
export function createPan(prefix = '4', length = 16): string {
  let digits = prefix;
  while (digits.length < length - 1) digits += String(randomInt(10));
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return digits + String((10 - (sum % 10)) % 10);
}

const reversed = (text: string) => [...text].reverse().join('');

/**
 * Base64 of the bytes at each alignment, without the characters that depend on neighbouring bytes.
 */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const from = Math.ceil((shift * 8) / 6);
    const to = Math.floor(((shift + bytes.length) * 8) / 6);
    const inner = text.slice(from, to);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Digits or hex in packed form, two a byte; an odd length is padded on either side. */
function packedDigits(text: string): Buffer[] {
  if (!/^[0-9a-f]+$/i.test(text)) return [];
  const sides = text.length % 2 === 0 ? [text] : [`0${text}`, `${text}F`];
  return sides.map((side) => Buffer.from(side, 'hex'));
}

function hashes(text: string): string[] {
  return ['sha256', 'sha1', 'md5', 'sha512'].flatMap((algorithm) => {
    const digest = createHash(algorithm).update(text).digest();
    return [digest.toString('hex'), ...base64Forms(digest)];
  });
}

const minLength = 10;

/** Every encoding of a secret in lower case that is too long to match by chance. */
export function encodingsOf(secret: string): string[] {
  const plain = Buffer.from(secret, 'latin1');
  const bytes = [plain, ...packedDigits(secret)];
  const all = [
    secret,
    reversed(secret),
    ...bytes.flatMap((each) => [
      each.toString('hex'),
      Buffer.from(each).reverse().toString('hex'),
      ...base64Forms(each),
      ...base64Forms(Buffer.from(each).reverse()),
    ]),
    Buffer.from(secret, 'utf16le').toString('hex'),
    ...hashes(secret),
  ];
  // The search ignores letter case, as hex requires; for base64 it only becomes a little broader.
  return [...new Set(all.map((form) => form.toLowerCase()))].filter(
    (form) => form.length >= minLength,
  );
}

/** Finds secrets in text and returns the text around each match. */
export function createTextSearch(secrets: Readonly<Record<string, string>>) {
  const names = new Map<string, string>();
  for (const [name, secret] of Object.entries(secrets)) {
    for (const form of encodingsOf(secret)) names.set(form, name);
  }
  const escaped = [...names.keys()].map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const pattern = new RegExp(escaped.join('|'));
  return {
    find(text: string): string | undefined {
      const lower = text.toLowerCase();
      const match = pattern.exec(lower);
      if (match === null) return undefined;
      const near = lower.slice(Math.max(0, match.index - 80), match.index + 80);
      return `${names.get(match[0])} in …${near}…`;
    },
  };
}
