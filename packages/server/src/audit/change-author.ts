// The author of a change: the caller of a request, or the platform itself.
import { defined } from '@switchyard/contract';
import type { Caller } from '../http/index.ts';
import type { Author } from './audit-entry.ts';

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

/** The author of changes by seeds, jobs and rules. */
export const platformAuthor: Author = {
  actor: { subject: 'platform', clientId: 'platform', kind: 'Platform' },
};
