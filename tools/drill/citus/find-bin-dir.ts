// Finds a PostgreSQL that has the extension Citus.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';

export class ExtensionMissingError extends Error {}

const debianBinDirs = '/usr/lib/postgresql/*/bin';
const guide = 'docs/how-to/operators/run-on-citus.md';

function askPgConfig(program: string, option: string): string | undefined {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync(program, [option], { encoding: 'utf8', stdio: [...stdio] }).trim();
  } catch {
    return undefined;
  }
}

function hasExtension(pgConfig: string): boolean {
  const shareDir = askPgConfig(pgConfig, '--sharedir');
  return shareDir !== undefined && existsSync(join(shareDir, 'extension/citus.control'));
}

/**
 * @param chosen the only directory to look into; undefined: those of Debian, then that of the PATH
 * @throws ExtensionMissingError
 */
export function findBinDir(chosen: string | undefined): string {
  const binDirs = chosen === undefined ? globSync(debianBinDirs).sort() : [chosen];
  const usable = binDirs.find((binDir) => hasExtension(join(binDir, 'pg_config')));
  if (usable !== undefined) return usable;
  if (chosen === undefined && hasExtension('pg_config')) {
    const binDir = askPgConfig('pg_config', '--bindir');
    if (binDir !== undefined) return binDir;
  }
  const lacking =
    chosen === undefined
      ? 'no PostgreSQL of this machine has the extension citus'
      : `the PostgreSQL in ${chosen} does not have the extension citus`;
  throw new ExtensionMissingError(
    `${lacking}. Build it against Debian's PostgreSQL 15 in about two minutes, as ${guide} describes`,
  );
}
