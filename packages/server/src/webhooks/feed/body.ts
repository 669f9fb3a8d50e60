// Renders the body of an event, once: what is sent again later is the same to the byte.
import { isoTime, type OutboxEventData, type OutboxRow } from '../../platform/index.ts';

/** What Standard Webhooks asks of senders: receivers may refuse more. */
export const bodyBytesMax = 20_000;

/** The identifiers lead; of data that is too much for one event only they are left. */
export function eventBody(
  row: OutboxRow,
  { merchantId, data, type, ...facts }: OutboxEventData,
): string {
  const ids = {
    organizationId: row.organizationId,
    ...(merchantId === null ? {} : { merchantId }),
  };
  const head = { type: type ?? row.kind, timestamp: isoTime(row.createdAt.getTime()) };
  const body = JSON.stringify({
    ...head,
    data: { ...ids, ...data, sequence: row.sequence },
  });
  // A character has three bytes at most.
  if (body.length * 3 < bodyBytesMax || Buffer.byteLength(body) < bodyBytesMax) return body;
  const subjectId = facts.subjectId ?? row.subjectId;
  const short = { ...ids, subjectId, sequence: row.sequence, abridged: true };
  return JSON.stringify({ ...head, data: short });
}
