// Computes the row and the audit entry of a change, for single requests and for imports.
import { defined } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { type AuditEntry, platformAuthor } from '../../audit/index.ts';
import type { Scope } from './caller-scope.ts';
import { refuseField } from './provisioning-errors.ts';
import type { Lookup } from './referenced-rows.ts';
import type { Input, Kind } from './resource-definition.ts';
import type { Row } from './resource-sql.ts';
import { stamps } from './resource-view.ts';

export type Made = { readonly id: string; readonly now: string };
export type Changed = { readonly before?: Row; readonly after?: Row };

const commonColumns = (input: Input): Row => ({
  name: input['name'],
  external_id: input['externalId'] ?? null,
  status: input['status'] ?? 'Enabled',
  labels: input['labels'] ?? {},
});

function refuseChanges(input: Input, standing: Input): void {
  for (const [member, value] of Object.entries(standing)) {
    if (!(member in input) || JSON.stringify(input[member]) === JSON.stringify(value)) continue;
    refuseField(`/${member}`, 'is read-only', 'field_read_only');
  }
}

const freeTextMembers = ['name', 'labels', 'address'] as const;

/** Free text is stored and returned unchanged, so it must not contain a card number. */
function refuseCardNumbers(input: Input): void {
  const { name: contactName } = (input['contact'] ?? {}) as { name?: unknown };
  const texts = [
    ...freeTextMembers.map((member) => [`/${member}`, input[member]] as const),
    ['/contact/name', contactName] as const,
  ];
  for (const [pointer, value] of texts) {
    if (value === undefined || !holdsCardNumber(JSON.stringify(value))) continue;
    refuseField(pointer, 'contains text that looks like a card number');
  }
}

/** Builds the row of a new entity. */
export async function newRow<View>(
  kind: Kind<View>,
  lookup: Lookup,
  scope: Scope,
  input: Input,
  { id, now }: Made,
): Promise<Row> {
  refuseCardNumbers(input);
  return {
    ...commonColumns(input),
    ...(await kind.columns(lookup, scope, input, undefined)),
    organization_id: scope.organizationId,
    [kind.table.id]: id,
    version: 1,
    created_at: now,
    updated_at: now,
  };
}

/** The columns that a replacement writes. */
export async function replacedColumns<View>(
  kind: Kind<View>,
  lookup: Lookup,
  scope: Scope,
  input: Input,
  row: Row,
): Promise<Row> {
  const id = String(row[kind.table.id]);
  refuseChanges(input, { ...stamps(row), ...kind.readOnly(row), [kind.idMember]: id });
  refuseCardNumbers(input);
  return { ...commonColumns(input), ...(await kind.columns(lookup, scope, input, row)) };
}

/** Shows the entity before and after the change in the form of the API. */
export function entryOf<View>(
  kind: Kind<View>,
  scope: Scope,
  done: string,
  { before, after }: Changed,
): AuditEntry {
  const type = kind.entity ?? kind.idMember.replace(/Id$/, '');
  const row = after ?? before ?? {};
  const merchantId = row['merchant_id'] ?? undefined;
  return {
    ...(scope.author ?? platformAuthor),
    organizationId: scope.organizationId,
    action: `${type}.${done}`,
    entity: {
      type,
      id: String(row[kind.table.id]),
      ...defined({ merchantId: merchantId === undefined ? undefined : String(merchantId) }),
    },
    ...defined({
      before: before === undefined ? undefined : (kind.toView(before) as object),
      after: after === undefined ? undefined : (kind.toView(after) as object),
    }),
  };
}
