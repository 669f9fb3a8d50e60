// Loads the built-in host tables and the tables from the operator's directory.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CompiledHost,
  compileHost,
  findHostTable,
  findIdentifierFault,
  type HostTable,
  hostTableNames,
  readHostTable,
} from '@switchyard/iso8583';
import { type Clock, createFileCache, type Log } from '../../platform/index.ts';

/** A compiled host, and a version that changes with its table file. */
export type LoadedHost = { host: CompiledHost; version: string };

export type HostTables = ReturnType<typeof createHostTables>;

const maxTables = 200;
const maxTableBytes = 262_144;
const fileExtension = '.json';
const pinField = 52;

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

export function createHostTables(options: { directory: string; clock: Clock; log: Log }) {
  const { directory, clock, log } = options;
  const compileTable = (table: HostTable, version: string): LoadedHost => ({
    host: compileHost(table, { now: () => clock.now() }),
    version,
  });
  const builtInTables = new Map(
    hostTableNames.flatMap((name) => {
      const table = findHostTable(name);
      return table === undefined ? [] : [[name, compileTable(table, 'built in')] as const];
    }),
  );
  const readFiles = createFileCache<LoadedHost>({
    maxBytes: maxTableBytes,
    maxEntries: maxTables,
    onError: (table, reason) =>
      log.error(
        { table, reason },
        'host table could not be loaded; its links use the previous table, or are unavailable if this process has loaded none',
      ),
  });
  let operatorTables = new Map<string, LoadedHost | undefined>();

  function loadTable(path: string, name: string, version: string): LoadedHost {
    const table = readHostTable(JSON.parse(readFileSync(path, 'utf8')));
    if (table.name !== name)
      throw new Error(`has the name ${table.name}, which differs from the file name`);
    if (builtInTables.has(name)) throw new Error('has the name of a built-in table');
    return compileTable(table, version);
  }

  function reloadDirectory(): void {
    const fileNames = listTableFiles(directory).slice(0, maxTables);
    const names = fileNames.map((file) => file.slice(0, -fileExtension.length));
    // Known names are read as well, so that the cache drops removed files.
    const tables = [...new Set([...operatorTables.keys(), ...names])].map((name) => {
      const path = join(directory, name + fileExtension);
      const entry = readFiles({ required: [path] }, (version) => loadTable(path, name, version));
      return [name, entry?.value] as const;
    });
    operatorTables = new Map(tables.filter(([name]) => names.includes(name)));
  }

  reloadDirectory();
  return {
    /** Reads the directory again and returns the capabilities of all hosts. */
    reload() {
      reloadDirectory();
      const loadedTables = [...builtInTables.values(), ...operatorTables.values()];
      return loadedTables.flatMap((loaded) => {
        if (loaded === undefined) return [];
        const { name, messages, mac, framing } = loaded.host.table;
        // PIN block length in bytes: 8, or 16 for format 4; 0 if the host accepts no PIN.
        const pinBytes = messages.fields[pinField]?.max ?? 0;
        const { host } = loaded;
        return [
          {
            name,
            pinBytes,
            needsMac: mac !== undefined,
            tpduBytes: framing.tpduBytes ?? 0,
            findTerminalFault: (id: string) => findIdentifierFault(host, 41, id),
            findMerchantFault: (id: string) => findIdentifierFault(host, 42, id),
          },
        ];
      });
    },
    find: (name: string): LoadedHost | undefined =>
      builtInTables.get(name) ?? operatorTables.get(name),
  };
}
