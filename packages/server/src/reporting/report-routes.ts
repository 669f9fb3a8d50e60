// HTTP routes for reports, version 1.
import {
  paymentSearch,
  ReportedPaymentDetail,
  ReportedPaymentList,
  SettlementDetail,
  SettlementList,
  Summary,
  settlementFilters,
  summaryQuery,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { isTimestamp, pageQuery, pageResponse, readPageRequest, route } from '../http/index.ts';
import type { Clock } from '../platform/index.ts';
import type { Queries } from './infrastructure/query-limits.ts';
import { scopeOf } from './infrastructure/report-scope.ts';
import { findLines } from './search/find-payments.ts';
import { paymentDetail } from './search/get-payment-detail.ts';
import { readPlace, writePlace } from './search/page-position.ts';
import type { Classes } from './search/payment-class-cache.ts';
import { viewLine } from './search/payment-view.ts';
import { searchOf } from './search/search-filters.ts';
import { settlement, settlements } from './settlements/list-settlements.ts';
import { settlementIdForm } from './settlements/settlement-id.ts';
import { requestOf } from './summary/parse-summary-request.ts';
import { summarize } from './summary/summarize.ts';

export type ReportRoutesDeps = {
  readonly queries: Queries;
  readonly classes: Classes;
  readonly clock: Clock;
};

const base = '/reporting/v1';
const common = {
  method: 'GET',
  tags: ['Reporting'],
  permission: 'rep.read',
  priority: 'report',
} as const;
const errors = ['entity_out_of_scope', 'database_unavailable', 'overloaded'] as const;

const placeText =
  /^(?<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Accepts only a valid time, because PostgreSQL fails on any other. */
const placeForm = {
  test(text: string): boolean {
    const at = placeText.exec(text)?.groups?.['at'];
    return at !== undefined && isTimestamp(at);
  },
};
const lineForm = /^\d{1,15}\|[A-Za-z0-9._-]{0,80}$/;
/** Accepts only UUIDs for merchants, stores and devices, because PostgreSQL compares them. */
const placeLineForm = /^\d{1,15}\|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const lineFormOf = (groupBy: string | undefined) =>
  ['merchant', 'store', 'device'].includes(groupBy ?? '') ? placeLineForm : lineForm;

function registerSearch(app: FastifyInstance, { queries, classes }: ReportRoutesDeps): void {
  const operationId = 'listReportedPayments';
  route(app, {
    ...common,
    url: `${base}/transactions`,
    operationId,
    summary: 'List the reported payments',
    description:
      'Payments by cards and by codes, of everything that the token is good for, the newest first. It is ' +
      'filled behind the payments: a change is seen a moment later, and more while the platform is ' +
      'busy. A payment is listed once it has an outcome or waits for one at its provider. A page may be ' +
      'short, or empty, and lead on: the last one has no nextCursor.',
    query: Type.Object({ ...pageQuery, ...paymentSearch }, { additionalProperties: false }),
    response: { 200: ReportedPaymentList },
    errors: [...errors, 'cursor_invalid', 'field_invalid'],
    async handler({ caller, query }) {
      const search = searchOf(scopeOf(caller, query), query);
      const { limit, after } = readPageRequest(query, operationId, placeForm);
      const cut = { limit, isAscending: query.order === 'OldestFirst', after: readPlace(after) };
      const found = await queries.ask((run) => findLines(run, classes, search, cut));
      const next = found.next === undefined ? undefined : writePlace(found.next);
      return pageResponse({ items: found.lines.map(viewLine), next }, query, operationId);
    },
  });
  route(app, {
    ...common,
    url: `${base}/transactions/:transactionId`,
    operationId: 'getReportedPayment',
    summary: 'Get a reported payment',
    params: Type.Object({ transactionId: Type.String({ format: 'uuid' }) }),
    response: { 200: ReportedPaymentDetail },
    errors: [...errors, 'transaction_not_found'],
    handler: async ({ caller, params }) =>
      queries.ask((run) => paymentDetail(run, caller, params.transactionId)),
  });
}

function registerSummary(app: FastifyInstance, { queries, clock }: ReportRoutesDeps): void {
  const operationId = 'getPaymentSummary';
  route(app, {
    ...common,
    url: `${base}/summary`,
    operationId,
    summary: 'Get a summary of payments',
    description:
      'A payment counts on the day of its store on which it was made; money counts on the day on which ' +
      'it moved. Summed up as payments happen, and right to the minor unit.',
    query: Type.Object({ ...pageQuery, ...summaryQuery }, { additionalProperties: false }),
    response: { 200: Summary },
    errors: [...errors, 'cursor_invalid', 'field_invalid'],
    async handler({ caller, query }) {
      const request = requestOf(scopeOf(caller, query), query);
      const { limit, after } = readPageRequest(query, operationId, lineFormOf(query.groupBy));
      const [count = '', ...key] = after?.split('|') ?? [];
      const mark = after === undefined ? undefined : { count: Number(count), key: key.join('|') };
      const { next, items, ...rest } = await queries.ask((run) =>
        summarize(run, request, { limit, after: mark }, clock.now()),
      );
      const last = next === undefined ? undefined : `${next.count}|${next.key}`;
      return { ...rest, ...pageResponse({ items, next: last }, query, operationId) };
    },
  });
}

function registerSettlements(app: FastifyInstance, { queries }: ReportRoutesDeps): void {
  const operationId = 'listSettlements';
  route(app, {
    ...common,
    url: `${base}/settlements`,
    operationId,
    summary: 'List the settlements',
    query: Type.Object({ ...pageQuery, ...settlementFilters }, { additionalProperties: false }),
    response: { 200: SettlementList },
    errors: [...errors, 'permission_denied', 'cursor_invalid'],
    async handler({ caller, query }) {
      const page = readPageRequest(query, operationId, settlementIdForm);
      const found = await queries.ask((run) => settlements(run, caller, query, page));
      return pageResponse(found, query, operationId);
    },
  });
  route(app, {
    ...common,
    url: `${base}/settlements/:settlementId`,
    operationId: 'getSettlement',
    summary: 'Get a settlement',
    params: Type.Object({ settlementId: Type.String({ maxLength: 64 }) }),
    response: { 200: SettlementDetail },
    errors: [...errors, 'permission_denied', 'settlement_not_found'],
    handler: async ({ caller, params }) =>
      queries.ask((run) => settlement(run, caller, params.settlementId)),
  });
}

export function registerReports(app: FastifyInstance, deps: ReportRoutesDeps): void {
  registerSearch(app, deps);
  registerSummary(app, deps);
  registerSettlements(app, deps);
}
