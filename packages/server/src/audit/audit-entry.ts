// One change that a module records in the audit, without secrets, and its author.
import { type AuditRecord, defined } from '@switchyard/contract';
import type { Caller } from '../http/index.ts';
import type { Queries } from '../platform/index.ts';

export type Actor = AuditRecord['actor'];

/** The actor of a change and its request. */
export type Author = { readonly actor: Actor; readonly requestId?: string };

/** @example await audit.record(trx, { ...actorOf(request.caller, request.id), action, entity, … }); */
export function actorOf(
  {
    subject,
    clientId,
    userId,
    homeOrganizationId: organizationId,
  }: Pick<Caller, 'subject' | 'clientId' | 'userId' | 'homeOrganizationId'>,
  requestId: string,
): Author {
  const kind = userId === undefined ? 'Application' : 'User';
  const home = defined({ organizationId });
  return { actor: { subject, clientId, kind, ...home }, requestId };
}

/** The author of changes by a command: an account of the operating system, such as `ops@pay-1`. */
export const commandAuthor = (command: string, account: string): Author => ({
  actor: { subject: account, clientId: command, kind: 'Command' },
});

/** The author of changes by seeds, jobs and rules. */
export const platformAuthor: Author = {
  actor: { subject: 'platform', clientId: 'platform', kind: 'Platform' },
};

export type AuditEntry = Author & {
  readonly organizationId: string;
  /** The entity and the change, for example `merchant.updated`. */
  readonly action: string;
  readonly entity: { readonly type: string; readonly id: string; readonly merchantId?: string };
  /** The entity as the API shows it. Members with the name of a secret are redacted. */
  readonly before?: object;
  readonly after?: object;
};

/** The interface of the audit for other modules. */
export type AuditRecorder = {
  /**
   * Records in the transaction of the change. Other writers of the organisation wait until the commit,
   * so call it last.
   */
  record(trx: Queries, entry: AuditEntry): Promise<void>;
  /** The same for many changes of one organisation in one statement. */
  recordAll(trx: Queries, entries: readonly AuditEntry[]): Promise<void>;
};

/** A change from a module that does not import audit: `request` is undefined for the platform or a command. */
export type ChangeByRequest = Omit<AuditEntry, 'actor' | 'requestId'> & {
  readonly request?: { readonly caller: Caller; readonly id: string } | undefined;
};
