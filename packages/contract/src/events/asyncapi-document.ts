/**
 * The AsyncAPI 3 document: the messages that the platform sends and receives besides HTTP requests.
 */
import type { TSchema } from 'typebox';
import { type ConnectorPlaces, connectorParts } from '../connector/asyncapi-document.ts';
import { QrEvent } from '../schemas/qr/qr-payments.ts';
import { type Json, publicSchema, ref } from './asyncapi-schema-and-ref.ts';
import { EventBody, FeedItem } from './event-envelope.ts';
import { type EventDefinition, eventDefinitions } from './event-types.ts';

const pascalCase = (words: string) =>
  words.replaceAll(/(?:^|[._])([a-z])/g, (_found, letter: string) => letter.toUpperCase());

/** Event types with the same schema share one, which has the name of the first type. */
function schemaNames(definitions: readonly EventDefinition[]): Map<TSchema, string> {
  const names = new Map<TSchema, string>();
  for (const { type, data } of definitions) {
    if (names.has(data)) continue;
    const family = `${pascalCase(type.split('.')[0] ?? '')}Data`;
    names.set(data, [...names.values()].includes(family) ? `${pascalCase(type)}Data` : family);
  }
  return names;
}

const bodyOf = (type: string, dataName: string): Json => ({
  type: 'object',
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: { type: 'string', const: type },
    timestamp: publicSchema(EventBody.properties.timestamp),
    data: ref(`components/schemas/${dataName}`),
  },
});

const exampleTime = '2026-03-01T12:30:00.000Z';

function messageOf({ type, description, example }: EventDefinition, dataName: string): Json {
  return {
    name: type,
    title: type,
    summary: description,
    contentType: 'application/json',
    headers: ref('components/schemas/DeliveryHeaders'),
    payload: bodyOf(type, dataName),
    examples: [
      {
        name: 'sample',
        payload: { type, timestamp: exampleTime, data: example },
      },
    ],
  };
}

const headers: Json = {
  type: 'object',
  description: 'Of a delivery by webhook, after Standard Webhooks 1.0. The feed has none of them.',
  required: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  properties: {
    'webhook-id': {
      type: 'string',
      description: 'The eventId: the same in each repetition, and in the feed.',
    },
    'webhook-timestamp': { type: 'string', description: 'Of this attempt, in seconds since 1970.' },
    'webhook-signature': {
      type: 'string',
      description:
        'Signatures with a blank between them: `v1,` (HMAC-SHA256) and `v1a,` (Ed25519).',
    },
  },
};

const feedNote =
  'Each item is the body of the event with `eventId` and `position` in front. As JSON in pages ' +
  '(`after`, `limit`, `wait`), or with `Accept: text/event-stream` as Server-Sent Events: `id` is the ' +
  'position, `event` the type, `data` the item; `Last-Event-ID` goes on behind it.';

const description = `Events report what happened in an organisation. The platform delivers the same events in two ways: it
sends them to the endpoints of the organisation (webhooks), and clients read them from a feed, in pages or
as a stream. Each event has the same identifier and the same bytes in every delivery.

Each event is delivered at least once, in any order: of two events on a subject, the one with the higher
\`sequence\` is newer. The feed has the order in which events were published, without gaps or repetition.

Devices and points of sale exchange data over the WebSockets of the Cloud Connector. A device registers
and gets an address; a point of sale claims the device and gets one too. The connector does not change
their data. A close code gives the reason for the end of a connection: see \`x-close-codes\` of its channel.
The response to a rejected handshake is a problem (RFC 9457).

Later versions may add members to events and messages: ignore unknown members.`;

const terminalMessage: Json = {
  name: 'QrEvent',
  title: 'QrEvent',
  summary: 'An event of a QR payment, for the terminal that started it.',
  contentType: 'application/json',
  payload: ref('components/schemas/QrEvent'),
};

const channelsOf = (messages: Json): Json => ({
  endpoint: {
    title: 'An endpoint of the organisation',
    description:
      'Its address is that of the webhook endpoint, `/webhooks/v1/endpoints`, so it has none here.',
    messages,
  },
  feed: {
    address: '/events/v1',
    title: 'The feed of the organisation',
    description: feedNote,
    'x-item': ref('components/schemas/FeedItem'),
    servers: [ref('servers/api')],
    messages,
  },
  qrPayment: {
    address: '/qrcode-payment/v1/transactions/{qrTransactionId}/events',
    title: 'The events of one QR payment',
    description:
      'For the terminal, with its device token: pages with `after` and `wait`, or Server-Sent Events ' +
      'whose `id` is the sequence. The stream ends with the event `end` once nothing can follow.',
    servers: [ref('servers/api')],
    parameters: { qrTransactionId: { description: 'The transactionId of the payment.' } },
    messages: { QrEvent: ref('components/messages/QrEvent') },
  },
});

function operationsOf(definitions: readonly EventDefinition[]): Json {
  const sent = (channel: string) =>
    definitions.map(({ type }) => ref(`channels/${channel}/messages/${type}`));
  return {
    deliverEvent: {
      action: 'send',
      channel: ref('channels/endpoint'),
      summary: 'Sends each event to the endpoints that want it; a 2xx acknowledges it.',
      security: [ref('components/securitySchemes/webhookSignature')],
      bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      messages: sent('endpoint'),
    },
    listEvents: {
      action: 'send',
      channel: ref('channels/feed'),
      summary: 'Returns the events after a position; a request can be repeated.',
      bindings: { http: { method: 'GET', bindingVersion: '0.3.0' } },
      messages: sent('feed'),
    },
    listQrEvents: {
      action: 'send',
      channel: ref('channels/qrPayment'),
      summary: 'Sends the terminal the events of its payment.',
      bindings: { http: { method: 'GET', bindingVersion: '0.3.0' } },
      messages: [ref('channels/qrPayment/messages/QrEvent')],
    },
  };
}

const serverOf = (baseUrl: string): Json => {
  const { host, pathname } = new URL(baseUrl);
  return {
    host,
    ...(pathname === '/' ? {} : { pathname }),
    protocol: 'https',
    description: 'The API of the platform.',
    security: [ref('components/securitySchemes/bearer')],
  };
};

const bearer: Json = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A token with the permission `hook.read`.',
};

const webhookSignature: Json = {
  type: 'httpApiKey',
  name: 'webhook-signature',
  in: 'header',
  description:
    'The signature of the platform after Standard Webhooks 1.0, by the secret of the endpoint.',
};

/**
 * Builds the document for one platform.
 *
 * @param facts - the addresses of the API and the WebSockets, and the version
 * @returns an AsyncAPI 3.0 document as plain JSON
 * @example
 * const document = asyncApiDocument({ baseUrl: 'https://api.example', version: '1.0.0' });
 */
export function asyncApiDocument({
  version,
  ...places
}: ConnectorPlaces & { readonly version: string }): Json {
  const definitions = [...eventDefinitions.values()];
  const names = schemaNames(definitions);
  const all = definitions.map(({ type }) => [type, ref(`components/messages/${type}`)]);
  const messages = Object.fromEntries(all) as Json;
  const sockets = connectorParts(places);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Switchyard events and WebSockets',
      version,
      description,
      contact: { name: 'Switchyard', url: `${places.baseUrl}/docs` },
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      tags: [
        { name: 'Events', description: 'Webhooks, the feed, and the events of one QR payment.' },
        { name: 'Cloud Connector', description: 'WebSockets of devices and points of sale.' },
      ],
    },
    defaultContentType: 'application/json',
    servers: { api: serverOf(places.baseUrl), ...sockets.servers },
    channels: { ...channelsOf(messages), ...sockets.channels },
    operations: { ...operationsOf(definitions), ...sockets.operations },
    components: {
      messages: {
        ...Object.fromEntries(
          definitions.map((one) => [one.type, messageOf(one, names.get(one.data) ?? '')]),
        ),
        QrEvent: terminalMessage,
        ...sockets.messages,
      },
      schemas: {
        ...Object.fromEntries([...names].map(([schema, name]) => [name, publicSchema(schema)])),
        DeliveryHeaders: headers,
        FeedItem: publicSchema(FeedItem),
        QrEvent: publicSchema(QrEvent),
        ...sockets.schemas,
      },
      securitySchemes: { bearer, webhookSignature, ...sockets.securitySchemes },
    },
  };
}
