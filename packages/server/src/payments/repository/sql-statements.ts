// Builds the insert of an outbox row.

type OutboxInsert = {
  kind: string;
  /** Query with the columns `bucket` and `id`. No row is inserted when it is empty. */
  subjectQuery: string;
  sequence: number;
  /** SQL parameters, as `at`. The organisation is `$1`. */
  outboxId: string;
  at: string;
};

export const insertOutboxRow = ({ kind, subjectQuery, sequence, outboxId, at }: OutboxInsert) =>
  `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
    SELECT subject.bucket, $1, ${outboxId}::uuid, '${kind}', subject.id, ${sequence}, ${at}::timestamptz FROM (${subjectQuery}) subject`;
