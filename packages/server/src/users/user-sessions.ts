// Lists and ends the sessions of a user for user managers.
import { throwProblem, type UserSession } from '@switchyard/contract';
import { type AuditRecorder, actorOf } from '../audit/index.ts';
import type { Caller, FoundPage, PageRequest } from '../http/index.ts';
import type { Identity, User } from '../identity/index.ts';
import { type Database, isoTime } from '../platform/index.ts';
import type { UserManagement } from './user-management.ts';

export type UserSessionsDependencies = {
  readonly users: Pick<UserManagement, 'find' | 'getManageable'>;
  readonly sessions: Pick<Identity['sessions'], 'list' | 'end' | 'endAll'>;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly database: Pick<Database, 'transaction'>;
};

type SessionRecord = Awaited<ReturnType<Identity['sessions']['list']>>[number];
type SessionRequest = { readonly caller: Caller; readonly id: string };

const toSessionView = ({ methods, clientIds, ...facts }: SessionRecord): UserSession => ({
  ...facts,
  signedInAt: isoTime(facts.signedInAt),
  lastSeenAt: isoTime(facts.lastSeenAt),
  expiresAt: isoTime(facts.expiresAt),
  methods: [...methods],
  clientIds: [...clientIds],
});

export type UserSessions = ReturnType<typeof createUserSessions>;

export function createUserSessions({ users, sessions, audit, database }: UserSessionsDependencies) {
  /** Written before the session ends: after an interruption the record exists, and the caller ends the session again. */
  const auditSessionEnd = (
    { caller, id }: SessionRequest,
    user: User,
    after: object,
  ): Promise<void> =>
    database.transaction((trx) =>
      audit.record(trx, {
        ...actorOf(caller, id),
        organizationId: user.organizationId,
        action: 'user.sessionsEnded',
        entity: {
          type: 'user',
          id: user.userId,
          ...(user.entityType === 'merchant' ? { merchantId: user.entityId } : {}),
        },
        after,
      }),
    );

  async function listSessions({ organizationId, userId }: User): Promise<readonly SessionRecord[]> {
    return sessions.list(organizationId, userId);
  }

  return {
    /** Newest first; a user has a few hundred sessions at most. */
    async list(caller: Caller, userId: string, page: PageRequest): Promise<FoundPage<UserSession>> {
      const all = await listSessions(await users.find(caller, userId));
      const from = all.findIndex(({ sessionId }) => sessionId === page.after) + 1;
      const items = all.slice(from, from + page.limit);
      const next = from + page.limit < all.length ? items.at(-1)?.sessionId : undefined;
      return { items: items.map(toSessionView), next };
    },

    /** Ends the given session, or all of them. */
    async end(request: SessionRequest, userId: string, sessionId?: string): Promise<void> {
      const user = await users.getManageable(request.caller, userId);
      const { organizationId } = user;
      if (sessionId === undefined) {
        await auditSessionEnd(request, user, { all: true });
        await sessions.endAll(organizationId, userId);
        return;
      }
      if (!(await listSessions(user)).some((session) => session.sessionId === sessionId)) {
        throwProblem('resource_not_found', 'The user has no session with this identifier.');
      }
      await auditSessionEnd(request, user, { sessionId });
      await sessions.end(organizationId, userId, sessionId);
    },
  };
}
