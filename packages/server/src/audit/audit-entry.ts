// What a room tells the audit: one change, in the words of the room, without secrets.
import type { AuditRecord } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Caller } from '../http/index.ts';

export type Actor = AuditRecord['actor'];

/** Who made a change, and by which request. */
export type Author = { readonly actor: Actor; readonly requestId?: string };

export type AuditEntry = Author & {
  readonly organizationId: string;
  /** The entity and what was done to it: `merchant.updated`. */
  readonly action: string;
  readonly entity: { readonly type: string; readonly id: string; readonly merchantId?: string };
  /** As the API shows it. Members with the name of a secret are not kept, whatever they hold. */
  readonly before?: object;
  readonly after?: object;
};

/** What the rooms get of the audit. */
export type AuditRecorder = {
  /**
   * Within the caller's transaction: the change and its record are one commit. Other writers of the
   * organisation wait from here on, so it is best the last thing before the commit.
   */
  record(trx: Kysely<unknown>, entry: AuditEntry): Promise<void>;
  /** The same for many changes of one organisation, by one statement. */
  recordAll(trx: Kysely<unknown>, entries: readonly AuditEntry[]): Promise<void>;
};

/** For rooms that do not know the audit: who asked, or nobody where it was the platform itself. */
export type ChangeByRequest = Omit<AuditEntry, 'actor' | 'requestId'> & {
  readonly asked?: { readonly caller: Caller; readonly id: string } | undefined;
};
