// Creates, lists, updates, activates and deactivates users within the scope and permissions of the caller.
import {
  defined,
  throwProblem,
  type UserInput,
  type UserReplacement,
  type UserView,
} from '@switchyard/contract';
import { type AuditRecorder, actorOf } from '../audit/index.ts';
import {
  type Caller,
  type FoundPage,
  merchantOf,
  type PageRequest,
  readPage,
  requireVersion,
  type Versioned,
} from '../http/index.ts';
import type {
  Accounts,
  TransactionHook,
  User,
  UserChangeHooks,
  UserProfile,
} from '../identity/index.ts';
import { isoTime } from '../platform/index.ts';
import { findForbiddenGroup } from './group-assignment-rules.ts';

export type UserManagementDependencies = {
  readonly accounts: Pick<
    Accounts,
    | 'find'
    | 'invite'
    | 'list'
    | 'updateProfile'
    | 'setStatus'
    | 'sendPasswordLink'
    | 'resetSecondFactor'
  >;
  readonly audit: Pick<AuditRecorder, 'record'>;
  /** Rejects if the organisation has no such merchant. */
  requireMerchant(organizationId: string, merchantId: string): Promise<void>;
};

/** The caller, the request ID and the version that the caller expects. */
export type UserRequestContext = {
  readonly caller: Caller;
  readonly id: string;
  readonly ifMatch?: string | undefined;
};

export type UserListFilters = {
  readonly entityId?: string | undefined;
  readonly username?: string | undefined;
  readonly status?: 'activated' | 'deactivated' | undefined;
};

export type UserManagement = ReturnType<typeof createUserManagement>;

/** Members that an update cannot change; a client may send them back unchanged. */
function readOnlyMembers(user: User, userDomainId: string) {
  return {
    userId: user.userId,
    userDomainId,
    organizationId: user.organizationId,
    username: user.username,
    entityId: user.entityId,
    scope: user.scopeEntityId,
    emailVerified: user.emailVerified,
    pendingEmail: user.pendingEmail,
    status: user.status === 'Enabled' ? ('activated' as const) : ('deactivated' as const),
    secondFactor: user.secondFactor,
    createdAt: isoTime(user.createdAt),
    updatedAt: isoTime(user.updatedAt),
  };
}

/** Omits members without a value. */
function toUserView(user: User, userDomainId: string): UserView {
  const { email, givenName, familyName, phoneNumber, address, locale } = user;
  const { zoneinfo, datetimeFormat } = user;
  const members = {
    ...readOnlyMembers(user, userDomainId),
    email,
    givenName,
    familyName,
    phoneNumber,
    address,
    locale,
    zoneinfo,
    datetimeFormat,
    groups: [...user.groups],
  };
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as UserView;
}

const statusByName = { activated: 'Enabled', deactivated: 'Disabled' } as const;

function canSee(caller: Caller, user: User): boolean {
  const merchantId = merchantOf(caller);
  return merchantId === undefined || user.entityId === merchantId;
}

function throwUserNotFound(): never {
  return throwProblem('resource_not_found', 'No user that you may see has this identifier.');
}

function requireManageableGroups({ permissions }: Caller, groups: readonly string[]): void {
  if (findForbiddenGroup(groups, permissions) === undefined) return;
  throwProblem(
    'permission_denied',
    'You may not assign or change a group of this user, because it has permissions that you do not have.',
  );
}

function throwFieldError(
  member: string,
  code: 'field_read_only' | 'entity_mismatch',
  detail: string,
) {
  const error = { pointer: `/${member}`, code, detail };
  return throwProblem(code, `${member} ${detail}.`, { errors: [error] });
}

/** Throws for the first read-only member whose value differs from the current one. */
function requireReadOnlyUnchanged(input: object, user: User, userDomainId: string): void {
  const members = input as Readonly<Record<string, unknown>>;
  for (const [member, value] of Object.entries(readOnlyMembers(user, userDomainId))) {
    if (!(member in members) || members[member] === value) continue;
    throwFieldError(member, 'field_read_only', 'is read-only');
  }
}

function profileOf(
  input: Partial<UserProfile>,
  email: string,
  groups: readonly string[],
): UserProfile {
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

export function createUserManagement({
  accounts,
  audit,
  requireMerchant,
}: UserManagementDependencies) {
  const auditChange =
    ({ caller, id }: UserRequestContext, action: string): TransactionHook =>
    async (trx, { before, after }) => {
      const { organizationId, entityType, entityId, userId } = after;
      await audit.record(trx, {
        ...actorOf(caller, id),
        organizationId,
        action: `user.${action}`,
        entity: {
          type: 'user',
          id: userId,
          ...(entityType === 'merchant' ? { merchantId: entityId } : {}),
        },
        ...defined({ before: before === undefined ? undefined : toUserView(before, caller.realm) }),
        after: toUserView(after, caller.realm),
      });
    };

  /** Throws if the caller may not change the user, and writes the audit record. */
  const changeHooks = (request: UserRequestContext, action: string): UserChangeHooks => ({
    check: (user) => requireManageable(request, user),
    inTransaction: auditChange(request, action),
  });

  function requireManageable({ caller, ifMatch }: UserRequestContext, user: User): void {
    if (!canSee(caller, user)) throwUserNotFound();
    requireManageableGroups(caller, user.groups);
    requireVersion(ifMatch, user.version);
  }

  /** The scope must be the entity or below it; both must belong to the organisation. */
  async function resolveEntity(caller: Caller, { entityId, scope }: UserInput) {
    const { organizationId } = caller;
    const merchantId = merchantOf(caller);
    const levelOf = (id: string) => (id === organizationId ? 'tenant' : 'merchant');
    if (merchantId !== undefined && entityId !== merchantId) {
      throwProblem('merchant_not_found', 'No merchant that you may see has this identifier.');
    }
    const entityType = levelOf(entityId);
    const scopeEntityType = levelOf(scope);
    if (entityType === 'merchant') {
      await requireMerchant(organizationId, entityId);
      if (scope !== entityId) throwFieldError('scope', 'entity_mismatch', 'is not within entityId');
    } else if (scopeEntityType === 'merchant') {
      await requireMerchant(organizationId, scope);
    }
    return { entityType, entityId, scopeEntityType, scopeEntityId: scope } as const;
  }

  async function find(caller: Caller, userId: string): Promise<User> {
    const user = await accounts.find(caller.organizationId, userId);
    return user !== undefined && canSee(caller, user) ? user : throwUserNotFound();
  }

  const toVersioned = (user: User, { realm }: Caller): Versioned<UserView> => ({
    view: toUserView(user, realm),
    version: user.version,
  });

  return {
    find,

    get: async (caller: Caller, userId: string): Promise<Versioned<UserView>> =>
      toVersioned(await find(caller, userId), caller),

    /** The user, if the caller may change it. */
    async getManageable(caller: Caller, userId: string): Promise<User> {
      const user = await find(caller, userId);
      requireManageableGroups(caller, user.groups);
      return user;
    },

    async list(
      caller: Caller,
      { entityId, username, status }: UserListFilters,
      page: PageRequest,
    ): Promise<FoundPage<UserView>> {
      const merchantId = merchantOf(caller);
      if (merchantId !== undefined && entityId !== undefined && entityId !== merchantId) {
        return { items: [] };
      }
      const filters = {
        entityId: merchantId ?? entityId,
        username,
        status: status === undefined ? undefined : statusByName[status],
      };
      return readPage(
        page,
        (read) => accounts.list(caller.organizationId, filters, read),
        (user) => user.username.toLowerCase(),
        (user) => toUserView(user, caller.realm),
      );
    },

    /** Enqueues the email with the link to set the first password in the same transaction. */
    async create(request: UserRequestContext, input: UserInput): Promise<Versioned<UserView>> {
      const { caller } = request;
      const entity = await resolveEntity(caller, input);
      const { email, username, groups = [] } = input;
      requireManageableGroups(caller, groups);
      const newUser = {
        ...profileOf(input, email, groups),
        ...entity,
        username,
        organizationId: caller.organizationId,
        userDomainId: caller.realm,
        // Accounts changes it to `Required` if the environment requires a second factor.
        secondFactor: 'Off' as const,
      };
      return toVersioned(await accounts.invite(newUser, auditChange(request, 'created')), caller);
    },

    async replace(
      request: UserRequestContext,
      userId: string,
      input: UserReplacement,
    ): Promise<Versioned<UserView>> {
      const { caller } = request;
      const buildProfile = (user: User): UserProfile => {
        requireReadOnlyUnchanged(input, user, caller.realm);
        const { email = user.email, groups = user.groups } = input;
        requireManageableGroups(caller, groups);
        return profileOf(input, email, groups);
      };
      const hooks = changeHooks(request, 'updated');
      const user = await accounts.updateProfile(caller.organizationId, userId, buildProfile, hooks);
      return toVersioned(user, caller);
    },

    async setStatus(
      request: UserRequestContext,
      userId: string,
      status: keyof typeof statusByName,
    ): Promise<Versioned<UserView>> {
      const { caller } = request;
      const hooks = changeHooks(request, status);
      const newStatus = statusByName[status];
      const user = await accounts.setStatus(caller.organizationId, userId, newStatus, hooks);
      return toVersioned(user, caller);
    },

    async sendPasswordLink(
      request: UserRequestContext,
      userId: string,
    ): Promise<Versioned<UserView>> {
      const { caller } = request;
      const hooks = changeHooks(request, 'passwordLinkSent');
      const user = await accounts.sendPasswordLink(caller.organizationId, userId, hooks);
      return toVersioned(user, caller);
    },

    /** Only for other users: after the loss of the phone, another administrator resets the second factor. */
    async resetSecondFactor(
      request: UserRequestContext,
      userId: string,
    ): Promise<Versioned<UserView>> {
      const { caller } = request;
      if (caller.userId === userId) {
        throwProblem(
          'permission_denied',
          'You cannot reset your own second factor here. Change it on your account page.',
        );
      }
      const hooks = changeHooks(request, 'secondFactorReset');
      const user = await accounts.resetSecondFactor(caller.organizationId, userId, hooks);
      return toVersioned(user, caller);
    },
  };
}
