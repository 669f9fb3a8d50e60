// A start in production that must be refused before the platform touches its database.
import {
  testDatabase,
  testSchemaUrl,
} from '../../packages/server/test/support/database/test-database.ts';
import type { Attempts } from './attack.ts';
import type { Production } from './platforms.ts';

/** EX_CONFIG of sysexits.h. */
const settingsFaultExitCode = 78;

type RefusedStart = {
  readonly changes: Readonly<Record<string, string>>;
  /** What standard error must name. */
  readonly faults: readonly RegExp[];
};

async function countTables(url: string): Promise<number> {
  const schema = /search_path%3D(\w+)/.exec(url)?.[1];
  if (schema === undefined) throw new Error('the database URL names no search_path');
  const sql = 'SELECT 1 FROM information_schema.tables WHERE table_schema = $1';
  return (await (await testDatabase()).query(sql, [schema])).length;
}

export async function recordRefusedStart(
  attempts: Attempts,
  { platform }: Production,
  { changes, faults }: RefusedStart,
): Promise<void> {
  const url = await testSchemaUrl();
  const node = await platform.startProcess({ SWITCHYARD_DATABASE_URL: url, ...changes });
  await node.stop();
  const { ended } = node;
  const description = Object.entries(changes)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
  if (ended === undefined) {
    attempts.record({ description, response: 'the platform started', isDefended: false });
    return;
  }
  const missing = faults.filter((fault) => !fault.test(ended.stderr));
  // An attempt with another database has no tables here that could be counted.
  const tables =
    changes['SWITCHYARD_DATABASE_URL'] === undefined ? await countTables(url) : undefined;
  const settings = missing.length === 0 ? 'each setting named' : `not named: ${missing.join(' ')}`;
  const counted = tables === undefined ? '' : `, ${tables} tables`;
  const response = `start refused: exit code ${ended.status}, ${settings}${counted}`;
  const isDefended =
    ended.status === settingsFaultExitCode && missing.length === 0 && (tables ?? 0) === 0;
  attempts.record({ description, response, isDefended });
}
