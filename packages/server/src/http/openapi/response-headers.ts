// Which headers an answer may have besides those of every answer: for the document, and for the check in tests.
import { idempotencyKeyHeader } from '../routes/idempotency-key.ts';
import {
  type ResponseHeader,
  type RouteDeclaration,
  responseHeaders,
} from '../routes/route-declaration.ts';

const headersByStatus: Readonly<Record<number, readonly ResponseHeader[]>> = { 201: ['Location'] };

/** Whoever names a request may send it again, and is told that the answer is that of the first time. */
const takesKeyOfRequest = ({
  headers = {},
  takesIdempotencyKey: takesKey,
}: RouteDeclaration): boolean =>
  takesKey === true ||
  Object.keys(headers).some((name) => name.toLowerCase() === idempotencyKeyHeader);

/** Of an answer that is no refusal. */
export function responseHeadersOf(
  facts: RouteDeclaration,
  status: number,
): readonly ResponseHeader[] {
  // It tells the tag again of what the client has.
  if (status === 304) return (facts.responseHeaders?.[200] ?? []).filter((name) => name === 'ETag');
  if (status < 200 || status >= 300) return [];
  const declared = facts.responseHeaders?.[status] ?? [];
  const replayed = takesKeyOfRequest(facts) ? (['Idempotent-Replayed'] as const) : [];
  const all = new Set<ResponseHeader>([
    ...replayed,
    ...(headersByStatus[status] ?? []),
    ...declared,
  ]);
  return responseHeaders.filter((name) => all.has(name));
}
