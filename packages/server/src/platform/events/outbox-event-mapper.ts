// How a module turns its outbox rows into published events. This file defines only the interface.
import type { Queries } from '../database/database.ts';
import type { OutboxRow } from './outbox.ts';

export type OutboxEventData = {
  /** The merchant of the event; null if it belongs to the organisation itself. */
  merchantId: string | null;
  /**
   * The event data that receivers get, identifiers first, never card data. The feed adds
   * organizationId and sequence.
   */
  data: Record<string, unknown>;
  /** Default: the kind of the row. */
  type?: string;
  /** Default: the subject of the row. */
  subjectId?: string;
};

/** Maps the outbox rows of one module: called once for each batch, in its transaction. */
export type OutboxEventMapper = {
  /** With its dot: `qr.` selects rows of the kind `qr.created`. */
  readonly prefix: string;
  /** Keyed by `outboxId`. A row that is left out is not published. */
  read(rows: readonly OutboxRow[], trx: Queries): Promise<ReadonlyMap<string, OutboxEventData>>;
};
