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

const description = `What the platform asks of an acquirer that speaks HTTP and JSON. The acquirer
runs the server; the platform calls it. How to attach one: docs/how-to/connect-an-http-acquirer.md.

**Signatures.** Each request and each answer carries one HTTP Message Signature (RFC 9421) with the
label \`spi\`, Ed25519, and a Content-Digest (RFC 9530, sha-256). A request covers
${spiRequestComponents.map((each) => `\`${each}\``).join(', ')} and has the parameters created,
keyid, nonce and alg; an answer covers ${spiAnswerComponents.map((each) => `\`${each}\``).join(', ')},
the last being the signature of its request. \`keyid\` is the thumbprint of the public key (RFC 7638).
A signature that was made more than ${spiClockToleranceSeconds} seconds away from now, or whose nonce was
seen within that time, is refused with 401.

**Once.** \`messageId\` names a message for ever. The same message again, whether \`repeat\` says so
or not, has the same answer and no second effect, also while the first is still under way. Another
message under the same name is refused with 409. \`repeat\` and \`sentAt\` do not make another one.

**Unknown.** The platform waits for a while that both sides know (10 seconds unless agreed
otherwise), asks by enquiry where the connection broke, and then reverses. An enquiry that is
refused (NotProcessed, 400 and above) says nothing of the message: it stays unknown. A reversal is
repeated until it is approved. One that names a payment which never came is declined with 25; if the
payment comes after all, it is a payment like any other, and the platform reverses it again.

**Members.** Whatever a side does not know in what the other says, it ignores.`;

type Described = { summary: string; description: string; takes: SchemaName; id: string };

const summaries: Readonly<Record<SpiPath, Described>> = {
  '/v1/payments': {
    summary: 'A hold, or money at once',
    description:
      'The platform sends one for each payment; `kind` says whether money is held or taken.',
    takes: 'SpiPayment',
    id: 'pay',
  },
  '/v1/captures': {
    summary: 'Takes money out of a hold',
    description: 'Several captures of a hold are possible, until one is `final`.',
    takes: 'SpiCapture',
    id: 'capture',
  },
  '/v1/refunds': {
    summary: 'Gives captured money back',
    description: '`original` names the payment that was captured.',
    takes: 'SpiRefund',
    id: 'refund',
  },
  '/v1/reversals': {
    summary: 'Takes a payment back',
    description:
      '`remainingAmount` says what stays of the payment. The platform repeats a reversal until it is approved.',
    takes: 'SpiReversal',
    id: 'reverse',
  },
  '/v1/enquiries': {
    summary: 'What became of a message',
    description: 'The platform sends it when the response to a message did not arrive.',
    takes: 'SpiEnquiry',
    id: 'enquire',
  },
  '/v1/echo': {
    summary: 'Whether payments are taken',
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
  headerOf('Signature-Input', 'What is covered, and the parameters (RFC 9421).'),
  headerOf('Signature', 'The signature (RFC 9421).'),
];

const securitySchemes = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'Signature',
    description: 'An HTTP Message Signature (RFC 9421), as the description of this document says.',
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
