// Registers the routes of the Retail API, version 1.
import {
  defined,
  type ErrorCode,
  findable,
  NexoAnswer,
  RetailAccepted,
  RetailDeviceList,
  RetailDeviceStatus,
  RetailMessage,
  throwProblem,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { actorOf } from '../../audit/index.ts';
import {
  type Caller,
  type EventStreams,
  pageQuery,
  pageResponse,
  readPageRequest,
  route,
} from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { PosCaller } from '../pos/claim-requests.ts';
import { withProblems } from '../protocol/fault-to-problem.ts';
import { completionTopic } from './completion-topic.ts';
import { retailBase as base, messagePath } from './message-url.ts';
import type { RetailApiDeps } from './retail-dependencies.ts';
import { messageScopeOf, type RetailTerminals } from './retail-terminals.ts';
import type { MessageCall, MessageSender } from './send-message.ts';

// The example message of the API documentation: a payment of 12.50 EUR.
export const exampleMessage = JSON.stringify({
  SaleToPOIRequest: {
    MessageHeader: {
      ProtocolVersion: '3.0',
      MessageClass: 'Service',
      MessageCategory: 'Payment',
      MessageType: 'Request',
      ServiceID: '4711',
      SaleID: 'till-3',
      POIID: 'AXIUM_DX8000-12345678',
    },
    PaymentRequest: {
      SaleData: {
        SaleTransactionID: { TransactionID: 'order-1', TimeStamp: '2026-03-01T12:30:00.000Z' },
      },
      PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 12.5 } },
    },
  },
});

const tags = ['Retail API'] as const;
const rateLimit = 'payments';
const json = 'application/json';
const listName = 'listRetailDevices';
/** The server checks the terminals of a page one by one, unless the cache has them. */
const listLimitMax = 50;
const pollSecondsMax = 30;
const noAdditional = { additionalProperties: false };

const Tsn = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'Make, model and serial number (`AXIUM_DX8000-12345678`), or the serial number.',
});
const DeviceParams = Type.Object({ tsn: Tsn });
const MessageParams = Type.Object({
  tsn: Tsn,
  messageServiceId: Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: findable,
    description: 'The ServiceID of the header.',
  }),
});

const SendQuery = Type.Object(
  {
    posId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: findable,
        description:
          'The point of sale that sends the message. Required for applications of the aggregator.',
      }),
    ),
    waitSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 30,
        description: 'Seconds to wait for a terminal that is busy or reconnects.',
      }),
    ),
  },
  noAdditional,
);

const deviceErrors: ErrorCode[] = ['device_unknown', 'wrong_store', 'database_unavailable'];
const useErrors: ErrorCode[] = [
  ...deviceErrors,
  ...([
    'role_missing',
    'device_disabled',
    'not_subscribed',
    'not_enabled',
    'family_not_supported',
  ] as const),
];
const sendErrors: ErrorCode[] = [
  ...useErrors,
  ...(['pos_id_required', 'nexo_invalid', 'service_id_reused', 'device_offline'] as const),
  ...(['device_claimed', 'rate_limited', 'overloaded', 'shutting_down'] as const),
];
const answerErrors: ErrorCode[] = [
  ...(['message_rejected', 'device_disconnected', 'session_lost', 'timeout'] as const),
];

type Deps = Pick<RetailApiDeps, 'connector'> & {
  readonly messageSender: MessageSender;
  readonly terminals: RetailTerminals;
};

const posCallerOf = (caller: Caller, requestId: string): PosCaller => ({
  caller,
  author: actorOf(caller, requestId),
});

type SendRequest = {
  readonly caller: Caller;
  readonly id: string;
  readonly params: { tsn: string };
  readonly query: { posId?: string; waitSeconds?: number };
  readonly body: unknown;
};

function readCall(
  { caller, id, params, query, body }: SendRequest,
  reply: FastifyReply,
): MessageCall {
  const disconnected = new AbortController();
  reply.raw.once('close', () => disconnected.abort());
  if (!Buffer.isBuffer(body)) throwProblem('request_malformed', 'The body is missing.');
  return {
    posCaller: posCallerOf(caller, id),
    tsn: params.tsn,
    ...query,
    signal: disconnected.signal,
    body: body as Buffer,
  };
}

/** @example registerRetailRoutes(app, { messageSender, terminals, connector }, streams); */
export function registerRetailRoutes(
  app: FastifyInstance,
  deps: Deps,
  streams: EventStreams,
): void {
  registerReadRoutes(app, deps);
  registerMessageRoute(app, deps, streams);
  // The terminal gets the body unchanged, so the server does not parse it like other bodies.
  app.register((scope, _options, done) => {
    scope.removeContentTypeParser(json);
    scope.addContentTypeParser(json, { parseAs: 'buffer' }, (_request, body, read) => {
      read(null, body);
    });
    registerSendRoutes(scope, deps);
    done();
  });
}

function registerReadRoutes(app: FastifyInstance, { connector, terminals }: Deps): void {
  route(app, {
    method: 'GET',
    url: `${base}/stores/:storeId/devices`,
    operationId: listName,
    summary: 'List the terminals of a store',
    description:
      'Each terminal with its connection to the Cloud Connector and its payment methods.',
    tags,
    rateLimit,
    priority: 'list',
    permission: 'cc.pos',
    params: Type.Object({ storeId: Type.String({ format: 'uuid' }) }),
    query: Type.Object(pageQuery, noAdditional),
    response: { 200: RetailDeviceList },
    errors: ['store_not_found', 'cursor_invalid', 'database_unavailable'],
    async handler({ caller, id, params, query }) {
      const pageRequest = readPageRequest(query, listName);
      const limit = Math.min(pageRequest.limit, listLimitMax);
      const posCaller = posCallerOf(caller, id);
      const page = await terminals.listOfStore(posCaller, params.storeId, {
        ...pageRequest,
        limit,
      });
      return pageResponse(page, query, listName);
    },
  });
  route(app, {
    method: 'GET',
    url: `${base}/devices/:tsn/status`,
    operationId: 'getRetailDeviceStatus',
    summary: 'Get the status of a terminal',
    tags,
    rateLimit,
    permission: 'cc.pos',
    params: DeviceParams,
    response: { 200: RetailDeviceStatus },
    errors: useErrors,
    async handler({ caller, id, params }) {
      await terminals.find(caller, params.tsn);
      const posCaller = posCallerOf(caller, id);
      const { lastSeenAt, ...state } = await withProblems(() =>
        connector.claims.status(posCaller, params.tsn),
      );
      return {
        ...state,
        ...defined({ lastSeenAt: lastSeenAt === undefined ? undefined : isoTime(lastSeenAt) }),
      };
    },
  });
}

function registerSendRoutes(app: FastifyInstance, { messageSender }: Deps): void {
  const shared = {
    method: 'POST',
    tags,
    rateLimit,
    permission: 'cc.pos',
    faultOutcome: 'Unknown',
    params: DeviceParams,
    query: SendQuery,
    streamedMediaTypes: [json],
    examples: { [json]: exampleMessage },
  } as const;
  route(app, {
    ...shared,
    url: `${base}/devices/:tsn/sync`,
    operationId: 'sendRetailMessage',
    summary: 'Send a message to a terminal and wait for the response',
    description:
      'The body is a Nexo Retailer message as JSON, clear or protected; the server forwards it unchanged. The server waits up to 150 s for the response with the same ServiceID and returns it unchanged. For a message without a response, such as an Abort, it answers 200 without a body. An error is never an answer of the terminal. If its outcome is Unknown, send a TransactionStatus request.',
    response: { 200: NexoAnswer },
    errors: [...sendErrors, ...answerErrors],
    async handler(request, reply) {
      const text = await messageSender.sendAndWait(readCall(request, reply));
      reply.type(text === undefined ? 'text/plain' : json);
      return text ?? '';
    },
  });
  route(app, {
    ...shared,
    url: `${base}/devices/:tsn/async`,
    operationId: 'sendRetailMessageAsync',
    summary: 'Send a message to a terminal without waiting',
    description:
      'The server answers when it has sent the message. The event `retail.response` reports the response, and `messages/{serviceId}` returns it for 48 hours.',
    response: { 202: RetailAccepted },
    responseHeaders: { 202: ['Location'] },
    errors: sendErrors,
    async handler(request, reply) {
      const accepted = await messageSender.sendWithoutWaiting(readCall(request, reply));
      reply.code(202).header('Location', messagePath(accepted));
      return accepted;
    },
  });
}

function registerMessageRoute(app: FastifyInstance, deps: Deps, streams: EventStreams): void {
  const { terminals, messageSender } = deps;
  route(app, {
    method: 'GET',
    url: `${base}/devices/:tsn/messages/:messageServiceId`,
    operationId: 'getRetailMessage',
    summary: 'Get a message to a terminal with its response',
    description:
      'Available for 48 hours for every sent message. With `wait`, the server answers when the response has arrived.',
    tags,
    rateLimit,
    permission: 'cc.pos',
    params: MessageParams,
    query: Type.Object(
      {
        saleId: Type.Optional(
          Type.String({
            maxLength: 128,
            pattern: findable,
            description:
              'Selects the message if several points of sale used the same ServiceID. The default is the newest message.',
          }),
        ),
        wait: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: pollSecondsMax,
            description: 'Seconds to wait for the response.',
          }),
        ),
      },
      noAdditional,
    ),
    response: { 200: RetailMessage },
    errors: [...deviceErrors, 'message_not_found', 'overloaded', 'shutting_down'],
    async handler(request, reply) {
      const { caller, params, query } = request;
      const { wait: waitSeconds = 0, saleId } = query;
      const { messageServiceId: serviceId } = params;
      const terminal = await terminals.find(caller, params.tsn);
      const requireMessage = async () =>
        (await messageSender.find(terminal, { serviceId, saleId }, messageScopeOf(caller))) ??
        throwProblem(
          'message_not_found',
          'No message with this ServiceID and SaleID was sent to the terminal.',
        );
      let message = await requireMessage();
      if (waitSeconds === 0 || message.status !== 'Waiting') return message;
      const topic = completionTopic({
        organizationId: caller.organizationId,
        messageId: message.messageId,
      });
      await streams.poll(request, reply, {
        topic,
        after: 0,
        waitSeconds,
        async read() {
          message = await requireMessage();
          return { events: [], next: 0, isLast: message.status !== 'Waiting' };
        },
      });
      return message;
    },
  });
}
