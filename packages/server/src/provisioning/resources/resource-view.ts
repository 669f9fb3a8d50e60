// Converts rows to API responses: omits absent members, and writes times as text.
import { isoTime } from '../../platform/index.ts';
import type { Row } from './resource-sql.ts';

/** Builds a response from named members; the response schema defines its type. */
export function toResourceView<View>(row: Row, members: Readonly<Record<string, unknown>>): View {
  const all: Record<string, unknown> = { ...members, ...ownerAndTimes(row) };
  const view: Record<string, unknown> = {};
  for (const name of Object.keys(all)) {
    if ((all[name] ?? undefined) !== undefined) view[name] = all[name];
  }
  return view as View;
}

/** The members of every response, without the stamps. */
export function commonViewMembers(row: Row) {
  return {
    name: row['name'],
    externalId: row['external_id'],
    status: row['status'],
    labels: row['labels'],
  };
}

export function ownerAndTimes(row: Row) {
  return {
    organizationId: String(row['organization_id']),
    createdAt: toIsoTime(row['created_at']),
    updatedAt: toIsoTime(row['updated_at']),
  };
}

function toIsoTime(value: unknown): string {
  return value instanceof Date ? isoTime(value.getTime()) : String(value);
}
