// The plan of `switchyard acquirer certify`: terminals, test cards, and cases with their steps and expectations.
import { type Static, type TProperties, Type } from 'typebox';
import { defined, entryModes } from '../../../packages/contract/src/index.ts';

const closed = <const Properties extends TProperties>(
  properties: Properties,
  description: string,
) => Type.Object(properties, { additionalProperties: false, description });

const text = (description: string, pattern?: string) =>
  Type.String({
    description,
    minLength: 1,
    maxLength: 500,
    ...defined({ pattern }),
  });

const optional = Type.Optional;
const name = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
const secondsMax = 3600;

const amount = Type.Integer({ minimum: 0, maximum: 999_999_999_999, description: 'Minor units.' });
const currency = text('Code of ISO 4217.', '^[A-Z]{3}$');
const entryMode = Type.Enum([...entryModes], { description: 'How the card is read.' });
const chipData = text('Objects for field 55, hexadecimal.', '^([0-9A-F]{2})+$');
const seconds = (description: string) =>
  Type.Number({ minimum: 0.1, maximum: secondsMax, description });

const Pin = Type.Union(
  [
    text('A test PIN; only with the software HSM.', '^[0-9]{4,12}$'),
    closed(
      {
        pinBlock: text('Hexadecimal.', '^[0-9A-F]{16}([0-9A-F]{16})?$'),
        ksn: text('Key serial number, hexadecimal.', '^[0-9A-F]{16,24}$'),
        format: Type.Enum([0, 1, 3, 4], { description: 'Format of ISO 9564-1.' }),
      },
      'A PIN block of a test terminal whose base derivation key the HSM has.',
    ),
  ],
  { description: 'The PIN of the card. The HSM translates it to the zone PIN key of the link.' },
);

const Card = closed(
  {
    number: text('The number of a test card.', '^[0-9]{12,19}$'),
    expiry: text('YYMM.', '^[0-9]{2}(0[1-9]|1[0-2])$'),
    securityCode: optional(text('CVV2 or CVC2.', '^[0-9]{3,4}$')),
    track2: optional(text('Track 2 with the separator =.', '^[0-9]{12,19}=[0-9]{4,20}$')),
    panSequence: optional(text('Sequence number of a chip card.', '^[0-9]{1,3}$')),
    chipData: optional(chipData),
    pin: optional(Pin),
  },
  'A test card. Never put the data of a real card into a plan.',
);

const FieldExpectation = Type.Union([
  Type.String({ maxLength: 999, description: 'The expected value.' }),
  closed({ present: Type.Boolean() }, 'Whether the response has the field.'),
  closed({ pattern: text('A regular expression for the whole value.') }, 'A pattern.'),
]);

const fields = (description: string) =>
  Type.Record(
    Type.String({ pattern: '^([2-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$' }),
    FieldExpectation,
    {
      description,
      additionalProperties: false,
    },
  );

const Expectation = closed(
  {
    outcome: optional(
      Type.Enum(['Approved', 'Declined', 'Unknown', 'NotSent'], {
        description: 'The result for the platform. After Unknown the platform sends a reversal.',
      }),
    ),
    reason: optional(
      Type.Enum(['Timeout', 'ConnectionLost', 'InvalidResponse'], {
        description: 'The reason of Unknown.',
      }),
    ),
    responseCode: optional(text('Field 39, as the platform understands it.', '^[0-9A-Z]{2,3}$')),
    amount: optional(amount),
    addressResult: optional(text('The result of the address verification.', '^[A-Z]$')),
    fields: optional(fields('Fields of the response in canonical form, by number.')),
    hostFields: optional(fields('Fields of the response as the host sends them, by number.')),
  },
  'The expected response.',
);
export type Expectation = Static<typeof Expectation>;

export const paymentActions = [
  'Sale',
  'Authorization',
  'OfflineSale',
  'Capture',
  'Refund',
  'Reversal',
] as const;
const actions = [...paymentActions, 'Repeat', 'SignOn', 'Await', 'Pause', 'Ask'] as const;

const Step = closed(
  {
    do: Type.Enum([...actions], { description: 'The action of the step.' }),
    name: optional(text('A name, for later steps of the case.', name)),
    original: optional(
      text('The step that is captured, refunded or reversed; default: the first.', name),
    ),
    step: optional(text('Repeat: the step that is sent again; default: the one before.', name)),
    terminal: optional(text('The name of a terminal of the plan.', name)),
    card: optional(text('The name of a card of the plan.', name)),
    entryMode: optional(entryMode),
    amount: optional(amount),
    currency: optional(currency),
    tip: optional(amount),
    cashback: optional(amount),
    chipData: optional(chipData),
    withPin: optional(Type.Boolean({ description: 'Sends the PIN of the card.' })),
    withSecurityCode: optional(Type.Boolean({ description: 'Sends the security code.' })),
    remoteOrder: optional(Type.Boolean({ description: 'Mail or telephone order.' })),
    address: optional(
      closed(
        {
          postalCode: text('Letters and digits.', '^[A-Z0-9]{1,9}$'),
          houseNumber: text('Letters and digits.', '^[A-Z0-9]{1,6}$'),
        },
        'The address to verify.',
      ),
    ),
    orderId: optional(text('The order, for host tables that send it.')),
    authorizationCode: optional(text('Offline sale: the code of the terminal.', '^[0-9A-Z]{6}$')),
    final: optional(Type.Boolean({ description: 'Capture: no more captures follow.' })),
    remainingAmount: optional(amount),
    reason: optional(
      Type.Enum(
        ['CustomerCancel', 'CardRemoved', 'InvalidResponse', 'Timeout', 'Suspect', 'ChipDeclined'],
        { description: 'Reversal: the reason.' },
      ),
    ),
    from: optional(Type.Enum(['Host', 'Platform'], { description: 'Await: the sender.' })),
    mti: optional(text('Await: the message type in canonical form.', '^0[0-9]{3}$')),
    having: optional(fields('Await: fields of the message in canonical form.')),
    withinSeconds: optional(seconds('Await: how long to wait; default: 10 seconds.')),
    seconds: optional(seconds('Pause: how long.')),
    text: optional(text('Ask: the instruction for the operator at the host.')),
    expect: optional(Expectation),
  },
  'One message, or one action between messages.',
);
export type Step = Static<typeof Step>;

const Case = closed(
  {
    id: text('The identifier in the report, and for --from.', name),
    title: text('The title in the report.'),
    needs: optional(
      Type.Array(
        Type.Enum(['MacKey', 'ZoneMasterKey'], {
          description: 'The case is skipped on a link without this key.',
        }),
      ),
    ),
    terminal: optional(text('The name of a terminal; default: the first.', name)),
    card: optional(text('The name of a card; default: the first.', name)),
    entryMode: optional(entryMode),
    amount: optional(amount),
    currency: optional(currency),
    steps: Type.Array(Step, { minItems: 1, maxItems: 50 }),
  },
  'A case. Its steps run in order and end at the first difference.',
);
export type Case = Static<typeof Case>;

export const CertificationPlan = closed(
  {
    name: text('The name of the plan, for the head of the report.'),
    timeoutSeconds: optional(
      seconds('How long to wait for a response; default: the time-out of the platform.'),
    ),
    echoIntervalSeconds: optional(
      seconds('Time without a message before an echo test; default: 60 seconds.'),
    ),
    merchant: closed(
      {
        number: text('Field 42.', '^[A-Za-z0-9]{1,15}$'),
        mcc: text('Field 18.', '^[0-9]{4}$'),
        timeZone: text('Time zone of fields 12 and 13, such as Europe/Paris.'),
        name: optional(text('For host tables that send it.')),
        address: optional(text('In one line, for host tables that send it.')),
      },
      'The test merchant.',
    ),
    terminals: Type.Record(
      Type.String({ pattern: name }),
      text('Field 41. No contract of a link to the host may have it.', '^[A-Z0-9]{4,15}$'),
      { minProperties: 1, description: 'Terminals by name.' },
    ),
    cards: Type.Record(Type.String({ pattern: name }), Card, {
      minProperties: 1,
      description: 'Test cards by name.',
    }),
    currency,
    amount,
    cases: Type.Array(Case, { minItems: 1, maxItems: 2000 }),
  },
  'The plan of switchyard acquirer certify.',
);
export type CertificationPlan = Static<typeof CertificationPlan>;

/** docs/reference/certification-plan.schema.json: the JSON Schema of a plan. */
export function certificationPlanSchemaDocument(): string {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...CertificationPlan };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
