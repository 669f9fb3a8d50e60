// Reads the migrations of a directory: numbered, each with a note and a checksum.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { splitStatements } from './split-statements.ts';

const filePattern = /^(\d{4})-[a-z0-9-]+\.sql$/;
/** For what cannot run inside a transaction, such as CREATE INDEX CONCURRENTLY. */
const noTransactionPattern = /^-- transaction: none$/m;

export type Migration = {
  version: number;
  name: string;
  /** The first comment line: what the migration is for. */
  note: string;
  checksum: string;
  statements: readonly string[];
  /** Each statement commits by itself, whatever the engine. */
  withoutTransaction: boolean;
};

export async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted();
  const migrations = await Promise.all(names.map((name) => readMigration(directory, name)));
  const duplicate = migrations.find(
    ({ version }, index) => migrations[index - 1]?.version === version,
  );
  if (duplicate !== undefined)
    throw new Error(`two migrations have the number of ${duplicate.name}`);
  return migrations;
}

async function readMigration(directory: string, name: string): Promise<Migration> {
  const version = Number(filePattern.exec(name)?.[1] ?? Number.NaN);
  if (!(version > 0)) throw new Error(`${name} is no name of a migration, as 0001-payments.sql is`);
  // Line ends differ between check-outs, the migration does not.
  const sql = (await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n');
  const note = /^-- (\S.*)/.exec(sql)?.[1];
  if (note === undefined) throw new Error(`${name} does not begin with a comment that says why`);
  return {
    version,
    name: name.slice(0, -'.sql'.length),
    note,
    checksum: createHash('sha256').update(sql).digest('hex'),
    statements: splitStatements(sql),
    withoutTransaction: noTransactionPattern.test(sql),
  };
}
