// The reports that can be exported, with their filter checks and their readers.
import { defined, ProblemError, type Settlement, throwProblem } from '@switchyard/contract';
import type { Queries } from '../infrastructure/query-limits.ts';
import { scopeOf } from '../infrastructure/report-scope.ts';
import type { Classes } from '../search/payment-class-cache.ts';
import { type ScannedPayment, scanPayments } from '../search/scan-payments.ts';
import { type SearchQuery, searchOf } from '../search/search-filters.ts';
import { type SettlementQuery, settlementPage } from '../settlements/list-settlements.ts';
import { paymentColumns, settlementColumns } from './export-columns.ts';
import type { ExportSource, ExportSources, Filters } from './export-source-types.ts';

export type SourcesDeps = { readonly queries: Queries; readonly classes: Classes };

type Places = { merchantId?: string; storeId?: string; deviceId?: string };

/**
 * The filters are members of the body here, so the pointers change from `?` to the report's member.
 */
function checked(report: string, check: () => void): void {
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

const placesOf = (filters: Filters): Places => filters as Places;

function paymentSource({ queries, classes }: SourcesDeps): ExportSource<ScannedPayment> {
  return {
    columns: paymentColumns,
    check(caller, filters) {
      checked('transactions', () => {
        searchOf(scopeOf(caller, placesOf(filters)), filters as SearchQuery);
      });
    },
    async read({ asOf, ...owner }, filters, { after, limit }) {
      const asked = filters as SearchQuery & Places;
      const to =
        asked.to !== undefined && Date.parse(asked.to) < Date.parse(asOf) ? asked.to : asOf;
      const scope = {
        organizationId: owner.organizationId,
        merchantId: owner.merchantId ?? asked.merchantId?.toLowerCase(),
        storeId: owner.storeId ?? asked.storeId?.toLowerCase(),
        deviceId: asked.deviceId?.toLowerCase(),
      };
      const search = searchOf(scope, { ...asked, to });
      const part = await queries.ask((run) => scanPayments(run, classes, search, { after, limit }));
      return { items: part.rows, next: part.next };
    },
  };
}

function settlementSource({ queries }: SourcesDeps): ExportSource<Settlement> {
  return {
    columns: settlementColumns,
    check(caller, filters) {
      checked('settlements', () => {
        const { storeId, deviceId } = scopeOf(caller, placesOf(filters));
        if (storeId === undefined && deviceId === undefined) return;
        throwProblem('permission_denied', 'Settlements are of a whole merchant.');
      });
    },
    read({ organizationId, merchantId }, filters, page) {
      const { from, to, currency, acquirerLinkId, ...asked } = filters as SettlementQuery;
      const filter = {
        organizationId,
        merchantId: merchantId ?? asked.merchantId?.toLowerCase(),
        currency,
        from,
        to,
        acquirerLinkId: acquirerLinkId?.toLowerCase(),
      };
      return queries.ask((run) => settlementPage(run, filter, page));
    },
  };
}

/** @example const sources = exportSources({ queries, classes }); */
export const exportSources = (deps: SourcesDeps): ExportSources => ({
  transactions: paymentSource(deps),
  settlements: settlementSource(deps),
});
