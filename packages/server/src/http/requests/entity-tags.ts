// ETag, If-Match and If-None-Match (RFC 9110, 8.8.3 and 13.1) from the version number of a resource.
import { throwProblem } from '@switchyard/contract';

export function entityTag(version: number): string {
  return `"${version}"`;
}

/** Whether the client has this version already: If-None-Match compares weakly (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, tag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((text) => text.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(tag);
}

/** The If-Match header, when it is a single text. */
export function readIfMatch(headers: Readonly<Record<string, unknown>>): string | undefined {
  const header = headers['if-match'];
  return typeof header === 'string' ? header : undefined;
}

/** Whether an If-Match header names the version; a weak tag never does. */
export function ifMatchAllows(header: string, version: number): boolean {
  const tags = header.split(',').map((tag) => tag.trim());
  return tags.includes('*') || tags.includes(entityTag(version));
}

/** Without If-Match every version is accepted. @throws ProblemError precondition_failed */
export function requireVersion(ifMatch: string | undefined, version: number): void {
  if (ifMatch === undefined || ifMatchAllows(ifMatch, version)) return;
  throwProblem(
    'precondition_failed',
    'If-Match does not name the current version; read the resource again and send its ETag.',
  );
}
