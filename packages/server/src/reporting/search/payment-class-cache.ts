// Caches the classes of an organisation's payments; most filters select a set of classes.
import type { Clock, Queries } from '../../platform/index.ts';
import type { GroupFilters } from '../infrastructure/group-filters.ts';
import type { PaymentGroup } from '../projection/reported-payment-types.ts';

export type PaymentClass = PaymentGroup & {
  readonly classId: number;
  readonly state: string;
  /** The current number of payments in the class. */
  readonly payments: number;
  /** Payments of a frequent class are not in the index of classes. */
  readonly isFrequent: boolean;
};

export const paymentClassesSql = `SELECT c.class_id AS "classId", c.state, c.payments, c.is_frequent AS "isFrequent", g.kind, g.scheme,
    g.entry_mode AS "entryMode", g.category, g.reason, g.currency
  FROM report_classes c JOIN report_groups g ON g.organization_id = c.organization_id
    AND g.group_id = c.group_id
  WHERE c.organization_id = $1`;

const cacheTtlMs = 1_000;
const cachedOrganizationsMax = 200;

type CacheEntry = {
  readonly until: number;
  readonly classes: Promise<ReadonlyMap<number, PaymentClass>>;
};

export type PaymentClassCache = {
  read(queries: Queries, organizationId: string): Promise<ReadonlyMap<number, PaymentClass>>;
  clear(organizationId: string): void;
};

/** @example const all = await paymentClasses.read(run, organizationId); */
export function createPaymentClassCache(clock: Clock): PaymentClassCache {
  const cache = new Map<string, CacheEntry>();

  async function readClasses(queries: Queries, organizationId: string) {
    const rows = await queries.query<PaymentClass>(paymentClassesSql, [organizationId]);
    return new Map(rows.map((row) => [row.classId, row]));
  }

  return {
    read(queries, organizationId) {
      const cached = cache.get(organizationId);
      const now = clock.now();
      if (cached !== undefined && cached.until > now) return cached.classes;
      const classes = readClasses(queries, organizationId);
      cache.delete(organizationId);
      cache.set(organizationId, { until: now + cacheTtlMs, classes });
      classes.catch(() => cache.delete(organizationId));
      const [oldest] = cache.keys();
      if (cache.size > cachedOrganizationsMax && oldest !== undefined) cache.delete(oldest);
      return classes;
    },
    clear: (organizationId) => void cache.delete(organizationId),
  };
}

const isAllowed = (allowed: readonly string[] | undefined, value: string): boolean =>
  allowed === undefined || allowed.includes(value);

export const matchesFilters = (
  filters: GroupFilters,
  paymentClass: PaymentGroup & { readonly state: string },
): boolean =>
  (filters.kind === undefined || filters.kind === paymentClass.kind) &&
  isAllowed(filters.scheme, paymentClass.scheme) &&
  isAllowed(filters.currency, paymentClass.currency) &&
  isAllowed(filters.responseCategory, paymentClass.category) &&
  isAllowed(filters.entryMode, paymentClass.entryMode) &&
  isAllowed(filters.state, paymentClass.state);
