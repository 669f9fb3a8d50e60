// Reads and resends deliveries, and sends test events to an endpoint.
import {
  defined,
  isEventType,
  throwProblem,
  type WebhookDelivery,
  type WebhookDeliveryDetail,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, readPage } from '../../http/index.ts';
import {
  type Clock,
  type Database,
  type DueClock,
  type Ids,
  isoTime,
  isUuid,
  withUnknownOutcome,
} from '../../platform/index.ts';
import { findEndpoint, type ManagedEndpoints } from '../endpoints/endpoint-sql.ts';
import { throwEndpointNotFound } from '../endpoints/manage-endpoints.ts';
import {
  type DeliveryFilters,
  type DeliveryRecord,
  findDelivery,
  listDeliveries,
  restartDelivery,
} from './delivery-log-sql.ts';
import { deliveryIdOf } from './plan-deliveries.ts';
import { type EndpointKey, insertDeliveries } from './send-deliveries-sql.ts';

export type DeliveryOperations = {
  list(
    scope: ManagedEndpoints,
    filters: DeliveryFilters,
    page: PageRequest,
  ): Promise<FoundPage<WebhookDelivery>>;
  get(scope: ManagedEndpoints, deliveryId: string): Promise<WebhookDeliveryDetail>;
  resend(scope: ManagedEndpoints, deliveryId: string): Promise<WebhookDelivery>;
  test(scope: ManagedEndpoints, endpointId: string, type?: string): Promise<WebhookDelivery>;
};

export type DeliveryOperationsDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly dueClock: Pick<DueClock, 'fromDue'>;
  readonly ids: Ids;
  /** Sends the pending deliveries of the endpoint at once, because a client waits for one. */
  sendNow(key: EndpointKey): Promise<void>;
};

function throwDeliveryNotFound(): never {
  return throwProblem('delivery_not_found', 'No delivery that you may see has this identifier.');
}

/** @param fromDue converts a due time to the process clock */
function toDeliveryView(row: DeliveryRecord, fromDue: (dueAt: number) => number): WebhookDelivery {
  const lastAttempt = row.log.at(-1);
  return {
    deliveryId: row.deliveryId,
    endpointId: row.endpointId,
    eventId: row.eventId,
    type: row.type,
    status: row.status,
    attempts: row.attempts,
    ...defined({
      position: row.position,
      nextAttemptAt: row.status === 'Pending' ? isoTime(fromDue(row.dueAt)) : undefined,
      lastAttempt,
    }),
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
  };
}

/** @example const deliveries = createDeliveryOperations({ database, clock, dueClock, ids, sendNow }); */
export function createDeliveryOperations(deps: DeliveryOperationsDeps): DeliveryOperations {
  const { database, clock, dueClock, ids, sendNow } = deps;
  const toView = (row: DeliveryRecord): WebhookDelivery => toDeliveryView(row, dueClock.fromDue);
  const toDetail = (row: DeliveryRecord): WebhookDeliveryDetail => ({
    ...toView(row),
    ...defined({ body: row.body }),
    log: row.log,
  });

  async function requireEnabledEndpoint(
    scope: ManagedEndpoints,
    endpointId: string,
  ): Promise<string> {
    const row = isUuid(endpointId) ? await findEndpoint(database, scope, endpointId) : undefined;
    if (row === undefined) return throwEndpointNotFound();
    if (row.status !== 'Enabled') {
      throwProblem('endpoint_state', 'The endpoint is disabled; enable it first.');
    }
    return row.endpointId;
  }

  async function requireDelivery(
    scope: ManagedEndpoints,
    deliveryId: string,
  ): Promise<DeliveryRecord> {
    const row = isUuid(deliveryId) ? await findDelivery(database, scope, deliveryId) : undefined;
    return row ?? throwDeliveryNotFound();
  }

  const sendNowAndRead = ({ organizationId, endpointId }: EndpointKey, deliveryId: string) =>
    withUnknownOutcome(async () => {
      await sendNow({ organizationId, endpointId });
      return toView(await requireDelivery({ organizationId }, deliveryId));
    });

  return {
    list: (scope, filters, page) =>
      readPage(
        page,
        (read) => listDeliveries(database, scope, filters, read),
        ({ deliveryId }) => deliveryId,
        toView,
      ),

    get: async (scope, deliveryId) => toDetail(await requireDelivery(scope, deliveryId)),

    async resend(scope, deliveryId) {
      const { organizationId } = scope;
      const row = await requireDelivery(scope, deliveryId);
      const endpoint = await findEndpoint(database, scope, row.endpointId);
      if (endpoint === undefined) throwProblem('delivery_state', 'The endpoint was deleted.');
      await requireEnabledEndpoint(scope, row.endpointId);
      if (row.body === undefined) throwProblem('delivery_state', 'The event is no longer stored.');
      const now = isoTime(clock.now());
      await restartDelivery(database, organizationId, row.deliveryId, now);
      return sendNowAndRead({ organizationId, endpointId: row.endpointId }, row.deliveryId);
    },

    async test(scope, endpointIdText, type = 'endpoint.test') {
      if (!isEventType(type)) {
        const detail = 'is not an event type';
        throwProblem('field_invalid', `type ${detail}.`, {
          errors: [{ pointer: '/type', code: 'field_invalid', detail }],
        });
      }
      const { organizationId } = scope;
      const endpointId = await requireEnabledEndpoint(scope, endpointIdText);
      const eventId = ids.uuid();
      const deliveryId = deliveryIdOf(eventId, endpointId);
      const data = { organizationId, endpointId, message: 'A test event.', test: true };
      const timestamp = isoTime(clock.now());
      const body = JSON.stringify({ type, timestamp, data: { ...data, sequence: 1 } });
      const row = { organizationId, deliveryId, endpointId, eventId, type, position: null, body };
      await database.transaction((trx) => insertDeliveries(trx, [row], timestamp));
      return sendNowAndRead({ organizationId, endpointId }, deliveryId);
    },
  };
}
