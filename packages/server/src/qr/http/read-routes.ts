// Registers the routes that read QR payments: one payment, the list and the events.
import {
  type QrEvent,
  QrEventList,
  QrTransactionList,
  QrTransactionWithEvents,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  type EventStreams,
  pageQuery,
  readStreamCursor,
  route,
  wantsEventStream,
} from '../../http/index.ts';
import { findPayment } from '../operations/find-payment.ts';
import { listPayments } from '../operations/list-payments.ts';
import { createPageReader, readAllEvents } from '../operations/read-event-pages.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { paymentTopic } from '../runtime/running-payments.ts';
import { viewWithEvents } from '../transaction/payment-views.ts';
import {
  MerchantQuery,
  merchantQueryMembers,
  qrBasePath,
  rateLimit,
  TransactionParams,
  tags,
  transactionErrors,
} from './qr-route-parts.ts';

/** The maximum of a PostgreSQL integer; no payment has so many events. */
const sequenceMax = 2_147_483_647;

const EventsQuery = Type.Object(
  {
    ...merchantQueryMembers,
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: sequenceMax,
        description: 'The last received sequence. Last-Event-ID has the same meaning.',
      }),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 30,
        description: 'Seconds to wait for a new event.',
      }),
    ),
  },
  { additionalProperties: false },
);

const ListQuery = Type.Object(
  {
    ...pageQuery,
    ...merchantQueryMembers,
    held: Type.Optional(
      Type.Boolean({
        description: 'true returns only payments under review, false only the others.',
      }),
    ),
  },
  { additionalProperties: false },
);

export function registerReadRoutes(
  app: FastifyInstance,
  deps: QrDeps,
  streams: EventStreams,
): void {
  route(app, {
    method: 'GET',
    url: qrBasePath,
    operationId: 'listQrPayments',
    summary: 'List the QR payments',
    tags,
    rateLimit,
    priority: 'list',
    permission: 'pay.read',
    query: ListQuery,
    response: { 200: QrTransactionList },
    errors: ['entity_out_of_scope', 'cursor_invalid', 'database_unavailable'],
    handler: async ({ caller, query }) => listPayments(deps, caller, query),
  });
  route(app, {
    method: 'GET',
    url: `${qrBasePath}/:qrTransactionId`,
    operationId: 'getQrPayment',
    summary: 'Get a QR payment with its events',
    tags,
    rateLimit,
    priority: 'last',
    permission: 'pay.read',
    params: TransactionParams,
    query: MerchantQuery,
    response: { 200: QrTransactionWithEvents },
    errors: transactionErrors,
    handler: async ({ caller, params, query }) => {
      const loaded = await findPayment(deps, caller, params.qrTransactionId, query.merchantId);
      return viewWithEvents(loaded, await readAllEvents(deps, loaded));
    },
  });
  registerEventsRoute(app, deps, streams);
}

function registerEventsRoute(app: FastifyInstance, deps: QrDeps, streams: EventStreams): void {
  route(app, {
    method: 'GET',
    url: `${qrBasePath}/:qrTransactionId/events`,
    operationId: 'listQrPaymentEvents',
    summary: 'List the events of a QR payment',
    description:
      'For the terminal of the payment. The server answers with JSON immediately, with JSON after a new event (`wait`), or with Server-Sent Events (`Accept: text/event-stream`). A stream ends with the payment; a later stream request gets 204.',
    tags,
    rateLimit,
    priority: 'last',
    permission: 'pay.read',
    params: TransactionParams,
    query: EventsQuery,
    headers: { 'last-event-id': 'The last received sequence.' },
    produces: ['application/json', 'text/event-stream'],
    response: { 200: QrEventList, 204: null },
    errors: [...transactionErrors, 'header_invalid', 'rate_limited', 'overloaded', 'shutting_down'],
    handler: async (request, reply) => {
      const { params, query } = request;
      const payment = await findPayment(
        ...([deps, request.caller, params.qrTransactionId, query.merchantId] as const),
      );
      const read = createPageReader(deps, request.caller, payment, query.merchantId);
      const topic = paymentTopic(payment.row);
      const after = Math.min(readStreamCursor(request, query.after), sequenceMax);
      if (wantsEventStream(request)) return streams.send(request, reply, { topic, after, read });
      const waitSeconds = query.wait ?? 0;
      const page = await streams.poll(request, reply, { topic, after, read, waitSeconds });
      return {
        events: page.events.map(({ data }) => JSON.parse(data) as QrEvent),
        nextAfter: page.next,
        isFinal: page.isLast === true,
      };
    },
  });
}
