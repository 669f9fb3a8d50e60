// Outbox rows and payloads of clearing file events.
import { defined } from '@switchyard/contract';
import type { EventSource } from '../../platform/index.ts';
import { insertOutboxRow, queryRows } from '../repository/sql-statements.ts';

const eventSequences = { made: 1, acknowledged: 2, rejected: 2, settled: 3 } as const;

/** For a statement with a CTE `file` that returns the `file_id` of a changed file. */
export const insertFileEvent = (
  eventName: keyof typeof eventSequences,
  outboxId: string,
  at: string,
) =>
  insertOutboxRow({
    kind: `clearing.file_${eventName}`,
    subjectQuery: 'SELECT file_id AS id FROM file',
    sequence: eventSequences[eventName],
    outboxId,
    at,
  });

const selectEventDataText = `SELECT r.outbox_id AS "outboxId", f.file_id AS "fileId",
    f.link_id AS "acquirerLinkId", f.sequence AS number, f.line_count AS "lineCount", f.amounts,
    f.accepted, f.rejected, f.reason
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS r(organization_id, outbox_id, file_id)
  CROSS JOIN LATERAL (SELECT * FROM clearing_files WHERE organization_id = r.organization_id
    AND file_id = r.file_id LIMIT 1) f`;

type EventDataRow = {
  outboxId: string;
  fileId: string;
  acquirerLinkId: string;
  number: number;
  lineCount: number;
  amounts: Record<string, string>;
  accepted: number;
  rejected: number;
  reason: string | null;
};

export const clearingEvents: EventSource = {
  prefix: 'clearing.',
  async read(rows, trx) {
    const eventRows = await queryRows<EventDataRow>(trx, selectEventDataText, [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.outboxId),
      rows.map((row) => row.subjectId),
    ]);
    return new Map(
      eventRows.map(({ outboxId, reason, ...file }) => [
        outboxId,
        { merchantId: null, data: { ...file, ...defined({ reason: reason ?? undefined }) } },
      ]),
    );
  },
};
