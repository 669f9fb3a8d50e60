/**
 * Acquirer links, and the acquirer contracts of merchants that use them.
 *
 * Source of the numbers: ISO 8583:1987, data elements 18, 32, 41 and 42.
 */
import { type Static, Type } from 'typebox';
import {
  closed,
  commonAnswer,
  commonInput,
  identifier,
  replacement,
  shortText,
} from '../values-and-problems/resource-schemas.ts';
import { Amount } from '../values-and-problems/value-schemas.ts';
import { httpJson, signingKeys } from './http-link-settings.ts';
import { routing } from './routing.ts';

const organizationId = identifier('The organisation.');
const merchantId = identifier('The merchant.');
const acquirerLinkId = identifier('The acquirer link.');
const contractId = identifier('The acquirer contract.');

const adapter = Type.Enum(['Iso8583Host', 'HttpJson'], {
  default: 'Iso8583Host',
  description: 'How the acquirer is spoken to.',
});

const keyRef = Type.String({
  pattern: '^[\\x21-\\x7e]{1,1024}$',
  description: 'The name of a key in the hardware security module, or what it gave for one.',
  examples: ['acquirer-zpk'],
});

const zonePinKey = closed(
  {
    keyRef,
    format: Type.Enum(['ISO0', 'ISO3', 'ISO4'], {
      description: 'The PIN block format that the acquirer takes (ISO 9564-1).',
    }),
    keyIndex: Type.Optional(
      Type.String({ pattern: '^[0-9]{2}$', description: 'Identifies the key at the acquirer.' }),
    ),
  },
  'The zone PIN key shared with the acquirer; without it the link takes no online PIN.',
);

const keyOfLink = (description: string) => closed({ keyRef }, description);

/** The host connection of a link. The table `dialect` contains the differences between hosts. */
const hostMembers = {
  dialect: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9-]{0,39}$',
      default: 'iso1987-binary',
      description:
        'The host table: `iso1987-binary`, `iso1987-ascii`, `iso1993-ascii`, or one of your own.',
    }),
  ),
  connections: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 16,
      default: 1,
      description: 'How many connections carry the messages.',
    }),
  ),
  tpdu: Type.Optional(
    Type.String({
      pattern: '^(?:[0-9A-F]{2}){3,31}$',
      description: 'The TPDU in front of each message, in hex; the one of the table when left out.',
      examples: ['6000010000'],
    }),
  ),
  zonePinKey: Type.Optional(zonePinKey),
  macKey: Type.Optional(
    keyOfLink('The key of message authentication; needed where the table says so.'),
  ),
  zoneMasterKey: Type.Optional(
    keyOfLink('New keys that the acquirer sends come encrypted under this one.'),
  ),
};

const acquirerLinkInput = {
  ...commonInput,
  adapter: Type.Optional(adapter),
  host: Type.String({
    pattern: '^[A-Za-z0-9.:-]{1,253}$',
    description: 'A host name, or an address of IPv4 or IPv6.',
    examples: ['acquirer.example'],
  }),
  port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'The TCP port.' }),
  tls: Type.Optional(
    Type.Boolean({ default: true, description: 'May be false for an allowed host on loopback.' }),
  ),
  clientCertificate: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9-]{0,39}$',
      description:
        'The client certificate of the platform for the acquirer: the name of its files on the platform. Requires `tls`.',
      examples: ['north-bank'],
    }),
  ),
  institutionId: Type.String({
    pattern: '^[0-9]{1,11}$',
    description: 'The acquiring institution identification code (DE32).',
    examples: ['100001'],
  }),
  ...hostMembers,
  httpJson: Type.Optional(httpJson),
};

const approval = Type.Enum(['PendingApproval', 'Approved'], {
  description:
    'PendingApproval: the platform does not connect until its operator approves the host and port. Another adapter, host or port needs another approval. GET /payment/v1/acquirer-links/{acquirerLinkId} shows whether an approved link is connected.',
});

/** Only a creation answers with these members. */
const stateAfterCreation = {
  state: Type.Optional(
    Type.Enum(['PendingApproval', 'Disabled', 'Connecting'], {
      description:
        'Only in the answer to the creation. PendingApproval: the operator of the platform must approve the host and port first. Connecting: the platform connects within ten seconds.',
    }),
  ),
  stateUrl: Type.Optional(
    Type.String({
      description:
        'Only in the answer to the creation: where to read the state from now on. With `?waitSeconds=30` the answer waits until the link is Available.',
      examples: ['/payment/v1/acquirer-links/0b5cf1c8-3a0e-4d5a-8f3a-1d2b6a7c9e10'],
    }),
  ),
};

/**
 * The body that creates an acquirer link.
 *
 * @example
 * const body: AcquirerLinkInput = { name: 'north', host: 'acquirer.example', port: 8583, institutionId: '100001' };
 */
export const AcquirerLinkInput = closed(acquirerLinkInput, 'An acquirer link as it is created.');
export type AcquirerLinkInput = Static<typeof AcquirerLinkInput>;

/**
 * The body that replaces an acquirer link.
 *
 * @example
 * const body = { ...link, host: 'acquirer2.example' };
 */
export const AcquirerLinkReplacement = replacement(
  acquirerLinkInput,
  { acquirerLinkId, signingKeys, approval, ...stateAfterCreation },
  'An acquirer link as it is replaced.',
);

/**
 * An acquirer link, as the API returns it.
 *
 * @example
 * const link = (await response.json()) as AcquirerLink;
 */
export const AcquirerLink = closed(
  {
    acquirerLinkId,
    organizationId,
    ...acquirerLinkInput,
    ...commonAnswer,
    adapter,
    tls: Type.Boolean(),
    approval,
    signingKeys: Type.Optional(signingKeys),
    ...stateAfterCreation,
  },
  'An acquirer link: where and how an acquirer is reached.',
);
export type AcquirerLink = Static<typeof AcquirerLink>;

/**
 * The data of an acquirer link that the operator of the platform sees before the approval.
 *
 * @example
 * const { host, port } = (await response.json()) as AcquirerLinkApproval;
 */
export const AcquirerLinkApproval = closed(
  {
    acquirerLinkId,
    organizationId,
    name: commonInput.name,
    adapter,
    host: acquirerLinkInput.host,
    port: acquirerLinkInput.port,
    tls: Type.Boolean(),
    approval,
  },
  'An acquirer link as the operator of the platform reads it.',
);
export type AcquirerLinkApproval = Static<typeof AcquirerLinkApproval>;

/**
 * The host and port that the operator approves.
 *
 * @example
 * const body: AcquirerLinkApprovalInput = { host: 'acquirer.example', port: 8583 };
 */
export const AcquirerLinkApprovalInput = closed(
  { host: acquirerLinkInput.host, port: acquirerLinkInput.port },
  'The host and port as the operator has read them.',
);
export type AcquirerLinkApprovalInput = Static<typeof AcquirerLinkApprovalInput>;

/**
 * The state of one acquirer link: `GET /payment/v1/acquirer-links/{acquirerLinkId}`.
 *
 * @example
 * const { state } = (await response.json()) as AcquirerLinkState;
 */
export const AcquirerLinkState = closed(
  {
    acquirerLinkId,
    name: commonInput.name,
    state: Type.Enum(['PendingApproval', 'Disabled', 'Connecting', 'Available'], {
      description:
        'PendingApproval: the operator of the platform must approve the host and port first. Connecting: the platform is not connected or not signed on yet. Available: a payment can be sent now.',
    }),
    lastFault: Type.Optional(
      Type.String({ description: 'Why the platform is not connected or not signed on.' }),
    ),
  },
  'Whether payments can be sent over one acquirer link.',
);
export type AcquirerLinkState = Static<typeof AcquirerLinkState>;

/**
 * The states of the acquirer links and the work that waits for each: `GET
 * /payment/v1/acquirer-links`.
 *
 * @example
 * const { items } = (await response.json()) as AcquirerLinkStates;
 * for (const { name, alarm } of items) if (alarm) page(name);
 */
export const AcquirerLinkStateList = closed(
  {
    items: Type.Array(
      closed(
        {
          acquirerLinkId,
          name: commonInput.name,
          available: Type.Boolean({ description: 'Whether a payment can be sent now.' }),
          usesPreviousSettings: Type.Boolean({
            description:
              'True while payments use the settings from before the last change, because the platform is not signed on with the current settings yet.',
          }),
          connections: Type.Optional(
            closed(
              {
                wanted: Type.Integer(),
                signedOn: Type.Integer({
                  description: 'Connections with the current settings that are signed on.',
                }),
                lastFault: Type.Optional(
                  Type.String({ description: 'Why a connection is not signed on.' }),
                ),
              },
              'The connections of this process; left out by adapters that keep none.',
            ),
          ),
          queue: closed(
            {
              length: Type.Integer({ minimum: 0 }),
              oldestAt: Type.Optional(Type.String({ format: 'date-time' })),
              attempts: Type.Integer({
                minimum: 0,
                description:
                  'The highest number of attempts to send one of these messages, not counting the first transmission of a capture, refund or cancel.',
              }),
              alarms: Type.Integer({
                minimum: 0,
                description: 'Messages that the platform could not deliver after many attempts.',
              }),
            },
            'Messages that wait to be sent or to be answered.',
          ),
          alarm: Type.Boolean(),
          clientCertificateExpiresAt: Type.Optional(
            Type.String({
              format: 'date-time',
              description: 'Until when the client certificate of the link is good.',
            }),
          ),
          faults: Type.Optional(
            Type.Array(
              closed(
                {
                  pointer: Type.String({
                    description: 'The field of the link, as a JSON Pointer.',
                    examples: ['/zonePinKey/keyRef'],
                  }),
                  detail: Type.String({ description: 'The error of this field.' }),
                },
                'A setting that cannot be used.',
              ),
              {
                minItems: 1,
                description: 'Settings of the link that cannot be used as they stand.',
              },
            ),
          ),
        },
        'One link.',
      ),
    ),
  },
  'The acquirer links of an organisation that are open, or should be.',
);
export type AcquirerLinkStateList = Static<typeof AcquirerLinkStateList>;

const terminalId = Type.String({
  pattern: '^[A-Z0-9]{4,15}$',
  description:
    'A terminal identification (DE41): up to as many characters as the host table has, eight for an HTTP acquirer.',
  examples: ['TERM0001'],
});

const captureMode = Type.Enum(['Immediate', 'Deferred'], {
  description: 'Whether a sale captures at once.',
});

const captureTransport = Type.Enum(['Advice', 'File'], {
  default: 'Advice',
  description: 'Whether a capture is a message or a line of the settlement file.',
});

const cutOverTime = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  default: '00:00',
  description:
    'The time on the clocks of the store at which its settlement day ends; 00:00 is the end of the day itself.',
});

const clearCardData = Type.Enum(['Allowed', 'Refused'], {
  default: 'Refused',
  description: 'Whether card data may come without encryption of its own, inside TLS.',
});

const mcc = Type.String({
  pattern: '^[0-9]{4}$',
  description: 'The merchant category code (DE18); the one of the merchant when left out.',
});

const offlineLimits = closed(
  {
    maxAmounts: Type.Optional(
      Type.Record(Type.String(), Amount, {
        maxProperties: 50,
        propertyNames: { type: 'string', pattern: '^[A-Z]{3}$' },
        description:
          'By currency the largest offline sale, in minor units; other currencies are not taken then. Any amount when left out.',
        examples: [{ EUR: 5000 }],
      }),
    ),
    maxAgeHours: Type.Integer({
      minimum: 1,
      maximum: 8760,
      description: 'How old an offline sale may be when it is uploaded.',
    }),
    maxCount: Type.Integer({
      minimum: 0,
      maximum: 100_000,
      description: 'How many offline sales a device may make within 24 hours; 0 takes none.',
    }),
  },
  'The limits for offline sales. Default: any amount, 168 hours, 1000 sales of a device.',
);

const contractInput = {
  ...commonInput,
  name: Type.Optional(shortText(100, 'The merchant number at the acquirer when left out.')),
  acquirerLink: identifier('The acquirer link that carries the messages of this contract.'),
  acquirerMerchantId: Type.String({
    pattern: '^[A-Za-z0-9]{1,15}$',
    description: 'The number of the merchant at the acquirer (DE42).',
    examples: ['100000000000001'],
  }),
  terminalIdRange: closed(
    { from: terminalId, to: terminalId },
    'The terminals of this contract: a fixed head and a counted tail, shared with no other contract of the link.',
  ),
  mcc: Type.Optional(mcc),
  currencies: Type.Array(Type.String({ pattern: '^[A-Z]{3}$' }), {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description: 'The currencies that the acquirer takes (ISO 4217).',
  }),
  captureModes: Type.Array(captureMode, { minItems: 1, maxItems: 2, uniqueItems: true }),
  defaultCaptureMode: Type.Optional(
    Type.Enum(['Immediate', 'Deferred'], {
      description: 'For a sale that names none; the first of captureModes when left out.',
    }),
  ),
  captureTransport: Type.Optional(captureTransport),
  partialCancel: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether a part of a hold can be cancelled.' }),
  ),
  multipleCapture: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether one hold can be captured in parts.' }),
  ),
  overCapturePercent: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      default: 0,
      description: 'How far captures may exceed the authorised amount, in percent.',
    }),
  ),
  partialApproval: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether a part of the amount may be approved.' }),
  ),
  clearCardData: Type.Optional(clearCardData),
  holdDays: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 365,
      default: 30,
      description: 'The days, of 24 hours, after which a hold lapses.',
    }),
  ),
  cutOverTime: Type.Optional(cutOverTime),
  offlineLimits: Type.Optional(offlineLimits),
  routing: Type.Optional(routing),
};

/**
 * The body that creates an acquirer contract of a merchant.
 *
 * @example
 * const body: AcquirerContractInput = {
 *   acquirerLink: acquirerLinkId,
 *   acquirerMerchantId: '100000000000001',
 *   terminalIdRange: { from: 'TERM0001', to: 'TERM9999' },
 *   currencies: ['EUR'],
 *   captureModes: ['Immediate', 'Deferred'],
 * };
 */
export const AcquirerContractInput = closed(
  contractInput,
  'An acquirer contract as it is created.',
);
export type AcquirerContractInput = Static<typeof AcquirerContractInput>;

/**
 * The body that replaces an acquirer contract. The link, the merchant's number and the start of the
 * terminal range cannot change, because transactions refer to them. Create a new contract instead.
 *
 * @example
 * const body = { ...contract, holdDays: 7 };
 */
export const AcquirerContractReplacement = replacement(
  contractInput,
  { contractId, merchantId },
  'An acquirer contract as it is replaced.',
);

/**
 * An acquirer contract with all defaults, as the API returns it.
 *
 * @example
 * contract.holdDays; // 30
 */
export const AcquirerContract = closed(
  {
    contractId,
    organizationId,
    merchantId,
    ...contractInput,
    ...commonAnswer,
    name: commonInput.name,
    defaultCaptureMode: captureMode,
    captureTransport,
    partialCancel: Type.Boolean(),
    multipleCapture: Type.Boolean(),
    overCapturePercent: Type.Integer(),
    partialApproval: Type.Boolean(),
    clearCardData,
    holdDays: Type.Integer(),
    cutOverTime,
    offlineLimits,
    routing,
  },
  'An acquirer contract: the agreement between an acquirer and a merchant.',
);
export type AcquirerContract = Static<typeof AcquirerContract>;
