/** The message protection `adyen-v1`: whole messages, encrypted and with a code of authentication. */
import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { NexoError } from '../errors.ts';
import { messageBytesMax } from '../limits.ts';
import { type AnyMessage, envelopeOf, type Header } from '../messages/message.ts';
import { type ProtectedReading, type Reading, readMessage } from '../messages/read-message.ts';
import { writeMessage } from '../messages/write-message.ts';
import { structures } from '../table/structures.ts';
import { checkKey, type DerivedKeys, deriveKeys, type SharedKey } from './derive-keys.ts';

/**
 * Why a protected message was not opened.
 *
 * - `UnknownKey`: no key of that identifier and version, or another version of the protection
 * - `NotAuthentic`: decryption with that key fails; the reason is not reported
 * - `HeaderDiffers`: the header in clear is not the one inside
 *
 * Source: public documentation of the Terminal API, "Protect local communications".
 *
 * @example
 * const error: ProtectionError = 'NotAuthentic';
 */
export type ProtectionError = 'UnknownKey' | 'NotAuthentic' | 'HeaderDiffers';

/**
 * The result of opening a protected message: the reading of its content, or the error.
 *
 * Source: public documentation of the Terminal API, "Protect local communications".
 *
 * @example
 * if (opened.kind === 'Rejected') log(opened.error);
 */
export type DecryptedReading =
  | Exclude<Reading, ProtectedReading>
  | { readonly kind: 'Rejected'; readonly header: Header; readonly error: ProtectionError };

/**
 * The parameters of a protection.
 *
 * Source: public documentation of the Terminal API, "Protect local communications".
 *
 * @example
 * const deps: ProtectionDeps = { keys: [newest, older], randomBytes };
 */
export type ProtectionDeps = {
  /** The first one protects; all of them open. */
  readonly keys: readonly [SharedKey, ...SharedKey[]];
  /** Random bytes, one nonce for each message: `randomBytes` of `node:crypto`. */
  readonly randomBytes: (size: number) => Uint8Array;
};

/**
 * Protects and opens messages.
 *
 * Source: public documentation of the Terminal API, "Protect local communications".
 *
 * @example
 * const opened = protection.open(reading);
 */
export type Protection = {
  /** The text of a message, encrypted whole under the first key. Throws as {@link writeMessage} does. */
  readonly protect: (message: AnyMessage) => string;
  /** Opens what {@link readMessage} found to be protected. Never throws. */
  readonly open: (reading: ProtectedReading) => DecryptedReading;
};

type Ring = { readonly key: SharedKey; readonly derived: DerivedKeys }[];

/**
 * Makes the message protection `adyen-v1`: AES-256-CBC over the whole message with its envelope,
 * with an initial vector changed by a random nonce; HMAC-SHA-256 over the clear text; and the
 * header repeated in clear text for routing.
 *
 * It encrypts and authenticates a message. It does not prevent a replay: the 48 hours of {@link
 * createPoiDialogue} do.
 *
 * Source: public documentation of the Terminal API, "Protect local communications"; byte for byte
 * compatible with `@adyen/api-library` 32.1.0.
 *
 * @param deps - keys and a source of random bytes
 * @returns what protects and opens
 * @throws NexoError `key_invalid` for a key that cannot stand in a trailer, or two of one name
 * @example
 * const protection = createProtection({ keys: [key], randomBytes });
 * const reading = readMessage(text);
 * const opened = reading.kind === 'Protected' ? protection.open(reading) : undefined;
 */
export function createProtection({ keys, randomBytes }: ProtectionDeps): Protection {
  const ring: Ring = keys.map((key) => {
    checkKey(key);
    return { key, derived: deriveKeys(key.passphrase) };
  });
  if (
    new Set(keys.map(({ identifier, version }) => `${version} ${identifier}`)).size < ring.length
  ) {
    throw new NexoError('key_invalid');
  }

  function protect(message: AnyMessage): string {
    const [first] = ring;
    const text = Buffer.from(writeMessage(message));
    const nonce = randomBytes(nonceBytes);
    if (first === undefined || nonce.length !== nonceBytes) throw new NexoError('key_invalid');
    const written = securedText(message, first.key, encryptMessage(text, first.derived, nonce));
    if (Buffer.byteLength(written) > messageBytesMax) throw new NexoError('message_too_large');
    return written;
  }

  function openReading(reading: ProtectedReading): DecryptedReading {
    const { header, envelope } = reading;
    const rejected = (error: ProtectionError): DecryptedReading => ({
      kind: 'Rejected',
      header,
      error,
    });
    const key = ring.find((each) => isNamed(each.key, reading.trailer));
    if (key === undefined) return rejected('UnknownKey');
    const text = decryptMessage(bytesOf(reading), key.derived);
    if (text === undefined) return rejected('NotAuthentic');
    const inner = readMessage(text);
    if (inner.kind === 'Unreadable') return inner;
    const innerHeader = inner.kind === 'Message' ? inner.message.header : inner.header;
    const sameWay = envelopeOf(innerHeader.MessageType) === envelope;
    if (!sameWay || !sameHeader(header, innerHeader)) return rejected('HeaderDiffers');
    if (inner.kind !== 'Protected') return inner;
    return {
      kind: 'Faulty',
      header,
      faults: [{ pointer: '', problem: 'is protected inside of its protection' }],
    };
  }

  return { protect, open: openReading };
}

/** The wire form: the header in clear, the message in base64, and what opens it. */
function securedText(
  { header }: AnyMessage,
  { identifier, version }: SharedKey,
  { blob, nonce, hmac }: EncryptedMessage,
): string {
  return JSON.stringify({
    [envelopeOf(header.MessageType)]: {
      MessageHeader: header,
      NexoBlob: Buffer.from(blob).toString('base64'),
      SecurityTrailer: {
        AdyenCryptoVersion: 1,
        KeyIdentifier: identifier,
        KeyVersion: version,
        Nonce: Buffer.from(nonce).toString('base64'),
        Hmac: Buffer.from(hmac).toString('base64'),
      },
    },
  });
}

function isNamed(
  { identifier, version }: SharedKey,
  trailer: ProtectedReading['trailer'],
): boolean {
  return (
    trailer['AdyenCryptoVersion'] === 1 &&
    trailer['KeyIdentifier'] === identifier &&
    trailer['KeyVersion'] === version
  );
}

function bytesOf({ blob, trailer }: ProtectedReading): EncryptedMessage {
  return {
    blob: base64(blob),
    nonce: base64(trailer['Nonce']),
    hmac: base64(trailer['Hmac']),
  };
}

/** Bytes of base64 in its one canonical form; none for anything else, which then does not open. */
function base64(value: unknown): Uint8Array {
  if (typeof value !== 'string') return new Uint8Array();
  const bytes = Buffer.from(value, 'base64');
  return bytes.toString('base64') === value ? bytes : new Uint8Array();
}

/**
 * The members of the table must be equal: the header used for routing must be the authenticated
 * one.
 */
function sameHeader(clear: Header, inner: Header): boolean {
  return Object.keys(structures.MessageHeader).every((member) =>
    isDeepStrictEqual(clear[member as keyof Header], inner[member as keyof Header]),
  );
}

/** The bytes of a block, hence of a nonce. */
const nonceBytes = 16;
const macBytes = 32;

/** The received bytes. */
type EncryptedMessage = {
  readonly blob: Uint8Array;
  readonly nonce: Uint8Array;
  readonly hmac: Uint8Array;
};

/** The vector of one message: the key's own, turned by the nonce. */
function vectorOf(iv: Uint8Array, nonce: Uint8Array): Uint8Array {
  return iv.map((byte, index) => byte ^ (nonce[index] ?? 0));
}

function macOf(hmacKey: Uint8Array, text: Uint8Array): Uint8Array {
  return createHmac('sha256', hmacKey).update(text).digest();
}

/** Encrypts under a nonce that is used once. */
export function encryptMessage(
  text: Uint8Array,
  keys: DerivedKeys,
  nonce: Uint8Array,
): EncryptedMessage {
  const cipher = createCipheriv('aes-256-cbc', keys.cipherKey, vectorOf(keys.iv, nonce));
  const blob = Buffer.concat([cipher.update(text), cipher.final()]);
  return { blob, nonce, hmac: macOf(keys.hmacKey, text) };
}

/**
 * Decrypts the message, or returns undefined without a reason. The MAC covers the clear text, so
 * the padding is read before the MAC is verified. A caller that can distinguish bad padding from a
 * bad MAC could decrypt without the key. Both are therefore always computed, compared in constant
 * time and evaluated together.
 *
 * Source: S. Vaudenay, "Security flaws induced by CBC padding", EUROCRYPT 2002.
 */
export function decryptMessage(
  sealed: EncryptedMessage,
  keys: DerivedKeys,
): Uint8Array | undefined {
  const { blob, nonce, hmac } = sealed;
  if (nonce.length !== nonceBytes || hmac.length !== macBytes) return undefined;
  if (blob.length === 0 || blob.length % nonceBytes !== 0) return undefined;
  const decipher = createDecipheriv('aes-256-cbc', keys.cipherKey, vectorOf(keys.iv, nonce));
  decipher.setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(blob), decipher.final()]);
  const { padding, sound } = paddingOf(padded);
  const text = padded.subarray(0, padded.length - padding);
  const equal = timingSafeEqual(macOf(keys.hmacKey, text), hmac);
  return (Number(equal) & Number(sound)) === 1 ? text : undefined;
}

/** The length of a PKCS #7 padding; one of nothing where there is none that is sound. */
function paddingOf(padded: Uint8Array): { padding: number; sound: boolean } {
  const last = padded[padded.length - 1] ?? 0;
  let wrong = Number(last === 0) | Number(last > nonceBytes);
  for (let fromEnd = 1; fromEnd <= nonceBytes; fromEnd += 1) {
    const counts = Number(fromEnd <= last);
    const byte = padded[padded.length - fromEnd] ?? 0;
    wrong |= counts & Number(byte !== last);
  }
  const sound = wrong === 0;
  return { padding: sound ? last : 0, sound };
}
