// SQL for the lines of payments and their movements: some payments in one statement.
import {
  encodeSimpleArray,
  encodeTextArray,
  type PreparedStatement,
  type Queries,
} from '../../platform/index.ts';
import type { PaymentLine, ProjectedPayment } from './reported-payment-types.ts';

export type StoredPayment = { paymentId: string; classId: number; counted: number };

export type LineWithIds = Pick<ProjectedPayment, 'line' | 'movements'> & {
  readonly classId: number;
  /** Undefined for a frequent class, whose payments are not indexed by class. */
  readonly rareClassId: number | undefined;
};

type Column = {
  readonly name: string;
  readonly type: string;
  readonly readValue: (each: LineWithIds) => string | number | undefined;
  /** Texts from clients, hosts or providers. */
  readonly isText?: true;
  /** Columns without this flag never change, and are written only once. */
  readonly changes?: true;
};

const column = (
  name: string,
  type: string,
  readValue: (line: PaymentLine) => string | number | undefined,
  more: Pick<Column, 'isText' | 'changes'> = {},
): Column => ({ name, type, readValue: ({ line }) => readValue(line), ...more });

const freeText = { isText: true } as const;
const changingColumn = { changes: true } as const;
const changingText = { ...freeText, ...changingColumn } as const;

const columns: readonly Column[] = [
  column('created_at', 'timestamptz', (line) => line.createdAt),
  column('payment_id', 'uuid', (line) => line.paymentId),
  { name: 'class_id', type: 'integer', readValue: ({ classId }) => classId, changes: true },
  {
    name: 'rare_class_id',
    type: 'integer',
    readValue: ({ rareClassId }) => rareClassId,
    changes: true,
  },
  column('counted', 'integer', (line) => line.version, changingColumn),
  column('merchant_id', 'uuid', (line) => line.merchantId),
  column('store_id', 'uuid', (line) => line.storeId),
  column('device_id', 'uuid', (line) => line.deviceId),
  column('link_id', 'uuid', (line) => line.linkId, changingColumn),
  column('amount', 'bigint', (line) => line.amount),
  column('authorized', 'bigint', (line) => line.authorized, changingColumn),
  column('captured', 'bigint', (line) => line.captured, changingColumn),
  column('cancelled', 'bigint', (line) => line.cancelled, changingColumn),
  column('refunded', 'bigint', (line) => line.refunded, changingColumn),
  column('client_transaction_id', 'text', (line) => line.clientTransactionId, freeText),
  column('order_id', 'text', (line) => line.orderId, freeText),
  column('retrieval_reference', 'text', (line) => line.retrievalReference, changingText),
  column('authorization_code', 'text', (line) => line.authorizationCode, changingText),
  column('masked_number', 'text', (line) => line.maskedNumber, freeText),
  column('card_token', 'uuid', (line) => line.cardToken),
  column('response_code', 'text', (line) => line.responseCode, changingText),
  column('is_offline', 'boolean', (line) => String(line.isOffline)),
  column('day', 'date', (line) => line.day),
  column('updated_at', 'timestamptz', (line) => line.updatedAt, changingColumn),
  column('settlement_date', 'date', ({ saleCapture }) => saleCapture?.date, changingColumn),
  column('settled', 'bigint', ({ saleCapture }) => saleCapture?.amount, changingColumn),
  column(
    'settled_currency',
    'text',
    ({ saleCapture, group }) => (saleCapture === undefined ? undefined : group.currency),
    changingText,
  ),
  column(
    'acquirer_merchant_number',
    'text',
    ({ saleCapture }) => saleCapture?.merchantNumber,
    changingText,
  ),
  column('terminal', 'text', ({ saleCapture }) => saleCapture?.terminal, changingText),
  column('trace_number', 'text', ({ saleCapture }) => saleCapture?.trace, changingText),
];

const columnNames = columns.map(({ name }) => name);
/** $1 is the organisation. */
const firstColumnParameter = 2;
const parameterOf = (name: string): string => {
  const at = columnNames.indexOf(name);
  return `$${at + firstColumnParameter}::${columns[at]?.type}[]`;
};

/** A movement; `at` is the position of its payment among the lines, starting at 1. */
type NewMovement = { readonly at: number } & Record<
  'settlementDate' | 'kind' | 'merchantNumber' | 'terminal' | 'trace' | 'reference',
  string
> & { readonly number: number; readonly amount: number; readonly currency: string };

function listNewMovements(lines: readonly LineWithIds[], stored: StoredPayments): NewMovement[] {
  return lines.flatMap(({ line, movements }, index) => {
    if (line.linkId === undefined) return [];
    const countedEvents = stored.get(line.paymentId)?.counted ?? 0;
    return [...movements].flatMap(([sequence, all]) =>
      all.flatMap(({ date, kind, amount, references }) =>
        references === undefined || sequence <= countedEvents || sequence > line.version
          ? []
          : {
              at: index + 1,
              settlementDate: date,
              number: references.number,
              kind,
              amount,
              currency: line.group.currency,
              merchantNumber: references.merchantNumber,
              terminal: references.terminal,
              trace: references.trace,
              reference: references.retrievalReference,
            },
      ),
    );
  });
}

const movementColumns = [
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
] as const satisfies readonly (readonly [keyof NewMovement, string])[];

const toText = (value: string | number | undefined) =>
  value === undefined ? undefined : String(value);

const firstMovementParameter = firstColumnParameter + columns.length;
const lineValueSql = (name: string) => `(${parameterOf(name)})[m."at"]`;

const linesSql = `unnest(${columnNames.map(parameterOf).join(', ')}) AS r(${columnNames.join(', ')})`;
const insertSql = `INSERT INTO report_payments AS p (organization_id, ${columnNames.join(', ')})
    SELECT $1, ${columnNames.map((name) => `r.${name}`).join(', ')} FROM ${linesSql}`;
const insertMovementsSql = `INSERT INTO report_movements (organization_id, link_id, payment_id, merchant_id,
      authorization_code, masked_number, settlement_date, number, kind, amount, currency, acquirer_merchant_number,
      terminal, trace_number, retrieval_reference)
    SELECT $1, ${lineValueSql('link_id')}, ${lineValueSql('payment_id')}, ${lineValueSql('merchant_id')},
      ${lineValueSql('authorization_code')}, ${lineValueSql('masked_number')}, m."settlementDate", m.number, m.kind,
      m.amount, m.currency, m."merchantNumber", m.terminal, m.trace, m.reference
    FROM unnest(${movementColumns.map(([, type], i) => `$${firstMovementParameter + i}::${type}[]`).join(', ')})
      AS m(${movementColumns.map(([name]) => `"${name}"`).join(', ')})
    WHERE ${lineValueSql('payment_id')} IN (SELECT payment_id FROM written)
    ON CONFLICT (organization_id, link_id, settlement_date, payment_id, number) DO NOTHING`;

/**
 * Writes the lines of new payments, and returns the others. Only one process writes the lines of an
 * organisation, so the statement looks them up instead of ON CONFLICT, which writes more to the
 * write-ahead log. It scans no table, so its plan is good at any table size.
 */
export const insertLinesSql: PreparedStatement = {
  name: 'report-new-lines',
  text: `WITH stored AS MATERIALIZED (
    SELECT p.payment_id, p.class_id, p.counted
    FROM unnest(${parameterOf('created_at')}, ${parameterOf('payment_id')}) AS r(created_at, payment_id)
    CROSS JOIN LATERAL (SELECT * FROM report_payments WHERE organization_id = $1
      AND created_at = r.created_at AND payment_id = r.payment_id LIMIT 1) p
  ), written AS (
    ${insertSql} WHERE r.payment_id NOT IN (SELECT payment_id FROM stored) RETURNING payment_id
  ), moved AS (${insertMovementsSql})
  SELECT payment_id AS "paymentId", class_id AS "classId", counted FROM stored`,
};

const changingColumnNames = columns.filter(({ changes }) => changes).map(({ name }) => name);

/** A line whose events are already counted stays unchanged. */
export const updateLinesSql: PreparedStatement = {
  name: 'report-later-lines',
  text: `WITH written AS (
    ${insertSql} ON CONFLICT (organization_id, created_at, payment_id) DO UPDATE
      SET ${changingColumnNames.map((name) => `${name} = excluded.${name}`).join(', ')}
      WHERE p.counted < excluded.counted
    RETURNING payment_id
  )
  ${insertMovementsSql}`,
};

type StoredPayments = ReadonlyMap<string, StoredPayment>;

export function buildLinesValues(
  organizationId: string,
  lines: readonly LineWithIds[],
  stored: StoredPayments,
) {
  const movements = listNewMovements(lines, stored);
  return [
    organizationId,
    ...columns.map(({ readValue, isText }) => {
      const values = lines.map(readValue);
      return isText === true ? encodeTextArray(values.map(toText)) : encodeSimpleArray(values);
    }),
    ...movementColumns.map(([name, type]) => {
      const values = movements.map((each) => each[name]);
      return type === 'text' ? encodeTextArray(values.map(toText)) : encodeSimpleArray(values);
    }),
  ];
}

/** Writes the current lines, and returns the earlier state of those that existed. */
export async function writeLines(
  queries: Queries,
  organizationId: string,
  lines: readonly LineWithIds[],
): Promise<StoredPayments> {
  const values = buildLinesValues(organizationId, lines, new Map());
  const storedRows = await queries.query<StoredPayment>(insertLinesSql, values);
  const stored = new Map(storedRows.map((each) => [each.paymentId, each]));
  const changedLines = lines.filter(({ line }) => {
    const existing = stored.get(line.paymentId);
    return existing !== undefined && existing.counted < line.version;
  });
  if (changedLines.length > 0) {
    const changedValues = buildLinesValues(organizationId, changedLines, stored);
    await queries.query(updateLinesSql, changedValues);
  }
  return stored;
}
