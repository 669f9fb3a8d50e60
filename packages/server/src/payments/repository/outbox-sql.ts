// A part of a statement: what it does is told by a row of the outbox, in the same commit.

type Told = {
  kind: string;
  /** A query of one column `id`: nothing is told where it is empty. */
  of: string;
  sequence: number;
  /** The parameters of the row's identifier and time; the organisation is `$1`. */
  outboxId: string;
  at: string;
};

export const tell = ({ kind, of, sequence, outboxId, at }: Told) =>
  `INSERT INTO outbox (organization_id, outbox_id, kind, subject_id, sequence, created_at)
    SELECT $1, ${outboxId}::uuid, '${kind}', told.id, ${sequence}, ${at}::timestamptz FROM (${of}) told`;
