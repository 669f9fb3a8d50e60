// docs/reference/provider-spi.json: what a provider of QR payments has to answer, and the events that it sends, as OpenAPI 3.1.
import {
  CancelAnswer,
  CancelQrPayment,
  CreateQrPayment,
  defined,
  HealthAnswer,
  ProviderEvent,
  ProviderProblem,
  providerAnswerMaxBytes,
  providerAnswerMs,
  providerCallHeaders,
  providerCallText,
  providerClockToleranceSeconds,
  providerPaths,
  QrPaymentAnswer,
  RefundAnswer,
  RefundQrPayment,
  ServiceMessage,
  ServiceMessageAnswer,
} from '@switchyard/contract';

const schemas = {
  CreateQrPayment,
  QrPaymentAnswer,
  CancelQrPayment,
  CancelAnswer,
  RefundQrPayment,
  RefundAnswer,
  HealthAnswer,
  ServiceMessage,
  ServiceMessageAnswer,
  ProviderEvent,
  ProviderProblem,
};

type SchemaName = keyof typeof schemas;

const { id, timestamp, signature } = providerCallHeaders;
const paymentCall = providerCallText(
  'GET',
  providerPaths.payment('0198c0de-0000-7000-8000-000000000001'),
);

const description = `The calls of the platform to a provider of QR payments, and the events that the provider sends to the
platform. The provider runs the server, below the \`spiUrl\` that its service declares. How to become a
provider: https://<address of the platform>/docs/how-to/service-providers/become-a-qr-provider.

**Signatures.** Each call is signed as in Standard Webhooks 1.0: \`${id}\`, \`${timestamp}\` (seconds) and
\`${signature}\`, over \`id.timestamp.body\`. While the secret is being changed there are several signatures, and
one valid signature is enough. A call without a body signs its method and its address below \`spiUrl\` in place of
the body: \`${paymentCall}\`. The provider answers 401 if the signature is missing or wrong, or if its time
differs by more than ${providerClockToleranceSeconds} seconds. The signature of a body does not cover the path: the
provider refuses a call whose \`platformTransactionId\` in the body is not the one of the path. It answers a body that
is not JSON with 400.

**Idempotency.** \`platformTransactionId\` identifies a payment and \`refundId\` a refund, without a time limit. The
same request again returns the same response and does nothing more, also while the first request is still running.
The same identifier with another amount gets 409. The platform sends a create request once, and repeats a cancel or a
refund without an answer.

**Unknown outcome.** The platform waits ${providerAnswerMs / 1000} seconds, then requests the status of the payment, and
cancels it at the latest when it expires. The provider always accepts a cancel. For an unknown payment it answers
\`Cancelled\` and stores this; a payment request that arrives later is \`Cancelled\` from the start. A payment that
the consumer paid before the cancel stays paid. The platform then refunds it if the merchant cancelled it, and
completes it if the platform cancelled it because of the unknown outcome.

**Members.** Each side ignores members that it does not know. A response has at most
${providerAnswerMaxBytes} bytes; the platform does not follow redirects.`;

const tag = {
  name: 'Provider',
  description: 'Calls of the platform to a provider, and its events.',
};
const contact = { name: 'Switchyard' };
const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };

const reference = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });

const content = (name: SchemaName) => ({ 'application/json': { schema: reference(name) } });
const answered = (text: string, name: SchemaName) => ({
  description: text,
  content: content(name),
});
const problem = (text: string) => ({
  description: text,
  content: { 'application/problem+json': { schema: reference('ProviderProblem') } },
});

const header = (name: string, described: string) => ({
  name,
  in: 'header',
  required: true,
  description: described,
  schema: { type: 'string' },
});

const signatureHeaders = [
  header(id, 'A new identifier for each call.'),
  header(timestamp, 'The time of the signature, in seconds since 1970.'),
  header(signature, 'The signatures, separated by spaces: `v1,…` and `v1a,…`.'),
];

const inPath = (name: string, described: string) => ({
  name,
  in: 'path',
  required: true,
  description: described,
  schema: { type: 'string', format: 'uuid' },
});

const payment = inPath('platformTransactionId', 'The identifier of the payment at the platform.');
const refund = inPath('refundId', 'The identifier of the refund at the platform.');
const unsigned = {
  '401': { description: 'The signature is not valid; the provider did nothing.' },
};
const noPayment = problem('The provider has no such payment: `code` is `payment_not_found`.');

/** Each call of the platform is signed; each event carries an access token of the provider. */
const securitySchemes = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: signature,
    description: 'Standard Webhooks 1.0, as in the description of this document.',
  },
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token of the provider’s application with the scope `spi.events`.',
  },
};

type Operation = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: object[];
  takes?: SchemaName;
  responses: Readonly<Record<string, object>>;
};

const operation = ({ takes, parameters = [], responses, ...named }: Operation) => ({
  ...named,
  tags: [tag.name],
  parameters: [...parameters, ...signatureHeaders],
  ...defined({
    requestBody: takes === undefined ? undefined : { required: true, content: content(takes) },
  }),
  responses: { ...responses, ...unsigned },
});

const create = operation({
  operationId: 'createQrPayment',
  summary: 'A payment begins',
  description: 'The same `platformTransactionId` again is the same payment.',
  takes: 'CreateQrPayment',
  responses: {
    '200': answered('How it stands, with what the terminal shows.', 'QrPaymentAnswer'),
    '202': answered('`Created`: what is to be shown follows as an event.', 'QrPaymentAnswer'),
    '400': problem('The body is not JSON; nothing was done.'),
    '409': problem('The platformTransactionId stands for another payment.'),
    '422': problem(
      'The JSON is no message of the SPI, or the payment is not taken; `code` says why. Nothing was done.',
    ),
    '429': problem('Not now; nothing was done.'),
  },
});

const read = operation({
  operationId: 'readQrPayment',
  summary: 'How a payment stands',
  description:
    'The platform asks once a minute, after `pollAfterMs`, after a time-out, and before it expires a payment.',
  parameters: [payment],
  responses: { '200': answered('How it stands.', 'QrPaymentAnswer'), '404': noPayment },
});

const cancel = operation({
  operationId: 'cancelQrPayment',
  summary: 'The payment is not to be made',
  description: 'The provider takes each cancel, also of a payment that it does not know.',
  parameters: [payment],
  takes: 'CancelQrPayment' as const,
  responses: {
    '200': answered('How it stands now; `Cancelled` also where it never came.', 'CancelAnswer'),
    '409': problem('It is final already: `paymentStatus` says how.'),
  },
});

const giveBack = operation({
  operationId: 'refundQrPayment',
  summary: 'Gives paid money back',
  description: 'The same `refundId` again is the same refund.',
  parameters: [payment],
  takes: 'RefundQrPayment' as const,
  responses: {
    '200': answered('Completed or Declined.', 'RefundAnswer'),
    '202': answered('Pending: an event follows, or the platform asks.', 'RefundAnswer'),
    '404': noPayment,
    '409': problem('The refundId stands for a refund of another amount.'),
    '422': problem('It is not taken: not paid, or more than is left. Nothing was done.'),
  },
});

const readRefund = operation({
  operationId: 'readRefund',
  summary: 'How a refund stands',
  description: 'The platform asks while a refund is `Pending`.',
  parameters: [payment, refund],
  responses: {
    '200': answered('How it stands.', 'RefundAnswer'),
    '404': problem('No such refund ever came: `code` is `refund_not_found`.'),
  },
});

const health = operation({
  operationId: 'health',
  summary: 'Whether payments are taken',
  description: 'The platform asks from time to time.',
  responses: { '200': answered('How it stands.', 'HealthAnswer') },
});

const service = operation({
  operationId: 'serviceMessage',
  summary: 'A service is activated, or no more',
  description: 'For services that the provider activates by itself.',
  takes: 'ServiceMessage',
  responses: {
    '200': answered('Whether the activation is accepted.', 'ServiceMessageAnswer'),
    '202': { description: 'The answer follows, to `answerUrl`.' },
  },
});

/** Sent by the provider, to the `eventsUrl` of a payment. */
const event = {
  post: {
    operationId: 'sendProviderEvent',
    summary: 'Sent by the provider: what happened to a payment',
    tags: [tag.name],
    description:
      'Sent to the `eventsUrl` of the payment with a token of the provider’s own application (scope `spi.events`), and again until it is answered 2xx: after 1, 2, 5, 10, 30 minutes and so on, for 24 hours.',
    security: [{ accessToken: [] }],
    requestBody: { required: true, content: content('ProviderEvent') },
    responses: {
      '200': { description: 'It was here before.' },
      '202': { description: 'It is kept, and never to be sent again.' },
      '401': { description: 'The token is not good.' },
      '404': { description: 'No payment of this provider.' },
    },
  },
};

export function providerSpiDocument(): string {
  const one = providerPaths.payment('{platformTransactionId}');
  const document = {
    openapi: '3.1.0',
    info: { title: 'Provider SPI', version: '1.0.0', description, contact, license },
    servers: [{ url: 'https://provider.example/spi', description: 'The `spiUrl` of the service.' }],
    security: [{ signature: [] }],
    tags: [tag],
    paths: {
      [providerPaths.payments]: { post: create },
      [one]: { get: read },
      [`${one}/cancel`]: { post: cancel },
      [`${one}/refunds`]: { post: giveBack },
      [`${one}/refunds/{refundId}`]: { get: readRefund },
      [providerPaths.health]: { get: health },
      '/': { post: service },
    },
    webhooks: { event },
    components: { schemas, securitySchemes },
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
