// Renders the body of an event once, so that every delivery sends the same bytes.
import { isoTime, type OutboxEventData, type OutboxRow } from '../../platform/index.ts';

/** The size limit that Standard Webhooks recommends to senders; receivers may refuse more. */
export const bodyBytesMax = 20_000;

/** The identifiers come first. If the data is too large for one event, only they remain. */
export function renderEventBody(
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
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (body.length * 3 < bodyBytesMax || Buffer.byteLength(body) < bodyBytesMax) return body;
  const subjectId = facts.subjectId ?? row.subjectId;
  const abridgedData = { ...ids, subjectId, sequence: row.sequence, abridged: true };
  return JSON.stringify({ ...head, data: abridgedData });
}
