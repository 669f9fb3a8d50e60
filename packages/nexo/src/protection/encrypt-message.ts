/** Encrypts and decrypts bytes: AES-256 in CBC, and an HMAC over the clear text. */
import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { DerivedKeys } from './derive-keys.ts';

/** The bytes of a block, hence of a nonce. */
export const nonceBytes = 16;
const macBytes = 32;

/** The received bytes. */
export type EncryptedMessage = {
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
