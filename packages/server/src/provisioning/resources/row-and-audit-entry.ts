// Computes the row and the audit entry of a change, for single requests and for imports.
import { defined } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { type AuditEntry, platformAuthor } from '../../audit/index.ts';
import type { CallerScope } from './caller-scope.ts';
import { throwFieldProblem } from './provisioning-errors.ts';
import type { ReferencedRows } from './referenced-rows.ts';
import type { ResourceDefinition, ResourceInput } from './resource-definition.ts';
import type { Row } from './resource-sql.ts';
import { ownerAndTimes } from './resource-view.ts';

export type NewRowStamp = { readonly id: string; readonly now: string };
export type ChangedRows = { readonly before?: Row; readonly after?: Row };

const commonColumns = (input: ResourceInput): Row => ({
  name: input['name'],
  external_id: input['externalId'] ?? null,
  status: input['status'] ?? 'Enabled',
  labels: input['labels'] ?? {},
});

function requireUnchanged(input: ResourceInput, currentMembers: ResourceInput): void {
  for (const [member, value] of Object.entries(currentMembers)) {
    if (!(member in input) || JSON.stringify(input[member]) === JSON.stringify(value)) continue;
    const detail =
      'is read-only and differs from the stored value; read the resource again, or leave the field out';
    throwFieldProblem(`/${member}`, detail, 'field_read_only');
  }
}

const freeTextMembers = ['name', 'labels', 'address'] as const;

/** Free text is stored and returned unchanged, so it must not contain a card number. */
function requireNoCardNumbers(input: ResourceInput): void {
  const { name: contactName } = (input['contact'] ?? {}) as { name?: unknown };
  const texts = [
    ...freeTextMembers.map((member) => [`/${member}`, input[member]] as const),
    ['/contact/name', contactName] as const,
  ];
  for (const [pointer, value] of texts) {
    if (value === undefined || !holdsCardNumber(JSON.stringify(value))) continue;
    throwFieldProblem(pointer, 'contains text that looks like a card number');
  }
}

/** Builds the row of a new entity. */
export async function buildNewRow<View>(
  definition: ResourceDefinition<View>,
  references: ReferencedRows,
  scope: CallerScope,
  input: ResourceInput,
  { id, now }: NewRowStamp,
): Promise<Row> {
  requireNoCardNumbers(input);
  return {
    ...commonColumns(input),
    ...(await definition.toColumns(references, scope, input, undefined)),
    organization_id: scope.organizationId,
    [definition.table.id]: id,
    version: 1,
    created_at: now,
    updated_at: now,
  };
}

/** The columns that a replacement writes. */
export async function buildReplacementColumns<View>(
  definition: ResourceDefinition<View>,
  references: ReferencedRows,
  scope: CallerScope,
  input: ResourceInput,
  row: Row,
): Promise<Row> {
  const id = String(row[definition.table.id]);
  requireUnchanged(input, {
    ...ownerAndTimes(row),
    ...definition.readOnlyMembers(row),
    [definition.idMember]: id,
  });
  requireNoCardNumbers(input);
  return {
    ...commonColumns(input),
    ...(await definition.toColumns(references, scope, input, row)),
  };
}

/** Shows the entity before and after the change in the form of the API. */
export function buildAuditEntry<View>(
  definition: ResourceDefinition<View>,
  scope: CallerScope,
  auditVerb: string,
  { before, after }: ChangedRows,
): AuditEntry {
  const type = definition.auditType ?? definition.idMember.replace(/Id$/, '');
  const row = after ?? before ?? {};
  const merchantId = row['merchant_id'] ?? undefined;
  return {
    ...(scope.author ?? platformAuthor),
    organizationId: scope.organizationId,
    action: `${type}.${auditVerb}`,
    entity: {
      type,
      id: String(row[definition.table.id]),
      ...defined({ merchantId: merchantId === undefined ? undefined : String(merchantId) }),
    },
    ...defined({
      before: before === undefined ? undefined : (definition.toView(before) as object),
      after: after === undefined ? undefined : (definition.toView(after) as object),
    }),
  };
}
