// Parses the Range header (RFC 9110, 14.2): one range of bytes, or else the whole content.
const rangePattern = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/;

/** Both ends are included. */
export type ByteRange = { readonly first: number; readonly last: number };

/**
 * @param header the value of Range; the server ignores all but one byte range, as the RFC allows
 * @returns `all` without a supported range, `none` if the range contains no byte of the content
 */
export function parseRangeHeader(header: unknown, length: number): ByteRange | 'all' | 'none' {
  const parts = typeof header === 'string' ? rangePattern.exec(header) : null;
  if (parts === null) return 'all';
  const [, from, to, suffix] = parts;
  if (suffix !== undefined) {
    const count = Math.min(Number(suffix), length);
    return count === 0 ? 'none' : { first: length - count, last: length - 1 };
  }
  const first = Number(from);
  const last = to === undefined ? length - 1 : Math.min(Number(to), length - 1);
  if (to !== undefined && Number(to) < first) return 'all';
  return first >= length ? 'none' : { first, last };
}
