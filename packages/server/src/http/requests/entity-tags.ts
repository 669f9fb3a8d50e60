// Tells the versions of a thing apart for clients: ETag out, If-Match in (RFC 9110, 8.8.3 and 13.1.1).
import { refuse } from '@switchyard/contract';

export function entityTag(version: number): string {
  return `"${version}"`;
}

/** Whether the client holds this very answer: If-None-Match compares weakly (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, tag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((text) => text.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(tag);
}

/** Headers of another spelling than text do not exist for If-Match. */
export function readIfMatch(headers: Readonly<Record<string, unknown>>): string | undefined {
  const header = headers['if-match'];
  return typeof header === 'string' ? header : undefined;
}

/** Whether an If-Match header admits the version; a weak tag never does. */
export function ifMatchAllows(header: string, version: number): boolean {
  const tags = header.split(',').map((tag) => tag.trim());
  return tags.includes('*') || tags.includes(entityTag(version));
}

/** Refuses the change of a version that the caller has not seen; without If-Match any will do. */
export function requireVersion(ifMatch: string | undefined, version: number): void {
  if (ifMatch === undefined || ifMatchAllows(ifMatch, version)) return;
  refuse('precondition_failed', 'If-Match names another version than the current one.');
}
