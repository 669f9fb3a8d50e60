// docs/reference/acquirer-spi.json: what an acquirer's server has to answer, as OpenAPI 3.1.
import {
  SpiAnswer,
  SpiCapture,
  SpiEcho,
  SpiEchoAnswer,
  SpiEnquiry,
  type SpiPath,
  SpiPayment,
  SpiRefund,
  SpiReversal,
  spiAnswerComponents,
  spiClockToleranceSeconds,
  spiRequestComponents,
} from '@switchyard/contract';

const schemas = {
  SpiPayment,
  SpiCapture,
  SpiRefund,
  SpiReversal,
  SpiEnquiry,
  SpiEcho,
  SpiAnswer,
  SpiEchoAnswer,
};

type SchemaName = keyof typeof schemas;

const description = `The messages that the platform sends to an acquirer that uses HTTP and JSON. The acquirer
runs the server, and the platform calls it. How to connect an acquirer: docs/how-to/acquirers/connect-an-http-acquirer.md.

**Signatures.** Each request and each response has one HTTP Message Signature (RFC 9421) with the
label \`spi\`, Ed25519, and a Content-Digest (RFC 9530, sha-256). A request covers
${spiRequestComponents.map((each) => `\`${each}\``).join(', ')} and has the parameters created,
keyid, nonce and alg. A response covers ${spiAnswerComponents.map((each) => `\`${each}\``).join(', ')};
the last one is the signature of its request. \`keyid\` is the thumbprint of the public key (RFC 7638).
The receiver answers 401 if the signature is more than ${spiClockToleranceSeconds} seconds old or in the
future, or if it has received the nonce within that time.

**Idempotency.** \`messageId\` identifies a message without a time limit. If the platform sends the same message
again, with or without \`repeat\`, the acquirer returns the same response and does nothing more, also while the
first request is still running. Another message with the same \`messageId\` gets 409. \`repeat\` and
\`sentAt\` do not make a message different.

**Unknown outcome.** The platform waits for the agreed time (10 seconds by default). If the connection broke, it
sends an enquiry; then it sends a reversal. An error response to an enquiry (NotProcessed, 400 and above) does not
give the outcome of the message: it stays unknown. The platform repeats a reversal until the acquirer approves it.
The acquirer declines a reversal of an unknown payment with 25. If the payment arrives after that, the acquirer
processes it normally, and the platform reverses it again.

**Members.** Each side ignores members that it does not know.`;

type Described = { summary: string; description: string; takes: SchemaName; id: string };

const summaries: Readonly<Record<SpiPath, Described>> = {
  '/v1/payments': {
    summary: 'Authorise a payment, or authorise and capture it',
    description:
      'The platform sends one message for each payment; `kind` is an authorisation or a sale.',
    takes: 'SpiPayment',
    id: 'pay',
  },
  '/v1/captures': {
    summary: 'Capture an authorised amount',
    description: 'Several captures of an authorisation are possible, until one is `final`.',
    takes: 'SpiCapture',
    id: 'capture',
  },
  '/v1/refunds': {
    summary: 'Refund a captured amount',
    description: '`original` identifies the captured payment.',
    takes: 'SpiRefund',
    id: 'refund',
  },
  '/v1/reversals': {
    summary: 'Reverse a payment',
    description:
      '`remainingAmount` is the amount that stays authorised. The platform repeats a reversal until it is approved.',
    takes: 'SpiReversal',
    id: 'reverse',
  },
  '/v1/enquiries': {
    summary: 'Get the outcome of a message',
    description: 'The platform sends it when the response to a message did not arrive.',
    takes: 'SpiEnquiry',
    id: 'enquire',
  },
  '/v1/echo': {
    summary: 'Check whether the acquirer accepts payments',
    description: 'The platform sends echoes while it has received no other response for a while.',
    takes: 'SpiEcho',
    id: 'echo',
  },
};

const reference = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });

const headerOf = (name: string, described: string) => ({
  name,
  in: 'header',
  required: true,
  description: described,
  schema: { type: 'string' },
});

const signatureHeaders = [
  headerOf('Content-Digest', 'sha-256 of the body (RFC 9530).'),
  headerOf('Signature-Input', 'The covered components and the parameters (RFC 9421).'),
  headerOf('Signature', 'The signature (RFC 9421).'),
];

const securitySchemes = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'Signature',
    description: 'An HTTP Message Signature (RFC 9421), as in the description of this document.',
  },
};

const tag = { name: 'Acquirer', description: 'Messages of the platform to an acquirer.' };
const contact = { name: 'Switchyard' };
const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };

const answered = (text: string, name: SchemaName) => ({
  description: text,
  content: { 'application/json': { schema: reference(name) } },
});

function responsesOf(path: SpiPath) {
  const refused = {
    '400': answered('No message of the SPI; nothing was processed.', 'SpiAnswer'),
    '401': { description: 'The signature is not accepted; nothing was processed.' },
  };
  if (path === '/v1/echo')
    return { '200': answered('How it stands.', 'SpiEchoAnswer'), ...refused };
  if (path === '/v1/enquiries') {
    return {
      '200': answered('What became of it, as it was first answered; or Pending.', 'SpiAnswer'),
      ...refused,
      '404': answered('NotFound: no such message came.', 'SpiAnswer'),
    };
  }
  return {
    '200': answered('Approved or Declined.', 'SpiAnswer'),
    '202': answered('Pending: the platform asks by enquiry.', 'SpiAnswer'),
    ...refused,
    '409': answered('The messageId stands for another message.', 'SpiAnswer'),
    '503': answered('NotProcessed: nothing is taken now; it may be sent again.', 'SpiAnswer'),
  };
}

export function acquirerSpiDocument(): string {
  const paths = Object.fromEntries(
    (Object.keys(summaries) as SpiPath[]).map((path) => {
      const { summary, description, takes, id } = summaries[path];
      const content = { 'application/json': { schema: reference(takes) } };
      return [
        path,
        {
          post: {
            operationId: id,
            summary,
            description,
            tags: [tag.name],
            parameters: signatureHeaders,
            requestBody: { required: true, content },
            responses: responsesOf(path),
          },
        },
      ];
    }),
  );
  const document = {
    openapi: '3.1.0',
    info: { title: 'Acquirer SPI', version: '1.0.0', description, contact, license },
    servers: [{ url: 'https://acquirer.example', description: 'The acquirer’s server.' }],
    security: [{ signature: [] }],
    tags: [tag],
    paths,
    components: { schemas, securitySchemes },
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
