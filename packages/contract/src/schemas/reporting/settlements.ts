/** Schemas of settlements: the amounts of one merchant, one acquirer and one of its days. */
import { type Static, Type } from 'typebox';
import { clearingFileStates } from '../payments/clearing.ts';
import { closed, identifier } from '../values-and-problems/resource-schemas.ts';
import {
  Currency,
  pageOf,
  SumAmount,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';

const SettlementDay = Type.String({
  format: 'date',
  maxLength: 10,
  description: 'The settlement day of the store.',
  examples: ['2026-03-01'],
});

/**
 * The filters of settlements; spread them into the query of the list.
 *
 * @example
 * const query = Type.Object({ ...settlementFilters });
 */
export const settlementFilters = {
  from: Type.Optional({ ...SettlementDay, description: 'Settlement days from this one on.' }),
  to: Type.Optional({
    ...SettlementDay,
    description: 'Settlement days up to this one, itself included.',
  }),
  acquirerLinkId: Type.Optional(identifier('Settlements over this acquirer link.')),
  merchantId: Type.Optional(identifier('Settlements of this merchant.')),
  currency: Type.Optional({ ...Currency, description: 'Settlements of this currency.' }),
};

const moved = (description: string) =>
  closed(
    {
      count: Type.Integer({ minimum: 0, description: 'How many.', examples: [12] }),
      amount: SumAmount,
    },
    description,
  );

const settlementMembers = {
  settlementId: Type.String({
    description: 'Names the acquirer link, the day, the merchant and the currency.',
    examples: ['fLN5Kp2vT4mWcZ0aQe1b3w'],
  }),
  acquirerLinkId: identifier('The acquirer link.'),
  merchantId: identifier('The merchant.'),
  day: SettlementDay,
  currency: Currency,
  captures: moved('The captured amount.'),
  refunds: moved('The refunded amount.'),
  reversals: moved('The amount of captures that were reversed completely.'),
  net: { ...SumAmount, description: 'Captures less refunds and reversals.' },
  pending: moved('Captures that are under way, such as in a clearing file; not in the others yet.'),
  fees: Type.Union([SumAmount, Type.Null()], {
    description: 'The fee that the acquirer reported; null if it reported none.',
  }),
  updatedAt: Timestamp,
};

/**
 * The settlement of one acquirer with one merchant for one day and one currency. Its sums grow
 * until the acquirer has answered everything that belongs to the day.
 *
 * @example
 * const due = items.map(({ net }) => BigInt(net)).reduce((sum, each) => sum + each, 0n);
 */
export const Settlement = closed(settlementMembers, 'A settlement.');
/** The type of {@link Settlement}. */
export type Settlement = Static<typeof Settlement>;

/**
 * One page of settlements, the last day first.
 *
 * @example
 * const { items, nextCursor } = (await response.json()) as Static<typeof SettlementPage>;
 */
export const SettlementList = pageOf(Settlement);

/**
 * `GET /reporting/v1/settlements/{settlementId}`: a settlement with the clearing files of its
 * captures.
 *
 * @example
 * const { files } = (await response.json()) as SettlementDetail;
 */
export const SettlementDetail = closed(
  {
    ...settlementMembers,
    files: Type.Array(
      closed(
        {
          clearingFileId: Uuid,
          fileName: Type.String({
            description: 'Its name.',
            examples: ['clearing-100001-000001.txt'],
          }),
          state: wordOf(clearingFileStates, { description: 'The state of the file.' }),
          lines: Type.Integer({ minimum: 0, description: 'Its lines that belong here.' }),
          amount: SumAmount,
        },
        'A clearing file.',
      ),
      { maxItems: 100, description: 'The first hundred; none where captures go one by one.' },
    ),
  },
  'A settlement with its files.',
);
/** The type of {@link SettlementDetail}. */
export type SettlementDetail = Static<typeof SettlementDetail>;
