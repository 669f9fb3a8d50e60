// Reads the migration files of a directory: a number, a note and a checksum each.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { splitStatements } from './split-statements.ts';

const filePattern = /^(\d{4})-[a-z0-9-]+\.sql$/;
/** For statements that cannot run inside a transaction, such as CREATE INDEX CONCURRENTLY. */
const noTransactionPattern = /^-- transaction: none$/m;

export type Migration = {
  version: number;
  name: string;
  /** The first comment line: the purpose of the migration. */
  note: string;
  checksum: string;
  statements: readonly string[];
  /** Each statement commits by itself, on every database. */
  withoutTransaction: boolean;
};

export async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted();
  const migrations = await Promise.all(names.map((name) => readMigration(directory, name)));
  const duplicate = migrations.find(
    ({ version }, index) => migrations[index - 1]?.version === version,
  );
  if (duplicate !== undefined)
    throw new Error(
      `two migrations have the number of ${duplicate.name}; give each its own number`,
    );
  return migrations;
}

async function readMigration(directory: string, name: string): Promise<Migration> {
  const version = Number(filePattern.exec(name)?.[1] ?? Number.NaN);
  if (!(version > 0)) throw new Error(`${name} is not a migration name such as 0001-payments.sql`);
  // Line endings differ between check-outs.
  const sql = (await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n');
  const note = /^-- (\S.*)/.exec(sql)?.[1];
  if (note === undefined)
    throw new Error(`${name} does not begin with a comment that describes the migration`);
  return {
    version,
    name: name.slice(0, -'.sql'.length),
    note,
    checksum: createHash('sha256').update(sql).digest('hex'),
    statements: splitStatements(sql),
    withoutTransaction: noTransactionPattern.test(sql),
  };
}
