// Where a user is signed in: shown, and ended, by those who manage the user.
import { refuse, type UserSession } from '@switchyard/contract';
import { actorOf, type Recorder } from '../audit/index.ts';
import type { Caller, FoundPage, PageRequest } from '../http/index.ts';
import type { Identity, User } from '../identity/index.ts';
import { type Database, isoTime } from '../platform/index.ts';
import type { Users } from './user-management.ts';

export type UserSessionsDeps = {
  readonly users: Pick<Users, 'get' | 'demandChange'>;
  readonly sessions: Pick<Identity['sessions'], 'list' | 'end' | 'endAll'>;
  readonly audit: Pick<Recorder, 'record'>;
  readonly database: Pick<Database, 'transaction'>;
};

type Found = Awaited<ReturnType<Identity['sessions']['list']>>[number];
type By = { readonly caller: Caller; readonly id: string };

const shown = ({ methods, clientIds, ...facts }: Found): UserSession => ({
  ...facts,
  signedInAt: isoTime(facts.signedInAt),
  lastSeenAt: isoTime(facts.lastSeenAt),
  expiresAt: isoTime(facts.expiresAt),
  methods: [...methods],
  clientIds: [...clientIds],
});

export type UserSessions = ReturnType<typeof createUserSessions>;

export function createUserSessions({ users, sessions, audit, database }: UserSessionsDeps) {
  /** Told first: who ends a session and is cut off has it in the record, and ends it again. */
  const tell = ({ caller, id }: By, user: User, after: object): Promise<void> =>
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

  async function listOf({ organizationId, userId }: User): Promise<readonly Found[]> {
    return sessions.list(organizationId, userId);
  }

  return {
    /** Newest first; of a user there are some hundred at most. */
    async list(caller: Caller, userId: string, page: PageRequest): Promise<FoundPage<UserSession>> {
      const all = await listOf(await users.get(caller, userId));
      const from = all.findIndex(({ sessionId }) => sessionId === page.after) + 1;
      const items = all.slice(from, from + page.limit);
      const next = from + page.limit < all.length ? items.at(-1)?.sessionId : undefined;
      return { items: items.map(shown), next };
    },

    /** The one that is named, or all of them. */
    async end(by: By, userId: string, sessionId?: string): Promise<void> {
      const user = await users.demandChange(by.caller, userId);
      const { organizationId } = user;
      if (sessionId === undefined) {
        await tell(by, user, { all: true });
        await sessions.endAll(organizationId, userId);
        return;
      }
      if (!(await listOf(user)).some((one) => one.sessionId === sessionId)) {
        refuse('resource_not_found', 'The user has no such session.');
      }
      await tell(by, user, { sessionId });
      await sessions.end(organizationId, userId, sessionId);
    },
  };
}
