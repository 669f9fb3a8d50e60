// Creates, lists, edits and switches users, within what the caller may see and give.
import { defined, refuse, type UserInput, type UserReplacement } from '@switchyard/contract';
import { actorOf, type Recorder } from '../audit/index.ts';
import { type Caller, demandVersion, type FoundPage, type PageRequest } from '../http/index.ts';
import type { Accounts, Profile, Upon, User, Within } from '../identity/index.ts';
import { merchantOf } from './caller-scope.ts';
import { groupBeyond } from './group-assignment-rules.ts';
import { readOnlyOf, viewOf } from './user-view.ts';

export type UsersDeps = {
  readonly accounts: Pick<
    Accounts,
    'find' | 'invite' | 'list' | 'change' | 'setStatus' | 'sendPasswordLink' | 'resetSecondFactor'
  >;
  readonly audit: Pick<Recorder, 'record'>;
  /** Rejects where the organisation has no such merchant. */
  demandMerchant(organizationId: string, merchantId: string): Promise<void>;
};

/** Who asks, by which request, and which version he has seen. */
export type Asked = {
  readonly caller: Caller;
  readonly requestId: string;
  readonly ifMatch?: string | undefined;
};

export type ListFilters = {
  readonly entityId?: string | undefined;
  readonly username?: string | undefined;
  readonly status?: 'activated' | 'deactivated' | undefined;
};

export type Users = ReturnType<typeof createUsers>;

const statuses = { activated: 'Enabled', deactivated: 'Disabled' } as const;

function sees(caller: Caller, user: User): boolean {
  const merchantId = merchantOf(caller);
  return merchantId === undefined || user.entityId === merchantId;
}

function refuseUnknown(): never {
  return refuse('resource_not_found', 'No user in your scope has this identifier.');
}

function demandGroups({ permissions }: Caller, groups: readonly string[]): void {
  if (groupBeyond(groups, permissions) === undefined) return;
  refuse('permission_denied', 'A group of the user is beyond what you may give or change.');
}

function refuseField(member: string, code: 'field_read_only' | 'entity_mismatch', detail: string) {
  const error = { pointer: `/${member}`, code, detail };
  return refuse(code, `${member} ${detail}.`, { errors: [error] });
}

/** The first member that came back with another value than it has. */
function refuseChanged(input: object, user: User, userDomainId: string): void {
  const given = input as Readonly<Record<string, unknown>>;
  for (const [member, value] of Object.entries(readOnlyOf(user, userDomainId))) {
    if (!(member in given) || given[member] === value) continue;
    refuseField(member, 'field_read_only', 'is read-only');
  }
}

function profileOf(input: Partial<Profile>, email: string, groups: readonly string[]): Profile {
  const { givenName, familyName, phoneNumber, address, locale, zoneinfo, datetimeFormat } = input;
  return {
    email,
    groups,
    givenName,
    familyName,
    phoneNumber,
    address,
    locale,
    zoneinfo,
    datetimeFormat,
  };
}

export function createUsers({ accounts, audit, demandMerchant }: UsersDeps) {
  const telling =
    ({ caller, requestId }: Asked, done: string): Within =>
    async (trx, { before, after }) => {
      const { organizationId, entityType, entityId, userId } = after;
      await audit.record(trx, {
        ...actorOf(caller, requestId),
        organizationId,
        action: `user.${done}`,
        entity: {
          type: 'user',
          id: userId,
          ...(entityType === 'merchant' ? { merchantId: entityId } : {}),
        },
        ...defined({ before: before === undefined ? undefined : viewOf(before, caller.realm) }),
        after: viewOf(after, caller.realm),
      });
    };

  /** Refuses what the caller may not touch, and tells the audit what was done. */
  const upon = (asked: Asked, done: string): Upon => ({
    check: (standing) => demandStanding(asked, standing),
    within: telling(asked, done),
  });

  function demandStanding({ caller, ifMatch }: Asked, standing: User): void {
    if (!sees(caller, standing)) refuseUnknown();
    demandGroups(caller, standing.groups);
    demandVersion(ifMatch, standing.version);
  }

  /** A scope lies at or below the entity; both are the organisation's own. */
  async function placeOf(caller: Caller, { entityId, scope }: UserInput) {
    const { organizationId } = caller;
    const merchantId = merchantOf(caller);
    const levelOf = (id: string) => (id === organizationId ? 'tenant' : 'merchant');
    if (merchantId !== undefined && entityId !== merchantId) {
      refuse('merchant_not_found', 'No merchant in your scope has this identifier.');
    }
    const entityType = levelOf(entityId);
    const scopeEntityType = levelOf(scope);
    if (entityType === 'merchant') {
      await demandMerchant(organizationId, entityId);
      if (scope !== entityId) refuseField('scope', 'entity_mismatch', 'is not within entityId');
    } else if (scopeEntityType === 'merchant') {
      await demandMerchant(organizationId, scope);
    }
    return { entityType, entityId, scopeEntityType, scopeEntityId: scope } as const;
  }

  async function find(caller: Caller, userId: string): Promise<User> {
    const user = await accounts.find(caller.organizationId, userId);
    return user !== undefined && sees(caller, user) ? user : refuseUnknown();
  }

  return {
    get: find,

    /** The user, where the caller may change it. */
    async demandChange(caller: Caller, userId: string): Promise<User> {
      const user = await find(caller, userId);
      demandGroups(caller, user.groups);
      return user;
    },

    async list(
      caller: Caller,
      { entityId, username, status }: ListFilters,
      page: PageRequest,
    ): Promise<FoundPage<User>> {
      const merchantId = merchantOf(caller);
      if (merchantId !== undefined && entityId !== undefined && entityId !== merchantId) {
        return { items: [] };
      }
      const filters = {
        entityId: merchantId ?? entityId,
        username,
        status: status === undefined ? undefined : statuses[status],
      };
      const read = { ...page, limit: page.limit + 1 };
      const rows = await accounts.list(caller.organizationId, filters, read);
      const items = rows.slice(0, page.limit);
      const last = rows.length > page.limit ? items.at(-1) : undefined;
      return { items, next: last?.username.toLowerCase() };
    },

    /** The mail with the link to the first password goes out with the same commit. */
    async create(asked: Asked, input: UserInput): Promise<User> {
      const { caller } = asked;
      const place = await placeOf(caller, input);
      const { email, username, groups = [] } = input;
      demandGroups(caller, groups);
      return accounts.invite(
        {
          ...profileOf(input, email, groups),
          ...place,
          username,
          organizationId: caller.organizationId,
          userDomainId: caller.realm,
          // Raised by the environment where a second factor is needed.
          secondFactor: 'Off',
        },
        telling(asked, 'created'),
      );
    },

    replace: (asked: Asked, userId: string, input: UserReplacement): Promise<User> =>
      accounts.change(
        asked.caller.organizationId,
        userId,
        (standing) => {
          refuseChanged(input, standing, asked.caller.realm);
          const { email = standing.email, groups = standing.groups } = input;
          demandGroups(asked.caller, groups);
          return profileOf(input, email, groups);
        },
        upon(asked, 'updated'),
      ),

    setStatus: (asked: Asked, userId: string, status: keyof typeof statuses): Promise<User> =>
      accounts.setStatus(
        asked.caller.organizationId,
        userId,
        statuses[status],
        upon(asked, status),
      ),

    sendPasswordLink: (asked: Asked, userId: string): Promise<User> =>
      accounts.sendPasswordLink(
        asked.caller.organizationId,
        userId,
        upon(asked, 'passwordLinkSent'),
      ),

    /** Of somebody else: whoever lost his own phone asks a colleague. */
    resetSecondFactor(asked: Asked, userId: string): Promise<User> {
      if (asked.caller.userId === userId) {
        refuse('permission_denied', 'Your own second factor is changed on your account page.');
      }
      return accounts.resetSecondFactor(
        asked.caller.organizationId,
        userId,
        upon(asked, 'secondFactorReset'),
      );
    },
  };
}
