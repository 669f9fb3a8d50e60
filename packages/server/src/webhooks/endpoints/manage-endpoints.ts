// Creates, changes, verifies and deletes webhook endpoints, and rotates their keys.
import {
  isEventPattern,
  throwProblem,
  type WebhookEndpoint,
  type WebhookEndpointInput,
  type WebhookEndpointReplacement,
  type WebhookSecret,
} from '@switchyard/contract';
import type { AuditRecorder, Author } from '../../audit/index.ts';
import {
  type FoundPage,
  type PageRequest,
  readPage,
  requireVersion,
  type Versioned,
} from '../../http/index.ts';
import {
  type Clock,
  type Database,
  type Ids,
  isoTime,
  isUuid,
  listOlderKeysAfterRotation,
  type OutgoingCalls,
  type Queries,
} from '../../platform/index.ts';
import type { EndpointChallenge } from './endpoint-challenge.ts';
import { type EndpointKeys, rotationOverlapMs } from './endpoint-keys.ts';
import {
  deleteEndpoint,
  disableEndpoint,
  type EndpointChange,
  type EndpointHealth,
  type EndpointRecord,
  enableEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  type ManagedEndpoints,
  markVerified,
  replaceEndpointKeys,
  updateEndpoint,
} from './endpoint-sql.ts';
import { auditEntityOf, toAuditView, toEndpointView } from './endpoint-view.ts';

/** Limits, because each endpoint adds work to every event. */
const organizationEndpointsMax = 50;
const merchantEndpointsMax = 10;

/** The endpoints that a request may manage, and the author of the change. */
export type EndpointCaller = ManagedEndpoints & { readonly author: Author };

type VersionedEndpoint = Versioned<WebhookEndpoint>;

export type Endpoints = {
  create(
    caller: EndpointCaller,
    input: WebhookEndpointInput,
  ): Promise<VersionedEndpoint & { readonly secret: string }>;
  list(scope: ManagedEndpoints, page: PageRequest): Promise<FoundPage<WebhookEndpoint>>;
  get(scope: ManagedEndpoints, endpointId: string): Promise<VersionedEndpoint>;
  replace(
    caller: EndpointCaller,
    endpointId: string,
    input: WebhookEndpointReplacement,
    ifMatch?: string,
  ): Promise<VersionedEndpoint>;
  remove(caller: EndpointCaller, endpointId: string, ifMatch?: string): Promise<void>;
  rotateSecret(caller: EndpointCaller, endpointId: string): Promise<WebhookSecret>;
  /**
   * Sends the challenge. An endpoint that answers it becomes verified, and enabled if only the
   * verification was missing.
   */
  verify(caller: EndpointCaller, endpointId: string): Promise<VersionedEndpoint>;
};

export type EndpointsDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: AuditRecorder;
  readonly calls: Pick<OutgoingCalls, 'findAddressFault'>;
  readonly keys: EndpointKeys;
  readonly challenge: EndpointChallenge;
  requireMerchant(organizationId: string, merchantId: string): Promise<void>;
  /** Orders the later deletion of the endpoint's deliveries. */
  enqueueDeliveryDeletion(organizationId: string, endpointId: string, trx: Queries): Promise<void>;
  /** Notifies the dispatcher of a change. */
  onChange(organizationId: string, endpointId: string): void;
};

export function throwEndpointNotFound(): never {
  return throwProblem('endpoint_not_found', 'No endpoint that you may see has this identifier.');
}

function throwFieldProblem(pointer: string, detail: string): never {
  return throwProblem('field_invalid', `${pointer.slice(1)} ${detail}.`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

function requireUnchanged(input: WebhookEndpointReplacement, current: WebhookEndpoint): void {
  const members = input as Readonly<Record<string, unknown>>;
  // Writable members, and members that change by themselves during an edit.
  const writableMembers = ['url', 'eventTypes', 'merchantId', 'description', 'status', 'health'];
  const currentMembers = current as unknown as Readonly<Record<string, unknown>>;
  for (const [member, value] of Object.entries(members)) {
    if (writableMembers.includes(member) || value === currentMembers[member]) continue;
    throwProblem('field_read_only', `${member} is read-only.`, {
      errors: [{ pointer: `/${member}`, code: 'field_read_only', detail: 'is read-only' }],
    });
  }
}

/** An endpoint of a merchant gets only the events of that merchant. */
function toEndpointChange(
  input: Pick<WebhookEndpointInput, 'url' | 'eventTypes' | 'merchantId' | 'description'>,
  owner: string | undefined,
): EndpointChange {
  const { url, eventTypes, merchantId, description = null } = input;
  if (owner !== undefined && merchantId !== undefined && merchantId.toLowerCase() !== owner) {
    throwFieldProblem('/merchantId', 'is not the merchant that owns the endpoint');
  }
  return { url, eventTypes, merchantId: owner ?? merchantId ?? null, description };
}

/** @example const endpoints = createEndpoints(deps); await endpoints.create(caller, { url, eventTypes: ['*'] }); */
export function createEndpoints(deps: EndpointsDeps): Endpoints {
  const { database, clock, ids, audit, keys, challenge, onChange } = deps;
  const toVersioned = (row: EndpointRecord & Partial<EndpointHealth>): VersionedEndpoint => ({
    view: toEndpointView(row, clock.now()),
    version: row.version,
  });

  async function requireValidInput(
    { organizationId, merchantId: own }: ManagedEndpoints,
    {
      url,
      eventTypes,
      merchantId,
    }: Pick<WebhookEndpointInput, 'url' | 'eventTypes' | 'merchantId'>,
  ): Promise<void> {
    const fault = await deps.calls.findAddressFault(url);
    if (fault !== undefined) throwFieldProblem('/url', fault);
    eventTypes.forEach((pattern, index) => {
      if (!isEventPattern(pattern))
        throwFieldProblem(`/eventTypes/${index}`, 'is not an event type');
    });
    if (merchantId === undefined) return;
    if (own === undefined) await deps.requireMerchant(organizationId, merchantId);
    else if (merchantId.toLowerCase() !== own) {
      throwProblem('merchant_not_found', 'No merchant that you may see has this identifier.');
    }
  }

  async function lockEndpoint(queries: Queries, scope: ManagedEndpoints, endpointId: string) {
    const row = isUuid(endpointId)
      ? await findEndpoint(queries, scope, endpointId, 'FOR UPDATE OF e')
      : undefined;
    return row ?? throwEndpointNotFound();
  }

  /**
   * Makes one change of an endpoint with its audit record, and reads the row again for the answer.
   */
  async function changeWithAudit(
    caller: EndpointCaller,
    endpointId: string,
    action: string,
    change: (queries: Queries, row: EndpointRecord, now: string) => Promise<void>,
  ): Promise<VersionedEndpoint> {
    const after = await database.transaction(async (trx) => {
      const before = await lockEndpoint(trx, caller, endpointId);
      await change(trx, before, isoTime(clock.now()));
      const row = await lockEndpoint(trx, caller, endpointId);
      await audit.record(trx, {
        organizationId: caller.organizationId,
        ...caller.author,
        action,
        entity: auditEntityOf(row),
        before: toAuditView(before),
        after: toAuditView(row),
      });
      return row;
    });
    onChange(after.organizationId, after.endpointId);
    return toVersioned(after);
  }

  return {
    async create(caller, input) {
      const { organizationId, merchantId: owner } = caller;
      await requireValidInput(caller, input);
      const most = owner === undefined ? organizationEndpointsMax : merchantEndpointsMax;
      const endpointId = ids.uuid();
      const { sealed, secret, publicKey } = keys.make(endpointId);
      const stopped = input.status === 'Disabled' ? 'Requested' : null;
      const row = await database.transaction(async (trx) => {
        const made = await insertEndpoint(
          trx,
          {
            organizationId,
            endpointId,
            ...toEndpointChange(input, owner),
            ownerMerchantId: owner ?? null,
            sealed,
            publicKey,
            disabledReason: input.challenge === true ? 'Unverified' : stopped,
            now: isoTime(clock.now()),
          },
          most,
        );
        if (made === undefined) {
          const ownerNoun = owner === undefined ? 'organisation' : 'merchant';
          return throwProblem(
            'endpoint_limit_reached',
            `The ${ownerNoun} has ${most} endpoints, which is the limit. Delete one first.`,
          );
        }
        await audit.record(trx, {
          organizationId,
          ...caller.author,
          action: 'endpoint.created',
          entity: auditEntityOf(made),
          after: toAuditView(made),
        });
        return made;
      });
      return { ...toVersioned(row), secret };
    },

    list: (scope, page) =>
      readPage(
        page,
        (read) => listEndpoints(database, scope, read),
        ({ endpointId }) => endpointId,
        (row) => toVersioned(row).view,
      ),

    async get(scope, endpointId) {
      const row = isUuid(endpointId) ? await findEndpoint(database, scope, endpointId) : undefined;
      return row === undefined ? throwEndpointNotFound() : toVersioned(row);
    },

    async replace(caller, endpointId, input, ifMatch) {
      const { organizationId } = caller;
      await requireValidInput(caller, input);
      return changeWithAudit(caller, endpointId, 'endpoint.updated', async (queries, row, now) => {
        requireVersion(ifMatch, row.version);
        requireUnchanged(input, toEndpointView(row, clock.now()));
        await updateEndpoint(queries, row, toEndpointChange(input, row.ownerMerchantId), now);
        if (input.status === 'Disabled') {
          const key = { organizationId, endpointId: row.endpointId };
          await disableEndpoint(queries, key, 'Requested', now);
        } else if (row.status === 'Disabled') {
          if (row.disabledReason === 'Unverified') {
            throwProblem(
              'endpoint_state',
              'The endpoint must answer its challenge first; call …/verify.',
            );
          }
          await enableEndpoint(queries, row, now);
        }
      });
    },

    async remove(caller, endpointId, ifMatch) {
      const { organizationId } = caller;
      await database.transaction(async (trx) => {
        const row = await lockEndpoint(trx, caller, endpointId);
        requireVersion(ifMatch, row.version);
        await deleteEndpoint(trx, row);
        await deps.enqueueDeliveryDeletion(organizationId, row.endpointId, trx);
        await audit.record(trx, {
          organizationId,
          ...caller.author,
          action: 'endpoint.deleted',
          entity: auditEntityOf(row),
          before: toAuditView(row),
        });
      });
      onChange(organizationId, endpointId.toLowerCase());
    },

    async rotateSecret(caller, endpointId) {
      const made = keys.make(endpointId.toLowerCase());
      const until = isoTime(clock.now() + rotationOverlapMs);
      const { view } = await changeWithAudit(
        caller,
        endpointId,
        'endpoint.secret_renewed',
        (queries, row, now) => {
          const older = listOlderKeysAfterRotation(row, clock.now());
          return replaceEndpointKeys(queries, row, { ...made, until, older }, now);
        },
      );
      const { secret, publicKey } = made;
      return { endpointId: view.endpointId, secret, publicKey, previousUntil: until };
    },

    async verify(caller, endpointId) {
      const row = isUuid(endpointId) ? await findEndpoint(database, caller, endpointId) : undefined;
      if (row === undefined) return throwEndpointNotFound();
      const fault = await challenge.findFault(row);
      if (fault !== undefined) throwProblem('endpoint_unverified', `The endpoint ${fault}.`);
      return changeWithAudit(
        caller,
        endpointId,
        'endpoint.verified',
        async (queries, current, now) => {
          // The old URL answered the challenge; the new one needs its own challenge.
          if (current.url !== row.url)
            throwProblem(
              'endpoint_state',
              'The URL changed during the verification; verify the endpoint again.',
            );
          await markVerified(queries, current, now);
          if (current.disabledReason === 'Unverified') await enableEndpoint(queries, current, now);
        },
      );
    },
  };
}
