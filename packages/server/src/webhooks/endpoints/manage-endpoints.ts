// Creates, changes, verifies and deletes webhook endpoints, and rotates their keys.
import {
  isEventPattern,
  throwProblem,
  type WebhookEndpoint,
  type WebhookEndpointInput,
  type WebhookEndpointReplacement,
  type WebhookSecret,
} from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { AuditRecorder, Author } from '../../audit/index.ts';
import { type FoundPage, type PageRequest, requireVersion } from '../../http/index.ts';
import {
  type Clock,
  type Database,
  type Ids,
  isoTime,
  listOlderKeysAfterRotation,
  type OutgoingCalls,
} from '../../platform/index.ts';
import type { Challenge } from './endpoint-challenge.ts';
import { type EndpointKeys, overlapMs } from './endpoint-keys.ts';
import {
  changeEndpoint,
  deleteEndpoint,
  disableEndpoint,
  type EndpointChange,
  type EndpointRow,
  type EndpointScope,
  enableEndpoint,
  findEndpoint,
  insertEndpoint,
  type LaneFacts,
  listEndpoints,
  type Run,
  replaceKeys,
  runIn,
  runOn,
  verifiedEndpoint,
} from './endpoint-sql.ts';
import { auditedEndpoint, auditedEntity, endpointView } from './endpoint-view.ts';

/** Limits, because each endpoint adds work to every event. */
const organizationEndpointsMax = 50;
const merchantEndpointsMax = 10;

/** The endpoints that a request may manage, and the author of the change. */
export type By = EndpointScope & { readonly author: Author };

type Versioned = { readonly view: WebhookEndpoint; readonly version: number };

export type Endpoints = {
  create(by: By, input: WebhookEndpointInput): Promise<Versioned & { readonly secret: string }>;
  list(scope: EndpointScope, page: PageRequest): Promise<FoundPage<WebhookEndpoint>>;
  get(scope: EndpointScope, endpointId: string): Promise<Versioned>;
  replace(
    by: By,
    endpointId: string,
    input: WebhookEndpointReplacement,
    ifMatch?: string,
  ): Promise<Versioned>;
  remove(by: By, endpointId: string, ifMatch?: string): Promise<void>;
  renewSecret(by: By, endpointId: string): Promise<WebhookSecret>;
  /**
   * Sends the challenge. An endpoint that answers it becomes verified, and enabled if only the
   * verification was missing.
   */
  verify(by: By, endpointId: string): Promise<Versioned>;
};

export type EndpointsDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: AuditRecorder;
  readonly calls: Pick<OutgoingCalls, 'findAddressFault'>;
  readonly keys: EndpointKeys;
  readonly challenge: Challenge;
  demandMerchant(organizationId: string, merchantId: string): Promise<void>;
  /** Orders the later deletion of the endpoint's deliveries. */
  forget(organizationId: string, endpointId: string, trx: Kysely<unknown>): Promise<void>;
  /** Notifies the dispatcher of a change. */
  onChange(organizationId: string, endpointId: string): void;
};

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function refuseUnknownEndpoint(): never {
  return throwProblem('endpoint_not_found', 'No endpoint in your scope has this identifier.');
}

function refuseMember(pointer: string, detail: string): never {
  return throwProblem('field_invalid', `${pointer.slice(1)} ${detail}.`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

function demandUnchanged(input: WebhookEndpointReplacement, standing: WebhookEndpoint): void {
  const given = input as Readonly<Record<string, unknown>>;
  // Writable members, and members that change by themselves during an edit.
  const free = ['url', 'eventTypes', 'merchantId', 'description', 'status', 'health'];
  const facts = standing as unknown as Readonly<Record<string, unknown>>;
  for (const [member, value] of Object.entries(given)) {
    if (free.includes(member) || value === facts[member]) continue;
    throwProblem('field_read_only', `${member} is read-only.`, {
      errors: [{ pointer: `/${member}`, code: 'field_read_only', detail: 'is read-only' }],
    });
  }
}

/** An endpoint of a merchant gets only the events of that merchant. */
function changeOf(
  input: Pick<WebhookEndpointInput, 'url' | 'eventTypes' | 'merchantId' | 'description'>,
  owner: string | null,
): EndpointChange {
  const { url, eventTypes, merchantId, description = null } = input;
  if (owner !== null && merchantId !== undefined && merchantId.toLowerCase() !== owner) {
    refuseMember('/merchantId', 'is not the merchant that owns the endpoint');
  }
  return { url, eventTypes, merchantId: owner ?? merchantId ?? null, description };
}

/** @example const endpoints = createEndpoints(deps); await endpoints.create(by, { url, eventTypes: ['*'] }); */
export function createEndpoints(deps: EndpointsDeps): Endpoints {
  const { database, clock, ids, audit, keys, challenge, onChange } = deps;
  const shown = (row: EndpointRow & Partial<LaneFacts>): Versioned => ({
    view: endpointView(row, clock.now()),
    version: row.version,
  });

  async function demandValid(
    { organizationId, merchantId: own }: EndpointScope,
    {
      url,
      eventTypes,
      merchantId,
    }: Pick<WebhookEndpointInput, 'url' | 'eventTypes' | 'merchantId'>,
  ): Promise<void> {
    const fault = await deps.calls.findAddressFault(url);
    if (fault !== undefined) refuseMember('/url', fault);
    eventTypes.forEach((pattern, index) => {
      if (!isEventPattern(pattern)) refuseMember(`/eventTypes/${index}`, 'names no type of event');
    });
    if (merchantId === undefined) return;
    if (own === undefined) await deps.demandMerchant(organizationId, merchantId);
    else if (merchantId.toLowerCase() !== own) {
      throwProblem('merchant_not_found', 'No merchant in your scope has this identifier.');
    }
  }

  async function demand(run: Run, scope: EndpointScope, endpointId: string) {
    const row = uuid.test(endpointId)
      ? await findEndpoint(run, scope, endpointId, 'FOR UPDATE OF e')
      : undefined;
    return row ?? refuseUnknownEndpoint();
  }

  /**
   * Makes one change of an endpoint with its audit record, and reads the row again for the answer.
   */
  async function changing(
    by: By,
    endpointId: string,
    action: string,
    change: (run: Run, row: EndpointRow, now: string) => Promise<void>,
  ): Promise<Versioned> {
    const after = await database.transaction(async (trx) => {
      const run = runIn(trx);
      const before = await demand(run, by, endpointId);
      await change(run, before, isoTime(clock.now()));
      const row = await demand(run, by, endpointId);
      await audit.record(trx, {
        organizationId: by.organizationId,
        ...by.author,
        action,
        entity: auditedEntity(row),
        before: auditedEndpoint(before),
        after: auditedEndpoint(row),
      });
      return row;
    });
    onChange(after.organization_id, after.endpoint_id);
    return shown(after);
  }

  return {
    async create(by, input) {
      const { organizationId, merchantId: ownerMerchantId = null } = by;
      await demandValid(by, input);
      const most = ownerMerchantId === null ? organizationEndpointsMax : merchantEndpointsMax;
      const endpointId = ids.uuid();
      const { sealed, secret, publicKey } = keys.make(endpointId);
      const stopped = input.status === 'Disabled' ? 'Requested' : null;
      const row = await database.transaction(async (trx) => {
        const made = await insertEndpoint(
          runIn(trx),
          {
            organizationId,
            endpointId,
            ...changeOf(input, ownerMerchantId),
            ownerMerchantId,
            sealed,
            publicKey,
            disabledReason: input.challenge === true ? 'Unverified' : stopped,
            now: isoTime(clock.now()),
          },
          most,
        );
        if (made === undefined) {
          const owner = ownerMerchantId === null ? 'organisation' : 'merchant';
          return throwProblem(
            'endpoint_limit_reached',
            `The ${owner} has ${most} endpoints, which is the limit. Delete one first.`,
          );
        }
        await audit.record(trx, {
          organizationId,
          ...by.author,
          action: 'endpoint.created',
          entity: auditedEntity(made),
          after: auditedEndpoint(made),
        });
        return made;
      });
      return { ...shown(row), secret };
    },

    async list(scope, page) {
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listEndpoints(runOn(database), scope, read);
      const items = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? items.at(-1)?.endpoint_id : undefined;
      return { items: items.map((row) => shown(row).view), next };
    },

    async get(scope, endpointId) {
      const row = uuid.test(endpointId)
        ? await findEndpoint(runOn(database), scope, endpointId)
        : undefined;
      return row === undefined ? refuseUnknownEndpoint() : shown(row);
    },

    async replace(by, endpointId, input, ifMatch) {
      const { organizationId } = by;
      await demandValid(by, input);
      return changing(by, endpointId, 'endpoint.updated', async (run, row, now) => {
        requireVersion(ifMatch, row.version);
        demandUnchanged(input, endpointView(row, clock.now()));
        await changeEndpoint(run, row, changeOf(input, row.owner_merchant_id), now);
        if (input.status === 'Disabled') {
          const key = { organizationId, endpointId: row.endpoint_id };
          await disableEndpoint(run, key, 'Requested', now);
        } else if (row.status === 'Disabled') {
          if (row.disabled_reason === 'Unverified') {
            throwProblem(
              'endpoint_state',
              'The endpoint has to answer its challenge first: …/verify.',
            );
          }
          await enableEndpoint(run, row, now);
        }
      });
    },

    async remove(by, endpointId, ifMatch) {
      const { organizationId } = by;
      await database.transaction(async (trx) => {
        const run = runIn(trx);
        const row = await demand(run, by, endpointId);
        requireVersion(ifMatch, row.version);
        await deleteEndpoint(run, row);
        await deps.forget(organizationId, row.endpoint_id, trx);
        await audit.record(trx, {
          organizationId,
          ...by.author,
          action: 'endpoint.deleted',
          entity: auditedEntity(row),
          before: auditedEndpoint(row),
        });
      });
      onChange(organizationId, endpointId.toLowerCase());
    },

    async renewSecret(by, endpointId) {
      const made = keys.make(endpointId.toLowerCase());
      const until = isoTime(clock.now() + overlapMs);
      const { view } = await changing(
        by,
        endpointId,
        'endpoint.secret_renewed',
        (run, row, now) => {
          const older = listOlderKeysAfterRotation(row, clock.now());
          return replaceKeys(run, row, { ...made, until, older }, now);
        },
      );
      const { secret, publicKey } = made;
      return { endpointId: view.endpointId, secret, publicKey, previousUntil: until };
    },

    async verify(by, endpointId) {
      const row = uuid.test(endpointId)
        ? await findEndpoint(runOn(database), by, endpointId)
        : undefined;
      if (row === undefined) return refuseUnknownEndpoint();
      const fault = await challenge.ask(row);
      if (fault !== undefined) throwProblem('endpoint_unverified', `The endpoint ${fault}.`);
      return changing(by, endpointId, 'endpoint.verified', async (run, current, now) => {
        // The old URL answered the challenge; the new one needs its own challenge.
        if (current.url !== row.url)
          throwProblem('endpoint_state', 'The address changed meanwhile.');
        await verifiedEndpoint(run, current, now);
        if (current.disabled_reason === 'Unverified') await enableEndpoint(run, current, now);
      });
    },
  };
}
