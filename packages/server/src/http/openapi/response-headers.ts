// Which headers an answer may have besides those of every answer: for the document, and for the check in tests.
import { idempotencyKeyHeader } from '../routes/idempotency-key.ts';
import { type AnswerHeader, answerHeaders, type RouteFacts } from '../routes/route-declaration.ts';

const ofStatus: Readonly<Record<number, readonly AnswerHeader[]>> = { 201: ['Location'] };

/** Whoever names a request may send it again, and is told that the answer is that of the first time. */
const takesName = ({ headers = {}, takesKey }: RouteFacts): boolean =>
  takesKey === true ||
  Object.keys(headers).some((name) => name.toLowerCase() === idempotencyKeyHeader);

/** Of an answer that is no refusal. */
export function answerHeadersOf(facts: RouteFacts, status: number): readonly AnswerHeader[] {
  // It tells the tag again of what the client has.
  if (status === 304) return (facts.answerHeaders?.[200] ?? []).filter((name) => name === 'ETag');
  if (status < 200 || status >= 300) return [];
  const own = facts.answerHeaders?.[status] ?? [];
  const named = takesName(facts) ? (['Idempotent-Replayed'] as const) : [];
  const all = new Set<AnswerHeader>([...named, ...(ofStatus[status] ?? []), ...own]);
  return answerHeaders.filter((name) => all.has(name));
}
