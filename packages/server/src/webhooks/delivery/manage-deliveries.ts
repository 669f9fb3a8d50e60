// Reads and resends deliveries, and sends test events to an endpoint.
import {
  defined,
  isEventType,
  throwProblem,
  type WebhookDelivery,
  type WebhookDeliveryDetail,
} from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import {
  type Clock,
  type Database,
  type DueClock,
  type Ids,
  isoTime,
  isUuid,
  withUnknownOutcome,
} from '../../platform/index.ts';
import { type EndpointScope, findEndpoint } from '../endpoints/endpoint-sql.ts';
import { throwEndpointNotFound } from '../endpoints/manage-endpoints.ts';
import {
  type DeliveryFilters,
  type DeliveryRow,
  findDelivery,
  listDeliveries,
  restartDelivery,
} from './delivery-log-sql.ts';
import { deliveryIdOf } from './plan-deliveries.ts';
import { type EndpointKey, insertDeliveries } from './send-deliveries-sql.ts';

export type DeliveryOperations = {
  list(
    scope: EndpointScope,
    filters: DeliveryFilters,
    page: PageRequest,
  ): Promise<FoundPage<WebhookDelivery>>;
  get(scope: EndpointScope, deliveryId: string): Promise<WebhookDeliveryDetail>;
  resend(scope: EndpointScope, deliveryId: string): Promise<WebhookDelivery>;
  test(scope: EndpointScope, endpointId: string, type?: string): Promise<WebhookDelivery>;
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
function toDeliveryView(row: DeliveryRow, fromDue: (dueAt: number) => number): WebhookDelivery {
  const lastAttempt = row.log.at(-1);
  return {
    deliveryId: row.delivery_id,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    type: row.type,
    ...(row.position === null ? {} : { position: row.position }),
    status: row.status,
    attempts: row.attempts,
    ...(row.status === 'Pending' ? { nextAttemptAt: isoTime(fromDue(row.due_at.getTime())) } : {}),
    ...defined({ lastAttempt }),
    createdAt: isoTime(row.created_at.getTime()),
    updatedAt: isoTime(row.updated_at.getTime()),
  };
}

/** @example const deliveries = createDeliveryOperations({ database, clock, dueClock, ids, sendNow }); */
export function createDeliveryOperations(deps: DeliveryOperationsDeps): DeliveryOperations {
  const { database, clock, dueClock, ids, sendNow } = deps;
  const toView = (row: DeliveryRow): WebhookDelivery => toDeliveryView(row, dueClock.fromDue);
  const toDetail = (row: DeliveryRow): WebhookDeliveryDetail => ({
    ...toView(row),
    ...(row.body === null ? {} : { body: row.body }),
    log: row.log,
  });

  async function requireEnabledEndpoint(scope: EndpointScope, endpointId: string): Promise<string> {
    const row = isUuid(endpointId) ? await findEndpoint(database, scope, endpointId) : undefined;
    if (row === undefined) return throwEndpointNotFound();
    if (row.status !== 'Enabled') {
      throwProblem('endpoint_state', 'The endpoint is disabled; enable it first.');
    }
    return row.endpoint_id;
  }

  async function requireDelivery(scope: EndpointScope, deliveryId: string): Promise<DeliveryRow> {
    const row = isUuid(deliveryId) ? await findDelivery(database, scope, deliveryId) : undefined;
    return row ?? throwDeliveryNotFound();
  }

  const sendNowAndRead = ({ organizationId, endpointId }: EndpointKey, deliveryId: string) =>
    withUnknownOutcome(async () => {
      await sendNow({ organizationId, endpointId });
      return toView(await requireDelivery({ organizationId }, deliveryId));
    });

  return {
    async list(scope, filters, page) {
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listDeliveries(database, scope, filters, read);
      const items = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? items.at(-1)?.delivery_id : undefined;
      return { items: items.map(toView), next };
    },

    get: async (scope, deliveryId) => toDetail(await requireDelivery(scope, deliveryId)),

    async resend(scope, deliveryId) {
      const { organizationId } = scope;
      const row = await requireDelivery(scope, deliveryId);
      const endpoint = await findEndpoint(database, scope, row.endpoint_id);
      if (endpoint === undefined) throwProblem('delivery_state', 'The endpoint was deleted.');
      await requireEnabledEndpoint(scope, row.endpoint_id);
      if (row.body === null) throwProblem('delivery_state', 'The event is no longer stored.');
      const now = isoTime(clock.now());
      await restartDelivery(database, organizationId, row.delivery_id, now);
      return sendNowAndRead({ organizationId, endpointId: row.endpoint_id }, row.delivery_id);
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
