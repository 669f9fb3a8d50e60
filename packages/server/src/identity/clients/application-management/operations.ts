// Registers, lists, changes and removes applications, within the rights of the caller.
import {
  type ApplicationInput,
  type ApplicationReplacement,
  type Application as ApplicationView,
  defined,
  type FieldError,
  isErrorCode,
  type RegisteredApplication,
  type RoleName,
  roleNamed,
  throwProblem,
} from '@switchyard/contract';
import {
  type Caller,
  type FoundPage,
  type PageRequest,
  readPage,
  requireVersion,
  type Versioned,
} from '../../../http/index.ts';
import type { Clock, Ids } from '../../../platform/index.ts';
import type { AuditContext, RecordChange } from '../../infrastructure/audit-port.ts';
import { hashSecret } from '../../infrastructure/secret-hash.ts';
import { applicationChangeRecorder } from '../application-audit.ts';
import type { ApplicationLastUsed } from '../application-last-used.ts';
import type {
  Application,
  ApplicationRecord,
  ApplicationWithLastUse,
} from '../application-record.ts';
import type { ApplicationFilters, ApplicationStore } from '../application-sql.ts';
import type { Applications } from '../applications.ts';
import { isDeviceClientId } from '../device-client-rules.ts';
import { isPosClientId } from '../pos-clients.ts';
import {
  type ApplicationDraft,
  applicationStatusAfter,
  draftFaults,
  draftFromInput,
  findForbiddenRole,
  hasPaymentRights,
  roleScopeFaults,
} from './rules.ts';
import { applicationView } from './view.ts';

/** Ports of provisioning; each throws if the organisation has no such merchant or store. */
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
  /** Allows redirect URIs and origins on localhost without TLS, in the demo and in tests. */
  readonly allowsLoopback: boolean;
  readonly recordChange: RecordChange;
};

export type ApplicationManagement = ReturnType<typeof createApplicationManagement>;
type ListFilters = Omit<ApplicationFilters, 'storeId'>;

/** Members that a replacement may repeat with their current values. */
const readOnlyMembers = [
  'userDomainId',
  'clientId',
  'entityId',
  'storeId',
  'clientType',
  'organizationId',
  'createdAt',
  'updatedAt',
  'secretChangedAt',
] as const;

/** A caller of a merchant or a store sees only applications of that merchant or store. */
function isVisibleTo(caller: Caller, { entityId, storeId }: Application): boolean {
  if (caller.entityType === 'tenant') return true;
  if (entityId !== caller.entityId) return false;
  return caller.storeId === undefined || storeId === caller.storeId;
}

function throwNotFound(): never {
  return throwProblem('resource_not_found', 'No application that you may see has this client id.');
}

function requireValid(faults: readonly FieldError[]): void {
  const [first] = faults;
  if (first === undefined) return;
  const code = isErrorCode(first.code) ? first.code : 'field_invalid';
  const detail = faults.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`).join(' ');
  throwProblem(code, detail, { errors: faults });
}

function requireUnchanged(
  input: Readonly<Record<string, unknown>>,
  current: ApplicationView,
): void {
  const changed = readOnlyMembers.filter(
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
  throwProblem(
    'permission_denied',
    `The role ${forbiddenRole} has permissions that you may not assign or change.`,
  );
}

/**
 * A secret gives access to payments: a caller who cannot approve the application cannot rotate its
 * secret.
 */
function requireSecretRotationRight(caller: Caller, { roles, status }: Application): void {
  if (caller.permissions.has('um.write')) return;
  if (status === 'PendingApproval' || !hasPaymentRights(roles)) return;
  throwProblem(
    'permission_denied',
    'The application has rights to payments. Only a user with the permission um.write can rotate its secret.',
  );
}

/**
 * Changing this application can stop all devices of a merchant: callers without um.write may not.
 */
function requireDeviceRights(caller: Caller, { clientId }: Application): void {
  if (!isDeviceClientId(clientId) || caller.permissions.has('um.write')) return;
  throwProblem(
    'permission_denied',
    'The devices of a merchant act as this application. Only a user with the permission um.write can change it.',
  );
}

/**
 * A caller who registered this client id first would decide the rights of the merchant's devices.
 */
function requireUnreservedClientId({ clientId = '' }: ApplicationInput): void {
  if (!isDeviceClientId(clientId) && !isPosClientId(clientId)) return;
  const detail = 'is reserved for the clients of devices and points of sale';
  requireValid([{ pointer: '/clientId', code: 'field_invalid', detail }]);
}

/**
 * Client ids are never reused: without this client, the devices of the merchant could never get
 * tokens again.
 */
function requireRemovable({ clientId }: Application): void {
  if (!isDeviceClientId(clientId)) return;
  throwProblem(
    'permission_denied',
    'The devices of a merchant act as this application. It can be disabled, but not deleted.',
  );
}

/**
 * Only provisioning changes this client; otherwise a disabled point of sale could be enabled here.
 */
function requireNotPosClient({ clientId }: Application): void {
  if (!isPosClientId(clientId)) return;
  throwProblem(
    'permission_denied',
    'The application belongs to a point of sale. Change it at /provisioning/v2/points-of-sale.',
  );
}

/** Only the platform sets PendingApproval; a replacement may repeat it. */
function requireSettableStatus({ status }: ApplicationDraft, current: Application): void {
  if (status !== 'PendingApproval' || current.status === 'PendingApproval') return;
  const detail = 'can be Enabled or Disabled; only the platform sets PendingApproval';
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

  const toVersioned = (
    record: ApplicationWithLastUse,
    { realm }: Caller,
  ): Versioned<ApplicationView> => ({
    view: applicationView(record, realm),
    version: record.version,
  });

  async function toVersionedWithLastUse(record: ApplicationRecord, caller: Caller) {
    const [withUse = record] = await withLastUse(caller, [record]);
    return toVersioned(withUse, caller);
  }

  /** Default: the entity of the caller. A store must belong to the named merchant. */
  async function findEntity(caller: Caller, input: ApplicationInput) {
    const { organizationId } = caller;
    const entityId = input.entityId ?? caller.entityId;
    const storeId = input.storeId ?? caller.storeId;
    const entityType = entityId === organizationId ? 'tenant' : 'merchant';
    if (caller.entityType === 'merchant' && entityId !== caller.entityId) {
      throwProblem('merchant_not_found', 'No merchant that you may see has this identifier.');
    }
    if (entityType === 'merchant') await locationChecks.requireMerchant(organizationId, entityId);
    if (storeId !== undefined) {
      if (caller.storeId !== undefined && storeId !== caller.storeId) {
        throwProblem('store_not_found', 'No store that you may see has this identifier.');
      }
      if ((await locationChecks.findMerchantOfStore(organizationId, storeId)) !== entityId) {
        const detail = 'is not a store of the merchant in entityId';
        requireValid([{ pointer: '/storeId', code: 'entity_mismatch', detail }]);
      }
    }
    return { entityType, entityId, storeId } as const;
  }

  /**
   * Changes an application after the checks: visible, roles within the rights of the caller,
   * version unchanged.
   */
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
    requireVersion(ifMatch, current.version);
  }

  return {
    async create(
      context: AuditContext,
      input: ApplicationInput,
    ): Promise<Versioned<RegisteredApplication>> {
      const { caller } = context;
      requireUnreservedClientId(input);
      const draft = checkedDraft(caller, input, input.clientType === 'Public');
      const location = await findEntity(caller, input);
      requireValid(roleScopeFaults(draft.roles, location));
      const newApplication = {
        ...draft,
        ...location,
        status: applicationStatusAfter(caller.permissions, { ...draft, roles: rolesOf(draft) }),
        organizationId: caller.organizationId,
        clientId: input.clientId,
      };
      const clientSecret = draft.isPublic ? undefined : ids.secret();
      const record = await applications.insert(
        newApplication,
        clientSecret === undefined ? undefined : hashSecret(clientSecret),
        context,
      );
      const { view, version } = toVersioned(record, caller);
      return { view: { ...view, ...defined({ clientSecret }) }, version };
    },

    async list(
      caller: Caller,
      filters: ListFilters,
      page: PageRequest,
    ): Promise<FoundPage<ApplicationView>> {
      const isMerchant = caller.entityType === 'merchant';
      const isOtherEntity = filters.entityId !== undefined && filters.entityId !== caller.entityId;
      if (isMerchant && isOtherEntity) return { items: [] };
      const scopeFilters = isMerchant ? { entityId: caller.entityId, storeId: caller.storeId } : {};
      const { items, next } = await readPage(
        page,
        (read) => store.list(caller.organizationId, { ...filters, ...scopeFilters }, read),
        ({ clientId }) => clientId,
        (record) => record,
      );
      const records = await withLastUse(caller, items);
      return { items: records.map((record) => applicationView(record, caller.realm)), next };
    },

    async get(caller: Caller, clientId: string): Promise<Versioned<ApplicationView>> {
      const record = await store.find(caller.organizationId, clientId);
      if (record === undefined || !isVisibleTo(caller, record)) return throwNotFound();
      return toVersionedWithLastUse(record, caller);
    },

    async replace(
      context: AuditContext,
      clientId: string,
      input: ApplicationReplacement,
      ifMatch?: string,
    ): Promise<Versioned<ApplicationView>> {
      const { caller } = context;
      const replaced = await change(context, clientId, ifMatch, (current) => {
        requireUnchanged(input, applicationView(current, caller.realm));
        const draft = checkedDraft(caller, input, current.secretHash === undefined);
        requireValid(roleScopeFaults(draft.roles, current));
        requireSettableStatus(draft, current);
        const replaced = { ...current, ...draft, roles: rolesOf(draft) };
        return {
          ...replaced,
          status: applicationStatusAfter(caller.permissions, replaced, current),
        };
      });
      return toVersionedWithLastUse(replaced, caller);
    },

    /** The approver assigns no role, and so need not have the rights of its roles. */
    async approve(
      context: AuditContext,
      clientId: string,
      ifMatch?: string,
    ): Promise<Versioned<ApplicationView>> {
      const withApproval = (current: ApplicationRecord): Application => {
        if (!isVisibleTo(context.caller, current)) throwNotFound();
        requireVersion(ifMatch, current.version);
        if (current.status !== 'PendingApproval') {
          throwProblem('application_state', `The status of the application is ${current.status}.`);
        }
        return { ...current, status: 'Enabled' };
      };
      const record = await changeStored(context, clientId, withApproval, 'approved');
      return toVersionedWithLastUse(record, context.caller);
    },

    /** The old secret stops working at once; issued tokens stay valid. */
    async rotateSecret(context: AuditContext, clientId: string): Promise<string> {
      const clientSecret = ids.secret();
      const withNewSecret = (current: ApplicationRecord) => {
        if (current.secretHash === undefined) {
          throwProblem('resource_not_found', 'A public application has no secret.');
        }
        requireSecretRotationRight(context.caller, current);
        return { ...current, secretHash: hashSecret(clientSecret) };
      };
      await change(context, clientId, undefined, withNewSecret, 'secretRenewed');
      return clientSecret;
    },

    async remove(context: AuditContext, clientId: string, ifMatch?: string): Promise<void> {
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
