/** Bytes of texts, by what browsers and Node have in common. */

const encoder = new TextEncoder();
/** A character of UTF-16 has three bytes of UTF-8 at most. */
const bytesPerUnit = 3;
/** So many arguments a call takes everywhere. */
const portion = 8_192;

/** Whether a text or bytes are more than so many; texts that cannot be are not counted. */
export function isLongerThan(source: string | Uint8Array, bytesMax: number): boolean {
  if (typeof source !== 'string') return source.byteLength > bytesMax;
  if (source.length > bytesMax) return true;
  return source.length * bytesPerUnit > bytesMax && encoder.encode(source).length > bytesMax;
}

export function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += portion) {
    text += String.fromCharCode(...bytes.subarray(at, at + portion));
  }
  return btoa(text);
}

/** None of what is no base64. */
export function bytesOf(base64: string): Uint8Array {
  let text: string;
  try {
    text = atob(base64);
  } catch {
    return new Uint8Array();
  }
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
