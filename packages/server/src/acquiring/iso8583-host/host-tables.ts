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
export type LoadedHost = { host: Host; version: string };

/** Capabilities of a host that the validation of link settings needs. */
export type HostCapabilities = {
  readonly name: string;
  /** PIN block length in bytes (DE52): 8, or 16 for format 4; 0 if the host accepts no PIN. */
  readonly pinBytes: number;
  /** The host requires a MAC. */
  readonly needsMac: boolean;
};

export type HostTables = {
  /** Reads the directory again and returns the capabilities of all hosts. */
  reload(): readonly HostCapabilities[];
  find(name: string): LoadedHost | undefined;
};

type TableFile = { fileVersion: string; loadedHost?: LoadedHost };

const maxTables = 200;
const maxTableBytes = 262_144;
const fileExtension = '.json';

const pinField = 52;

const toCapabilities = ({ name, messages, mac }: HostTable): HostCapabilities => ({
  name,
  pinBytes: messages.fields[pinField]?.max ?? 0,
  needsMac: mac !== undefined,
});

function listTableFiles(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith(fileExtension))
      .sort();
  } catch (error) {
    // The directory is optional.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** @example const hosts = createHosts({ directory, clock, log }); hosts.find('iso1993-ascii'); */
export function createHostTables(deps: { directory: string; clock: Clock; log: Log }): HostTables {
  const { directory, clock, log } = deps;
  const compileTable = (table: HostTable) => compileHost(table, { now: () => clock.now() });
  const builtInHostsByName = new Map(
    Object.entries(builtInHosts).map(([name, table]) => [
      name,
      { host: compileTable(table), version: 'built in' },
    ]),
  );
  const tableFiles = new Map<string, TableFile>();

  function loadTable(path: string, name: string): LoadedHost {
    const table = readHostTable(JSON.parse(readFileSync(path, 'utf8')));
    if (table.name !== name)
      throw new Error(`has the name ${table.name}, which differs from the file name`);
    if (builtInHostsByName.has(name)) throw new Error('has the name of a built-in table');
    return { host: compileTable(table), version: tableFiles.get(name)?.fileVersion ?? '' };
  }

  function reloadDirectory(): void {
    const fileNames = listTableFiles(directory).slice(0, maxTables);
    const names = new Set(fileNames.map((file) => file.slice(0, -fileExtension.length)));
    for (const name of tableFiles.keys()) if (!names.has(name)) tableFiles.delete(name);
    for (const name of names) {
      const path = join(directory, name + fileExtension);
      const { mtimeMs, size } = statSync(path);
      const fileVersion = `${mtimeMs}.${size}`;
      const previous = tableFiles.get(name);
      if (previous?.fileVersion === fileVersion) continue;
      tableFiles.set(name, { ...previous, fileVersion });
      try {
        if (size > maxTableBytes) throw new Error('is too large');
        tableFiles.set(name, { fileVersion, loadedHost: loadTable(path, name) });
      } catch (error) {
        // The previous table stays in use: a wrong edit must not close a working link.
        const reason = error instanceof Error ? error.message : String(error);
        log.error({ table: path, reason }, 'dialect table could not be loaded');
      }
    }
  }

  reloadDirectory();
  return {
    reload() {
      reloadDirectory();
      const operatorHosts = [...tableFiles.values()].flatMap((read) => read.loadedHost ?? []);
      return [...builtInHostsByName.values(), ...operatorHosts].map(({ host: { table } }) =>
        toCapabilities(table),
      );
    },
    find: (name) => builtInHostsByName.get(name) ?? tableFiles.get(name)?.loadedHost,
  };
}
