// SQL for the lines of payments and their movements: some payments in one statement.
import { encodeSimpleArray, encodeTextArray, withStatementName } from '../../platform/index.ts';
import type { RunQuery } from '../infrastructure/run-query.ts';
import type { PaymentLine, Reported } from './reported-payment-types.ts';

export type KnownPayment = { paymentId: string; classId: number; counted: number };

export type NumberedLine = Pick<Reported, 'line' | 'moves'> & { readonly classId: number };

type Column = {
  readonly name: string;
  readonly type: string;
  readonly of: (each: NumberedLine) => string | number | undefined;
  /** Texts from clients, hosts or providers. */
  readonly isText?: true;
  /** Columns without this flag never change, and are written only once. */
  readonly changes?: true;
};

const column = (
  name: string,
  type: string,
  of: (line: PaymentLine) => string | number | undefined,
  more: Pick<Column, 'isText' | 'changes'> = {},
): Column => ({ name, type, of: ({ line }) => of(line), ...more });

const free = { isText: true } as const;
const changing = { changes: true } as const;

const columns: readonly Column[] = [
  column('created_at', 'timestamptz', (line) => line.createdAt),
  column('payment_id', 'uuid', (line) => line.paymentId),
  { name: 'class_id', type: 'integer', of: ({ classId }) => classId, changes: true },
  column('counted', 'integer', (line) => line.version, changing),
  column('merchant_id', 'uuid', (line) => line.merchantId),
  column('store_id', 'uuid', (line) => line.storeId),
  column('device_id', 'uuid', (line) => line.deviceId),
  column('link_id', 'uuid', (line) => line.linkId, changing),
  column('amount', 'bigint', (line) => line.amount),
  column('authorized', 'bigint', (line) => line.authorized, changing),
  column('captured', 'bigint', (line) => line.captured, changing),
  column('cancelled', 'bigint', (line) => line.cancelled, changing),
  column('refunded', 'bigint', (line) => line.refunded, changing),
  column('client_transaction_id', 'text', (line) => line.clientTransactionId, free),
  column('order_id', 'text', (line) => line.orderId, free),
  column('retrieval_reference', 'text', (line) => line.retrievalReference, {
    ...free,
    ...changing,
  }),
  column('authorization_code', 'text', (line) => line.authorizationCode, { ...free, ...changing }),
  column('masked_number', 'text', (line) => line.maskedNumber, free),
  column('card_token', 'uuid', (line) => line.cardToken),
  column('response_code', 'text', (line) => line.responseCode, { ...free, ...changing }),
  column('is_offline', 'boolean', (line) => String(line.isOffline)),
  column('day', 'date', (line) => line.day),
  column('time_zone', 'text', (line) => line.timeZone, free),
  column('updated_at', 'timestamptz', (line) => line.updatedAt, changing),
];

const names = columns.map(({ name }) => name);
/** $1 is the organisation. */
const firstColumn = 2;
const placeOf = (name: string): string => {
  const at = names.indexOf(name);
  return `$${at + firstColumn}::${columns[at]?.type}[]`;
};

/** A movement; `at` is the position of its payment among the lines, starting at 1. */
type Moved = { readonly at: number } & Record<
  'settlementDate' | 'kind' | 'merchantNumber' | 'terminal' | 'trace' | 'reference' | 'movedAt',
  string
> & { readonly number: number; readonly amount: number; readonly currency: string };

function movedOf(lines: readonly NumberedLine[], known: Known): Moved[] {
  return lines.flatMap(({ line, moves }, place) => {
    if (line.linkId === undefined) return [];
    const counted = known.get(line.paymentId)?.counted ?? 0;
    return [...moves].flatMap(([sequence, all]) =>
      all.flatMap(({ date, kind, amount, movement }) =>
        movement === undefined || sequence <= counted || sequence > line.version
          ? []
          : {
              at: place + 1,
              settlementDate: date,
              number: movement.number,
              kind,
              amount,
              currency: line.group.currency,
              merchantNumber: movement.merchantNumber,
              terminal: movement.terminal,
              trace: movement.trace,
              reference: movement.retrievalReference,
              movedAt: movement.movedAt,
            },
      ),
    );
  });
}

const movedColumns = [
  ['at', 'integer'],
  ['settlementDate', 'date'],
  ['number', 'integer'],
  ['kind', 'text'],
  ['amount', 'bigint'],
  ['currency', 'text'],
  ['merchantNumber', 'text'],
  ['terminal', 'text'],
  ['trace', 'text'],
  ['reference', 'text'],
  ['movedAt', 'timestamptz'],
] as const satisfies readonly (readonly [keyof Moved, string])[];

const asText = (value: string | number | undefined) =>
  value === undefined ? undefined : String(value);

const firstMoved = firstColumn + columns.length;
const ofLine = (name: string) => `(${placeOf(name)})[m."at"]`;

/**
 * Returns the written lines. The statement scans no table, so its plan is good at any table size.
 */
const linesTextOf = (name: string, onConflict: string) =>
  withStatementName(
    name,
    `WITH kept AS (
    INSERT INTO report_payments AS p (organization_id, last_four, ${names.join(', ')})
    SELECT $1, right(r.masked_number, 4), ${names.map((name) => `r.${name}`).join(', ')}
    FROM unnest(${names.map(placeOf).join(', ')}) AS r(${names.join(', ')})
    ON CONFLICT (organization_id, created_at, payment_id) DO ${onConflict}
    RETURNING payment_id
  ), moved AS (
    INSERT INTO report_movements (organization_id, link_id, payment_id, merchant_id, authorization_code,
      masked_number, settlement_date, number, kind, amount, currency, acquirer_merchant_number, terminal,
      trace_number, retrieval_reference, moved_at)
    SELECT $1, ${ofLine('link_id')}, ${ofLine('payment_id')}, ${ofLine('merchant_id')},
      ${ofLine('authorization_code')}, ${ofLine('masked_number')}, m."settlementDate", m.number, m.kind,
      m.amount, m.currency, m."merchantNumber", m.terminal, m.trace, m.reference, m."movedAt"
    FROM unnest(${movedColumns.map(([, type], i) => `$${firstMoved + i}::${type}[]`).join(', ')})
      AS m(${movedColumns.map(([name]) => `"${name}"`).join(', ')})
    WHERE ${ofLine('payment_id')} IN (SELECT payment_id FROM kept)
    ON CONFLICT (organization_id, link_id, settlement_date, payment_id, number) DO NOTHING
  )
  SELECT payment_id AS "paymentId" FROM kept`,
  );

const changed = columns.filter(({ changes }) => changes).map(({ name }) => name);

export const newLinesText = linesTextOf('report-new-lines', 'NOTHING');
/** A line whose events are already counted stays unchanged. */
export const laterLinesText = linesTextOf(
  'report-later-lines',
  `UPDATE SET ${changed.map((name) => `${name} = excluded.${name}`).join(', ')}
    WHERE p.counted < excluded.counted`,
);

export const knownText = `SELECT p.payment_id AS "paymentId", p.class_id AS "classId", p.counted
  FROM unnest($2::timestamptz[], $3::uuid[]) AS r(created_at, payment_id)
  CROSS JOIN LATERAL (SELECT * FROM report_payments WHERE organization_id = $1
    AND created_at = r.created_at AND payment_id = r.payment_id LIMIT 1) p`;

type Known = ReadonlyMap<string, KnownPayment>;

function linesValues(organizationId: string, lines: readonly NumberedLine[], known: Known) {
  const moved = movedOf(lines, known);
  return [
    organizationId,
    ...columns.map(({ of, isText }) => {
      const values = lines.map(of);
      return isText === true ? encodeTextArray(values.map(asText)) : encodeSimpleArray(values);
    }),
    ...movedColumns.map(([name, type]) => {
      const values = moved.map((each) => each[name]);
      return type === 'text' ? encodeTextArray(values.map(asText)) : encodeSimpleArray(values);
    }),
  ];
}

/** Writes the current lines, and returns the earlier state of those that existed. */
export async function writeLines(
  run: RunQuery,
  organizationId: string,
  lines: readonly NumberedLine[],
): Promise<Known> {
  type Kept = Pick<KnownPayment, 'paymentId'>;
  const kept = await run<Kept>(newLinesText, linesValues(organizationId, lines, new Map()));
  if (kept.length === lines.length) return new Map();
  const fresh = new Set(kept.map(({ paymentId }) => paymentId));
  const later = lines.filter(({ line }) => !fresh.has(line.paymentId));
  const found = await run<KnownPayment>(knownText, [
    organizationId,
    encodeSimpleArray(later.map(({ line }) => line.createdAt)),
    encodeSimpleArray(later.map(({ line }) => line.paymentId)),
  ]);
  const known = new Map(found.map((each) => [each.paymentId, each]));
  await run<Kept>(laterLinesText, linesValues(organizationId, later, known));
  return known;
}
