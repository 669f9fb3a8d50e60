// Registers, lists, changes and removes applications, within what the caller may see and give.
import {
  type ApplicationInput,
  type ApplicationReplacement,
  type FieldError,
  isErrorCode,
  type RoleName,
  refuse,
  roleNamed,
} from '@switchyard/contract';
import {
  type Caller,
  demandVersion,
  type FoundPage,
  type PageRequest,
} from '../../../http/index.ts';
import type { Clock, Ids } from '../../../platform/index.ts';
import type { AuditContext, RecordChange } from '../../infrastructure/audit-port.ts';
import { hashSecret } from '../../infrastructure/secret-hash.ts';
import type { Application, ApplicationRecord, ApplicationWithLastUse } from '../application.ts';
import { applicationChangeRecorder } from '../application-audit.ts';
import type { ApplicationLastUsed } from '../application-last-used.ts';
import type { ApplicationFilters, ApplicationStore } from '../application-sql.ts';
import type { Applications } from '../applications.ts';
import { isDeviceClientId } from '../device-client.ts';
import { isPosClientId } from '../pos-clients.ts';
import {
  type ApplicationDraft,
  draftFaults,
  draftFromInput,
  findForbiddenRole,
  hasPaymentRights,
  roleScopeFaults,
  statusAfter,
} from './rules.ts';

/** Provisioning's: each refuses what the organisation does not have. */
export type LocationChecks = {
  requireMerchant(organizationId: string, merchantId: string): Promise<void>;
  findMerchantOfStore(organizationId: string, storeId: string): Promise<string>;
};

export type ManagementDeps = {
  readonly store: ApplicationStore;
  readonly applications: Applications;
  readonly lastUsed: Pick<ApplicationLastUsed, 'find'>;
  readonly locationChecks: LocationChecks;
  readonly clock: Clock;
  readonly ids: Ids;
  /** In the demo and in tests pages may come from this machine without TLS. */
  readonly allowsLoopback: boolean;
  readonly recordChange: RecordChange;
};

export type ApplicationManagement = ReturnType<typeof createApplicationManagement>;
type ListFilters = Omit<ApplicationFilters, 'storeId'>;

/** A replacement may name these again, with the values that they have. */
type ReadOnlyMembers = Readonly<Record<string, unknown>>;

/** A caller of a merchant or a store has to do with what is the merchant's or the store's alone. */
function isVisibleTo(caller: Caller, { entityId, storeId }: Application): boolean {
  if (caller.entityType === 'tenant') return true;
  if (entityId !== caller.entityId) return false;
  return caller.storeId === undefined || storeId === caller.storeId;
}

function throwNotFound(): never {
  return refuse('resource_not_found', 'No application in your scope has this client id.');
}

function requireValid(faults: readonly FieldError[]): void {
  const [first] = faults;
  if (first === undefined) return;
  const code = isErrorCode(first.code) ? first.code : 'field_invalid';
  const detail = faults.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`).join(' ');
  refuse(code, detail, { errors: faults });
}

function requireUnchanged(input: ReadOnlyMembers, current: ReadOnlyMembers): void {
  const changed = Object.keys(current).filter(
    (member) => member in input && input[member] !== current[member],
  );
  requireValid(
    changed.map((member) => ({
      pointer: `/${member}`,
      code: 'field_read_only',
      detail: 'is read-only',
    })),
  );
}

function requireGrantableRoles(caller: Caller, roles: readonly RoleName[]): void {
  const forbiddenRole = findForbiddenRole(roles, caller.permissions);
  if (forbiddenRole === undefined) return;
  refuse('permission_denied', `The role ${forbiddenRole} is beyond what you may give or change.`);
}

/** A new secret is a token with rights to payments: a caller without the right to approve the application cannot renew it. */
function requireSecretRotationRight(caller: Caller, { roles, status }: Application): void {
  if (caller.permissions.has('um.write')) return;
  if (status === 'PendingApproval' || !hasPaymentRights(roles)) return;
  refuse(
    'permission_denied',
    'The application has rights to payments. A user with the permission um.write renews its secret.',
  );
}

/** The devices of a merchant stop where this application is changed: developers leave it alone. */
function requireDeviceRights(caller: Caller, { clientId }: Application): void {
  if (!isDeviceClientId(clientId) || caller.permissions.has('um.write')) return;
  refuse(
    'permission_denied',
    'The devices of a merchant act as this application. A user with the permission um.write changes it.',
  );
}

/** Whoever made it first would say what the devices of the merchant may do. */
function requireUnreservedClientId({ clientId = '' }: ApplicationInput): void {
  if (!isDeviceClientId(clientId) && !isPosClientId(clientId)) return;
  const detail = 'is a name that the platform gives to devices and points of sale';
  requireValid([{ pointer: '/clientId', code: 'field_invalid', detail }]);
}

/** A client id is never given again: the devices of the merchant would be without one for ever. */
function requireRemovable({ clientId }: Application): void {
  if (!isDeviceClientId(clientId)) return;
  refuse(
    'permission_denied',
    'The devices of a merchant act as this application. It can be disabled, and not be deleted.',
  );
}

/** Two doors to one thing would contradict each other: what is disabled there would sell again here. */
function requireNotPosClient({ clientId }: Application): void {
  if (!isPosClientId(clientId)) return;
  refuse(
    'permission_denied',
    'The application belongs to a point of sale. Change it at /provisioning/v2/points-of-sale.',
  );
}

/** The platform alone makes an application wait; a replacement may repeat that it does. */
function requireSettableStatus({ status }: ApplicationDraft, current: Application): void {
  if (status !== 'PendingApproval' || current.status === 'PendingApproval') return;
  const detail = 'can be Enabled or Disabled; the platform alone sets PendingApproval';
  requireValid([{ pointer: '/status', code: 'field_invalid', detail }]);
}

function rolesOf({ roles }: ApplicationDraft): RoleName[] {
  const knownRoles = roles.map((name) => roleNamed(name)).filter((name) => name !== undefined);
  return [...new Set(knownRoles)];
}

export function createApplicationManagement(deps: ManagementDeps) {
  const {
    store,
    applications,
    lastUsed,
    locationChecks,
    clock,
    ids,
    allowsLoopback,
    recordChange,
  } = deps;

  function checkedDraft(
    caller: Caller,
    input: ApplicationInput | ApplicationReplacement,
    isPublic: boolean,
  ): ApplicationDraft {
    const draft = draftFromInput(input, isPublic);
    requireValid(draftFaults(draft, allowsLoopback));
    requireGrantableRoles(caller, rolesOf(draft));
    return draft;
  }

  async function withLastUse(
    { organizationId }: Caller,
    records: readonly ApplicationRecord[],
  ): Promise<ApplicationWithLastUse[]> {
    if (records.length === 0) return [];
    const clientIds = records.map(({ clientId }) => clientId);
    const lastUses = await lastUsed.find(organizationId, clientIds);
    return records.map((record) => ({ ...record, lastUsedAt: lastUses.get(record.clientId) }));
  }

  /** Left out, the entity is the caller's; a store belongs to the merchant that is named. */
  async function findEntity(caller: Caller, input: ApplicationInput) {
    const { organizationId } = caller;
    const entityId = input.entityId ?? caller.entityId;
    const storeId = input.storeId ?? caller.storeId;
    const entityType = entityId === organizationId ? 'tenant' : 'merchant';
    if (caller.entityType === 'merchant' && entityId !== caller.entityId) {
      refuse('merchant_not_found', 'No merchant in your scope has this identifier.');
    }
    if (entityType === 'merchant') await locationChecks.requireMerchant(organizationId, entityId);
    if (storeId !== undefined) {
      if (caller.storeId !== undefined && storeId !== caller.storeId) {
        refuse('store_not_found', 'No store in your scope has this identifier.');
      }
      if ((await locationChecks.findMerchantOfStore(organizationId, storeId)) !== entityId) {
        const detail = 'is not a store of the merchant that entityId names';
        requireValid([{ pointer: '/storeId', code: 'entity_mismatch', detail }]);
      }
    }
    return { entityType, entityId, storeId } as const;
  }

  /** Changes one that the caller sees, holds every right of, and has not been changed meanwhile. */
  const change = (
    context: AuditContext,
    clientId: string,
    ifMatch: string | undefined,
    update: (current: ApplicationRecord) => Application,
    action = 'updated',
  ): Promise<ApplicationRecord> => {
    const checkedUpdate = (current: ApplicationRecord) => {
      requireChangeable(context.caller, current, ifMatch);
      return update(current);
    };
    return changeStored(context, clientId, checkedUpdate, action);
  };

  async function changeStored(
    context: AuditContext,
    clientId: string,
    checkedUpdate: (current: ApplicationRecord) => Application,
    action: string,
  ): Promise<ApplicationRecord> {
    const { organizationId } = context.caller;
    const recordApplicationChange = applicationChangeRecorder(recordChange, action, context);
    const changed = await store.change(
      organizationId,
      clientId,
      clock.now(),
      checkedUpdate,
      recordApplicationChange,
    );
    if (changed === undefined) return throwNotFound();
    applications.invalidate(organizationId, clientId);
    return changed;
  }

  function requireChangeable(caller: Caller, current: ApplicationRecord, ifMatch?: string): void {
    if (!isVisibleTo(caller, current)) throwNotFound();
    requireNotPosClient(current);
    requireDeviceRights(caller, current);
    requireGrantableRoles(caller, current.roles);
    demandVersion(ifMatch, current.version);
  }

  return {
    async create(
      context: AuditContext,
      input: ApplicationInput,
    ): Promise<{ record: ApplicationRecord; clientSecret: string | undefined }> {
      const { caller } = context;
      requireUnreservedClientId(input);
      const draft = checkedDraft(caller, input, input.clientType === 'Public');
      const location = await findEntity(caller, input);
      requireValid(roleScopeFaults(draft.roles, location));
      const newApplication = {
        ...draft,
        ...location,
        status: statusAfter(caller.permissions, { ...draft, roles: rolesOf(draft) }),
        organizationId: caller.organizationId,
        clientId: input.clientId,
      };
      const clientSecret = draft.isPublic ? undefined : ids.secret();
      const record = await applications.insert(
        newApplication,
        clientSecret === undefined ? undefined : hashSecret(clientSecret),
        context,
      );
      return { record, clientSecret };
    },

    async list(
      caller: Caller,
      filters: ListFilters,
      page: PageRequest,
    ): Promise<FoundPage<ApplicationWithLastUse>> {
      const isMerchant = caller.entityType === 'merchant';
      const isOtherEntity = filters.entityId !== undefined && filters.entityId !== caller.entityId;
      if (isMerchant && isOtherEntity) return { items: [] };
      const scopeFilters = isMerchant ? { entityId: caller.entityId, storeId: caller.storeId } : {};
      const rows = await store.list(
        caller.organizationId,
        { ...filters, ...scopeFilters },
        { ...page, limit: page.limit + 1 },
      );
      const items = await withLastUse(caller, rows.slice(0, page.limit));
      return { items, next: rows.length > page.limit ? items.at(-1)?.clientId : undefined };
    },

    async get(caller: Caller, clientId: string): Promise<ApplicationWithLastUse> {
      const record = await store.find(caller.organizationId, clientId);
      if (record === undefined || !isVisibleTo(caller, record)) return throwNotFound();
      const [withUse = record] = await withLastUse(caller, [record]);
      return withUse;
    },

    async replace(
      context: AuditContext,
      clientId: string,
      input: ApplicationReplacement,
      readOnlyMembers: (record: ApplicationRecord) => ReadOnlyMembers,
      ifMatch: string | undefined,
    ): Promise<ApplicationWithLastUse> {
      const replaced = await change(context, clientId, ifMatch, (current) => {
        requireUnchanged(input, readOnlyMembers(current));
        const { caller } = context;
        const draft = checkedDraft(caller, input, current.secretHash === undefined);
        requireValid(roleScopeFaults(draft.roles, current));
        requireSettableStatus(draft, current);
        const replaced = { ...current, ...draft, roles: rolesOf(draft) };
        return { ...replaced, status: statusAfter(caller.permissions, replaced, current) };
      });
      const [withUse = replaced] = await withLastUse(context.caller, [replaced]);
      return withUse;
    },

    /** The approver gives no role away, and so need not hold what the roles bring. */
    async approve(
      context: AuditContext,
      clientId: string,
      ifMatch: string | undefined,
    ): Promise<ApplicationWithLastUse> {
      const withApproval = (current: ApplicationRecord): Application => {
        if (!isVisibleTo(context.caller, current)) throwNotFound();
        demandVersion(ifMatch, current.version);
        if (current.status !== 'PendingApproval') {
          refuse('application_state', `The status of the application is ${current.status}.`);
        }
        return { ...current, status: 'Enabled' };
      };
      const record = await changeStored(context, clientId, withApproval, 'approved');
      const [withUse = record] = await withLastUse(context.caller, [record]);
      return withUse;
    },

    /** The old secret is dead from here on; tokens that were issued live on. */
    async rotateSecret(context: AuditContext, clientId: string): Promise<string> {
      const clientSecret = ids.secret();
      const withNewSecret = (current: ApplicationRecord) => {
        if (current.secretHash === undefined) {
          refuse('resource_not_found', 'A public application has no secret.');
        }
        requireSecretRotationRight(context.caller, current);
        return { ...current, secretHash: hashSecret(clientSecret) };
      };
      await change(context, clientId, undefined, withNewSecret, 'secretRenewed');
      return clientSecret;
    },

    async remove(
      context: AuditContext,
      clientId: string,
      ifMatch: string | undefined,
    ): Promise<void> {
      const { caller } = context;
      const { organizationId } = caller;
      const check = (current: ApplicationRecord) => {
        requireChangeable(caller, current, ifMatch);
        requireRemovable(current);
      };
      const recordApplicationChange = applicationChangeRecorder(recordChange, 'removed', context);
      const removed = await store.remove(
        organizationId,
        clientId,
        clock.now(),
        check,
        recordApplicationChange,
      );
      if (removed === undefined) throwNotFound();
      applications.invalidate(organizationId, clientId);
    },
  };
}
