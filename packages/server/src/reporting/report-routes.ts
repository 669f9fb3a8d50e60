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
import type { ReportQueryRunner } from './infrastructure/query-limits.ts';
import { readReportScope } from './infrastructure/report-scope.ts';
import { findPayments } from './search/find-payments.ts';
import { getPaymentDetail } from './search/get-payment-detail.ts';
import { formatPagePosition, parsePagePosition } from './search/page-position.ts';
import { parsePaymentSearch } from './search/parse-search-filters.ts';
import type { PaymentClassCache } from './search/payment-class-cache.ts';
import { toPaymentView } from './search/payment-view.ts';
import { getSettlement, listSettlementsInScope } from './settlements/list-settlements.ts';
import { settlementIdFormat } from './settlements/settlement-id.ts';
import { parseSummaryRequest } from './summary/parse-summary-request.ts';
import { summarize } from './summary/summarize.ts';

export type ReportRoutesDeps = {
  readonly queries: ReportQueryRunner;
  readonly paymentClasses: PaymentClassCache;
  readonly clock: Clock;
};

const base = '/reporting/v1';
const commonOptions = {
  method: 'GET',
  tags: ['Reporting'],
  permission: 'rep.read',
  priority: 'report',
} as const;
const errors = ['entity_out_of_scope', 'database_unavailable', 'overloaded'] as const;

const positionPattern =
  /^(?<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Accepts only a valid time, because PostgreSQL fails on any other. */
const positionFormat = {
  test(text: string): boolean {
    const at = positionPattern.exec(text)?.groups?.['at'];
    return at !== undefined && isTimestamp(at);
  },
};
const lineKeyPattern = /^\d{1,15}\|[A-Za-z0-9._-]{0,80}$/;
/** Accepts only UUIDs for merchants, stores and devices, because PostgreSQL compares them. */
const entityLineKeyPattern = /^\d{1,15}\|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const lineKeyPatternFor = (groupBy: string | undefined) =>
  ['merchant', 'store', 'device'].includes(groupBy ?? '') ? entityLineKeyPattern : lineKeyPattern;

function registerSearch(app: FastifyInstance, { queries, paymentClasses }: ReportRoutesDeps): void {
  const operationId = 'listReportedPayments';
  route(app, {
    ...commonOptions,
    url: `${base}/transactions`,
    operationId,
    summary: 'List the reported payments',
    description:
      'Card and QR payments that the token may see, newest first. The list is updated shortly ' +
      'after each payment, and later while the platform is busy. A payment appears once it has an ' +
      'outcome, or waits for one at its provider. A page may be short or empty although more ' +
      'follow; only the last page has no nextCursor.',
    query: Type.Object({ ...pageQuery, ...paymentSearch }, { additionalProperties: false }),
    response: { 200: ReportedPaymentList },
    errors: [...errors, 'cursor_invalid', 'field_invalid'],
    async handler({ caller, query }) {
      const search = parsePaymentSearch(readReportScope(caller, query), query);
      const { limit, after } = readPageRequest(query, operationId, positionFormat);
      const searchPage = {
        limit,
        isAscending: query.order === 'OldestFirst',
        after: parsePagePosition(after),
      };
      const resultPage = await queries.run((trx) =>
        findPayments(trx, paymentClasses, search, searchPage),
      );
      const next = resultPage.next === undefined ? undefined : formatPagePosition(resultPage.next);
      return pageResponse(
        { items: resultPage.payments.map(toPaymentView), next },
        query,
        operationId,
      );
    },
  });
  route(app, {
    ...commonOptions,
    url: `${base}/transactions/:transactionId`,
    operationId: 'getReportedPayment',
    summary: 'Get a reported payment',
    params: Type.Object({ transactionId: Type.String({ format: 'uuid' }) }),
    response: { 200: ReportedPaymentDetail },
    errors: [...errors, 'transaction_not_found'],
    handler: async ({ caller, params }) =>
      queries.run((trx) => getPaymentDetail(trx, caller, params.transactionId)),
  });
}

function registerSummary(app: FastifyInstance, { queries, clock }: ReportRoutesDeps): void {
  const operationId = 'getPaymentSummary';
  route(app, {
    ...commonOptions,
    url: `${base}/summary`,
    operationId,
    summary: 'Get a summary of payments',
    description:
      'A payment counts on the local day of its store on which it was created; an amount counts on ' +
      'the day on which it moved. The sums are exact to the minor unit.',
    query: Type.Object({ ...pageQuery, ...summaryQuery }, { additionalProperties: false }),
    response: { 200: Summary },
    errors: [...errors, 'cursor_invalid', 'field_invalid'],
    async handler({ caller, query }) {
      const request = parseSummaryRequest(readReportScope(caller, query), query);
      const { limit, after } = readPageRequest(
        query,
        operationId,
        lineKeyPatternFor(query.groupBy),
      );
      const [count = '', ...key] = after?.split('|') ?? [];
      const lastLine =
        after === undefined ? undefined : { count: Number(count), key: key.join('|') };
      const { next, items, ...rest } = await queries.run((trx) =>
        summarize(trx, request, { limit, after: lastLine }, clock.now()),
      );
      const last = next === undefined ? undefined : `${next.count}|${next.key}`;
      return { ...rest, ...pageResponse({ items, next: last }, query, operationId) };
    },
  });
}

function registerSettlements(app: FastifyInstance, { queries }: ReportRoutesDeps): void {
  const operationId = 'listSettlements';
  route(app, {
    ...commonOptions,
    url: `${base}/settlements`,
    operationId,
    summary: 'List the settlements',
    query: Type.Object({ ...pageQuery, ...settlementFilters }, { additionalProperties: false }),
    response: { 200: SettlementList },
    errors: [...errors, 'permission_denied', 'cursor_invalid'],
    async handler({ caller, query }) {
      const page = readPageRequest(query, operationId, settlementIdFormat);
      const resultPage = await queries.run((trx) =>
        listSettlementsInScope(trx, caller, query, page),
      );
      return pageResponse(resultPage, query, operationId);
    },
  });
  route(app, {
    ...commonOptions,
    url: `${base}/settlements/:settlementId`,
    operationId: 'getSettlement',
    summary: 'Get a settlement',
    params: Type.Object({ settlementId: Type.String({ maxLength: 64 }) }),
    response: { 200: SettlementDetail },
    errors: [...errors, 'permission_denied', 'settlement_not_found'],
    handler: async ({ caller, params }) =>
      queries.run((trx) => getSettlement(trx, caller, params.settlementId)),
  });
}

export function registerReportRoutes(app: FastifyInstance, deps: ReportRoutesDeps): void {
  registerSearch(app, deps);
  registerSummary(app, deps);
  registerSettlements(app, deps);
}
