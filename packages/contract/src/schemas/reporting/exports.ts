/** Schemas of exports: reports that the platform writes in the background for a later download. */
import { type Static, Type } from 'typebox';
import { closed } from '../values-and-problems/resource-schemas.ts';
import {
  ClientIdentifier,
  pageOf,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';
import { paymentSearch } from './reported-payments.ts';
import { settlementFilters } from './settlements.ts';

/**
 * The formats of an export.
 *
 * @example
 * exportFormats.includes('Csv'); // true
 */
export const exportFormats = ['Csv', 'JsonLines'] as const;
/** One of {@link exportFormats}. */
export type ExportFormat = (typeof exportFormats)[number];

/**
 * The reports that can be exported. Each is a member of the request and contains its filters.
 *
 * @example
 * exportReports.includes('transactions'); // true
 */
export const exportReports = ['transactions', 'settlements'] as const;
/** One of {@link exportReports}. */
export type ExportReport = (typeof exportReports)[number];

/**
 * The states of an export.
 *
 * @example
 * const isOver = state !== 'Pending' && state !== 'Running';
 */
export const exportStates = ['Pending', 'Running', 'Completed', 'Failed', 'Cancelled'] as const;
/** One of {@link exportStates}. */
export type ExportState = (typeof exportStates)[number];

const { order: _order, ...transactionFilters } = paymentSearch;

/**
 * `POST /reporting/v1/exports`: a format, and one report with its filters.
 *
 * @example
 * const order: ExportRequest = { format: 'Csv', transactions: { state: 'Captured' } };
 */
export const ExportRequest = closed(
  {
    clientOperationId: Type.Optional(ClientIdentifier),
    format: wordOf(exportFormats, {
      description: 'Csv after RFC 4180, or a JSON object in each line.',
    }),
    transactions: Type.Optional(
      closed(transactionFilters, 'Payments, the oldest first; the filters of their search.'),
    ),
    settlements: Type.Optional(
      closed(settlementFilters, 'Settlements, the last day first; the filters of their list.'),
    ),
  },
  'An order of an export; exactly one report.',
);
/** The type of {@link ExportRequest}. */
export type ExportRequest = Static<typeof ExportRequest>;

/**
 * An export, as the API returns it.
 *
 * @example
 * const { state, rows } = (await response.json()) as Export;
 */
export const Export = closed(
  {
    exportId: Uuid,
    report: wordOf(exportReports, { description: 'The report to export.' }),
    format: wordOf(exportFormats, { description: 'The form that it comes in.' }),
    filters: Type.Record(Type.String(), Type.Unknown(), {
      description: 'The filters, as they were ordered.',
    }),
    state: wordOf(exportStates, { description: 'The state of the export.' }),
    rows: Type.Integer({ minimum: 0, description: 'Lines so far, less the head of a CSV.' }),
    bytes: Type.Integer({ minimum: 0, description: 'Length so far.' }),
    fileName: Type.String({
      description: 'The name under which it is fetched.',
      examples: ['transactions-20260301-123000.csv'],
    }),
    failure: Type.Optional(
      Type.String({ description: 'Why it has failed.', examples: ['too_many_rows'] }),
    ),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    completedAt: Type.Optional(Timestamp),
    expiresAt: { ...Timestamp, description: 'When it is deleted.' },
  },
  'An export.',
);
/** The type of {@link Export}. */
export type Export = Static<typeof Export>;

/**
 * One page of exports, the newest first.
 *
 * @example
 * const { items, nextCursor } = (await response.json()) as Static<typeof ExportPage>;
 */
export const ExportList = pageOf(Export);
