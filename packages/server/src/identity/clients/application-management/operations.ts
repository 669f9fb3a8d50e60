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
import type { Asked, RecordChange } from '../../infrastructure/audit-port.ts';
import { hashSecret } from '../../infrastructure/secret-hash.ts';
import type { Application, ApplicationRecord, UsedApplication } from '../application.ts';
import { telling } from '../application-audit.ts';
import type { ApplicationUses } from '../application-last-used.ts';
import type { ApplicationFilters, ApplicationStore } from '../application-sql.ts';
import type { Applications } from '../applications.ts';
import { isDeviceClientId } from '../device-client.ts';
import { isTillClientId } from '../pos-clients.ts';
import {
  actsOnPayments,
  type Draft,
  draftFaults,
  draftOf,
  placeFaults,
  roleBeyond,
  statusAfter,
} from './rules.ts';

/** Provisioning's: each refuses what the organisation does not have. */
export type Places = {
  demandMerchant(organizationId: string, merchantId: string): Promise<void>;
  merchantOfStore(organizationId: string, storeId: string): Promise<string>;
};

export type ManagementDeps = {
  readonly store: ApplicationStore;
  readonly applications: Applications;
  readonly uses: Pick<ApplicationUses, 'of'>;
  readonly places: Places;
  readonly clock: Clock;
  readonly ids: Ids;
  /** In the demo and in tests pages may come from this machine without TLS. */
  readonly allowsLoopback: boolean;
  readonly recordChange: RecordChange;
};

export type ApplicationManagement = ReturnType<typeof createApplicationManagement>;
type ListFilters = Omit<ApplicationFilters, 'storeId'>;

/** A replacement may name these again, with the values that they have. */
type Echo = Readonly<Record<string, unknown>>;

/** A caller of a merchant or a store has to do with what is the merchant's or the store's alone. */
function sees(caller: Caller, { entityId, storeId }: Application): boolean {
  if (caller.entityType === 'tenant') return true;
  if (entityId !== caller.entityId) return false;
  return caller.storeId === undefined || storeId === caller.storeId;
}

function refuseUnknown(): never {
  return refuse('resource_not_found', 'No application in your scope has this client id.');
}

function refuseFaults(faults: readonly FieldError[]): void {
  const [first] = faults;
  if (first === undefined) return;
  const code = isErrorCode(first.code) ? first.code : 'field_invalid';
  const detail = faults.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`).join(' ');
  refuse(code, detail, { errors: faults });
}

function refuseChanged(input: Echo, standing: Echo): void {
  const changed = Object.keys(standing).filter(
    (member) => member in input && input[member] !== standing[member],
  );
  refuseFaults(
    changed.map((member) => ({
      pointer: `/${member}`,
      code: 'field_read_only',
      detail: 'is read-only',
    })),
  );
}

function demandRoles(caller: Caller, roles: readonly RoleName[]): void {
  const beyond = roleBeyond(roles, caller.permissions);
  if (beyond === undefined) return;
  refuse('permission_denied', `The role ${beyond} is beyond what you may give or change.`);
}

/** A new secret is a token with rights to payments: a caller without the right to approve the application cannot renew it. */
function demandSecretRenewable(caller: Caller, { roles, status }: Application): void {
  if (caller.permissions.has('um.write')) return;
  if (status === 'PendingApproval' || !actsOnPayments(roles)) return;
  refuse(
    'permission_denied',
    'The application has rights to payments. A user with the permission um.write renews its secret.',
  );
}

/** The devices of a merchant stop where this application is changed: developers leave it alone. */
function demandDeviceRights(caller: Caller, { clientId }: Application): void {
  if (!isDeviceClientId(clientId) || caller.permissions.has('um.write')) return;
  refuse(
    'permission_denied',
    'The devices of a merchant act as this application. A user with the permission um.write changes it.',
  );
}

/** Whoever made it first would say what the devices of the merchant may do. */
function demandFreeName({ clientId = '' }: ApplicationInput): void {
  if (!isDeviceClientId(clientId) && !isTillClientId(clientId)) return;
  const detail = 'is a name that the platform gives to devices and points of sale';
  refuseFaults([{ pointer: '/clientId', code: 'field_invalid', detail }]);
}

/** A client id is never given again: the devices of the merchant would be without one for ever. */
function demandRemovable({ clientId }: Application): void {
  if (!isDeviceClientId(clientId)) return;
  refuse(
    'permission_denied',
    'The devices of a merchant act as this application. It can be disabled, and not be deleted.',
  );
}

/** Two doors to one thing would contradict each other: what is disabled there would sell again here. */
function demandOwnDoor({ clientId }: Application): void {
  if (!isTillClientId(clientId)) return;
  refuse(
    'permission_denied',
    'The application belongs to a point of sale. Change it at /provisioning/v2/points-of-sale.',
  );
}

/** The platform alone makes an application wait; a replacement may repeat that it does. */
function demandOwnStatus({ status }: Draft, standing: Application): void {
  if (status !== 'PendingApproval' || standing.status === 'PendingApproval') return;
  const detail = 'can be Enabled or Disabled; the platform alone sets PendingApproval';
  refuseFaults([{ pointer: '/status', code: 'field_invalid', detail }]);
}

function rolesOf({ roles }: Draft): RoleName[] {
  const known = roles.map((name) => roleNamed(name)).filter((name) => name !== undefined);
  return [...new Set(known)];
}

export function createApplicationManagement(deps: ManagementDeps) {
  const { store, applications, uses, places, clock, ids, allowsLoopback, recordChange } = deps;

  function checked(
    caller: Caller,
    input: ApplicationInput | ApplicationReplacement,
    isPublic: boolean,
  ): Draft {
    const draft = draftOf(input, isPublic);
    refuseFaults(draftFaults(draft, allowsLoopback));
    demandRoles(caller, rolesOf(draft));
    return draft;
  }

  async function withUses(
    { organizationId }: Caller,
    records: readonly ApplicationRecord[],
  ): Promise<UsedApplication[]> {
    if (records.length === 0) return [];
    const clientIds = records.map(({ clientId }) => clientId);
    const used = await uses.of(organizationId, clientIds);
    return records.map((record) => ({ ...record, lastUsedAt: used.get(record.clientId) }));
  }

  /** Left out, the entity is the caller's; a store belongs to the merchant that is named. */
  async function entityOf(caller: Caller, input: ApplicationInput) {
    const { organizationId } = caller;
    const entityId = input.entityId ?? caller.entityId;
    const storeId = input.storeId ?? caller.storeId;
    const entityType = entityId === organizationId ? 'tenant' : 'merchant';
    if (caller.entityType === 'merchant' && entityId !== caller.entityId) {
      refuse('merchant_not_found', 'No merchant in your scope has this identifier.');
    }
    if (entityType === 'merchant') await places.demandMerchant(organizationId, entityId);
    if (storeId !== undefined) {
      if (caller.storeId !== undefined && storeId !== caller.storeId) {
        refuse('store_not_found', 'No store in your scope has this identifier.');
      }
      if ((await places.merchantOfStore(organizationId, storeId)) !== entityId) {
        const detail = 'is not a store of the merchant that entityId names';
        refuseFaults([{ pointer: '/storeId', code: 'entity_mismatch', detail }]);
      }
    }
    return { entityType, entityId, storeId } as const;
  }

  /** Changes one that the caller sees, holds every right of, and has not been changed meanwhile. */
  const change = (
    asked: Asked,
    clientId: string,
    ifMatch: string | undefined,
    by: (standing: ApplicationRecord) => Application,
    done = 'updated',
  ): Promise<ApplicationRecord> => {
    const checkedBy = (standing: ApplicationRecord) => {
      demandStanding(asked.caller, standing, ifMatch);
      return by(standing);
    };
    return changeStored(asked, clientId, checkedBy, done);
  };

  async function changeStored(
    asked: Asked,
    clientId: string,
    checkedBy: (standing: ApplicationRecord) => Application,
    done: string,
  ): Promise<ApplicationRecord> {
    const { organizationId } = asked.caller;
    const told = telling(recordChange, done, asked);
    const changed = await store.change(organizationId, clientId, clock.now(), checkedBy, told);
    if (changed === undefined) return refuseUnknown();
    applications.changed(organizationId, clientId);
    return changed;
  }

  function demandStanding(caller: Caller, standing: ApplicationRecord, ifMatch?: string): void {
    if (!sees(caller, standing)) refuseUnknown();
    demandOwnDoor(standing);
    demandDeviceRights(caller, standing);
    demandRoles(caller, standing.roles);
    demandVersion(ifMatch, standing.version);
  }

  return {
    async create(
      asked: Asked,
      input: ApplicationInput,
    ): Promise<{ record: ApplicationRecord; clientSecret: string | undefined }> {
      const { caller } = asked;
      demandFreeName(input);
      const draft = checked(caller, input, input.clientType === 'Public');
      const place = await entityOf(caller, input);
      refuseFaults(placeFaults(draft.roles, place));
      const wanted = {
        ...draft,
        ...place,
        status: statusAfter(caller.permissions, { ...draft, roles: rolesOf(draft) }),
        organizationId: caller.organizationId,
        clientId: input.clientId,
      };
      const clientSecret = draft.isPublic ? undefined : ids.secret();
      const record = await applications.insert(
        wanted,
        clientSecret === undefined ? undefined : hashSecret(clientSecret),
        asked,
      );
      return { record, clientSecret };
    },

    async list(
      caller: Caller,
      filters: ListFilters,
      page: PageRequest,
    ): Promise<FoundPage<UsedApplication>> {
      const isMerchant = caller.entityType === 'merchant';
      const elsewhere = filters.entityId !== undefined && filters.entityId !== caller.entityId;
      if (isMerchant && elsewhere) return { items: [] };
      const within = isMerchant ? { entityId: caller.entityId, storeId: caller.storeId } : {};
      const rows = await store.list(
        caller.organizationId,
        { ...filters, ...within },
        { ...page, limit: page.limit + 1 },
      );
      const items = await withUses(caller, rows.slice(0, page.limit));
      return { items, next: rows.length > page.limit ? items.at(-1)?.clientId : undefined };
    },

    async get(caller: Caller, clientId: string): Promise<UsedApplication> {
      const record = await store.find(caller.organizationId, clientId);
      if (record === undefined || !sees(caller, record)) return refuseUnknown();
      const [used = record] = await withUses(caller, [record]);
      return used;
    },

    async replace(
      asked: Asked,
      clientId: string,
      input: ApplicationReplacement,
      echo: (record: ApplicationRecord) => Echo,
      ifMatch: string | undefined,
    ): Promise<UsedApplication> {
      const replaced = await change(asked, clientId, ifMatch, (standing) => {
        refuseChanged(input, echo(standing));
        const { caller } = asked;
        const draft = checked(caller, input, standing.secretHash === undefined);
        refuseFaults(placeFaults(draft.roles, standing));
        demandOwnStatus(draft, standing);
        const replaced = { ...standing, ...draft, roles: rolesOf(draft) };
        return { ...replaced, status: statusAfter(caller.permissions, replaced, standing) };
      });
      const [used = replaced] = await withUses(asked.caller, [replaced]);
      return used;
    },

    /** The approver gives no role away, and so need not hold what the roles bring. */
    async approve(
      asked: Asked,
      clientId: string,
      ifMatch: string | undefined,
    ): Promise<UsedApplication> {
      const approved = (standing: ApplicationRecord): Application => {
        if (!sees(asked.caller, standing)) refuseUnknown();
        demandVersion(ifMatch, standing.version);
        if (standing.status !== 'PendingApproval') {
          refuse('application_state', `The status of the application is ${standing.status}.`);
        }
        return { ...standing, status: 'Enabled' };
      };
      const record = await changeStored(asked, clientId, approved, 'approved');
      const [used = record] = await withUses(asked.caller, [record]);
      return used;
    },

    /** The old secret is dead from here on; tokens that were issued live on. */
    async renewSecret(asked: Asked, clientId: string): Promise<string> {
      const clientSecret = ids.secret();
      const renewed = (standing: ApplicationRecord) => {
        if (standing.secretHash === undefined) {
          refuse('resource_not_found', 'A public application has no secret.');
        }
        demandSecretRenewable(asked.caller, standing);
        return { ...standing, secretHash: hashSecret(clientSecret) };
      };
      await change(asked, clientId, undefined, renewed, 'secretRenewed');
      return clientSecret;
    },

    async remove(asked: Asked, clientId: string, ifMatch: string | undefined): Promise<void> {
      const { caller } = asked;
      const { organizationId } = caller;
      const check = (standing: ApplicationRecord) => {
        demandStanding(caller, standing, ifMatch);
        demandRemovable(standing);
      };
      const told = telling(recordChange, 'removed', asked);
      const gone = await store.remove(organizationId, clientId, clock.now(), check, told);
      if (gone === undefined) refuseUnknown();
      applications.changed(organizationId, clientId);
    },
  };
}
