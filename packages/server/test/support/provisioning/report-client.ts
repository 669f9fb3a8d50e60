// Helpers for tests of reports: they wait for current data and read all pages.
import assert from 'node:assert/strict';
import { testDatabase } from '../database/test-database.ts';
import type { Client } from '../https-client.ts';
import { eventually } from '../wait-for-condition.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the tests
type Json = any;

/** Waits until the reports contain everything that the organisation has committed. */
export async function reported({ organizationId }: { organizationId: string }): Promise<void> {
  const database = await testDatabase();
  await eventually('the reports are up to date', async () => {
    const [row] = await database.query<{ ready: boolean | null }>(
      `SELECT p.stage = 'Following' AND p.position = h.position AND NOT EXISTS (
         SELECT 1 FROM outbox o WHERE o.organization_id = $1) AS ready
       FROM feed_heads h JOIN report_positions p ON p.organization_id = h.organization_id
       WHERE h.organization_id = $1`,
      [organizationId],
    );
    return row?.ready === true;
  });
}

export const query = (filters: Readonly<Record<string, unknown>>): string => {
  const entries = Object.entries(filters).filter(([, value]) => value !== undefined);
  return `?${entries.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
};

/** Requests a report and asserts success. */
export async function fetchReport(
  { client }: { client: Client },
  token: string,
  path: string,
  filters: Readonly<Record<string, unknown>> = {},
): Promise<Json> {
  const answer = await client.call('GET', `/reporting/v1/${path}${query(filters)}`, { token });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

/** The items of all pages. */
export async function allOf(
  setup: { client: Client },
  token: string,
  path: string,
  filters: Readonly<Record<string, unknown>> = {},
): Promise<Json[]> {
  const items: Json[] = [];
  let cursor: string | undefined;
  do {
    const page = await fetchReport(setup, token, path, { ...filters, cursor });
    items.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return items;
}

/** The date in a time zone. */
export const dayIn = (timeZone: string, at = Date.now()): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(at);
