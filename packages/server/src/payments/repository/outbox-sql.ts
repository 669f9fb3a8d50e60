// SQL part that inserts an outbox row in the same commit (transactional outbox).

type OutboxRowParts = {
  kind: string;
  /** Query with one column `id`. No row is inserted when it is empty. */
  subjectQuery: string;
  sequence: number;
  /** The parameters of the row's identifier and time; the organisation is `$1`. */
  outboxId: string;
  at: string;
};

export const insertOutboxRow = ({ kind, subjectQuery, sequence, outboxId, at }: OutboxRowParts) =>
  `INSERT INTO outbox (organization_id, outbox_id, kind, subject_id, sequence, created_at)
    SELECT $1, ${outboxId}::uuid, '${kind}', told.id, ${sequence}, ${at}::timestamptz FROM (${subjectQuery}) told`;
