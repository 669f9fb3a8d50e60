/** Schemas of summaries: number and amounts of payments, approval rates and response times. */
import { type Static, Type } from 'typebox';
import { responseCategories } from '../../response-codes.ts';
import { closed, identifier } from '../values-and-problems/resource-schemas.ts';
import { Currency, SumAmount, wordOf } from '../values-and-problems/value-schemas.ts';
import { paymentFilters } from './reported-payments.ts';

/**
 * The members by which a summary can be grouped.
 *
 * @example
 * summaryGroupings.includes('merchant'); // true
 */
export const summaryGroupings = [
  'day',
  'hour',
  'merchant',
  'store',
  'device',
  'scheme',
  'responseCategory',
] as const;
/** One of {@link summaryGroupings}. */
export type SummaryGrouping = (typeof summaryGroupings)[number];

const Day = Type.String({
  format: 'date',
  maxLength: 10,
  description: 'A day of the store, in its time zone.',
  examples: ['2026-03-01'],
});

/**
 * The parameters of a summary; spread them into its query.
 *
 * @example
 * const query = Type.Object({ ...summaryQuery });
 */
export const summaryQuery = {
  ...paymentFilters,
  from: { ...Day, description: 'The first day, in the time zone of each store.' },
  to: { ...Day, description: 'The last day, itself included; at most 400 days from the first.' },
  groupBy: Type.Optional(
    wordOf(summaryGroupings, { default: 'day', description: 'The grouping of the lines.' }),
  ),
  order: Type.Optional(
    wordOf(['Key', 'Count'], {
      default: 'Key',
      description: '`Count`: those with most payments first.',
    }),
  ),
};

const count = (description: string) => Type.Integer({ minimum: 0, description, examples: [42] });

const figures = {
  count: count('Payments that have an outcome, on the day that they count on.'),
  approved: count('Those of them that were approved.'),
  declined: count('Those that were declined.'),
  failed: count('Those without an answer that counts: time-outs, faults, links that were down.'),
  approvalRate: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
    description:
      'Approved out of approved, declined and failed, to four places; null where there is none.',
    examples: [0.9312],
  }),
  amounts: Type.Array(
    closed(
      {
        currency: Currency,
        authorized: { ...SumAmount, description: 'The authorised amount, in minor units.' },
        captured: { ...SumAmount, description: 'The captured amount, in minor units.' },
        refunded: { ...SumAmount, description: 'The refunded amount, in minor units.' },
        cancelled: {
          ...SumAmount,
          description: 'The authorised amount released by cancels or expiry, in minor units.',
        },
        reversed: {
          ...SumAmount,
          description:
            'The captured amount that was reversed or settled outside of the platform, in minor units.',
        },
        net: { ...SumAmount, description: 'Captured less refunded and reversed, minor units.' },
      },
      'The money of one currency, on the days on which it moved.',
    ),
    { description: 'One for each currency, in the order of their codes.' },
  ),
  declineReasons: Type.Array(
    closed(
      {
        reason: Type.String({ description: 'Why.', examples: ['InsufficientFunds'] }),
        count: count('How often.'),
      },
      'A reason.',
    ),
    { maxItems: 50, description: 'Of declined and failed payments, the most frequent first.' },
  ),
  latency: Type.Union(
    [
      closed(
        {
          count: count('Card payments that were measured.'),
          p50Ms: count('Half of them took no longer, milliseconds.'),
          p95Ms: count('Nineteen of twenty took no longer, milliseconds.'),
        },
        'From the arrival of a sale to its outcome; each figure is right to a tenth.',
      ),
      Type.Null(),
    ],
    { description: 'Null where no card was read online.' },
  ),
};

/**
 * One line of a summary, with the member by which it is grouped.
 *
 * @example
 * const volume = BigInt(line.amounts[0]?.captured ?? 0);
 */
export const SummaryLine = closed(
  {
    day: Type.Optional(Day),
    hour: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 23,
        description: 'The hour on the clocks of the store; one that comes twice a day is one line.',
      }),
    ),
    merchantId: Type.Optional(identifier('The merchant.')),
    storeId: Type.Optional(
      Type.Union([Type.String({ format: 'uuid' }), Type.Null()], {
        description: 'The store; null for payments without one.',
      }),
    ),
    deviceId: Type.Optional(
      Type.Union([Type.String({ format: 'uuid' }), Type.Null()], {
        description: 'The logical device; null for payments without one.',
      }),
    ),
    scheme: Type.Optional(
      Type.String({ description: 'The scheme, or the payment type.', examples: ['Visa'] }),
    ),
    responseCategory: Type.Optional(
      Type.Union([Type.Enum([...responseCategories], { type: 'string' }), Type.Null()], {
        description: 'The category of the response; null without a response.',
      }),
    ),
    ...figures,
  },
  'A line of a summary.',
);
/** The type of {@link SummaryLine}. */
export type SummaryLine = Static<typeof SummaryLine>;

/**
 * `GET /reporting/v1/summary`: the lines and their total.
 *
 * @example
 * const { total, items } = (await response.json()) as Summary;
 */
export const Summary = closed(
  {
    from: Day,
    to: Day,
    groupBy: wordOf(summaryGroupings, { description: 'The grouping of the lines.' }),
    total: closed(figures, 'All lines together, also those of other pages.'),
    items: Type.Array(SummaryLine),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Send it as ?cursor= for the next page; null on the last one.',
    }),
    asOf: Type.String({
      format: 'date-time',
      description:
        'The summary contains everything up to this time. It lags a moment behind, and more while the platform is busy.',
      examples: ['2026-03-01T12:30:00.000Z'],
    }),
  },
  'A summary.',
);
/** The type of {@link Summary}. */
export type Summary = Static<typeof Summary>;
