// What a room tells of its rows in the outbox, so that they can be published: a port, without a room behind it.
import type { Kysely } from 'kysely';
import type { OutboxRow } from './outbox.ts';

export type OutboxEventData = {
  /** Whose merchant it is of; null where the organisation's alone. */
  merchantId: string | null;
  /** As receivers see it, identifiers first; never card data. The feed adds organizationId and sequence. */
  data: Record<string, unknown>;
  /** Left out: the kind of the row. */
  type?: string;
  /** Left out: the subject of the row. */
  subjectId?: string;
};

/** Kinds of row that one room writes, and how their facts are read: once for a batch, in its transaction. */
export type OutboxEventMapper = {
  /** With its dot: `qr.` speaks for `qr.created`. */
  readonly prefix: string;
  /** By `outboxId`; a row that is left out is not published. */
  read(
    rows: readonly OutboxRow[],
    trx: Kysely<unknown>,
  ): Promise<ReadonlyMap<string, OutboxEventData>>;
};
