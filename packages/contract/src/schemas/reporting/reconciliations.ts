/** Schemas of reconciliations: an acquirer's settlement data, compared with the platform's data. */
import { type Static, Type } from 'typebox';
import { closed, identifier, shortText } from '../values-and-problems/resource-schemas.ts';
import {
  AnswerAmount,
  Currency,
  pageOf,
  SumAmount,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';

/**
 * The operations that move money.
 *
 * @example
 * movementTypes.includes('Refund'); // true
 */
export const movementTypes = ['Capture', 'Refund', 'Reversal'] as const;
/** One of {@link movementTypes}. */
export type MovementType = (typeof movementTypes)[number];

/**
 * The states of a reconciliation.
 *
 * @example
 * const isOver = state === 'Completed' || state === 'Failed';
 */
export const reconciliationStates = ['Receiving', 'Matching', 'Completed', 'Failed'] as const;
/** One of {@link reconciliationStates}. */
export type ReconciliationState = (typeof reconciliationStates)[number];

/**
 * The outcomes of the comparison of one movement.
 *
 * @example
 * reconciliationOutcomes.includes('MissingHere'); // true
 */
export const reconciliationOutcomes = [
  'Matched',
  'Different',
  'MissingHere',
  'MissingThere',
] as const;
/** One of {@link reconciliationOutcomes}. */
export type ReconciliationOutcome = (typeof reconciliationOutcomes)[number];

/**
 * The resolutions of a difference. The platform sets `FoundLater` itself if another file contains
 * the missing movement.
 *
 * @example
 * reconciliationResolutions.includes('AcceptTheirs'); // true
 */
export const reconciliationResolutions = [
  'AcceptTheirs',
  'AcceptOurs',
  'AcquirerCorrects',
  'WriteOff',
  'FoundLater',
] as const;
/** One of {@link reconciliationResolutions}. */
export type ReconciliationResolution = (typeof reconciliationResolutions)[number];

/**
 * The resolutions that a user may choose for each outcome.
 *
 * @example
 * waysToResolve.MissingThere; // ['AcquirerCorrects', 'WriteOff']
 */
export const waysToResolve: Readonly<
  Record<ReconciliationOutcome, readonly Exclude<ReconciliationResolution, 'FoundLater'>[]>
> = {
  Matched: [],
  Different: ['AcceptTheirs', 'AcceptOurs', 'AcquirerCorrects'],
  MissingHere: ['AcceptTheirs', 'AcquirerCorrects', 'WriteOff'],
  MissingThere: ['AcquirerCorrects', 'WriteOff'],
};

/**
 * The limits of an acquirer's file.
 *
 * @example
 * if (size > reconciliationLimits.bytes) send(parts);
 */
export const reconciliationLimits = { bytes: 268_435_456, lines: 1_000_000 } as const;

const day = (description: string) =>
  Type.String({ format: 'date', maxLength: 10, description, examples: ['2026-03-01'] });

const word = (maxLength: number, description: string, example: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength,
      pattern: '^[!-~](?:[ -~]*[!-~])?$',
      description,
      examples: [example],
    }),
  );

/**
 * One line of an acquirer's file, as JSON; a CSV has the members as columns.
 *
 * @example
 * const line: SettlementLine = {
 *   type: 'Capture', amount: 1250, currency: 'EUR', settlementDate: '2026-03-01',
 *   acquirerMerchantId: 'DEMOMERCHANT001', retrievalReferenceNumber: '606012000017',
 * };
 */
export const SettlementLine = closed(
  {
    type: wordOf(movementTypes, { description: 'The type of the movement.' }),
    acquirerMerchantId: Type.String({
      minLength: 1,
      maxLength: 15,
      pattern: '^[!-~](?:[ -~]*[!-~])?$',
      description: 'The merchant as the acquirer calls it (DE42).',
      examples: ['DEMOMERCHANT001'],
    }),
    retrievalReferenceNumber: Type.String({
      pattern: '^[ -~]{1,12}$',
      description: 'The reference of the movement (DE37).',
      examples: ['606012000017'],
    }),
    terminalId: word(
      8,
      'The terminal (DE41): such a line is compared with what this terminal did.',
      '10000001',
    ),
    systemTraceAuditNumber: word(6, 'The trace number (DE11).', '000017'),
    authorizationCode: word(6, 'The approval (DE38).', 'A1B2C3'),
    amount: Type.Integer({
      minimum: 1,
      maximum: 999_999_999_999,
      description: 'Minor units, always above zero.',
      examples: [1250],
    }),
    currency: Currency,
    settlementDate: day('The day on which the acquirer settles it.'),
    fee: Type.Optional(
      Type.Integer({
        minimum: -999_999_999_999,
        maximum: 999_999_999_999,
        description: 'The fee of the acquirer, in minor units.',
        examples: [15],
      }),
    ),
    acquirerReference: word(64, 'The reference of the acquirer.', 'ARN-74537604221431003881865'),
  },
  'A line of an acquirer’s file.',
);
/** The type of {@link SettlementLine}. */
export type SettlementLine = Static<typeof SettlementLine>;

const count = (description: string) => Type.Integer({ minimum: 0, description, examples: [12] });

/**
 * A reconciliation, as the API returns it.
 *
 * @example
 * const { state, open } = (await response.json()) as Reconciliation;
 */
export const Reconciliation = closed(
  {
    reconciliationId: Uuid,
    acquirerLinkId: identifier('The acquirer link whose movements are compared.'),
    from: day('The first settlement day.'),
    to: day('The last settlement day, itself included.'),
    name: Type.Optional(shortText(100, 'The name that the user gave.')),
    state: wordOf(reconciliationStates, { description: 'How far it is.' }),
    lines: count('Lines of the file.'),
    matched: count('Movements on which both sides agree.'),
    different: count('Movements that both know, and not alike.'),
    missingHere: count('Lines of the file that we know nothing of.'),
    missingThere: count('Movements of ours that the file does not hold.'),
    open: count('The number of unresolved differences.'),
    failure: Type.Optional(
      Type.String({
        description:
          'The reason of the failure: `file_incomplete`, or `reference_repeated` if too many lines have the same reference.',
        examples: ['file_incomplete'],
      }),
    ),
    createdAt: Timestamp,
    completedAt: Type.Optional(Timestamp),
  },
  'A reconciliation.',
);
/** The type of {@link Reconciliation}. */
export type Reconciliation = Static<typeof Reconciliation>;

const balance = closed(
  {
    currency: Currency,
    theirs: { ...SumAmount, description: 'Captures less refunds and reversals, of the file.' },
    operations: { ...SumAmount, description: 'The same of our operations, one by one.' },
    ledger: { ...SumAmount, description: 'The same of the settlements that we keep as sums.' },
    fees: { ...SumAmount, description: 'The fees of the acquirer, from the file.' },
    isBalanced: Type.Boolean({ description: 'All three agree.' }),
  },
  'The totals of the three sides, in minor units of one currency.',
);

/**
 * A reconciliation with three sums: of the file, of the platform's operations and of its
 * settlements.
 *
 * @example
 * const { balances } = (await response.json()) as ReconciliationDetail;
 * const isDone = balances.every(({ isBalanced }) => isBalanced);
 */
export const ReconciliationDetail = closed(
  {
    ...Reconciliation.properties,
    balances: Type.Array(balance, { description: 'One for each currency.' }),
  },
  'A reconciliation with its balances.',
);
/** The type of {@link ReconciliationDetail}. */
export type ReconciliationDetail = Static<typeof ReconciliationDetail>;

/**
 * One page of reconciliations, the newest first.
 *
 * @example
 * const { items } = (await response.json()) as Static<typeof ReconciliationPage>;
 */
export const ReconciliationList = pageOf(Reconciliation);

const side = {
  type: wordOf(movementTypes, { description: 'The type of the movement.' }),
  retrievalReferenceNumber: Type.String({ description: 'DE37.', examples: ['606012000017'] }),
  amount: AnswerAmount,
  currency: Currency,
  settlementDate: day('The settlement day.'),
  terminalId: Type.Optional(Type.String({ description: 'DE41.', examples: ['10000001'] })),
};

/**
 * One movement of a reconciliation: the file's data, the platform's data and the decision.
 *
 * @example
 * const { outcome, waysToResolve } = item;
 */
export const ReconciliationItem = closed(
  {
    number: Type.Integer({ minimum: 1, description: 'Its number within the reconciliation.' }),
    outcome: wordOf(reconciliationOutcomes, { description: 'The result of the comparison.' }),
    differences: Type.Array(
      wordOf(['type', 'amount', 'currency', 'settlementDate', 'terminalId'], {
        description: 'A field that differs.',
      }),
      { description: 'Of what is Different: in what.' },
    ),
    theirs: Type.Optional(
      closed(
        {
          ...side,
          line: Type.Integer({ minimum: 1, description: 'The line of the file.' }),
          acquirerMerchantId: Type.String({ description: 'The merchant (DE42).' }),
          fee: Type.Optional(Type.Integer({ description: 'The fee of the acquirer.' })),
          acquirerReference: Type.Optional(
            Type.String({ description: 'The acquirer’s own name.' }),
          ),
        },
        'The data of the file.',
      ),
    ),
    ours: Type.Optional(
      closed(
        {
          ...side,
          transactionId: Uuid,
          merchantId: identifier('The merchant.'),
        },
        'The data of the platform.',
      ),
    ),
    waysToResolve: Type.Array(wordOf(reconciliationResolutions), {
      description: 'The decisions that are possible now.',
    }),
    resolution: Type.Optional(
      closed(
        {
          resolution: wordOf(reconciliationResolutions, { description: 'The decision.' }),
          note: Type.Optional(Type.String({ description: 'Why.' })),
          by: Type.String({
            description: 'The user or the application that decided; the platform itself.',
          }),
          at: Timestamp,
        },
        'The decision.',
      ),
    ),
  },
  'A movement of a reconciliation.',
);
/** The type of {@link ReconciliationItem}. */
export type ReconciliationItem = Static<typeof ReconciliationItem>;

/**
 * One page of movements, in the order of their numbers.
 *
 * @example
 * const { items } = (await response.json()) as Static<typeof ReconciliationItemPage>;
 */
export const ReconciliationItemList = pageOf(ReconciliationItem);

/**
 * `POST …/items/{number}/resolve`: the decision and its reason.
 *
 * @example
 * const decision: ReconciliationDecision = { resolution: 'WriteOff', note: 'Below the limit of claims.' };
 */
export const ReconciliationDecision = closed(
  {
    resolution: wordOf(
      reconciliationResolutions.filter((each) => each !== 'FoundLater'),
      { description: 'The decision; the item lists the possible ones.' },
    ),
    note: Type.Optional(shortText(500, 'The reason, for later readers.')),
  },
  'A decision.',
);
/** The type of {@link ReconciliationDecision}. */
export type ReconciliationDecision = Static<typeof ReconciliationDecision>;
