// Turns rows into what clients see: absent members are left out, times are texts.
import { isoTime } from '../platform/index.ts';
import type { Row } from './store.ts';

/** A row whose columns were named by hand: the schema of the answer is their type. */
export function asView<View>(members: Readonly<Record<string, unknown>>): View {
  const present = Object.entries(members).filter(([, value]) => (value ?? undefined) !== undefined);
  return Object.fromEntries(present) as View;
}

/** The members that every answer has. */
export function commonMembers(row: Row) {
  return {
    name: row['name'],
    externalId: row['external_id'],
    status: row['status'],
    labels: row['labels'],
    ...stamps(row),
  };
}

export function stamps(row: Row) {
  return {
    organizationId: String(row['organization_id']),
    createdAt: timeOf(row['created_at']),
    updatedAt: timeOf(row['updated_at']),
  };
}

function timeOf(value: unknown): string {
  return value instanceof Date ? isoTime(value.getTime()) : String(value);
}
