// The headers of a response besides the common ones: for the OpenAPI document and the validation in tests.
import { idempotencyKeyHeader } from '../routes/idempotency-key.ts';
import {
  type ResponseHeader,
  type RouteDeclaration,
  responseHeaders,
} from '../routes/route-declaration.ts';

const headersByStatus: Readonly<Record<number, readonly ResponseHeader[]>> = { 201: ['Location'] };

/** Whether the operation accepts an Idempotency-Key and so can replay a response. */
const takesKeyOfRequest = ({ headers = {}, takesIdempotencyKey }: RouteDeclaration): boolean =>
  takesIdempotencyKey === true ||
  Object.keys(headers).some((name) => name.toLowerCase() === idempotencyKeyHeader);

/** The headers of a response that is not a problem. */
export function responseHeadersOf(
  facts: RouteDeclaration,
  status: number,
): readonly ResponseHeader[] {
  // 304 repeats the ETag only.
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
