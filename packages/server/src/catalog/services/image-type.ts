// Detects the type of an image from its first bytes, because the declared type is not trusted.

const latin1 = (text: string) => Buffer.from(text, 'latin1');

const imageTypes = [
  { type: 'image/png', at: 0, bytes: latin1('\u0089PNG\r\n\u001a\n') },
  { type: 'image/jpeg', at: 0, bytes: latin1('\u00ff\u00d8\u00ff') },
  // A RIFF file has its length before its type.
  { type: 'image/webp', at: 8, bytes: latin1('WEBP') },
] as const;

/** @example imageType('iVBORw0KGgo='); // 'image/png' */
export function imageType(base64: string): (typeof imageTypes)[number]['type'] | undefined {
  const image = Buffer.from(base64, 'base64');
  return imageTypes.find(({ at, bytes }) => {
    if (at > 0 && !image.subarray(0, at).toString('latin1').startsWith('RIFF')) return false;
    return image.subarray(at, at + bytes.length).equals(bytes);
  })?.type;
}
