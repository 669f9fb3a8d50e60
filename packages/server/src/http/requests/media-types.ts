// Content-Type and Accept: which bodies the server reads and which media types the client accepts.

const jsonPattern = /^application\/json[ \t]*(?:;|$)/i;
const formPattern = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
const charsetPattern = /;[ \t]*charset=("?)([^";]*)\1/i;

/** JSON is UTF-8 (RFC 8259), so another charset is not accepted. */
export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  return contentType !== undefined && jsonPattern.test(contentType) && isUtf8(contentType);
}

/** The body of an HTML form in UTF-8. */
export function isFormType(contentType: string | undefined): boolean {
  return contentType !== undefined && formPattern.test(contentType) && isUtf8(contentType);
}

function isUtf8(contentType: string): boolean {
  const charset = charsetPattern.exec(contentType)?.[2];
  return charset === undefined || charset.trim().toLowerCase() === 'utf-8';
}

/** Whether a Content-Type names one of the media types; parameters are ignored. */
export function isMediaType(contentType: string | undefined, types: readonly string[]): boolean {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  return type !== undefined && types.includes(type);
}

/** The same, and the charset is UTF-8 or absent. */
export function isUtf8Type(contentType: string | undefined, types: readonly string[]): boolean {
  return contentType !== undefined && isMediaType(contentType, types) && isUtf8(contentType);
}

/** Whether an Accept header (RFC 9110, 12.5.1) accepts one of the media types. */
export function acceptsMediaType(accept: string | undefined, produces: readonly string[]): boolean {
  if (accept === undefined || accept === '*/*' || accept === produces[0]) return true;
  return produces.some((type) => acceptQuality(accept, type) > 0);
}

/** The most specific matching range decides. */
function acceptQuality(accept: string, type: string): number {
  const family = `${type.slice(0, type.indexOf('/'))}/*`;
  const ranges = ['*/*', family, type];
  let best = -1;
  let quality = 0;
  for (const entry of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const rank = ranges.indexOf(range === '' ? '*/*' : range);
    if (rank < 0 || rank < best) continue;
    best = rank;
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    quality = weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return quality;
}

/** Whether an Accept header names the media type explicitly, with at least the quality of the other. */
export function prefersMediaType(accept: string | undefined, type: string, other: string): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(type)) return false;
  const quality = acceptQuality(accept, type);
  return quality > 0 && quality >= acceptQuality(accept, other);
}
