// The reports that can be exported, with their filter checks and their readers.
import { defined, ProblemError, type Settlement, throwProblem } from '@switchyard/contract';
import type { ReportQueryRunner } from '../infrastructure/query-limits.ts';
import { readReportScope } from '../infrastructure/report-scope.ts';
import { parsePaymentSearch, type SearchQuery } from '../search/parse-search-filters.ts';
import type { PaymentClassCache } from '../search/payment-class-cache.ts';
import { type ScannedPayment, scanPayments } from '../search/scan-payments.ts';
import { readSettlementPage, type SettlementQuery } from '../settlements/list-settlements.ts';
import { paymentColumns, settlementColumns } from './export-columns.ts';
import type { ExportFilters, ExportSource, ExportSources } from './export-source-types.ts';

export type ExportSourceDeps = {
  readonly queries: ReportQueryRunner;
  readonly paymentClasses: PaymentClassCache;
};

type EntityFilters = { merchantId?: string; storeId?: string; deviceId?: string };

/**
 * The filters are members of the body here, so the pointers change from `?` to the report's member.
 */
function checkFilters(report: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const errors = error.errors?.map((each) => ({
      ...each,
      pointer: each.pointer.replace(/^\?/, `/${report}/`),
    }));
    throwProblem(error.code, error.detail, defined({ errors }));
  }
}

const toEntityFilters = (filters: ExportFilters): EntityFilters => filters as EntityFilters;

function createPaymentSource({
  queries,
  paymentClasses,
}: ExportSourceDeps): ExportSource<ScannedPayment> {
  return {
    columns: paymentColumns,
    check(caller, filters) {
      checkFilters('transactions', () => {
        parsePaymentSearch(
          readReportScope(caller, toEntityFilters(filters)),
          filters as SearchQuery,
        );
      });
    },
    async read({ asOf, ...owner }, filters, { after, limit }) {
      const requested = filters as SearchQuery & EntityFilters;
      const to =
        requested.to !== undefined && Date.parse(requested.to) < Date.parse(asOf)
          ? requested.to
          : asOf;
      const scope = {
        organizationId: owner.organizationId,
        merchantId: owner.merchantId ?? requested.merchantId?.toLowerCase(),
        storeId: owner.storeId ?? requested.storeId?.toLowerCase(),
        deviceId: requested.deviceId?.toLowerCase(),
      };
      const search = parsePaymentSearch(scope, { ...requested, to });
      const page = await queries.run((trx) =>
        scanPayments(trx, paymentClasses, search, { after, limit }),
      );
      return { items: page.rows, next: page.next };
    },
  };
}

function createSettlementSource({ queries }: ExportSourceDeps): ExportSource<Settlement> {
  return {
    columns: settlementColumns,
    check(caller, filters) {
      checkFilters('settlements', () => {
        const { storeId, deviceId } = readReportScope(caller, toEntityFilters(filters));
        if (storeId === undefined && deviceId === undefined) return;
        throwProblem(
          'permission_denied',
          'Settlements are available only for a merchant, not for a store. Use a token of the merchant.',
        );
      });
    },
    read({ organizationId, merchantId }, filters, page) {
      const { from, to, currency, acquirerLinkId, ...requested } = filters as SettlementQuery;
      const filter = {
        organizationId,
        merchantId: merchantId ?? requested.merchantId?.toLowerCase(),
        currency,
        from,
        to,
        acquirerLinkId: acquirerLinkId?.toLowerCase(),
      };
      return queries.run((trx) => readSettlementPage(trx, filter, page));
    },
  };
}

/** @example const sources = createExportSources({ queries, paymentClasses }); */
export const createExportSources = (deps: ExportSourceDeps): ExportSources => ({
  transactions: createPaymentSource(deps),
  settlements: createSettlementSource(deps),
});
