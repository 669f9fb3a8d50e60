// Loads the built-in dialect tables and the tables from the operator's directory.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  builtInHosts,
  compileHost,
  type Host,
  type HostTable,
  readHostTable,
} from '@switchyard/iso8583';
import type { Clock, Log } from '../../platform/index.ts';

/** A compiled host, and a version that changes with its table file. */
export type KnownHost = { host: Host; edition: string };

/** Capabilities of a host that the validation of link settings needs. */
export type HostFacts = {
  readonly name: string;
  /** PIN block length in bytes (DE52): 8, or 16 for format 4; 0 if the host accepts no PIN. */
  readonly pinBytes: number;
  /** The host requires a MAC. */
  readonly needsMac: boolean;
};

export type Hosts = {
  /** Reads the directory again and returns the capabilities of all hosts. */
  known(): readonly HostFacts[];
  find(name: string): KnownHost | undefined;
};

type Read = { stamp: string; known?: KnownHost };

const tablesMax = 200;
const tableBytesMax = 262_144;
const ending = '.json';

const pinField = 52;

const factsOf = ({ name, messages, mac }: HostTable): HostFacts => ({
  name,
  pinBytes: messages.fields[pinField]?.max ?? 0,
  needsMac: mac !== undefined,
});

function listed(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith(ending))
      .sort();
  } catch (error) {
    // The directory is optional.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** @example const hosts = createHosts({ directory, clock, log }); hosts.find('iso1993-ascii'); */
export function createHosts(deps: { directory: string; clock: Clock; log: Log }): Hosts {
  const { directory, clock, log } = deps;
  const compiled = (table: HostTable) => compileHost(table, { now: () => clock.now() });
  const builtIn = new Map(
    Object.entries(builtInHosts).map(([name, table]) => [
      name,
      { host: compiled(table), edition: 'built in' },
    ]),
  );
  const files = new Map<string, Read>();

  function readOne(path: string, name: string): KnownHost {
    const table = readHostTable(JSON.parse(readFileSync(path, 'utf8')));
    if (table.name !== name)
      throw new Error(`has the name ${table.name}, which differs from the file name`);
    if (builtIn.has(name)) throw new Error('has the name of a built-in table');
    return { host: compiled(table), edition: files.get(name)?.stamp ?? '' };
  }

  function look(): void {
    const found = listed(directory).slice(0, tablesMax);
    const names = new Set(found.map((file) => file.slice(0, -ending.length)));
    for (const name of files.keys()) if (!names.has(name)) files.delete(name);
    for (const name of names) {
      const path = join(directory, name + ending);
      const { mtimeMs, size } = statSync(path);
      const stamp = `${mtimeMs}.${size}`;
      const before = files.get(name);
      if (before?.stamp === stamp) continue;
      files.set(name, { ...before, stamp });
      try {
        if (size > tableBytesMax) throw new Error('is too large');
        files.set(name, { stamp, known: readOne(path, name) });
      } catch (error) {
        // The previous table stays in use: a wrong edit must not close a working link.
        const reason = error instanceof Error ? error.message : String(error);
        log.error({ table: path, reason }, 'dialect table could not be loaded');
      }
    }
  }

  look();
  return {
    known() {
      look();
      const own = [...files.values()].flatMap((read) => read.known ?? []);
      return [...builtIn.values(), ...own].map(({ host: { table } }) => factsOf(table));
    },
    find: (name) => builtIn.get(name) ?? files.get(name)?.known,
  };
}
